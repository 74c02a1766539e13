"""Eigenvectors of tridiagonal matrices, many at a time."""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit

__all__ = ["twisted_vectors"]

#: Pivots below this share of the largest entry are taken for it: less than rounding of the matrix.
PIVOT = 1e-20

#: Entries of a vector below this are taken for 0, before their squares leave the normal numbers.
NOTHING = 1e-100


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def twisted_vectors(diagonal: Any, beside: Any, values: Any) -> Any:
    """Return a vector of length 1, a column, for each of some eigenvalues.

    The matrix is factored from its first row and from its last one, and the two halves meet where
    the pivot is smallest: an eigenvector has a large entry there, and the others follow from it by
    products alone. Eigenvalues known to rounding give residuals of rounding so, and vectors that
    are orthogonal as far as rounding is small beside the gaps between their values: vectors of
    equal ones are the same [TWISTED]. Columns do not need each other, so that the loops over them
    are vector instructions.

    >>> diagonal, beside = np.array([2.0, 2.0, 2.0]), np.array([1.0, 1.0])
    >>> vectors = twisted_vectors(diagonal, beside, np.array([2.0 + np.sqrt(2.0)]))
    >>> np.abs(vectors[:, 0]).round(6)
    array([0.5     , 0.707107, 0.5     ])
    """
    n, k = diagonal.shape[0], values.shape[0]
    up, down, out = np.empty((n, k)), np.empty((n, k)), np.empty((n, k))
    pivot, least, twist, size = np.empty(k), np.empty(k), np.empty(k), np.zeros(k)
    floor = abs(diagonal[n - 1])
    for i in range(n - 1):
        floor = max(floor, abs(diagonal[i]), abs(beside[i]))
    floor *= PIVOT
    for j in range(k):
        pivot[j] = diagonal[0] - values[j]
    for i in range(n - 1):
        for j in range(k):
            out[i, j] = pivot[j]
            factor = beside[i] / (pivot[j] if abs(pivot[j]) > floor else floor)
            up[i, j] = factor
            pivot[j] = (diagonal[i + 1] - values[j]) - factor * beside[i]
    for j in range(k):
        least[j], twist[j] = abs(pivot[j]), n - 1
        pivot[j] = diagonal[n - 1] - values[j]
    for i in range(n - 2, -1, -1):
        for j in range(k):
            factor = beside[i] / (pivot[j] if abs(pivot[j]) > floor else floor)
            down[i, j] = factor
            of_rest = factor * beside[i]
            here = abs(out[i, j] - of_rest)  # the pivot of a twist in this row
            pivot[j] = (diagonal[i] - values[j]) - of_rest
            nearer = here < least[j]
            twist[j] = i if nearer else twist[j]
            least[j] = here if nearer else least[j]
    for j in range(k):
        out[n - 1, j] = 1.0 if twist[j] == n - 1 else 0.0
    for i in range(n - 2, -1, -1):
        for j in range(k):
            entry = -up[i, j] * out[i + 1, j]
            entry = entry if i < twist[j] and abs(entry) > NOTHING else 0.0
            out[i, j] = 1.0 if i == twist[j] else entry
    for j in range(k):
        size[j] = out[0, j] * out[0, j]
    for i in range(n - 1):
        for j in range(k):
            entry = -down[i, j] * out[i, j]
            entry = entry if abs(entry) > NOTHING else 0.0
            entry = entry if i >= twist[j] else out[i + 1, j]
            out[i + 1, j] = entry
            size[j] += entry * entry
    for j in range(k):
        size[j] = 1.0 / np.sqrt(size[j])
    for i in range(n):
        for j in range(k):
            out[i, j] *= size[j]
    return out
