"""Exact eigenspaces of matrices that fit in memory."""

import numpy as np
from scipy.linalg import eigh, lapack

from eigenstream._checks import warn_user
from eigenstream._linalg import Float64s, numerical_rank, power_of_two
from eigenstream.solvers.base import Eigenpairs, above, canonical

#: Rounding may move alpha by so much of it before that is said.
UNSURE = 0.1


def largest(matrix: Float64s, n_components: int) -> Eigenpairs:
    """Return the eigenpairs of the largest algebraic eigenvalues of a symmetric matrix.

    >>> largest(np.diag([1.0, -5.0, 3.0]), 2).values
    array([3., 1.])
    """
    size = len(matrix)
    scale = power_of_two(float(np.abs(matrix).max(initial=0.0)))  # LAPACK loses digits far from 1
    unit = matrix / scale
    if n_components < size:
        try:
            wanted = (size - n_components, size - 1)
            values, vectors = eigh(unit, subset_by_index=wanted, driver="evr", check_finite=False)
            if len(values) == n_components:
                return canonical(scale * values, vectors)
        except np.linalg.LinAlgError:
            pass
        # LAPACK sometimes misses one of several equal eigenvalues when it computes a subset.
    values, vectors = eigh(unit, driver="evd", check_finite=False)
    return canonical(scale * values[size - n_components :], vectors[:, size - n_components :])


def largest_and_positive(
    matrix: Float64s, n_components: int, cut: float, floor: float = 0.0
) -> tuple[Eigenpairs, int]:
    """Return ``largest`` and ``count_positive`` of a symmetric matrix.

    >>> pairs, positive = largest_and_positive(np.diag([1.0, -5.0, 3.0]), 1, cut=1e-15)
    >>> pairs.values, positive
    (array([3.]), 2)
    """
    pairs = largest(matrix, n_components)
    if n_components < len(matrix):
        return pairs, count_positive(matrix, cut, floor)
    return pairs, _above(pairs.values, cut, floor)


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
