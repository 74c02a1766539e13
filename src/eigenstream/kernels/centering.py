"""Centring a stream without a second pass."""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit

__all__ = ["mean_shares"]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def mean_shares(weights: Any, total: float, keep: float) -> Any:
    """Return each row's share in the running mean when it comes, and the total weights after it.

    The weight of what was seen before shrinks by the factor ``keep`` at each row.

    >>> mean_shares(np.ones(3), 1.0, 1.0)
    (array([0.5       , 0.33333333, 0.25      ]), array([2., 3., 4.]))
    """
    shares = np.zeros(weights.shape[0])
    totals = np.empty(weights.shape[0])
    for t in range(weights.shape[0]):
        total *= keep
        if weights[t] > 0.0:
            shares[t] = weights[t] / (total + weights[t])
        total += weights[t]
        totals[t] = total
    return shares, totals
