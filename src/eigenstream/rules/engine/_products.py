"""Products of a few vectors with a few rows: too thin for BLAS to be quick at.

BLAS first copies its operands into an order of its own, which pays once each number is used often.
With ten vectors and thirty rows it is not: these loops read the numbers where they are, a panel at
a time so that they stay in the cache, and keep eight sums in registers.

All keep to the columns from ``first`` to ``last``, so that threads can share the work.
"""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit

__all__ = ["add_rows", "products", "turn"]

#: Columns that are taken together: 30 rows of them fit the second-level cache.
PANEL = 1024
#: The same where every two vectors read all rows again: they should fit the first-level cache.
TILE = 256

#: For a plain 0 in a call, numba would compile the function once more.
ZERO: Any = np.int64(0)

#: With more vectors than this BLAS is quicker: at products, and at adding rows.
FEW, FEWER = 64, 16

#: Sums may be reordered, so that they go in parallel; NaN and infinity keep their meaning.
LOOSE = {"reassoc", "contract", "nsz"}


@njit(cache=True, error_model="numpy", fastmath=LOOSE)  # type: ignore[untyped-decorator, unused-ignore]
def _tile(a: Any, i: int, b: Any, k: int, start: int, stop: int, out: Any, column: int) -> None:
    """Add the products of rows i..i+3 of ``a`` with rows k, k + 1 of ``b`` on some columns.

    Beyond the last row the last is taken again, and its product written again.
    """
    last, end = a.shape[0] - 1, b.shape[0] - 1
    i1, i2, i3 = min(i + 1, last), min(i + 2, last), min(i + 3, last)
    k1 = min(k + 1, end)
    a0, a1, a2, a3 = a[i, start:stop], a[i1, start:stop], a[i2, start:stop], a[i3, start:stop]
    b0, b1 = b[k, start:stop], b[k1, start:stop]
    zero = a.dtype.type(0)
    s00 = s01 = s10 = s11 = s20 = s21 = s30 = s31 = zero
    for j in range(stop - start):
        x, y = b0[j], b1[j]
        s00 += a0[j] * x
        s01 += a0[j] * y
        s10 += a1[j] * x
        s11 += a1[j] * y
        s20 += a2[j] * x
        s21 += a2[j] * y
        s30 += a3[j] * x
        s31 += a3[j] * y
    c, c1 = column + k, column + k1
    t00, t01, t10, t11 = out[i, c] + s00, out[i, c1] + s01, out[i1, c] + s10, out[i1, c1] + s11
    t20, t21, t30, t31 = out[i2, c] + s20, out[i2, c1] + s21, out[i3, c] + s30, out[i3, c1] + s31
    out[i, c], out[i, c1], out[i1, c], out[i1, c1] = t00, t01, t10, t11
    out[i2, c], out[i2, c1], out[i3, c], out[i3, c1] = t20, t21, t30, t31


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _panel(rows: Any, start: int, stop: int) -> Any:
    """Return some columns side by side, as BLAS wants them: all of them as they lie."""
    if stop - start == rows.shape[1]:
        return rows
    return rows[:, start:stop].copy()


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
        if head > FEW:
            panel = _panel(rows, start, stop)
            cross = np.dot(panel, _panel(vectors, start, stop).T)
            gram = np.dot(panel, panel.T)
            for i in range(n):
                for k in range(head):
                    out[i, k] += cross[i, k]
                for k in range(n):
                    out[i, head + k] += gram[i, k]
        else:
            for i in range(0, n, 4):
                for k in range(0, head, 2):
                    _tile(rows, i, vectors, k, start, stop, out, ZERO)
                for k in range(0, min(i + 4, n), 2):
                    _tile(rows, i, rows, k, start, stop, out, head)
    for i in range(n):
        for k in range(i):
            out[k, head + i] = out[i, head + k]


@njit(cache=True, error_model="numpy", fastmath={"contract"})  # type: ignore[untyped-decorator, unused-ignore]
def _add_to_two(one: Any, two: Any, rows: Any, start: int, left: Any, right: Any) -> None:
    """Add rows times coefficients, from column ``start`` on, to two stretches."""
    n, width = rows.shape[0], left.shape[0]
    whole, stop = n - n % 4, start + left.shape[0]
    for i in range(0, whole, 4):
        r0, r1 = rows[i, start:stop], rows[i + 1, start:stop]
        r2, r3 = rows[i + 2, start:stop], rows[i + 3, start:stop]
        f0, f1, f2, f3 = one[i], one[i + 1], one[i + 2], one[i + 3]
        g0, g1, g2, g3 = two[i], two[i + 1], two[i + 2], two[i + 3]
        # Added one after the other, each term is one instruction.
        for j in range(width):
            x, y, z, w = r0[j], r1[j], r2[j], r3[j]
            left[j] = (((left[j] + f0 * x) + f1 * y) + f2 * z) + f3 * w
            right[j] = (((right[j] + g0 * x) + g1 * y) + g2 * z) + g3 * w
    for i in range(whole, n):
        r0 = rows[i, start:stop]
        for j in range(width):
            left[j] += one[i] * r0[j]
            right[j] += two[i] * r0[j]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def add_rows(vectors: Any, coefficients: Any, rows: Any, shift: int, first: int, last: int) -> None:
    """Add ``coefficients @ rows`` to the vectors, ``shift`` columns further on than in the rows.

    >>> vectors = np.array([[1.0, 0.0]])
    >>> add_rows(vectors, np.array([[1.0, 2.0]]), np.eye(2), 0, 0, 2)
    >>> vectors
    array([[2., 2.]])
    """
    d = vectors.shape[0]
    if d > FEWER:
        for start in range(first, last, PANEL):
            stop = min(start + PANEL, last)
            change = np.dot(coefficients, _panel(rows, start, stop))
            for k in range(d):
                for j in range(stop - start):
                    vectors[k, shift + start + j] += change[k, j]
        return
    spare = np.zeros(TILE, vectors.dtype)
    for start in range(first, last, TILE):
        stop = min(start + TILE, last)
        for k in range(0, d, 2):
            # Two at a time; the last of an odd number is paired with a spare that nobody reads.
            left = vectors[k, shift + start : shift + stop]
            right = spare[: stop - start]
            if k + 1 < d:
                right = vectors[k + 1, shift + start : shift + stop]
            other = coefficients[min(k + 1, d - 1)]
            _add_to_two(coefficients[k], other, rows, start, left, right)


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
            for j in range(start, stop):
                vectors[k, j] = 0.0
        add_rows(vectors, mixing, old, start, ZERO, stop - start)
