"""From rows that come in chunks of any size to blocks of terms of a fixed size."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eigenstream._linalg import Float64s

__all__ = ["Block", "TermStream"]

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Block:
    """The terms of consecutive steps: a row each, and the row ``lag`` before it."""

    needed: slice | Indices  # the rows to read, ascending
    now: Indices  # positions among them
    past: Indices
    weights: Float64s
    past_weights: Float64s
    sources: tuple[Any, Any]

    def pieces(self, dtype: Any) -> list[Any]:
        """Return the needed rows in one or two pieces, as they lie if they can be used so."""
        kept, chunk = self.sources
        if not (isinstance(self.needed, slice) and usable(chunk, dtype) and usable(kept, dtype)):
            return [self.filled(dtype)]
        border, start, stop = len(kept), self.needed.start, self.needed.stop
        parts = [kept[start:stop], chunk[max(start - border, 0) : max(stop - border, 0)]]
        return [part for part in parts if len(part)]

    def filled(self, dtype: Any) -> Any:
        """Return a copy of the needed rows."""
        kept, chunk = self.sources
        border, needed = len(kept), self.needed
        if isinstance(needed, slice):
            split = min(max(border - needed.start, 0), needed.stop - needed.start)
            out = np.empty((needed.stop - needed.start, chunk.shape[1]), dtype)
            if split:
                _copy(kept, slice(needed.start, needed.start + split), out[:split])
            if needed.stop > border:
                first = max(needed.start - border, 0)
                _copy(chunk, slice(first, needed.stop - border), out[split:])
            return out
        out = np.empty((len(needed), chunk.shape[1]), dtype)
        split = int(np.searchsorted(needed, border))
        _copy(kept, needed[:split], out[:split])
        _copy(chunk, needed[split:] - border, out[split:])
        return out


def usable(chunk: Any, dtype: Any) -> bool:
    """Say whether compiled code can read a chunk as it is."""
    return isinstance(chunk, np.ndarray) and chunk.dtype == dtype and chunk.flags.carray


def _copy(source: Any, indices: Any, out: Any) -> None:
    rows: Any = source[indices]
    if sp.issparse(rows):
        rows = rows.toarray()  # type: ignore[attr-defined, unused-ignore]
    out[...] = rows


class TermStream:
    """Cuts a stream into terms, and holds the rows that later terms need: no more.

    A term is a row of positive weight with a past ``lag`` rows back in its sequence. ``extend``
    takes a chunk, ``take`` hands out blocks, ``settle`` lets go of the chunk. Memory for ``room``
    rows is set aside at once, so that keeping one more row does not copy the others.
    """

    def __init__(self, lag: int, room: int = 0) -> None:
        self.lag = lag
        self.room = room
        self.n_rows = 0
        self.n_velocities = 0  # terms so far whose pasts weigh something, too
        self.sequence_rows = 0  # of the running sequence, seen so far
        self._store: Any = None  # its first rows are the kept ones
        self._kept: Any = None
        self._chunk: Any = None
        self._weights = np.empty(0)  # of kept rows and of the chunk's
        self._now = np.empty(0, np.int64)  # rows of the terms not yet taken

    @property
    def pending(self) -> int:
        """The number of terms not yet taken."""
        return len(self._now)

    def extend(self, chunk: Any, weights: Float64s | None, new_sequence: bool) -> None:
        """Add a chunk of rows; it is only referred to, until ``settle``."""
        n = chunk.shape[0]
        if self._kept is None:
            self._kept = np.empty((0, chunk.shape[1]), chunk.dtype)
        if new_sequence:
            self.sequence_rows = 0
        first = len(self._kept)
        self._chunk = chunk
        self._weights = np.concatenate([self._weights, np.ones(n) if weights is None else weights])
        fresh = np.arange(first + max(self.lag - self.sequence_rows, 0), first + n)
        if weights is not None:
            fresh = fresh[self._weights[fresh] > 0]
        self.n_velocities += int(np.count_nonzero(self._weights[fresh - self.lag]))
        self._now = np.concatenate([self._now, fresh])
        self.sequence_rows += n
        self.n_rows += n

    def take(self, count: int, size: int) -> Block:
        """Hand out the next ``count`` terms if they lie side by side, else the next ``size``."""
        block = self.peek(count, size)
        self._now = self._now[len(block.now) :]
        return block

    def peek(self, count: int, size: int | None = None) -> Block:
        """Return what ``take`` would hand out."""
        now, size = self._now[:count], size or count
        sources = (self._kept, self._chunk)
        start, stop = int(now[0]) - self.lag, int(now[-1]) + 1
        # Pasts that lie further back than a block is long are read on their own. So is a block
        # that has to be copied.
        if start < len(self._kept) or not usable(self._chunk, self._kept.dtype):
            now = now[:size]
            stop = int(now[-1]) + 1
        if stop - start == len(now) + self.lag and self.lag <= size:
            at = np.arange(len(now) + self.lag)
            weights = self._weights[start:stop]
            past_weights = weights[self.lag :]
            if self.lag:
                past_weights = np.minimum(past_weights, weights[: len(now)])
            return Block(
                slice(start, stop),
                at[self.lag :],
                at[: len(now)],
                weights[self.lag :],
                past_weights,
                sources,
            )
        now = now[:size]
        past = now - self.lag
        needed = np.union1d(now, past)
        return Block(
            needed,
            np.searchsorted(needed, now),
            np.searchsorted(needed, past),
            self._weights[now],
            np.minimum(self._weights[now], self._weights[past]),
            sources,
        )

    def settle(self) -> None:
        """Keep the rows that pending and later terms need, and forget the chunk."""
        if self._chunk is None:
            return
        total = len(self._kept) + self._chunk.shape[0]
        # Whole stretches are kept, so that a row's past stays lag rows before it.
        wanted = np.zeros(total, bool)
        wanted[total - min(self.sequence_rows, self.lag) :] = True
        for offset in range(self.lag + 1):
            wanted[self._now - offset] = True
        needed = np.flatnonzero(wanted)
        self._now = np.searchsorted(needed, self._now)
        self._keep(needed)
        self._weights, self._chunk = self._weights[needed], None

    def _keep(self, needed: Indices) -> None:
        """Keep these of the kept rows and of the chunk's."""
        old, border = self._kept, len(self._kept)
        split, count = int(np.searchsorted(needed, border)), len(needed)
        if self._store is None or len(self._store) < count or self._store.dtype != old.dtype:
            self._store = np.empty((max(count, self.room), old.shape[1]), old.dtype)
            self._store[:split] = old[needed[:split]]
        elif split and needed[split - 1] >= split:  # else they lie where they shall lie
            self._store[:split] = old[needed[:split]]
        if count > split:
            rows: Any = needed[split:] - border
            if len(rows) == rows[-1] - rows[0] + 1:
                rows = slice(int(rows[0]), int(rows[-1]) + 1)
            _copy(self._chunk, rows, self._store[split:count])
        self._kept = self._store[:count]

    def widen(self, dtype: Any) -> None:
        """Keep rows in a precision that holds those kept so far."""
        if self._kept is not None:
            self._kept, self._store = self._kept.astype(dtype), None

    def state(self) -> dict[str, Any]:
        """Return the kept rows and the pending terms as arrays."""
        return {
            "kept": self._kept.copy(),
            "kept_weights": self._weights,
            "pending": self._now,
            "sequence_rows": np.array(self.sequence_rows),
            "n_rows": np.array(self.n_rows),
            "n_velocities": np.array(self.n_velocities),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what ``state`` gave."""
        self._kept, self._store = np.array(state["kept"]), None
        self._weights = np.array(state["kept_weights"], np.float64)
        self._now = np.array(state["pending"], np.int64)
        self.sequence_rows = int(state["sequence_rows"])
        self.n_rows = int(state["n_rows"])
        self.n_velocities = int(state["n_velocities"])
