"""Gram matrices: made in place, checked, and compared with the scale of the data."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import blas
from scipy.spatial.distance import cdist

from eigenstream._checks import warn_user
from eigenstream._linalg import Float64s, row_squares
from eigenstream.learners.pairs._hashes import row_hashes

#: Rows whose mutual distances stand for all when their median is taken.
MEDIAN_ROWS = 1000

#: Above this product of gamma and the median squared distance nearly all kernel values vanish and
#: the Gram matrix nears the identity: every point is far from every other, whatever its class.
IDENTITY_ABOVE = 5.0

#: The best results of the paper's tasks come with products from 0.5 to 2: for rotated letters
#: anywhere there, for scaled ones at the upper end, for both motions at once at 0.7.
GOOD_PRODUCT = 0.7

#: Kernel values made at a time: 32 MB.
KERNEL_VALUES = 1 << 22


def median_square(rows: Float64s) -> float:
    """Return the median squared distance between distinct rows (of up to 1000, by their hashes).

    A kernel ``exp(-gamma |x - y|^2)`` is neither flat nor sharp where gamma times this is near 1.

    >>> median_square(np.array([[0.0], [1.0], [3.0], [3.0]]))
    4.0
    """
    # Neither the order of the rows nor their repetition makes a difference.
    some = rows[np.unique(row_hashes(rows), return_index=True)[1][:MEDIAN_ROWS]]
    squares = cdist(some, some, "sqeuclidean")[np.tril_indices(len(some), -1)]
    squares = squares[squares > 0]
    return float(np.median(squares)) if squares.size else 0.0


def resolved_gamma(gamma: float | None, rows: Float64s) -> float:
    """Return the kernel's sharpness, by default 0.7 over the median squared distance.

    Warns of one that makes the Gram matrix nearly the identity.
    """
    median = median_square(rows)
    if gamma is None:
        return GOOD_PRODUCT / median if median > 0 else 1.0
    _check_sharpness(gamma, median, "gamma=None")
    return float(gamma)


def check_map(features: Any) -> None:
    """Warn of a learned map by prototypes (such as RBFNetwork) whose kernel is as sharp as that."""
    gamma, prototypes = (getattr(features, name, None) for name in ("gamma_", "prototypes_"))
    if gamma is not None and prototypes is not None:
        _check_sharpness(gamma, median_square(prototypes), "gamma='median'")


def _check_sharpness(gamma: float, median: float, other: str) -> None:
    if gamma * median > IDENTITY_ABOVE:
        warn_user(
            f"gamma * median|x - x'|^2 = {gamma * median:.3g}, so the Gram matrix is nearly the "
            f"identity and the classes are hard to learn from it; values from 0.5 to 2 work best: "
            f"try gamma={GOOD_PRODUCT / median:.3g}, or {other}."
        )


def check_gram(values: Any) -> None:
    """Refuse a precomputed kernel that is not square or not symmetric."""
    if values.shape[0] != values.shape[1]:
        raise ValueError(f"a precomputed kernel must be square, (n, n); got {values.shape}.")
    apart = np.abs(values - values.T)
    if apart.max() > 1e-8 * max(np.abs(values).max(), np.finfo(float).tiny):
        i, j = np.unravel_index(int(apart.argmax()), values.shape)
        raise ValueError(
            f"the precomputed kernel is not symmetric: entries ({i}, {j}) and ({j}, {i}) differ. "
            "Pass a symmetric one, such as (K + K.T) / 2."
        )


def gram(rows: Float64s, kernel: str, gamma: float) -> Float64s:
    """Return the Gram matrix of rows, lower triangle, Fortran-ordered: good for workspace.

    >>> gram(np.array([[0.0], [1.0]]), "rbf", 1.0).round(3)
    array([[1.   , 0.   ],
           [0.368, 1.   ]])
    """
    centred = rows if kernel == "linear" else rows - rows.mean(axis=0)
    products = np.asarray(blas.dsyrk(1.0, np.asarray(centred.T, np.float64), trans=1, lower=1))
    if kernel == "linear":
        return products
    squares = np.diagonal(products).copy()
    step = max(KERNEL_VALUES // max(len(rows), 1), 1)
    for start in range(0, len(rows), step):
        stop = min(start + step, len(rows))
        block = products[start:, start:stop]
        _to_kernel(block, squares[start:], squares[start:stop], gamma)
        block[:] = np.tril(block)
    np.fill_diagonal(products, 1.0)
    return products


def _to_kernel(products: Float64s, left: Float64s, right: Float64s, gamma: float) -> Float64s:
    """Turn inner products into exp(-gamma |x - y|^2) in place, given the squared norms."""
    products *= 2.0
    products -= left[:, None]
    products -= right
    np.minimum(products, 0.0, out=products)  # rounding may leave a distance below zero
    products *= gamma
    return np.asarray(np.exp(products, out=products))


def rbf_with(points: Float64s, gamma: float) -> Callable[[Any], Float64s]:
    """Return the function that takes rows x to exp(-gamma |x - p|^2) for all the points p.

    Like ``gram`` by one matrix product, about the points' mean, so that little cancels.

    >>> rbf_with(np.array([[0.0], [1.0]]), 1.0)(np.array([[0.0]])).round(3)
    array([[1.   , 0.368]])
    """
    center = points.mean(axis=0)
    fixed = points - center
    squares = row_squares(fixed)

    def values(rows: Any) -> Float64s:
        moved = rows.astype(np.float64) - center
        out = moved @ fixed.T
        return _to_kernel(out, row_squares(moved), squares, gamma)

    return values
