"""The nearest unit of each row: products in single precision, then exact sums of squares."""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit

#: Squared distances closer than this, relative to the squares they are made of, are equal.
EQUAL = 16 * 2.0**-52

#: Sums may be reordered, so that they are vectorised. NaN and infinity keep their meaning.
LOOSE = {"reassoc", "contract", "nsz"}

#: Numbers in a block of rows times units: larger blocks leave the cache, smaller ones cost calls.
BLOCK = 2**18

#: Rows longer than this, relative to the longest unit, overflow in single precision.
LONGEST = 1e15


def nearest(X: Any, W: Any) -> tuple[Any, Any]:
    """Return the nearest unit of each row, and the squared distance to it.

    >>> nearest(
    ...     np.array([[1.0, 0.0], [4.0, np.nan]]),
    ...     np.array([[0.0, 0.0], [5.0, 5.0]]),
    ... )
    (array([0, 1]), array([1., 2.]))
    """
    labels, squares = nearest_units(X, W, 1)
    return labels[0], squares[0]


def nearest_units(X: Any, W: Any, count: int) -> tuple[Any, Any]:
    """Return the nearest units of each row and the squared distances, (count, rows).

    Products in single precision rule out most units. Units that their rounding cannot tell apart
    are compared in double precision, so the result is exact; the first of equal units comes first.
    Missing values (NaN) are left out, and the squared distances scaled up to all features.

    >>> nearest_units(np.array([[1.0]]), np.array([[5.0], [2.0], [1.5]]), 2)[
    ...     0
    ... ].tolist()
    [[2], [1]]
    """
    (n, D), K, centre = X.shape, len(W), W.mean(axis=0)
    W, units = np.ascontiguousarray(W, np.float64), W - centre
    labels, squares = np.empty((count, n), np.int64), np.empty((count, n))
    scale = 1.0 / (np.sqrt((units**2).sum(axis=1).max()) or 1.0)
    units *= scale
    # <x, w> - |w|^2 / 2 is largest for the nearest unit: one product with an additional column.
    units = np.column_stack([units, -0.5 * (units**2).sum(axis=1)]).astype(np.float32).T.copy()
    step = min(max(BLOCK // K, 64), 512)
    singles, lengths = np.ones((step, D + 1), np.float32), np.empty(step)
    for start in range(0, n, step):
        here = slice(start, min(start + step, n))
        rows = np.ascontiguousarray(X[here], np.float64)
        _shrink(rows, centre, scale, singles, lengths)
        with np.errstate(invalid="ignore", over="ignore"):
            fields = singles[: len(rows)] @ units
        for best, far in zip(labels[:, here], squares[:, here], strict=True):
            np.argmax(fields, axis=1, out=best)
            _compare_exactly(rows, W, fields, lengths, best, far)
            fields[np.arange(len(rows)), best] = -np.inf
        if np.isnan(lengths[: len(rows)]).any():
            squares[:, here] *= D / np.maximum((~np.isnan(rows)).sum(axis=1), 1)
    return labels, squares


@njit(cache=True, nogil=True, error_model="numpy", fastmath=LOOSE)
def _shrink(rows: Any, centre: Any, scale: float, out: Any, lengths: Any) -> None:
    """Write the centred and scaled rows and their lengths."""
    for t in range(rows.shape[0]):
        total = 0.0
        for j in range(centre.shape[0]):
            value = (rows[t, j] - centre[j]) * scale
            total += value * value
            out[t, j] = value
        lengths[t] = np.sqrt(total)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=LOOSE)
def square(x: Any, w: Any) -> float:
    """Return the squared distance, without missing values.

    >>> square(np.array([1.0, np.nan]), np.array([4.0, 0.0]))
    9.0
    """
    total = 0.0
    for j in range(x.shape[0]):
        gap = x[j] - w[j]
        total += gap * gap if gap == gap else 0.0
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=LOOSE)
def _compare_exactly(X: Any, W: Any, fields: Any, lengths: Any, best: Any, squares: Any) -> None:
    """Compare in double precision the units that rounding may have confused; write the squares.

    Fields of units that have been found are -inf.
    """
    K, D = W.shape
    for t in range(X.shape[0]):
        own, every, count = fields[t], not lengths[t] < LONGEST, np.int32(0)
        # Rounding changes a sum of D + 1 products by at most D + 4 units of 2^-24 times
        # |x| |w| + |w|^2 / 2, with |w| <= 1. Two sums are compared, and the limit is rounded.
        limit = np.float32(own[best[t]] - (D + 8) * 2.0**-23 * (lengths[t] + 1.0))
        for k in range(K):
            count += np.int32(own[k] >= limit)
        if count != 1 or every:  # ``every``: NaN, or too long for single precision
            low = np.inf
            for k in range(K):
                if own[k] >= limit or (every and own[k] != -np.inf):
                    value = square(X[t], W[k])
                    if value < (1.0 - EQUAL) * low:
                        low, best[t] = value, k
        squares[t] = square(X[t], W[best[t]])
