"""The distance of two clusters, estimated from the means that k-means has found."""

from typing import Any

from eigenstream import theory
from eigenstream._linalg import Float64s

__all__ = ["clusters_of"]

#: Rows this near to their prototypes, by squares, differ from them by rounding.
EXACT = 1e-12

#: Rounds of the fixed point: the noise depends slightly on the distance, and that on the noise.
ROUNDS = 30


def clusters_of(vectors: Float64s, counts: Float64s, error: float) -> "theory.SymmetricPair":
    """Return the two clusters whose k-means prototypes these are.

    ``error`` is the mean squared distance of the rows to their nearest prototype. The estimate is
    within 10% for distances of two standard deviations and at least 100 rows per feature.
    """
    first, second = vectors
    # The difference of two means contains their noise.
    noise: Any = error * (1 / counts).sum()
    square = max(float(((first - second) ** 2).sum() - noise), 0.0)
    spread, b = error + square / 4, 0.0
    if not error > EXACT * square:
        raise ValueError("every row equals a prototype: no noise, and no plateau. Pass separation=")
    for _ in range(ROUNDS):
        # Along the line through both centres the clusters add b^2 / 2 of the variance.
        variance = spread / (len(first) + b**2 / 2)
        pair = theory.SymmetricPair.of_distance(max(square / variance, 1e-300) ** 0.5)
        b = pair.b
    return pair
