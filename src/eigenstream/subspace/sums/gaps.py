"""Covariances from rows with gaps: the noise of the gaps, its repair, and missing values of rows.

Pairwise sums with gaps give matrices with negative eigenvalues. The noise that the gaps add is
estimated from the number of rows of each pair of columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from eigenstream._linalg import Float64s
from eigenstream._types import Matrix

#: The share of the noise level that is added to B. More shrinks small velocities too much; less
#: selects directions in which B is small by chance.
NOISE_SHARE = 0.4

#: The same for the covariance of the present values of a row and of C00, and the least share.
FILL_SHARE, FILL_LEAST = 0.2, 1e-6

#: Noise levels in units of the variance. Above the first, features are poor; above the second, they
#: are meaningless.
WARN_NOISE, MOST_NOISE = 0.5, 1.0


def noise_level(weight: Float64s, total: float) -> float:
    """Return the spectral noise that gaps add to a matrix of correlations.

    A pair of columns with n of N rows adds the variance 1 / n - 1 / N. A symmetric matrix of such
    errors has a norm of about sqrt(n_features * variance).

    >>> noise_level(np.full((4, 4), 100.0), 100.0)
    0.0
    """
    if weight.size == 0 or total <= 0.0:
        return 0.0
    added = np.maximum(1.0 / np.maximum(weight, 1.0) - 1.0 / max(total, 1.0), 0.0)
    return float(np.sqrt(len(weight) * added.mean()))


def positive_part(matrix: Float64s) -> Float64s:
    """Return the nearest positive semidefinite matrix.

    >>> positive_part(np.diag([1.0, -2.0])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    values, vectors = eigh((matrix + matrix.T) / 2.0)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


@dataclass(frozen=True)
class GapNoise:
    """The columns that were seen, and the noise of the gaps in units of the variance.

    ``covariance`` is the noise of A. ``total`` is the one that limits the features.
    """

    seen: NDArray[np.bool_]
    covariance: float = 0.0
    total: float = 0.0

    def check(self) -> None:
        """Raise if the gaps leave too few rows."""
        if self.total > MOST_NOISE:
            raise ValueError(
                f"The gaps leave too few common rows: their noise is {self.total:.2g} times the "
                "variance. Pass more rows or fewer columns."
            )

    @property
    def warning(self) -> str | None:
        """A warning if the noise is large, or None."""
        if self.total <= WARN_NOISE:
            return None
        return (
            f"the gaps add noise of {self.total:.2g} times the variance, so the features are "
            "uncertain. Pass more rows or fewer columns."
        )


def check_together(weight: Float64s, names: Sequence[object] | None, apart: int = 0) -> None:
    """Raise if two of the columns are never present together.

    ``apart`` is the number of rows between the two values, and ``names`` are those of the columns.
    """
    never = np.argwhere(weight <= 0.0)
    if len(never) == 0:
        return
    first, second = sorted(never[0].tolist())
    if names is not None:
        first, second = names[first], names[second]
    where = f"{apart} row(s) apart" if apart else "in the same row"
    raise ValueError(
        f"Columns {first!r} and {second!r} are never present {where}. Drop one of them, or pass "
        "more rows."
    )


def scales(matrix: Float64s) -> Float64s:
    """Return the standard deviations of a covariance, 1 for constant columns."""
    squares = np.diagonal(matrix)
    return np.where(squares > 0.0, np.sqrt(np.maximum(squares, 0.0)), 1.0)


def varying(matrix: Float64s, mean: Float64s) -> Float64s:
    """Return a covariance with zeros for columns that are constant up to rounding."""
    constant = np.diagonal(matrix) <= (64.0 * np.finfo(np.float64).eps * mean) ** 2
    return np.where(constant | constant[:, None], 0.0, matrix)


def repaired(
    A: Float64s, B: Float64s, crossed: Float64s, levels: tuple[float, float, float]
) -> tuple[Float64s, Float64s, float]:
    """Return positive semidefinite A and B, and the noise level of B.

    ``crossed`` is the symmetric part of the covariance of rows and the rows ``lag`` earlier, and
    ``levels`` are the noise levels of A, B and ``crossed``. Two estimates of B, from velocities and
    from ``2 A - 2 crossed``, are weighted by their noise.
    """
    scale = scales(A)
    units = np.outer(scale, scale)
    A, B, crossed = A / units, B / units, crossed / units
    noise_A, noise_B, noise_crossed = levels
    from_velocities = noise_B * float(np.diagonal(B).mean())
    from_products = 2.0 * noise_crossed
    square = from_velocities**2 + from_products**2
    noise = 0.0
    if square > 0.0:
        share = from_velocities**2 / square
        noise = from_velocities * from_products / np.sqrt(square)
        B = share * 2.0 * (A - crossed) + (1.0 - share) * B
        B = positive_part(B) + NOISE_SHARE * noise * np.eye(len(B))
    if noise_A > 0.0:
        A = positive_part(A)
    return A * units, B * units, float(noise)


def imputed(rows: Matrix, mean: Float64s, covariance: Float64s, noise: float) -> Matrix:
    """Return rows with the linear prediction of missing values from the present ones.

    Rows without a present value stay NaN.
    """
    scale = scales(covariance)
    correlation = covariance / np.outer(scale, scale)
    ridge = (FILL_SHARE * noise + FILL_LEAST) * np.eye(len(scale))
    complete = np.array(rows)
    lost = np.flatnonzero(~np.isfinite(complete).all(axis=1))
    patterns, which = np.unique(np.isfinite(complete[lost]), axis=0, return_inverse=True)
    for k, here in enumerate(patterns):
        if not here.any():
            continue
        places = lost[which.ravel() == k]
        known = (complete[np.ix_(places, here)] - mean[here]) / scale[here]
        noisy = (correlation + ridge)[np.ix_(here, here)]
        weights = np.linalg.solve(noisy, correlation[np.ix_(here, ~here)])
        complete[np.ix_(places, ~here)] = mean[~here] + (known @ weights) * scale[~here]
    return complete


def repaired_pairs(joint: Float64s, noise: float) -> Float64s:
    """Return a positive definite covariance of earlier and later rows side by side."""
    # A constant column stays constant: no ridge in the unit of its values.
    scale = np.sqrt(np.maximum(np.diagonal(joint), 0.0))
    unit = np.where(scale > 0.0, scale, 1.0)
    ridge = FILL_SHARE * noise * np.eye(len(joint))
    correlation = positive_part(joint / np.outer(unit, unit)) + ridge
    return np.asarray(correlation * np.outer(scale, scale))
