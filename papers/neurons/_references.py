"""Named references for the first component: power iteration, and Krylov with Gram-Schmidt."""

import numpy as np

from eigenstream._linalg import Float64s

__all__ = ["krylov", "power_iteration"]


def power_iteration(moment: Float64s, start: Float64s, steps: int) -> Float64s:
    """Return b_k = R b_(k-1) / |R b_(k-1)| for each step k, one a row; the first is the start.

    >>> power_iteration(np.diag([2.0, 1.0]), np.array([1.0, 1.0]), 20)[-1].round(6)
    array([1.e+00, 1.e-06])
    """
    found = [start / np.linalg.norm(start)]
    for _ in range(steps):
        b = moment @ found[-1]
        found.append(b / np.linalg.norm(b))
    return np.array(found)


def krylov(moment: Float64s, start: Float64s, vectors: int) -> Float64s:
    """Return the best direction within span(b, R b, R^2 b, ...) of so many vectors.

    They are made orthogonal one after the other (Gram-Schmidt, twice, which is enough); the best
    is the top eigenvector of R within their span.

    >>> krylov(np.diag([2.0, 1.0]), np.array([1.0, 1.0]), 2).round(6) + 0.0
    array([1., 0.])
    """
    basis = [start / np.linalg.norm(start)]
    for _ in range(vectors - 1):
        b = moment @ basis[-1]
        size = np.linalg.norm(b)
        for _ in range(2):
            b = b - np.array(basis).T @ (np.array(basis) @ b)
        if np.linalg.norm(b) <= 1e-12 * size:  # the span is whole already
            break
        basis.append(b / np.linalg.norm(b))
    Q = np.array(basis).T
    best = Q @ np.linalg.eigh(Q.T @ moment @ Q)[1][:, -1]
    return np.asarray(best * np.sign(best[np.abs(best).argmax()]), np.float64)
