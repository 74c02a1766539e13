"""Which units are nearest to rows: most are ruled out by bounds, the rest are looked at.

Distances in single precision, or bounds by a few coordinates (``_shadows``), say of most units that
they cannot be the nearest; the few that can are compared by sums of squares, in double precision.
So what is found is exact, however the rows are cut, and whatever the bounds were.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream.rules.competitive._looking import (
    Measure,
    Nearest,
    PanelBounds,
    PanelTask,
    add_up,
    centred,
    look,
)
from eigenstream.rules.competitive._scans import EQUAL
from eigenstream.rules.competitive._shadows import DOUBLE, SINGLE, Shadows, affordable, widths
from eigenstream.rules.engine import ADDED

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


class Panel(NamedTuple):
    """Some rows less the centre, and the units that are nearest to them."""

    here: slice
    rows: Float64s
    gaps: bool  # whether rows lack values
    found: Nearest


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
        self._units, self._both = np.ascontiguousarray(units), both
        self._centre = np.zeros(units.shape[1]) + centre
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
        held, room = np.empty((step, D)), np.empty(step)
        for start in range(0, n, step):
            here = slice(start, min(start + step, n))
            m = here.stop - start
            part, sizes = held[:m], room[:m]
            centred(np.ascontiguousarray(rows[here], np.float64), self._centre, part, sizes)
            gaps = bool(np.isnan(sizes).any())  # finite rows make no NaN
            if gaps:
                sizes = (np.where(np.isnan(part), 0.0, part) ** 2).sum(axis=1)
            found = Nearest(np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m))
            work = self._who, self._exact
            self._settle(PanelTask(part, sizes, self._units, gaps, self._both, *work, found))
            yield Panel(here, part, gaps, found)

    def _settle(self, task: PanelTask) -> None:
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
                if look(_products(*bounds, True), Measure(margins, scale, looked), task):
                    return
                self._shadows, self._widths = None, self._widths[1:]
            if self._single is None:
                self._single = _Single(self._units, self._squares)
            # Of numbers below the least ones some 2^-149 is lost.
            margins = _margins(SINGLE, D, sums * scale) + D * 2.0**-146
            if self._single.settle(Measure(margins, scale, m * (2 + K // SOME)), task, root):
                return
        # Where rows lack values, the squares are sums of so many more products.
        margins = _margins(DOUBLE, (1 + task.gaps) * D, sums)
        none, limit = np.zeros((0, K)), np.empty(1)
        values = unit_squares(task.rows, task.units)
        bits = values.view(np.int64), limit.view(np.int64)
        plain = PanelBounds(none, none, np.zeros(K), task.sizes, values, limit, *bits, False)
        look(plain, Measure(margins, 1.0, m * K), task)


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

    def settle(self, measure: Measure, task: PanelTask, root: float) -> bool:
        """Write the nearest units of a panel; False: too many could be."""
        if root != self._scale:
            self._scale = root
            np.multiply(self._units.T, -2.0 * root, out=self._columns, casting="same_kind")
            np.multiply(self._squares * root, root, out=self._offsets, casting="same_kind")
        rows = (task.rows * root).astype(np.float32)
        sizes = (task.sizes * root * root).astype(np.float32)
        tiled = self._columns.size <= TILED
        found = _products(rows, self._columns, self._offsets, sizes, tiled)
        return bool(look(found, measure, task))


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


def _products(factors: Any, columns: Any, offsets: Any, sizes: Any, tiled: bool) -> PanelBounds:
    """Return products that a few rows at a time have their values of, or all at once."""
    values = np.empty((ADDED, columns.shape[1]), columns.dtype) if tiled else factors @ columns
    limit, whole = np.empty(1, columns.dtype), f"i{columns.itemsize}"
    bits = values.view(whole), limit.view(whole)
    return PanelBounds(factors, columns, offsets, sizes, values, limit, *bits, tiled)
