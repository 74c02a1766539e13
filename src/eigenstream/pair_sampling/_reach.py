"""Rows by kind and place, so that partners are found by bisection."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Reach:
    """Rows sorted by kind, then by place: ranges of places are found by bisection."""

    def __init__(self, codes: NDArray[np.intp]) -> None:
        self.codes = codes
        self.unit = len(codes) + 1
        self.order = np.argsort(codes, kind="stable")
        self.keys = codes[self.order] * self.unit + self.order
        self.rank = np.empty(len(codes), np.intp)
        self.rank[self.order] = np.arange(len(codes))

    def first(self, rows: NDArray[np.intp], place: Any) -> NDArray[np.intp]:
        """Return the rank of the first row from that place on that is of the kind of each row."""
        return np.asarray(np.searchsorted(self.keys, self.codes[rows] * self.unit + place))

    def count(self, rows: NDArray[np.intp], low: Any, high: Any) -> NDArray[np.intp]:
        """Return how many rows at places from low up to high are of the kind of each row."""
        return np.asarray(self.first(rows, high) - self.first(rows, low), np.intp)

    def drawn(
        self, rows: NDArray[np.intp], low: NDArray[np.intp], draws: NDArray[np.float64]
    ) -> NDArray[np.intp]:
        """Return for each row one of its kind from place low on and before it."""
        count = self.count(rows, low, rows)
        return np.asarray(self.order[self.first(rows, low) + (draws * count).astype(np.intp)])

    def drawn_outside(
        self,
        part: "Reach",
        rows: NDArray[np.intp],
        low: NDArray[np.intp],
        draws: NDArray[np.float64],
    ) -> NDArray[np.intp]:
        """Return for each row one of its kind, but not of its part, a finer kind."""
        start, mine = self.first(rows, low), part.first(rows, low)
        of_part = part.count(rows, low, rows)
        j = (draws * (self.count(rows, low, rows) - of_part)).astype(np.intp)
        # Among those of the part the number of others before them grows with their rank: bisect.
        others = self.rank[part.order] - np.arange(len(part.order)) + len(part.order)
        keys = part.codes[part.order] * (2 * part.unit) + others
        sought = part.codes[rows] * (2 * part.unit) + j + start - mine + len(part.order)
        before = np.clip(np.searchsorted(keys, sought, side="right") - mine, 0, of_part)
        return np.asarray(self.order[start + j + before])
