"""Which units are nearest to rows: most are ruled out in single precision, the rest are looked at.

A product of matrices in single precision takes half the time of one in double. By the bound on its
rounding it says of most units that they cannot be the nearest; the few that can are compared by
sums of squares, in double precision. So what is found is exact, however the rows are cut.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigenstream._linalg import Float64s
from eigenstream.kernels.base import njit
from eigenstream.rules.competitive._scans import EQUAL, first_within, least_of

__all__ = ["Nearest", "Panel", "add_up", "nearest_units", "panels", "unit_squares"]

#: Values of distances, and of rows, that are held at a time: they should stay in the cache.
HELD = 2**17

#: Wider rows are compared in double precision at once: the bound would rule too few units out.
WIDEST = 2**15

#: Where more than one in so many units could be the nearest, looking at them takes longer than a
#: product of matrices in double precision.
SOME = 16

#: Half the distance between 1 and the next number.
SINGLE, DOUBLE = 2.0**-24, 2.0**-53


class Nearest(NamedTuple):
    """The nearest unit of each row, the one after it, and the squared distance to the first."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    squares: Float64s


class Panel(NamedTuple):
    """Some rows less the centre, and the units that are nearest to them."""

    here: slice
    rows: Float64s
    found: Nearest


class _Task(NamedTuple):
    """A panel, and room in which its units are looked at."""

    rows: Any  # (m, D)
    sizes: Any  # (m,): |x|^2
    units: Any  # (K, D)
    gaps: bool  # whether rows lack values
    who: Any  # (K,)
    exact: Any  # (K,)
    found: Any  # Nearest


def nearest_units(rows: Any, units: Float64s, centre: Any = 0.0) -> Nearest:
    """Find the two nearest units of each row; of equally near ones the first.

    ``units`` are less ``centre``, which is subtracted from the rows: a common offset would cost
    precision. Values that are missing (NaN) are left out, and the squares scaled up by the share
    that is there. With one unit it is both.

    >>> found = nearest_units(np.array([[1.0], [4.0]]), np.array([[0.0], [2.0], [5.0]]))
    >>> found.first, found.second, found.squares
    (array([0, 2]), array([1, 1]), array([1., 1.]))
    """
    n = len(rows)
    found = Nearest(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n))
    for panel in panels(rows, units, centre):
        for one, part in zip(found, panel.found, strict=True):
            one[panel.here] = part
    return found


def panels(rows: Any, units: Float64s, centre: Any = 0.0) -> Iterator[Panel]:
    """Go through rows a panel at a time, whose rows are overwritten by the next one's.

    >>> [panel.found.first for panel in panels(np.ones((1, 1)), np.array([[0.0], [2.0]]), 0.5)]
    [array([0])]
    """
    (K, D), n = units.shape, len(rows)
    units = np.ascontiguousarray(units)
    squares = np.einsum("kj,kj->k", units, units)
    step = min(max(HELD // max(K, D), 16), max(n, 1))
    single = _Single(units, squares, step) if D <= WIDEST else None
    room, who, exact = np.empty((step, D)), np.zeros(K, np.int64), np.zeros(K)
    for start in range(0, n, step):
        here = slice(start, min(start + step, n))
        m = here.stop - start
        part = np.subtract(rows[here], centre, out=room[:m], dtype=np.float64)
        sizes = np.einsum("tj,tj->t", part, part)
        gaps = bool(np.isnan(sizes).any())  # finite rows make no NaN
        if gaps:
            sizes = (np.where(np.isnan(part), 0.0, part) ** 2).sum(axis=1)
        found = Nearest(np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m))
        task = _Task(part, sizes, units, gaps, who, exact, found)
        if gaps or single is None or not single.settle(task):
            # Where rows lack values, the squares are sums of so many more products.
            margins = _margins(DOUBLE, (1 + gaps) * D, sizes + squares.max())
            _settle(unit_squares(part, units), np.zeros(K), sizes, margins, m * K, task)
        yield Panel(here, part, found)


def _margins(unit: float, D: int, sums: Any) -> Any:
    """Return how far two squared distances may be off together, for |x|^2 + the largest |w|^2.

    Numbers are rounded to a share ``unit``. A sum of D products of rounded numbers is off by
    (D + 2) units, but for terms of second order, of the sum of the products' sizes, which is at
    most half of |x|^2 + |w|^2; twice that enters. The squares and the sums of the three add up to
    4 units of these at most. And units that are equal by the rule must be among those that are
    looked at.
    """
    return (2.0 * (D + 8) * unit + 2.0 * EQUAL) * sums


class _Single:
    """Distances in single precision, of rows and units that are scaled so that none overflows."""

    def __init__(self, units: Float64s, squares: Float64s, step: int) -> None:
        K, D = units.shape
        self._units, self._squares = units, squares
        self._largest, self._scale = float(squares.max()), 0.0
        self._columns, self._offsets = np.empty((D, K), np.float32), np.empty(K, np.float32)
        self._rows, self._values = np.empty((step, D), np.float32), np.empty((step, K), np.float32)

    def settle(self, task: _Task) -> bool:
        """Write the nearest units of a panel; False: too many could be."""
        m, D = task.rows.shape
        K = len(self._units)
        both = max(self._largest, float(task.sizes.max()))
        if not 0.0 < both < np.inf:
            return False
        scale = float(0.5 ** np.ceil(0.5 * np.log2(both)))
        if scale != self._scale:
            self._scale = scale
            np.multiply(self._units.T, -2.0 * scale, out=self._columns, casting="same_kind")
            np.multiply(self._squares * scale, scale, out=self._offsets, casting="same_kind")
        rows, values = self._rows[:m], self._values[:m]
        np.multiply(task.rows, scale, out=rows, casting="same_kind")
        np.matmul(rows, self._columns, out=values)
        sizes = task.sizes * scale * scale
        # Of numbers below the least ones some 2^-149 is lost.
        margins = _margins(SINGLE, D, sizes + self._largest * scale * scale) + D * 2.0**-146
        return _settle(values, self._offsets, sizes, margins, m * (2 + K // SOME), task)


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


def _settle(
    values: Any, offsets: Any, sizes: Float64s, margins: Float64s, most: int, task: _Task
) -> bool:
    """Write the nearest units by ``values + offsets + sizes``, squared distances.

    Two of them may be off by the ``margins``. False: more than ``most`` had to be looked at.
    """
    kind = values.dtype
    bits = np.dtype(f"i{kind.itemsize}")
    limit = np.zeros(1, kind)
    both = values, values.view(bits), limit, limit.view(bits)
    return bool(_choose(both, offsets, (sizes.astype(kind), margins), most, task))


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _choose(given: Any, offsets: Any, known: Any, most: int, task: _Task) -> bool:
    values, bits, limit, limit_bits = given
    sizes, margins = known
    zero, K, looked = limit[0], values.shape[1], 0
    for t in range(values.shape[0]):
        line, own, size = values[t], bits[t], sizes[t]
        for k in range(K):
            line[k] = max(line[k] + (offsets[k] + size), zero)
        best = first_within(own, least_of(own), 0)
        limit[0] = np.inf
        if K > 1:
            low, line[best] = line[best], limit[0]
            limit_bits[0] = least_of(own)
            line[best] = low
            # Rounded up, whatever the precision.
            limit[0] = (limit[0] + margins[t]) * (1.0 + 4.0 * SINGLE)
        count, k = 0, first_within(own, limit_bits[0], 0)
        while k < K:
            task.who[count] = k
            count += 1
            k = first_within(own, limit_bits[0], k + 1)
        looked += count
        if looked > most:
            return False
        _rank(task, t, count)
    return True


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _rank(task: _Task, t: int, count: int) -> None:
    """Write the nearest and the next of the first units that ``who`` names."""
    row, who, exact, found = task.rows[t], task.who, task.exact, task.found
    D, there, least = row.shape[0], 0, np.inf
    for i in range(count):
        unit, total = task.units[who[i]], 0.0
        if task.gaps:
            there = 0
            for j in range(D):
                if not np.isnan(row[j]):
                    total += (row[j] - unit[j]) ** 2
                    there += 1
        else:
            for j in range(D):
                total += (row[j] - unit[j]) ** 2
        exact[i] = total
        least = min(least, total)
    one, slack = 0, least + EQUAL * (task.sizes[t] + least)
    while one < count - 1 and exact[one] > slack:
        one += 1
    other = -1
    for i in range(count):
        if i != one and (other < 0 or exact[i] < exact[other]):
            other = i
    found.first[t], found.second[t] = who[one], who[max(other, 0)]
    found.squares[t] = exact[one] * (D / max(there, 1) if task.gaps else 1.0)


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
