"""Files: paths, globs, URLs and the parts of files, and the reader of each format."""

import io
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from glob import glob, has_magic
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

from eigenstream.core.types import Facts, Handle
from eigenstream.streams.base import RowTable, StreamError, needed, one_line

#: The file endings of each reader.
READERS = {
    "numpy_files.Npy": ".npy",
    "numpy_files.Npz": ".npz",
    "text.Text": ".csv .tsv .txt .dat",
    "tables.Arrow": ".parquet .pq .arrow .arrows .feather .ipc",
    "array_files.AnnDataFile": ".h5ad",
    "array_files.Hdf5": ".h5 .hdf5 .hdf .he5 .nc .nc4 .cdf",
    "array_files.Zarr": ".zarr",
    "media.Video": ".mp4 .avi .mov .mkv .webm .m4v .mpg .mpeg .gif",
    "media.Sound": ".wav .flac .ogg .opus .aiff .aif .mp3 .au .caf .w64",
    "media.Images": ".png .jpg .jpeg .bmp .tif .tiff .pgm .ppm .webp",
}

#: The reader of each ending.
BY_ENDING = {end: reader for reader, endings in READERS.items() for end in endings.split()}

#: File names that mark a folder as a Zarr array or group.
ZARR = (".zgroup", ".zarray", "zarr.json")


#: The endings of compressed files, and Arrow's names of the codecs.
PACKINGS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}


@dataclass
class File:
    """A file or a folder, and the part of it after ``::``."""

    path: str
    part: str = ""

    rereadable = True
    #: True if libraries can open the file by its path.
    local = True

    @property
    def name(self) -> str:
        """The name for error messages."""
        return f"{self.path}::{self.part}" if self.part else self.path

    @property
    def packing(self) -> str:
        """The ending of a compressed file, or an empty string."""
        return next((end for end in PACKINGS if self.path.lower().endswith(end)), "")

    @property
    def suffix(self) -> str:
        """The ending in lower case, without the ending of the compression."""
        path = self.path.lower().rstrip("/")
        return os.path.splitext(path.removesuffix(self.packing))[1]

    @property
    def is_folder(self) -> bool:
        """True for a folder."""
        return os.path.isdir(self.path)

    @property
    def address(self) -> str:
        """The path, or the URL."""
        return self.path

    def holds(self, name: str) -> bool:
        """Return whether the folder has a file or a folder of this name."""
        return os.path.exists(f"{self.path}/{name}")

    def size(self) -> int:
        """Return the number of bytes."""
        return os.path.getsize(self.path)

    def open(self) -> Any:
        """Open the file for reading bytes."""
        return open(self.path, "rb")

    def start(self, count: int) -> bytes:
        """Return the first bytes."""
        with self.open() as stream:
            return bytes(stream.read(count))

    def source(self) -> AbstractContextManager[Any]:
        """Return the path or the open file, for a library that takes both."""
        return nullcontext(self.path)

    def inside(self, pattern: str = "**/*") -> list["File"]:
        """Return the files in a folder and its subfolders, in natural order."""
        paths = [path for path in Path(self.path).glob(pattern) if path.is_file()]
        seen = [str(path) for path in paths if not path.name.startswith((".", "_"))]
        return [File(name, self.part) for name in sorted(seen, key=natural_order)]


def chosen(file: File, shapes: Mapping[str, tuple[int, ...] | None]) -> list[str]:
    """Return the names of the requested arrays in a file, in natural order.

    ``shapes`` has the shapes of all arrays, with None for arrays without numbers. A file without
    ``::part`` must have a single array of two or more dimensions, or a single array. ``*`` in the
    part matches several arrays.

    >>> chosen(
    ...     File("runs.npz", "run*"),
    ...     {"run10": (5, 2), "run9": (3, 2), "note": None},
    ... )
    ['run9', 'run10']
    """
    listed = ", ".join(map(repr, list(shapes)[:6])) + (", ..." if len(shapes) > 6 else "")
    if file.part:
        asked = file.part if file.part in shapes else file.part.strip("/")
        matches = [name for name in shapes if name == asked or fnmatchcase(name, asked)]
        if not matches:
            raise StreamError(f"{file.path} has no array {file.part!r}. It has {listed or 'none'}.")
        return sorted(matches, key=natural_order)
    series = [name for name, shape in shapes.items() if shape is not None]
    candidates = [name for name in series if len(shapes[name] or ()) > 1] or series
    if len(candidates) != 1:
        advice = f"Name one, such as {file.path}::name, or pass ::* for all of them."
        raise StreamError(f"{file.path} has the arrays: {listed or 'none'}. {advice}")
    return candidates


def natural_order(name: str) -> list[Any]:
    """Return a key that sorts frame9 before frame10.

    >>> sorted(["f10.png", "f9.png"], key=natural_order)
    ['f9.png', 'f10.png']
    """
    parts = re.split(r"(\d+)", name)
    return [int(part) if part.isdecimal() else part for part in parts]


@dataclass
class Remote(File):
    """A file or a folder of a URL, in a file system of fsspec."""

    system: Handle = None

    local = False

    @property
    def is_folder(self) -> bool:
        """True for a folder. The URL of a web server names a folder if it ends in a slash."""
        return self.path.endswith("/") or self.system.info(self.path)["type"] == "directory"

    @property
    def address(self) -> str:
        """The URL."""
        return str(self.system.unstrip_protocol(self.path))

    def holds(self, name: str) -> bool:
        """Return whether the folder has a file or a folder of this name."""
        return bool(self.system.exists(f"{self.path}/{name}"))

    def size(self) -> int:
        """Return the number of bytes, or 1 if the server does not report it."""
        size = self.system.size(self.path)
        return 1 if size is None else int(size)

    def open(self) -> Any:
        """Open the file for reading bytes."""
        return self.system.open(self.path, "rb")

    def source(self) -> AbstractContextManager[Any]:
        """Return the open file."""
        stream: AbstractContextManager[Any] = self.open()
        return stream

    def inside(self, pattern: str = "**/*") -> list[File]:
        """Return the files in a folder and its subfolders, in natural order."""
        names = self.system.find(self.path, maxdepth=1 if pattern == "*" else None)
        seen = [name for name in names if not os.path.basename(name).startswith((".", "_"))]
        return [replace(self, path=name) for name in sorted(seen, key=natural_order)]


class Pipe(File):
    """Standard input or a named pipe, which can be read once."""

    rereadable = False
    local = False
    is_folder = False
    closed = False

    def __init__(self, path: str, stream: Any = None) -> None:
        super().__init__(path)
        self._stream, self._seen = stream or io.BufferedReader(io.FileIO(path)), b""

    def open(self) -> Any:
        """Return the pipe itself."""
        return self

    def start(self, count: int, end: bytes = b"") -> bytes:
        """Return the first bytes, up to ``end`` if given. ``read`` returns them again."""
        while len(self._seen) < count and not (end and end in self._seen):
            if not (piece := self._stream.read1(1 << 16)):
                break
            self._seen += piece
        return self._seen if end else self._seen[:count]

    def read(self, count: int) -> bytes:
        """Return the next bytes that have arrived."""
        piece, self._seen = self._seen[:count], self._seen[count:]
        return piece or self._stream.read1(count)

    def close(self) -> None:
        """Leave the stream open."""


def files_of(name: str) -> list[File]:
    """Return the files of a path, a glob or a URL, in natural order."""
    path, _, part = name.partition("::")
    if "\0" in path or not path:
        raise StreamError(f"{name!r} is not a file name. Pass a path, a glob or a URL.")
    if path == "-":
        return [Pipe("standard input", sys.stdin.buffer)]
    if "://" in path:
        return _remote(path, part)
    path = os.path.expanduser(path)
    if has_magic(path) and not os.path.lexists(path):
        matches = sorted(glob(path, recursive=True), key=natural_order)
        if not matches:
            raise FileNotFoundError(f"no file matches {name!r}. Check the path.")
        return [File(match, part) for match in matches]
    try:
        os.stat(path)
    except OSError as error:
        raise type(error)(f"cannot read {path:.200}: {error.strerror}.") from None
    if not os.access(path, os.R_OK):
        raise PermissionError(f"cannot read {path}: Permission denied.")
    plain = part or os.path.isfile(path) or os.path.isdir(path)
    return [File(path, part) if plain else Pipe(path)]


def _remote(url: str, part: str) -> list[File]:
    """Return the files of a URL, which may be a glob."""
    fsspec = needed("fsspec", f"URLs such as {url!r:.60}")
    try:
        system, path = fsspec.core.url_to_fs(url)
        if not has_magic(path):
            system.info(path)  # raises an error if there is no such file
        matches = sorted(system.glob(path) if has_magic(path) else [path], key=natural_order)
    except ImportError as error:
        raise ModuleNotFoundError(f"cannot read {url}: {one_line(error)}.") from error
    except Exception as error:  # each file system raises different errors
        kind = FileNotFoundError if isinstance(error, FileNotFoundError) else OSError
        raise kind(f"cannot read {url}: {one_line(error.__cause__ or error)}.") from None
    if not matches:
        raise FileNotFoundError(f"no file matches {url!r}. Check the URL.")
    return [Remote(match, part, system) for match in matches]


# ---- formats -------------------------------------------------------------------------------------


def tables_of(files: Sequence[File], options: Facts) -> list[RowTable]:
    """Return the tables of files, in order. Consecutive images are one table."""
    tables: list[RowTable] = []
    unfolded = [part for file in files for part in _unfolded(file)]
    for kind, group in groupby(unfolded, key=reader_of_file):
        several = list(group)
        first = several[0]
        if kind is None:
            raise StreamError(_unknown(first))
        reader = reader_of(kind, options, first.name)
        if kind == "media.Images":
            name = first.path if len(several) == 1 else f"{first.path} to {several[-1].path}"
            tables.append(reader(several, name, **options))
            continue
        for file in several:
            if file.packing and kind != "text.Text":
                raise StreamError(f"{file.path} is compressed ({file.packing}). Unpack it first.")
            if file.rereadable and not file.is_folder and file.size() == 0:
                raise StreamError(f"{file.path} is empty. Pass a file with rows.")
            if hasattr(reader, "parts"):
                tables += [reader(replace(file, part=part)) for part in reader.parts(file)]
            elif file.part:
                raise StreamError(f"{file.path} holds a single table. Remove ::{file.part}.")
            else:
                tables.append(reader(file, **options))
    return tables


def _unfolded(folder: File) -> list[File]:
    """Return the files in a folder, or the folder if it is one Zarr or Parquet table."""
    if not folder.is_folder or reader_of_file(folder) in (
        "array_files.Zarr",
        "array_files.ZarrAnnData",
    ):
        return [folder]
    files = [file for file in folder.inside("*") if reader_of_file(file)]
    kinds = {str(reader_of_file(file)) for file in files}
    if kinds <= {"tables.Arrow"}:
        return [folder]
    if len(kinds) > 1:
        first = f"{folder.path}/*{files[0].suffix}"
        raise StreamError(f"{folder.path} contains several kinds of files. Pass {first}.")
    return files


def reader_of_file(file: File) -> str | None:
    """Return the name of the reader of a file, or None for an unknown format."""
    if isinstance(file, Pipe):
        return "numpy_files.Npy" if file.start(6) == b"\x93NUMPY" else "text.Text"
    kind = BY_ENDING.get(file.suffix)
    if kind == "tables.Arrow" and not file.is_folder and file.start(4) == b"\xff\xff\xff\xff":
        kind = "tables.ArrowStream"
    if kind == "array_files.Zarr" and file.holds(f"{file.part.strip('/') or 'X'}/indptr"):
        return "array_files.ZarrAnnData"
    if kind == "array_files.Hdf5" and file.part:
        holds = import_module("eigenstream.streams.array_files").holds_sparse
        return "array_files.AnnDataFile" if holds(file) else kind
    if kind is None and file.is_folder:
        if any(map(file.holds, ZARR)):
            return "array_files.Zarr"
        kinds = [BY_ENDING.get(inner.suffix) for inner in file.inside()]
        return "tables.Arrow" if "tables.Arrow" in kinds else None
    return kind


def _unknown(file: File) -> str:
    """Return the error message for a file without a reader."""
    if file.is_folder:
        return f"{file.path} has no files of a known format. For subfolders, pass {file.path}/*/*."
    return f"{file.path} has an unknown format. Use one of {' '.join(BY_ENDING)}, or an array."


def reader_of(kind: str, options: Facts, name: str) -> Any:
    """Import and return a reader, or raise an error if it does not take the given options."""
    module, _, name_of_class = kind.partition(".")
    reader: Any = getattr(import_module(f"eigenstream.streams.{module}"), name_of_class)
    for option in options:
        if option not in reader.options:
            takes = ", ".join(f"{name}=" for name in reader.options) or "no further options"
            raise TypeError(f"{option}= does not apply to {name}. Its reader takes {takes}.")
    return reader
