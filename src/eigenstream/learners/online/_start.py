"""Where an online learner starts."""

import numpy as np

from eigenstream._linalg import Float64s

__all__ = ["observed_frame"]

#: A vector with less than this share outside the others gives no direction of its own.
NEW = 1e-7


def observed_frame(
    rows: Float64s,
    weights: Float64s,
    d: int,
    center: bool,
    random: np.random.Generator,
    *,
    first: Float64s,
) -> Float64s:
    """Return ``d`` orthonormal rows: the ``first``, and what the first observations add to them.

    Centred observations are taken about the mean of those before; the first is no information.
    Random directions stand in for observations that repeat earlier ones.

    >>> rows = np.array([[2.0, 0.0], [3.0, 0.0], [2.0, 5.0]])
    >>> random = np.random.default_rng(0)
    >>> observed_frame(rows, np.ones(3), 1, False, random, first=np.zeros((0, 2)))
    array([[1., 0.]])
    """
    if center:
        totals = np.cumsum(weights)[:-1, None]
        rows = rows[1:] - np.cumsum(weights[:-1, None] * rows[:-1], axis=0) / totals
    frame = first
    for vector in (*rows, *random.standard_normal((d, rows.shape[1]))):
        left = vector - (frame @ vector) @ frame
        left -= (frame @ left) @ frame
        size, norm = np.linalg.norm(vector), np.linalg.norm(left)
        if len(frame) < d and norm > NEW * size:
            frame = np.vstack([frame, left / norm])
    return frame
