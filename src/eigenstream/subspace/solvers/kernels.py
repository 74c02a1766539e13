"""The solver in the space of a kernel: a feature map whose prototypes are all training rows."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from scipy.linalg import lapack, solve_triangular, svd
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils._param_validation import StrOptions

from eigenstream.core.checks import warn_user
from eigenstream.core.linalg import Float64s, check_fits, length
from eigenstream.core.storable import storable
from eigenstream.core.types import Constraints, LabelsLike, Matrix, RowsLike, Transformer
from eigenstream.subspace.pairs.terms import row_hashes
from eigenstream.subspace.solvers.base import ALPHA, MATRIX, POSITIVE, RATIOS, Problem, Solver
from eigenstream.subspace.sums.accumulators import Moments
from eigenstream.subspace.sums.block import dense

#: The number of rows for the median distance. More rows take more time.
MEDIAN_ROWS = 1000

#: The default product of gamma and the median squared distance. Above the second value the Gram
#: matrix is nearly the identity.
GOOD_PRODUCT, IDENTITY_ABOVE = 0.7, 5.0

#: Pivots below this share of the largest pivot are rounding errors.
RANK_TOLERANCE = 1e-12


#: A fit raises if this number of n x n matrices exceeds the memory. A difference with given weights
#: holds 2 or 3 of them. Ratios that are chosen on held-out classes or pairs hold up to 28.
MATRICES = 8

#: Kernel values computed at a time (32 MB).
GRAM_VALUES = 1 << 22

#: Rows in a strip of the factor. More store more zeros; fewer take more time.
STRIP = 256


def median_square(rows: Matrix) -> float:
    """Return the median squared distance between up to 1000 distinct rows.

    A kernel ``exp(-gamma |x - y|^2)`` works best if gamma times this median is near 1.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n, D)
        The rows.

    Returns
    -------
    float
        The median, or 0.0 if all rows are equal.

    Examples
    --------
    >>> median_square(np.array([[0.0], [1.0], [3.0], [3.0]]))
    4.0
    """
    distinct = rows[np.unique(row_hashes(rows), return_index=True)[1][:MEDIAN_ROWS]]
    squares = pdist(distinct, "sqeuclidean")
    squares = squares[squares > 0]
    return float(np.median(squares)) if squares.size else 0.0


def check_sharpness(gamma: float, median: float, other: str = "gamma=None") -> None:
    """Warn if gamma is so large that the Gram matrix is nearly the identity."""
    if gamma * median > IDENTITY_ABOVE:
        warn_user(
            f"gamma * median|x - x'|^2 = {gamma * median:.3g}, so the Gram matrix is nearly the "
            f"identity. Use gamma={GOOD_PRODUCT / median:.3g} or {other}."
        )


def check_map(features: Transformer) -> None:
    """Warn if the gamma of a map with prototypes, such as RBFNetwork, is too large."""
    gamma, prototypes = (getattr(features, name, None) for name in ("gamma_", "prototypes_"))
    if gamma is not None and prototypes is not None:
        check_sharpness(gamma, median_square(prototypes), "gamma='median'")


def strips_of(factor: Float64s) -> list[Float64s]:
    """Return strips of rows of a lower triangle, without the columns above the diagonal.

    >>> [strip.shape for strip in strips_of(np.eye(600))]
    [(256, 256), (256, 512), (88, 600)]
    """
    firsts = range(0, len(factor), STRIP)
    strips = [factor[first : first + STRIP, : first + STRIP].copy() for first in firsts]
    for first, strip in zip(firsts, strips, strict=True):
        strip[:, first:] = np.tril(strip[:, first:])
    return strips


@storable(
    rows_="any?",
    gamma_="number?",
    order_="i8 r?",
    strips_="list[ndarray]?",
    n_rows_="int?",
    _hashes="-",
    _by_hash="-",
)
class KernelMap(TransformerMixin, BaseEstimator):
    """Map of rows to coordinates whose inner products are the values of the rbf kernel.

    The coordinates are the rows of a pivoted Cholesky factor of the Gram matrix. It is stored in
    strips of rows without most of the zeros above the diagonal.
    """

    def __init__(self, gamma: float | None = None) -> None:
        self.gamma = gamma

    def fit(self, X: RowsLike, y: LabelsLike = None) -> "KernelMap":
        """Factor the Gram matrix of the rows."""
        check_fits(
            8.0 * MATRICES * X.shape[0] ** 2,
            f"The space of a kernel on {X.shape[0]} rows",
            "Use features=RBFNetwork(500), or fewer rows.",
        )
        self.rows_ = dense(X)
        median = median_square(self.rows_)
        self.gamma_ = self.gamma or (GOOD_PRODUCT / median if median > 0 else 1.0)
        if self.gamma is not None:
            check_sharpness(self.gamma, median)
        n = self.rows_.shape[0]
        gram, step = np.empty((n, n)), max(GRAM_VALUES // n, 1)
        for last in range(step, n + step, step):  # the upper triangle is not used
            rows = self.rows_[last - step : last]
            gram[last - step : last, :last] = self._values(rows, last)
        # LAPACK sees the transpose, so an upper factor there is a lower one of contiguous rows.
        upper, order, rank, _ = lapack.dpstrf(gram.T, lower=0, tol=RANK_TOLERANCE, overwrite_a=1)
        self.order_ = (order - 1)[:rank].astype(np.intp)
        self.strips_ = strips_of(upper[:rank, :rank].T)
        self.n_rows_ = n
        self.rows_ = self.rows_[self.order_]
        self._loaded()
        return self

    def _loaded(self) -> None:
        """Sort the hashes of the training rows."""
        ends = [strip.shape[1] for strip in self.strips_]
        if ends != np.cumsum([*map(len, self.strips_)]).tolist() or [len(self.order_)] != ends[-1:]:
            raise ValueError("the strips of a kernel do not form a triangle.")
        hashes = row_hashes(self.rows_)
        self._by_hash = np.argsort(hashes)
        self._hashes = hashes[self._by_hash]

    def transform(self, X: RowsLike) -> Float64s:
        """Return the coordinates of rows. Those of a training row are in the factor."""
        out = np.zeros((X.shape[0], len(self.order_)))
        step = max(GRAM_VALUES // max(len(self.order_), 1), 1)
        for first in range(0, len(out), step):
            rows = dense(X[first : first + step])
            places = self._by_hash[np.searchsorted(self._hashes[:-1], row_hashes(rows))]
            new = (rows != self.rows_[places]).any(axis=1)
            part = out[first : first + step]
            for own, strip in self._each_strip():
                here = np.flatnonzero(~new & (places >= own.start) & (places < own.stop))
                part[here, : own.stop] = strip[places[here] - own.start]
            if new.any():
                part[new] = self._solved(self._values(rows[new]).T).T
        return out

    def _each_strip(self) -> Iterator[tuple[slice, Float64s]]:
        """Yield the strips of the factor and the numbers of their rows."""
        for strip in self.strips_:
            last = strip.shape[1]
            yield slice(last - len(strip), last), strip

    def _solved(self, columns: Float64s) -> Float64s:
        """Return the inverse of the factor times columns, in place."""
        for own, strip in self._each_strip():
            columns[own] -= strip[:, : own.start] @ columns[: own.start]
            square = strip[:, own.start :]
            columns[own] = solve_triangular(square, columns[own], lower=True, check_finite=False)
        return columns

    def coefficients(self, columns: Float64s) -> Float64s:
        """Return the coefficients of columns over the training rows."""
        columns = columns.copy()
        for own, strip in reversed([*self._each_strip()]):
            square = strip[:, own.start :]
            columns[own] = solve_triangular(
                square, columns[own], lower=True, trans=1, check_finite=False
            )
            columns[: own.start] -= strip[:, : own.start].T @ columns[own]
        out = np.zeros((self.n_rows_, columns.shape[1]))
        out[self.order_] = columns
        return out

    def _values(self, X: RowsLike, last: int | None = None) -> Float64s:
        """Return the kernel of rows and of the training rows, or of those before ``last``."""
        mean = self.rows_.mean(axis=0)  # subtracted to limit cancellation
        return np.asarray(rbf_kernel(dense(X) - mean, self.rows_[:last] - mean, gamma=self.gamma_))


@storable(basis_="f8 r D?", roots_="f8 n r?")
class RowSpan(TransformerMixin, BaseEstimator):
    """Map of rows to coordinates in their span, which is the linear kernel."""

    def fit(self, X: RowsLike, y: LabelsLike = None) -> "RowSpan":
        """Find an orthonormal basis of the span of the rows, beginning with the centred rows."""
        rows = dense(X)
        mean = rows.mean(axis=0)
        left, values, basis = svd(rows - mean, full_matrices=False)
        eps = float(np.finfo(np.float64).eps)
        rank = int((values > max(rows.shape) * eps * values.max(initial=0.0)).sum())
        basis, roots = basis[:rank], left[:, :rank] / values[:rank]
        # Add the direction of the mean, in which all rows are equal.
        inside = basis @ mean
        offset = mean - inside @ basis
        size = length(offset)
        if size > max(rows.shape) * eps * length(mean):
            basis = np.vstack([basis, offset / size])
            roots = np.column_stack([roots, (1.0 / len(rows) - roots @ inside) / size])
        self.basis_, self.roots_ = basis, roots
        return self

    def transform(self, X: RowsLike) -> Float64s:
        """Return the coordinates of rows."""
        return np.asarray(X @ self.basis_.T, np.float64)

    def inverse_transform(self, Z: Matrix) -> Float64s:
        """Return the rows with these coordinates."""
        return np.asarray(Z @ self.basis_)

    def coefficients(self, columns: Float64s) -> Float64s:
        """Return the coefficients of columns over the training rows."""
        return np.asarray(self.roots_ @ columns)


@storable()
class Kernel(Solver):
    """Exact solver in the space of a kernel, for up to about 10^4 rows.

    Parameters
    ----------
    kernel : {"rbf", "linear"}, default="rbf"
        "rbf" is exp(-gamma |x - y|^2). "linear" suits rows with many more features than rows.
    gamma : float, optional
        The coefficient of "rbf". By default 0.7 over the median squared distance of the rows.

    Examples
    --------
    >>> from eigenstream import Kernel, PairSubspace
    >>> PairSubspace(2, solver=Kernel("rbf", 0.1)).solver.get_params()["gamma"]
    0.1
    """

    name = "kernel"
    abilities = frozenset({MATRIX, RATIOS, ALPHA})
    _parameter_constraints: ClassVar[Constraints] = {
        "kernel": [StrOptions({"rbf", "linear"})],
        "gamma": [POSITIVE, None],
    }

    def __init__(self, kernel: str = "rbf", gamma: float | None = None) -> None:
        self.kernel, self.gamma = kernel, gamma

    def own_map(self) -> KernelMap | RowSpan:
        """Return the map of the kernel."""
        return RowSpan() if self.kernel == "linear" else KernelMap(self.gamma)

    def _sums(self, problem: Problem) -> Moments:
        moments = Moments(problem.terms.n_features)
        moments.most = moments.n_features + 1
        return moments
