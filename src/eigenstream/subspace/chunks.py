"""Chunks of checked rows, and a bound on the distances of rows."""

from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack

from eigenstream._checks import is_sparse
from eigenstream._linalg import Float64s, row_squares
from eigenstream._storable import storable

Places = NDArray[np.intp]

NO_PLACES: Places = np.empty(0, np.intp)

#: Nonzero rows must have an entry of this size, because squares of smaller ones underflow.
SMALLEST_VALUE = 1e-150


@storable(rows="any", weights="f8 n | None", starts="i8 s", targets="any", pairs="i8 n 2 | None")
@dataclass(frozen=True)
class Chunk:
    """Rows of shape (n, D) in time order, or pairs of such rows, dense or sparse.

    They have NaN only for estimators with ``missing="available"``.
    """

    rows: Any
    #: The weight of each row, or pair. None means that all weights are 1.
    weights: Float64s | None = None
    #: The indices at which a new sequence begins.
    starts: Places = field(default_factory=lambda: NO_PLACES)
    #: The class of each row, or the sign of each pair.
    targets: NDArray[Any] | None = None
    #: The two rows of each pair, shape (n_pairs, 2).
    pairs: Places | None = None

    def __len__(self) -> int:
        return int(self.rows.shape[0]) if self.pairs is None else len(self.pairs)

    def __getitem__(self, part: slice) -> "Chunk":
        first, last, _ = part.indices(len(self))
        starts = self.starts[(self.starts >= first) & (self.starts < last)] - first
        return replace(self.chosen(slice(first, last)), starts=starts)

    def chosen(self, places: Any) -> Self:
        """Return some of the rows or pairs, without sequence starts."""
        rows, pairs = self.rows, self.pairs
        if pairs is None:
            rows = rows[places]
        else:
            pairs = pairs[places]
        weights, targets = (None if v is None else v[places] for v in (self.weights, self.targets))
        return type(self)(rows, weights, NO_PLACES, targets, pairs)

    def sequences(self) -> "list[Chunk]":
        """Return the rows of each sequence."""
        cuts = np.unique([0, *self.starts, len(self)]).tolist()
        return [self[first:last] for first, last in pairwise(cuts)]

    def kept(self) -> "Chunk":
        """Return a copy of the required rows, since callers may reuse their memory."""
        if self.pairs is None:
            return replace(self, rows=self.rows.copy())
        used, pairs = np.unique(self.pairs, return_inverse=True)
        return replace(self, rows=self.rows[used], pairs=pairs.reshape(-1, 2).astype(np.intp))

    def each_weight(self) -> Float64s:
        """Return the weights as an array."""
        return np.ones(len(self)) if self.weights is None else self.weights

    def heavy(self) -> Self:
        """Return the rows or pairs of positive weight."""
        if self.weights is None or (self.weights > 0).all():
            return self
        return self.chosen(np.flatnonzero(self.weights > 0))

    def faded(self, keep: float) -> Self:
        """Return the chunk with weights that decay by ``keep`` per row, counted from the last."""
        fading = keep ** np.arange(len(self) - 1, -1, -1.0)
        return replace(self, weights=self.each_weight() * fading)


def joined(chunks: list[Chunk]) -> Chunk:
    """Return consecutive chunks as one chunk."""
    chunks = [chunk for chunk in chunks if len(chunk)] or chunks[:1]
    if len(chunks) == 1:
        return chunks[0]
    places = np.cumsum([0, *map(len, chunks)])
    rows = [chunk.rows for chunk in chunks]
    weights = targets = pairs = None
    if any(chunk.weights is not None for chunk in chunks):
        weights = np.concatenate([chunk.each_weight() for chunk in chunks])
    if chunks[0].targets is not None:
        targets = np.concatenate([chunk.targets for chunk in chunks])
    if chunks[0].pairs is not None:
        before = np.cumsum([0, *(part.shape[0] for part in rows)])
        pairs = np.concatenate([c.pairs + n for c, n in zip(chunks, before, strict=False)])
    starts = np.concatenate([c.starts + at for c, at in zip(chunks, places, strict=False)])
    stacked = vstack(rows, format="csr") if any(map(is_sparse, rows)) else np.concatenate(rows)
    return Chunk(stacked, weights, starts, targets, pairs)


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
        rows: Any = heavy.rows
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
        rounding = 2.0 * (rows.shape[1] + 2) * float(np.finfo(np.float64).eps)
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

    def reach(self, point: Any) -> float:
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
