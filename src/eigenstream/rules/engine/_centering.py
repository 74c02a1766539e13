"""From the rows of a block to the input vectors of its steps, and back.

Step t's first vector is row ``now[t]`` less a running mean of the rows of the steps before,
m <- (1 - s) m + s row with s = ``shares[t]``; its second, if there are pasts, is row ``now[t]``
less row ``past[t]``, which needs no centring. All is done on inner products and coefficients: the
vectors are never formed.
"""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.engine._tuples import Makeup

__all__ = ["input_products", "mean_coefficients", "row_coefficients"]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def mean_coefficients(makeup: Makeup, n: int) -> Any:
    """Return the coefficients on ``n`` rows of the running mean after the block, as one row."""
    now, shares, origin = makeup.now, makeup.shares, makeup.origin
    mean = np.zeros((1, n))
    left = 1.0
    for t in range(now.shape[0] - 1, -1, -1):
        mean[0, now[t]] = left * shares[t]
        left *= 1.0 - shares[t]
    if origin >= 0:
        mean[0, origin] = left
    return mean


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _of_vectors(table: Any, makeup: Makeup) -> Any:
    """Turn a table that is linear in the block's rows, one a row, into that of input vectors."""
    now, past, shares, origin = makeup
    r, width = 2 if past.shape[0] else 1, table.shape[1]
    out = np.empty((r * now.shape[0], width))
    mean = np.zeros(width)
    if origin >= 0:
        for j in range(width):
            mean[j] = table[origin, j]
    for t in range(now.shape[0]):
        row, first = table[now[t]], out[r * t]
        if shares.shape[0]:
            for j in range(width):
                first[j] = row[j] - mean[j]
                mean[j] += shares[t] * first[j]
        else:
            for j in range(width):
                first[j] = row[j]
        if past.shape[0]:
            before, second = table[past[t]], out[r * t + 1]
            for j in range(width):
                second[j] = row[j] - before[j]
    return out


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def input_products(products: Any, start: int, makeup: Makeup) -> Any:
    """Return the inner products of the input vectors, given those of the rows: (cross, gram).

    ``products`` (n, start + n) holds the rows' with ``start`` other vectors, then with themselves;
    so does the wider ``cross``, with the rows.
    """
    cross = _of_vectors(products, makeup)
    n, slots = products.shape[0], cross.shape[0]
    with_rows = np.empty((n, slots))
    for i in range(slots):
        for k in range(n):
            with_rows[k, i] = cross[i, start + k]
    return cross, _of_vectors(with_rows, makeup)


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def row_coefficients(moved: Any, n: int, makeup: Makeup) -> Any:
    """Return the weights' coefficients on the rows, given those on the input vectors.

    This is the transpose of the map from rows to vectors, so the recursion of the mean runs back.
    """
    now, past, shares, origin = makeup
    paired, centred = past.shape[0] > 0, shares.shape[0] > 0
    d = moved.shape[0]
    r = 2 if paired else 1
    lift = np.zeros((d, n))
    for k in range(d):
        later = 0.0
        for t in range(now.shape[0] - 1, -1, -1):
            value = moved[k, d + r * t]
            at = now[t]
            share = shares[t] if centred else 0.0
            lift[k, at] += value + share * later
            later = (1.0 - share) * later - value
            if paired:
                value = moved[k, d + r * t + 1]
                lift[k, at] += value
                lift[k, past[t]] -= value
        if origin >= 0:
            lift[k, origin] += later
    return lift
