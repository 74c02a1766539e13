"""Readers of arrays, of sparse matrices, and of iterables of chunks."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from math import prod

import numpy as np

from eigenstream.core.checks import is_sparse
from eigenstream.core.types import Piece, Source
from eigenstream.rows.chunk import Chunk
from eigenstream.rows.door import kinds_of, native
from eigenstream.streams.base import Request, RowTable, SlicedTable, StreamError, one_line
from eigenstream.streams.tables import ColumnTable, names_of, of_frame


class Held(SlicedTable):
    """The rows of an array, a sparse matrix, or another object that is sliced by rows."""

    def __init__(self, rows: Piece, name: str) -> None:
        self.rows, self.name = rows, name
        self.describe(rows.shape, np.float64 if rows.dtype.kind == "O" else rows.dtype)

    def opened(self) -> AbstractContextManager[Piece]:
        """Return the rows themselves."""
        return nullcontext(self.rows)


class Annotated(Held):
    """The matrix ``X`` of an AnnData object in memory or on disk, with the names of the genes."""

    def __init__(self, source: Source, name: str) -> None:
        if source.X is None:
            raise StreamError(f"{name} has no X. Pass a layer, such as adata.layers['a'].")
        super().__init__(source.X, name)
        names = tuple(map(str, source.var_names))
        self.columns = names if len(set(names)) == len(names) else ()

    def array(self) -> Piece:
        """Return the matrix if it is in memory."""
        return self.rows if is_sparse(self.rows) or isinstance(self.rows, np.ndarray) else None


class Chunks(ColumnTable):
    """The rows of an iterable of chunks, or of a function that returns a new iterable.

    An iterator can be read once. Of pairs (inputs, labels) of a loader, the inputs are used.
    """

    def __init__(self, source: Iterable[Piece] | Callable[[], Iterable[Piece]], name: str) -> None:
        self.source, self.name = source, name
        self.rereadable = callable(source) or not isinstance(source, Iterator)
        # The first chunk determines the columns. The first pass yields it again.
        chunks = self._started()
        first = next(chunks, None)
        if first is None:
            raise StreamError(f"{name} yields no chunks. Pass an iterable with at least one.")
        rows = rows_of(first, f"chunk 0 of {name}")
        self._begun: Iterator[Piece] | None = chain([rows], chunks)
        if "frame" in kinds_of(rows):
            self.name_columns(names_of(rows))
        else:
            numbers = np.float64 if rows.dtype.kind == "O" else rows.dtype
            self.describe((max(rows.shape[0], 1), *rows.shape[1:]), numbers)
            self.n_rows = None
            if rows.shape[2:] == (3,):  # points in space, such as the atoms of a trajectory
                self.columns = tuple(f"{c}{k}" for k in range(rows.shape[1]) for c in "xyz")

    def _started(self) -> Iterator[Piece]:
        return iter(self.source() if callable(self.source) else self.source)

    def pieces(self, request: Request) -> Iterator[Piece]:
        """Yield the chunks as data frames, Arrow records or arrays."""
        chunks, self._begun = self._begun or self._started(), None
        for number, chunk in enumerate(chunks):
            name = f"chunk {number} of {self.name}"
            rows = rows_of(chunk, name)
            if "frame" in kinds_of(rows):
                if set(names_of(rows)) != set(self.columns):
                    raise StreamError(f"{name} has other columns than the first chunk.")
            elif prod(rows.shape[1:]) != self.width:
                columns = f"{prod(rows.shape[1:])} columns, and the first has {self.width}"
                raise StreamError(f"{name} has {columns}.")
            yield rows

    def picked(self, piece: Piece, request: Request) -> Chunk:
        """Return the requested columns of a chunk."""
        if "frame" in kinds_of(piece):
            return of_frame(piece, self.columns, request, self.name)
        return RowTable.picked(self, piece, request)


def rows_of(chunk: Piece, name: str) -> Piece:
    """Return a chunk of an iterable as a data frame, Arrow records or an array of rows."""
    if isinstance(chunk, list | tuple) and chunk and "torch" in kinds_of(chunk[0]):
        chunk = chunk[0]  # inputs and labels of a loader
    chunk = getattr(chunk, "xyz", chunk)  # of mdtraj
    if hasattr(chunk, "positions"):  # one frame of MDAnalysis, whose buffer is used again
        chunk = np.array(chunk.positions)[None]
    rows = array_of(native(chunk), name)
    if "frame" not in kinds_of(rows) and rows.ndim < 2:
        advice = "Pass chunk[None] for a single row, chunk[:, None] for a series."
        raise StreamError(f"{name} has shape {rows.shape}, not (n, n_features). {advice}")
    return rows


def array_of(rows: Piece, name: str) -> Piece:
    """Return lists and tensors as arrays. Other objects with rows are returned unchanged."""
    if is_sparse(rows):
        return rows.tocsr()
    if "frame" in kinds_of(rows):
        return rows
    try:
        return np.asanyarray(rows)  # preserves masked arrays
    except ValueError as error:
        raise StreamError(f"{name} has rows of different lengths: {one_line(error)}.") from None


def blocks_of_dask(data: Piece, name: str) -> Callable[[], Iterator[Piece]]:
    """Return a function that computes the blocks of a Dask array or frame in order."""
    kinds = kinds_of(data)
    if "partitioned" in kinds:  # one block of an array has all columns of its rows
        n = data.numblocks[0] if "array" in kinds else data.npartitions
        return lambda: (data.partitions[k].compute() for k in range(n))
    raise TypeError(f"{name} is a delayed value. Use dask.array.from_delayed(value, shape, float).")
