"""Arrays, memory maps and sparse matrices in memory, and the blocks of Dask."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from eigenstream._checks import is_sparse
from eigenstream.streams.base import (
    RowBlock,
    RowTable,
    SlicedTable,
    StreamError,
    Wanted,
    check_kind,
    check_shape,
    flat,
    picked,
    row_width,
    rows_within,
)


class Held(SlicedTable):
    """An array, memory map, sparse matrix, or anything else that is sliced by rows."""

    def __init__(self, rows: Any, name: str) -> None:
        self.rows, self.name = rows.tocsr() if is_sparse(rows) else rows, name
        objects = rows.dtype.kind == "O"  # which may be numbers
        self.describe(rows.shape, np.dtype(np.float64) if objects else np.dtype(rows.dtype))

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Return the rows themselves."""
        yield self.rows


class Dask(RowTable):
    """A Dask array, or the partitions of a Dask data frame, computed block by block."""

    def __init__(self, data: Any, name: str) -> None:
        self.data, self.name = data, name
        if not hasattr(type(data), "dask") or not hasattr(type(data), "shape"):
            raise TypeError(
                f"{name} is a delayed value of unknown shape. Pass dask.array.from_delayed(value, "
                "(n, n_features), float)."
            )
        self.frames = hasattr(data, "partitions") and hasattr(data, "columns")
        if self.frames:
            self.columns = tuple(map(str, data.columns))
            self.width = len(self.columns)
            self.dtype = np.dtype(np.float64)
            return
        check_kind(data.dtype, name)
        if data.ndim == 0:
            raise StreamError(f"{name} holds a single number, and rows are due.")
        if any(extent != extent for extent in data.shape[1:]):
            raise StreamError(f"{name} does not know its width: call compute_chunk_sizes() first.")
        self.width = row_width(data.shape)
        check_shape((1, self.width), data.dtype.itemsize, name)
        self.dtype = data.dtype
        rows = data.shape[0]
        self.n_rows = None if rows != rows else int(rows)
        if self.n_rows == 0:
            raise StreamError(f"{name} has no rows.")
        self.row_shape = tuple(map(int, data.shape[1:])) if data.ndim > 2 else None

    def blocks(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Yield the wanted rows, one block of Dask's in memory at a time."""
        yield from rows_within(self._every(wanted), wanted)

    def _every(self, wanted: Wanted) -> Iterator[RowBlock]:
        if self.frames:
            from eigenstream.streams.tables import frame_block

            for number in range(self.data.npartitions):
                frame = self.data.partitions[number].compute()
                yield frame_block(frame, wanted, self.columns or (), self.name)
            return
        # Columns may be cut into blocks, too: those of the same rows are computed together.
        for number in range(self.data.numblocks[0]):
            yield picked(flat(np.asarray(self.data.blocks[number].compute())), wanted)
