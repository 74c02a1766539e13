"""The weight alpha of the variance: from an error bound, and at several values."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from eigenstream.core.checks import check_number, warn_user
from eigenstream.core.linalg import Float64s, brief
from eigenstream.subspace.sums.operators import MatrixOperator


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
    weights_of_alphas = [(alpha, 1.0 - alpha) for alpha in chosen]
    eigenpairs = [operator.largest(weights, n_components) for weights in weights_of_alphas]
    values = np.array([pairs.values for pairs in eigenpairs])
    objective = values.sum(axis=1)
    bounds = [error_bound(a, float(o), radius) for a, o in zip(chosen, objective, strict=True)]
    return AlphaPath(
        np.array(chosen),
        values,
        np.array([pairs.vectors.T for pairs in eigenpairs]),
        objective,
        np.array(
            [operator.count_positive(weights) for weights in weights_of_alphas], dtype=np.int64
        ),
        np.array(bounds),
        operator.automatic_alpha(n_components),
    )
