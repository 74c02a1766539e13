"""Sums over all pairs of examples in one pass, without a matrix of distances.

Points are columns (features x examples), so that the inner loop vectorises over examples.
Distances are sums of squared differences, so duplicates have distance 0 and ties are exact.
"""

from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream.kernels.base import njit

#: Points in a tile of distances: a tile of 16 x 128 fits into the first-level cache.
TILE = 16
STRIP = 128


@njit(cache=True, nogil=True)
def _all_pairs(
    points: NDArray[Any],
    codes: NDArray[Any],
    weights: NDArray[Any],
    per_unit: float,
    table: NDArray[Any],
    sums: NDArray[Any],
    begin: int,
    end: int,
) -> None:
    """Read the table by the kinds and bins of pairs, or, without ``sums``, write it."""
    n, n_bins, reads = points.shape[1], table.shape[1], len(sums) > 0
    room, bins = np.empty((TILE, STRIP)), np.empty((TILE, STRIP), np.int32)
    for first in range(begin, end, TILE):
        last = first + TILE if first + TILE < end else end
        for start in range(first, n, STRIP):
            stop = start + STRIP if start + STRIP < n else n
            for k in range(last - first):
                for j in range(stop - start):
                    room[k, j] = 0.0
            for f in range(points.shape[0]):
                others = points[f, start:stop]
                for k in range(last - first):
                    here, total = points[f, first + k], room[k]
                    for j in range(stop - start):
                        gap = others[j] - here
                        total[j] += gap * gap
            for k in range(last - first):
                for j in range(stop - start):
                    place = ceil(sqrt(room[k, j]) * per_unit)
                    bins[k, j] = place if place < n_bins else n_bins - 1
            for i in range(first, last):
                for j in range(start if start > i else i + 1, stop):
                    kind, place = 0 if codes[j] == codes[i] else 1, bins[i - first, j - start]
                    if reads:
                        sums[i] += table[kind, place]
                        sums[j] += table[kind, place]
                    else:
                        table[kind, place] += weights[i] * weights[j]


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

    Bin b holds distances in (b - 1, b] / per_unit. The first point of a pair is in [begin, end).
    The second one is any later point.
    """
    _all_pairs(points, codes, weights, per_unit, counts, weights[:0], begin, end)


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
    _all_pairs(points, codes, out[:0], per_unit, table, out, begin, end)


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
        chance = np.empty(own.shape[0])
        for p in range(own.shape[0]):
            chance[p] = 1.0
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
        misses[k] = 0.0
        for p in range(own.shape[0]):
            misses[k] += 1.0 - chance[p]
