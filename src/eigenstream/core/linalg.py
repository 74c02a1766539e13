"""Linear algebra: BLAS updates, orthonormality, angles, eigenvalues, memory and threads."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, eigh, lapack, orth, qr, subspace_angles
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh
from threadpoolctl import ThreadpoolController

from eigenstream.core.checks import is_sparse
from eigenstream.core.device import DeviceArray
from eigenstream.core.storable import storable
from eigenstream.core.types import Matrix

Floats = NDArray[np.floating[Any]]
Float64s = NDArray[np.float64]

#: Entries within this relative distance of the largest entry count as ties. Otherwise the sign of
#: an antisymmetric vector would depend on rounding.
SIGN_TIE = 1e-6

#: The range of the largest square in products of float32 rows. Below it small entries underflow;
#: above it partial sums may overflow.
FLOAT32_SAFE = (1e-28, 1e37)


def rank_update(total: Float64s, rows: Floats, weight: float = 1.0) -> Float64s:
    """Add ``weight * rows.T @ rows`` to the lower triangle of ``total``, in place.

    ``total`` is Fortran-ordered float64. Rows in C or F order are not copied. float32 rows are
    multiplied in float32 and added in float64, which is twice as fast. Limit the number of float32
    rows in a call, since their sum is rounded to float32.

    >>> total = np.zeros((2, 2), order="F")
    >>> _ = rank_update(total, np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> mirrored(total)
    array([[10., 14.],
           [14., 20.]])
    """
    if len(rows) == 0:  # BLAS prints an error
        return total
    # BLAS is column-major: the transpose of C-ordered rows is an F-ordered matrix.
    operand, transposed = (rows, 1) if rows.flags.f_contiguous else (rows.T, 0)
    layout = {"trans": transposed, "lower": 1}
    if rows.dtype == np.float32:
        product = blas.ssyrk(weight, operand, **layout)
        if FLOAT32_SAFE[0] < np.abs(np.diagonal(product)).max(initial=0.0) < FLOAT32_SAFE[1]:
            total += product
            return total
        operand = operand.astype(np.float64)  # the squares exceed the range of float32
    blas.dsyrk(weight, operand, beta=1.0, c=total, overwrite_c=1, **layout)
    return total


def weighted_sum(weights: Floats, rows: Floats) -> Floats:
    """Return ``weights @ rows`` by the BLAS library that ``rank_update`` uses.

    NumPy and SciPy contain separate BLAS libraries. The idle threads of one library keep the cores
    busy, so alternating between the two halves the speed.

    >>> weighted_sum(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    array([1., 2.])
    """
    if not (rows.flags.c_contiguous or rows.flags.f_contiguous) or 0 in rows.shape:
        return np.asarray(weights @ rows)
    gemv = blas.sgemv if rows.dtype == np.float32 else blas.dgemv
    operand, transposed = (rows, 1) if rows.flags.f_contiguous else (rows.T, 0)
    return np.asarray(gemv(1.0, operand, weights, trans=transposed))


def mirrored(lower: Float64s) -> Float64s:
    """Return the symmetric matrix with a given lower triangle, as a copy."""
    return np.where(_lower_triangle(len(lower)), lower, lower.T)


@lru_cache(maxsize=4)
def _lower_triangle(size: int) -> NDArray[np.bool_]:
    return np.tri(size, dtype=bool)


def row_squares(rows: Matrix) -> Float64s:
    """Return the squared Euclidean norms of dense or sparse rows in float64."""
    if isinstance(rows, DeviceArray):
        return np.asarray(rows.squares(), np.float64)
    if is_sparse(rows):
        return np.asarray(rows.astype(np.float64).power(2).sum(axis=1)).ravel()
    if rows.dtype == np.float32:
        squares = np.einsum("ij,ij->i", rows, rows)
        if np.isfinite(squares).all():
            return np.asarray(squares, np.float64)
    return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))


def unit_rows(rows: Matrix) -> Matrix:
    """Return dense rows divided by their norms. Rows of zeros remain.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    if isinstance(rows, DeviceArray):
        return rows.unit_rows()
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0.0, norms, norms.dtype.type(1.0))


def power_of_two(size: float) -> float:
    """Return the largest power of two up to ``size``. Dividing by it causes no rounding.

    >>> power_of_two(5.0), power_of_two(4.0), power_of_two(0.0)
    (4.0, 4.0, 0.5)
    """
    return float(2.0 ** (np.frexp(size)[1] - 1))


def reciprocals(sizes: Float64s) -> Float64s:
    """Return the reciprocals of sizes, and 0 where a size underflows.

    >>> reciprocals(np.array([4.0, 0.0, 5e-324]))
    array([0.25, 0.  , 0.  ])
    """
    normal = sizes >= np.finfo(np.float64).tiny
    return np.divide(1.0, sizes, out=np.zeros_like(sizes), where=normal)


def rounding_of_mean(mean: Floats) -> float:
    """Return the largest eigenvalue that rounding of the mean can cause, as for constant rows.

    >>> (
    ...     rounding_of_mean(np.zeros(3)),
    ...     0.0 < rounding_of_mean(np.ones(3)) < 1e-30,
    ... )
    (0.0, True)
    """
    return float(len(mean) * (float(np.finfo(np.float64).eps) * np.linalg.norm(mean)) ** 2)


#: A feature counts as constant if its deviation is below this multiple of its mean's rounding.
CONSTANT_MULTIPLE = 64.0


def deviations_of(variances: Floats, mean: Floats, constant: float = 1.0) -> Float64s:
    """Return the standard deviations of features, and another value for constant ones.

    The rounding of its mean may leave a little of a constant feature.

    >>> deviations_of(np.array([4.0, 1e-30]), np.array([0.0, 7.1])).tolist()
    [2.0, 1.0]
    """
    noise = CONSTANT_MULTIPLE * float(np.finfo(np.float64).eps) * np.abs(mean)
    sizes = np.sqrt(np.maximum(variances, 0.0))
    return np.where(sizes > noise, sizes, constant)


def length(vector: Floats) -> float:
    """Return the Euclidean norm of a vector without overflow or underflow of the squares.

    >>> round(length(np.array([3e200, 4e200])) / 1e200, 12), length(np.zeros(2))
    (5.0, 0.0)
    """
    unit = power_of_two(float(np.abs(vector).max(initial=0.0)))
    return unit * float(np.linalg.norm(vector / unit))


def canonical_signs(columns: Floats) -> Floats:
    """Return columns with signs such that the first of their largest entries is positive.

    >>> canonical_signs(np.array([[0.6, -0.8], [-0.8, -0.6]]))
    array([[-0.6,  0.8],
           [ 0.8,  0.6]])
    """
    if columns.size == 0:
        return columns.copy()
    size = np.abs(columns)
    first = np.argmax(size >= (1.0 - SIGN_TIE) * size.max(axis=0), axis=0)
    signs = np.where(columns[first, np.arange(columns.shape[1])] < 0, -1.0, 1.0)
    return columns * signs.astype(columns.dtype) + 0.0  # no minus zero


def orthonormalized(columns: Floats) -> Floats:
    """Return an orthonormal basis of the columns' span, by QR with a positive diagonal."""
    q, r = qr(columns, mode="economic")
    basis: Floats = q * np.where(np.diag(r) < 0, -1.0, 1.0).astype(columns.dtype)
    return basis


def newton_schulz(rows: Float64s) -> Float64s:
    """Return nearly (V V^T)^(-1/2) V for rows V that are orthonormal but for small errors.

    >>> newton_schulz(np.array([[1.001, 0.0], [0.0, 1.0]])).round(5)
    array([[1., 0.],
           [0., 1.]])
    """
    return (1.5 * np.eye(len(rows)) - 0.5 * (rows @ rows.T)) @ rows


#: A row is first taken for a combination of others if its squared distance from their span is
#: below this share of its square. Smaller values lose digits of the factor.
DEPENDENT = 1e-12

#: The part of such a row outside the span counts if it is above this share of the row's length.
#: Smaller values keep directions that rounding has caused.
OUTSIDE = 1e-9

#: A basis is made orthonormal again if a row has this distance from the rows before it, relative to
#: its length. Smaller values lose digits.
CLOSE = 0.3


def span_of_rows(rows: Floats, n_least: int = 1) -> tuple[Float64s, Float64s]:
    """Return orthonormal columns that span some rows, and the coordinates of the rows along them.

    There are at least ``n_least`` columns. The rows are overwritten. A Cholesky factor of their
    products with pivots takes a quarter of the time of a QR decomposition, and shows dependent
    rows.

    >>> rows = np.array([[3.0, 4.0, 0.0], [6.0, 8.0, 0.0]])
    >>> basis, coordinates = span_of_rows(rows)
    >>> (coordinates @ basis.T).round(12).tolist()
    [[3.0, 4.0, 0.0], [6.0, 8.0, 0.0]]
    """
    lengths = np.sqrt(row_squares(rows))
    rows /= np.where(lengths > 0.0, lengths, 1.0)[:, None]
    basis, coordinates, dependent = _span_of_independent(rows)
    rest = rows[dependent]
    coordinates[dependent] = rest @ basis
    rest -= coordinates[dependent] @ basis.T
    sizes = np.sqrt(row_squares(rest))
    outside = sizes > OUTSIDE
    if outside.any():
        rest, sizes = rest[outside] / sizes[outside, None], sizes[outside, None]
        rest -= (rest @ basis) @ basis.T
        added, along, _ = _span_of_independent(rest)
        basis = np.hstack([basis, added])
        coordinates = np.pad(coordinates, ((0, 0), (0, added.shape[1])))
        coordinates[dependent[outside], -added.shape[1] :] = along * sizes
    coordinates *= lengths[:, None]
    n = basis.shape[1]
    if n < n_least:
        basis = np.hstack([basis, columns_outside(basis, n_least - n)])
        coordinates = np.pad(coordinates, ((0, 0), (0, n_least - n)))
    return basis, coordinates


def _span_of_independent(rows: Floats) -> tuple[Float64s, Float64s, NDArray[np.intp]]:
    """Return a basis of independent unit rows, the coordinates of all, and the other rows."""
    products = rank_update(np.zeros((len(rows),) * 2, order="F"), rows.T)
    factor, order, n, _ = lapack.dpstrf(products, tol=DEPENDENT, lower=1, overwrite_a=1)
    factor, order = np.asarray(np.tril(factor)[:, :n], np.float64), order - 1
    first = np.asfortranarray(rows[order[:n]].T)
    basis: Float64s = blas.dtrsm(1.0, factor[:n], first, side=1, lower=1, trans_a=1, overwrite_b=1)
    if n and factor[n - 1, n - 1] < CLOSE:
        basis, turn = (
            np.asarray(m, np.float64) for m in qr(basis, mode="economic", overwrite_a=True)
        )
        factor = factor @ turn.T
    coordinates = np.empty_like(factor)
    coordinates[order] = factor
    return basis, coordinates, order[n:]


def columns_outside(basis: Float64s, n: int) -> Float64s:
    """Return ``n`` orthonormal columns that are orthogonal to those of a basis.

    >>> columns_outside(np.eye(3)[:, :2], 1).round(12).tolist()
    [[0.0], [0.0], [1.0]]
    """
    outside = np.random.default_rng(0).standard_normal((len(basis), n))
    for _ in range(2):
        outside = orth(outside - basis @ (basis.T @ outside))
    return np.asarray(outside)


def principal_angles(left: Floats, right: Floats) -> Float64s:
    """Return the principal angles between the column spans, in radians, largest first.

    >>> float(
    ...     principal_angles(
    ...         np.array([[1.0], [0.0]]), np.array([[1.0], [1.0]])
    ...     )[0]
    ... )  # pi / 4
    0.785398...
    """
    return np.asarray(
        subspace_angles(np.asarray(left, np.float64), np.asarray(right, np.float64)), np.float64
    )


def numerical_rank(eigenvalues: Floats, cut: float, floor: float = 0.0) -> int:
    """Return the number of eigenvalues above ``cut`` times the largest one and above ``floor``.

    >>> numerical_rank(np.array([2.0, -1.0, 1e-17]), cut=1e-15)
    2
    """
    size = np.abs(eigenvalues)
    return int((size > max(cut * size.max(initial=0.0), floor)).sum())


#: Longer values of a result are not shown.
LONGEST_VALUE = 80


def brief(result: Any) -> str:
    """Return the ``repr`` of a result, with the shapes of its arrays instead of their values.

    Long values are shortened to their type.

    >>> from collections import namedtuple
    >>> brief(namedtuple("Answer", "values")(np.zeros((100, 3))))
    'Answer(values=array (100, 3))'
    """
    names = getattr(result, "_fields", None) or [
        entry.name for entry in fields(result) if entry.repr and not entry.name.startswith("_")
    ]
    values = {name: getattr(result, name) for name in names}
    texts = []
    for name, value in values.items():
        text = f"array {value.shape}" if isinstance(value, np.ndarray) else repr(value)
        short = len(text) <= LONGEST_VALUE and "\n" not in text
        texts.append(f"{name}={text if short else f'{type(value).__name__}(...)'}")
    return f"{type(result).__name__}({', '.join(texts)})"


# ---- eigenvalues -------------------------------------------------------------------------

#: The number of Lanczos vectors in addition to n_components. More vectors take memory and converge
#: in fewer passes.
BESIDE = 60

#: Matrices of this size are tried by Lanczos iterations for this share of their eigenpairs, with
#: this number of restarts at most. LAPACK is as fast for smaller matrices and for flat spectra.
LANCZOS_SIZE, LANCZOS_SHARE, RESTARTS = 1500, 1 / 20, 8

#: Eigenvalues that differ by this share of the largest one are equal. The search for missing
#: eigenvalues stops at the relative error ROUGH.
SAME, ROUGH = 1e-12, 1e-2

#: All eigenpairs of matrices of this size are computed, which is faster than a few of them.
SMALL = 20


@storable(values="f8 d", vectors="f8 W d")
@dataclass(frozen=True)
class Eigenpairs:
    """The largest algebraic eigenvalues, descending, and their eigenvectors as columns."""

    values: Float64s
    vectors: Float64s

    def first(self, n: int) -> "Eigenpairs":
        """Return the first ``n`` pairs, and at least one."""
        return Eigenpairs(self.values[: max(n, 1)], self.vectors[:, : max(n, 1)])


def canonical(values: Float64s, vectors: Float64s) -> Eigenpairs:
    """Return eigenpairs in descending order, with a positive largest entry in each vector."""
    order = np.argsort(-values, kind="stable")
    vectors_of_sign = canonical_signs(vectors[:, order])
    return Eigenpairs(
        np.asarray(values[order], np.float64), np.asarray(vectors_of_sign, np.float64)
    )


def largest(matrix: Float64s, n_components: int, *, lanczos: bool = True) -> Eigenpairs:
    """Return the eigenpairs of the largest algebraic eigenvalues of a symmetric matrix.

    Few eigenpairs of a large matrix are computed by Lanczos iterations, if these converge.

    >>> largest(np.diag([1.0, -5.0, 3.0]), 2).values
    array([3., 1.])
    """
    size = len(matrix)
    unit = power_of_two(float(np.abs(matrix).max(initial=0.0)))
    if lanczos and size >= LANCZOS_SIZE and n_components <= LANCZOS_SHARE * size:
        pairs = by_lanczos(lambda columns: matrix @ columns, size, n_components, unit)
        if pairs is not None:
            return pairs
    if n_components < size > SMALL:
        places = size - n_components, size - 1
        options: Any = {"overwrite_a": True, "check_finite": False}
        # LAPACK may fail to find some of many eigenvalues near zero, but finds all of them.
        with suppress(np.linalg.LinAlgError):
            values, vectors = eigh(matrix.T / unit, subset_by_index=places, **options)
            return canonical(values * unit, vectors)
    values, vectors = np.linalg.eigh(matrix / unit)
    return canonical(values[-n_components:] * unit, vectors[:, -n_components:])


def by_lanczos(
    product: Callable[[Float64s], Float64s], size: int, n_components: int, unit: float
) -> Eigenpairs | None:
    """Return the largest eigenpairs, or None if they do not converge or if some are missing.

    ``product`` multiplies the matrix by a vector. ``unit`` is about the size of its entries.
    """
    rng = np.random.default_rng(0)

    def iterated(matvec: Callable[[Float64s], Float64s], n: int, **options: Any) -> Any:
        operator = LinearOperator((size, size), matvec=matvec, dtype=np.float64)
        start = rng.standard_normal(size)
        return eigsh(operator, n, which="LA", v0=start, maxiter=RESTARTS, **options)

    try:
        values, vectors = iterated(
            lambda v: product(v) / unit, n_components, ncv=n_components + BESIDE
        )
        # Iterations from one vector may miss multiple eigenvalues: look for more of them. Without
        # the shift, a dense set of eigenvalues near 0 would not converge.
        shift = max(values.min(), 0.0)
        rest = iterated(
            lambda v: product(v) / unit - vectors @ (values * (vectors.T @ v)) + shift * v,
            1,
            tol=ROUGH,
        )[0]
    except (ArpackNoConvergence, ArpackError):
        return None
    if rest[0] - shift > values.min() + SAME * np.abs(values).max():
        return None
    return canonical(values * unit, vectors)


def eigenvalues_of(matrix: Float64s) -> Float64s:
    """Return all eigenvalues of a symmetric matrix, ascending."""
    unit = power_of_two(float(np.abs(matrix).max(initial=0.0)))
    return np.asarray(np.linalg.eigvalsh(matrix / unit) * unit)


def whitener(matrix: Float64s, rounding: float, floor: float = 0.0) -> Float64s:
    """Return W with ``W^T matrix W = I`` on the range of a positive semidefinite matrix."""
    unit = power_of_two(float(np.abs(matrix).max(initial=0.0)))
    matrix = matrix / unit
    # If no eigenvalue is dropped, Cholesky is more accurate in directions of small variance.
    least = max(rounding * float(np.abs(matrix).sum(axis=0).max(initial=0.0)), floor / unit)
    if lapack.dpotrf(matrix - least * np.eye(len(matrix)), lower=1)[1] == 0:
        inverse = lapack.dtrtri(lapack.dpotrf(matrix, lower=1)[0], lower=1)[0]
        return np.asarray(inverse.T / np.sqrt(unit))
    values, vectors = np.linalg.eigh(matrix)
    kept = values > max(rounding * values[-1], floor / unit, 0.0)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept] * unit))


def principal_directions(matrix: Float64s, rank: int | float) -> Float64s:
    """Return the eigenvectors of the largest eigenvalues of a covariance, in ascending order.

    ``rank`` is their number, or the smallest share of the variance that they capture.
    """
    values, vectors = np.linalg.eigh(matrix)
    if isinstance(rank, float):
        shares = np.cumsum(np.maximum(values[::-1], 0.0)) / (float(np.trace(matrix)) or 1.0)
        rank = int(np.searchsorted(shares, rank, side="right")) + 1
    return np.asarray(vectors[:, -int(rank) :])


# ---- the machine ---------------------------------------------------------------------------


@cache
def physical_memory() -> float:
    """Return the memory of the machine in bytes, or 8 GiB if it is unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return 8.0 * 2**30


def check_fits(needed: float, what: str, remedy: str) -> None:
    """Raise if a computation needs more bytes than the machine has.

    >>> check_fits(2.0**80, "The Gram matrix", "Use fewer rows.")
    Traceback (most recent call last):
        ...
    ValueError: The Gram matrix takes about 1125899906842624 GiB, but this machine has ...
    """
    memory = physical_memory()
    if needed > memory:
        raise ValueError(
            f"{what} takes about {needed / 2**30:.0f} GiB, but this machine has "
            f"{memory / 2**30:.0f}. {remedy}"
        )


@cache
def _libraries() -> ThreadpoolController:
    """Return the BLAS libraries of the process, cached because the search takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


def blas_threads(limit: int) -> AbstractContextManager[object]:
    """Return a context in which BLAS has at most ``limit`` threads.

    >>> with blas_threads(1):
    ...     total = np.ones((2, 2)) @ np.ones(2)
    """
    libraries = _libraries()
    n_threads = max([1, *map(attrgetter("num_threads"), libraries.lib_controllers)])
    if n_threads <= limit:  # changing the limit takes time
        return nullcontext()
    limited: AbstractContextManager[object] = libraries.limit(limits=limit, user_api="blas")
    return limited
