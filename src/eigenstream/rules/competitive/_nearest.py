"""Which units are nearest to rows: most are ruled out by bounds, the rest are looked at.

Distances in single precision, or bounds by a few coordinates (``_shadows``), say of most units that
they cannot be the nearest; the few that can are compared by sums of squares, in double precision.
So what is found is exact, however the rows are cut, and whatever the bounds were.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigenstream._linalg import Float64s
from eigenstream.kernels.base import njit
from eigenstream.rules.competitive._scans import (
    EQUAL,
    STRETCH,
    least_by_stretches,
    next_by_stretches,
)
from eigenstream.rules.competitive._shadows import DOUBLE, SINGLE, Shadows, affordable, widths
from eigenstream.rules.engine import ADDED, add_tile

__all__ = ["Nearest", "Panel", "Search", "add_up", "nearest_units", "unit_squares"]

#: Values of rows, and a quarter of those of distances where these are held, at a time: they should
#: stay in the cache.
HELD = 2**17

#: Wider rows are compared in double precision at once: the bound would rule too few units out.
WIDEST = 2**15

#: Units of up to so many numbers are gone through by tiles in registers; more, by BLAS.
TILED = 2**16

#: Where more than one in so many units could be the nearest, looking at them takes longer than a
#: product of matrices in double precision.
SOME = 16


class Nearest(NamedTuple):
    """The nearest unit of each row, the one after it, and the squared distance to the first."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    squares: Float64s


class Panel(NamedTuple):
    """Some rows less the centre, and the units that are nearest to them."""

    here: slice
    rows: Float64s
    gaps: bool  # whether rows lack values
    found: Nearest


class _Task(NamedTuple):
    """A panel, and room in which its units are looked at."""

    rows: Any  # (m, D)
    sizes: Any  # (m,): |x|^2
    units: Any  # (K, D)
    gaps: bool  # whether rows lack values
    both: bool  # whether the next nearest are wanted, too
    who: Any  # (K,)
    exact: Any  # (K,)
    found: Any  # Nearest


class _Products(NamedTuple):
    """Bounds of squared distances, as products of matrices: factors @ columns + offsets + sizes."""

    factors: Any  # (m, q)
    columns: Any  # (q, K)
    offsets: Any  # (K,)
    sizes: Any  # (m,)
    values: Any  # (m, K), or (ADDED, K) where products are tiles
    limit: Any  # (1,): room for a number of the same kind
    bits: Any  # of the values
    limit_bits: Any
    tiled: bool


class _Measure(NamedTuple):
    """What bounds of squared distances are in."""

    margins: Any  # (m,): by so much they are too large at most
    scale: float  # what squared distances are multiplied by
    most: int  # how many units may be looked at in all


def nearest_units(rows: Any, units: Float64s, centre: Any = 0.0) -> Nearest:
    """Find the two nearest units of each row; of equally near ones the first.

    ``units`` are less ``centre``, which is subtracted from the rows: a common offset would cost
    precision. Values that are missing (NaN) are left out, and the squares scaled up by the share
    that is there. With one unit it is both.

    >>> found = nearest_units(np.array([[1.0], [4.0]]), np.array([[0.0], [2.0], [5.0]]))
    >>> found.first, found.second, found.squares
    (array([0, 2]), array([1, 1]), array([1., 1.]))
    """
    return Search(units, centre).nearest(rows)


class Search:
    """The search for the nearest units of rows that come part by part.

    Without ``both`` only the first is looked for, and the second means nothing.

    >>> search = Search(np.array([[0.0], [2.0]]), 0.5)
    >>> [panel.found.first for panel in search.panels(np.ones((1, 1)))]
    [array([0])]
    """

    def __init__(self, units: Float64s, centre: Any = 0.0, *, both: bool = True) -> None:
        self._units, self._centre, self._both = np.ascontiguousarray(units), centre, both
        self._squares = np.einsum("kj,kj->k", self._units, self._units)
        self._largest = float(self._squares.max())
        K, D = units.shape
        self._step = max(HELD // max(K // 4, D), 16)
        self._who, self._exact = np.zeros(K, np.int64), np.zeros(K)
        self._single: _Single | None = None
        self._shadows: Shadows | None = None
        #: The numbers of coordinates that are still to be tried.
        self._widths = widths(K, D) if self._largest > 0.0 else ()
        self._n_rows = 0

    def nearest(self, rows: Any) -> Nearest:
        """Return the two nearest units of each row."""
        n = len(rows)
        found = Nearest(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n))
        for panel in self.panels(rows):
            for one, part in zip(found, panel.found, strict=True):
                one[panel.here] = part
        return found

    def panels(self, rows: Any) -> Iterator[Panel]:
        """Go through rows a panel at a time, whose rows are overwritten by the next one's."""
        D, n = self._units.shape[1], len(rows)
        self._n_rows += n
        step = min(self._step, max(n, 1))
        held = np.empty((step, D))
        for start in range(0, n, step):
            here = slice(start, min(start + step, n))
            m = here.stop - start
            part = np.subtract(rows[here], self._centre, out=held[:m], dtype=np.float64)
            sizes = np.einsum("tj,tj->t", part, part)
            gaps = bool(np.isnan(sizes).any())  # finite rows make no NaN
            if gaps:
                sizes = (np.where(np.isnan(part), 0.0, part) ** 2).sum(axis=1)
            found = Nearest(np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m))
            room = self._who, self._exact
            self._settle(_Task(part, sizes, self._units, gaps, self._both, *room, found))
            yield Panel(here, part, gaps, found)

    def _settle(self, task: _Task) -> None:
        """Write the nearest units of a panel, by the cheapest bounds that rule enough out."""
        (m, D), K = task.rows.shape, len(self._units)
        sums = task.sizes + self._largest
        most = float(sums.max())
        if not task.gaps and D <= WIDEST and 0.0 < most < np.inf:
            root = float(0.5 ** np.ceil(0.5 * np.log2(most)))
            scale = root * root
            while self._widths and self._n_rows >= K:
                width = self._widths[0]
                if self._shadows is None:
                    self._shadows = Shadows(self._units, self._squares, width)
                bounds = self._shadows.bounds(task.rows, task.sizes, root)
                margins = self._shadows.share * scale * sums
                looked = int(m * affordable(K, D, width))
                if _search(_products(*bounds, True), _Measure(margins, scale, looked), task):
                    return
                self._shadows, self._widths = None, self._widths[1:]
            if self._single is None:
                self._single = _Single(self._units, self._squares)
            # Of numbers below the least ones some 2^-149 is lost.
            margins = _margins(SINGLE, D, sums * scale) + D * 2.0**-146
            if self._single.settle(_Measure(margins, scale, m * (2 + K // SOME)), task, root):
                return
        # Where rows lack values, the squares are sums of so many more products.
        margins = _margins(DOUBLE, (1 + task.gaps) * D, sums)
        none, limit = np.zeros((0, K)), np.empty(1)
        values = unit_squares(task.rows, task.units)
        bits = values.view(np.int64), limit.view(np.int64)
        plain = _Products(none, none, np.zeros(K), task.sizes, values, limit, *bits, False)
        _search(plain, _Measure(margins, 1.0, m * K), task)


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

    def __init__(self, units: Float64s, squares: Float64s) -> None:
        K, D = units.shape
        self._units, self._squares, self._scale = units, squares, 0.0
        self._columns, self._offsets = np.empty((D, K), np.float32), np.empty(K, np.float32)

    def settle(self, measure: _Measure, task: _Task, root: float) -> bool:
        """Write the nearest units of a panel; False: too many could be."""
        if root != self._scale:
            self._scale = root
            np.multiply(self._units.T, -2.0 * root, out=self._columns, casting="same_kind")
            np.multiply(self._squares * root, root, out=self._offsets, casting="same_kind")
        rows = (task.rows * root).astype(np.float32)
        sizes = (task.sizes * root * root).astype(np.float32)
        tiled = self._columns.size <= TILED
        found = _products(rows, self._columns, self._offsets, sizes, tiled)
        return bool(_search(found, measure, task))


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


def _products(factors: Any, columns: Any, offsets: Any, sizes: Any, tiled: bool) -> _Products:
    """Return products that a few rows at a time have their values of, or all at once."""
    values = np.empty((ADDED, columns.shape[1]), columns.dtype) if tiled else factors @ columns
    limit, whole = np.empty(1, columns.dtype), f"i{columns.itemsize}"
    bits = values.view(whole), limit.view(whole)
    return _Products(factors, columns, offsets, sizes, values, limit, *bits, tiled)


@njit(cache=True, nogil=True, error_model="numpy")
def _search(products: _Products, measure: _Measure, task: _Task) -> bool:
    """Look at units whose bound is no more than the distance to the best so far.

    Write the nearest units of a panel's rows; False: too many units had to be looked at. Bounds
    that rounding has made negative come first, and are looked at.
    """
    factors, columns, offsets, sizes, values, limit, bits, limit_bits, tiled = products
    rows, squares, units, gaps, both, who, exact, found = task
    (m, K), looked = (rows.shape[0], units.shape[0]), 0
    lows = np.empty(-(-K // STRETCH), bits.dtype)
    for t in range(m):
        v = t
        if tiled:
            v = t % ADDED
            if v == 0:
                b = min(ADDED, m - t)
                for i in range(b):
                    line, size = values[i], sizes[t + i]
                    for k in range(K):
                        line[k] = offsets[k] + size
                add_tile(values[:b], 0, 0, factors[t : t + b], columns, (0, K))
        else:
            line, size = values[v], sizes[t]
            for k in range(K):
                line[k] += offsets[k] + size
        own, row = bits[v], rows[t]
        slack, margin, scale = EQUAL * squares[t], measure.margins[t], measure.scale
        best = least_by_stretches(own, lows)
        first = _square(row, units[best], gaps)
        low, bound, other, second = first, first, -1, first
        if both and K > 1:
            other = next_by_stretches(own, lows, best)
            second = _square(row, units[other], gaps)
            low, bound = min(first, second), max(first, second)
        # Rounded up, whatever the precision.
        limit[0] = ((bound + slack) * scale + margin) * (1.0 + 4.0 * SINGLE)
        most, count, least = limit_bits[0], 0, low
        for s in range(lows.shape[0]):
            if lows[s] > most and s != best // STRETCH:
                continue
            for k in range(s * STRETCH, min(s * STRETCH + STRETCH, K)):
                if own[k] > most:
                    continue
                if k == best:
                    value = first
                elif k == other:
                    value = second
                else:
                    value = _square(row, units[k], gaps)
                    least = min(least, value)
                    if value < bound:
                        bound = max(low, value) if both else value
                        low = min(low, value)
                        limit[0] = ((bound + slack) * scale + margin) * (1.0 + 4.0 * SINGLE)
                        most = limit_bits[0]
                who[count], exact[count] = k, value
                count += 1
        looked += count
        if looked > measure.most:
            return False
        # The nearest is the first of equals, the next is the least of the others.
        one, slack = 0, least + EQUAL * (squares[t] + least)
        while one < count - 1 and exact[one] > slack:
            one += 1
        after = -1
        for i in range(count):
            if i != one and (after < 0 or exact[i] < exact[after]):
                after = i
        found.first[t], found.second[t] = who[one], who[max(after, 0)]
        found.squares[t] = exact[one] * (_scaled_up(row) if gaps else 1.0)
    return True


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _square(row: Any, unit: Any, gaps: bool) -> float:
    """Return the squared distance of a row to a unit, of the values that are there."""
    total = 0.0
    if gaps:
        for j in range(row.shape[0]):
            if not np.isnan(row[j]):
                total += (row[j] - unit[j]) ** 2
        return total
    for j in range(row.shape[0]):
        total += (row[j] - unit[j]) ** 2
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _scaled_up(row: Any) -> float:
    """Return the number of features over those that are there."""
    there = 0
    for j in range(row.shape[0]):
        there += not np.isnan(row[j])
    return float(row.shape[0] / max(there, 1))


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
