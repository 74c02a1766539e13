"""The self-organising map: the nearest unit moves, and with it those around it on a grid."""

from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm

from eigenstream._linalg import Float64s
from eigenstream.rules.competitive._column_blocks import column_blocks
from eigenstream.rules.competitive._map_steps import (
    Room,
    block_steps,
    lift_few,
    plain_steps,
    renewed,
    scaled,
)
from eigenstream.rules.competitive._neighborhoods import Lattice
from eigenstream.rules.competitive.base import Competition, Competitors, RowSteps, Seen

__all__ = ["MAP", "MapCompetition", "laid_out", "map_block_size"]

#: A product of matrices takes its numbers out of the cache so many times as fast as single sums:
#: where fewer of the factors than one in so many are not zero, these are quicker. With 400 units
#: they were with 13 factors a step, not with 50 (64 features), or just as quick (784).
SPARSE = 10

#: Up to so many features the plain rule is quicker.
FEW = 12

#: Up to so many, tiles on units that lie as columns are; and steps in a block of these.
NARROW, COLUMN_STEPS = 96, 40


def map_block_size(n_features: int) -> int:
    """Return the number of steps between two products of matrices; 0 for steps on the units.

    In a block of b rows a step has b / 2 operations a unit for the inner products; reading and
    writing the units, a share 1 / b of what a block costs, grows with D.

    >>> map_block_size(2), map_block_size(64), map_block_size(784)
    (0, 40, 96)
    """
    if n_features <= NARROW:
        return COLUMN_STEPS if n_features > FEW else 0
    return int(min(max(8 * round(0.45 * n_features**0.5), 16), 96))


def laid_out(vectors: Float64s) -> Float64s:
    """Return units with their order in memory the one that their steps go along.

    >>> laid_out(np.zeros((400, 64))).T.flags.c_contiguous
    True
    """
    return np.asfortranarray(vectors) if vectors.shape[1] <= NARROW else vectors


class MapCompetition(Competition):
    """The map's rule: everyone moves, by what the grid and the neighbourhood give it.

    Of ``RowSteps`` it takes the learning rates ``gains``, the radii as the one column of
    ``numbers``, and a ``Lattice`` as the ``ground``. A row of weight w moves each unit as far as
    w steps with the same winner would.
    """

    def __init__(self) -> None:
        super().__init__("map", block_steps)

    def advance(
        self, them: Competitors, rows: Float64s, steps: RowSteps, seen: Seen, size: int
    ) -> None:
        """Take the steps of the rows, in blocks of ``size``; one by one where that is 0.

        >>> from eigenstream.rules.competitive._grids import Grid
        >>> them = Competitors.zeros(3, 1)
        >>> them.vectors[:, 0] = 0.0, 1.0, 2.0
        >>> radii, ground = np.ones((1, 1)), Lattice.of(Grid(1, 3), "bubble")
        >>> steps = RowSteps(0, np.ones(1), np.full(1, 0.5), 1.0, radii, ground)
        >>> MAP.advance(them, np.array([[3.0]]), steps, Seen(np.zeros(1, int), np.zeros(1)), 0)
        >>> them.vectors.T, them.counts
        (array([[0. , 2. , 2.5]]), array([0., 0., 1.]))
        """
        lattice: Lattice = steps.ground
        n = len(rows)
        room = Room.of(lattice, size if size else 1, rows.shape[1])
        pace = np.stack([steps.gains, steps.numbers[:, 0], steps.weights])
        if size == 0 or rows.shape[1] <= NARROW:
            columns = np.ascontiguousarray(them.vectors.T)  # no copy where they are laid out so
            if size == 0:
                plain_steps(lattice, columns, rows, room, pace, seen.nearest, seen.errors)
                np.einsum("jk,jk->k", columns, columns, out=them.squares)
            else:
                column_blocks(lattice, room, columns, them.squares, rows, pace, tuple(seen))
            if not np.may_share_memory(columns, them.vectors):
                them.vectors[...] = columns.T
        else:
            for start in range(0, n, size):
                here = slice(start, min(start + size, n))
                now = Seen(seen.nearest[here], seen.errors[here])
                _take_block(them, rows[here], lattice, room, pace[:, here], now)
        # Repeated places are written one after the other: the last step stays.
        them.latest[seen.nearest] = steps.first + np.arange(n)
        np.add.at(them.counts, seen.nearest, steps.weights)


def _take_block(
    them: Competitors, rows: Float64s, lattice: Lattice, room: Room, pace: Float64s, seen: Seen
) -> None:
    vectors, b = them.vectors, len(rows)
    np.matmul(rows, vectors.T, out=room.products[:b])
    np.matmul(rows, rows.T, out=room.gram[:b, :b])
    moves = block_steps(lattice, room, them.squares, pace, seen.nearest, seen.errors)
    if SPARSE * moves < b * len(vectors):
        lift_few(vectors, room, rows)
    else:
        scaled(vectors, room, b)
        # C = C + A^T B on transposes, whose order in memory is the one that BLAS wants.
        added = dgemm(1.0, rows.T, room.factors[:b].T, 1.0, vectors.T, 0, 1, overwrite_c=1)
        if not np.may_share_memory(added, vectors):
            vectors[...] = added.T
    renewed(vectors, them.squares)


#: The rule itself: all that is particular to a map is in the steps' numbers and ground.
MAP: Any = MapCompetition()
