"""Where learning starts: overlaps of random students, and students that have given overlaps."""

from typing import Any

import numpy as np

from eigenstream._checks import check_number, check_whole
from eigenstream.theory.dynamics._checked import as_state
from eigenstream.theory.mixing import Float64s

__all__ = ["random_overlaps", "students_with"]


def random_overlaps(
    n_students: int,
    n_directions: int,
    *,
    n_features: int,
    runs: int = 1,
    length: float = 1.0,
    random_state: Any = 0,
) -> tuple[Float64s, Float64s]:
    """Draw R and Q of students of one length and random direction, exactly, without vectors.

    Projections on orthonormal directions are Gaussian before students are brought to their length,
    and the products of the rest are Wishart (by its Bartlett factor).

    Returns
    -------
    R of shape (runs, n_students, n_directions), Q of shape (runs, n_students, n_students)

    Examples
    --------
    >>> R, Q = random_overlaps(2, 2, n_features=10_000, runs=200)
    >>> Q.shape, bool(np.allclose(Q[:, 0, 0], 1.0))
    ((200, 2, 2), True)
    >>> bool(abs(R.std() * 100 - 1) < 0.15)  # about 1 / sqrt(N)
    True
    """
    K, M = check_whole(n_students, "n_students"), check_whole(n_directions, "n_directions")
    n = check_whole(n_features, "n_features", least=K + M)
    runs = check_whole(runs, "runs")
    length = check_number(length, "length", above=0)
    rng = np.random.default_rng(random_state)
    R = rng.standard_normal((runs, K, M))
    factor = np.tril(rng.standard_normal((runs, K, K)), -1)
    for k in range(K):
        factor[:, k, k] = np.sqrt(rng.chisquare(n - M - k, runs))
    Q = R @ R.transpose(0, 2, 1) + factor @ factor.transpose(0, 2, 1)
    scale = length / np.sqrt(np.einsum("rkk->rk", Q))
    return R * scale[:, :, None], Q * scale[:, :, None] * scale[:, None, :]


def students_with(R: Any, Q: Any, directions: Any, *, random_state: Any = 0) -> Float64s:
    """Return students, one a row, that have the overlaps R and Q with orthonormal directions.

    J = R B + sqrt(Q - R R^T) E with random orthonormal rows E, orthogonal to the directions B.

    >>> B = np.eye(2, 50)
    >>> J = students_with([[0.3, 0.1]], [[1.0]], B)
    >>> (J @ B.T).round(12), float((J @ J.T).round(12)[0, 0])
    (array([[0.3, 0.1]]), 1.0)
    """
    B = np.asarray(directions, np.float64)
    if B.ndim != 2 or np.abs(B @ B.T - np.eye(len(B))).max() > 1e-9:
        raise ValueError("directions must be orthonormal, one a row.")
    students = np.shape(R)[0] if np.ndim(R) == 2 else 1
    R, Q = as_state(R, Q, students, len(B))
    if students + len(B) > B.shape[1]:
        raise ValueError(
            f"{students} students beside {len(B)} directions need {students + len(B)} dimensions, "
            f"got {B.shape[1]}."
        )
    draws = np.random.default_rng(random_state).standard_normal((students, B.shape[1]))
    E = np.linalg.qr((draws - draws @ B.T @ B).T)[0].T
    E -= E @ B.T @ B
    values, vectors = np.linalg.eigh(Q - R @ R.T)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return np.asarray(R @ B + root @ E, np.float64)
