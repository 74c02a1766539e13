"""Rows of a file in order, read into memory of their own while others are learned from.

What reading costs is the system's cache, more than the copy: four GB that nobody has read lately
took 4.5 to 8.8 seconds of a processor through the cache, 5 to 10 by a memory map, which fills the
same cache, and 0.15 to 0.6 past it. So a file that the cache could not keep is read past it, where
the system and the file system can. Nothing that is read here is written over later: who keeps rows
keeps them.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from io import FileIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._memory import physical_memory
from eigenstream.streams._npy_header import Header
from eigenstream.streams.base import RowBlock, StreamError, Wanted, flat, picked

__all__ = ["blocks_in_order", "can_read_in_order", "is_beyond_cache"]

#: What is read at a time: a chunk, so that chunks come as evenly as they are learned. Of four
#: chunks at once one or two wait, and the learner for the next four. And so little comes out of
#: memory that the process has had before; 32 MB were new each time, to be filled with zeros first.
#: A block that someone wants to be larger than ``LARGEST`` is mapped.
PIECE, LARGEST = 8 << 20, 256 << 20

#: Longer rows are mapped where only some of their columns are wanted: the others stay unread.
LONG_ROW = 64 << 10

#: Shorter runs of a column are mapped, too: a block would take a call of the system for each.
SHORT_RUN = 64 << 10

#: What share of the memory a file may take to be read through the system's cache: the first time,
#: when it pushes out what others have there, and again, when it may lie there.
FIRST_SHARE, AGAIN_SHARE = 0.25, 0.75

#: What reading past the cache asks of places in the file and in memory: disks have blocks of 512
#: or of 4096 bytes. Where more is asked for, the system refuses, and the cache serves.
PAGE = 4096


def can_read_in_order(header: Header, wanted: Wanted) -> bool:
    """Tell whether the wanted rows lie one after the other, in blocks that memory can hold.

    >>> header = Header((1000, 3), False, np.dtype(float), 128)
    >>> can_read_in_order(header, Wanted()), can_read_in_order(header, Wanted(step=5))
    (True, False)
    """
    if wanted.step != 1:
        return False
    if header.by_columns:
        size = wanted.block_rows * header.dtype.itemsize
        together = size * header.shape[-1] if wanted.features is None else 0
        return len(header.shape) == 2 and size >= SHORT_RUN and together <= LARGEST
    if wanted.features is None:
        return wanted.block_rows * header.row_bytes <= LARGEST
    return header.row_bytes <= LONG_ROW


def is_beyond_cache(header: Header, *, again: bool) -> bool:
    """Tell an array that the system's cache should not, or could not, hold.

    >>> is_beyond_cache(Header((1000, 3), False, np.dtype(float), 128), again=False)
    False
    """
    share = AGAIN_SHARE if again else FIRST_SHARE
    return not header.by_columns and header.n_bytes > share * physical_memory()


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
    with _opened(path, name, header, past_cache) as file:
        numbers = wanted.numbers(header.shape[0])
        if header.by_columns:
            yield from _by_columns(file, wanted, numbers)
        else:
            yield from _by_rows(file, wanted, numbers, piece_bytes)


def _by_rows(file: "_File", wanted: Wanted, numbers: range, piece_bytes: int) -> Iterator[RowBlock]:
    """Yield blocks that are cut out of a piece, or put together from several."""
    piece = max(piece_bytes // max(file.header.row_bytes, 1), 1)
    if wanted.block_rows < piece:
        piece -= piece % wanted.block_rows
    # Only what is wanted of a large block is kept, piece by piece.
    in_parts = wanted.block_rows > piece and wanted.features is not None
    step = max(piece, wanted.block_rows)
    for begin in range(numbers.start, numbers.stop, step):
        end = min(begin + step, numbers.stop)
        if in_parts:
            yield _together(
                [
                    _own(picked(file.rows(at, min(at + piece, end)), wanted, at))
                    for at in range(begin, end, piece)
                ]
            )
            continue
        rows = file.rows(begin, end)
        for at in range(begin, end, wanted.block_rows):
            yield picked(rows[at - begin : at - begin + wanted.block_rows], wanted, at)
        del rows  # before the next ones take as much


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
    return replace(block, rows=np.array(block.rows))


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
    """Open a file, once more past the cache where that is wanted and possible."""
    with ExitStack() as stack:
        plain, direct = stack.enter_context(FileIO(path)), None
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(plain.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
        if past_cache and hasattr(os, "O_DIRECT"):
            with suppress(OSError):  # of a file system that knows no way past its cache
                direct = stack.enter_context(FileIO(path, opener=_past_cache))
        yield _File(plain, direct, name, header)


def _past_cache(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_DIRECT)


class _File:
    """Reads runs of rows; ``direct`` is the same file once more, past the cache, or None."""

    def __init__(self, plain: FileIO, direct: FileIO | None, name: str, header: Header) -> None:
        self.plain, self.direct, self.name, self.header = plain, direct, name, header

    def rows(self, begin: int, end: int) -> Any:
        """Return the rows from one number to another."""
        header, width = self.header, self.header.row_bytes
        first, size = header.offset + begin * width, (end - begin) * width
        # Reading past the cache takes whole pages of the file, into whole pages of memory.
        lead = first % PAGE
        pages = -(-(lead + size) // PAGE) * PAGE
        space = np.empty(pages + PAGE, np.uint8)
        whole = space[-space.ctypes.data % PAGE :][:pages]
        done = self._past_cache(whole, first - lead)
        done += self._through_cache(whole[done : lead + size], first - lead + done)
        if done < lead + size:
            raise self._cut_off(begin + max(done - lead, 0) // width)
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
            number, length = self.plain.fileno(), (end - begin) * size
            for start in starts:
                os.posix_fadvise(number, start, length, os.POSIX_FADV_WILLNEED)
        for column, place, start in zip(values.T, places, starts, strict=True):
            done = self._through_cache(column.view(np.uint8), start)
            if done < column.nbytes:
                raise self._cut_off(begin + done // size, f", column {place}")
        return values

    def _past_cache(self, space: NDArray[np.uint8], begin: int) -> int:
        """Fill whole pages as far as that goes; return how far it went."""
        done = 0
        while self.direct is not None and done < len(space):
            try:
                self.direct.seek(begin + done)
                got = self.direct.readinto(space[done:].data)
            except OSError:  # it wants larger pages, or cannot after all
                self.direct = None
                break
            done += got
            if got % PAGE or not got:  # the last page of the file is seldom whole
                break
        return done

    def _through_cache(self, space: NDArray[np.uint8], begin: int) -> int:
        """Fill memory as far as the file goes; return how far that is."""
        done = 0
        try:
            self.plain.seek(begin)
            while done < len(space) and (got := self.plain.readinto(space[done:].data)):
                done += got
        except OSError as error:
            raise StreamError(
                f"{self.name} cannot be read at byte {begin + done:,}: "
                f"{(error.strerror or str(error)).lower()}."
            ) from error
        return done

    def _cut_off(self, row: int, where: str = "") -> StreamError:
        return StreamError(
            f"{self.name} has been cut off since it was opened: it ends in row {row}{where}, and "
            f"{self.header.shape[0]:,} rows were there. Read it again when nobody writes to it."
        )
