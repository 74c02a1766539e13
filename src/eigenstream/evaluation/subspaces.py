"""How near a learned subspace is to the wanted one."""

import numpy as np
from numpy.typing import ArrayLike

from eigenstream._checks import check_finite, real_array
from eigenstream._linalg import Float64s, orthonormalized, principal_angles


def subspace_angles(left: ArrayLike, right: ArrayLike) -> Float64s:
    """Return the principal angles between two column spans, in radians, largest first.

    Columns span the subspaces, as in the processes' ``subspace``; an estimator's ``components_``
    are rows: pass their transpose.

    >>> subspace_angles([[1.0], [0.0]], [[0.0], [1.0]]).round(4)
    array([1.5708])
    """
    a, b = _columns(left, "left"), _columns(right, "right")
    if len(a) != len(b):
        raise ValueError(
            f"left has columns of length {len(a)}, right of length {len(b)}; "
            "both must live in one space (pass components_.T, not components_)."
        )
    return principal_angles(a, b)


def captured(basis: ArrayLike, operator: ArrayLike) -> float:
    """Return the share of the best possible objective that a subspace of its dimension reaches.

    The objective of the projector P on the span of the columns is ``<P, T>``; its maximum is the
    sum of the d largest eigenvalues of the symmetric operator T ([SLOW] Theorem 1). T may be
    indefinite, so the share may be negative, but it is never above 1.

    >>> captured([[1.0], [0.0]], np.diag([3.0, 4.0]))
    0.75
    """
    columns = _columns(basis, "basis")
    T = real_array(operator, "operator").astype(np.float64, copy=False)
    if T.shape != (len(columns), len(columns)):
        raise ValueError(
            f"operator must have shape ({len(columns)}, {len(columns)}) to act on the basis, "
            f"got {T.shape}."
        )
    check_finite(T, name="operator")
    V = orthonormalized(columns)
    best = float(np.linalg.eigvalsh(T)[-V.shape[1] :].sum())
    if best <= 0:
        raise ValueError(
            f"the best objective in {V.shape[1]} dimensions is {best:g}, not positive, so a share "
            "of it says nothing; take fewer dimensions or a larger alpha."
        )
    return float(np.einsum("ij,ik,kj->", V, T, V, optimize=True)) / best


def _columns(values: ArrayLike, name: str) -> Float64s:
    columns = real_array(values, name).astype(np.float64, copy=False)
    if columns.ndim != 2 or not 0 < columns.shape[1] <= columns.shape[0]:
        raise ValueError(
            f"{name} must hold independent columns, shape (n_features, d) with d <= n_features, "
            f"got {columns.shape}; pass the transpose of components_."
        )
    check_finite(columns, name=name)
    return columns
