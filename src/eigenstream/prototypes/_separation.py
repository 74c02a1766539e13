"""How far apart two clusters are, by the prototypes that k-means has found in them."""

from typing import Any

from eigenstream._linalg import Float64s
from eigenstream.theory import SymmetricPair

NOT_MEANS = (
    "the theory's formulas are those of two prototypes that are means of the rows they won: fit "
    "CompetitiveLearning(2) with assignment='winner' and learning_rate='count'."
)

#: Rows this near to their prototypes, by squares, differ from them by rounding.
EXACT = 1e-12

#: The noise depends a little on the distance, and that on the noise.
ROUNDS = 30


def clusters_of(vectors: Float64s, counts: Float64s, error: float) -> SymmetricPair:
    """Return the two clusters whose prototypes these are; ``error`` is that of the rows.

    To a few per cent where centres are two standard deviations apart and rows many more than
    features; nearer ones seem nearer still.
    """
    first, second = vectors
    # A mean of so many rows is off by its own noise.
    noise: Any = error * (1 / counts).sum()
    square = max(float(((first - second) ** 2).sum() - noise), 0.0)
    spread, b = error + square / 4, 0.0
    if not error > EXACT * square:
        raise ValueError("every row is a prototype itself: no noise, and no plateau.")
    for _ in range(ROUNDS):
        # Along the line through both centres the clusters add b^2 / 2 of the variance to it.
        variance = spread / (len(first) + b**2 / 2)
        pair = SymmetricPair.of_distance(max(square / variance, 1e-300) ** 0.5)
        b = pair.b
    return pair
