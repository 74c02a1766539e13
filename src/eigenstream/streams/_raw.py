"""Arrays out of a stream of bytes that is read from the start to the end."""

from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from eigenstream._memory import physical_memory
from eigenstream.streams._npy_header import Header
from eigenstream.streams.base import RowBlock, StreamError, Wanted, flat, picked, rows_within

__all__ = ["raw_blocks"]

#: What is read at a time: small enough for a header that lies to cost nothing.
PIECE = 8 << 20


def raw_blocks(stream: BinaryIO, header: Header, name: str, wanted: Wanted) -> Iterator[RowBlock]:
    """Yield the wanted rows of an array whose numbers are what the stream gives next."""
    if header.by_columns and header.shape[0] > 1:
        every = _whole(stream, header, name)
    else:
        every = _by_rows(stream, header, name, wanted.block_rows)
    numbers: Iterator[RowBlock] = (picked(flat(values), wanted) for values in every)
    yield from rows_within(numbers, wanted)


def _by_rows(stream: BinaryIO, header: Header, name: str, count: int) -> Iterator[Any]:
    total = header.shape[0]
    for start in range(0, total, count):
        shape = (min(count, total - start), *header.shape[1:])
        raw = _filled(stream, shape[0] * header.row_bytes, name, header)
        yield np.frombuffer(raw, header.dtype).reshape(shape)


def _whole(stream: BinaryIO, header: Header, name: str) -> Iterator[Any]:
    """Yield the array at once: its columns come one after the other."""
    if header.n_bytes > physical_memory() / 4:
        raise StreamError(
            f"{name} lies by columns (Fortran order), so that it cannot be read row by row from "
            f"here, and all of it takes {header.n_bytes / 2**30:.0f} GiB. Save "
            "np.ascontiguousarray(rows)."
        )
    raw = _filled(stream, header.n_bytes, name, header)
    yield np.frombuffer(raw, header.dtype).reshape(header.shape, order="F")


def _filled(stream: BinaryIO, size: int, name: str, header: Header) -> bytearray:
    """Return exactly so many bytes; memory is taken as they come."""
    raw = bytearray()
    while len(raw) < size:
        piece = stream.read(min(PIECE, size - len(raw)))
        if not piece:
            raise StreamError(
                f"{name} is cut off: its header promises shape {header.shape}, {header.dtype}."
            )
        raw += piece
    return raw
