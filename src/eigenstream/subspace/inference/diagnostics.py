"""Functions of fitted subspaces: diagnostics, matrices and predictions of missing values."""

from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_whole, is_sparse
from eigenstream.core.linalg import Float64s
from eigenstream.core.types import Estimator, Matrix, RowsLike
from eigenstream.rows.chunk import with_gaps
from eigenstream.rows.door import each, is_list_of_sequences, is_stream, validated
from eigenstream.rows.prepared import reads_rows
from eigenstream.subspace.estimators.base import SubspaceEstimator
from eigenstream.subspace.estimators.results import PairResult, answered
from eigenstream.subspace.estimators.slow_subspace import SlowSubspace
from eigenstream.subspace.estimators.time import TimeEstimator
from eigenstream.subspace.inference.decays import of_learner
from eigenstream.subspace.inference.held_out import implied
from eigenstream.subspace.solvers.base import MATRIX
from eigenstream.subspace.solvers.frame import Frame
from eigenstream.subspace.sums.accumulators import Moments
from eigenstream.subspace.sums.completion import imputed, positive_part, scales
from eigenstream.subspace.sums.gap_moments import GapMoments
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.sums.operators import MatrixOperator
from eigenstream.subspace.sums.propagator import LaggedCovariances
from eigenstream.subspace.sums.row_moments import RowMoments
from eigenstream.subspace.sums.terms import TimeTerms


@reads_rows
def autocorrelations(model: SlowSubspace, X: RowsLike, lag: int | None = None) -> Float64s:
    """Return the autocorrelation of each feature on given rows, in one pass over them.

    The definition is that of ``SlowResult.autocorrelations``. All solvers are supported.

    Parameters
    ----------
    model : SlowSubspace
        A fitted estimator.
    X : array-like or sparse of shape (n, n_features), a list of them, or a stream
        Rows in time order.
    lag : int, default=None
        The lag in rows. By default that of the estimator.

    Returns
    -------
    array of shape (n_components,)
        The autocorrelations, in [-1, 1].

    Examples
    --------
    >>> from eigenstream import SlowSubspace
    >>> from eigenstream.processes import Autoregressive
    >>> rows = Autoregressive(np.exp([-1 / 50, -1 / 5]), random_state=0).take(
    ...     20_000
    ... )
    >>> slow = SlowSubspace(1, alpha=0.05, solver="sketch").fit(rows)
    >>> autocorrelations(slow, rows, lag=10).round(2)
    array([0.8])
    """
    check_is_fitted(model)
    lag = model.lag if lag is None else check_whole(lag, "lag")
    answer = answered(model)
    if isinstance(answer.learner.sums, RowMoments | GapMoments):
        return of_learner(model._scored_terms(X, lag), answer.result.columns)
    n, reversible = len(answer.result.pairs.values), answer.learner.terms.reversible
    terms = TimeTerms(n, lag=lag, center=bool(model.center), reversible=reversible)
    learner = Learner(terms, Moments(n))
    for chunk in model._features_of(X):
        learner.add(chunk)
    if terms.n_velocities == 0:
        raise ValueError(
            f"No two rows are lag={lag} apart with values in both. Give longer sequences, or a "
            "smaller lag."
        )
    return of_learner(learner, np.eye(n))


def implied_timescales(model: SlowSubspace, X: RowsLike, lag: int | None = None) -> Float64s:
    """Return the time scale that each autocorrelation on given rows implies, in rows.

    Parameters
    ----------
    model : SlowSubspace
        A fitted estimator.
    X : array-like or sparse of shape (n, n_features), a list of them, or a stream
        Rows in time order.
    lag : int, default=None
        The lag in rows. By default that of the estimator.

    Returns
    -------
    array of shape (n_components,)
        The time scales, in rows.

    Examples
    --------
    >>> from eigenstream import SlowSubspace
    >>> from eigenstream.processes import Autoregressive
    >>> rows = Autoregressive(np.exp([-1 / 50, -1 / 5]), random_state=0).take(
    ...     20_000
    ... )
    >>> slow = SlowSubspace(1, alpha=0.05, solver="sketch").fit(rows)
    >>> implied_timescales(slow, rows, lag=10).round(1)
    array([45.5])
    """
    rho = autocorrelations(model, X, lag)
    return implied(rho, model.lag if lag is None else lag)


@reads_rows
def objective(model: SlowSubspace, X: RowsLike) -> float:
    """Return the objective L that a subspace reaches on other rows in time order.

    For ``criterion="ratio"`` it is the sum of the ratios of variance to velocity.

    Parameters
    ----------
    model : SlowSubspace
        A fitted estimator.
    X : array-like or sparse of shape (n, n_features), a list of them, or a stream
        Rows in time order.

    Returns
    -------
    float
        The objective.

    Examples
    --------
    >>> from eigenstream import SlowSubspace
    >>> rows = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
    >>> slow = SlowSubspace(1, alpha=0.5).fit(rows)
    >>> bool(
    ...     np.isclose(
    ...         objective(slow, rows), slow.eigenvalues_.sum(), rtol=1e-2
    ...     )
    ... )
    True
    """
    variance, velocity = map(np.diagonal, model._moments_of(model._scored_terms(X)))
    weights = answered(model).result.weights
    if weights is None:
        return float((variance / velocity).sum())
    return float((weights[0] * variance - weights[1] * velocity).sum())


def n_positive(model: SubspaceEstimator) -> int:
    """Return the number of positive eigenvalues of T, or of discriminants of "ratio".

    Without stored matrices, only the eigenvalues of the components are counted.

    Parameters
    ----------
    model : subspace estimator
        A fitted estimator.

    Returns
    -------
    int
        The number.

    Examples
    --------
    >>> from eigenstream import SlowSubspace
    >>> rows = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
    >>> n_positive(SlowSubspace(1, alpha=0.5).fit(rows))
    3
    """
    answer = answered(model)
    result = answer.result
    counted = int((result.pairs.values > 0).sum())
    counted = result.n_positive if isinstance(result, PairResult) else counted
    if result.weights is None or MATRIX not in answer.solver.abilities:
        return counted
    return max(counted, answer.operator().count_positive(result.weights))


def matrices(model: SubspaceEstimator) -> MatrixOperator:
    """Return the matrices A and B of a fit, which can be solved for any weights.

    Parameters
    ----------
    model : subspace estimator
        A fitted estimator with solver="dense" or "kernel".

    Returns
    -------
    MatrixOperator
        A is ``reward``, B is ``penalty``, and ``matrix()`` is T at the weights in use.

    Examples
    --------
    >>> from eigenstream import StreamPCA
    >>> from eigenstream.subspace import matrices
    >>> rows = [[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    >>> matrices(StreamPCA(1).fit(rows)).reward
    array([[2. , 0. ],
           [0. , 0.5]])
    """
    return answered(model).operator().in_all_directions()


def estimated_share(model: SubspaceEstimator) -> float:
    """Return the estimated share of the optimum that ``solver="sketch"`` has reached.

    Read a share above 0.999 as "above 0.999". On 20 simulated factor models and 20 autoregressive
    streams, the missed share was 1.2 to 1.6 times the true one in the median. It was 0.5 to 2.5
    times the true one in all 80 fits, and below it in 14.

    Parameters
    ----------
    model : subspace estimator
        A fitted estimator with ``solver="sketch"``.

    Returns
    -------
    float
        The share, in [0, 1].

    Examples
    --------
    >>> from eigenstream import StreamPCA
    >>> rows = np.random.default_rng(0).standard_normal((2000, 500))
    >>> pca = StreamPCA(2, solver="sketch").fit(rows * 0.9 ** np.arange(500))
    >>> bool(0.9 < estimated_share(pca) <= 1.0)
    True
    """
    learner = answered(model).learner
    share: float | None = learner.sums.estimated_share(learner.terms)
    if share is None:
        why = "It is exact."
        if isinstance(learner.sums, Frame) or model.solver_ == "flow":
            why = "It is unknown for labels, ratios, flows, and without positive eigenvalues."
        raise ValueError(f"solver={model.solver_!r} estimates no share of the optimum here. {why}")
    return share


def deviations(estimator: Estimator) -> Float64s:
    """Return the standard deviations of the columns if the solver has their matrix, or ones.

    >>> from eigenstream import StreamPCA
    >>> deviations(StreamPCA(1).fit(np.diag([3.0, -3.0]))).tolist()
    [1.5, 1.5]
    """
    if estimator.features is not None or estimator.solver_ != "dense":
        return np.ones(estimator.components_.shape[1])
    return np.sqrt(np.diagonal(matrices(estimator).reward))


# ---- missing values ----------------------------------------------------------------------------


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
