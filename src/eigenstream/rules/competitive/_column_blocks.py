"""Blocks of a map's steps on units that lie as columns, in one compiled loop.

Where rows are short, a block's products of matrices are thin, and what BLAS does around them
takes as long as they do: here they are tiles in registers. Units as columns, (D, units), are what
tiles of products with rows go along, and lie as the loop of the steps reads them.
"""

from typing import Any

from eigenstream.kernels.base import njit
from eigenstream.rules.competitive._map_steps import LOOSE, Room, block_steps
from eigenstream.rules.competitive._neighborhoods import Lattice
from eigenstream.rules.engine import ADDED, TILE, add_tile, dot_tile

__all__ = ["column_blocks"]

#: So many units at a time: with all features they stay in the cache of the second level.
PANEL = 64

#: Where fewer of the factors than one in so many are not zero, units are gone to one by one.
SPARSE = 64


@njit(cache=True, nogil=True, error_model="numpy", fastmath=LOOSE)
def column_blocks(
    lattice: Lattice, room: Room, columns: Any, squares: Any, rows: Any, pace: Any, met: Any
) -> None:
    """Take the steps of the rows on ``columns`` (D, units), in blocks as large as the room.

    ``squares``, the units' |w|^2, are kept up to date; ``pace`` (3, n) are rates, radii and the
    rows' weights. ``met``, winners and squared distances (n,), is filled.
    """
    D, units = columns.shape
    size, n = room.products.shape[0], rows.shape[0]
    for start in range(0, n, size):
        stop = min(start + size, n)
        b, block = stop - start, rows[start:stop]
        products, gram = room.products[:b], room.gram[:b]
        products[:] = 0.0
        gram[:] = 0.0
        for first in range(0, units, PANEL):
            some = (first, min(first + PANEL, units))
            for t in range(0, b, ADDED):
                add_tile(products, t, 0, block, columns, some)
        for t in range(0, b, TILE):
            for j in range(0, t + 1, TILE):
                dot_tile(block, t, block, j, (0, D), gram, 0)
        moves = block_steps(
            lattice, room, squares, pace[:, start:stop], met[0][start:stop], met[1][start:stop]
        )
        if SPARSE * moves < b * units:
            _lift_few(columns, squares, room, block)
        else:
            _lift(columns, squares, room, block)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=LOOSE)
def _lift(columns: Any, squares: Any, room: Room, rows: Any) -> None:
    """Add the rows with their factors, and scale: w = a (base w + sum_j f_j x_j)."""
    (D, units), b = columns.shape, rows.shape[0]
    turned, factors = room.turned, room.factors[:b]
    for j in range(b):
        for i in range(D):
            turned[i, j] = rows[j, i]
    for k in range(units):
        squares[k] = 0.0
    based = room.base.min() < 1.0
    for first in range(0, units, PANEL):
        last = min(first + PANEL, units)
        scale, base = room.scale[first:last], room.base[first:last]
        totals = squares[first:last]
        for i in range(0, D, ADDED):
            these = range(i, min(i + ADDED, D))
            if based:
                for j in these:
                    line = columns[j, first:last]
                    for k in range(last - first):
                        line[k] *= base[k]
            add_tile(columns, i, 0, turned, factors, (first, last))
            for j in these:
                line = columns[j, first:last]
                for k in range(last - first):
                    line[k] *= scale[k]
                    totals[k] += line[k] * line[k]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=LOOSE)
def _lift_few(columns: Any, squares: Any, room: Room, rows: Any) -> None:
    """Do the same for few units, whose numbers lie far apart."""
    D, units = columns.shape
    for k in range(units):
        by = room.scale[k] * room.base[k]
        if by != 1.0:
            for i in range(D):
                columns[i, k] *= by
    for j in range(rows.shape[0]):
        for m in range(room.counts[j]):
            for k in range(room.runs[j, m, 0], room.runs[j, m, 1]):
                factor = room.factors[j, k] * room.scale[k]
                if factor != 0.0:
                    for i in range(D):
                        columns[i, k] += factor * rows[j, i]
    for k in range(units):
        if room.scale[k] * room.base[k] != 1.0:
            total = 0.0
            for i in range(D):
                total += columns[i, k] ** 2
            squares[k] = total
