"""Several lags from one pass: how slow the features are that each of them finds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from eigenstream._checks import check_lags
from eigenstream._linalg import Float64s
from eigenstream.estimators.temporal._slow_bounds import SlowBounds
from eigenstream.estimators.temporal._sources import source_of
from eigenstream.learners import table


@dataclass(frozen=True, eq=False)
class LagPath:
    """Slow subspaces of the same rows at several lags; every array has one entry a lag."""

    lags: NDArray[np.int64]
    #: (n_lags, n_components): of each feature at its lag, as ``SlowSubspace.autocorrelations_``.
    autocorrelations: Float64s
    #: (n_lags, n_components), in rows.
    timescales: Float64s
    #: (n_lags, n_components)
    eigenvalues: Float64s
    #: The alpha in use at each lag; None with ``criterion="ratio"``, which has none.
    alphas: Float64s | None
    #: What a fit at each lag of its own would have given: transform with the one you choose.
    estimators: tuple[Any, ...]


def lag_path(estimator: Any, X: Any, lags: Any, sample_weight: Any = None) -> LagPath:
    """Fit a slow subspace at each of several lags, in one pass over the rows.

    A time scale that the lag itself does not decide is flat over a range of lags: below it the
    features are not yet those of a process that forgets at one rate, and where the time scale is
    far below the lag nothing is left to measure. One pass carries the scatters of every lag, two
    D x D matrices each.

    Parameters
    ----------
    estimator : SlowSubspace
        With the parameters wanted; its own lag plays no part, and it is not changed.
    X : array-like of shape (n, D), a list of them, or a stream
        Rows in time order, separate sequences in a list; what can be read once is enough.
    lags : whole numbers of rows
    sample_weight : array-like of shape (n,), or a list of arrays, one a sequence

    Returns
    -------
    LagPath
        Ascending by lag. Where some lag has fewer features than the others, each array is cut to
        as many as all of them have.

    Examples
    --------
    Three sources that forget within 50, 10 and 2 rows, mixed:

    >>> import numpy as np
    >>> from eigenstream import SlowSubspace, lag_path
    >>> from eigenstream.processes import Autoregressive
    >>> rows = Autoregressive(np.exp([-1 / 50, -1 / 10, -1 / 2]), random_state=0).take(100_000)
    >>> path = lag_path(SlowSubspace(2, criterion="ratio"), rows, [1, 3, 10])
    >>> bool(np.abs(path.timescales / [50, 10] - 1).max() < 0.15)
    True
    """
    if not isinstance(estimator, SlowBounds):
        raise TypeError(f"lag_path fits a SlowSubspace at each lag, got {estimator!r}.")
    steps = sorted(set(check_lags(lags, "lags")))
    if not steps:
        raise ValueError("lags is empty: give at least one whole number of rows.")
    table.require(estimator.DATA, estimator.solver, "goes_on", "lag_path")
    fitted = [clone(estimator).set_params(lag=lag) for lag in steps]
    for one in fitted:
        one._check_parameters()
    longest = fitted[-1]
    # The longest lag is the one that sequences may be too short for; all else is the same.
    source = source_of(longest, X, sample_weight, 1)
    longest._check_width(source.width)
    learners = [one._begun_learner(source.width, None) for one in fitted]
    for part in source.chunks():
        for learner in learners:
            learner.add(part.rows, part.weights, new_sequence=part.new_sequence)
    for one, learner in zip(fitted, learners, strict=True):
        one._check_terms(learner)
        one._learner, one._map = learner, longest._map
        one._skipped = source.skipped(learner.n_rows)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(longest, name):
                setattr(one, name, getattr(longest, name))
    longest._skipped = longest._skipped.warned(longest, learners[-1].n_rows)
    return _path(steps, fitted)


def _path(lags: list[int], fitted: list[Any]) -> LagPath:
    """Return what the fits at these lags have found."""
    kept = min(one.n_components_ for one in fitted)
    alphas = [one.alpha_ for one in fitted]
    return LagPath(
        np.array(lags, np.int64),
        np.array([one.autocorrelations_[:kept] for one in fitted]),
        np.array([one.timescales_[:kept] for one in fitted]),
        np.array([one.eigenvalues_[:kept] for one in fitted]),
        None if None in alphas else np.array(alphas),
        tuple(fitted),
    )
