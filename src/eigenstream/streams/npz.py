""".npz files: an array of several, unpacked as it is read, so that no bomb goes off."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np

from eigenstream.streams._npy_header import read_header
from eigenstream.streams._places import File, one_line
from eigenstream.streams._raw import raw_blocks
from eigenstream.streams._selection import chosen
from eigenstream.streams.base import RowBlock, RowTable, StreamError, Wanted, row_width


class Npz(RowTable):
    """The rows of one array in an .npz file."""

    def __init__(self, file: File) -> None:
        self.file, self.name = file, file.name
        with self._opened() as archive:
            try:
                size = archive.getinfo(f"{file.part}.npy").file_size
                with archive.open(f"{file.part}.npy") as stream:
                    header = read_header(stream, self.name, size)  # type: ignore[arg-type]
            except _DAMAGE as damage:
                raise _damaged(self.name, damage) from None
        if header.shape[0] == 0:
            raise StreamError(f"{self.name} has no rows: its shape is {header.shape}.")
        self.header = header
        self.n_rows = header.shape[0]
        self.width = row_width(np.empty((0, *header.shape[1:])))
        self.dtype = header.dtype
        self.row_shape = header.shape[1:] if len(header.shape) > 2 else None

    @classmethod
    def parts(cls, file: File) -> list[str]:
        """Return the names of the arrays that are meant."""
        with _archive(file) as archive:
            names = [name for name in archive.namelist() if name.endswith(".npy")]
            if not names and archive.namelist():
                raise StreamError(
                    f"{file.path} is packed (.zip) and holds no array of numbers, but "
                    f"{archive.namelist()[0]!r:.60}: unpack it first."
                )
            shapes: dict[str, tuple[int, ...] | None] = {}
            for name in names:
                with archive.open(name) as stream:
                    try:
                        size = archive.getinfo(name).file_size
                        found = read_header(stream, f"{file.path}::{name[:-4]}", size)  # type: ignore[arg-type]
                        shapes[name[:-4]] = found.shape
                    except _DAMAGE as damage:
                        raise _damaged(file.path, damage) from None
                    except StreamError:
                        if len(names) == 1:
                            raise
                        shapes[name[:-4]] = None
        return chosen(file, shapes)

    @contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        with _archive(self.file) as archive:
            yield archive

    def blocks(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Yield the wanted rows."""
        with self._opened() as archive, archive.open(f"{self.file.part}.npy") as opened:
            stream: BinaryIO = opened  # type: ignore[assignment]
            try:
                stream.read(self.header.offset)
                yield from raw_blocks(stream, self.header, self.name, wanted)
            except _DAMAGE as damage:
                raise _damaged(self.name, damage) from None


_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


def _damaged(name: str, damage: Exception) -> StreamError:
    return StreamError(f"{name} is damaged or packed in an unknown way: {damage}.")


@contextmanager
def _archive(file: File) -> Iterator[zipfile.ZipFile]:
    if file.size() == 0:
        raise StreamError(f"{file.path} is empty.")
    with file.open() as stream:
        try:
            archive = zipfile.ZipFile(stream)
        except (*_DAMAGE, ValueError, OSError) as damage:
            if "range requests" in str(damage):
                raise StreamError(f"{file.path} cannot be read: {one_line(damage)}.") from None
            start = file.start(8)
            looks = ", but a pickle, which is never loaded here" if start[:1] == b"\x80" else ""
            raise StreamError(
                f"{file.path} is no .npz file{looks}, or it is damaged: {damage}."
            ) from None
        with archive:
            yield archive
