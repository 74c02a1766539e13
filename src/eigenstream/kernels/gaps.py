"""Conditional means of missing values, and their conditional covariances."""

import numpy as np

from eigenstream.core.linalg import Float64s
from eigenstream.kernels.base import njit


@njit(cache=True, nogil=True, error_model="numpy")
def fill(
    u: Float64s,
    pulls: Float64s,
    present: np.ndarray,
    order: np.ndarray,
    patterns: np.ndarray,
    weights: Float64s,
    precision: Float64s,
    extra: Float64s,
) -> None:
    """Fill missing values of some rows, and add the lower triangle of their covariances.

    ``order`` has the numbers of the rows, sorted by their ``patterns`` of gaps. ``pulls`` are the
    rows with 0 for missing values, times the ``precision``.
    """
    width = u.shape[1]
    columns = np.empty(width, np.int64)
    root = np.empty((width, width))
    inverse = np.empty((width, width))
    n = 0
    for place in range(len(order)):
        row = order[place]
        if place == 0 or patterns[row] != patterns[order[place - 1]]:
            n = 0
            for j in range(width):
                if not present[row, j]:
                    columns[n] = j
                    n += 1
            # The Cholesky factor of the precision of the missing columns, and its inverse.
            for i in range(n):
                for j in range(i + 1):
                    total = precision[columns[i], columns[j]]
                    for k in range(j):
                        total -= root[i, k] * root[j, k]
                    # No pivot is below 1 / (greatest eigenvalue), except by rounding.
                    if i == j:
                        root[i, j] = np.sqrt(max(total, 0.5 / width))
                    else:
                        root[i, j] = total / root[j, j]
            for j in range(n):
                for i in range(j, n):
                    total = 1.0 if i == j else 0.0
                    for k in range(j, i):
                        total -= root[i, k] * inverse[k, j]
                    inverse[i, j] = total / root[i, i]
            # The inverse of the precision, in the upper triangle with the diagonal of ``root``.
            for i in range(n):
                for j in range(i, n):
                    total = 0.0
                    for k in range(j, n):
                        total += inverse[k, i] * inverse[k, j]
                    root[i, j] = total
        for i in range(n):
            total = 0.0
            for j in range(n):
                total -= (root[i, j] if i <= j else root[j, i]) * pulls[row, columns[j]]
            u[row, columns[i]] = total
            for j in range(i + 1):
                extra[columns[i], columns[j]] += weights[row] * root[j, i]
