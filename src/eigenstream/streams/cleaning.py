"""Turn blocks of a table into chunks: sequences, times, labels and missing values."""

from bisect import bisect
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import ArrayLike, NDArray

from eigenstream.core.checks import (
    LARGEST_VALUE,
    check_unmasked,
    first_nonfinite,
    first_time_gap,
    is_sparse,
    largest_value,
    warn_user,
)
from eigenstream.core.types import Array
from eigenstream.rows.chunk import STARTS, Chunk, finite_rows, joined, zeroed
from eigenstream.streams.base import StreamError, plain

#: The treatments of missing values. KEEP leaves NaN in the rows for estimators that handle it.
POLICIES = ("raise", "skip", "interpolate")
KEEP = "keep"

#: Nanoseconds in a second. Dates are compared as whole nanoseconds.
NANOSECONDS = 1e9


#: Numbers that often mean a missing value, and the rows of a chunk in which a column repeats one.
SENTINELS, REPEATED = (-999.0, -9999.0, 9999.0, -99999.0), 2

#: The share of steps back in time, and their number, beyond which rows are not in order. A lower
#: share raises an error for tables of short sequences without a column of sequences.
MUCH_BACK, MANY_BACK = 0.4, 30

# ---- sequences -----------------------------------------------------------------------------------


class Sequences:
    """Cuts blocks into chunks of one sequence each.

    A new sequence begins where the value of the sequence column changes. It also begins where time
    goes back or makes a step longer than ``gap``. Unless ``joined`` is True, every table begins a
    new sequence.
    """

    def __init__(self, gap: float | None, joined: bool) -> None:
        self.gap, self.joined = gap, joined
        self._begun = False
        #: The sequence and the time of the last row.
        self._name: Any = None
        self._time: Any = None
        #: The numbers of steps in time and of those that go back, and the first row behind these.
        self._n_steps = self._n_back = self._first_back = 0
        self._has_gap = False

    def new_table(self) -> None:
        """Start the next table."""
        self._begun &= self.joined

    def cut(self, block: Chunk) -> Iterator[Chunk]:
        """Yield the chunks of a block."""
        starts = np.zeros(len(block), bool)
        starts[:1] = not self._begun
        if len(block) and block.sequence is not None:
            names = np.asarray(block.sequence)
            _check_none_missing(names, block, "sequence")
            starts[1:] |= names[1:] != names[:-1]
            starts[0] |= names[0] != self._name
            self._name = names[-1]
        if len(block) and block.times is not None:
            times, dates = _times(block)
            steps = np.diff(times, prepend=times[0] if self._time is None else self._time)
            self._check_order(steps, block)
            starts |= steps < 0
            if self.gap is not None:
                starts |= steps > (self.gap * NANOSECONDS if dates else self.gap)
            self._time = times[-1]
            seconds = times / NANOSECONDS if dates else times
            block = replace(block, times=seconds, raw_times=np.asarray(block.times))
        self._begun |= len(block) > 0
        edges = [*sorted({0, *np.flatnonzero(starts).tolist()}), len(block)]
        for start, stop in pairwise(edges):
            if start < stop:
                yield replace(block[start:stop], starts=STARTS[starts[start]])

    def _check_order(self, steps: Array, block: Chunk) -> None:
        """Raise an error if time goes back often, and warn of its first gap."""
        back = np.flatnonzero(steps < 0)
        if len(back) and not self._n_back:
            self._first_back = block.row(int(back[0]))
        self._n_steps, self._n_back = self._n_steps + len(steps), self._n_back + len(back)
        if block.sequence is None and self._n_back > max(MUCH_BACK * self._n_steps, MANY_BACK):
            times = f"goes back {self._n_back} times in {self._n_steps} rows"
            raise StreamError(
                f"{block.source}: the time column {times}, first at row {self._first_back}. Sort "
                "the rows by time."
            )
        gap = None if self.gap is not None or self._has_gap else first_time_gap(steps)
        if gap is not None:
            self._has_gap = True
            row = block.row(gap[0])
            warn_user(
                f"{block.source}: the time column has a gap before row {row}, where the step is "
                f"{gap[1]:.3g} times the usual one. Pass gap= to begin a new sequence there."
            )


def _check_none_missing(values: Array, block: Chunk, what: str) -> None:
    missing = values != values  # NaN and NaT
    if values.dtype.kind == "O":
        missing = missing | np.array([value is None for value in values])
    if missing.any():
        row = block.row(int(np.argmax(missing)))
        raise StreamError(f"{block.source}: the {what} column has no value at row {row}. Fix it.")


def _times(block: Chunk) -> tuple[Array, bool]:
    """Return the times as numbers, and whether these are dates in nanoseconds."""
    times = np.asarray(block.times)
    try:
        if times.dtype.kind in "OSUT":
            times = parsed_times(times)
        dates = times.dtype.kind in "mM"
        times = times.astype(f"{times.dtype.kind}8[ns]" if dates else np.float64)
    except (TypeError, ValueError):
        # The first time that does not agree with those before it.
        at = bisect(range(1, len(times)), False, key=lambda n: not are_times(times[:n]))
        raise StreamError(
            f"{block.source}: the time column has {str(times[at])!r:.60} at row "
            f"{block.row(at)}. Use numbers, or ISO 8601 dates such as "
            "2024-05-31T18:00:00."
        ) from None
    _check_none_missing(times, block, "time")
    return times.view(np.int64) if dates else times, dates


def are_times(times: Array) -> bool:
    """Return whether all values are times, as numbers or as text.

    >>> are_times(np.array(["29.03.1958"])), are_times(np.array(["1958-03-29"]))
    (False, True)
    """
    try:
        parsed_times(times)
    except (TypeError, ValueError):
        return False
    return None not in times.tolist()


def parsed_times(times: Array) -> Array:
    """Return text as numbers or as ISO 8601 dates, in UTC if they have time zones.

    >>> parsed_times(np.array(["2024-05-31T18:00+02:00"])).astype(str).tolist()
    ['2024-05-31T16:00:00.000000000']
    """
    text = pyarrow.array([None if time is None else str(time) for time in times.tolist()])
    for kind in (pyarrow.float64(), pyarrow.timestamp("ns")):
        with suppress(ValueError):
            plain_times: Array = text.cast(kind).to_numpy(zero_copy_only=False)
            return plain_times
    zoned: Array = text.cast(pyarrow.timestamp("ns", "UTC")).to_numpy(zero_copy_only=False)
    return zoned


# ---- labels --------------------------------------------------------------------------------------


def labelled(chunk: Chunk, policy: str) -> Chunk:
    """Return the chunk with weight zero for rows without a label, or raise an error."""
    labels = np.asarray(chunk.labels).reshape(len(chunk), -1)
    text = labels.dtype.kind in "US"
    absent = labels == np.zeros((), labels.dtype) if text else labels != labels
    missing = absent.any(axis=1)
    if not missing.any():
        return chunk
    if policy in ("raise", KEEP):
        row = chunk.row(int(np.argmax(missing)))
        raise StreamError(f"{chunk.source} has no label at row {row}. Pass missing='skip'.")
    return replace(chunk, weights=np.where(missing, 0.0, chunk.each_weight()))


class Labels:
    """Labels from another source, one for each row that a stream reads."""

    def __init__(self, values: ArrayLike) -> None:
        if isinstance(values, str | PathLike):
            raise TypeError("y is the name of a file. Pass eigenstream.streams.labels_of(path).")
        check_unmasked(values, "y")
        self.values = np.asarray(values)
        if self.values.ndim not in (1, 2) or self.values.shape[1:] == (0,):
            raise StreamError(f"y has shape {self.values.shape}. Pass one label for each row.")

    def check(self, n_rows: int, *, at_least: bool = False) -> None:
        """Raise an error if the number of rows differs from the number of labels."""
        if n_rows > len(self.values) or (n_rows < len(self.values) and not at_least):
            rows = f"{'more' if at_least else n_rows} rows"
            many = f"y has {len(self.values)} labels, and the stream has {rows}"
            raise StreamError(f"{many}. Pass one label for each row that is read.")

    def put(self, block: Chunk, at: int) -> Chunk:
        """Return a block with labels. Its first row is row ``at`` of the stream."""
        self.check(at + len(block), at_least=True)
        part = self.values[at : at + len(block)]
        several = part.ndim == 2
        labels = np.column_stack([plain(column) for column in part.T]) if several else plain(part)
        return replace(block, labels=labels)


# ---- missing values ------------------------------------------------------------------------------


def cleaned(
    chunks: Iterator[Chunk],
    policy: str,
    names: Sequence[str] | None,
    longest: int,
) -> Iterator[Chunk]:
    """Yield chunks of finite rows, or raise an error at a missing value.

    Interpolation fills holes of at most ``longest`` rows.
    """
    if policy == "interpolate":
        chunks = _interpolated(chunks, longest)
    warned = False
    for chunk in chunks:
        values, holes = chunk.rows, policy != "raise" and not np.isfinite(largest_value(chunk.rows))
        if holes and policy != KEEP:
            chunk = _weighed(chunk, finite_rows(chunk.rows))
            values = chunk.rows
        elif holes and not is_sparse(values):
            chunk = _weighed(chunk, ~np.isnan(chunk.rows).all(axis=1))
            values = np.where(np.isnan(chunk.rows), 0.0, chunk.rows)
        largest = largest_value(values)
        if not largest <= LARGEST_VALUE:
            raise StreamError(_fault(replace(chunk, rows=values), largest, names))
        if largest >= abs(SENTINELS[0]) and not warned:
            warned = _warn_of_sentinels(chunk, names)
        yield chunk


def _fault(chunk: Chunk, largest: float, names: Sequence[str] | None) -> str:
    """Return the error message for the first value that is not finite, or for too large ones."""
    where = first_nonfinite(chunk.rows)
    if where is None:
        return (
            f"{chunk.source} contains values up to {largest:.3g} between rows {chunk.first_row} "
            f"and {chunk.row(len(chunk) - 1)}, whose squares overflow. Rescale it."
        )
    row, column = where
    what = "NaN" if np.isnan(chunk.rows[row, column]) else "infinity"
    named = "" if names is None else f" ({names[column]!r})"
    return (
        f"{chunk.source} contains {what} at row {chunk.row(row)}, column {column}{named}. Fix it, "
        "or pass missing='skip' or missing='interpolate'."
    )


def _warn_of_sentinels(chunk: Chunk, names: Sequence[str] | None) -> bool:
    """Warn if a column repeats a number that often means a missing value, far from all others."""
    if is_sparse(chunk.rows):
        return False
    for value in SENTINELS:
        for column in np.flatnonzero((chunk.rows == value).sum(axis=0) >= REPEATED).tolist():
            values = chunk.rows[:, column]
            others = values[np.isfinite(values) & ~np.isin(values, SENTINELS)]
            low, high = others.min(initial=np.inf), others.max(initial=-np.inf)
            if low <= high and max(value - high, low - value) > high - low:
                count = int((values == value).sum())
                name = column if names is None else repr(names[column])
                warn_user(
                    f"{chunk.source} has {value:g} in {count} of rows {chunk.first_row} to "
                    f"{chunk.row(len(chunk) - 1)} of column {name}, and otherwise {low:.4g} to "
                    f"{high:.4g}. If it means a missing value, pass na_values={value:g}."
                )
                return True
    return False


def _weighed(chunk: Chunk, complete: NDArray[np.bool_]) -> Chunk:
    """Return the chunk with zeros and weight zero in the rows where ``complete`` is False."""
    weights = None if complete.all() else complete.astype(np.float64)
    return replace(chunk, rows=zeroed(chunk.rows, complete), weights=weights)


def _interpolated(chunks: Iterator[Chunk], longest: int) -> Iterator[Chunk]:
    """Yield rows whose holes are filled on the line between the values before and after.

    Rows are stored until a value follows their hole. A hole at an end of a sequence, or of more
    than ``longest`` rows, stays NaN.
    """
    # The stored rows. If n_done is 1, the first of them has been yielded.
    stored: Chunk | None = None
    n_done = n_seen = 0
    for chunk in chunks:
        if is_sparse(chunk.rows):
            raise StreamError(f"{chunk.source}: sparse rows are not interpolated. Use 'skip'.")
        if stored is not None and chunk.new_sequence:
            if len(stored) > n_done:
                yield stored[n_done:]
            stored, n_done, n_seen = None, 0, 0
        times = np.arange(n_seen, n_seen + len(chunk), dtype=np.float64)
        n_seen += len(chunk)
        chunk = replace(
            chunk,
            rows=np.where(np.isfinite(chunk.rows), chunk.rows, np.nan).astype(chunk.rows.dtype),
            times=times if chunk.times is None else chunk.times,
        )
        stored = chunk if stored is None else joined([stored, chunk])
        ready = _fill_holes(stored.rows, stored.times, longest)
        if ready > n_done:
            yield stored[n_done:ready]
            stored, n_done = stored[ready - 1 :], 1
    if stored is not None and len(stored) > n_done:
        yield stored[n_done:]


def _fill_holes(rows: Array, at: Any, longest: int) -> int:
    """Fill closed holes in place. Return the first row of a hole that reaches the end."""
    lacking = np.isnan(rows)
    open_from = len(rows)
    for column in np.flatnonzero(lacking.any(axis=0)).tolist():
        hole = np.concatenate([[False], lacking[:, column], [False]])
        for start, stop in np.flatnonzero(np.diff(hole)).reshape(-1, 2).tolist():
            if start == 0 or stop - start > longest:
                continue
            if stop == len(rows):
                open_from = min(open_from, start)
                continue
            ends = [start - 1, stop]
            rows[start:stop, column] = np.interp(at[start:stop], at[ends], rows[ends, column])
    return open_from
