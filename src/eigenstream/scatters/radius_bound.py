"""A bound of how far the rows of a stream lie from any point, in one pass and O(D) memory."""

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import is_sparse
from eigenstream._linalg import Float64s, products_with, row_squares
from eigenstream._state import State


class RadiusBound:
    """The smallest balls about the origin and about the first row that hold all rows.

    The one about the origin is good for rows that come from all sides, the other for rows with a
    large common offset. Rows of weight 0 do not count. The same rows give the same balls whatever
    their chunking, up to rounding, which makes them larger and never smaller.

    >>> balls = RadiusBound()
    >>> balls.add(np.array([[1001.0, 0.0], [999.0, 0.0]]))
    >>> round(balls.reach(np.array([1000.0, 0.0])), 6)  # it is 1, but by the balls could be 3
    3.0
    """

    def __init__(self) -> None:
        self.first: Float64s | None = None
        self.about_origin = 0.0
        self.about_first = 0.0

    def add(self, rows: Any, weights: NDArray[np.float64] | None = None) -> None:
        """Take in rows, dense or sparse."""
        if weights is not None and not (weights > 0).all():
            rows = rows[weights > 0]
        if rows.shape[0] == 0:
            return
        if self.first is None:
            row = rows[:1].toarray() if is_sparse(rows) else rows[:1]
            self.first = np.array(row[0], dtype=np.float64)
        single = rows.dtype == np.float32
        size = float(np.linalg.norm(self.first))
        squares = row_squares(rows)
        origin = float(np.sqrt(squares.max()))
        self.about_origin = max(self.about_origin, origin)
        # |x - c|^2 by its three terms: no copy of the rows. Then a bound of the rounding is added.
        first: Any = self.first.astype(np.float32 if single else np.float64)
        known = isinstance(rows, np.ndarray) and rows.dtype == first.dtype
        squares -= 2.0 * (products_with(rows, first) if known else rows @ first)
        rounding = 2 * (rows.shape[1] + 2) * float(np.finfo(np.float32 if single else float).eps)
        largest = squares.max() + size**2 + rounding * (origin + size) ** 2
        self.about_first = max(self.about_first, float(np.sqrt(largest)))

    def merge(self, later: "RadiusBound") -> "RadiusBound":
        """Return balls that hold the rows of both; neither is changed."""
        if self.first is None or later.first is None:
            return copy(later if self.first is None else self)
        merged = copy(self)
        merged.about_origin = max(self.about_origin, later.about_origin)
        merged.about_first = max(self.about_first, later.reach(self.first))
        return merged

    def reach(self, point: Any) -> float:
        """Return what no row's distance from the point exceeds; exact at the origin."""
        if self.first is None:
            return 0.0
        return min(
            self.about_origin + float(np.linalg.norm(point)),
            self.about_first + float(np.linalg.norm(self.first - point)),
        )

    @property
    def diameter(self) -> float:
        """What no two rows are farther apart than."""
        return 2.0 * min(self.about_first, self.about_origin)

    def state(self) -> State:
        """Return all that it holds."""
        state: State = {"about_origin": self.about_origin, "about_first": self.about_first}
        return state if self.first is None else state | {"first": self.first.copy()}

    @classmethod
    def restored(cls, state: State) -> "RadiusBound":
        """Return the bound that gave this ``state``."""
        bound = cls()
        bound.about_origin = float(state["about_origin"])
        bound.about_first = float(state["about_first"])
        if "first" in state:
            bound.first = np.array(state["first"], np.float64)
        return bound
