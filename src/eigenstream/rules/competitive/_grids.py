"""The grids that maps are: units in rows and columns, and how far apart they lie on the grid."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import check_choice, check_flag, check_whole
from eigenstream._linalg import Float64s

__all__ = ["TOPOLOGIES", "Grid", "as_grid"]

TOPOLOGIES = ("rectangular", "hexagonal")


@dataclass(frozen=True)
class Grid:
    """Units in ``rows`` and ``columns``, numbered row by row; a chain is a single row.

    Neighbours in a row are 1 apart. On a hexagonal grid every second row is shifted by half a
    column, and rows are sqrt(3) / 2 apart, so that a unit has six neighbours at distance 1. On a
    periodic grid the last column is beside the first one, and the last row beside the first one.

    >>> grid = Grid(2, 3, "hexagonal")
    >>> grid.positions[3:].tolist()  # of the second row, as (x, y)
    [[0.5, 0.866...], [1.5, 0.866...], [2.5, 0.866...]]
    >>> grid.squared_distances()[0].tolist()
    [0.0, 1.0, 4.0, 1.0, 3.0, 7.0]
    """

    rows: int
    columns: int
    topology: str = "rectangular"
    periodic: bool = False

    def __post_init__(self) -> None:
        check_whole(self.rows, "rows")
        check_whole(self.columns, "columns")
        check_choice(self.topology, "topology", TOPOLOGIES)
        check_flag(self.periodic, "periodic")
        if self.periodic and self.hexagonal and self.rows > 1 and self.rows % 2:
            raise ValueError(
                f"a periodic hexagonal grid of {self.rows} rows does not close: the last row and "
                f"the first would be shifted alike. Use {self.rows + 1} rows."
            )

    @property
    def hexagonal(self) -> bool:
        """Whether every second row is shifted."""
        return self.topology == "hexagonal"

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns; of a chain, that of its units."""
        return (self.columns,) if self.rows == 1 else (self.rows, self.columns)

    @property
    def n_units(self) -> int:
        """The number of units."""
        return self.rows * self.columns

    @property
    def row_square(self) -> float:
        """The squared distance between rows."""
        return 0.75 if self.hexagonal else 1.0

    @property
    def positions(self) -> Float64s:
        """Where the units lie in the plane, (n_units, 2), as (x, y)."""
        row, column = np.divmod(np.arange(self.n_units), self.columns)
        x = column + (0.5 * (row % 2) if self.hexagonal else 0.0)
        return np.column_stack([x, row * np.sqrt(self.row_square)])

    def squared_distances(self, units: Any = slice(None)) -> Float64s:
        """Return the squared distances on the grid from some units to all, (units, n_units).

        They are exact: multiples of a quarter.
        """
        row, column = np.divmod(np.arange(self.n_units), self.columns)
        x = column + (0.5 * (row % 2) if self.hexagonal else 0.0)
        across, up = np.abs(x[units, None] - x), np.abs(row[units, None] - row).astype(np.float64)
        if self.periodic:
            across, up = np.minimum(across, self.columns - across), np.minimum(up, self.rows - up)
        return np.asarray(across**2 + self.row_square * up**2, np.float64)

    def squared_distances_along(self) -> tuple[Float64s, Float64s]:
        """Return the squared distances between rows, (rows, rows), and those along them.

        The others, (3, columns, columns), are between the columns of two rows of which neither is
        shifted against the other, or the second, or the first: ``shifts`` says which.

        >>> up, across = Grid(2, 2, "hexagonal").squared_distances_along()
        >>> up.tolist(), across[1].tolist()
        ([[0.0, 0.75], [0.75, 0.0]], [[0.25, 2.25], [0.25, 0.25]])
        """
        rows, columns = np.arange(self.rows), np.arange(self.columns)
        up = np.abs(rows[:, None] - rows).astype(np.float64)
        shift = 0.5 if self.hexagonal else 0.0
        across = np.abs(columns[:, None] - columns - shift * np.array([0, 1, -1])[:, None, None])
        if self.periodic:
            across, up = np.minimum(across, self.columns - across), np.minimum(up, self.rows - up)
        return self.row_square * up**2, across**2

    def shifts(self, row: int) -> NDArray[np.int64]:
        """Return for each row how it lies to this one: as it does (0), to the right (1), left (2).

        >>> Grid(3, 2, "hexagonal").shifts(1).tolist()
        [2, 0, 2]
        """
        other = np.arange(self.rows) % 2 - row % 2
        return np.where(self.hexagonal, other % 3, 0)

    @property
    def _next(self) -> float:
        """The squared distance within which units are neighbours."""
        return 1.0 if self.hexagonal else 2.0

    def adjacent(self, one: Any, other: Any) -> NDArray[np.bool_]:
        """Tell of arrays of units whether each is a neighbour of the other, or the same.

        >>> Grid(1, 3).adjacent(np.array([0, 0]), np.array([1, 2])).tolist()
        [True, False]
        """
        (left, right), C = (np.divmod(some, self.columns) for some in (one, other)), self.columns
        across, up = (left[1] - right[1]).astype(np.float64), np.abs(left[0] - right[0])
        if self.hexagonal:
            across += 0.5 * (left[0] % 2 - right[0] % 2)
        across = np.abs(across)
        if self.periodic:
            across, up = np.minimum(across, C - across), np.minimum(up, self.rows - up)
        return np.asarray(across**2 + self.row_square * up**2 <= self._next, bool)

    def neighbors(self) -> NDArray[np.int64]:
        """Return the pairs of units that are neighbours, (pairs, 2), the smaller number first.

        On a rectangular grid a unit has eight of them, on a hexagonal one six, on a chain two.

        >>> Grid(1, 3).neighbors().tolist(), len(Grid(3, 3).neighbors())
        ([[0, 1], [1, 2]], 20)
        """
        found = []
        for first in range(0, self.n_units, 512):
            some = np.arange(first, min(first + 512, self.n_units))
            left, right = np.nonzero(self.squared_distances(some) <= self._next)
            found.append(np.column_stack([some[left], right]))
        pairs = np.concatenate(found)
        return np.asarray(pairs[pairs[:, 0] < pairs[:, 1]], np.int64)


def as_grid(shape: Any, topology: str = "rectangular", periodic: bool = False) -> Grid:
    """Return the grid that a user's ``shape=`` names: (rows, columns), or a number of a chain.

    >>> as_grid((20, 30)).n_units, as_grid(50).shape
    (600, (50,))
    """
    sides = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    if isinstance(shape, str) or not 1 <= len(sides) <= 2:
        raise ValueError(
            f"shape must be (rows, columns), or the number of units of a chain, got {shape!r}."
        )
    sides = tuple(check_whole(side, "shape", least=1) for side in sides)
    rows, columns = (1, sides[0]) if len(sides) == 1 else sides
    return Grid(rows, columns, topology, periodic)
