"""Which units are nearest to rows, by products of matrices, a few MiB at a time."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigenstream._linalg import Float64s
from eigenstream.kernels.base import njit
from eigenstream.rules.competitive._map_steps import EQUAL, first_within, least_of

__all__ = ["Nearest", "add_up", "nearest_units", "unit_squares"]

#: Values of distances that are held at a time.
DISTANCES = 2**17


class Nearest(NamedTuple):
    """The nearest unit of each row, the one after it, and the squared distance to the first."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    squares: Float64s


def nearest_units(rows: Float64s, units: Float64s) -> Nearest:
    """Find the two nearest units of each row; of equally near ones the first.

    Values that are missing (NaN) are left out, and the squares scaled up by the share that is
    there. Both should be centred: a common offset costs precision. With one unit it is both.

    >>> found = nearest_units(np.array([[1.0], [4.0]]), np.array([[0.0], [2.0], [5.0]]))
    >>> found.first, found.second, found.squares
    (array([0, 2]), array([1, 1]), array([1., 1.]))
    """
    n, K = len(rows), len(units)
    found = Nearest(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n))
    step = max(DISTANCES // K, 16)
    for start in range(0, n, step):
        here = slice(start, start + step)
        part = np.ascontiguousarray(rows[here], np.float64)
        squares = unit_squares(part, units)
        sizes = np.einsum("tj,tj->t", part, part)
        if np.isnan(sizes).any():
            sizes = (np.where(np.isnan(part), 0.0, part) ** 2).sum(axis=1)
        _two_least(squares, sizes, *(one[here] for one in found))
        _settle(part, units, found.first[here], found.squares[here])
    return found


def unit_squares(rows: Float64s, units: Float64s) -> Float64s:
    """Return |w|^2 - 2 <w, x> of rows and units: squared distances, less |x|^2.

    >>> unit_squares(np.array([[1.0, np.nan]]), np.array([[3.0, 2.0]]))
    array([[3.]])
    """
    # A NaN in the rows is one in their sum; so is none that infinities make, which are refused.
    if np.isnan(rows.sum()):
        lacking = np.isnan(rows)
        there = np.where(lacking, 0.0, rows) @ (-2.0 * units.T)
        return np.asarray(there + (1.0 - lacking) @ (units**2).T)
    squares = rows @ (-2.0 * units.T)
    squares += np.einsum("kj,kj->k", units, units)
    return np.asarray(squares)


@njit(cache=True, nogil=True, error_model="numpy")
def _two_least(squares: Any, sizes: Any, first: Any, second: Any, least: Any) -> None:
    """Write the places of the smallest two of each row, and the smallest, which is taken out."""
    for t in range(squares.shape[0]):
        line = squares[t]
        low = least_of(line)
        winner = first_within(line, low + EQUAL * (2.0 * sizes[t] + low))
        first[t], second[t], least[t] = winner, winner, line[winner]
        if line.shape[0] > 1:
            line[winner] = np.inf
            second[t] = first_within(line, least_of(line))


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _settle(rows: Any, units: Any, first: Any, squares: Any) -> None:
    """Write the squared distances as sums of squares, which are exact where they are small."""
    D = rows.shape[1]
    for t in range(rows.shape[0]):
        row, unit, total, there = rows[t], units[first[t]], 0.0, 0
        for j in range(D):
            gap = row[j] - unit[j]
            if not np.isnan(gap):
                total += gap * gap
                there += 1
        squares[t] = total * (D / max(there, 1))


@njit(cache=True, nogil=True, error_model="numpy")
def add_up(places: Any, weights: Any, rows: Any, sums: Any) -> None:
    """Add each row, times its weight, to the sum at its place.

    >>> sums = np.zeros((2, 1))
    >>> add_up(np.array([1, 1]), np.array([1.0, 2.0]), np.array([[1.0], [10.0]]), sums)
    >>> sums.tolist()
    [[0.0], [21.0]]
    """
    for t in range(rows.shape[0]):
        line, weight, row = sums[places[t]], weights[t], rows[t]
        for j in range(row.shape[0]):
            line[j] += weight * row[j]
