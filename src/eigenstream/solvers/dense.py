"""Exact eigenspaces of matrices that fit in memory."""

from typing import Any

import numpy as np
from scipy.linalg import eigh, eigh_tridiagonal, lapack

from eigenstream._checks import warn_user
from eigenstream._linalg import Float64s, numerical_rank, power_of_two
from eigenstream.kernels.tridiagonal import twisted_vectors
from eigenstream.solvers.base import Eigenpairs, above, canonical

#: Rounding may move alpha by so much of it before that is said.
UNSURE = 0.1

#: Eigenvectors by bisection miss by about the size of the matrix times a tenth of this at most.
NEARLY_RIGHT = 1e-13

#: Vectors whose inner products are no larger than this are orthonormal to rounding after one step
#: towards the nearest orthonormal ones, which leaves the square of it.
NEARLY_ORTHOGONAL = 1e-9

#: Reflections that LAPACK takes together, as many as it is given room for: few are quickest
#: where a matrix of some hundred rows is made tridiagonal, more where vectors are turned back. For
#: these it needs room for triangles, too, and with less takes them one by one.
NARROW, WIDE, TRIANGLES = 8, 32, 64 * 65


def largest(matrix: Float64s, n_components: int) -> Eigenpairs:
    """Return the eigenpairs of the largest algebraic eigenvalues of a symmetric matrix.

    >>> largest(np.diag([1.0, -5.0, 3.0]), 2).values
    array([3., 1.])
    """
    return _top(matrix, n_components)[0]


def largest_and_positive(
    matrix: Float64s, n_components: int, cut: float, floor: float = 0.0
) -> tuple[Eigenpairs, int]:
    """Return ``largest`` and ``count_positive`` of a symmetric matrix, for little more than one.

    Both begin by making it tridiagonal, which is nearly all their work: here that is done once.

    >>> pairs, positive = largest_and_positive(np.diag([1.0, -5.0, 3.0]), 1, cut=1e-15)
    >>> pairs.values, positive
    (array([3.]), 2)
    """
    pairs, every = _top(matrix, n_components)
    return pairs, _above(every, cut, floor)


def _top(matrix: Float64s, n_components: int) -> tuple[Eigenpairs, Float64s]:
    """Return the eigenpairs of the largest eigenvalues, and all eigenvalues.

    A part of the vectors is found by bisection and inverse iteration, which lose digits in units
    far from 1, and now and then fail where eigenvalues are equal, whether LAPACK says so or not. So
    it is done in units near 1, looked at, and done by divide and conquer where it is not right.
    """
    size = len(matrix)
    if n_components < size:
        work = int(lapack.dsytrd_lwork(size, lower=1)[0])
        reduced, diagonal, beside, tau, _ = lapack.dsytrd(matrix, lower=1, lwork=work)
        scale = _unit(diagonal, beside)
        diagonal, beside = diagonal / scale, beside / scale
        every, failed = lapack.dsterf(diagonal, beside)
        vectors = None if failed else _bisected(diagonal, beside, every[size - n_components :])
        if vectors is not None:
            vectors = _turned_back(reduced, tau, vectors)
            return canonical(scale * every[size - n_components :], vectors), scale * every
    scale = _unit(matrix)
    every, vectors = eigh(matrix / scale, check_finite=False, driver="evd")
    every *= scale
    return canonical(every[size - n_components :], vectors[:, size - n_components :]), every


def _unit(*parts: Float64s) -> float:
    """Return about the largest of all entries."""
    return power_of_two(max(np.abs(part).max(initial=0.0) for part in parts))


def _bisected(diagonal: Float64s, beside: Float64s, values: Float64s) -> Float64s | None:
    """Return eigenvectors of the largest eigenvalues of a tridiagonal matrix, known to be these.

    None where what comes is not that, to about the root of what rounding leaves of a single one.
    """
    size, wanted = len(diagonal), len(values)
    try:
        _, vectors = eigh_tridiagonal(
            diagonal,
            beside,
            select="i",
            select_range=(size - wanted, size - 1),
            check_finite=False,
        )
    except np.linalg.LinAlgError:
        return None
    if vectors.shape[1] < wanted:
        return None
    missed = vectors * (diagonal[:, None] - values)
    missed[1:] += beside[:, None] * vectors[:-1]
    missed[:-1] += beside[:, None] * vectors[1:]
    error = vectors.T @ vectors
    error.flat[:: wanted + 1] -= 1.0
    least = size * NEARLY_RIGHT
    right = max(np.abs(missed).max(), np.abs(error).max()) < least  # False for NaN
    return np.asarray(vectors, np.float64) if right else None


def outermost(matrix: Float64s, lowest: int, highest: int) -> tuple[Float64s, Float64s]:
    """Return the lowest and the highest eigenvalues, ascending, and their vectors as columns.

    All where there are no more. Where a part is wanted that takes two thirds of the time of all:
    after the reduction to tridiagonal form, a vector for each wanted eigenvalue, all at a time;
    values that lie too near to each other for that are left to LAPACK.

    >>> values, vectors = outermost(np.diag([3.0, -5.0, 1.0, 2.0]), 1, 1)
    >>> values
    array([-5.,  3.])
    """
    size, wanted = len(matrix), lowest + highest
    if size <= wanted:
        return np.linalg.eigh(matrix)
    reduced, diagonal, beside, tau, _ = lapack.dsytrd(matrix.T, lower=1, lwork=NARROW * size)
    every, _ = lapack.dsterf(diagonal, beside)
    values = np.concatenate([every[:lowest], every[size - highest :]])
    vectors = twisted_vectors(diagonal, beside, values)
    error = vectors.T @ vectors
    error.ravel()[:: wanted + 1] -= 1.0
    if not np.abs(error).max(initial=0.0) < NEARLY_ORTHOGONAL:  # NaN included
        every, vectors = np.linalg.eigh(matrix)
        kept = np.r_[:lowest, size - highest : size]
        return every[kept], vectors[:, kept]
    error *= 0.5
    vectors -= vectors @ error
    return values, _turned_back(reduced, tau, vectors)


def _turned_back(reduced: Float64s, tau: Float64s, vectors: Any) -> Float64s:
    """Return vectors of the tridiagonal matrix that ``dsytrd`` has made as those of its own."""
    # The reflections lie below the diagonal, as those of a QR decomposition one row further down.
    work = WIDE * vectors.shape[1] + TRIANGLES
    rest = np.asfortranarray(vectors[1:])
    vectors[1:] = lapack.dormqr("L", "N", reduced[1:, :-1], tau, rest, work, overwrite_c=1)[0]
    return np.asarray(vectors)


def whitener(matrix: Float64s, cut: float, floor: float = 0.0) -> Float64s:
    """Return W with ``W^T matrix W = I`` on the range of a positive semidefinite matrix.

    Directions whose eigenvalue is below ``cut`` times the largest, or below ``floor``, count as
    outside of the range and are dropped.
    """
    # A matrix less some multiple of I has a Cholesky factor if no eigenvalue is below that: then
    # nothing is to be dropped, and the inverse of the factor of the matrix itself serves.
    least = max(cut * float(np.abs(matrix).sum(axis=0).max(initial=0.0)), floor)
    if lapack.dpotrf(matrix - least * np.eye(len(matrix)), lower=1)[1] == 0:
        root, _ = lapack.dpotrf(matrix, lower=1)
        inverse: Float64s = lapack.dtrtri(root, lower=1)[0].T
        return inverse
    values, vectors = eigh(matrix, check_finite=False)
    kept = values > max(cut * values[-1], floor, 0.0)
    scaled: Float64s = vectors[:, kept] / np.sqrt(values[kept])
    return scaled


def largest_ratios(
    reward: Float64s, penalty: Float64s, n_components: int, cut: float
) -> Eigenpairs:
    """Return the largest generalised eigenpairs of ``reward v = ratio * penalty v``.

    The vectors have unit length, so they are in general not orthogonal. Where the penalty is
    singular a ratio is infinite or undefined: such directions are cut (see ``whitener``), and fewer
    pairs than asked for come back when fewer than that remain.
    """
    white = whitener(penalty, cut)
    kept = white.shape[1]
    if kept == 0:
        return Eigenpairs(np.empty(0), np.empty((len(reward), 0)))
    pairs = largest(white.T @ reward @ white, min(n_components, kept))
    vectors = white @ pairs.vectors
    vectors /= np.linalg.norm(vectors, axis=0)
    return canonical(pairs.values, vectors)


def smallest_positive_weight(
    reward: Float64s, penalty: Float64s, n_components: int, cut: float, floor: float = 0.0
) -> float:
    """Return the alpha above which ``n_components`` eigenvalues of T are positive.

    ``T = alpha A - (1 - alpha) B`` has as many positive eigenvalues as A v = theta (A + B) v has
    eigenvalues theta above 1 - alpha, by Sylvester's law of inertia. With theta = mu / (1 + mu)
    this is alpha = 1 / (1 + mu_d), and it needs no inverse of B. When the data have fewer than
    ``n_components`` directions, those that they have decide; 1.0 when they have none.

    >>> weight = smallest_positive_weight(np.diag([9.0, 3.0]), np.eye(2), 2, cut=1e-15)
    >>> round(weight, 12)
    0.25
    """
    return least_weight(reward, penalty, n_components, cut, floor)[0]


def least_weight(
    reward: Float64s, penalty: Float64s, n_components: int, cut: float, floor: float = 0.0
) -> tuple[float, float]:
    """Return ``smallest_positive_weight``, and how far rounding of the matrices may move it.

    An error E of A or of A + B moves theta by v^T E v, with v^T (A + B) v = 1: where v is a
    direction far smaller than the largest, v is long, and rounding, ``cut`` of these, is much.

    >>> weight, error = least_weight(np.diag([9e9, 3.0]), np.diag([1e9, 1.0]), 2, cut=1e-15)
    >>> round(weight, 12), error < 1e-5
    (0.25, True)
    """
    both = reward + penalty
    white = whitener(both, cut, floor)
    directions = white.shape[1]
    if directions == 0:
        return 1.0, 0.0
    found = largest(white.T @ reward @ white, min(n_components, directions))
    v = white @ found.vectors[:, -1]
    error = float(v @ v * cut * np.abs(both).sum(axis=0).max())
    return float(np.clip(1.0 - found.values[-1], 0.0, 1.0)), error


def automatic_alpha(
    reward: Float64s, penalty: Float64s, n_components: int, cut: float, floor: float = 0.0
) -> float:
    """Return a step above ``smallest_positive_weight``; say so where rounding may decide about it.

    >>> round(automatic_alpha(np.diag([9.0, 3.0]), np.eye(2), 2, cut=1e-15), 12)
    0.2575
    """
    least, error = least_weight(reward, penalty, n_components, cut, floor)
    alpha = above(least)
    if error > UNSURE * alpha:
        warn_user(
            f"alpha={alpha:.3g} rests on directions so much smaller than the largest that rounding "
            "may decide about it. Take off a large mean (center=True), bring columns to similar "
            "sizes, or give alpha as a number.",
        )
    return alpha


def count_positive(matrix: Float64s, cut: float, floor: float = 0.0) -> int:
    """Return how many eigenvalues of a symmetric matrix are positive.

    That is by more than ``cut`` times the largest in size, and by more than ``floor``.

    >>> count_positive(np.diag([2.0, -1.0, 0.0]), cut=1e-15)
    1
    """
    return _above(eigh(matrix, eigvals_only=True, check_finite=False), cut, floor)


def _above(values: Float64s, cut: float, floor: float) -> int:
    return int((values > max(cut * np.abs(values).max(initial=0.0), floor)).sum())


def rank(matrix: Float64s, cut: float, floor: float = 0.0) -> int:
    """Return the numerical rank of a symmetric matrix (see ``numerical_rank``).

    >>> rank(np.diag([2.0, -1.0, 0.0]), cut=1e-15)
    2
    """
    return numerical_rank(eigh(matrix, eigvals_only=True, check_finite=False), cut, floor)
