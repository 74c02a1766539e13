"""Chunks of rows with their labels, and where one sequence ends and the next begins."""

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack

from eigenstream._checks import check_unmasked, is_sparse
from eigenstream.streams.base import RowBlock, StreamError

__all__ = [
    "Chunk",
    "LabelsBeside",
    "Sequences",
    "check_gap",
    "joined_labels",
    "lacking_labels",
    "plain",
    "stacked",
]

#: Dates are stored as whole nanoseconds.
NANOSECONDS = 1e9


@dataclass(frozen=True)
class Chunk:
    """Rows of one sequence: float32 or float64, finite, dense or CSR.

    ``weights`` are None, or 0 for rows that lack values (which are then zeros) and 1 for the
    others. ``source`` and ``first_row`` say where the first row was read. ``labels`` are None, or
    one a row, or one column a target.
    """

    rows: Any
    weights: NDArray[np.float64] | None
    new_sequence: bool
    source: str = "X"
    first_row: int = 0
    labels: Any = None
    #: How many rows of the pass end with this chunk: ``Stream.chunks(skip=end)`` continues behind.
    end: int = 0
    #: The step between two rows in the source, and the time of each row, in seconds of dates.
    stride: int = field(default=1, repr=False)
    times: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def between(self, start: int, stop: int) -> "Chunk":
        """Return the rows from ``start`` to ``stop``."""
        part = slice(start, stop)
        return replace(
            self,
            rows=self.rows[part],
            new_sequence=self.new_sequence and start == 0,
            first_row=self.first_row + start * self.stride,
            weights=None if self.weights is None else self.weights[part],
            times=None if self.times is None else self.times[part],
            labels=None if self.labels is None else self.labels[part],
        )


def stacked(pieces: Sequence[Any]) -> Any:
    """Return rows on top of each other, dense or sparse."""
    filled = [piece for piece in pieces if piece.shape[0]] or list(pieces[-1:])
    if len(filled) == 1:
        return filled[0]
    return vstack(filled, format="csr") if is_sparse(filled[0]) else np.concatenate(filled)


# ---- sequences -----------------------------------------------------------------------------------


def check_gap(gap: Any) -> float | np.timedelta64:
    """Return the longest step in time that is no gap: a number, or a span of time.

    >>> check_gap(datetime.timedelta(minutes=1))
    np.timedelta64(60000000,'us')
    """
    span: Any = np.timedelta64(gap) if isinstance(gap, datetime.timedelta) else gap
    if isinstance(span, bool) or not isinstance(span, Real | np.timedelta64):
        raise TypeError(f"gap must be a number or a time span (timedelta), got {gap!r}.")
    if isinstance(span, np.timedelta64):
        if np.isnat(span) or span < np.timedelta64(0):
            raise ValueError(f"gap must not be negative, got {gap!r}.")
        return span
    if not 0 <= float(span) < np.inf:
        raise ValueError(f"gap must be a finite number of at least 0, got {gap!r}.")
    return float(span)


class Sequences:
    """Cuts blocks into chunks of one sequence each.

    A new sequence begins where the value in the sequence column changes, where time goes back or
    makes a step longer than ``gap``, and, unless files continue each other, with every table.
    """

    def __init__(self, gap: float | np.timedelta64 | None = None, *, joined: bool = False) -> None:
        self.gap = gap
        self.joined = joined
        self._begun = False
        #: The sequence and the time of the last row.
        self._name: Any = None
        self._time: Any = None

    def new_table(self) -> None:
        """Note that another table begins."""
        if not self.joined:
            self._begun = False

    def cut(self, block: RowBlock, source: str, several: bool) -> Iterator[Chunk]:
        """Yield the chunks of a block, whose rows are floats."""
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
        where = source, block.first_row
        labels = _merged(block.labels, several) if block.labels else None
        whole = Chunk(block.rows, None, False, *where, labels, stride=block.stride, times=seconds)
        edges = sorted({0, *np.flatnonzero(starts).tolist()})
        for start, stop in zip(edges, [*edges[1:], n], strict=True):
            yield replace(whole.between(start, stop), new_sequence=bool(starts[start]))

    def _limit(self, kind: np.dtype[Any]) -> Any:
        """Return the gap in the units of the times: numbers count as seconds of dates."""
        gap: Any = self.gap
        if not isinstance(gap, np.timedelta64):
            return gap * NANOSECONDS if kind == np.int64 else gap
        if kind != np.int64:
            raise StreamError(
                f"gap={gap!r} is a time span, and the time column holds plain numbers. Give the "
                "gap as a number."
            )
        return gap / np.timedelta64(1, "ns")


def _names(block: RowBlock, source: str) -> NDArray[Any]:
    """Return the values of the sequence column, none of which may be missing."""
    names = np.asarray(block.sequence)
    _check_none_missing(names, block, source, "sequence")
    return names


def _check_none_missing(values: Any, block: RowBlock, source: str, what: str) -> None:
    if values.dtype.kind not in "fmMO":
        return
    missing = values != values  # NaN and NaT
    if values.dtype.kind == "O":
        missing = missing | np.array([one is None for one in values])
    if missing.any():
        row = block.first_row + int(np.argmax(missing)) * block.stride
        raise StreamError(
            f"{source}: the {what} column has no value at row {row}. Fill it in, or leave such "
            "rows out."
        )


def _times(block: RowBlock, source: str) -> NDArray[Any]:
    """Return times as float64, or dates as whole nanoseconds; none may be missing."""
    times = np.asarray(block.times)
    try:
        if times.dtype.kind in "OSUT":
            times = _parsed(times)
        if times.dtype.kind in "mM":
            times = times.astype(f"{times.dtype.kind}8[ns]")
        else:
            times = times.astype(np.float64)
    except (TypeError, ValueError) as refusal:
        raise StreamError(
            f"{source}: the time column holds no times near row {block.first_row}: {refusal}. "
            "Times are numbers, or dates as 2024-05-31 or 2024-05-31T18:00:00 (ISO 8601)."
        ) from None
    _check_none_missing(times, block, source, "time")
    return times.view(np.int64) if times.dtype.kind in "mM" else times


def _parsed(times: NDArray[Any]) -> NDArray[Any]:
    """Return text as numbers or as dates (ISO 8601), in UTC if they have zones.

    >>> _parsed(np.array(["2024-05-31T18:00+02:00"])).astype(str).tolist()
    ['2024-05-31T16:00:00.000000000']
    """
    import pyarrow

    text = pyarrow.array([None if one is None else str(one) for one in times.tolist()])
    dates = pyarrow.timestamp("ns"), pyarrow.timestamp("ns", "UTC")
    for kind in (pyarrow.float64(), *dates):
        try:
            found: NDArray[Any] = text.cast(kind).to_numpy(zero_copy_only=False)
        except ValueError as error:
            refusal = error
        else:
            return found
    raise refusal


# ---- labels --------------------------------------------------------------------------------------


def plain(column: Any) -> NDArray[Any]:
    """Return labels as numbers, as text, or as flags; what is missing as NaN or empty text.

    Whole numbers are integers, however a format holds them.

    >>> plain(np.array(["a", None], object)), plain(np.array([1.0, 2.0]))
    (array(['a', ''], dtype='<U1'), array([1, 2]))
    """
    values = np.asarray(column)
    if values.dtype.kind in "fiub":
        with np.errstate(invalid="ignore"):
            exact = (np.abs(values) < 2.0**53) & (values == np.rint(values))  # NaN is neither
        return values.astype(np.int64) if values.dtype.kind == "f" and exact.all() else values
    listed = values.tolist()
    if values.dtype.kind == "O" and all(isinstance(one, int | float | None) for one in listed):
        flags = all(isinstance(one, bool) for one in listed)
        numbers = [np.nan if one is None else one for one in listed]
        return plain(np.array(numbers, bool if flags else np.float64))
    if values.dtype.kind in "OMmT":
        absent = [one is None or one != one for one in listed]
        text = ["" if no else str(one) for no, one in zip(absent, values, strict=True)]
        return np.array(text, dtype=np.str_)
    return values


def _merged(columns: Sequence[NDArray[Any]], several: bool) -> NDArray[Any]:
    """Return the labels of a chunk: a column as it is, several side by side."""
    return np.column_stack([plain(one) for one in columns]) if several else plain(columns[0])


def joined_labels(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return labels that follow each other as one array. NaN among text becomes empty text.

    >>> joined_labels([np.array([np.nan]), np.array(["a"])]).tolist()
    ['', 'a']
    """
    if any(one.dtype.kind == "U" for one in parts):
        parts = [
            np.where(np.isnan(one), "", one.astype(np.str_)) if one.dtype.kind == "f" else one
            for one in parts
        ]
    return np.concatenate(parts)


def lacking_labels(chunk: Chunk) -> NDArray[np.bool_]:
    """Return for each row whether a label is missing."""
    labels = np.asarray(chunk.labels).reshape(len(chunk), -1)
    if labels.dtype.kind == "f":
        return np.asarray(~np.isfinite(labels).all(axis=1))
    if labels.dtype.kind in "US":
        return np.asarray((labels == np.zeros((), labels.dtype)).any(axis=1))
    return np.zeros(len(chunk), bool)


class LabelsBeside:
    """Labels that are given beside the rows of a stream, one for each row that is read."""

    def __init__(self, values: Any, name: str) -> None:
        if isinstance(values, str | PathLike):
            raise TypeError(
                f"{name} is the name of a file, {fspath(values)!r:.80}, and labels are due: "
                "labels_of(path), of eigenstream.streams, reads those of a file of one column."
            )
        check_unmasked(values, name)
        self.values = np.asarray(values)
        self.name = name
        self.several = self.values.ndim == 2
        if self.values.ndim not in (1, 2) or (self.several and not self.values.shape[1]):
            raise StreamError(
                f"{name} has shape {self.values.shape}. Give one label a row, or one column a "
                "target."
            )

    def check(self, n_rows: int, *, at_least: bool = False) -> None:
        """Raise if there are not as many labels as rows."""
        if n_rows > len(self.values) or (n_rows < len(self.values) and not at_least):
            raise StreamError(
                f"{self.name} has {len(self.values)} labels, and the stream has "
                f"{'more' if at_least else n_rows} rows. Give one label for each row that is read."
            )

    def put(self, block: RowBlock, at: int) -> RowBlock:
        """Return a block with its labels, whose first row is the ``at``-th of the stream."""
        self.check(at + len(block), at_least=True)
        part = self.values[at : at + len(block)]
        return replace(block, labels=tuple(part.T) if self.several else (part,))
