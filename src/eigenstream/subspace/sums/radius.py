"""A bound on the distances of rows."""

from copy import copy

import numpy as np

from eigenstream._linalg import Float64s, row_squares
from eigenstream._storable import storable
from eigenstream._types import Matrix
from eigenstream.rows.chunk import Chunk

#: Nonzero rows must have an entry of this size, because squares of smaller ones underflow.
SMALLEST_VALUE = 1e-150


@storable(first="f8 W | None", about_origin="number", about_first="number")
class RadiusBound:
    """Radii of two balls that contain all rows, about the origin and about the first row.

    The second ball is smaller for rows with a large common offset.
    """

    def __init__(self) -> None:
        self.first: Float64s | None = None
        self.about_origin = 0.0
        self.about_first = 0.0

    def add(self, chunk: Chunk) -> None:
        """Include the rows of positive weight."""
        heavy = chunk.heavy()
        rows: Matrix = heavy.rows
        if rows.shape[0] == 0 or len(heavy) == 0:
            return
        rows = rows.astype(np.float64, copy=False)
        if self.first is None:
            row = rows[:1].toarray() if hasattr(rows, "toarray") else rows[:1]
            self.first = np.array(row[0], np.float64)
        squares = row_squares(rows)
        origin, size = float(np.sqrt(squares.max())), float(np.linalg.norm(self.first))
        self.about_origin = max(self.about_origin, origin)
        # Expanding |x - c|^2 avoids a matrix of differences. A bound on its rounding is added.
        squares = squares - 2.0 * (rows @ self.first)
        rounding = 2.0 * (rows.shape[1] + 2) * float(np.finfo(rows.dtype).eps)
        largest = squares.max() + size**2 + rounding * (origin + size) ** 2
        self.about_first = max(self.about_first, float(np.sqrt(largest)))

    def merged(self, later: "RadiusBound") -> "RadiusBound":
        """Return balls that contain the rows of both."""
        if self.first is None or later.first is None:
            return copy(later if self.first is None else self)
        both = copy(self)
        both.about_origin = max(self.about_origin, later.about_origin)
        both.about_first = max(self.about_first, later.reach(self.first))
        return both

    def reach(self, point: Float64s) -> float:
        """Return an upper bound on the distance of rows from a point, exact at the origin."""
        if self.first is None:
            return 0.0
        return min(
            self.about_origin + float(np.linalg.norm(point)),
            self.about_first + float(np.linalg.norm(self.first - point)),
        )

    @property
    def diameter(self) -> float:
        """An upper bound on the distance of any two rows."""
        return 2.0 * min(self.about_first, self.about_origin)
