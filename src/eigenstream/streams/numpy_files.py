""".npy files, mapped a slice at a time, and arrays of .npz files, unpacked as they are read."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from eigenstream._machine import physical_memory
from eigenstream.streams._places import File, chosen, one_line
from eigenstream.streams.base import (
    RowBlock,
    RowTable,
    SlicedTable,
    StreamError,
    Wanted,
    check_kind,
    check_shape,
    flat,
    picked,
    rows_within,
)

#: Bytes of the longest header that is read; those of plain arrays take 128.
LONGEST_HEADER = 10_000

#: Bytes that are unpacked at a time, so that a header that lies costs no memory.
PIECE = 8 << 20


@dataclass(frozen=True)
class Header:
    """The header of an .npy file."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]
    #: Where the numbers begin, and how many bytes they take.
    offset: int
    n_bytes: int


def read_header(stream: Any, name: str, size: int | None) -> Header:
    """Return the header of an .npy file; ``size`` is the number of its bytes, if it is known.

    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> np.save(file, np.zeros((3, 2)))
    >>> read_header(BytesIO(file.getvalue()[:-1]), "rows.npy", 175)
    Traceback (most recent call last):
        ...
    eigenstream.streams.base.StreamError: rows.npy is cut off: its header promises 48 bytes of
    numbers (shape (3, 2), float64), and 47 are there.
    """
    if size == 0:
        raise StreamError(f"{name} is empty.")
    counted: Any = _Counted(stream)
    try:
        version = npy_format.read_magic(counted)
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(f"version {version}")
        read: Any = npy_format.read_array_header_2_0
        if version == (1, 0):
            read = npy_format.read_array_header_1_0
        shape, by_columns, dtype = read(counted)
        if any(isinstance(one, bool) or one < 0 for one in shape):
            raise ValueError(f"shape {shape}")
    except Exception as error:  # of whatever a damaged header looks like
        raise StreamError(f"{name} is no .npy file, or it is damaged: {one_line(error)}.") from None
    check_kind(dtype, name)
    check_shape(shape, dtype.itemsize, name)
    n_bytes = dtype.itemsize
    for extent in shape:
        n_bytes *= int(extent)
    if size is not None and size - counted.count < n_bytes:
        raise StreamError(
            f"{name} is cut off: its header promises {n_bytes} bytes of numbers (shape {shape}, "
            f"{dtype}), and {size - counted.count} are there."
        )
    if shape[0] == 0:
        raise StreamError(f"{name} has no rows: its shape is {shape}.")
    return Header(shape, by_columns and len(shape) > 1, dtype, counted.count, n_bytes)


class _Counted:
    """A stream that counts the bytes that were read."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.count = stream, 0

    def read(self, size: int) -> bytes:
        if size > LONGEST_HEADER:
            raise ValueError(f"a header of {size} bytes")
        found: bytes = self.stream.read(size)
        self.count += len(found)
        return found


class Npy(SlicedTable):
    """The rows of an .npy file."""

    def __init__(self, file: File) -> None:
        if file.part:
            raise StreamError(f"{file.path} holds one array: leave out ::{file.part}.")
        self.file, self.name, self.rereadable = file, file.name, file.rereadable
        self._pipe = None if file.rereadable else file.open()
        if self._pipe is not None:
            self.header = read_header(self._pipe, self.name, None)
        else:
            with file.open() as stream:
                self.header = read_header(stream, self.name, file.size())
        self.describe(self.header.shape, self.header.dtype)

    def blocks(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Yield the wanted rows."""
        if self._pipe is not None:
            yield from _unpacked(self._pipe, self.header, self.name, wanted)
        elif self.file.system is not None:
            with self.file.open() as stream:
                stream.read(self.header.offset)
                yield from _unpacked(stream, self.header, self.name, wanted)
        else:
            yield from super().blocks(wanted)

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Return the rows for slicing."""
        yield _Mapped(self.file.path, self.name, self.header)


class _Mapped:
    """Rows that are mapped again for every slice: pages that were read are given back with it."""

    def __init__(self, path: str, name: str, header: Header) -> None:
        self.path, self.name, self.header = path, name, header

    def __getitem__(self, rows: slice) -> Any:
        header, order, offset, shape = self.header, "F", self.header.offset, self.header.shape
        if not header.by_columns:
            order, offset = "C", offset + rows.start * (header.n_bytes // shape[0])
            shape, rows = (rows.stop - rows.start, *shape[1:]), slice(None, None, rows.step)
        kind: Any = order
        try:
            values = np.memmap(self.path, header.dtype, "r", offset, shape, kind)
        except (ValueError, OSError) as error:
            raise StreamError(
                f"{self.name} has changed since it was opened: {one_line(error)}."
            ) from None
        return np.asarray(values)[rows]


def _unpacked(stream: Any, header: Header, name: str, wanted: Wanted) -> Iterator[RowBlock]:
    """Yield the wanted rows of an array whose numbers the stream gives next."""
    yield from rows_within(
        (picked(flat(values), wanted) for values in _pieces(stream, header, name, wanted)), wanted
    )


def _pieces(stream: Any, header: Header, name: str, wanted: Wanted) -> Iterator[Any]:
    total, order = header.shape[0], "C"
    count = wanted.block_rows
    if header.by_columns:  # all of it, since its columns come one after the other
        if header.n_bytes > physical_memory() / 4:
            raise StreamError(
                f"{name} lies by columns (Fortran order) and takes {header.n_bytes / 2**30:.0f} "
                "GiB, so that it cannot be read row by row. Save np.ascontiguousarray(rows)."
            )
        count, order = total, "F"
    for start in range(0, total, count):
        n_rows = min(count, total - start)
        raw = bytearray()
        while missing := n_rows * (header.n_bytes // total) - len(raw):
            if not (piece := stream.read(min(PIECE, missing))):
                raise StreamError(
                    f"{name} is cut off: its header promises shape {header.shape}, {header.dtype}."
                )
            raw += piece
        kind: Any = order
        yield np.frombuffer(raw, header.dtype).reshape((n_rows, *header.shape[1:]), order=kind)


_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


class Npz(RowTable):
    """The rows of one array in an .npz file."""

    def __init__(self, file: File) -> None:
        self.file, self.name = file, file.name
        with _archive(file) as archive:
            self.header = _header_in(archive, file, file.part)
        self.describe(self.header.shape, self.header.dtype)

    @classmethod
    def parts(cls, file: File) -> list[str]:
        """Return the names of the arrays that are meant."""
        shapes: dict[str, tuple[int, ...] | None] = {}
        with _archive(file) as archive:
            names = [name[:-4] for name in archive.namelist() if name.endswith(".npy")]
            for name in names:
                try:
                    shapes[name] = _header_in(archive, file, name).shape
                except StreamError:
                    if len(names) == 1:
                        raise
                    shapes[name] = None
        return chosen(file, shapes)

    def blocks(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Yield the wanted rows."""
        with _archive(self.file) as archive, archive.open(f"{self.file.part}.npy") as stream:
            try:
                stream.read(self.header.offset)
                yield from _unpacked(stream, self.header, self.name, wanted)
            except _DAMAGE as error:
                raise StreamError(f"{self.name} is damaged: {one_line(error)}.") from None


def _header_in(archive: zipfile.ZipFile, file: File, part: str) -> Header:
    name = f"{file.path}::{part}"
    try:
        with archive.open(f"{part}.npy") as stream:
            return read_header(stream, name, archive.getinfo(f"{part}.npy").file_size)
    except _DAMAGE as error:
        raise StreamError(f"{name} is damaged: {one_line(error)}.") from None


@contextmanager
def _archive(file: File) -> Iterator[zipfile.ZipFile]:
    if file.size() == 0:
        raise StreamError(f"{file.path} is empty.")
    with file.open() as stream:
        opened: BinaryIO = stream
        try:
            archive = zipfile.ZipFile(opened)
        except (*_DAMAGE, ValueError, OSError) as error:
            raise StreamError(
                f"{file.path} is no .npz file, or it is damaged: {one_line(error)}."
            ) from None
        with archive:
            yield archive
