"""Pairs and labelled rows as values: checked, and some of them chosen."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import is_sparse
from eigenstream._memory import chunk_rows

__all__ = [
    "LabelledRows",
    "Pairs",
    "codes_of",
    "farthest_apart",
    "farthest_from",
    "longest_difference",
    "plain",
]


@dataclass(frozen=True)
class Pairs:
    """Checked pairs: explicit ones (n, 2, D), or index pairs (n, 2) and the points they index."""

    explicit: Any
    index: Any
    points: Any
    signs: NDArray[np.int64]
    weights: NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.signs)

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.points.shape[1] if self.explicit is None else self.explicit.shape[2])

    @property
    def members(self) -> Any:
        """The rows that the pairs are of: all points, or all members, pair after pair."""
        return self.points if self.explicit is None else self.explicit.reshape(-1, self.width)

    def chosen(self, mask: Any) -> "Pairs":
        """Return some of the pairs."""
        return Pairs(
            None if self.explicit is None else self.explicit[mask],
            None if self.index is None else self.index[mask],
            self.points,
            self.signs[mask],
            None if self.weights is None else self.weights[mask],
        )

    def with_members(self, rows: Any) -> "Pairs":
        """Return the same pairs of other rows, such as what a feature map makes of these."""
        if self.explicit is None:
            return Pairs(None, self.index, rows, self.signs, self.weights)
        return Pairs(rows.reshape(len(self), 2, -1), None, None, self.signs, self.weights)

    @property
    def weighing(self) -> "Pairs":
        """The pairs that weigh anything."""
        return self if self.weights is None else self.chosen(self.weights > 0)

    def differences(self, rows: Any = slice(None)) -> Any:
        """Return x - x' for some of the pairs (all by default), in floating point."""
        if self.explicit is not None:
            block = self.explicit[rows]
            return np.asarray(block[:, 0] - block[:, 1], np.float64)
        ends = self.index[rows]
        first, second = (self.points[ends[:, k]] for k in (0, 1))
        apart = first - second
        return np.asarray(plain(apart), np.float64)


@dataclass(frozen=True)
class LabelledRows:
    """Checked rows with their class labels, learning tasks and weights (None: one task, ones)."""

    rows: Any
    labels: Any
    groups: Any = None
    weights: Any = None

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.rows.shape[1])

    def chosen(self, where: Any) -> "LabelledRows":
        """Return some of the rows.

        >>> LabelledRows(np.eye(2), np.array(["a", "b"])).chosen([1]).labels
        array(['b'], dtype='<U1')
        """
        parts = (self.rows, self.labels, self.groups, self.weights)
        return LabelledRows(*(None if one is None else one[where] for one in parts))

    def with_rows(self, rows: Any) -> "LabelledRows":
        """Return other rows with the same labels, such as what a feature map makes of these."""
        return LabelledRows(rows, self.labels, self.groups, self.weights)

    @property
    def weighing(self) -> "LabelledRows":
        """The rows that weigh anything."""
        if self.weights is None or (self.weights > 0).all():
            return self
        return self.chosen(np.flatnonzero(self.weights > 0))


def codes_of(names: Iterable[Any]) -> NDArray[np.intp]:
    """Number names by first appearance.

    >>> codes_of(["b", "a", "b"])
    array([0, 1, 0])
    """
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.intp)


def plain(rows: Any) -> Any:
    """Return rows dense."""
    return rows.toarray() if is_sparse(rows) else rows


def longest_difference(given: Pairs) -> float:
    """Return the largest distance of the two members of a pair."""
    largest = 0.0
    step = chunk_rows(given.width)
    for start in range(0, len(given), step):
        apart = given.differences(slice(start, start + step))
        largest = max(largest, float(np.einsum("ij,ij->i", apart, apart).max(initial=0.0)))
    return float(np.sqrt(largest))


def farthest_from(rows: Any, centre: Any) -> float:
    """Return the largest distance of a row from a centre: no two rows are twice as far apart."""
    largest = 0.0
    step = chunk_rows(rows.shape[1])
    for start in range(0, rows.shape[0], step):
        apart = np.asarray(plain(rows[start : start + step]), np.float64) - centre
        largest = max(largest, float(np.einsum("ij,ij->i", apart, apart).max(initial=0.0)))
    return float(np.sqrt(largest))


def farthest_apart(given: Pairs) -> float:
    """Return a bound on the distance of the two members of any pair; exact for explicit pairs."""
    if given.index is None:
        return longest_difference(given.weighing)
    # Of all the points that pairs may refer to: they are fewer than the pairs.
    mean = np.asarray(given.points.mean(axis=0, dtype=np.float64)).ravel()
    return 2.0 * farthest_from(given.points, mean)
