"""Readers of .npy files, which are memory-mapped, and of .npz files, which are decompressed."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from io import BytesIO
from math import prod
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format

from eigenstream._machine import physical_memory
from eigenstream._types import DType, Piece
from eigenstream.streams.base import (
    Chunk,
    Request,
    RowTable,
    SlicedTable,
    StreamError,
    check_kind,
    damaged,
    one_line,
)
from eigenstream.streams.files import File, chosen

#: The most bytes of a header. Headers of plain arrays take 128. A larger one is damaged.
LONGEST_HEADER = 10_000

#: The most bytes per read. This bounds the memory that a wrong header can request.
READ_BYTES = 8 << 20


@dataclass(frozen=True)
class Header:
    """The header of an .npy file."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: DType
    #: The byte at which the numbers begin, and the number of their bytes.
    offset: int
    n_bytes: int


def npy_header(stream: IO[bytes], name: str, size: int | None) -> Header:
    """Return the header of an .npy file of ``size`` bytes, or None if the size is unknown.

    >>> file = BytesIO()
    >>> np.save(file, np.zeros((3, 2)))
    >>> npy_header(BytesIO(file.getvalue()[:-1]), "rows.npy", 175)
    Traceback (most recent call last):
        ...
    eigenstream.streams.base.StreamError: rows.npy is cut off: its header promises 48 bytes
    (shape (3, 2), float64), and 47 exist.
    """
    try:
        head = _read_bytes(stream, 10)
        head += _read_bytes(stream, 2 if head[6:7] != b"\x01" else 0)
        length = int.from_bytes(head[8:], "little")
        if length > LONGEST_HEADER:
            raise ValueError(f"a header of {length} bytes")
        whole: Any = BytesIO(head + _read_bytes(stream, length))
        version = npy_format.read_magic(whole)
        read: Any = npy_format.read_array_header_2_0
        if version == (1, 0):
            read = npy_format.read_array_header_1_0
        shape, by_columns, dtype = read(whole)
        if any(isinstance(length, bool) or length < 0 for length in shape):
            raise ValueError(f"shape {shape}")
    except Exception as error:  # a damaged header may raise anything
        raise StreamError(f"{name} is damaged or not an .npy file: {one_line(error)}.") from None
    check_kind(dtype, name)
    offset, n_bytes = whole.tell(), dtype.itemsize * prod(shape)
    if size is not None and size - offset < n_bytes:
        promised = f"its header promises {n_bytes} bytes (shape {shape}, {dtype})"
        raise StreamError(f"{name} is cut off: {promised}, and {size - offset} exist.")
    return Header(shape, by_columns and len(shape) > 1, dtype, offset, n_bytes)


def _read_bytes(stream: IO[bytes], count: int) -> bytearray:
    """Return the next ``count`` bytes of a stream, or fewer at its end."""
    content = bytearray()
    while piece := stream.read(min(READ_BYTES, count - len(content))):
        content += piece
    return content


class Npy(SlicedTable):
    """The rows of an .npy file."""

    def __init__(self, file: File) -> None:
        self.file, self.files, self.name = file, [file], file.name
        self.rereadable = file.rereadable
        with closing(file.open()) as stream:
            self.header = npy_header(stream, self.name, file.size())
        self.describe(self.header.shape, self.header.dtype)

    def blocks(self, request: Request) -> Iterator[Chunk]:
        """Yield the requested rows. Other rows of a local file are not read."""
        if self.file.here and self.rereadable:
            return super().blocks(request)
        return RowTable.blocks(self, request)

    def pieces(self, request: Request) -> Iterator[Piece]:
        """Yield all rows."""
        with closing(self.file.open()) as stream:
            if self.rereadable:
                stream.read(self.header.offset)
            yield from unpacked(stream, self.header, self.name, request.block_rows)

    @contextmanager
    def opened(self) -> Iterator[Piece]:
        """Return the rows for slicing."""
        yield self

    def __getitem__(self, rows: slice) -> Piece:
        """Return a slice through a new memory map, so that its pages are freed with the slice."""
        header, order, offset, shape = self.header, "F", self.header.offset, self.header.shape
        if not header.by_columns:
            order, offset = "C", offset + rows.start * (header.n_bytes // shape[0])
            shape, rows = (rows.stop - rows.start, *shape[1:]), slice(None, None, rows.step)
        kind: Any = order
        try:
            values = np.memmap(self.file.path, header.dtype, "r", offset, shape, kind)
        except (ValueError, OSError) as error:
            change = f"{self.name} has changed since it was opened: {one_line(error)}"
            raise StreamError(f"{change}. Open it again.") from None
        return np.asarray(values)[rows]


def unpacked(stream: IO[bytes], header: Header, name: str, count: int) -> Iterator[Piece]:
    """Yield the rows of an array from an open file, ``count`` rows at a time."""
    total, order = header.shape[0], "C"
    if header.by_columns:  # whole columns are stored in order
        if header.n_bytes > physical_memory() / 4:
            advice = "Save np.ascontiguousarray(rows)."
            raise StreamError(f"{name} is large and stored by columns (Fortran order). {advice}")
        count, order = total, "F"
    for start in range(0, total, count):
        shape = min(count, total - start), *header.shape[1:]
        raw = _read_bytes(stream, prod(shape) * header.dtype.itemsize)
        if len(raw) < prod(shape) * header.dtype.itemsize:
            promised = f"its header promises shape {header.shape}, {header.dtype}"
            raise StreamError(f"{name} is cut off: {promised}.")
        kind: Any = order
        yield np.frombuffer(raw, header.dtype).reshape(shape, order=kind)


class Npz(RowTable):
    """The rows of one array in an .npz file."""

    def __init__(self, file: File) -> None:
        self.file, self.files, self.name = file, [file], file.name
        with _member(file) as (stream, size):
            self.header = npy_header(stream, self.name, size)
        self.describe(self.header.shape, self.header.dtype)

    @classmethod
    def parts(cls, file: File) -> list[str]:
        """Return the names of the requested arrays."""
        shapes: dict[str, tuple[int, ...] | None] = {}
        with _archive(file) as archive:
            names = [name[:-4] for name in archive.namelist() if name.endswith(".npy")]
        for name in names:
            try:
                with _member(File(file.path, name, file.system)) as (stream, size):
                    shapes[name] = npy_header(stream, f"{file.path}::{name}", size).shape
            except StreamError:
                if len(names) == 1:
                    raise
                shapes[name] = None
        return chosen(file, shapes)

    def pieces(self, request: Request) -> Iterator[Piece]:
        """Yield all rows."""
        with _member(self.file) as (stream, _):
            stream.read(self.header.offset)
            yield from unpacked(stream, self.header, self.name, request.block_rows)


@contextmanager
def _archive(file: File) -> Iterator[zipfile.ZipFile]:
    """Open an archive. Errors of the archive are raised with the name of the file."""
    damage = zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError
    try:
        with file.open() as stream, zipfile.ZipFile(stream) as archive:
            yield archive
    except PermissionError:
        raise
    except damage as error:
        raise damaged(file.name, "an .npz file", error) from None


@contextmanager
def _member(file: File) -> Iterator[tuple[IO[bytes], int]]:
    """Open one array of an archive. Return its stream and the number of its bytes."""
    name = f"{file.part}.npy"
    with _archive(file) as archive, archive.open(name) as stream:
        yield stream, archive.getinfo(name).file_size
