"""A matrix as few rewarded directions less all that is penalised."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas

from eigenstream._linalg import Float64s

__all__ = ["Split", "values_of"]


@dataclass(frozen=True)
class Split:
    """``T = P S P^T - C`` with C positive semidefinite and P of few columns.

    >>> Split(np.diag([1.0, 2.0]), np.array([[2.0], [0.0]]), np.eye(1)).times(np.eye(2))
    array([[ 3.,  0.],
           [ 0., -2.]])
    """

    #: The lower triangle of C, Fortran-ordered.
    below: Float64s
    columns: Float64s
    middle: Float64s

    def times(self, block: Float64s) -> Float64s:
        """Return T @ block."""
        spanned = self.columns @ (self.middle @ (self.columns.T @ block))
        return np.asarray(spanned - blas.dsymm(1.0, self.below, block, lower=1))

    def bound(self) -> float:
        """Return what no eigenvalue of T exceeds: the largest of P S P^T."""
        return float(values_of(self.columns, self.middle)[-1])


def values_of(columns: Float64s, middle: Float64s) -> Float64s:
    """Return the eigenvalues of ``columns middle columns^T`` but for zeros, ascending."""
    small = np.asarray(np.linalg.qr(columns, mode="r"))
    return np.asarray(np.linalg.eigvalsh(small @ middle @ small.T))
