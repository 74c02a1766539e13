"""What a block does with its columns, in two passes over them, and how threads share those.

Long rows go through the caches a panel at a time: all that a pass does with a panel, it does while
that is there. Like the products, both passes keep to the columns from ``first`` to ``last``.
"""

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.engine._products import PANEL, ZERO, add_rows, products, turn
from eigenstream.rules.engine._tuples import BlockRows, Update

__all__ = ["add_products", "shared", "update_vectors"]

#: Stripes begin at a multiple of this, so that no two threads write into one cache line.
STEP = 16


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _fetch(block: BlockRows, first: int, last: int) -> None:
    """Write the picked rows less the mean, which is copied to ``shift`` in the rows' precision.

    Where that rounds it, what is left of the mean is one more row of ``out``. Where nothing has
    been averaged yet (``fresh``), any reference near the data keeps their digits: the first row of
    the terms becomes the mean.
    """
    # Loops over slices count from 0, which compiles to vectors.
    picks, rows, width = block.picks, block.out, last - first
    mean, shift = block.mean[first:last], block.shift[first:last]
    n = picks.shape[0]
    if block.fresh:
        row = block.rows[picks[n - 1], first:last]
        for j in range(width):
            mean[j] = row[j]
    for j in range(width):
        shift[j] = mean[j]
    for i in range(n):
        row, out = block.rows[picks[i], first:last], rows[i, first:last]
        for j in range(width):
            out[j] = row[j] - shift[j]
    if rows.shape[0] > n:
        out = rows[n, first:last]
        for j in range(width):
            out[j] = mean[j] - shift[j]


@njit(cache=True, error_model="numpy", nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def add_products(vectors: Any, block: BlockRows, out: Any, first: int, last: int) -> None:
    """Add a block's inner products with the vectors and with itself to ``out``.

    Unless the block is rows as they lie, it is ``fetched`` first: the picked rows less the mean.
    """
    for start in range(first, last, PANEL):
        stop = min(start + PANEL, last)
        if block.fetched:
            _fetch(block, start, stop)
        products(vectors, block.out, out, start, stop)


@njit(cache=True, error_model="numpy", nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def update_vectors(update: Update, block: BlockRows, vectors: Any, first: int, last: int) -> None:
    """Add ``coefficients @ block`` to the vectors, first ``turned`` into ``mixing @ vectors``.

    Where a running mean is kept, it is brought up to date as well.
    """
    rows = block.out
    for start in range(first, last, PANEL):
        stop = min(start + PANEL, last)
        if update.turned:
            turn(vectors, update.mixing, start, stop)
        add_rows(vectors, update.coefficients, rows, ZERO, start, stop)
        if update.mean.shape[1]:
            moved = np.zeros((1, stop - start), rows.dtype)
            add_rows(moved, update.mean, rows, -start, start, stop)
            mean, shift = block.mean[start:stop], block.shift[start:stop]
            for j in range(stop - start):
                mean[j] = np.float64(shift[j]) + moved[0, j]


def shared(function: Callable[..., None], pool: Executor, threads: int) -> Callable[..., None]:
    """Return one of these that gives each thread of a pool, and this thread, a stripe of columns.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> sums = np.zeros((2, 3))
    >>> with ThreadPoolExecutor(1) as pool:
    ...     shared(products, pool, 2)(np.ones((1, 50)), np.ones((2, 50)), sums, 0, 50)
    >>> sums
    array([[50., 50., 50.],
           [50., 50., 50.]])
    """

    def spread(*given: Any) -> None:
        *others, last_array, first, last = given
        width = -(-(last - first) // (threads * STEP)) * STEP
        stripes = [(at, min(at + width, last)) for at in range(first, last, width)]
        # An update writes columns; products are added up over them, each stripe for itself.
        writes = function is update_vectors
        own = [last_array if writes else np.zeros_like(last_array) for _ in stripes]
        calls = [
            pool.submit(function, *others, mine, *stripe)
            for mine, stripe in zip(own[1:], stripes[1:], strict=True)
        ]
        function(*others, own[0], *stripes[0])
        for call in calls:
            call.result()
        if not writes:
            last_array += sum(own)

    return spread
