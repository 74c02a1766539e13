"""Grids of units, and how far a step of a map reaches on them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import check_choice, check_flag, check_whole
from eigenstream._linalg import Float64s

__all__ = ["NEIGHBORHOODS", "Grid", "as_grid", "smooth"]

#: exp(-z) beyond this is below rounding error of 1.
CUT = 34.0

#: The squared reach in units of the squared radius, and whether the influence is Gaussian.
NEIGHBORHOODS = {"gaussian": (2 * CUT, True), "bubble": (1.0, False), "cut-gaussian": (1.0, True)}


@dataclass(frozen=True)
class Grid:
    """Units in ``rows`` and ``columns``, numbered row by row; a chain is a single row.

    Neighbours in a row are 1 apart. On a hexagonal grid every second row is shifted by half a
    column, and rows are sqrt(3) / 2 apart: a unit has six neighbours at distance 1. On a periodic
    grid the last column is next to the first one, and the last row next to the first one.

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
        check_choice(self.topology, "topology", ("rectangular", "hexagonal"))
        check_flag(self.periodic, "periodic")
        if self.periodic and self.hexagonal and self.rows > 1 and self.rows % 2:
            raise ValueError(
                f"a periodic hexagonal grid of {self.rows} rows does not close. "
                f"Use {self.rows + 1} rows."
            )

    @property
    def hexagonal(self) -> bool:
        """Whether every second row is shifted."""
        return self.topology == "hexagonal"

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns; of a chain, the number of its units."""
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
        x = column + 0.5 * self.hexagonal * (row % 2)
        return np.column_stack([x, row * np.sqrt(self.row_square)])

    def _between(self, one: Any, other: Any) -> Float64s:
        """Return the squared distances of units, given by arrays of numbers that broadcast."""
        (row, column), (row2, column2) = (np.divmod(k, self.columns) for k in (one, other))
        across = np.abs(column - column2 + 0.5 * self.hexagonal * (row % 2 - row2 % 2))
        up = np.abs(row - row2)
        if self.periodic:
            across, up = np.minimum(across, self.columns - across), np.minimum(up, self.rows - up)
        return np.asarray(across**2 + self.row_square * up**2, np.float64)

    def squared_distances(self, units: Any = slice(None)) -> Float64s:
        """Return the squared distances on the grid from some units to all, (units, n_units)."""
        numbers = np.arange(self.n_units)
        return self._between(numbers[units, None], numbers)

    def adjacent(self, one: Any, other: Any) -> NDArray[np.bool_]:
        """Return for arrays of units whether they are neighbours, or the same unit.

        >>> Grid(1, 3).adjacent(np.array([0, 0]), np.array([1, 2])).tolist()
        [True, False]
        """
        return self._between(one, other) <= (1.0 if self.hexagonal else 2.0)

    def neighbors(self) -> NDArray[np.int64]:
        """Return the pairs of units that are neighbours, (pairs, 2), the smaller number first.

        On a rectangular grid a unit has eight neighbours, on a hexagonal one six, on a chain two.

        >>> Grid(1, 3).neighbors().tolist(), len(Grid(3, 3).neighbors())
        ([[0, 1], [1, 2]], 20)
        """
        every, found = np.arange(self.n_units), []
        for some in np.array_split(every, self.n_units // 512 + 1):
            left, right = np.nonzero(self.adjacent(some[:, None], every))
            found.append(np.column_stack([some[left], right]))
        pairs = np.concatenate(found)
        return np.asarray(pairs[pairs[:, 0] < pairs[:, 1]], np.int64)


def as_grid(shape: Any, topology: str = "rectangular", periodic: bool = False) -> Grid:
    """Return the grid of a ``shape=`` parameter: (rows, columns), or the length of a chain.

    >>> as_grid((20, 30)).n_units, as_grid(50).shape
    (600, (50,))
    """
    sides = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    if isinstance(shape, str) or not 1 <= len(sides) <= 2:
        raise ValueError(f"shape must be (rows, columns), or the length of a chain, got {shape!r}.")
    sides = tuple(check_whole(side, "shape") for side in sides)
    rows, columns = (1, sides[0]) if len(sides) == 1 else sides
    return Grid(rows, columns, topology, periodic)


def smooth(values: Any, grid: Grid, neighborhood: str, radius: float) -> Any:
    """Return for each unit the sum of the values at all units, weighted by their influence.

    A Gaussian is a product of one along the rows of the grid and one between them.

    >>> smooth(np.array([[0.0], [0.0], [0.0], [1.0]]), Grid(1, 4), "bubble", 1.0).ravel()
    array([0., 0., 1., 1.])
    """
    reach, gaussian = NEIGHBORHOODS[neighborhood]

    def influence(squares: Any) -> Any:
        inside = (squares <= reach * radius**2) | (squares == 0.0)
        return inside * np.exp(-0.5 * gaussian * squares / max(radius**2, 1e-300))

    if neighborhood != "gaussian":
        step = max(2**20 // len(values), 1)
        starts = range(0, len(values), step)
        return np.vstack(
            [influence(grid.squared_distances(slice(s, s + step))) @ values for s in starts]
        )
    R, C, D = grid.rows, grid.columns, values.shape[1]
    kinds = 1 + grid.hexagonal  # every second row of a hexagonal grid is shifted
    up = Grid(1, R, periodic=grid.periodic).squared_distances() * grid.row_square
    tall, lines, out = influence(up), values.reshape(R, C, D), np.zeros((R, C * D))
    for i, j in np.ndindex(kinds, kinds):
        across = abs(np.arange(C)[:, None] - np.arange(C) + 0.5 * (i - j))
        across = np.minimum(across, C - across) if grid.periodic else across
        along = (influence(across**2) @ lines[j::kinds]).reshape(-1, C * D)
        out[i::kinds] += tall[i::kinds, j::kinds] @ along
    return out.reshape(values.shape)
