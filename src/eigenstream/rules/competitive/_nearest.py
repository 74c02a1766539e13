"""Which units are nearest to rows: most are ruled out by bounds, the rest are looked at.

Distances of vectors that are rounded to short whole numbers (``_shorts``) say of most units that
they cannot be the nearest; the few that can are compared by sums of squares, in double precision.
So what is found is exact, however the rows are cut, and whatever the bounds were.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream.rules.competitive._looking import (
    BoundRoom,
    Measure,
    Nearest,
    PanelTask,
    ShortTiles,
    add_up,
    centred,
    look,
)
from eigenstream.rules.competitive._scans import EQUAL
from eigenstream.rules.competitive._shorts import DOUBLE, WIDEST, ShortRows, ShortUnits, shortened
from eigenstream.rules.engine import SHORT_LINE, SHORT_ROWS, aligned

__all__ = ["Nearest", "Panel", "Search", "add_up", "nearest_units", "unit_squares"]

#: Values of rows, and an eighth of those of distances where these are held, at a time: they should
#: stay in the cache.
HELD = 2**17

#: Bytes of short units that stay in the cache while rows are compared with them.
CACHED = 2**20

#: Fewer rows are compared in double precision: units would have to be made short for them.
FEW = 32

#: Squares of units beyond these would leave no room for what is done with them.
LEAST, MOST = 2.0**-400, 2.0**900

#: Where more than one in so many units could be the nearest, looking at them takes longer than a
#: product of matrices in double precision.
SOME = 16


#: Where all bounds are there before, there is nothing to make them of.
NO_TILES = ShortTiles(
    np.zeros((0, 2), np.int16),
    np.zeros(0, np.float32),
    np.zeros(0, np.float32),
    np.zeros((0, SHORT_LINE), np.float32),
    np.zeros((1, 2 * SHORT_LINE), np.int16),
    np.zeros(0, np.float32),
    SHORT_LINE,
)


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
        self._step = max(HELD // max(K // 8, D), 16)
        self._who, self._exact = np.zeros(K, np.int64), np.zeros(K)
        self._short: _Short | None = None
        self._n_rows = 0
        #: Whether short numbers tell enough units apart, as far as is known.
        self._helps = D <= WIDEST and LEAST < self._largest < MOST

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
        shorts = ShortRows.room(step, D) if self._helps and self._n_rows >= FEW else None
        for start in range(0, n, step):
            here = slice(start, min(start + step, n))
            m = here.stop - start
            part, sizes = held[:m], room[:m]
            given, short = np.ascontiguousarray(rows[here], np.float64), None
            if shorts is not None and self._helps:
                short = shorts.first(m)
                shortened(given, self._centre, part, sizes, short)
            else:
                centred(given, self._centre, part, sizes)
            gaps = bool(np.isnan(sizes).any())  # finite rows make no NaN
            if gaps:
                sizes = (np.where(np.isnan(part), 0.0, part) ** 2).sum(axis=1)
            found = Nearest(np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m))
            work = self._who, self._exact
            task = PanelTask(part, sizes, self._units, gaps, self._both, *work, found)
            self._settle(task, None if gaps else short)
            yield Panel(here, part, gaps, found)

    def _settle(self, task: PanelTask, rows: ShortRows | None) -> None:
        """Write the nearest units of a panel, by the cheapest bounds that rule enough out."""
        (m, D), K = task.rows.shape, len(self._units)
        sums = task.sizes + self._largest
        most = float(sums.max())
        if rows is not None and most < MOST:
            self._short = self._short or _Short(self._units, self._squares)
            self._helps = self._short.settle(task, rows, most)
            if self._helps:
                return
        # A sum of D products of rounded numbers is off by (D + 2) roundings, but for terms of
        # second order, of the sum of the products' sizes, which is at most half of |x|^2 + |w|^2;
        # twice that enters. The squares and the sums of the three add up to 4 of these at most.
        # Where rows lack values, the squares are sums of so many more products.
        share = 2.0 * ((1 + task.gaps) * D + 8) * DOUBLE + 2.0 * EQUAL
        values = unit_squares(task.rows, task.units)
        values += task.sizes[:, None]
        look(NO_TILES, BoundRoom.of(values), task, Measure(share * sums, 1.0, m * K))


class _Short:
    """The search by short numbers, and room for it."""

    def __init__(self, units: Float64s, squares: Float64s) -> None:
        self._units = ShortUnits(units, squares)
        lines = self._units.columns.nbytes * SHORT_LINE // len(self._units.offsets)
        #: How many units stay in the cache; where these are not all, panels go by them.
        self._at_once = max(CACHED // lines, 1) * SHORT_LINE
        self._room: BoundRoom | None = None

    def settle(self, task: PanelTask, rows: ShortRows, most: float) -> bool:
        """Write the nearest units of a panel; False: too many could be."""
        (m, K), units = (len(task.rows), len(task.units)), self._units
        root = float(0.5 ** np.ceil(0.5 * np.log2(most)))
        scales, sizes, margins = units.bounds(rows, task.sizes, root)
        held = SHORT_ROWS if len(units.offsets) <= self._at_once else m
        if self._room is None or len(self._room.values) < held:
            self._room = BoundRoom.of(aligned((held, len(units.offsets)), np.float32))
        own = self._room.values, units.columns, units.offsets, self._at_once
        measure = Measure(margins, root * root, m * (2 + K // SOME))
        tiles = ShortTiles(rows.factors, scales, sizes, *own)
        return bool(look(tiles, self._room, task, measure))


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
