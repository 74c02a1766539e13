"""Values that are missing: refused with their place, left out, or interpolated."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import LARGEST_VALUE, first_nonfinite, is_sparse
from eigenstream._state import State, joined
from eigenstream._state import part as part_of
from eigenstream.streams._labels import plain
from eigenstream.streams._sequences import Part
from eigenstream.streams.base import StreamError

__all__ = ["KEEP", "POLICIES", "Policy", "policy"]

POLICIES = ("raise", "skip", "interpolate")

#: For an estimator that knows what to do about holes, which asks for them itself.
KEEP = "keep"

#: What a value may be while its hole is still open.
KNOWN, OPEN, LOST = 0, 1, 2


class Policy(ABC):
    """What is done about missing values (NaN and infinity), part by part."""

    #: How many values have been filled in.
    filled: int = 0

    @abstractmethod
    def push(self, part: Part) -> Iterator[Part]:
        """Take the next part; yield what is settled."""

    def end(self) -> Iterator[Part]:
        """Yield what is still held when the stream ends."""
        yield from ()

    def state(self) -> State:
        """Return what is held between two parts."""
        return {}

    def take(self, state: Mapping[str, Any]) -> None:  # noqa: B027
        """Go on from a ``state``."""


def policy(name: str, names: Sequence[str] | None, longest: int) -> Policy:
    """Return the policy of a name; ``longest`` is the longest hole that is interpolated."""
    if name == "raise":
        return Refusing(names)
    if name == KEEP:
        return Keeping(names)
    return Skipping(names) if name == "skip" else Interpolating(names, longest)


def _largest(rows: Any) -> float:
    """Return a bound on the size of all values: NaN where one is NaN."""
    stored = (rows.data if is_sparse(rows) else rows).ravel()
    # A single pass, where it settles the matter: no value is larger than the root of this sum.
    with np.errstate(over="ignore", invalid="ignore"):
        squares = float(np.dot(stored, stored))
    if squares <= LARGEST_VALUE or not stored.size:
        return float(np.sqrt(squares))
    # NaN passes through min and max.
    return max(-float(stored.min()), float(stored.max()))


class Refusing(Policy):
    """Refuses what is missing, naming the file, the row and the column."""

    def __init__(self, names: Sequence[str] | None) -> None:
        self.names = names

    def push(self, part: Part) -> Iterator[Part]:
        """Yield the part if it is complete."""
        largest = _largest(part.rows)
        if not largest <= LARGEST_VALUE:
            self._refuse(part, largest)
        yield part

    def _refuse(self, part: Part, largest: float) -> None:
        where = first_nonfinite(part.rows)
        if where is None:
            raise StreamError(
                f"{part.source} holds values as large as {largest:.3g} between rows "
                f"{part.first_row} and {part.first_row + (len(part) - 1) * part.stride}, whose "
                "squares overflow. Rescale it."
            )
        row, column = where
        what = "NaN (or nothing)" if np.isnan(part.rows[row, column]) else "infinity"
        named = "" if self.names is None else f" ({self.names[column]!r})"
        raise StreamError(
            f"{part.source} has {what} at row {part.first_row + row * part.stride}, column "
            f"{column}{named}. Mend it, or pass missing='skip' or missing='interpolate'."
        )


class Skipping(Refusing):
    """Rows that lack a value become zeros that weigh nothing: no velocity comes from them."""

    def push(self, part: Part) -> Iterator[Part]:
        """Yield the part, its incomplete rows without weight."""
        if np.isfinite(_largest(part.rows)):
            yield from super().push(part)
            return
        if is_sparse(part.rows):
            entries = part.rows.tocoo()
            lacking = np.zeros(len(part), bool)
            lacking[entries.row[~np.isfinite(entries.data)]] = True
            inside = ~lacking[entries.row]
            index = (entries.row[inside], entries.col[inside])
            rows: Any = type(part.rows)((entries.data[inside], index), shape=part.rows.shape)
        else:
            lacking = ~np.isfinite(part.rows).all(axis=1)
            rows = np.where(lacking[:, None], np.zeros((), part.rows.dtype), part.rows)
        yield from super().push(replace(part, rows=rows, weights=(~lacking).astype(np.float64)))


class Keeping(Refusing):
    """Leaves NaN where a value is missing; a row that has none at all weighs nothing."""

    def push(self, part: Part) -> Iterator[Part]:
        """Yield the part as it is, if nothing in it is infinite or too large."""
        rows = part.rows
        if is_sparse(rows) or _largest(rows) <= LARGEST_VALUE:
            yield from super().push(part)
            return
        lacking = np.isnan(rows)
        for _ in super().push(replace(part, rows=np.where(lacking, 0.0, rows))):
            there = ~lacking.all(axis=1)
            weights = None if there.all() else there.astype(np.float64)
            yield replace(part, rows=np.where(there[:, None], rows, 0.0), weights=weights)


class Interpolating(Refusing):
    """Fills holes on the straight line between the values before and after, by time or by row.

    A row waits until its holes are closed, across parts. What has no value on one side (at an end
    of a sequence), or is longer than ``longest`` rows, is not invented: such rows weigh nothing.
    """

    def __init__(self, names: Sequence[str] | None, longest: int) -> None:
        super().__init__(names)
        self.longest = longest
        #: The rows that wait, with the state of each of their values.
        self._held: Part | None = None
        self._state = np.empty((0, 0), np.int8)
        #: Of the row before those that wait: its number in the sequence, and for each column the
        #: last value that is known, where it stands, and whether a hole after it was given up.
        self._count = 0
        self._value = self._at = np.empty(0)
        self._lost = np.empty(0, bool)

    def push(self, part: Part) -> Iterator[Part]:
        """Take the next part; yield the rows whose holes are closed."""
        if is_sparse(part.rows):
            raise StreamError(
                f"{part.source}: sparse rows are not interpolated. Use missing='skip'."
            )
        if part.new_sequence:
            yield from self.end()
            width = part.rows.shape[1]
            self._count, self._value, self._at = 0, np.full(width, np.nan), np.zeros(width)
            self._lost = np.zeros(width, bool)
        part, state = self._joined(part)
        at = self._places(part)
        if state.any():
            rows = part.rows.copy()
            for column in np.flatnonzero(state.any(axis=0)).tolist():
                self._fill(rows, state, at, column)
            part = replace(part, rows=rows)
        waiting = (state == OPEN).any(axis=1)
        ready = int(np.argmax(waiting)) if waiting.any() else len(part)
        yield from self._emit(part, state, at, ready)

    def end(self) -> Iterator[Part]:
        """Give up the holes that are open, and yield their rows without weight."""
        if self._held is None:
            return
        part, state = self._held, self._state
        state[state == OPEN] = LOST
        yield from self._emit(part, state, self._places(part), len(part))

    def _joined(self, part: Part) -> tuple[Part, NDArray[np.int8]]:
        """Return the rows that wait and the new ones as one part, and the state of all values."""
        state = np.where(np.isfinite(part.rows), KNOWN, OPEN).astype(np.int8)
        held = self._held
        if held is None:
            return part, state
        times = None
        if held.times is not None and part.times is not None:
            times = np.concatenate([held.times, part.times])
        rows = np.concatenate([held.rows, part.rows])
        labels = tuple(np.concatenate(both) for both in zip(held.labels, part.labels, strict=True))
        joined = replace(held, rows=rows, times=times, labels=labels)
        return joined, np.concatenate([self._state, state])

    def _places(self, part: Part) -> NDArray[np.float64]:
        if part.times is not None:
            return part.times
        return np.arange(self._count, self._count + len(part), dtype=np.float64)

    def _fill(
        self, rows: Any, state: NDArray[np.int8], at: NDArray[np.float64], column: int
    ) -> None:
        """Close the holes of one column that have an end, and give up those that never will."""
        hole = state[:, column] != KNOWN
        edges = np.flatnonzero(np.diff(np.concatenate([[False], hole, [False]]).astype(np.int8)))
        for start, stop in edges.reshape(-1, 2):
            first = start == 0
            before, there = (
                (self._value[column], self._at[column])
                if first
                else (rows[start - 1, column], at[start - 1])
            )
            lost = (state[start:stop, column] == LOST).any() or (first and self._lost[column])
            if lost or np.isnan(before) or stop - start > self.longest:
                state[start:stop, column] = LOST
            elif stop < len(rows):
                ends, values = [there, at[stop]], [before, rows[stop, column]]
                rows[start:stop, column] = np.interp(at[start:stop], ends, values)
                self.filled += int(stop - start)
                state[start:stop, column] = KNOWN

    def _emit(
        self, part: Part, state: NDArray[np.int8], at: NDArray[np.float64], ready: int
    ) -> Iterator[Part]:
        """Yield the first rows, and hold the others."""
        done = state[:ready]
        if ready:
            known = done == KNOWN
            last = ready - 1 - np.argmax(known[::-1], axis=0)
            some = known.any(axis=0)
            columns = np.flatnonzero(some)
            self._value[columns] = part.rows[last[columns], columns]
            self._at[columns] = at[last[columns]]
            self._lost = done[-1] == LOST
            self._count += ready
        settled = part.between(0, ready)
        self._held = part.between(ready, len(part)) if ready < len(part) else None
        self._state = state[ready:]
        if ready:
            lacking = (done == LOST).any(axis=1)
            if lacking.any():
                rows = np.where(lacking[:, None], np.zeros((), part.rows.dtype), settled.rows)
                settled = replace(settled, rows=rows, weights=(~lacking).astype(np.float64))
            yield from super().push(settled)

    def state(self) -> State:
        """Return the rows that wait, with the state of their values, and what came before them."""
        found = {"count": self._count, "value": self._value.copy(), "at": self._at.copy()}
        found |= {"lost": self._lost.copy()}
        if self._held is not None:
            held = self._held
            own = {name: getattr(held, name) for name in ("source", "first_row", "stride")}
            own |= {"rows": held.rows, "new_sequence": int(held.new_sequence)}
            own |= {"state": self._state.copy()}
            own |= {} if held.times is None else {"times": held.times}
            own |= {f"label{k}": plain(one) for k, one in enumerate(held.labels)}
            found |= joined(held=own)
        return found

    def take(self, state: Mapping[str, Any]) -> None:
        """Go on from a ``state``."""
        if not state:
            return
        self._count = int(state["count"])
        self._value, self._at = (np.array(state[name], np.float64) for name in ("value", "at"))
        self._lost = np.array(state["lost"], bool)
        held = part_of(state, "held")
        self._held, self._state = None, np.empty((0, len(self._value)), np.int8)
        if held:
            names = [f"label{k}" for k in range(len(held)) if f"label{k}" in held]
            self._held = Part(
                np.array(held["rows"]),
                bool(int(held["new_sequence"])),
                str(held["source"]),
                int(held["first_row"]),
                int(held["stride"]),
                np.array(held["times"], np.float64) if "times" in held else None,
                labels=tuple(np.array(held[name]) for name in names),
            )
            self._state = np.array(held["state"], np.int8)
