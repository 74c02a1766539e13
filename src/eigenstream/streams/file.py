"""A file of a stream: its name, its packing and the part of it that is read."""

import os
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from eigenstream.streams.base import StreamError

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
