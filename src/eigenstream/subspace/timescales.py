"""Autocorrelations, implied time scales, and slow subspaces at several lags from one pass."""

from collections.abc import Iterable
from dataclasses import dataclass
from sys import maxsize
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.base import clone

from eigenstream._checks import check_lags, warn_user
from eigenstream._linalg import Float64s, brief
from eigenstream.subspace.chunks import Chunk
from eigenstream.subspace.learner import Learner
from eigenstream.subspace.solvers import ADD, Dense, Need, Task
from eigenstream.subspace.terms import TimeTerms
from eigenstream.subspace.uncertainty import (
    Uncertainty,
    check_blocks,
    fit_blocks,
    jackknife,
    learners_of,
    warned,
)

#: A warning needs implied time scales that differ by this factor, and autocorrelations larger than
#: this multiple of their standard error.
DISAGREE, SURE = 5.0, 4.0

#: The default lags of ``lag_path``. More lags take more memory.
LAGS = (1, 2, 5, 10, 20, 50, 100)


def autocorrelations(variance: Float64s, velocity: Float64s, noise: Any) -> Float64s:
    """Return ``1 - velocity / (2 variance)`` of each feature; 0 where there is no variance.

    For a stationary process, E|v|^2 = 2 (C(0) - C(lag)). Variances up to ``noise`` count as zero.

    >>> autocorrelations(np.array([1.0, 0.0]), np.array([0.5, 0.0]), 0.0).tolist()
    [0.75, 0.0]
    """
    there = variance > noise
    ratio = np.maximum(velocity, 0.0) / np.where(there, 2.0 * variance, 1.0)
    return np.where(there, np.maximum(1.0 - ratio, -1.0), 0.0)


def slowest_first(variance: Float64s, velocity: Float64s, noise: float = 0.0) -> Float64s:
    """Return the columns that turn features into uncorrelated ones, the slowest first.

    ``variance`` and ``velocity`` are the features' second moments. The new features have variance
    1. Directions whose variance is not above ``noise`` come last, with length 1.

    >>> abs(slowest_first(np.diag([4.0, 1.0]), np.diag([4.0, 0.1]))).round(3)
    array([[0. , 0.5],
           [1. , 0. ]])
    """
    values, vectors = eigh(variance)
    rounding = len(values) * float(np.finfo(np.float64).eps)
    varies = values > max(rounding * float(values.max(initial=0.0)), noise)
    white = vectors[:, varies] / np.sqrt(values[varies])
    turn = white @ eigh(white.T @ velocity @ white)[1]
    return np.asarray(np.hstack([turn, vectors[:, ~varies]]), np.float64)


def lagged(turn: Float64s, variance: Float64s, velocity: Float64s) -> Float64s:
    """Return the symmetric covariance of turned features, now and ``lag`` rows later."""
    return np.asarray(turn.T @ (variance - velocity / 2.0) @ turn, np.float64)


def of_learner(learner: Learner, columns: Float64s) -> Float64s:
    """Return the autocorrelation along each column."""
    operator = learner.operator()
    variance, velocity = operator.moments(columns)
    noise = operator.rounding * operator.trace + operator.floor
    return autocorrelations(variance, velocity, noise * (columns**2).sum(axis=0))


def of_features(chunks: Iterable[Chunk], terms: TimeTerms) -> Float64s:
    """Return the autocorrelation of features that come chunk by chunk."""
    learner = Dense().begin(terms, Task(None, None))
    for chunk in chunks:
        learner.add(chunk)
    if terms.n_velocities == 0:
        raise ValueError(
            f"No two rows are lag={terms.lag} apart with values in both. Give longer sequences, "
            "or a smaller lag."
        )
    return of_learner(learner, np.eye(terms.n_features))


def at_lags(features: Float64s, lags: list[int]) -> Float64s:
    """Return the autocorrelations of centred features of one sequence, a row for each lag."""
    square = [(features**2).mean(axis=0)]
    moved = [((features[lag:] - features[:-lag]) ** 2).mean(axis=0) for lag in lags]
    return autocorrelations(np.array(square), np.array(moved), 0.0)


def better_lag(features: Float64s, lags: list[int]) -> str | None:
    """Return a warning if a feature forgets faster at the first lag than at later ones.

    A process with one time scale has the same implied scale at every lag. Noise on top of it
    lowers the scale at short lags.
    """
    n_rows = len(features)
    for k, r in enumerate(at_lags(features, lags).T):
        scales = implied(r, 1) * lags
        # Oscillations give negative autocorrelations, and short series give uncertain ones.
        sure = (r > SURE * np.sqrt((1.0 + 2.0 * scales) / n_rows)) & np.isfinite(scales)
        n = len(r) if sure.all() else int(sure.argmin())
        if n and scales[:n].max() > DISAGREE * scales[0]:
            last = int(scales[:n].argmax())
            enough = int((scales[:n] > scales[last] / 2.0).argmax())
            return (
                f"feature {k} has an implied time scale of {scales[0]:.3g} rows at lag={lags[0]}, "
                f"and of {scales[last]:.3g} rows at lag {lags[last]}: at short lags it is mostly "
                f"noise. Try lag={lags[enough]}, or compare lags with lag_path."
            )
    return None


def implied(correlations: Float64s, lag: int) -> Float64s:
    """Return ``-lag / log(rho)``: 0 where rho <= 0, infinite where rho = 1.

    >>> implied(np.array([1.0, np.exp(-0.5), 0.0, -0.3]), 2).tolist()
    [inf, 4.0, 0.0, 0.0]
    """
    scales = np.zeros_like(correlations)
    decays = (correlations > 0.0) & (correlations < 1.0)
    scales[decays] = -lag / np.log(correlations[decays])
    scales[correlations >= 1.0] = np.inf
    return scales


@dataclass(frozen=True, eq=False)
class LagPath:
    """Slow subspaces of the same rows at several lags.

    Attributes
    ----------
    lags : array of shape (n_lags,)
        The lags in rows, ascending.
    autocorrelations : array of shape (n_lags, n_components)
        The ``autocorrelations_`` at each lag.
    timescales : array of shape (n_lags, n_components)
        The time scales at each lag, in rows.
    eigenvalues : array of shape (n_lags, n_components)
        The eigenvalues at each lag, descending.
    alphas : array of shape (n_lags,), or None
        The alpha in use at each lag. None with ``criterion="ratio"``.
    estimators : tuple of SlowSubspace
        The fitted estimator of each lag.
    errors : tuple of Uncertainty, or None
        The error bars of each lag, if ``blocks`` was given and there are enough rows.
    """

    lags: NDArray[np.int64]
    autocorrelations: Float64s
    timescales: Float64s
    eigenvalues: Float64s
    alphas: Float64s | None
    estimators: tuple[Any, ...]
    errors: tuple[Uncertainty, ...] | None = None

    __repr__ = brief


def lag_path(
    estimator: Any,
    X: Any,
    lags: Any = None,
    sample_weight: Any = None,
    *,
    blocks: int | None = None,
) -> LagPath:
    """Fit a slow subspace at each of several lags, in one pass over the rows.

    A time scale that the lag itself does not decide is flat over a range of lags. One pass keeps
    two D x D matrices for each lag.

    Parameters
    ----------
    estimator : SlowSubspace
        The parameters of the fits. Its own lag is not used, and it is not changed.
    X : array-like of shape (n, D), a list of them, or a stream
        Rows in time order, separate sequences in a list.
    lags : array-like of int, default=None
        The lags in rows. By default 1, 2, 5, 10, 20, 50 and 100. Lags that leave velocities for
        less than half of the rows are dropped.
    sample_weight : array-like of shape (n,), or a list of arrays, one for each sequence
        Non-negative weights of the rows.
    blocks : int, default=None
        The number of blocks for error bars, as in ``SlowSubspace.uncertainty``. Every block stores
        two D x D matrices for each lag.

    Returns
    -------
    LagPath
        Ascending by lag. Arrays are cut to the smallest number of features of any lag.

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
    if not hasattr(estimator, "timescales_") and not hasattr(type(estimator), "timescales_"):
        raise TypeError(f"lag_path fits a SlowSubspace at each lag, got {estimator!r}.")
    steps = sorted(set(check_lags(LAGS if lags is None else lags, "lags")))
    if not steps:
        raise ValueError("lags is empty: give at least one whole number of rows.")
    fitted = [clone(estimator).set_params(lag=lag) for lag in steps]
    for one in fitted:
        one._check_parameters()
    checked = fitted[0] if lags is None else fitted[-1]
    source, n_rows = checked._source_in_time(X, sample_weight)
    for one in fitted:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(checked, name):
                setattr(one, name, getattr(checked, name))

    def begin(width: int) -> tuple[Learner, ...]:
        if blocks is None:
            return tuple(one._begin(width, None, Need("lag_path", ADD)) for one in fitted)
        return tuple(learners_of(one, width, "lag_path(..., blocks)") for one in fitted)

    if blocks is None:  # all rows are one block
        fitted, _ = fit_blocks(fitted, source, begin, 1, maxsize, shorter=lags is None)
        errors = None
    else:
        n_blocks = check_blocks(blocks)
        fitted, parts = fit_blocks(fitted, source, begin, n_blocks, n_rows, shorter=lags is None)
        sizes = [part.learners[0].n_rows for part in parts]
        if sum(sizes) - max(sizes) > 2 * fitted[-1].lag:
            errors = tuple(jackknife(one, parts, k) for k, one in enumerate(fitted))
            warned(max(errors, key=lambda one: one.warning is not None))
        else:
            warn_user("The data have too few rows for error bars. Pass more rows or shorter lags.")
            errors = None
    kept = min(one.n_components_ for one in fitted)
    alphas = [one.alpha_ for one in fitted]
    return LagPath(
        np.array([one.lag for one in fitted], np.int64),
        np.array([one.autocorrelations_[:kept] for one in fitted]),
        np.array([one.timescales_[:kept] for one in fitted]),
        np.array([one.eigenvalues_[:kept] for one in fitted]),
        None if None in alphas else np.array(alphas),
        tuple(fitted),
        errors,
    )
