"""Exact eigenspaces of matrices that fit in memory."""

import numpy as np
from scipy.linalg import eigh

from eigenstream._linalg import Float64s, numerical_rank
from eigenstream.solvers.base import Eigenpairs, canonical


def largest(matrix: Float64s, n_components: int) -> Eigenpairs:
    """Return the eigenpairs of the largest algebraic eigenvalues of a symmetric matrix.

    >>> largest(np.diag([1.0, -5.0, 3.0]), 2).values
    array([3., 1.])
    """
    size = len(matrix)
    if n_components == size:
        values, vectors = eigh(matrix, check_finite=False)
    else:
        subset = (size - n_components, size - 1)
        values, vectors = eigh(matrix, subset_by_index=subset, check_finite=False)
    return canonical(values, vectors)


def whitener(matrix: Float64s, cut: float) -> Float64s:
    """Return W with ``W^T matrix W = I`` on the range of a positive semidefinite matrix.

    Directions whose eigenvalue is below ``cut`` times the largest count as outside of the range
    and are dropped.
    """
    values, vectors = eigh(matrix, check_finite=False)
    kept = values > cut * max(values[-1], 0.0)
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
    reward: Float64s, penalty: Float64s, n_components: int, cut: float
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
    white = whitener(reward + penalty, cut)
    directions = white.shape[1]
    if directions == 0:
        return 1.0
    theta = largest(white.T @ reward @ white, min(n_components, directions)).values[-1]
    return float(np.clip(1.0 - theta, 0.0, 1.0))


def count_positive(matrix: Float64s, cut: float) -> int:
    """Return how many eigenvalues of a symmetric matrix are positive, by more than ``cut``.

    >>> count_positive(np.diag([2.0, -1.0, 0.0]), cut=1e-15)
    1
    """
    values = eigh(matrix, eigvals_only=True, check_finite=False)
    return int((values > cut * np.abs(values).max(initial=0.0)).sum())


def rank(matrix: Float64s, cut: float, floor: float = 0.0) -> int:
    """Return the numerical rank of a symmetric matrix (see ``numerical_rank``).

    >>> rank(np.diag([2.0, -1.0, 0.0]), cut=1e-15)
    2
    """
    return numerical_rank(eigh(matrix, eigvals_only=True, check_finite=False), cut, floor)
