"""All pairs of examples, one pass, no table of distances: histograms, sums, nearest examples.

Points come as columns (features x examples), so that the inner loop runs over examples in vector
registers. Distances are sums of squared differences, never |x|^2 + |y|^2 - 2<x, y>: equal pairs
have equal distances to the last bit, and duplicates have distance 0, so ties are true ties.
"""

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream.kernels.base import njit

#: Distances are made TILE x STRIP at a time: with the points they come from, that fits into the
#: first-level cache, and each point that is fetched serves TILE distances.
TILE = 16
STRIP = 128


@njit(cache=True, nogil=True)
def squared_distances(
    points: NDArray[Any],
    chosen: NDArray[Any],
    start: int,
    stop: int,
    out: NDArray[Any],
    at: int,
) -> None:
    """Write the squared distances of the chosen columns to the columns [start, stop).

    Row k of ``out``, from place ``at`` on, takes those of column ``chosen[k]``.
    """
    width = stop - start
    out[: chosen.shape[0], at : at + width] = 0.0
    for f in range(points.shape[0]):
        others = points[f, start:stop]
        for k in range(chosen.shape[0]):
            here = points[f, chosen[k]]
            total = out[k, at : at + width]
            for j in range(width):
                gap = others[j] - here
                total[j] += gap * gap


@njit(cache=True, nogil=True)
def distance_rows(points: NDArray[Any], chosen: NDArray[Any], out: NDArray[Any]) -> None:
    """Write the squared distances of the chosen columns to all columns, one row each."""
    n = points.shape[1]
    for start in range(0, n, STRIP):
        squared_distances(points, chosen, start, min(start + STRIP, n), out, start)


@njit(cache=True, nogil=True)
def pair_distances(
    points: NDArray[Any], codes: NDArray[Any], same: NDArray[Any], different: NDArray[Any]
) -> None:
    """Write the distances of all pairs of the same class and of different classes."""
    n = points.shape[1]
    tile = np.empty((TILE, STRIP))
    s = 0
    d = 0
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        mine = np.arange(first, last)
        for start in range(first, n, STRIP):
            stop = min(start + STRIP, n)
            squared_distances(points, mine, start, stop, tile, 0)
            for i in range(first, last):
                for j in range(max(start, i + 1), stop):
                    distance = sqrt(tile[i - first, j - start])
                    if codes[j] == codes[i]:
                        same[s] = distance
                        s += 1
                    else:
                        different[d] = distance
                        d += 1


@njit(cache=True, nogil=True)
def bins_of(squares: NDArray[Any], per_unit: float, last: int, out: NDArray[Any]) -> None:
    """Write the bins of squared distances: bin b holds distances in (b - 1, b] / per_unit."""
    for k in range(squares.shape[0]):
        for j in range(squares.shape[1]):
            out[k, j] = min(np.int32(np.ceil(sqrt(squares[k, j]) * per_unit)), last)


@njit(cache=True, nogil=True)
def pair_histogram(
    points: NDArray[Any], codes: NDArray[Any], per_unit: float, counts: NDArray[Any]
) -> None:
    """Count all pairs by distance, those of the same class in row 0 and the others in row 1."""
    n = points.shape[1]
    tile = np.zeros((TILE, STRIP))
    bins = np.empty((TILE, STRIP), np.int32)
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        mine = np.arange(first, last)
        for start in range(first, n, STRIP):
            stop = min(start + STRIP, n)
            squared_distances(points, mine, start, stop, tile, 0)
            bins_of(tile, per_unit, counts.shape[1] - 1, bins)
            for i in range(first, last):
                for j in range(max(start, i + 1), stop):
                    kind = 0 if codes[j] == codes[i] else 1
                    counts[kind, bins[i - first, j - start]] += 1


@njit(cache=True, nogil=True)
def weighted_pair_histogram(
    points: NDArray[Any],
    codes: NDArray[Any],
    weights: NDArray[Any],
    per_unit: float,
    counts: NDArray[Any],
) -> None:
    """Do what pair_histogram does, a pair having the product of its members' weights."""
    n = points.shape[1]
    tile = np.zeros((TILE, STRIP))
    bins = np.empty((TILE, STRIP), np.int32)
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        mine = np.arange(first, last)
        for start in range(first, n, STRIP):
            stop = min(start + STRIP, n)
            squared_distances(points, mine, start, stop, tile, 0)
            bins_of(tile, per_unit, counts.shape[1] - 1, bins)
            for i in range(first, last):
                for j in range(max(start, i + 1), stop):
                    kind = 0 if codes[j] == codes[i] else 1
                    counts[kind, bins[i - first, j - start]] += weights[i] * weights[j]


@njit(cache=True, nogil=True)
def pair_errors(
    points: NDArray[Any],
    codes: NDArray[Any],
    weights: NDArray[Any],
    threshold: float,
    out: NDArray[Any],
) -> None:
    """Write, for each point, the weights of its pairs that a threshold errs on, and of all.

    Rows of ``out``: pairs of one class that are not nearer than the threshold, all of one class,
    pairs of different classes that are not farther, all of different classes.
    """
    n = points.shape[1]
    tile = np.zeros((TILE, STRIP))
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        mine = np.arange(first, last)
        for start in range(first, n, STRIP):
            stop = min(start + STRIP, n)
            squared_distances(points, mine, start, stop, tile, 0)
            for i in range(first, last):
                for j in range(max(start, i + 1), stop):
                    apart = sqrt(tile[i - first, j - start])
                    kind = 0 if codes[j] == codes[i] else 2
                    wrong = apart >= threshold if kind == 0 else apart <= threshold
                    out[kind + 1, i] += weights[j]
                    out[kind + 1, j] += weights[i]
                    if wrong:
                        out[kind, i] += weights[j]
                        out[kind, j] += weights[i]


@njit(cache=True, nogil=True)
def pair_sums(
    points: NDArray[Any],
    codes: NDArray[Any],
    per_unit: float,
    table: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Add to out[i] what the table holds for each pair of i: by kind (row) and bin (column)."""
    n = points.shape[1]
    tile = np.zeros((TILE, STRIP))
    bins = np.empty((TILE, STRIP), np.int32)
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        mine = np.arange(first, last)
        for start in range(first, n, STRIP):
            stop = min(start + STRIP, n)
            squared_distances(points, mine, start, stop, tile, 0)
            bins_of(tile, per_unit, table.shape[1] - 1, bins)
            for i in range(first, last):
                for j in range(max(start, i + 1), stop):
                    kind = 0 if codes[j] == codes[i] else 1
                    value = table[kind, bins[i - first, j - start]]
                    out[i] += value
                    out[j] += value


@njit(cache=True, nogil=True)
def one_shot_misses(
    distances: NDArray[Any],
    mine: NDArray[Any],
    starts: NDArray[Any],
    misses: NDArray[Any],
) -> None:
    """Write, for each query, the sum of the chances that its examples are not the nearest.

    Row k of ``distances`` holds those of query k to all points, class c in the columns from
    ``starts[c]`` to ``starts[c + 1]``, ascending inside each class; the query itself, of class
    ``mine[k]``, is first in its own. An example of that class at distance r is the nearest with a
    chance that is the product over the other classes of the share of their points beyond r.
    """
    n_classes = starts.shape[0] - 1
    for k in range(distances.shape[0]):
        row = distances[k]
        own = row[starts[mine[k]] + 1 : starts[mine[k] + 1]]
        chance = np.ones(own.shape[0])
        for c in range(n_classes):
            if c == mine[k]:
                continue
            others = row[starts[c] : starts[c + 1]]
            near = 0
            for p in range(own.shape[0]):
                # A tie is not beyond r, so it counts as an error.
                while near < others.shape[0] and others[near] <= own[p]:
                    near += 1
                chance[p] *= 1.0 - near / others.shape[0]
        misses[k] = (1.0 - chance).sum()


@njit(cache=True, nogil=True)
def drawn_errors(
    points: NDArray[Any], codes: NDArray[Any], examples: NDArray[Any], errors: NDArray[Any]
) -> None:
    """Write the share of queries misjudged by each draw (row) of one example a class."""
    n = points.shape[1]
    n_classes = examples.shape[1]
    distances = np.empty((n_classes, n))
    for draw in range(examples.shape[0]):
        distance_rows(points, examples[draw], distances)
        wrong = 0
        for q in range(n):
            if examples[draw, codes[q]] != q:
                for c in range(n_classes):
                    if c != codes[q] and distances[c, q] <= distances[codes[q], q]:
                        wrong += 1
                        break
        errors[draw] = wrong / (n - n_classes)
