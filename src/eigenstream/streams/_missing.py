"""Missing values: an error with their place, rows of weight zero, or interpolation."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import LARGEST_VALUE, first_nonfinite, is_sparse
from eigenstream.streams._chunks import Chunk, joined_labels, stacked
from eigenstream.streams.base import StreamError

__all__ = ["KEEP", "POLICIES", "cleaned"]

POLICIES = ("raise", "skip", "interpolate")

#: For an estimator that knows what to do about holes, which asks for them itself.
KEEP = "keep"


def cleaned(
    chunks: Iterator[Chunk],
    policy: str,
    names: Sequence[str] | None,
    longest: int,
    told: Callable[[int], object] = lambda n: None,
) -> Iterator[Chunk]:
    """Yield the chunks with finite rows, or raise.

    Interpolation fills holes of at most ``longest`` rows; ``told`` gets the numbers of values that
    were filled in.
    """
    if policy == "interpolate":
        chunks = _interpolated(chunks, longest, told)
    for chunk in chunks:
        if policy != "raise" and not np.isfinite(_largest(chunk.rows)):
            chunk = _with_holes(chunk) if policy == KEEP else _without_holes(chunk)
        looked_at = chunk
        if policy == KEEP and not is_sparse(chunk.rows):
            looked_at = replace(chunk, rows=np.where(np.isnan(chunk.rows), 0.0, chunk.rows))
        largest = _largest(looked_at.rows)
        if not largest <= LARGEST_VALUE:
            raise StreamError(_described(looked_at, largest, names))
        yield chunk


def _largest(rows: Any) -> float:
    """Return a bound on the size of all values: NaN where one is NaN."""
    stored = (rows.data if is_sparse(rows) else rows).ravel()
    # No value is larger than the root of this sum, which takes a single pass.
    with np.errstate(over="ignore", invalid="ignore"):
        squares = float(np.dot(stored, stored))
    if squares <= LARGEST_VALUE or not stored.size:
        return float(np.sqrt(squares))
    # NaN passes through min and max.
    return max(-float(stored.min()), float(stored.max()))


def _described(chunk: Chunk, largest: float, names: Sequence[str] | None) -> str:
    """Return the place of the first value that is not finite, or too large."""
    rows, last = chunk.rows, chunk.first_row + (len(chunk) - 1) * chunk.stride
    where = first_nonfinite(rows)
    if where is None:
        return (
            f"{chunk.source} holds values as large as {largest:.3g} between rows "
            f"{chunk.first_row} and {last}, whose squares overflow. Rescale it."
        )
    row, column = where
    what = "NaN (or nothing)" if np.isnan(rows[row, column]) else "infinity"
    named = "" if names is None else f" ({names[column]!r})"
    return (
        f"{chunk.source} has {what} at row {chunk.first_row + row * chunk.stride}, column "
        f"{column}{named}. Mend it, or pass missing='skip' or missing='interpolate'."
    )


def _without_holes(chunk: Chunk) -> Chunk:
    """Return the chunk with zeros of weight zero for its incomplete rows."""
    if is_sparse(chunk.rows):
        entries = chunk.rows.tocoo()
        complete = np.ones(len(chunk), bool)
        complete[entries.row[~np.isfinite(entries.data)]] = False
        inside = complete[entries.row]
        index = (entries.row[inside], entries.col[inside])
        rows: Any = type(chunk.rows)((entries.data[inside], index), shape=chunk.rows.shape)
    else:
        complete = np.isfinite(chunk.rows).all(axis=1)
        rows = np.where(complete[:, None], chunk.rows, np.zeros((), chunk.rows.dtype))
    return replace(chunk, rows=rows, weights=complete.astype(np.float64))


def _with_holes(chunk: Chunk) -> Chunk:
    """Return the chunk with NaN where a value is missing; a row of NaN alone weighs nothing."""
    if is_sparse(chunk.rows):
        return chunk
    some = ~np.isnan(chunk.rows).all(axis=1)
    weights = None if some.all() else some.astype(np.float64)
    return replace(chunk, rows=np.where(some[:, None], chunk.rows, 0.0), weights=weights)


def _interpolated(
    chunks: Iterator[Chunk], longest: int, told: Callable[[int], object]
) -> Iterator[Chunk]:
    """Yield rows whose holes are on the line between the values before and after them.

    Rows wait until their holes are closed. A hole at an end of a sequence, or of more than
    ``longest`` rows, stays NaN.
    """
    #: The last row that was handed out (so that n_done is 1) and those that wait behind it.
    held: Chunk | None = None
    n_done = count = 0
    for chunk in chunks:
        if is_sparse(chunk.rows):
            raise StreamError(
                f"{chunk.source}: sparse rows are not interpolated. Use missing='skip'."
            )
        if chunk.new_sequence:
            if held is not None and len(held) > n_done:
                yield held.between(n_done, len(held))
            held, n_done, count = None, 0, 0
        rows = np.where(np.isfinite(chunk.rows), chunk.rows, np.nan).astype(chunk.rows.dtype)
        times = np.arange(count, count + len(chunk), dtype=np.float64)
        count += len(chunk)
        chunk = replace(chunk, rows=rows, times=times if chunk.times is None else chunk.times)
        whole = chunk if held is None else _joined(held, chunk)
        ready = _fill(whole.rows, whole.times, longest, told)
        if ready > n_done:
            yield whole.between(n_done, ready)
            whole, n_done = whole.between(ready - 1, len(whole)), 1
        held = whole
    if held is not None and len(held) > n_done:
        yield held.between(n_done, len(held))


def _joined(first: Chunk, second: Chunk) -> Chunk:
    """Return two chunks that follow each other as one."""
    labels = None if first.labels is None else joined_labels([first.labels, second.labels])
    times: Any = [first.times, second.times]
    rows = stacked([first.rows, second.rows])
    return replace(first, rows=rows, times=np.concatenate(times), labels=labels)


def _fill(rows: NDArray[Any], at: Any, longest: int, told: Callable[[int], object]) -> int:
    """Fill in place the holes that have two ends; return the first row of a hole that is open."""
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
            told(stop - start)
    return open_from
