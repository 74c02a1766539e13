"""The interface of all readers: a table yields chunks of its requested columns and rows."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from math import prod
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from joblib import hash as hash_of
from numpy.typing import ArrayLike, DTypeLike

from eigenstream.core.checks import is_sparse, required, unmasked
from eigenstream.core.types import Array, DType, Facts, Matrix, Piece
from eigenstream.rows.chunk import Chunk

#: The most bytes of one chunk. The usual chunk takes a quarter of this, which stays in the cache
#: while the chunk is learned.
CHUNK_BYTES = 32 << 20

#: A chunk has at least this number of rows if CHUNK_BYTES allows. Fewer rows make slow products.
MANY_ROWS = 1024

#: The most rows of one chunk of narrow rows. More rows take more memory.
MOST_ROWS = 1 << 20

#: Rows of sources in memory that a resumed fit compares. More rows take more time.
COMPARED_ROWS = 1000

#: The most bytes of one row. A larger row is a damaged header or a transposed table.
LARGEST_ROW = 256 << 20


class StreamError(ValueError):
    """Error of a source that cannot be read, with the file and the row.

    Examples
    --------
    >>> from eigenstream.streams import open_stream
    >>> list(open_stream([[0.0, 1.0], [2.0, float("nan")]]))
    Traceback (most recent call last):
        ...
    eigenstream.streams.base.StreamError: the source contains NaN at row 1, column 1. Fix it, or
    pass missing='skip' or missing='interpolate'.
    """


def needed(package: str, what: str) -> Any:
    """Return a module of an optional package, or raise an error with the command to install it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as absent:
        raise ModuleNotFoundError(required(package, what)) from absent


@contextmanager
def naming_errors(name: str, kind: str | None = None) -> Iterator[None]:
    """Name the file, and its kind, in the errors of a library, which may be of any type."""
    try:
        yield
    except (PermissionError, StreamError, ModuleNotFoundError):
        raise
    except Exception as error:
        problem = "cannot be read" if kind is None else f"is not {kind}, or it is damaged"
        raise StreamError(f"{name} {problem}: {one_line(error)}.") from None


def one_line(error: BaseException | str) -> str:
    """Return the message of another library in one short line.

    >>> one_line(OSError("gone\\naway"))
    'gone away'
    """
    return (" ".join(str(error).split()) or type(error).__name__)[:200].rstrip(".")


@dataclass(frozen=True)
class Request:
    """The requested rows of a table, and the numbers of the requested columns."""

    features: Sequence[int]
    sequence: int | None = None
    time: int | None = None
    labels: tuple[int, ...] = ()
    #: True if labels of one column are returned in two dimensions.
    several: bool = False
    start: int = 0
    stop: int | None = None
    step: int = 1
    #: The most rows of a block.
    block_rows: int = 1024

    @property
    def places(self) -> list[int]:
        """The numbers of all requested columns, each once, the features first."""
        marks = [mark for mark in (self.sequence, self.time, *self.labels) if mark is not None]
        return list(dict.fromkeys([*self.features, *marks]))

    def numbers(self, n_rows: int) -> range:
        """Return the numbers of the requested rows.

        >>> list(Request((0,), start=1, step=3).numbers(8))
        [1, 4, 7]
        """
        return range(n_rows)[self.start : self.stop : self.step]

    def chunk(self, rows: Matrix, column: Callable[[int], Array]) -> Chunk:
        """Return a chunk of feature rows. ``column(place)`` returns any other column."""
        sequence, times = (
            None if place is None else column(place) for place in (self.sequence, self.time)
        )
        columns = [plain(column(place)) for place in self.labels]
        labels = np.column_stack(columns) if self.several else columns[0] if columns else None
        return Chunk(rows, labels=labels, times=times, sequence=sequence)


class RowTable(ABC):
    """Rows in order, from one file or one source in memory, that are read block by block.

    The constructor of a reader sets ``name``, ``width`` and ``dtype``. It reads headers only.
    """

    #: The name of the table in errors.
    name: str
    width: int
    #: The type of the stored numbers.
    dtype: DType = np.dtype(np.float64)
    #: None if only a pass can count the rows.
    n_rows: int | None = None
    #: The names of the columns, or an empty tuple.
    columns: tuple[str, ...] = ()
    #: For each column that holds no numbers: its contents, if opening shows them.
    no_numbers: Mapping[int, str] = MappingProxyType({})
    #: The shape of one row, such as that of an image.
    row_shape: tuple[int, ...] | None = None
    rereadable: bool = True
    #: True once a pass has begun.
    used: bool = False
    #: The fraction of the table that the pass has read.
    share: float | None = None
    #: The size of the table, which weights its ``share``.
    n_bytes: int = 1
    #: The files that are read.
    files: Sequence[Any] = ()
    #: The cells of a labelled array, and the factors of its columns by ``weights=``.
    grid: Any = None
    factors: Any = None
    #: True if the first row was read as names although it holds only numbers.
    doubtful: bool = False
    #: The number of cells and lines of text without numbers so far. None raises an error for them.
    n_bad: int | None = None
    #: The options of ``open_stream`` for this reader.
    options: ClassVar[tuple[str, ...]] = ()

    def describe(self, shape: Sequence[int], dtype: DTypeLike) -> None:
        """Check the shape and type of an array, and set the attributes that follow from them."""
        shape, dtype = tuple(map(int, shape)), np.dtype(dtype)
        check_kind(dtype, self.name)
        if len(shape) == 0 or 0 in shape:
            raise StreamError(f"{self.name} has shape {shape} and no values. Pass some rows.")
        self.n_rows, self.width, self.dtype = shape[0], prod(shape[1:]), dtype
        self.row_shape = shape[1:] if len(shape) > 2 else None
        check_width(self.width * dtype.itemsize, f"{self.name} has shape {shape}")

    def facts(self) -> Facts:
        """Return facts by which a resumed fit recognises the source, without a complete pass."""
        if self.files and self.rereadable:
            files = [part for file in self.files for part in (file.inside() or [file])]
            times = [os.path.getmtime(file.path) for file in files if file.local]
            size, last = sum(file.size() for file in files), max(times, default=0.0)
            return {"size in bytes": size, "time of the last change": last}
        if self.files:
            raise StreamError(f"{self.name} cannot be read again. Write it to a file first.")
        facts: Facts = {"number of rows": self.n_rows, "number of columns": self.width}
        if self.rereadable and self.n_rows is not None:
            first = next(self.blocks(Request(range(self.width))))
            facts["digest of the first rows"] = hash_of(first.rows[:COMPARED_ROWS])
        return facts

    def array(self) -> Any:
        """Return the rows of a labelled array in memory, or None."""
        return None

    def pieces(self, request: Request) -> Iterator[Piece]:
        """Yield all rows of the table in order, in pieces of any size."""
        raise NotImplementedError

    def picked(self, piece: Piece, request: Request) -> Chunk:
        """Return the requested columns of a piece."""
        values, places = flat(piece), request.features
        part = slice(places[0], places[-1] + 1) if isinstance(places, range) else list(places)
        rows = values if places == range(values.shape[1]) else values[:, part]

        def column(place: int) -> Array:
            column = values[:, [place]]
            return np.asarray(column.toarray() if is_sparse(column) else column).ravel()

        return request.chunk(rows, column)

    def blocks(self, request: Request) -> Iterator[Chunk]:
        """Start a pass: yield the requested rows in blocks of at most ``request.block_rows``."""
        seen, step = 0, request.step
        for piece in self.pieces(request):
            chunk = self.picked(piece, request).placed(first_row=seen)
            stop = len(chunk) if request.stop is None else min(request.stop - seen, len(chunk))
            first = max(request.start - seen, 0) or -(seen - request.start) % step
            for at in range(first, stop, request.block_rows * step):
                yield chunk[at : min(at + request.block_rows * step, stop) : step]
            seen += len(chunk)
            if request.stop is not None and seen >= request.stop:
                return

    def passed(self, block: Chunk, stop: int | None) -> None:
        """Update ``share`` after a block of a pass that ends at row ``stop``."""
        ends = [end for end in (self.n_rows, stop) if end]
        if ends:
            at = block.row(len(block))
            self.share = max(self.share or 0.0, min(at / min(ends), 1.0))


class SlicedTable(RowTable):
    """A table that can be read from any row."""

    n_rows: int
    #: The number of rows in each stored chunk. Blocks end at the same rows if possible.
    grain: int = 1

    @abstractmethod
    def opened(self) -> AbstractContextManager[Piece]:
        """Open the source for one pass."""

    def rows_of(self, source: Piece, rows: slice) -> Piece:
        """Return some rows of an open source."""
        return source[rows]

    def blocks(self, request: Request) -> Iterator[Chunk]:
        """Yield the requested rows, without reading other rows."""
        numbers = request.numbers(self.n_rows)
        with self.opened() as source:
            at = 0
            while at < len(numbers):
                count = request.block_rows
                if request.step == 1 and count >= self.grain:
                    end = numbers[at] + count
                    count = max(end - end % self.grain - numbers[at], 1)
                part = numbers[at : at + count]
                try:
                    last = min(part.stop, self.n_rows)
                    values = self.rows_of(source, slice(part.start, last, part.step))
                except Exception as error:  # each library and codec raises different errors
                    place = f"{self.name} cannot be read at rows {part.start} to {part.stop}"
                    raise StreamError(f"{place}: {one_line(error)}.") from None
                chunk = self.picked(values, request)
                yield chunk.placed(first_row=part.start, stride=part.step)
                at += len(part)


def flat(values: Piece) -> Piece:
    """Return a series, a table, or a stack of images as rows of two dimensions.

    >>> flat(np.zeros((5, 2, 3))).shape, flat(np.zeros(4)).shape
    ((5, 6), (4, 1))
    """
    if not is_sparse(values):
        values = np.asanyarray(values)  # of xarray; preserves masked arrays
    return values if values.ndim == 2 else values.reshape(len(values), prod(values.shape[1:]))


def plain(column: ArrayLike) -> Array:
    """Return labels as integers, floats, text or flags, with NaN or empty text where missing.

    Whole numbers that are stored as floats become integers.

    >>> plain(np.array(["a", None], object)), plain(np.array([1.0, 2.0]))
    (array(['a', ''], dtype='<U1'), array([1, 2]))
    """
    values = np.asarray(column)
    if values.dtype.kind in "fiub":
        with np.errstate(invalid="ignore"):
            exact = (np.abs(values) < 2.0**53) & (values == np.rint(values))  # NaN is neither
        return values.astype(np.int64) if values.dtype.kind == "f" and exact.all() else values
    listed = values.tolist()
    if values.dtype.kind == "O" and all(isinstance(value, int | float | None) for value in listed):
        flags = all(isinstance(value, bool) for value in listed)
        numbers = [np.nan if value is None else value for value in listed]
        return plain(np.array(numbers, bool if flags else np.float64))
    if values.dtype.kind in "OMmT":
        absent = [value is None or value != value for value in listed]
        text = ["" if no else str(value) for no, value in zip(absent, values, strict=True)]
        return np.array(text, dtype=np.str_)
    return values


def check_width(row_bytes: int, what: str) -> None:
    """Raise an error if one row is larger than LARGEST_ROW."""
    if row_bytes > LARGEST_ROW:
        raise StreamError(f"{what}, and one row takes {row_bytes >> 20} MB. Use fewer columns.")


def check_kind(dtype: DType, name: str) -> None:
    """Raise an error if values of this type are not real numbers."""
    if dtype.kind not in "biuf":
        raise StreamError(f"{name} has the type {str(dtype)[:40]}, not real numbers. Convert it.")


def native_floats(values: Piece, dtype: DType, name: str, first_row: int = 0) -> Matrix:
    """Return rows as floats of a type in native byte order, without a copy if possible."""
    values = unmasked(values)
    if values.dtype.kind == "O":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            place = f"in the {len(values)} rows from row {first_row}"
            raise StreamError(f"{name} holds no numbers {place}: {one_line(error)}.") from None
    check_kind(values.dtype, name)
    if is_sparse(values):
        return values.tocsr().astype(dtype, copy=False)
    return np.ascontiguousarray(values, dtype)


def float_type(kinds: Sequence[DType]) -> DType:
    """Return float32 if all numbers are float32, else float64."""
    single = all(kind.kind == "f" and kind.itemsize == 4 for kind in kinds)
    return np.dtype(np.float32 if single else np.float64)
