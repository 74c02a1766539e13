"""Readers of .npy files, which are memory-mapped, and of .npz files, which are decompressed."""

import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from math import prod
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format

from eigenstream.core.types import DType, Piece
from eigenstream.rows.chunk import Chunk
from eigenstream.streams.base import Request, RowTable, SlicedTable, StreamError, naming_errors
from eigenstream.streams.files import File, chosen

#: The shape of an array, whether it is stored by columns, and its type.
Header = tuple[tuple[int, ...], bool, DType]


def npy_header(stream: IO[bytes], name: str) -> Header:
    """Read the header of an .npy file.

    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> np.save(file, np.zeros((3, 2)))
    >>> _ = file.seek(0)
    >>> npy_header(file, "rows.npy")
    ((3, 2), False, dtype('float64'))
    """
    with naming_errors(name, "an .npy file"):
        read: Any = npy_format.read_array_header_2_0
        if npy_format.read_magic(stream) == (1, 0):
            read = npy_format.read_array_header_1_0
        shape, by_columns, dtype = read(stream)
    return tuple(map(int, shape)), by_columns, dtype


def unpacked(stream: IO[bytes], header: Header, name: str, count: int) -> Iterator[Piece]:
    """Yield the rows of an array after its header, ``count`` rows at a time."""
    (total, *rest), by_columns, dtype = header
    if by_columns:  # whole columns are stored in order
        count = total
    for start in range(0, total, count):
        shape = min(count, total - start), *rest
        n_bytes = prod(shape) * dtype.itemsize
        raw = bytearray()
        while piece := stream.read(n_bytes - len(raw)):
            raw += piece
        if len(raw) < n_bytes:
            raise StreamError(f"{name} is cut off: its header promises shape {header[0]}, {dtype}.")
        yield np.frombuffer(raw, dtype).reshape(shape, order="F" if by_columns else "C")


class Npy(SlicedTable):
    """The rows of an .npy file, a URL or a pipe."""

    def __init__(self, file: File) -> None:
        self.file, self.files, self.name = file, [file], file.name
        self.rereadable = file.rereadable
        if file.local:
            with naming_errors(self.name, "an .npy file"):
                rows = np.load(file.path, mmap_mode="r")
            self.describe(rows.shape, rows.dtype)
            return
        with closing(file.open()) as stream:
            self.header = npy_header(stream, self.name)
        self.describe(self.header[0], self.header[2])

    def blocks(self, request: Request) -> Iterator[Chunk]:
        """Yield the requested rows. Other rows of a local file are not read."""
        return super().blocks(request) if self.file.local else RowTable.blocks(self, request)

    def pieces(self, request: Request) -> Iterator[Piece]:
        """Yield all rows of a URL or a pipe."""
        with closing(self.file.open()) as stream:
            if self.rereadable:
                npy_header(stream, self.name)
            yield from unpacked(stream, self.header, self.name, request.block_rows)

    def opened(self) -> AbstractContextManager[None]:
        """Open nothing, because each part has its own memory map."""
        return nullcontext()

    def rows_of(self, source: None, rows: slice) -> Piece:
        """Return some rows of a new memory map, so that its pages are freed with the rows."""
        return np.asarray(np.load(self.file.path, mmap_mode="r"))[rows]


class Npz(RowTable):
    """The rows of one array in an .npz file."""

    def __init__(self, file: File) -> None:
        self.file, self.files, self.name = file, [file], file.name
        with _archive(file) as archive, archive.open(f"{file.part}.npy") as stream:
            shape, _, dtype = npy_header(stream, self.name)
        self.describe(shape, dtype)

    @classmethod
    def parts(cls, file: File) -> list[str]:
        """Return the names of the requested arrays."""
        shapes: dict[str, tuple[int, ...] | None] = {}
        with _archive(file) as archive:
            for name in archive.namelist():
                with archive.open(name) as stream:
                    shape, _, dtype = npy_header(stream, f"{file.path}::{name}")
                shapes[name.removesuffix(".npy")] = shape if dtype.kind in "biuf" else None
        return chosen(file, shapes)

    def pieces(self, request: Request) -> Iterator[Piece]:
        """Yield all rows."""
        with _archive(self.file) as archive, archive.open(f"{self.file.part}.npy") as stream:
            header = npy_header(stream, self.name)
            yield from unpacked(stream, header, self.name, request.block_rows)


@contextmanager
def _archive(file: File) -> Iterator[zipfile.ZipFile]:
    """Open an archive. Errors of the archive are raised with the name of the file."""
    with (
        naming_errors(file.name, "an .npz file"),
        file.open() as stream,
        zipfile.ZipFile(stream) as archive,
    ):
        yield archive
