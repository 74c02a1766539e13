"""The choice of alpha, from the scatters alone: what each alpha gives, and which one to take."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from eigenstream._checks import check_number, warn_user
from eigenstream._linalg import Float64s, numerical_rank
from eigenstream.contrast import Contrast
from eigenstream.solvers import dense

#: Scatters with a larger rounding come from products in single precision; that in double.
SINGLE, DOUBLE = 1e-8, 1e-14


@dataclass(frozen=True)
class AlphaPath:
    """Slow subspaces of the same data at several alphas; every array has one entry an alpha."""

    alphas: Float64s
    #: (n_alphas, n_components), descending in each row.
    eigenvalues: Float64s
    #: (n_alphas, n_components, n_features)
    components: Float64s
    #: The objective each subspace reaches.
    objective: Float64s
    #: How many eigenvalues of T are positive, of all.
    n_positive: NDArray[np.int64]
    #: What alpha="bound" minimises: [SLOW] Theorem 5 without its last term; vacuous from 1 on.
    error_bound: Float64s
    #: What alpha="auto" takes: a step above the smallest alpha with all eigenvalues positive.
    auto: float


def path(contrast: Contrast, n_components: int, alphas: Any, radius: float) -> AlphaPath:
    """Solve for several alphas, without another look at the data."""
    weights = [check_number(alpha, "alpha", above=0, most=1) for alpha in np.ravel(alphas).tolist()]
    if not weights:
        raise ValueError("alphas is empty: give at least one number in (0, 1].")
    found = [
        dense.largest_and_positive(
            contrast.matrix((alpha, 1.0 - alpha)),
            n_components,
            contrast.rounding,
            contrast.floor((alpha, 1.0 - alpha)),
        )
        for alpha in weights
    ]
    values = np.array([pairs.values for pairs, _ in found])
    bounds = [
        error_bound(alpha, float(row.sum()), radius)
        for alpha, row in zip(weights, values, strict=True)
    ]
    return AlphaPath(
        np.array(weights),
        values,
        np.array([pairs.vectors.T for pairs, _ in found]),
        values.sum(axis=1),
        np.array([positive for _, positive in found], dtype=np.int64),
        np.array(bounds),
        automatic(contrast, n_components),
    )


def automatic(contrast: Contrast, wanted: int) -> float:
    """Return an alpha a step above the smallest with ``wanted`` positive eigenvalues."""
    reward, penalty = contrast.matrices()
    assert penalty is not None
    floor = contrast.floor((1.0, 1.0))
    if contrast.rounding > SINGLE:
        powers = np.linalg.eigvalsh(reward + penalty)
        cuts = contrast.rounding, DOUBLE
        kept, all_of_them = (numerical_rank(powers, cut, floor) for cut in cuts)
        if kept < all_of_them:
            warn_user(
                f"{all_of_them - kept} of {all_of_them} directions are below the rounding of what "
                "was learned from rows in single precision at a given alpha, and left out where "
                "alpha is looked for. Fit with alpha='auto', which multiplies them in double."
            )
    return dense.automatic_alpha(reward, penalty, wanted, contrast.rounding, floor)


def error_bound(alpha: float, objective: float, radius: float) -> float:
    """Return ``(1 - (2 / alpha) L) / (1 - alpha)`` of [SLOW] Theorem 5, infinite at alpha = 1.

    The theorem wants |x - mean| <= 1/2; L scales with the square of the data.
    """
    if alpha == 1.0:
        return float("inf")
    shrink = 0.25 / radius**2 if radius > 0 else 1.0
    return (1.0 - 2.0 / alpha * shrink * objective) / (1.0 - alpha)


def minimise(bound: Callable[[float], float]) -> tuple[float, float]:
    """Return the alpha in (0, 1) with the smallest bound, and that bound."""
    # One coarse look for the right valley, then its bottom.
    grid = np.linspace(0.02, 0.98, 13)
    best = int(np.argmin([bound(alpha) for alpha in grid]))
    edges = np.concatenate([[1e-4], grid, [1.0 - 1e-4]])
    found = minimize_scalar(
        bound, bounds=(edges[best], edges[best + 2]), method="bounded", options={"xatol": 1e-3}
    )
    return float(found.x), float(found.fun)


def minimise_bound(
    contrast: Contrast, n_components: int | None, radius: float
) -> tuple[float, float]:
    """Minimise the bound of [SLOW] Theorem 5 over alpha; return alpha and the bound."""
    wanted = contrast.n_features if n_components is None else n_components

    def bound(alpha: float) -> float:
        values = dense.largest(contrast.matrix((alpha, 1.0 - alpha)), wanted).values
        if n_components is None:
            values = values[values > 0]
        return error_bound(alpha, float(values.sum()), radius)

    alpha, value = minimise(bound)
    if value >= 1.0:
        warn_user(
            f"the bound of Theorem 5 is vacuous on these data: {value:.3g} >= 1 even at "
            f"its smallest, alpha={alpha:.3g}. Prefer alpha='auto'.",
        )
    return alpha, value
