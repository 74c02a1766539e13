"""What every reader gives: a table, that is rows in order with a name, read block by block."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from math import prod
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import is_sparse, unmasked

__all__ = [
    "CHUNK_BYTES",
    "LARGEST_ROW",
    "RowBlock",
    "RowTable",
    "SlicedTable",
    "StreamError",
    "Wanted",
    "as_floats",
    "check_kind",
    "check_shape",
    "flat",
    "needed",
    "picked",
    "row_width",
    "rows_of_chunk",
    "rows_within",
]

#: What one chunk may take. Up to four are there at a time: one in the reader's hands, two that
#: wait, one in the learner's.
CHUNK_BYTES = 32 << 20

#: A chunk takes a quarter of that, which is learned from before it has left the cache (whole ones
#: took a third longer), but so many rows if they fit: products of matrices want that many.
MANY_ROWS = 1024

#: Rows of one chunk, whatever their width.
MOST_ROWS = 1 << 20

#: One row larger than this is no row, but a header that lies or a table that is transposed.
LARGEST_ROW = 256 << 20


class StreamError(ValueError):
    """What is wrong with a file or a stream, and where, in one line.

    >>> from eigenstream.streams import open_stream
    >>> list(open_stream([[0.0, 1.0], [2.0, float("nan")]]))
    Traceback (most recent call last):
        ...
    eigenstream.streams.base.StreamError: the source has NaN (or nothing) at row 1, column 1. Mend
    it, or pass missing='skip' or missing='interpolate'.
    """


def needed(module: str, package: str, what: str) -> Any:
    """Return a module of an optional package; where it is absent, say what brings it.

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


@dataclass(frozen=True)
class Wanted:
    """What is asked of a table: columns by their place, and a range of rows."""

    #: The columns that are features, in order; None for all of them.
    features: tuple[int, ...] | None = None
    #: The columns that say which sequence a row belongs to, and when it was taken.
    sequence: int | None = None
    time: int | None = None
    #: The columns that say what a row is to be learned as.
    labels: tuple[int, ...] = ()
    start: int = 0
    stop: int | None = None
    step: int = 1
    #: How many rows a block has at most.
    block_rows: int = 1024

    def numbers(self, n_rows: int) -> range:
        """Return the numbers of the rows wanted of so many.

        >>> list(Wanted(start=1, step=3).numbers(8))
        [1, 4, 7]
        """
        return range(n_rows)[self.start : self.stop : self.step]


@dataclass(frozen=True)
class RowBlock:
    """Some rows as they are stored, with their sequence and time where those are wanted."""

    rows: Any
    sequence: NDArray[Any] | None = None
    times: NDArray[Any] | None = None
    #: The numbers of the first row in the table, and how many rows of it a step is.
    first_row: int = 0
    stride: int = 1
    #: What the rows are to be learned as: a column each.
    labels: tuple[NDArray[Any], ...] = ()

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def between(self, start: int, stop: int) -> "RowBlock":
        """Return the rows from ``start`` to ``stop``."""
        part = slice(start, stop)
        return RowBlock(
            self.rows[part],
            None if self.sequence is None else self.sequence[part],
            None if self.times is None else self.times[part],
            self.first_row + start * self.stride,
            self.stride,
            tuple(one[part] for one in self.labels),
        )


class RowTable(ABC):
    """Rows in order, out of one file or of something like one.

    A subclass knows its shape from the start where its format does, and hands out blocks.
    """

    #: What errors call it.
    name: str
    #: None where it cannot be known without reading.
    n_rows: int | None = None
    #: How many columns there are in all, and what they are called.
    width: int | None = None
    columns: tuple[str, ...] | None = None
    #: Of columns that are not in all its files: a file without it.
    lacking: Mapping[str, str] = MappingProxyType({})
    #: Of columns, by place, that hold no numbers: what they hold, as far as opening tells.
    no_numbers: Mapping[int, str] = MappingProxyType({})
    #: The type of the numbers as stored.
    dtype: np.dtype[Any] | None = None
    #: Whether it can be read twice.
    rereadable: bool = True
    #: Whether its rows are in no order of time.
    shuffled: bool = False
    #: Whether a pass has begun.
    used: bool = False
    #: About which share of it the pass has read, from 0 to 1; None where nobody can tell.
    share: float | None = None
    #: How much there is of it beside others, where they are read one after the other.
    n_bytes: int = 1
    #: The shape of what is one row, such as that of an image.
    row_shape: tuple[int, ...] | None = None

    #: Names of the options of ``open_stream`` that this reader takes.
    options: ClassVar[tuple[str, ...]] = ()

    def describe(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        """Set what the shape and the type of an array tell, or raise if it holds no rows."""
        shape = tuple(map(int, shape))
        check_kind(dtype, self.name)
        check_shape(shape, dtype.itemsize, self.name)
        if shape[0] == 0:
            raise StreamError(f"{self.name} has no rows: its shape is {shape}.")
        self.n_rows, self.width, self.dtype = shape[0], row_width(shape), dtype
        self.row_shape = shape[1:] if len(shape) > 2 else None

    @abstractmethod
    def blocks(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Start a pass: yield the wanted rows in blocks of at most ``wanted.block_rows``."""

    def passed(self, block: RowBlock, stop: int | None) -> None:
        """Note how far the pass has come with a block, if no rows from ``stop`` on are wanted."""
        ends = [one for one in (self.n_rows, stop) if one]
        if ends:
            at = block.first_row + len(block) * block.stride
            self.share = max(self.share or 0.0, min(at / min(ends), 1.0))


class SlicedTable(RowTable):
    """A table of which any rows can be had at once, as of an array."""

    n_rows: int
    width: int
    #: How many rows are stored together: blocks are cut where stored ones end, if they can.
    grain: int = 1

    @abstractmethod
    def opened(self) -> AbstractContextManager[Any]:
        """Open what can be sliced by rows, for one pass."""

    def blocks(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Yield the wanted rows, reading no others."""
        numbers = wanted.numbers(self.n_rows)
        with self.opened() as rows:
            at = 0
            while at < len(numbers):
                count = wanted.block_rows
                if wanted.step == 1 and count >= self.grain:
                    end = numbers[at] + count
                    count = max(end - end % self.grain - numbers[at], 1)
                part = numbers[at : at + count]
                values = rows[part.start : min(part.stop, self.n_rows) : part.step]
                yield picked(flat(values), wanted, part.start, part.step)
                at += len(part)


def picked(values: Any, wanted: Wanted, first_row: int = 0, stride: int = 1) -> RowBlock:
    """Return the wanted columns of an array as a block."""
    features = values
    if wanted.features is not None:
        places = wanted.features
        first, last = (places[0], places[-1] + 1) if places else (0, 0)
        side_by_side = places == tuple(range(first, last))
        features = values[:, first:last] if side_by_side else values[:, list(places)]
    sequence, times = (
        None if place is None else _column(values, place)
        for place in (wanted.sequence, wanted.time)
    )
    labels = tuple(_column(values, place) for place in wanted.labels)
    return RowBlock(features, sequence, times, first_row, stride, labels)


def _column(values: Any, place: int) -> NDArray[Any]:
    column = values[:, [place]]
    return np.asarray(column.toarray() if is_sparse(column) else column).ravel()


def rows_within(blocks: Iterator[RowBlock], wanted: Wanted) -> Iterator[RowBlock]:
    """Yield of all the blocks of a table, in order, the wanted rows in blocks of bounded size.

    >>> blocks = iter([RowBlock(np.arange(5)[:, None]), RowBlock(np.arange(5, 9)[:, None])])
    >>> [b.rows.ravel().tolist() for b in rows_within(blocks, Wanted(start=3, step=2))]
    [[3], [5, 7]]
    """
    seen = 0
    for block in blocks:
        stop = len(block) if wanted.stop is None else min(wanted.stop - seen, len(block))
        # The first number from ``start`` on, by ``step``, that lies in this block.
        ahead = max(wanted.start - seen, 0)
        ahead = ahead or -(seen - wanted.start) % wanted.step
        for at in range(ahead, stop, wanted.block_rows * wanted.step):
            part = slice(at, min(at + wanted.block_rows * wanted.step, stop), wanted.step)
            yield RowBlock(
                block.rows[part],
                None if block.sequence is None else block.sequence[part],
                None if block.times is None else block.times[part],
                seen + at,
                wanted.step,
                tuple(one[part] for one in block.labels),
            )
        seen += len(block)
        if wanted.stop is not None and seen >= wanted.stop:
            return


def flat(values: Any) -> Any:
    """Return rows of two dimensions: of a series, of a table, or of images and the like.

    >>> flat(np.zeros((5, 2, 3))).shape, flat(np.zeros(4)).shape
    ((5, 6), (4, 1))
    """
    if not hasattr(values, "reshape"):  # xarray's
        values = np.asarray(values)
    if values.ndim == 2:
        return values
    return values.reshape(len(values), row_width(values.shape))


def row_width(shape: Sequence[int]) -> int:
    """Return how many numbers each row of an array of this shape has."""
    return prod(map(int, shape[1:]))


def check_shape(shape: tuple[int, ...], itemsize: int, name: str) -> None:
    """Raise if an array has no rows of numbers, or rows larger than LARGEST_ROW."""
    if len(shape) == 0:
        raise StreamError(f"{name} holds a single number. Pass rows.")
    width = row_width(shape)
    if width == 0:
        raise StreamError(f"{name} has shape {shape}: its rows hold no numbers.")
    if width * max(itemsize, 1) > LARGEST_ROW:
        raise StreamError(
            f"{name} has shape {shape}: one row takes {width * itemsize / 2**20:.0f} MB. Transpose "
            "it, or write fewer columns."
        )


#: Kinds of values that are no real numbers, by NumPy's letter.
KINDS = {"O": "Python objects", "c": "complex numbers", "V": "records", "M": "dates", "m": "spans"}


def check_kind(dtype: np.dtype[Any], name: str) -> None:
    """Raise if values of this type are not real numbers."""
    if dtype.kind not in "biuf":
        what = KINDS.get(dtype.kind, "text")
        raise StreamError(
            f"{name} holds {what} ({str(dtype)[:40]}), not real numbers. Convert it first; objects "
            "are never unpickled."
        )


def as_floats(values: Any, dtype: np.dtype[Any] | None, name: str, first_row: int = 0) -> Any:
    """Return rows as float32 or float64 of this machine's byte order, copied only if need be.

    float32 stays so, everything else becomes float64, unless a ``dtype`` is asked for.

    >>> as_floats(np.array([[1, 2]], ">i2"), None, "x").dtype
    dtype('float64')
    """
    values = unmasked(values)
    if values.dtype.kind == "O":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise StreamError(_no_number(values, name, first_row)) from None
    check_kind(values.dtype, name)
    if dtype is None:
        dtype = np.dtype(
            np.float32 if values.dtype.itemsize == 4 and values.dtype.kind == "f" else np.float64
        )
    if is_sparse(values):
        return values.tocsr().astype(dtype, copy=False)
    return np.ascontiguousarray(values, dtype)


def _no_number(values: Any, name: str, first_row: int) -> str:
    for row, line in enumerate(values, first_row):
        for column, value in enumerate(line):
            try:
                float(value)
            except (TypeError, ValueError):
                return f"{name} holds {value!r:.40} at row {row}, column {column}: no number."
    return f"{name} holds what is no number."


def rows_of_chunk(row_bytes: int, chunk_bytes: int) -> int:
    """Return how many rows a chunk takes that may take so much.

    >>> [rows_of_chunk(size, 1 << 25) for size in (1000, 20_000, 1 << 20)]
    [8388, 1024, 32]
    """
    most = chunk_bytes // row_bytes
    return min(max(most // 4, min(most, MANY_ROWS), 1), MOST_ROWS)
