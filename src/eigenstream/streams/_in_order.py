"""Rows of a file in order, read into memory of their own while others are learned from.

A memory map would do the same work in page faults, for which two threads of one process wait on
each other. Nothing that is read here is written over later: who keeps rows keeps them.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._memory import physical_memory
from eigenstream.streams._npy_header import Header
from eigenstream.streams.base import RowBlock, StreamError, Wanted, flat, picked

__all__ = ["blocks_in_order", "can_read_in_order", "is_beyond_cache"]

#: What is read at a time. A block that someone wants to be larger than ``LARGEST`` is mapped.
PIECE, LARGEST = 32 << 20, 256 << 20

#: Longer rows are mapped where only some of their columns are wanted: the others stay unread.
LONG_ROW = 64 << 10

#: Shorter runs of a column are mapped, too: a block would take a call of the system for each.
SHORT_RUN = 64 << 10

#: A file that takes more of the memory than this would push all else out of the system's cache.
CACHED_SHARE = 0.25

#: What reading past the cache asks of places in the file and in memory.
PAGE = 4096


def can_read_in_order(header: Header, wanted: Wanted) -> bool:
    """Tell whether the wanted rows lie one after the other, in blocks that memory can hold.

    >>> header = Header((1000, 3), False, np.dtype(float), 128)
    >>> can_read_in_order(header, Wanted()), can_read_in_order(header, Wanted(step=5))
    (True, False)
    """
    if wanted.step != 1 or not hasattr(os, "preadv"):
        return False
    if header.by_columns:
        size = wanted.block_rows * header.dtype.itemsize
        together = size * header.shape[-1] if wanted.features is None else 0
        return len(header.shape) == 2 and size >= SHORT_RUN and together <= LARGEST
    if wanted.features is None:
        return wanted.block_rows * header.row_bytes <= LARGEST
    return header.row_bytes <= LONG_ROW


def is_beyond_cache(header: Header) -> bool:
    """Tell an array that would push all else out of the system's cache, and itself in the end."""
    return not header.by_columns and header.n_bytes > CACHED_SHARE * physical_memory()


def blocks_in_order(
    path: str,
    name: str,
    header: Header,
    wanted: Wanted,
    *,
    past_cache: bool = False,
    piece_bytes: int = PIECE,
) -> Iterator[RowBlock]:
    """Yield the wanted rows of an array, if need be past the system's cache."""
    numbers = wanted.numbers(header.shape[0])
    # Blocks are cut out of a piece, or put together from several, whatever they are asked to be.
    piece = max(piece_bytes // max(header.row_bytes, 1), 1)
    if wanted.block_rows < piece:
        piece -= piece % wanted.block_rows
    with _opened(path, name, header, past_cache) as file:
        if header.by_columns:
            yield from _by_columns(file, wanted, numbers)
            return
        for begin in range(numbers.start, numbers.stop, max(piece, wanted.block_rows)):
            end = min(begin + max(piece, wanted.block_rows), numbers.stop)
            if wanted.block_rows > piece and wanted.features is not None:
                parts = [
                    _own(picked(file.rows(at, min(at + piece, end)), wanted, at))
                    for at in range(begin, end, piece)
                ]
                yield _together(parts)
                continue
            rows = file.rows(begin, end)
            for at in range(begin, end, wanted.block_rows):
                some = rows[at - begin : at - begin + wanted.block_rows]
                yield picked(some, wanted, at)


def _by_columns(file: "_File", wanted: Wanted, numbers: range) -> Iterator[RowBlock]:
    """Yield blocks of columns that lie one after the other, reading the wanted ones only."""
    marks = [one for one in (wanted.sequence, wanted.time, *wanted.labels) if one is not None]
    features = range(file.header.shape[1]) if wanted.features is None else wanted.features
    places = list(dict.fromkeys([*features, *marks]))
    here = replace(
        wanted,
        features=tuple(range(len(features))),
        sequence=None if wanted.sequence is None else places.index(wanted.sequence),
        time=None if wanted.time is None else places.index(wanted.time),
        labels=tuple(map(places.index, wanted.labels)),
    )
    for begin in range(numbers.start, numbers.stop, wanted.block_rows):
        end = min(begin + wanted.block_rows, numbers.stop)
        yield picked(file.columns(begin, end, places), here, begin)


def _own(block: RowBlock) -> RowBlock:
    """Return a block that does not hold the columns beside its own."""
    return RowBlock(np.array(block.rows), *list(vars(block).values())[1:])


def _together(parts: list[RowBlock]) -> RowBlock:
    """Return blocks that follow each other as one."""
    first = parts[0]
    if len(parts) == 1:
        return first
    return RowBlock(
        np.concatenate([one.rows for one in parts]),
        None if first.sequence is None else np.concatenate([one.sequence for one in parts]),
        None if first.times is None else np.concatenate([one.times for one in parts]),
        first.first_row,
        first.stride,
        tuple(map(np.concatenate, zip(*(one.labels for one in parts), strict=True))),
    )


@contextmanager
def _opened(path: str, name: str, header: Header, past_cache: bool) -> Iterator["_File"]:
    with ExitStack() as stack:
        plain = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        stack.callback(os.close, plain)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(plain, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        direct = None
        if past_cache and hasattr(os, "O_DIRECT") and hasattr(os, "RWF_NOWAIT"):
            try:
                direct = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECT)
                stack.callback(os.close, direct)
            except OSError:  # a file system that knows no way past its cache
                pass
        yield _File(plain, direct, name, header)


class _File:
    """Reads runs of rows; ``direct`` is the same file once more, past the cache, or None."""

    def __init__(self, plain: int, direct: int | None, name: str, header: Header) -> None:
        self.plain, self.direct, self.name, self.header = plain, direct, name, header

    def rows(self, begin: int, end: int) -> Any:
        """Return the rows from one number to another."""
        header, width = self.header, self.header.row_bytes
        first, size = header.offset + begin * width, (end - begin) * width
        # Reading past the cache takes whole pages of the file, into whole pages of memory.
        lead = first % PAGE
        space = np.empty(-(-(lead + size) // PAGE) * PAGE + PAGE, np.uint8)
        whole = space[-space.ctypes.data % PAGE :][: -(-(lead + size) // PAGE) * PAGE]
        self._fill(whole, first - lead, lead + size)
        values: Any = np.ndarray(
            (end - begin, *header.shape[1:]), header.dtype, whole.data, lead, order="C"
        )
        return flat(values)

    def columns(self, begin: int, end: int, places: list[int]) -> Any:
        """Return some columns of the rows from one number to another."""
        header, size = self.header, self.header.dtype.itemsize
        values = np.empty((end - begin, len(places)), header.dtype, order="F")
        starts = [header.offset + (header.shape[0] * place + begin) * size for place in places]
        if hasattr(os, "posix_fadvise"):  # all that is to be waited for, at once
            for start in starts:
                os.posix_fadvise(self.plain, start, values[:, 0].nbytes, os.POSIX_FADV_WILLNEED)
        for column, start in zip(values.T, starts, strict=True):
            self._fill(column.view(np.uint8), start, column.nbytes)
        return values

    def _fill(self, whole: NDArray[np.uint8], begin: int, size: int) -> None:
        """Fill the first ``size`` bytes, and whatever else it takes, from a place in the file."""
        done = 0
        while done < size:
            got = self._cached(whole[done:], begin + done) if self.direct is not None else 0
            if not got:
                got = self._waited(whole[done:], begin + done)
            if not got:
                raise StreamError(f"{self.name} has been cut off since it was opened.")
            done += got
            if self.direct is not None and done < size:
                done -= done % PAGE

    def _cached(self, space: Any, begin: int) -> int:
        """Read what lies in the system's cache, without waiting for anything."""
        try:
            return os.preadv(self.plain, [space], begin, os.RWF_NOWAIT)
        except OSError:  # nothing of it does, or the file system cannot tell
            return 0

    def _waited(self, space: Any, begin: int) -> int:
        if self.direct is not None:
            try:
                return os.preadv(self.direct, [space], begin)
            except OSError:  # it wants larger pages, or cannot after all
                self.direct = None
        return os.preadv(self.plain, [space], begin)
