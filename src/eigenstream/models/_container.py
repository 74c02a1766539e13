"""The file itself: a header of JSON, then the arrays; all of it checked before any is read."""

import json
import os
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from eigenstream.models.base import FORMAT, ModelError

__all__ = ["MOST_HEADER", "Container", "refuse"]

#: No header is longer than this; safetensors itself sets the same bound.
MOST_HEADER = 100_000_000

#: The bytes of one entry, by the name that safetensors gives its type.
SIZES = {
    "BOOL": 1,
    "U8": 1,
    "I8": 1,
    "U16": 2,
    "I16": 2,
    "F16": 2,
    "U32": 4,
    "I32": 4,
    "F32": 4,
    "U64": 8,
    "I64": 8,
    "F64": 8,
}

#: How other kinds of file begin: named, for whoever has mixed them up.
OTHERS = {
    b"\x80": "a pickle, which eigenstream never opens",
    b"PK\x03\x04": "a zip file, such as .npz",
    b"\x93NUMPY": "an array, .npy",
    b"\x89HDF": "an HDF5 file",
    b"\x1f\x8b": "packed by gzip",
}


def refuse(path: Path, place: str, what: str) -> NoReturn:
    """Raise the one-line error about a place in a file."""
    words = " ".join(what.split())
    raise ModelError(f"{path}: at {place}: {words}") from None


class Container:
    """An open model file whose header has been checked against what the file holds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise OSError(f"cannot read {path}: it is a device or a pipe, not a file")
        try:
            with path.open("rb") as file:
                self.size = os.fstat(file.fileno()).st_size
                text = self._header_text(file.read(8), file)
        except OSError as refusal:
            raise type(refusal)(f"cannot read {path}: {refusal.strerror}") from None
        self.arrays: dict[str, dict[str, Any]] = self._parsed(text, "the header")
        kept = self.arrays.pop("__metadata__", None)
        if not isinstance(kept, dict) or not isinstance(kept.get(FORMAT), str):
            refuse(path, "the header", "these are arrays of another program, not a model.")
        self.header = self._parsed(kept[FORMAT], "the model's header")
        self._check_arrays()

    def _header_text(self, start: bytes, file: Any) -> bytes:
        length = int.from_bytes(start, "little")
        fits = len(start) == 8 and length <= min(self.size - 8, MOST_HEADER)
        kind = next((kind for mark, kind in OTHERS.items() if start.startswith(mark)), None)
        if kind is not None and not fits:
            refuse(self.path, "byte 0", f"this is {kind}; models come from eigenstream.save.")
        if len(start) < 8:
            refuse(
                self.path,
                "byte 0",
                f"a file of {len(start)} bytes holds no model: a header takes 8 at least.",
            )
        if not fits:
            refuse(
                self.path,
                "byte 0",
                f"a header of {length} bytes is announced, and the file has {self.size}: it is "
                "cut short, or no model.",
            )
        text: bytes = file.read(length)
        self.start = 8 + length
        return text

    def _parsed(self, text: bytes | str, place: str) -> dict[str, Any]:
        """Return the dict that JSON text holds, each name once."""

        def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            found = dict(pairs)
            if len(found) < len(pairs):
                raise ValueError("a name comes twice")
            return found

        def no_number(word: str) -> NoReturn:
            raise ValueError(f"{word} is no number of JSON")

        try:
            text = text.decode("utf-8") if isinstance(text, bytes) else text
            found = json.loads(text, object_pairs_hook=once, parse_constant=no_number)
        except (ValueError, RecursionError) as wrong:
            refuse(self.path, place, f"this is no header of a model ({wrong}).")
        if not isinstance(found, dict):
            refuse(self.path, place, f"a {type(found).__name__} stands where names are due.")
        return found

    def _check_arrays(self) -> None:
        """Check type, shape and place of every array, by whole numbers that cannot overflow."""
        taken = []
        for name, told in self.arrays.items():
            place = f"array {name!r:.80}"
            if not isinstance(told, dict) or set(told) != {"dtype", "shape", "data_offsets"}:
                refuse(self.path, place, "dtype, shape and data_offsets are due, and nothing else.")
            if told["dtype"] not in SIZES:
                refuse(self.path, place, f"no array has the type {told['dtype']!r:.40}.")
            for key, most in (("shape", 8), ("data_offsets", 2)):
                numbers = told[key]
                whole = isinstance(numbers, list) and all(type(n) is int for n in numbers)
                if not whole or len(numbers) > most or min(numbers, default=0) < 0:
                    refuse(self.path, place, f"{key}={numbers!r:.80} are no whole numbers.")
            if len(told["data_offsets"]) != 2:
                refuse(self.path, place, "data_offsets are the first byte and the one after.")
            first, stop = told["data_offsets"]
            needed = SIZES[told["dtype"]]
            for n in told["shape"]:
                needed *= n
            if stop - first != needed:
                refuse(
                    self.path,
                    place,
                    f"shape {told['shape']!r:.80} of {told['dtype']} takes {needed} bytes, and "
                    f"{stop - first} are there.",
                )
            if max(told["shape"], default=0) > max(self.size, 1):
                refuse(self.path, place, f"shape {told['shape']!r:.80} is beyond the file's size.")
            taken.append((first, stop, place))
        at = 0
        for first, stop, place in sorted(taken):
            if first != at:
                refuse(self.path, place, f"it begins at byte {first} of the data, and not at {at}.")
            at = stop
        if self.start + at != self.size:
            refuse(
                self.path,
                f"byte {self.start}",
                f"{at} bytes of arrays are announced, and {self.size - self.start} are there: the "
                "file is cut short, or was added to. Save it again.",
            )

    def read(self) -> dict[str, NDArray[Any]]:
        """Return the arrays, each its own."""
        try:
            with safe_open(self.path, framework="np") as file:
                return {name: np.array(file.get_tensor(name)) for name in self.arrays}
        except (SafetensorError, OSError) as refusal:
            refuse(self.path, f"byte {self.start}", f"the arrays cannot be read ({refusal}).")
