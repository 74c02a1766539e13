"""The long vectors of a sketch: products with the rows of a block, a panel of columns at a time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.linalg import blas

from eigenstream._linalg import FLOAT32_SAFE, Float64s
from eigenstream._state import State
from eigenstream.kernels.sketch import centre, mirror

#: Bytes of a row that are worked on at a time: the panel's part of frame and rows stays in cache.
PANEL = 1 << 13

#: The least square of a combination of a frame's vectors that is not taken for rounding.
LEAST = 1e-6


#: Centred rows of so many values at most are kept from the products in to the products out; larger
#: ones are centred again, panel by panel, so that no copy of the block is needed.
KEPT = 1 << 21

#: Rows of so many columns and more are shared among as many threads as BLAS may have: a stripe of
#: panels each. Below, the small problem between the products takes too much of the time.
SHARED = 25_000

#: Rows of a product that BLAS takes at a time. Of 326 rows in single precision a twentieth of the
#: time goes to the edge.
FULL = 8

Found = TypeVar("Found")


class Products(NamedTuple):
    """Inner products of a block's rows, less the mean: in the rows' precision where that can be."""

    gram: Any  # rows with rows, the lower triangle; in double precision if it was added up
    snapshot: Any  # rows with the older frame
    frame: Any  # rows with the frame
    turned: Float64s  # the frame's last d vectors with the older frame
    rounding: Float64s | None  # frame with frame, when it was asked for


class SketchFrame:
    """An orthonormal frame and an older copy of its last ``d`` vectors, one a row."""

    def __init__(self, d: int, most: int, n_features: int, dtype: Any) -> None:
        self.d, self.r, self.most, self.n_features = d, 0, most, n_features
        #: The older vectors, the frame, and room for one more that is moved with it.
        self.store = np.zeros((d + most + 1, n_features), dtype)
        #: How many threads share the columns of a block.
        self.threads = 1
        #: Memory to work in, one for each thread: fresh memory is slow to come by.
        self._work: dict[int, Any] = {}
        self._sums: dict[int, Any] = {}  # the products of a block lie here until the next one
        #: The number and precision of the centred rows that lie there, if they do.
        self._centred_rows: tuple[int, Any] | None = None

    def __getstate__(self) -> State:
        """Leave out of copies what is only memory to work in."""
        return {**vars(self), "_work": {}, "_sums": {}, "_centred_rows": None}

    @property
    def vectors(self) -> Any:
        """The frame."""
        return self.store[self.d : self.d + self.r]

    def widen(self) -> None:
        """Hold the vectors in double precision."""
        self.store = self.store.astype(np.float64)
        self._work, self._sums, self._centred_rows = {}, {}, None

    def take(self, vectors: Any) -> None:
        """Replace the frame."""
        self.r = len(vectors)
        self.vectors[...] = vectors

    def remember(self) -> None:
        """Make the frame's last ``d`` vectors the older frame."""
        self.store[: self.d] = self.vectors[self.r - self.d :]

    def _panels(self) -> list[slice]:
        count = max(-(-self.n_features * self.store.itemsize // PANEL), 1)
        edges = [self.n_features * i // count for i in range(count + 1)]
        return list(map(slice, edges[:-1], edges[1:]))

    def _by_stripes(self, m: int, work: Callable[[list[slice], int], Found]) -> list[Found]:
        """Do a block's work on panels of columns: the found of each thread, in order of columns."""
        panels, shared = self._panels(), self.n_features >= SHARED and m * self.n_features > KEPT
        threads = min(self.threads, len(panels)) if shared else 1
        if threads == 1:
            return [work(panels, 0)]
        edges = [len(panels) * i // threads for i in range(threads + 1)]
        stripes = [panels[first:last] for first, last in pairwise(edges)]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, stripes, range(threads)))

    def products(
        self, pieces: list[Any], mean: Float64s, check: bool, *, double: bool = False
    ) -> Products:
        """Return the inner products of rows with each other and with the frame.

        In the frame's precision if that holds them, or in double precision.
        """
        dtype = np.dtype(np.float64) if double else self.store.dtype
        found = self._products(pieces, mean, check, dtype)
        low, high = FLOAT32_SAFE
        if dtype == np.float32 and not low < found.gram.diagonal().max() < high:
            found = self._products(pieces, mean, check, np.dtype(np.float64))
        return found

    def _products(self, pieces: list[Any], mean: Float64s, check: bool, dtype: Any) -> Products:
        m, d, h = sum(map(len, pieces)), self.d, self.d + self.r
        self._centred_rows = None
        alone, single = len(self._panels()) == 1, dtype == np.float32
        product = blas.ssyrk if single else blas.dsyrk

        def of_stripe(panels: list[slice], thread: int) -> Any:
            # All of frame and rows with each other, in one product: the lower triangle.
            own = self._square(thread, filled(h + m), dtype)
            total = np.zeros(own.shape) if single and not alone else own
            with nullcontext() if total is own else np.errstate(over="ignore", under="ignore"):
                for columns in panels:
                    panel = self._centred(pieces, mean, columns, thread, dtype).T
                    keep = 0.0 if single or columns is panels[0] else 1.0
                    product(1.0, panel, beta=keep, c=own.T, trans=1, lower=0, overwrite_c=1)
                    if total is not own:
                        total += own
            return total

        total, *others = self._by_stripes(m, of_stripe)
        for other in others:
            total += other
        if m * self.n_features <= KEPT:
            self._centred_rows = m, dtype
        of_rows = total[h : h + m]
        older, frame = of_rows[:, :d].astype(dtype), of_rows[:, d:h].astype(dtype, order="C")
        turned = np.zeros((d, d))
        if self.r >= d:
            turned = total[h - d : h, :d].astype(np.float64)
        rounding = None
        if check:
            rounding = total[d:h, d:h].astype(np.float64, order="C")
            mirror(rounding)
        return Products(of_rows[:, h : h + m], older, frame, turned, rounding)

    def move(
        self,
        pieces: list[Any],
        mean: Float64s,
        of_frame: Float64s,
        of_rows: Float64s,
        also: Float64s,
        *,
        double: bool = False,
    ) -> Float64s:
        """Make ``of_frame @ frame + of_rows @ (rows - mean)`` the frame.

        One more combination of the rows less the mean is returned. Sums are rounded to the frame's
        precision when they are done, if they are added up in double precision.
        """
        kept, dtype = len(of_frame), np.dtype(np.float64) if double else self.store.dtype
        together = np.zeros((kept + 1, self.r + also.shape[1]), dtype)
        together[:kept, : self.r], together[:kept, self.r :] = of_frame, of_rows
        together[kept:, self.r :] = also
        after = self.store[self.d : self.d + kept + 1]
        last = self.d + together.shape[1]

        def of_stripe(panels: list[slice], thread: int) -> None:
            for columns in panels:
                part = self._centred(pieces, mean, columns, thread, dtype)[self.d : last]
                np.matmul(together, part, out=after[:, columns])

        self._by_stripes(also.shape[1], of_stripe)
        self.r, self._centred_rows = kept, None
        return np.array(after[kept], np.float64)

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
        return {"d": self.d, "r": self.r, "vectors": self.store[:-1]}

    @classmethod
    def restored(cls, state: State) -> "SketchFrame":
        """Return a frame that goes on from a state."""
        store, d = np.asarray(state["vectors"]), int(state["d"])
        frame = cls(d, len(store) - d, store.shape[1], store.dtype)
        frame.store[:-1], frame.r = store, int(state["r"])
        return frame

    def _centred(
        self, pieces: list[Any], mean: Float64s, columns: slice, thread: int, dtype: Any
    ) -> Any:
        """Return a panel of the older vectors, the frame, the rows less the mean, and zeros."""
        m, h, width = sum(map(len, pieces)), self.d + self.r, columns.stop - columns.start
        tall = filled(h + m)
        kept = m * self.n_features <= KEPT
        first, size = (columns.start, self.n_features) if kept else (0, width)
        work = self._work.get(thread)
        if work is None or len(work) < tall * size or work.dtype != dtype:
            # Room for a whole frame: those of the first blocks grow.
            size *= filled(self.d + self.most + m)
            self._work[thread] = work = np.empty(size, dtype)
        panel = work[tall * first : tall * (first + width)].reshape(tall, width)
        if self._centred_rows == (m, dtype):
            return panel
        panel[:h], at = self.store[:h, columns], h
        for rows in pieces:
            centre(rows, mean, columns.start, panel[at : at + len(rows)])
            at += len(rows)
        panel[at:] = 0.0
        return panel

    def _square(self, thread: int, size: int, dtype: Any) -> Any:
        """Return a square matrix to write sums to, zero above the diagonal."""
        found = self._sums.get(thread)
        if found is None or len(found) != size or found.dtype != dtype:
            self._sums[thread] = found = np.zeros((size, size), dtype)
        return found


def filled(rows: int) -> int:
    """Return how many rows fill what BLAS takes at a time: zeros cost less than an edge does.

    >>> filled(326), filled(328)
    (328, 328)
    """
    return -(-rows // FULL) * FULL
