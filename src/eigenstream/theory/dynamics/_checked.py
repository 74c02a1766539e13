"""Checks of what models are given: times, rates, overlaps that vectors can have."""

from typing import Any

import numpy as np

from eigenstream._checks import real_array
from eigenstream.theory.mixing import Float64s

#: Overlaps are believed up to this much, relative to the students' size, of impossible.
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
    """Return overlaps as arrays, refusing those that no set of vectors has.

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
