"""Overlaps of students with directions: checks, random starts, and those of a run."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eigenstream._checks import check_number, check_whole, real_array
from eigenstream.theory.base import Float64s

__all__ = [
    "POSSIBLE",
    "OrderParameters",
    "as_rates",
    "as_state",
    "as_times",
    "random_overlaps",
    "students_with",
]

#: The tolerance for impossible overlaps, relative to Q; a larger value accepts more.
POSSIBLE = 1e-9


def as_times(alphas: Any) -> Float64s:
    """Return a time grid: not negative, increasing.

    >>> as_times([2, 1])
    Traceback (most recent call last):
        ...
    ValueError: alphas must be finite, not negative and increasing: got 1.0 after 2.0.
    """
    grid = real_array(alphas, "alphas").astype(np.float64)
    if grid.ndim != 1 or not grid.size:
        raise ValueError(f"alphas must be a list of times, got shape {grid.shape}.")
    whole = np.concatenate([[-1.0], grid])
    bad = np.flatnonzero(~((np.diff(whole) > 0) & np.isfinite(grid) & (grid >= 0)))
    if bad.size:
        before = f" after {whole[bad[0]]}" if bad[0] else ""
        raise ValueError(
            f"alphas must be finite, not negative and increasing: got {grid[bad[0]]}{before}."
        )
    return grid


def as_state(R: Any, Q: Any, students: int, directions: int) -> tuple[Float64s, Float64s]:
    """Return overlaps as arrays, or raise an error if no vectors have them.

    >>> as_state([[0.9]], [[0.5]], 1, 1)
    Traceback (most recent call last):
        ...
    ValueError: no vectors have these overlaps: Q - R R^T must be positive semidefinite, and has the
    eigenvalue -0.31. Shorten R, or lengthen the students.
    """
    R = real_array(R, "R").astype(np.float64)
    Q = real_array(Q, "Q").astype(np.float64)
    if R.shape != (students, directions) or Q.shape != (students, students):
        raise ValueError(
            f"R must have shape {(students, directions)} and Q {(students, students)}, got "
            f"{R.shape} and {Q.shape}: one row a student, one column a direction."
        )
    if not (np.isfinite(R).all() and np.isfinite(Q).all()):
        raise ValueError("R and Q must be finite: they hold NaN or infinity.")
    size = max(float(np.abs(Q).max()), float(np.finfo(float).tiny))
    if np.abs(Q - Q.T).max() > POSSIBLE * size:
        raise ValueError("Q must be symmetric: Q_kl is the product of student k and student l.")
    Q = (Q + Q.T) / 2
    least = float(np.linalg.eigvalsh(Q - R @ R.T)[0])
    if least < -POSSIBLE * size:
        raise ValueError(
            "no vectors have these overlaps: Q - R R^T must be positive semidefinite, and has the "
            f"eigenvalue {least:.3g}. Shorten R, or lengthen the students."
        )
    return R, Q


def as_rates(values: Any, name: str, count: int) -> Float64s:
    """Return numbers above 0, one each or one for all.

    >>> as_rates(0.5, "eta", 2)
    array([0.5, 0.5])
    """
    rates = real_array(values, name).astype(np.float64)
    if rates.shape not in ((), (count,)):
        raise ValueError(
            f"{name} must be one number or {count} of them, got an array of shape {rates.shape}."
        )
    if not (np.isfinite(rates).all() and (rates > 0).all()):
        raise ValueError(f"{name} must be finite and above 0, got {np.asarray(values).tolist()}.")
    return np.array(np.broadcast_to(rates, (count,)))


def as_directions(directions: Any) -> Float64s:
    """Return orthonormal directions, one a row."""
    B = np.asarray(directions, np.float64)
    if B.ndim != 2 or np.abs(B @ B.T - np.eye(len(B))).max() > 1e-9:
        raise ValueError("directions must be orthonormal, one a row.")
    return B


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
    B = as_directions(directions)
    students = np.shape(R)[0] if np.ndim(R) == 2 else 1
    R, Q = as_state(R, Q, students, len(B))
    if students + len(B) > B.shape[1]:
        raise ValueError(
            f"{students} students and {len(B)} directions need {students + len(B)} dimensions, not "
            f"{B.shape[1]}."
        )
    draws = np.random.default_rng(random_state).standard_normal((students, B.shape[1]))
    E = np.linalg.qr((draws - draws @ B.T @ B).T)[0].T
    E -= E @ B.T @ B
    values, vectors = np.linalg.eigh(Q - R @ R.T)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return np.asarray(R @ B + root @ E, np.float64)


class OrderParameters(NamedTuple):
    """Overlaps of students in the course of a run: ``R = J B^T`` and ``Q = J J^T``.

    ``alphas`` are steps over the number of features, the time of the equations.

    >>> OrderParameters(np.zeros(1), np.zeros((1, 2, 2)), np.zeros((1, 2, 2))).R.shape
    (1, 2, 2)
    """

    alphas: Float64s
    R: Float64s  # (times, students, directions)
    Q: Float64s  # (times, students, students)

    @classmethod
    def of_history(cls, history: Sequence[tuple[int, Any]], directions: Any) -> "OrderParameters":
        """Return those of (step, weights) pairs, such as ``history_`` of a ``SangerNetwork``.

        ``directions`` are orthonormal, one a row.

        >>> found = OrderParameters.of_history([(50, [[0.6, 0.8, 0.0, 0.0]])], np.eye(2, 4))
        >>> found.alphas, found.R, found.Q
        (array([12.5]), array([[[0.6, 0.8]]]), array([[[1.]]]))
        """
        B = as_directions(directions)
        if len(history) == 0:
            raise ValueError("history is empty: learn with history_every, and enough rows.")
        J = np.array([weights for _, weights in history], np.float64)
        if J.ndim != 3 or J.shape[2] != B.shape[1]:
            raise ValueError(
                f"directions have {B.shape[1]} entries, and the weights of history have shape "
                f"{J.shape[1:]}: one weight vector a row, as long as a direction."
            )
        steps = np.array([step for step, _ in history], np.float64)
        return cls(steps / B.shape[1], J @ B.T, J @ J.transpose(0, 2, 1))
