"""Angles between subspaces, and the share of the best objective."""

import numpy as np
from numpy.typing import ArrayLike

from eigenstream._checks import check_finite, real_array
from eigenstream._linalg import Float64s, orthonormalized, principal_angles


def subspace_angles(left: ArrayLike, right: ArrayLike) -> Float64s:
    """Return the principal angles between two column spans, in radians, largest first.

    Columns span the subspaces, as in the processes' ``subspace``. Pass ``components_.T`` of an
    estimator.

    >>> subspace_angles([[1.0], [0.0]], [[0.0], [1.0]]).round(4)
    array([1.5708])
    """
    a, b = _columns(left, "left"), _columns(right, "right")
    if len(a) != len(b):
        raise ValueError(
            f"left has columns of length {len(a)} and right of length {len(b)}. "
            "Pass components_.T, not components_."
        )
    return principal_angles(a, b)


def captured(basis: ArrayLike, operator: ArrayLike) -> float:
    """Return the objective of a subspace divided by the best objective of its dimension.

    The objective of the projector P on the span of the columns is ``<P, T>``. Its maximum is the
    sum of the d largest eigenvalues of the symmetric operator T ([SLOW] Theorem 1). The share is
    at most 1, and negative if the objective is negative.

    >>> captured([[1.0], [0.0]], np.diag([3.0, 4.0]))
    0.75
    """
    columns = _columns(basis, "basis")
    T = real_array(operator, "operator").astype(np.float64, copy=False)
    if T.shape != (len(columns), len(columns)):
        raise ValueError(
            f"operator has shape {T.shape}. "
            f"The basis requires shape ({len(columns)}, {len(columns)})."
        )
    check_finite(T, name="operator")
    V = orthonormalized(columns)
    best = float(np.linalg.eigvalsh(T)[-V.shape[1] :].sum())
    if best <= 0:
        raise ValueError(
            f"The best objective in {V.shape[1]} dimensions is {best:g}, which is not positive. "
            "Use fewer dimensions or a larger alpha."
        )
    return float(np.einsum("ij,ik,kj->", V, T, V, optimize=True)) / best


def _columns(values: ArrayLike, name: str) -> Float64s:
    columns = real_array(values, name).astype(np.float64, copy=False)
    if columns.ndim != 2 or not 0 < columns.shape[1] <= columns.shape[0]:
        raise ValueError(
            f"{name} has shape {columns.shape}. Pass (n_features, d) with d <= n_features, "
            "such as components_.T."
        )
    check_finite(columns, name=name)
    return columns
