""".npy files: read in order, or mapped into memory where they are sliced."""

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from eigenstream.streams._in_order import (
    blocks_in_order,
    can_read_in_order,
    is_beyond_cache,
)
from eigenstream.streams._npy_header import Header, read_header
from eigenstream.streams._places import File
from eigenstream.streams._raw import raw_blocks
from eigenstream.streams.base import RowBlock, SlicedTable, StreamError, Wanted, row_width


class Npy(SlicedTable):
    """The rows of an .npy file."""

    def __init__(self, file: File) -> None:
        if file.part:
            raise StreamError(f"{file.path} holds one array: leave out ::{file.part}.")
        self.file, self.name = file, file.name
        self.rereadable, self._read_before = file.rereadable, False
        self._pipe = None if file.rereadable else file.open()
        if self._pipe is None:
            with file.open() as stream:
                header = read_header(stream, self.name, file.size())
        else:
            header = read_header(self._pipe, self.name, None)
        self.header: Header = header
        self.n_rows = header.shape[0]
        self.width = row_width(np.empty((0, *header.shape[1:])))
        self.dtype = header.dtype
        self.row_shape = header.shape[1:] if len(header.shape) > 2 else None
        if self.n_rows == 0:
            raise StreamError(f"{self.name} has no rows: its shape is {header.shape}.")

    def blocks(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Yield the wanted rows."""
        if self._pipe is not None:
            yield from raw_blocks(self._pipe, self.header, self.name, wanted)
        elif self.file.system is not None:
            with self.file.open() as stream:
                stream.read(self.header.offset)
                yield from raw_blocks(stream, self.header, self.name, wanted)
        elif can_read_in_order(self.header, wanted):
            # The second pass may be one of many, for which the system's cache is worth its work.
            past_cache = is_beyond_cache(self.header, again=self._read_before)
            self._read_before = True
            yield from blocks_in_order(
                self.file.path, self.name, self.header, wanted, past_cache=past_cache
            )
        else:
            yield from super().blocks(wanted)

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Open the file for slicing."""
        with self.file.open() as stream:
            yield _Mapped(stream.fileno(), self.header, self.name)


class _Mapped:
    """Rows that are mapped anew for every slice: what is read is not counted against the process
    for longer than its chunk is held."""

    def __init__(self, number: int, header: Header, name: str) -> None:
        self.number, self.header, self.name = number, header, name

    def __getitem__(self, rows: slice) -> Any:
        header = self.header
        if header.by_columns:
            first, shape, by_columns = header.offset, header.shape, True
        else:
            first, shape = header.offset + rows.start * header.row_bytes, (rows.stop - rows.start,)
            shape, by_columns = (*shape, *header.shape[1:]), False
            rows = slice(None, None, rows.step)
        begin = first - first % mmap.ALLOCATIONGRANULARITY
        size = header.dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        access = mmap.ACCESS_READ
        try:
            held = mmap.mmap(self.number, first - begin + size, access=access, offset=begin)
        except ValueError:
            raise StreamError(f"{self.name} has been cut off since it was opened.") from None
        order: Any = "F" if by_columns else "C"
        values: Any = np.ndarray(shape, header.dtype, held, first - begin, order=order)
        return values[rows]
