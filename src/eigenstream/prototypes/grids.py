"""Grids of units, and neighbourhoods on them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from eigenstream.core.checks import check_choice, check_flag, check_whole
from eigenstream.core.linalg import Float64s

#: Larger z make exp(-z) a rounding error of 1.
CUT = 34.0

#: The squared reach in units of the squared radius, and whether the influence is Gaussian.
NEIGHBORHOODS = {"gaussian": (2 * CUT, True), "bubble": (1.0, False), "cut-gaussian": (1.0, True)}


@dataclass(frozen=True)
class Grid:
    """Units of a map in rows and columns, numbered row by row.

    Neighbours in a row have distance 1. On a hexagonal grid every second row is shifted by half a
    column, and rows are sqrt(3) / 2 apart. A unit then has six neighbours at distance 1.

    Parameters
    ----------
    rows : int
        The number of rows; 1 for a chain.
    columns : int
        The number of columns.
    topology : {"rectangular", "hexagonal"}, default="rectangular"
        The arrangement of the units.
    periodic : bool, default=False
        If True, the last column is next to the first one, and the last row next to the first one.

    Examples
    --------
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
                f"A periodic hexagonal grid cannot have {self.rows} rows. Use {self.rows + 1} rows."
            )

    @property
    def hexagonal(self) -> bool:
        """True if every second row is shifted."""
        return self.topology == "hexagonal"

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns, or the number of units of a chain."""
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
        """The positions (x, y) of the units, an array of shape (n_units, 2)."""
        row, column = np.divmod(np.arange(self.n_units), self.columns)
        x = column + 0.5 * self.hexagonal * (row % 2)
        return np.column_stack([x, row * np.sqrt(self.row_square)])

    def _between(self, left: Any, right: Any) -> Float64s:
        """Return the squared distances of units, given by arrays of numbers that broadcast."""
        (row, column), (row2, column2) = (np.divmod(k, self.columns) for k in (left, right))
        across = np.abs(column - column2 + 0.5 * self.hexagonal * (row % 2 - row2 % 2))
        up = np.abs(row - row2)
        if self.periodic:
            across, up = np.minimum(across, self.columns - across), np.minimum(up, self.rows - up)
        return np.asarray(across**2 + self.row_square * up**2, np.float64)

    def squared_distances(self, units: Any = slice(None)) -> Float64s:
        """Return the squared distances on the grid from some units to all units.

        Parameters
        ----------
        units : index, default=all units
            The numbers of the units, or a slice.

        Returns
        -------
        array of shape (n_selected, n_units)
            The squared distances.
        """
        numbers = np.arange(self.n_units)
        return self._between(numbers[units, None], numbers)

    def adjacent(self, left: ArrayLike | slice, right: ArrayLike | slice) -> NDArray[np.bool_]:
        """Return whether units are neighbours, or the same unit.

        Parameters
        ----------
        left : array of int
            Numbers of units.
        right : array of int
            Numbers of units, of a shape that broadcasts.

        Returns
        -------
        array of bool
            True for neighbours and for equal units.

        Examples
        --------
        >>> Grid(1, 3).adjacent(np.array([0, 0]), np.array([1, 2])).tolist()
        [True, False]
        """
        return self._between(left, right) <= (1.0 if self.hexagonal else 2.0)

    def neighbors(self) -> NDArray[np.int64]:
        """Return all pairs of neighbouring units.

        A unit inside a rectangular grid has eight neighbours, inside a hexagonal grid six, and in a
        chain two.

        Returns
        -------
        array of shape (n_pairs, 2)
            The numbers of the units, the smaller one first.

        Examples
        --------
        >>> Grid(1, 3).neighbors().tolist(), len(Grid(3, 3).neighbors())
        ([[0, 1], [1, 2]], 20)
        """
        every, pairs_of_blocks = np.arange(self.n_units), []
        for block in np.array_split(every, self.n_units // 512 + 1):
            left, right = np.nonzero(self.adjacent(block[:, None], every))
            pairs_of_blocks.append(np.column_stack([block[left], right]))
        pairs = np.concatenate(pairs_of_blocks)
        return np.asarray(pairs[pairs[:, 0] < pairs[:, 1]], np.int64)

    def connectivity(self) -> "csr_array[np.float64]":  # SciPy 1.15 has no such alias
        """Return the matrix of neighbouring units, for clustering with scikit-learn.

        Returns
        -------
        sparse array of shape (n_units, n_units)
            1 for neighbours, else 0.

        Examples
        --------
        >>> Grid(1, 3).connectivity().toarray()
        array([[0., 1., 0.],
               [1., 0., 1.],
               [0., 1., 0.]])
        """
        first, second = self.neighbors().T
        ends = np.concatenate([first, second]), np.concatenate([second, first])
        return csr_array((np.ones(2 * len(first)), ends), shape=(self.n_units, self.n_units))


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


def smooth(values: Float64s, grid: Grid, neighborhood: str, radius: float) -> Float64s:
    """Return for each unit the sum of the values at all units, weighted by their influence.

    A Gaussian is computed as a product of one along rows and one between rows.

    >>> smooth(
    ...     np.array([[0.0], [0.0], [0.0], [1.0]]), Grid(1, 4), "bubble", 1.0
    ... ).ravel()
    array([0., 0., 1., 1.])
    """
    reach, gaussian = NEIGHBORHOODS[neighborhood]

    def influence(squares: Any) -> Any:
        inside = squares <= reach * radius**2
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
