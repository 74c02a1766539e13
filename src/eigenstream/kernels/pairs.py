"""Sums over all pairs of examples in one pass, without a matrix of distances.

Points are columns (features x examples).
Distances are sums of squared differences, so duplicates have distance 0 and ties are exact.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream.kernels.base import njit


# fastmath lets the compiler reorder sums, so that they are vectorised.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def bin_of(x: NDArray[Any], y: NDArray[Any], per_unit: float, last: int) -> int:
    """Return the bin of the distance of two points: bin b holds (b - 1, b] / per_unit."""
    square = 0.0
    for f in range(len(x)):
        square += (x[f] - y[f]) ** 2
    return min(int(np.ceil(np.sqrt(square) * per_unit)), last)


@njit(cache=True, nogil=True)
def pair_histogram(
    points: NDArray[Any],
    codes: NDArray[Any],
    weights: NDArray[Any],
    per_unit: float,
    counts: NDArray[Any],
    begin: int,
    end: int,
) -> None:
    """Add the weight w_i w_j of each pair to its bin, in row 0 for the same class, else row 1.

    The first point of a pair is in [begin, end). The second one is any later point.
    """
    rows, last = points.T.copy(), counts.shape[1] - 1
    for i in range(begin, end):
        for j in range(i + 1, len(rows)):
            place = bin_of(rows[i], rows[j], per_unit, last)
            counts[0 if codes[j] == codes[i] else 1, place] += weights[i] * weights[j]


@njit(cache=True, nogil=True)
def pair_sums(
    points: NDArray[Any],
    codes: NDArray[Any],
    per_unit: float,
    table: NDArray[Any],
    out: NDArray[Any],
    begin: int,
    end: int,
) -> None:
    """Add to out[i] the table entry of each pair of example i, by kind (row) and bin (column).

    The pairs are those of ``pair_histogram``.
    """
    rows, last = points.T.copy(), table.shape[1] - 1
    for i in range(begin, end):
        for j in range(i + 1, len(rows)):
            place = bin_of(rows[i], rows[j], per_unit, last)
            value = table[0 if codes[j] == codes[i] else 1, place]
            out[i] += value
            out[j] += value


@njit(cache=True, nogil=True)
def one_shot_misses(
    distances: NDArray[Any], codes: NDArray[Any], starts: NDArray[Any], misses: NDArray[Any]
) -> None:
    """Write, for each query, the sum of the probabilities that its examples are not the nearest.

    Row k of ``distances`` has the distances from query k to all points. Class c is in the columns
    from ``starts[c]`` to ``starts[c + 1]``, in ascending order. The query itself is the first
    point of its class ``codes[k]``. Take an example of that class at distance r. It is the nearest
    with a probability that is a product over the other classes: the share of their points beyond
    r.
    """
    n_classes = starts.shape[0] - 1
    for k in range(distances.shape[0]):
        row = distances[k]
        own = row[starts[codes[k]] + 1 : starts[codes[k] + 1]]
        chance = np.ones(own.shape[0])
        for c in range(n_classes):
            if c == codes[k]:
                continue
            others = row[starts[c] : starts[c + 1]]
            near = 0
            for p in range(own.shape[0]):
                # A tie is not beyond r, so it counts as an error.
                while near < others.shape[0] and others[near] <= own[p]:
                    near += 1
                chance[p] *= 1.0 - near / others.shape[0]
        misses[k] = (1.0 - chance).sum()
