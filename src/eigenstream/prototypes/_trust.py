"""Trustworthiness of a projection in which many rows may lie at one place [VENNA]."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from eigenstream._linalg import Float64s

__all__ = ["trustworthiness"]


def trustworthiness(rows: Any, squares: Float64s, k: int) -> float:
    """Return 1 - 2 / (n k (2n - 3k - 1)) sum (rank - k) over false neighbours.

    ``squares`` are the squared distances of the projected rows. Of rows that are equally near
    there, the mean over all orders is taken: each counts by the share of orders in which it is
    among the k nearest.

    >>> rows = np.arange(8.0)[:, None]
    >>> trustworthiness(rows, (rows - rows.T) ** 2, 2)
    1.0
    """
    n = len(rows)
    if np.isnan(rows).any():
        distances = pairwise_distances(rows, metric="nan_euclidean")
    else:
        distances = cdist(rows, rows, "sqeuclidean")
    distances[np.arange(n), np.arange(n)] = -1.0
    # The rank of j among the neighbours of i, 1 for the nearest.
    ranks = np.empty((n, n), np.int64)
    np.put_along_axis(ranks, distances.argsort(axis=1, kind="stable"), np.arange(n)[None], axis=1)
    penalties = np.maximum(ranks - k, 0)
    squares = np.array(squares, np.float64)
    squares[np.arange(n), np.arange(n)] = np.inf
    edge = np.partition(squares, k - 1, axis=1)[:, k - 1 : k]
    inside, tied = squares < edge, squares == edge
    share = (k - inside.sum(axis=1)) / tied.sum(axis=1)
    total = float((penalties * inside).sum() + ((penalties * tied).sum(axis=1) * share).sum())
    return 1.0 - total * 2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0))
