"""The interface of all readers: a table gives chunks of its requested columns and rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from importlib import import_module
from math import prod
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack

from eigenstream._checks import is_sparse, unmasked

#: The most bytes of one chunk. Up to four chunks are in memory at a time.
CHUNK_BYTES = 32 << 20

#: A chunk takes a quarter of CHUNK_BYTES, which stays in the cache while it is learned, but at
#: least this number of rows if they fit: fewer rows make slow matrix products.
MANY_ROWS = 1024

#: The most rows of one chunk, whatever their width.
MOST_ROWS = 1 << 20

#: A larger row, in bytes, is a damaged header or a transposed table.
LARGEST_ROW = 256 << 20


class StreamError(ValueError):
    """A file or a stream that cannot be read, and where, in one line.

    >>> from eigenstream.streams import open_stream
    >>> list(open_stream([[0.0, 1.0], [2.0, float("nan")]]))
    Traceback (most recent call last):
        ...
    eigenstream.streams.base.StreamError: the source has NaN (or nothing) at row 1, column 1. Mend
    it, or pass missing='skip' or missing='interpolate'.
    """


def needed(module: str, package: str, what: str) -> Any:
    """Return a module of an optional package, or raise with the command that installs it.

    >>> needed("no_such_module", "h5py", "HDF5 files")
    Traceback (most recent call last):
        ...
    ModuleNotFoundError: to read HDF5 files takes h5py: pip install h5py, or all readers by
    pip install 'eigenstream[io]'.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as absent:
        raise ModuleNotFoundError(
            f"to read {what} takes {package}: pip install {package}, or all readers by "
            "pip install 'eigenstream[io]'."
        ) from absent


def one_line(error: BaseException) -> str:
    """Return the message of a library in one short line.

    >>> one_line(OSError("gone\\naway"))
    'gone away'
    """
    return (" ".join(str(error).split()) or type(error).__name__)[:200].rstrip(".")


@dataclass(frozen=True)
class Chunk:
    """Rows of one sequence: float32 or float64, finite, dense or CSR.

    ``weights`` are None, or 0 for rows that lack values (which are then zeros) and 1 for the
    others. ``source`` and ``first_row`` are the place of the first row. ``labels`` are None, or
    one a row, or one column a target.
    """

    rows: Any
    weights: NDArray[np.float64] | None = None
    new_sequence: bool = False
    source: str = "X"
    first_row: int = 0
    labels: Any = None
    #: The number of rows of the pass up to this chunk: ``Stream.chunks(skip=end)`` continues there.
    end: int = 0
    #: The step between two rows in the source.
    stride: int = field(default=1, repr=False)
    #: The columns of times and of sequences, as they are stored.
    times: Any = field(default=None, repr=False, compare=False)
    sequence: Any = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def between(self, start: int, stop: int, step: int = 1) -> "Chunk":
        """Return the rows from ``start`` to ``stop``."""
        beside = ("weights", "labels", "times", "sequence")
        given = {name: getattr(self, name) for name in beside}
        cut: dict[str, Any] = {
            k: None if one is None else one[start:stop:step] for k, one in given.items()
        }
        return replace(
            self,
            rows=self.rows[start:stop:step],
            new_sequence=self.new_sequence and start == 0,
            first_row=self.first_row + start * self.stride,
            stride=self.stride * step,
            **cut,
        )


def stacked(pieces: Sequence[Any]) -> Any:
    """Return rows on top of each other, dense or sparse."""
    filled = [piece for piece in pieces if piece.shape[0]] or list(pieces[-1:])
    if len(filled) == 1:
        return filled[0]
    return vstack(filled, format="csr") if is_sparse(filled[0]) else np.concatenate(filled)


def zeroed(rows: Any, kept: NDArray[np.bool_]) -> Any:
    """Return the rows, dense or sparse, with zeros for those that are not kept."""
    if not is_sparse(rows):
        return np.where(kept[:, None], rows, np.zeros((), rows.dtype))
    rows = rows.copy()
    rows.data[np.repeat(~kept, np.diff(rows.indptr))] = 0
    rows.eliminate_zeros()
    return rows


@dataclass(frozen=True)
class Request:
    """The requested columns of a table, by their places, and the requested rows."""

    features: Sequence[int]
    sequence: int | None = None
    time: int | None = None
    labels: tuple[int, ...] = ()
    #: True if one column of labels stays a table.
    several: bool = False
    start: int = 0
    stop: int | None = None
    step: int = 1
    #: The most rows of a block.
    block_rows: int = 1024

    @property
    def places(self) -> list[int]:
        """The places of all requested columns, each once, the features first."""
        marks = [one for one in (self.sequence, self.time, *self.labels) if one is not None]
        return list(dict.fromkeys([*self.features, *marks]))

    def numbers(self, n_rows: int) -> range:
        """Return the numbers of the requested rows.

        >>> list(Request((0,), start=1, step=3).numbers(8))
        [1, 4, 7]
        """
        return range(n_rows)[self.start : self.stop : self.step]

    def chunk(self, rows: Any, column: Any) -> Chunk:
        """Return a chunk of features, and of the columns that ``column(place)`` returns."""
        sequence, times = (
            None if place is None else column(place) for place in (self.sequence, self.time)
        )
        found = [plain(column(place)) for place in self.labels]
        labels = np.column_stack(found) if self.several else found[0] if found else None
        return Chunk(rows, labels=labels, times=times, sequence=sequence)


class RowTable(ABC):
    """Rows in order, of one file or something like one, that are read block by block.

    The constructor of a reader sets ``name``, ``width`` and ``dtype``, and reads headers only.
    """

    #: The name of the table in errors.
    name: str
    width: int
    #: The type of the numbers as they are stored.
    dtype: np.dtype[Any] = np.dtype(np.float64)
    #: None if only a pass can count the rows.
    n_rows: int | None = None
    #: The names of the columns, if they have names.
    columns: tuple[str, ...] = ()
    #: Columns that are not in all files of the table: a file without it.
    lacking: Mapping[str, str] = MappingProxyType({})
    #: Columns that hold no numbers, by place: what they hold, as far as opening shows it.
    no_numbers: Mapping[int, str] = MappingProxyType({})
    #: The shape of one row, such as that of an image.
    row_shape: tuple[int, ...] | None = None
    rereadable: bool = True
    #: True if the rows are in no order of time.
    shuffled: bool = False
    #: True once a pass has begun.
    used: bool = False
    #: The share of the table that the pass has read, and the size by which tables are weighed.
    share: float | None = None
    n_bytes: int = 1
    #: The files that are read.
    files: Sequence[Any] = ()
    #: The options of ``open_stream`` for this reader.
    options: ClassVar[tuple[str, ...]] = ()

    def describe(self, shape: Sequence[int], dtype: Any) -> None:
        """Set the attributes that follow from the shape and type of an array, or raise."""
        shape, dtype = tuple(map(int, shape)), np.dtype(dtype)
        check_kind(dtype, self.name)
        if len(shape) == 0:
            raise StreamError(f"{self.name} holds a single number. Pass rows.")
        if shape[0] == 0:
            raise StreamError(f"{self.name} has no rows: its shape is {shape}.")
        self.n_rows, self.width, self.dtype = shape[0], prod(shape[1:]), dtype
        self.row_shape = shape[1:] if len(shape) > 2 else None
        if self.width == 0:
            raise StreamError(f"{self.name} has shape {shape}: its rows hold no numbers.")
        check_width(self.width * dtype.itemsize, f"{self.name} has shape {shape}")

    def pieces(self, request: Request) -> Iterator[Any]:
        """Yield all rows of the table in order, in pieces of any size."""
        raise NotImplementedError

    def picked(self, piece: Any, request: Request) -> Chunk:
        """Return the requested columns of a piece."""
        values, places = flat(piece), request.features
        part = slice(places[0], places[-1] + 1) if isinstance(places, range) else list(places)
        rows = values if places == range(values.shape[1]) else values[:, part]

        def column(place: int) -> NDArray[Any]:
            found = values[:, [place]]
            return np.asarray(found.toarray() if is_sparse(found) else found).ravel()

        return request.chunk(rows, column)

    def blocks(self, request: Request) -> Iterator[Chunk]:
        """Start a pass: yield the requested rows in blocks of at most ``request.block_rows``."""
        seen, step = 0, request.step
        for piece in self.pieces(request):
            chunk = replace(self.picked(piece, request), first_row=seen)
            stop = len(chunk) if request.stop is None else min(request.stop - seen, len(chunk))
            # The first requested row in this piece.
            ahead = max(request.start - seen, 0) or -(seen - request.start) % step
            for at in range(ahead, stop, request.block_rows * step):
                yield chunk.between(at, min(at + request.block_rows * step, stop), step)
            seen += len(chunk)
            if request.stop is not None and seen >= request.stop:
                return

    def passed(self, block: Chunk, stop: int | None) -> None:
        """Note the share of the table that a pass up to row ``stop`` has read with a block."""
        ends = [one for one in (self.n_rows, stop) if one]
        if ends:
            at = block.first_row + len(block) * block.stride
            self.share = max(self.share or 0.0, min(at / min(ends), 1.0))


class SlicedTable(RowTable):
    """A table whose rows can be read from any place on."""

    n_rows: int
    #: The number of rows that are stored together: blocks end where stored ones end if they can.
    grain: int = 1

    @abstractmethod
    def opened(self) -> AbstractContextManager[Any]:
        """Open something that can be sliced by rows, for one pass."""

    def blocks(self, request: Request) -> Iterator[Chunk]:
        """Yield the requested rows, reading no others."""
        numbers = request.numbers(self.n_rows)
        with self.opened() as rows:
            at = 0
            while at < len(numbers):
                count = request.block_rows
                if request.step == 1 and count >= self.grain:
                    end = numbers[at] + count
                    count = max(end - end % self.grain - numbers[at], 1)
                part = numbers[at : at + count]
                values = rows[part.start : min(part.stop, self.n_rows) : part.step]
                chunk = self.picked(values, request)
                yield replace(chunk, first_row=part.start, stride=part.step)
                at += len(part)


def flat(values: Any) -> Any:
    """Return rows of two dimensions: of a series, of a table, or of images and the like.

    >>> flat(np.zeros((5, 2, 3))).shape, flat(np.zeros(4)).shape
    ((5, 6), (4, 1))
    """
    if not hasattr(values, "reshape"):  # xarray
        values = np.asarray(values)
    return values if values.ndim == 2 else values.reshape(len(values), prod(values.shape[1:]))


def plain(column: Any) -> NDArray[Any]:
    """Return labels as numbers, as text, or as flags; missing ones as NaN or empty text.

    Whole numbers are integers, however a format stores them.

    >>> plain(np.array(["a", None], object)), plain(np.array([1.0, 2.0]))
    (array(['a', ''], dtype='<U1'), array([1, 2]))
    """
    values = np.asarray(column)
    if values.dtype.kind in "fiub":
        with np.errstate(invalid="ignore"):
            exact = (np.abs(values) < 2.0**53) & (values == np.rint(values))  # NaN is neither
        return values.astype(np.int64) if values.dtype.kind == "f" and exact.all() else values
    listed = values.tolist()
    if values.dtype.kind == "O" and all(isinstance(one, int | float | None) for one in listed):
        flags = all(isinstance(one, bool) for one in listed)
        numbers = [np.nan if one is None else one for one in listed]
        return plain(np.array(numbers, bool if flags else np.float64))
    if values.dtype.kind in "OMmT":
        absent = [one is None or one != one for one in listed]
        text = ["" if no else str(one) for no, one in zip(absent, values, strict=True)]
        return np.array(text, dtype=np.str_)
    return values


def check_width(row_bytes: int, what: str) -> None:
    """Raise if one row is larger than LARGEST_ROW."""
    if row_bytes > LARGEST_ROW:
        size = f"{row_bytes / 2**20:.0f} MB"
        raise StreamError(
            f"{what}: one row takes {size}. Transpose the table, or use fewer columns."
        )


#: Kinds of values that are not real numbers, by the letter of NumPy.
KINDS = {"O": "Python objects", "c": "complex numbers", "V": "records", "M": "dates", "m": "spans"}


def check_kind(dtype: np.dtype[Any], name: str) -> None:
    """Raise if values of this type are not real numbers."""
    if dtype.kind not in "biuf":
        what = KINDS.get(dtype.kind, "text")
        raise StreamError(
            f"{name} holds {what} ({str(dtype)[:40]}), not real numbers. Convert it first; objects "
            "are never unpickled."
        )


def as_floats(values: Any, dtype: np.dtype[Any], name: str, first_row: int = 0) -> Any:
    """Return rows as floats of a type in this machine's byte order, copied only if need be."""
    values = unmasked(values)
    if values.dtype.kind == "O":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise StreamError(
                f"{name} holds no numbers between rows {first_row} and "
                f"{first_row + len(values) - 1}: {one_line(error)}."
            ) from None
    check_kind(values.dtype, name)
    if is_sparse(values):
        return values.tocsr().astype(dtype, copy=False)
    return np.ascontiguousarray(values, dtype)


def float_type(kinds: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """Return float32 if all numbers are float32, else float64."""
    single = all(kind.kind == "f" and kind.itemsize == 4 for kind in kinds)
    return np.dtype(np.float32 if single else np.float64)
