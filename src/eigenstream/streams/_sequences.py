"""Where one sequence ends and the next begins: by a column, by gaps in time, or by the file."""

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._state import State
from eigenstream.streams.base import RowBlock, StreamError

__all__ = ["Part", "Sequences", "check_gap"]

#: Times are held as whole nanoseconds where they are dates, else as the numbers they are.
NANOSECONDS = 1e9


@dataclass(frozen=True)
class Part:
    """Rows of one sequence, as floats; weights of None are ones."""

    rows: Any
    new_sequence: bool
    #: Where they come from: the file, and the number of the first row in it.
    source: str = "X"
    first_row: int = 0
    stride: int = 1
    #: When each was taken, where that is known; seconds of dates.
    times: NDArray[np.float64] | None = None
    weights: NDArray[np.float64] | None = None
    #: What they are to be learned as, a column each.
    labels: tuple[NDArray[Any], ...] = ()

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def between(self, start: int, stop: int) -> "Part":
        """Return the rows from ``start`` to ``stop``."""
        part = slice(start, stop)
        return replace(
            self,
            rows=self.rows[part],
            new_sequence=self.new_sequence and start == 0,
            first_row=self.first_row + start * self.stride,
            times=None if self.times is None else self.times[part],
            weights=None if self.weights is None else self.weights[part],
            labels=tuple(one[part] for one in self.labels),
        )


def check_gap(gap: Any) -> float | np.timedelta64:
    """Return the longest step in time that is no gap: a number, or a span of time.

    >>> check_gap(datetime.timedelta(minutes=1))
    np.timedelta64(60000000,'us')
    """
    if isinstance(gap, datetime.timedelta):
        return np.timedelta64(gap)
    if isinstance(gap, np.timedelta64):
        if np.isnat(gap) or gap < np.timedelta64(0):
            raise ValueError(f"gap must not be negative, got {gap!r}.")
        return gap
    if isinstance(gap, bool) or not isinstance(gap, Real):
        raise TypeError(f"gap must be a number or a time span (timedelta), got {gap!r}.")
    if not float(gap) >= 0 or not np.isfinite(float(gap)):
        raise ValueError(f"gap must be a finite number of at least 0, got {gap!r}.")
    return float(gap)


class Sequences:
    """Cuts blocks into parts of one sequence each; it remembers the last row before a block.

    A new sequence begins where the name in the sequence column changes, where time goes back or
    makes a step longer than ``gap``, and, unless files continue each other, with every table.
    """

    def __init__(self, gap: float | np.timedelta64 | None = None, *, joined: bool = False) -> None:
        self.gap = gap
        self.joined = joined
        self._begun = False
        self._name: Any = None
        self._time: Any = None

    def new_table(self) -> None:
        """Say that another table begins."""
        if not self.joined:
            self._begun = False

    def state(self) -> State:
        """Return what is remembered of the last row: its sequence and its time."""
        found: State = {"begun": int(self._begun)}
        if self._time is not None:
            found["time"] = np.asarray(self._time)
        if self._name is not None:
            name = np.asarray(self._name)
            kind = name.dtype.str
            if name.dtype.kind in "mM":
                name = name.view(np.int64)
            elif name.dtype.kind not in "biufU" or (name.dtype.kind == "f" and name != name):
                raise StreamError(
                    f"a sequence called {self._name!r:.40} cannot be noted down: name sequences by "
                    "text, numbers or dates."
                )
            found |= {"name": name, "name_type": kind}
        return found

    def take(self, state: Mapping[str, Any]) -> None:
        """Go on from a ``state``."""
        self._begun = bool(int(state["begun"]))
        self._time = np.asarray(state["time"])[()] if "time" in state else None
        self._name = None
        if "name" in state:
            kind = np.dtype(str(state["name_type"]))
            name = np.asarray(state["name"])
            self._name = (name.view(kind) if kind.kind in "mM" else name)[()]

    def parts(self, block: RowBlock, source: str) -> Iterator[Part]:
        """Yield the parts of a block, whose rows are floats."""
        n = len(block)
        if n == 0:
            return
        starts = np.zeros(n, bool)
        starts[0] = not self._begun
        if block.sequence is not None:
            names = _names(block, source)
            starts[1:] |= names[1:] != names[:-1]
            starts[0] |= self._begun and names[0] != self._name
            self._name = names[-1]
        seconds = None
        if block.times is not None:
            times = _times(block, source)
            seconds = times / NANOSECONDS if times.dtype == np.int64 else times
            before = times[:1] if self._time is None else np.array([self._time], times.dtype)
            steps = np.diff(np.concatenate([before, times]))
            starts |= steps < 0
            if self.gap is not None:
                starts |= steps > self._limit(times.dtype)
            self._time = times[-1]
        self._begun = True
        whole = Part(
            block.rows,
            False,
            source,
            block.first_row,
            block.stride,
            seconds,
            labels=block.labels,
        )
        edges = np.flatnonzero(starts).tolist()
        if not edges or edges[0] != 0:
            edges.insert(0, 0)
        for start, stop in zip(edges, [*edges[1:], n], strict=True):
            part = whole.between(start, stop) if stop - start < n else whole
            yield replace(part, new_sequence=bool(starts[start]))

    def _limit(self, kind: np.dtype[Any]) -> Any:
        """Return the gap in the units of the times: numbers count as seconds of dates."""
        gap = self.gap
        if isinstance(gap, np.timedelta64):
            if kind != np.int64:
                raise StreamError(
                    f"gap={gap!r} is a time span, and the time column holds plain numbers. Give "
                    "the gap as a number."
                )
            return gap / np.timedelta64(1, "ns")
        assert gap is not None
        return gap * NANOSECONDS if kind == np.int64 else gap


def _names(block: RowBlock, source: str) -> NDArray[Any]:
    """Return the names in the sequence column, none of which may be missing."""
    names = np.asarray(block.sequence)
    missing = _is_missing(names)
    if missing.any():
        row = block.first_row + int(np.argmax(missing)) * block.stride
        raise StreamError(
            f"{source}: the sequence column has no value at row {row}. Name the sequence of every "
            "row, or leave such rows out."
        )
    return names


def _is_missing(values: Any) -> NDArray[np.bool_]:
    if values.dtype.kind in "fmM":
        return np.asarray(np.isnat(values) if values.dtype.kind in "mM" else np.isnan(values))
    if values.dtype.kind == "O":
        found = [one is None or (isinstance(one, float) and one != one) for one in values]
        return np.array(found, bool)
    return np.zeros(values.shape, bool)


def _times(block: RowBlock, source: str) -> NDArray[Any]:
    """Return times as float64, or dates as whole nanoseconds; none may be missing."""
    times = np.asarray(block.times)
    try:
        if times.dtype.kind in "OSUT":
            times = _parsed(times)
        if times.dtype.kind == "M":
            times = times.astype("datetime64[ns]")
        elif times.dtype.kind == "m":
            times = times.astype("timedelta64[ns]")
        else:
            times = times.astype(np.float64)
    except (TypeError, ValueError) as refusal:
        raise StreamError(
            f"{source}: the time column holds no times near row {block.first_row}: {refusal}. "
            "Times are numbers, or dates as 2024-05-31 or 2024-05-31T18:00:00 (ISO 8601)."
        ) from None
    missing = _is_missing(times)
    if missing.any():
        row = block.first_row + int(np.argmax(missing)) * block.stride
        raise StreamError(
            f"{source}: the time column has no value at row {row}. Leave such rows out."
        )
    return times.view(np.int64) if times.dtype.kind in "mM" else times


def _parsed(times: NDArray[Any]) -> NDArray[Any]:
    """Return text as numbers or, failing that, as dates (ISO 8601)."""
    text = np.array(["nan" if one is None else str(one) for one in times.tolist()])
    try:
        return text.astype(np.float64)
    except ValueError:
        return _dates(text)


#: How a date says in which zone its clock stands: Z, +01:00, -0530.
ZONE = re.compile(r"(Z|[+-]\d\d:?\d\d)$")


def _dates(text: NDArray[Any]) -> NDArray[Any]:
    """Return dates as clocks in Greenwich show them, where they say how theirs differ.

    NumPy's dates have no zones.

    >>> _dates(np.array(["2024-05-31T18:00+02:00"])).astype(str).tolist()
    ['2024-05-31T16:00:00.000000000']
    """
    dates: NDArray[Any]
    zones = [ZONE.search(one) if ":" in one else None for one in text.tolist()]
    if not any(zones):
        dates = text.astype("datetime64[ns]")
        return dates
    clocks = [
        one[: zone.start()] if zone else one for one, zone in zip(text.tolist(), zones, strict=True)
    ]
    ahead = np.array([_minutes(zone[1]) if zone else 0 for zone in zones])
    dates = np.array(clocks).astype("datetime64[ns]") - ahead.astype("timedelta64[m]")
    return dates


def _minutes(zone: str) -> int:
    """Return how far a zone's clock is ahead.

    >>> _minutes("+02:00"), _minutes("-0530"), _minutes("Z")
    (120, -330, 0)
    """
    if zone == "Z":
        return 0
    digits = zone[1:].replace(":", "")
    return (60 * int(digits[:2]) + int(digits[2:])) * (-1 if zone[0] == "-" else 1)
