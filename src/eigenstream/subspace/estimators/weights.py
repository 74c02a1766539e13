"""Weights estimated from the data: alpha from the sums, eta on held-out classes or pairs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from eigenstream._checks import check_number, warn_user
from eigenstream._linalg import Float64s, brief
from eigenstream._storable import storable
from eigenstream.subspace.estimators.held_out import Fold, roc_area_of_pairs
from eigenstream.subspace.sums.operators import MatrixOperator
from eigenstream.subspace.sums.terms import Weights

#: The weights of negative pairs that "auto" compares. Positive pairs have the weight 1.
ETAS = (10.0, 3.2, 1.0, 0.56, 0.32, 0.18, 0.1, 0.056, 0.032, 0.018, 0.01, 0.0032)


# ---- alpha ---------------------------------------------------------------------------------


def error_bound(alpha: float, objective: float, radius: float) -> float:
    """Return ``(1 - (2 / alpha) L) / (1 - alpha)`` of [SLOW] Theorem 5, infinite at alpha = 1.

    The objective L is rescaled to data with |x - mean| <= 1/2, as the theorem requires.
    """
    if alpha == 1.0:
        return float("inf")
    shrink = 1.0 if radius == 0.0 else 0.25 / radius**2
    return (1.0 - 2.0 / alpha * shrink * objective) / (1.0 - alpha)


def alpha_of_bound(
    operator: MatrixOperator, n_components: int | None, radius: float
) -> tuple[float, float]:
    """Return the alpha that minimises the bound of [SLOW] Theorem 5, and the bound."""
    wanted = len(operator.reward) if n_components is None else n_components

    def bound(alpha: float) -> float:
        values = operator.largest((alpha, 1.0 - alpha), wanted).values
        if n_components is None:
            values = values[values > 0]
        return error_bound(alpha, float(values.sum()), radius)

    grid = np.linspace(0.02, 0.98, 13)
    best = int(np.argmin([bound(alpha) for alpha in grid]))
    edges = np.concatenate([[1e-4], grid, [1.0 - 1e-4]])
    minimum = minimize_scalar(
        bound, bounds=(edges[best], edges[best + 2]), method="bounded", options={"xatol": 1e-3}
    )
    if minimum.fun >= 1.0:
        warn_user(
            f"alpha='bound' selects alpha={minimum.x:.3g}, where the error bound is vacuous: "
            f"{minimum.fun:.3g} >= 1. Use alpha='auto'."
        )
    return float(minimum.x), float(minimum.fun)


@dataclass(frozen=True)
class AlphaPath:
    """Slow subspaces of the same data at several alphas.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        The weights of the variance.
    eigenvalues : array of shape (n_alphas, n_components)
        The eigenvalues at each alpha, descending.
    components : array of shape (n_alphas, n_components, n_features)
        The components at each alpha.
    objective : array of shape (n_alphas,)
        The sum of the eigenvalues.
    n_positive : array of shape (n_alphas,)
        The number of positive eigenvalues of T.
    error_bound : array of shape (n_alphas,)
        The error bound that ``alpha="bound"`` minimises, without its last term. Values of 1 or more
        are vacuous.
    auto : float
        The alpha that ``alpha="auto"`` selects.
    """

    alphas: Float64s
    eigenvalues: Float64s
    components: Float64s
    objective: Float64s
    n_positive: NDArray[np.int64]
    error_bound: Float64s
    auto: float

    __repr__ = brief


def alpha_path(
    operator: MatrixOperator, n_components: int, alphas: ArrayLike, radius: float
) -> AlphaPath:
    """Solve for several alphas without reading the data again."""
    chosen = [check_number(alpha, "alpha", above=0, most=1) for alpha in np.ravel(alphas).tolist()]
    if not chosen:
        raise ValueError("alphas is empty. Pass at least one number in (0, 1].")
    weights = [(alpha, 1.0 - alpha) for alpha in chosen]
    eigenpairs = [operator.largest(both, n_components) for both in weights]
    values = np.array([pairs.values for pairs in eigenpairs])
    objective = values.sum(axis=1)
    bounds = [error_bound(a, float(o), radius) for a, o in zip(chosen, objective, strict=True)]
    return AlphaPath(
        np.array(chosen),
        values,
        np.array([pairs.vectors.T for pairs in eigenpairs]),
        objective,
        np.array([operator.count_positive(both) for both in weights], dtype=np.int64),
        np.array(bounds),
        operator.automatic_alpha(n_components),
    )


# ---- eta -----------------------------------------------------------------------------------


@storable(eta="number", etas="f8 e", losses="f8 e")
@dataclass(frozen=True)
class Choice:
    """The selected weight, the weights compared, and the mean loss of each."""

    eta: float
    etas: Float64s
    losses: Float64s


def choose(
    folds: list[Fold],
    etas: ArrayLike,
    columns: Callable[[MatrixOperator, float, Weights], Float64s],
    scale: Float64s | None = None,
) -> Choice:
    """Return the weight that best separates held-out classes or pairs, and 1 without folds.

    ``columns`` solves for one weight. The loss is one minus the ROC area of the test pairs.
    """
    ordered = np.sort(np.asarray(etas, np.float64))[::-1]
    losses: list[list[float]] = []
    for fold in folds:
        operator, totals = (
            fold.learner.operator(fold.left_out),
            fold.learner.terms.totals(fold.left_out),
        )
        differences = fold.differences
        if scale is not None:
            operator, differences = operator.scaled(scale), differences / scale
        along = (differences @ columns(operator, eta, totals) for eta in ordered.tolist())
        losses.append([1.0 - roc_area_of_pairs((Z**2).sum(axis=1), fold.same) for Z in along])
    if not losses:
        return Choice(1.0, ordered, np.ones(len(ordered)))
    place = _place(np.array(losses))
    return Choice(float(ordered[round(place)]), ordered, np.array(losses).mean(axis=0))


def _place(losses: Float64s) -> float:
    """Return the average index of the good weights.

    A row of losses is a fold. A weight whose mean loss is z standard errors above the smallest mean
    loss counts exp(-z^2 / 2). Averaging reduces the effect of chance among good weights.

    >>> _place(np.array([[0.5, 0.2, 0.2, 0.2, 0.6], [0.4, 0.1, 0.1, 0.1, 0.5]]))
    2.0
    """
    worse = losses - losses[:, [int(losses.mean(axis=0).round(12).argmin())]]
    mean, error = worse.mean(axis=0), np.zeros(losses.shape[1])
    if len(losses) > 1:
        error = worse.std(axis=0, ddof=1) / np.sqrt(len(losses))
    off = np.divide(mean, error, out=np.full(len(mean), np.inf), where=error > 1e-12)
    off[mean <= 1e-12] = 0.0
    counts = np.exp(-0.5 * off**2)
    return float(counts @ np.arange(len(counts)) / counts.sum())


def margin_risk_eta(etas: ArrayLike, loss: Callable[[float], float]) -> Choice:
    """Return the weight with the smallest loss on the training pairs, as in [HPCA]."""
    ordered = np.sort(np.asarray(etas, np.float64))[::-1]
    losses = np.array([loss(float(eta)) for eta in ordered])
    close = np.flatnonzero(losses <= losses.min() + 1e-12)
    return Choice(float(ordered[close[len(close) // 2]]), ordered, losses)
