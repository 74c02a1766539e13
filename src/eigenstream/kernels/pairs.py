"""All pairs of examples, one pass, no table of distances: histograms, sums, nearest examples.

Points come as columns (features x examples), so that the inner loop runs over examples in vector
registers. Distances are sums of squared differences, never |x|^2 + |y|^2 - 2<x, y>: equal pairs
have equal distances to the last bit, and duplicates have distance 0, so ties are true ties.
"""

from math import ceil, sqrt
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

#: Distances held at a time: they stay in the first-level cache.
STRIP = 512


@njit(cache=True, nogil=True)
def squared_distances(
    points: NDArray[Any], to: NDArray[Any], start: int, stop: int, out: NDArray[Any]
) -> None:
    """Write the squared distances of the columns [start, stop) to a point into the head of out."""
    out[: stop - start] = 0.0
    for f in range(points.shape[0]):
        centre = to[f]
        for j in range(start, stop):
            gap = points[f, j] - centre
            out[j - start] += gap * gap


@njit(cache=True, nogil=True)
def pair_distances(
    points: NDArray[Any], codes: NDArray[Any], same: NDArray[Any], different: NDArray[Any]
) -> None:
    """Write the distances of all pairs of the same class and of different classes."""
    n = points.shape[1]
    strip = np.empty(STRIP)
    s = 0
    d = 0
    for i in range(n):
        to = points[:, i].copy()
        for start in range(i + 1, n, STRIP):
            stop = min(start + STRIP, n)
            squared_distances(points, to, start, stop, strip)
            for j in range(start, stop):
                distance = sqrt(strip[j - start])
                if codes[j] == codes[i]:
                    same[s] = distance
                    s += 1
                else:
                    different[d] = distance
                    d += 1


@njit(cache=True, nogil=True)
def pair_histogram(
    points: NDArray[Any], codes: NDArray[Any], width: float, counts: NDArray[Any]
) -> None:
    """Count all pairs by distance: bin b of row 0 (same class) and 1 holds (b - 1, b] * width."""
    n = points.shape[1]
    last = counts.shape[1] - 1
    strip = np.empty(STRIP)
    for i in range(n):
        to = points[:, i].copy()
        for start in range(i + 1, n, STRIP):
            stop = min(start + STRIP, n)
            squared_distances(points, to, start, stop, strip)
            for j in range(start, stop):
                strip[j - start] = sqrt(strip[j - start]) / width
            for j in range(start, stop):
                b = min(ceil(strip[j - start]), last)
                counts[0 if codes[j] == codes[i] else 1, b] += 1


@njit(cache=True, nogil=True)
def pair_sums(
    points: NDArray[Any], codes: NDArray[Any], width: float, table: NDArray[Any], out: NDArray[Any]
) -> None:
    """Add to out[i] what the table holds for each pair of i: by kind (row) and bin (column)."""
    n = points.shape[1]
    last = table.shape[1] - 1
    strip = np.empty(STRIP)
    for i in range(n):
        to = points[:, i].copy()
        for start in range(i + 1, n, STRIP):
            stop = min(start + STRIP, n)
            squared_distances(points, to, start, stop, strip)
            for j in range(start, stop):
                strip[j - start] = sqrt(strip[j - start]) / width
            for j in range(start, stop):
                b = min(ceil(strip[j - start]), last)
                value = table[0 if codes[j] == codes[i] else 1, b]
                out[i] += value
                out[j] += value


@njit(cache=True, nogil=True)
def one_shot_hits(
    points: NDArray[Any], codes: NDArray[Any], sizes: NDArray[Any], hits: NDArray[Any]
) -> None:
    """Write, for each query, the sum over the examples of its class of the chance to be nearest.

    The chance of an example at distance r is the product over the other classes of the share of
    their points farther away than r.
    """
    n = points.shape[1]
    n_classes = sizes.shape[0]
    distances = np.empty(n)
    for q in range(n):
        squared_distances(points, points[:, q].copy(), 0, n, distances)
        order = np.argsort(distances)
        mine = codes[q]
        near = np.zeros(n_classes, np.int64)
        total = 0.0
        exhausted = False
        place = 0
        while place < n and not exhausted:
            # Points at one distance go together: a tie is not farther, so it counts as an error.
            end = place
            partners = 0
            while end < n and distances[order[end]] == distances[order[place]]:
                point = order[end]
                if codes[point] != mine:
                    near[codes[point]] += 1
                    exhausted = exhausted or near[codes[point]] == sizes[codes[point]]
                elif point != q:
                    partners += 1
                end += 1
            if partners and not exhausted:
                chance = 1.0
                for c in range(n_classes):
                    if c != mine:
                        chance *= 1.0 - near[c] / sizes[c]
                total += partners * chance
            place = end
        hits[q] = total


@njit(cache=True, nogil=True)
def drawn_errors(
    points: NDArray[Any], codes: NDArray[Any], examples: NDArray[Any], errors: NDArray[Any]
) -> None:
    """Write the share of queries misjudged by each draw of one example a class."""
    n = points.shape[1]
    n_classes = examples.shape[1]
    for draw in range(examples.shape[0]):
        own = np.empty(n)
        other = np.full(n, np.inf)
        distances = np.empty(n)
        for c in range(n_classes):
            squared_distances(points, points[:, examples[draw, c]].copy(), 0, n, distances)
            for q in range(n):
                if codes[q] == c:
                    own[q] = distances[q]
                else:
                    other[q] = min(other[q], distances[q])
        wrong = 0
        for q in range(n):
            if examples[draw, codes[q]] != q and own[q] >= other[q]:
                wrong += 1
        errors[draw] = wrong / (n - n_classes)
