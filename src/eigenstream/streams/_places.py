"""Where files lie: here, behind an fsspec URL, or on standard input; and what a name stands for."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from glob import has_magic
from pathlib import Path
from typing import Any, BinaryIO

from eigenstream.streams.base import StreamError, needed

__all__ = [
    "File",
    "Pipe",
    "chosen",
    "inside",
    "natural_order",
    "one_line",
    "resolved",
    "within",
]

#: Endings that say how a file is packed, not what it holds.
PACKED = (".gz", ".zst", ".bz2")


@dataclass(frozen=True)
class File:
    """A file, and the part of it that is asked for (after ``::``)."""

    path: str
    part: str = ""
    #: The fsspec file system, of files that are not here.
    system: Any = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """What errors call it."""
        return f"{self.path}::{self.part}" if self.part else self.path

    @property
    def suffix(self) -> str:
        """The ending, in small letters, without that of the packing."""
        stem = self.path.lower().rstrip("/")
        for packing in PACKED:
            stem = stem.removesuffix(packing)
        return os.path.splitext(stem)[1]

    @property
    def packing(self) -> str:
        """The ending that says how the file is packed, or nothing."""
        return next((end for end in PACKED if self.path.lower().endswith(end)), "")

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        if self.system is not None:
            return bool(self.system.isdir(self.path))
        return os.path.isdir(self.path)

    @property
    def rereadable(self) -> bool:
        """Whether it can be opened twice."""
        return True

    def open(self) -> BinaryIO:
        """Open the file for reading bytes."""
        if self.system is not None:
            stream: BinaryIO = self.system.open(self.path, "rb")
            return stream
        return open(self.path, "rb")

    def size(self) -> int | None:
        """Return how many bytes it has, None of a pipe."""
        if self.system is not None:
            size = self.system.size(self.path)
            return None if size is None else int(size)
        return os.path.getsize(self.path) if os.path.isfile(self.path) else None

    def start(self, count: int = 16) -> bytes:
        """Return its first bytes."""
        with self.open() as stream:
            return stream.read(count)

    def whole(self, part: str) -> "File":
        """Return the same file with another part asked for."""
        return File(self.path, part, self.system)


class Pipe(File):
    """Standard input or a named pipe: its start can be looked at before it is read, once."""

    def __init__(self, path: str, stream: Any = None) -> None:
        super().__init__(path)
        object.__setattr__(self, "_stream", stream)

    @property
    def rereadable(self) -> bool:
        """It cannot be read twice."""
        return False

    def open(self) -> BinaryIO:
        """Return the stream itself."""
        if not isinstance(self._stream, _Piped):  # type: ignore[attr-defined]
            stream = self._stream or super().open()  # type: ignore[attr-defined]
            object.__setattr__(self, "_stream", _Piped(stream))
        found: BinaryIO = self._stream  # type: ignore[attr-defined]
        return found

    def size(self) -> int | None:
        """It has no size."""
        return None

    def start(self, count: int = 16) -> bytes:
        """Return its first bytes, without taking them."""
        found: bytes = self.open().peek(count)  # type: ignore[attr-defined]
        return found


class _Piped:
    """Bytes whose start can be looked at; reading returns what has arrived."""

    closed = False

    def __init__(self, stream: Any) -> None:
        self.seen, self.some = b"", getattr(stream, "read1", stream.read)

    def _more(self) -> bool:
        piece = self.some(1 << 16)
        self.seen += piece
        return bool(piece)

    def peek(self, count: int) -> bytes:
        while len(self.seen) < count and self._more():
            pass
        return self.seen[:count]

    def first_line(self, most: int) -> bytes:
        while b"\n" not in self.seen and len(self.seen) < most and self._more():
            pass
        return self.seen

    def read(self, count: int) -> bytes:
        if not self.seen:
            piece: bytes = self.some(count)
            return piece
        piece, self.seen = self.seen[:count], self.seen[count:]
        return piece

    def close(self) -> None:
        """Leave the stream open: it is not ours."""


def natural_order(name: str) -> list[Any]:
    """Return a key that sorts names as people do: frame9 before frame10.

    >>> sorted(["f10.png", "f9.png"], key=natural_order)
    ['f9.png', 'f10.png']
    """
    parts = re.split(r"(\d+)", name)
    return [int(part) if part.isdecimal() else part for part in parts]


def resolved(name: str) -> list[File]:
    """Return the files that a path, a glob or a URL stands for; a glob's in natural order."""
    path, _, part = name.partition("::")
    if "\0" in path or not path:
        raise StreamError(f"{name!r} is not the name of a file.")
    if "://" in path:
        return _remote(path, part)
    path = os.path.expanduser(path)
    if has_magic(path) and not os.path.lexists(path):
        found = sorted(_matches(path), key=natural_order)
        if not found:
            raise FileNotFoundError(f"no file matches {path!r}.")
        return [File(one, part) for one in found]
    _check_there(path)
    if not part and not os.path.isfile(path) and not os.path.isdir(path):
        return [Pipe(path)]
    return [File(path, part)]


def _matches(pattern: str) -> list[str]:
    """Return the files that match; links to folders are not followed by ``**``: they may loop."""
    parts = Path(pattern).parts
    fixed = next(at for at, part in enumerate(parts) if has_magic(part))
    base = Path(*parts[:fixed]) if fixed else Path()
    return [
        str(one) for one in base.glob(str(Path(*parts[fixed:]))) if not one.name.startswith(".")
    ]


def _check_there(path: str) -> None:
    """Raise if there is no such file, or no permission to read it."""
    try:
        os.stat(path)
    except OSError as refusal:
        raise type(refusal)(f"cannot read {path:.200}: {refusal.strerror}.") from None
    if not os.access(path, os.R_OK):
        raise PermissionError(f"cannot read {path}: Permission denied.")


def _remote(url: str, part: str) -> list[File]:
    fsspec = needed("fsspec", "fsspec", f"files by URL, such as {url!r:.60},")
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as absent:  # the protocol's own package, which fsspec names
        raise ModuleNotFoundError(f"cannot read {url}: {absent}") from absent
    except ValueError as refusal:
        raise StreamError(f"cannot read {url}: {refusal}") from refusal
    if has_magic(path):
        found = sorted(system.glob(path), key=natural_order)
        if not found:
            raise FileNotFoundError(f"no file matches {url!r}.")
        return [File(one, part, system) for one in found]
    _check_reached(system, path, url)
    return [File(path, part, system)]


def _check_reached(system: Any, path: str, url: str) -> None:
    """Raise if the file does not exist, or its server does not answer."""
    try:
        system.info(path)
        return
    except FileNotFoundError as absent:
        # A server that cannot be reached counts as an absent file there; its cause says which.
        unreached: Any = absent.__cause__ if isinstance(absent.__cause__, OSError) else None
    except Exception as refusal:  # each file system has errors of its own
        unreached = refusal
    if unreached is not None:
        raise StreamError(f"cannot read {url}: {one_line(unreached)}.") from None
    if not system.exists(path):
        raise FileNotFoundError(f"cannot read {url}: No such file.")


def one_line(refusal: BaseException, most: int = 160) -> str:
    """Return what a library said, in one line that is not too long.

    >>> one_line(OSError("gone\\naway"))
    'gone away'
    """
    said = " ".join(str(refusal).split())
    if "range requests" in said:
        return "its server gives no parts of files, which this format needs: download it first"
    return (said or type(refusal).__name__)[:most].rstrip(".")


def within(folder: File) -> list[str]:
    """Return the names of all files in a folder and in folders inside it, links not followed."""
    if folder.system is not None:
        return list(folder.system.find(folder.path))
    return [
        os.path.join(where, name)
        for where, _, names in os.walk(folder.path, followlinks=False)
        for name in names
        if not name.startswith((".", "_"))
    ]


def inside(folder: File) -> Iterator[File]:
    """Yield the files that lie in a folder, in natural order; not those in folders inside it."""
    if folder.system is not None:
        names = [
            one["name"]
            for one in folder.system.ls(folder.path, detail=True)
            if one["type"] == "file"
        ]
    else:
        names = [str(one) for one in Path(folder.path).iterdir() if one.is_file()]
    for name in sorted(names, key=natural_order):
        if not os.path.basename(name).startswith((".", "_")):
            yield File(name, folder.part, folder.system)


def chosen(file: File, shapes: Mapping[str, tuple[int, ...] | None]) -> list[str]:
    """Return the names of the arrays that are asked for, in natural order.

    ``shapes`` has them all, with None for those that hold no numbers. Without a name, it is the
    only one of two dimensions or more, or the only one; ``*`` stands for several.

    >>> chosen(File("runs.npz", "run*"), {"run10": (5, 2), "run9": (3, 2), "note": None})
    ['run9', 'run10']
    """
    listed = ", ".join(map(repr, list(shapes)[:6])) + (", ..." if len(shapes) > 6 else "")
    if file.part:
        asked = file.part.strip("/") if file.part not in shapes else file.part
        found = [name for name in shapes if name == asked or fnmatchcase(name, asked)]
        if not found:
            raise StreamError(f"{file.path} has no array {file.part!r}; it has {listed or 'none'}.")
        return sorted(found, key=natural_order)
    tables = [name for name, shape in shapes.items() if shape is not None and len(shape) > 1]
    series = [name for name, shape in shapes.items() if shape is not None]
    for some in (tables, series):
        if len(some) == 1:
            return some
        if some:
            raise StreamError(
                f"{file.path} has {len(shapes)} arrays: {listed}. Say which one, such as "
                f"{file.path}::{some[0]}, or ::* for all, each a sequence."
            )
    raise StreamError(
        f"{file.path} holds no array of numbers" + (f": {listed}." if listed else ".")
    )
