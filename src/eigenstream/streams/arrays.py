"""Arrays, memory maps and sparse matrices, as they lie in memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from eigenstream._checks import is_sparse
from eigenstream.streams.base import SlicedTable, StreamError, check_kind, check_shape, row_width


class Held(SlicedTable):
    """An array, memory map, sparse matrix, or anything else that is sliced by rows."""

    def __init__(self, rows: Any, name: str) -> None:
        if not is_sparse(rows) and rows.dtype.kind != "O":
            check_kind(rows.dtype, name)
        shape = tuple(map(int, rows.shape))
        check_shape(shape, rows.dtype.itemsize, name)
        if shape[0] == 0:
            raise StreamError(f"{name} has no rows: its shape is {shape}.")
        self.rows, self.name = rows.tocsr() if is_sparse(rows) else rows, name
        self.n_rows, self.width = shape[0], row_width(np.empty((0, *shape[1:])))
        self.dtype = np.dtype(np.float64) if rows.dtype.kind == "O" else np.dtype(rows.dtype)
        self.row_shape = shape[1:] if len(shape) > 2 else None

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Return the rows themselves."""
        yield self.rows
