"""The long vectors of a sketch: products with the rows of a block, a panel of columns at a time."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from eigenstream._linalg import FLOAT32_SAFE, Float64s
from eigenstream._state import State

#: Columns that are worked on at a time: the panel's part of frame and rows stays in cache.
PANEL = 1024


#: The least square of a combination of a frame's vectors that is not taken for rounding.
LEAST = 1e-6


#: Centred rows of so many values at most are kept from the products in to the products out; larger
#: ones are centred again, panel by panel, so that no copy of the block is needed.
KEPT = 1 << 21


class Products(NamedTuple):
    """Inner products of a block's rows, less the mean, in double precision."""

    gram: Float64s  # rows with rows
    snapshot: Float64s  # rows with the older frame
    frame: Float64s  # rows with the frame
    turned: Float64s  # the frame's last d vectors with the older frame
    rounding: Float64s | None  # frame with frame, when it was asked for


class SketchFrame:
    """An orthonormal frame and an older copy of its last ``d`` vectors, one a row."""

    def __init__(self, d: int, most: int, n_features: int, dtype: Any) -> None:
        self.d, self.r, self.n_features = d, 0, n_features
        self.store = np.zeros((d + most, n_features), dtype)
        #: The number and precision of the centred rows that the first buffer holds, if it does.
        self._centred_rows: tuple[int, Any] | None = None
        self._buffers = [np.empty(0, dtype) for _ in range(3)]

    @property
    def vectors(self) -> Any:
        """The frame."""
        return self.store[self.d : self.d + self.r]

    def take(self, vectors: Any) -> None:
        """Replace the frame."""
        self.r = len(vectors)
        self.vectors[...] = vectors

    def remember(self) -> None:
        """Make the frame's last ``d`` vectors the older frame."""
        self.store[: self.d] = self.vectors[self.r - self.d :]

    def _panels(self) -> Iterator[slice]:
        count = max(-(-self.n_features // PANEL), 1)
        edges = [self.n_features * i // count for i in range(count + 1)]
        return map(slice, edges[:-1], edges[1:])

    def products(self, pieces: list[Any], mean: Float64s, check: bool) -> Products:
        """Return the inner products of rows with each other and with the frame."""
        found = self._products(pieces, mean, check, self.store.dtype)
        low, high = FLOAT32_SAFE
        if self.store.dtype == np.float32 and not low < found.gram.diagonal().max() < high:
            found = self._products(pieces, mean, check, np.dtype(np.float64))
        return found

    def _products(self, pieces: list[Any], mean: Float64s, check: bool, dtype: Any) -> Products:
        m, d, r = sum(map(len, pieces)), self.d, self.r
        gram, inner = np.zeros((m, m)), np.zeros((m, d + r))
        turned, rounding = np.zeros((d, d)), np.zeros((r, r)) if check else None
        reference, self._centred_rows = mean.astype(dtype), None
        with np.errstate(over="ignore", under="ignore"):
            for columns in self._panels():
                part = self._centred(pieces, reference, columns)
                frame = self.store[: d + r, columns]
                gram += part @ part.T
                inner += part @ frame.T
                if r >= d:
                    turned += frame[r:] @ frame[:d].T
                if rounding is not None:
                    rounding += frame[d:] @ frame[d:].T
        if m * self.n_features <= KEPT:
            self._centred_rows = m, np.dtype(dtype)
        return Products(gram, inner[:, :d], inner[:, d:], turned, rounding)

    def move(
        self,
        pieces: list[Any],
        mean: Float64s,
        of_frame: Float64s,
        of_rows: Float64s,
        also: Float64s,
    ) -> Float64s:
        """Make ``of_frame @ frame + of_rows @ (rows - mean)`` the frame.

        One more combination of the rows less the mean is returned.
        """
        dtype, kept, at = self.store.dtype, len(of_frame), self.d
        reference, found = mean.astype(dtype), np.empty(self.n_features)
        with_frame = of_frame.astype(dtype)
        with_rows = np.concatenate([of_rows, also]).astype(dtype)
        for columns in self._panels():
            part = self._centred(pieces, reference, columns)
            moved = self._buffer(1, (kept + 1, part.shape[1]), dtype)
            turned = self._buffer(2, (kept, part.shape[1]), dtype)
            np.matmul(with_rows, part, out=moved)
            np.matmul(with_frame, self.vectors[:, columns], out=turned)
            np.add(moved[:kept], turned, out=self.store[at : at + kept, columns])
            found[columns] = moved[kept]
        self.r, self._centred_rows = kept, None
        return found

    def nearest(self) -> Float64s:
        """Return (U U^T)^(-1/2), which makes the frame U orthonormal in double precision."""
        gram = np.zeros((self.r, self.r))
        for columns in self._panels():
            part = self.vectors[:, columns].astype(np.float64)
            gram += part @ part.T
        size, turn = np.linalg.eigh(gram)
        return np.asarray((turn / np.sqrt(np.maximum(size, LEAST))) @ turn.T)

    def orthonormalize(self) -> None:
        """Replace the frame by the nearest orthonormal one."""
        nearest = self.nearest().astype(self.store.dtype)
        for columns in self._panels():
            self.vectors[:, columns] = nearest @ self.vectors[:, columns]

    def turn(self, combinations: Float64s) -> None:
        """Make combinations (columns) of the frame's vectors the frame; forget the older one."""
        turned = combinations.T.astype(self.store.dtype)
        for columns in self._panels():
            self.store[self.d : self.d + len(turned), columns] = turned @ self.vectors[:, columns]
        self.r = len(turned)
        self.store[: self.d] = 0.0

    def state(self) -> State:
        """Return the vectors and their number."""
        return {"d": self.d, "r": self.r, "vectors": self.store}

    @classmethod
    def restored(cls, state: State) -> "SketchFrame":
        """Return a frame that goes on from a state."""
        store = np.array(state["vectors"])
        d = int(state["d"])
        frame = cls(d, len(store) - d, store.shape[1], store.dtype)
        frame.store, frame.r = store, int(state["r"])
        return frame

    def _centred(self, pieces: list[Any], reference: Any, columns: slice) -> Any:
        """Return a panel of the rows less the mean."""
        m, width = sum(map(len, pieces)), columns.stop - columns.start
        if m * self.n_features > KEPT:
            panel = self._buffer(0, (m, width), reference.dtype)
        else:
            panel = self._buffer(0, (m, self.n_features), reference.dtype)[:, columns]
            if self._centred_rows == (m, reference.dtype):
                return panel
        at = 0
        for rows in pieces:
            out = panel[at : at + len(rows)]
            np.subtract(rows[:, columns], reference[columns], out=out, casting="same_kind")
            at += len(rows)
        return panel

    def _buffer(self, which: int, shape: tuple[int, int], dtype: Any) -> Any:
        """Return a piece of memory that is used again: fresh memory is slow to come by."""
        size, held = shape[0] * shape[1], self._buffers[which]
        if len(held) < size or held.dtype != dtype:
            self._buffers[which] = held = np.empty(size, dtype)
        return held[:size].reshape(shape)
