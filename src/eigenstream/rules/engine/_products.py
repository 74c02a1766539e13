"""Products of a few vectors with a few rows, too thin for BLAS to be quick at.

BLAS first copies its operands into an order of its own, which pays once each number is used often.
With ten vectors and thirty rows it is not: the tiles read the numbers where they are, a panel at a
time so that they stay in the cache, and keep their sums in registers.

All keep to the columns from ``first`` to ``last``, so that threads can share the work.
"""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.engine._tiles import ADDED, TILE, add_tile, dot_tile

__all__ = ["add_rows", "products", "turn"]

#: Columns that are taken together: 30 rows of them fit the second-level cache.
PANEL = 1024
#: The same where several vectors read all rows again: they should fit the first-level cache.
STRETCH = 128

#: For a plain 0 in a call, numba would compile the function once more.
ZERO: Any = np.int64(0)


@njit(cache=True, error_model="numpy", nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def products(vectors: Any, rows: Any, out: Any, first: int, last: int) -> None:
    """Add the inner products of rows with some vectors, then with each other, to ``out``.

    >>> rows, out = np.array([[1.0, 0.0], [1.0, 2.0]]), np.zeros((2, 3))
    >>> products(np.array([[0.0, 3.0]]), rows, out, 0, 2)
    >>> out
    array([[0., 1., 1.],
           [6., 1., 5.]])
    """
    head, n = vectors.shape[0], rows.shape[0]
    for start in range(first, last, PANEL):
        stop = min(start + PANEL, last)
        for i in range(0, n, TILE):
            for k in range(0, head, TILE):
                dot_tile(rows, i, vectors, k, (start, stop), out, ZERO)
            for k in range(0, min(i + TILE, n), TILE):
                dot_tile(rows, i, rows, k, (start, stop), out, head)
    for i in range(n):
        for k in range(i):
            out[k, head + i] = out[i, head + k]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def add_rows(vectors: Any, coefficients: Any, rows: Any, shift: int, first: int, last: int) -> None:
    """Add ``coefficients @ rows`` to the vectors, ``shift`` columns further on than in the rows.

    >>> vectors = np.array([[1.0, 0.0]])
    >>> add_rows(vectors, np.array([[1.0, 2.0]]), np.eye(2), 0, 0, 2)
    >>> vectors
    array([[2., 2.]])
    """
    for start in range(first, last, STRETCH):
        stop = min(start + STRETCH, last)
        for k in range(0, vectors.shape[0], ADDED):
            add_tile(vectors, k, shift, coefficients, rows, (start, stop))


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def turn(vectors: Any, mixing: Any, first: int, last: int) -> None:
    """Replace the vectors by ``mixing @ vectors``, a panel at a time: long ones are not copied.

    >>> vectors = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> turn(vectors, np.array([[0.0, 1.0], [1.0, 0.0]]), 0, 2)
    >>> vectors
    array([[0., 2.],
           [1., 0.]])
    """
    for start in range(first, last, PANEL):
        stop = min(start + PANEL, last)
        old = vectors[:, start:stop].copy()
        for k in range(vectors.shape[0]):
            vectors[k, start:stop] = 0.0
        add_rows(vectors, mixing, old, start, ZERO, stop - start)
