"""Kernel eigenproblems over pairs: the Gram matrix is factored once and never decomposed."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from eigenstream._checks import is_sparse
from eigenstream._linalg import Float64s, Floats, length
from eigenstream.scatters.laplacians import Laplacian
from eigenstream.solvers.base import Eigenpairs

#: Columns that a Laplacian is applied to at a time.
COLUMNS = 512

#: A pivot below this times the size and the largest diagonal entry is rounding.
PIVOT_CUT = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Factor:
    """``G = F F^T`` with F lower trapezoidal after a reordering of the points.

    The rows of F are the points in coordinates of the kernel's own feature space: T becomes
    ``F^T L F`` with the pairs' Laplacian L, as for any other points (MATH: G A G g = lambda G g).
    The order is by pivots, so that the first r columns are the Nystroem features of the r points
    that explain most, greedily.
    """

    #: Fortran-ordered (m, m); columns past the rank and the upper triangle are zero.
    lower: Float64s
    #: lower's row k belongs to point order[k].
    order: NDArray[np.intp]
    rank: int

    def times(self, vector: Float64s) -> Float64s:
        """Return F @ vector, by point."""
        out = np.empty(len(self.order))
        if self.rank == len(self.order):
            out[self.order] = blas.dtrmv(self.lower, vector, lower=1)
        else:
            out[self.order] = self.lower[:, : self.rank] @ vector
        return out

    def transposed_times(self, values: Float64s) -> Float64s:
        """Return F^T @ values, the values given by point."""
        if self.rank == len(self.order):
            product = blas.dtrmv(self.lower, values[self.order], lower=1, trans=1)
        else:
            product = self.lower[:, : self.rank].T @ values[self.order]
        return np.asarray(product, np.float64)

    def leading(self, n_columns: int) -> Float64s:
        """Return the first columns of F, rows by point (a copy)."""
        columns = np.empty((len(self.order), min(n_columns, self.rank)))
        columns[self.order] = self.lower[:, : columns.shape[1]]
        return columns


def factor(gram: Floats, *, overwrite: bool = False) -> Factor:
    """Factor a positive semidefinite Gram matrix by Cholesky with pivoting, revealing its rank.

    Only the lower triangle is read. With ``overwrite`` a Fortran-ordered float64 matrix serves as
    workspace and is lost.

    >>> factor(np.array([[4.0, 2.0], [2.0, 1.0]])).rank
    1
    >>> factor(np.array([[1.0, 2.0], [2.0, 1.0]]))
    Traceback (most recent call last):
        ...
    ValueError: the kernel is not positive semidefinite: ...
    """
    size = len(gram)
    diagonal = np.array(np.diagonal(gram), dtype=np.float64)
    largest = float(diagonal.max(initial=0.0))
    probe = np.random.default_rng(0).standard_normal(size)
    image = np.asarray(blas.dsymv(1.0, gram, probe, lower=1), np.float64)
    lowest = float(diagonal.min(initial=0.0))
    if lowest < -np.sqrt(PIVOT_CUT) * max(largest, -lowest):
        raise _not_positive(f"its diagonal has the entry {lowest:.3g}")
    cut = max(size * PIVOT_CUT * largest, np.finfo(np.float64).tiny)
    lower, pivots, rank, _ = lapack.dpstrf(gram, tol=cut, lower=1, overwrite_a=int(overwrite))
    order = np.asarray(pivots, dtype=np.intp) - 1
    for column in range(1, size):  # what LAPACK leaves above the diagonal is not part of F
        lower[:column, column] = 0.0
    lower[:, rank:] = 0.0
    found = Factor(lower, order, int(rank))
    # A pivot that is not positive ends the factorisation also where the kernel is to blame.
    missed = length(found.times(found.transposed_times(probe)) - image)
    scale = max(largest, length(image) / max(np.sqrt(size), 1.0))
    if missed > 1e-7 * scale * np.sqrt(size):
        raise _not_positive(f"a factor F F^T misses it by {missed / (scale * np.sqrt(size)):.2g}")
    return found


def _not_positive(what: str) -> ValueError:
    return ValueError(
        f"the kernel is not positive semidefinite: {what} (relative to its size). Use a positive "
        "semidefinite kernel, or add a constant to the diagonal of the Gram matrix."
    )


@dataclass
class PairOperator:
    """``T = Z^T (reward L_different - penalty L_same) Z`` over points Z, for any weights.

    The points are rows of data, dense or sparse, or a kernel's factor: one code for all. Pairs are
    of differences, so that rows are taken about their mean, which would cancel otherwise.
    """

    points: Any
    pairs: Laplacian
    mean: Float64s = field(init=False)

    def __post_init__(self) -> None:
        self.mean = np.zeros(self.n_features)
        if not isinstance(self.points, Factor) and self.points.shape[0]:
            self.mean = np.asarray(self.points.mean(axis=0, dtype=np.float64)).ravel()

    @property
    def n_features(self) -> int:
        """The size of T."""
        rank = self.points.rank if isinstance(self.points, Factor) else self.points.shape[1]
        return int(rank)

    def most_positive(self, reward: float, penalty: float) -> int:
        """Return a number that positive eigenvalues of T cannot exceed."""
        return min(self.pairs.most_positive(reward, penalty), self.n_features)

    def matrix(self, reward: float, penalty: float) -> Float64s:
        """Return T, formed, in the memory of one matrix beside the points."""
        rows, size = self.points, self.n_features
        factored = isinstance(rows, Factor)
        total = np.empty((rows.lower.shape[0] if factored else rows.shape[0], size), order="F")
        for start in range(0, size, COLUMNS):
            part = slice(start, min(start + COLUMNS, size))
            if factored:
                block = np.empty((len(rows.order), part.stop - start))
                block[rows.order] = rows.lower[:, part]
                total[:, part] = self.pairs.apply(block, reward, penalty)[rows.order]
            else:
                block = rows[:, part]
                block = (block.toarray() if is_sparse(block) else block) - self.mean[part]
                total[:, part] = self.pairs.apply(block, reward, penalty)
        if factored and size == len(rows.order):
            total = blas.dtrmm(1.0, rows.lower, total, lower=1, trans_a=1, overwrite_b=1)
        else:
            left = np.outer(self.mean, total.sum(axis=0))
            total = (rows.lower[:, :size] if factored else rows).T @ total - left
        total += total.T.copy()
        total *= 0.5
        return np.asarray(total, np.float64)

    def apply(self, vector: Float64s, reward: float, penalty: float) -> Float64s:
        """Return T @ vector."""
        points, flat = self.points, vector.ravel()
        if isinstance(points, Factor):
            there = self.pairs.apply(points.times(flat), reward, penalty)
            return points.transposed_times(there)
        projected = np.asarray(points @ flat, np.float64) - self.mean @ flat
        there = self.pairs.apply(projected, reward, penalty)
        return np.asarray(points.T @ there - self.mean * there.sum(), np.float64)

    def coefficients(self, pairs: Eigenpairs, weights: tuple[float, float]) -> Float64s:
        """Return g, one column a vector, with ``v = sum_i g_i psi(x_i)``.

        Applied to T v = lambda v, that reads g = L F v / lambda: no inverse of F is needed.
        """
        columns = []
        for value, vector in zip(pairs.values, pairs.vectors.T, strict=True):
            row = np.ascontiguousarray(vector)
            there = self.pairs.apply(self.points.times(row), *weights)
            columns.append(there / value if value != 0.0 else 0.0 * there)
        shape = (len(self.points.order), 0)
        return np.column_stack(columns) if columns else np.empty(shape)


def shrunk(matrix: Float64s, shrinkage: float | None) -> Float64s:
    """Return ``(1 - s) matrix + s * mean eigenvalue * I``, or the matrix for None.

    >>> shrunk(np.diag([2.0, 0.0]), 0.5).tolist()
    [[1.5, 0.0], [0.0, 0.5]]
    """
    if shrinkage is None or len(matrix) == 0:
        return matrix
    mean = float(np.trace(matrix)) / len(matrix)
    return np.asarray((1.0 - shrinkage) * matrix + shrinkage * mean * np.eye(len(matrix)))


def back_substituted(found: Factor, vectors: Float64s) -> Any:
    """Return g with ``F_top^T g = vectors`` for the pivot points, zero elsewhere.

    For vectors that are not eigenvectors of T, such as those of a ratio.
    """
    pivot = found.lower[: found.rank, : found.rank]
    solved, _ = lapack.dtrtrs(pivot, vectors, lower=1, trans=1)
    g = np.zeros((len(found.order), vectors.shape[1]))
    g[found.order[: found.rank]] = solved
    return g
