"""The header of an .npy file, read without trust: nothing in it is executed or believed."""

from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from eigenstream.streams.base import StreamError, check_kind, check_shape

__all__ = ["Header", "read_header"]

MAGIC = b"\x93NUMPY"

#: Headers of plain arrays take 128 bytes; NumPy itself reads no more than this unasked.
LONGEST = 10_000


@dataclass(frozen=True)
class Header:
    """What an .npy file says of its array."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]
    #: Where the numbers begin.
    offset: int

    @property
    def n_bytes(self) -> int:
        """How many bytes the numbers take."""
        total = self.dtype.itemsize
        for extent in self.shape:
            total *= extent
        return total

    @property
    def row_bytes(self) -> int:
        """How many bytes the numbers of a row take."""
        return self.n_bytes // max(self.shape[0], 1)

    @property
    def by_columns(self) -> bool:
        """Whether the columns lie one after the other, and not the rows."""
        return self.fortran_order and len(self.shape) > 1


def read_header(stream: BinaryIO, name: str, size: int | None) -> Header:
    """Return the header that a stream begins with; ``size`` is that of the file, if it has one.

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
    start = _exactly(stream, 8, name)
    if not start.startswith(MAGIC):
        looks = ", but a pickle, which is never loaded here" if start[:1] == b"\x80" else ""
        raise StreamError(f"{name} is no .npy file{looks}: it begins with {start!r}.")
    version = (start[6], start[7])
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise StreamError(
            f"{name} is an .npy file of version {version[0]}.{version[1]}, and those from 1.0 to "
            "3.0 are known."
        )
    field = _exactly(stream, 2 if version == (1, 0) else 4, name)
    length = int.from_bytes(field, "little")
    if length > LONGEST:
        raise StreamError(
            f"{name} has a header of {length} bytes, and plain arrays take 128. It is damaged, or "
            "holds records; save plain columns."
        )
    text = _exactly(stream, length, name)
    header = _parsed(text, version, name, 8 + len(field) + length)
    if size is not None:
        _check_size(header, name, size - header.offset)
    return header


def _exactly(stream: BinaryIO, count: int, name: str) -> bytes:
    found = stream.read(count)
    if len(found) < count:
        raise StreamError(f"{name} is cut off within its header.")
    return found


def _parsed(text: bytes, version: tuple[int, int], name: str, offset: int) -> Header:
    if version == (3, 0):  # as 2.0, in UTF-8, which only names of fields need
        text = text.decode("utf-8", "replace").encode("latin1", "replace")
    field = len(text).to_bytes(2 if version == (1, 0) else 4, "little")
    read: Any = (
        npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
    )
    try:
        shape, fortran_order, dtype = read(BytesIO(field + text), max_header_size=LONGEST)
    except Exception as refusal:  # whatever a text that only looks like Python leads to
        reason = " ".join(str(refusal).split())[:120]
        raise StreamError(f"{name} has a header that makes no sense: {reason}.") from None
    if any(isinstance(one, bool) or one < 0 for one in shape):
        raise StreamError(f"{name} has a header that makes no sense: shape {shape}.")
    check_kind(dtype, name)
    check_shape(shape, dtype.itemsize, name)
    return Header(tuple(map(int, shape)), bool(fortran_order), dtype, offset)


def _check_size(header: Header, name: str, there: int) -> None:
    if there == header.n_bytes:
        return
    promise = (
        f"its header promises {header.n_bytes} bytes of numbers (shape {header.shape}, "
        f"{header.dtype}), and {there} are there"
    )
    if there < header.n_bytes:
        raise StreamError(f"{name} is cut off: {promise}.")
    raise StreamError(f"{name} does not fit its header: {promise}. Was it saved to twice?")
