"""Missing values, predicted from the neighbours in time."""

from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import is_sparse
from eigenstream.core.linalg import Float64s
from eigenstream.core.types import Matrix, RowsLike
from eigenstream.rows.chunk import with_gaps
from eigenstream.rows.door import each, is_list_of_sequences, is_stream, validated
from eigenstream.subspace.estimators.results import answered
from eigenstream.subspace.estimators.time import TimeEstimator
from eigenstream.subspace.sums.completion import imputed, positive_part, scales
from eigenstream.subspace.sums.gap_moments import GapMoments
from eigenstream.subspace.sums.propagator import LaggedCovariances

#: The number of rows that are filled at a time. More take more memory.
ROWS = 4096


def filled(model: TimeEstimator, X: RowsLike) -> Matrix | list[RowsLike]:
    """Return rows with predictions of missing values from the neighbours in time.

    A missing value is predicted from the present values of its row and of the rows ``lag`` before
    and after it. ``transform`` uses the present values of its row only, so that it gives the same
    for chunks and streams.

    Parameters
    ----------
    model : SlowSubspace, DynamicSubspace or StreamPCA
        An estimator that was fitted with ``missing="available"``. ``StreamPCA`` has no lag, and
        predicts from the row itself.
    X : array-like or sparse of shape (n, n_features), or a list of them
        Rows in time order, or several sequences.

    Returns
    -------
    array of shape (n, n_features), or a list of them
        The rows. Values stay missing where none of the three rows has a value, and in columns
        that were never seen.

    Notes
    -----
    The prediction is the conditional mean of a Gaussian Markov process: given a row, the rows
    before it say nothing about those after it.

    Examples
    --------
    >>> from eigenstream import SlowSubspace
    >>> from eigenstream.processes import Autoregressive
    >>> rows = Autoregressive([0.99, 0.9], random_state=0).take(2000)
    >>> lost = np.random.default_rng(0).random(rows.shape) < 0.2
    >>> gaps = np.where(lost, np.nan, rows)
    >>> slow = SlowSubspace(1, missing="available").fit(gaps)
    >>> lost = np.isnan(gaps[:, 0])
    >>> bool(np.mean((filled(slow, gaps) - rows)[lost, 0] ** 2) < 0.1)
    True
    """
    check_is_fitted(model)
    answer = answered(model)
    result, gaps = answer.result, answer.result.gaps
    if gaps is None:
        raise ValueError("filled needs a model of missing='available'. Fit with it.")
    if "preprocessing_" in vars(model):
        raise ValueError(
            "filled does not support preprocessing steps. Fit to rows that they have transformed."
        )
    if is_stream(X):
        raise TypeError("filled needs whole sequences. Pass an array or a list of arrays.")
    if is_list_of_sequences(X):
        return each(partial(filled, model), X)
    rows = validated(model, X, reset=False)
    rows = rows.toarray() if is_sparse(rows) else rows
    rows = with_gaps(rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64))
    sums: GapMoments = answer.learner.sums
    if not sums.lag:
        return _predicted(rows, 0, result.mean, gaps.covariance, sums.seen)
    covariance = _of_triples(sums.covariances(sums.lag))
    return _predicted(rows, sums.lag, result.mean, covariance, sums.seen)


def _of_triples(cov: LaggedCovariances) -> Float64s:
    """Return the covariance of a row and the rows before and after it, of a Markov process."""
    C, c01 = (cov.c00 + cov.c11) / 2.0, cov.c00 + cov.step
    unit = scales(C)
    C, c01 = C / np.outer(unit, unit), c01 / np.outer(unit, unit)
    far = c01 @ np.linalg.pinv(C, rcond=1e-8, hermitian=True) @ c01
    triple = positive_part(np.block([[C, c01, far], [c01.T, C, c01], [far.T, c01.T, C]]))
    return triple * np.outer(np.tile(unit, 3), np.tile(unit, 3))


def _predicted(
    rows: Matrix, lag: int, mean: Float64s, covariance: Float64s, seen: NDArray[np.bool_]
) -> Matrix:
    """Return rows with conditional means of missing values under a covariance.

    With a lag, it is the covariance of the rows ``lag`` before, of the rows, and of those after.
    """
    n, width = rows.shape
    shifts = (-lag, 0, lag) if lag else (0,)
    padded = np.full((n + 2 * lag, width), np.nan)
    padded[lag : n + lag] = rows
    complete = rows.copy()
    lost = np.flatnonzero(np.isnan(rows[:, seen]).any(axis=1))
    columns = np.tile(seen, len(shifts))
    means, covariance = np.tile(mean, len(shifts))[columns], covariance[np.ix_(columns, columns)]
    for first in range(0, len(lost), ROWS):
        places = lost[first : first + ROWS]
        neighbours = np.hstack([padded[places + lag + shift] for shift in shifts])
        values = imputed(neighbours[:, columns], means, covariance)
        complete[np.ix_(places, seen)] = np.split(values, len(shifts), axis=1)[len(shifts) // 2]
    return complete
