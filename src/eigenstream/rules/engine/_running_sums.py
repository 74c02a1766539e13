"""What is summed up of each block."""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.engine._products import ZERO, add_rows

__all__ = ["add_moment", "add_sums"]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def add_sums(sums: Any, signs: Any, gram: Any, weights: Any, keep: float) -> None:
    """Add a block's to ``sums``; the past shrinks by ``keep`` a step.

    They are the rewarded sum of c |u|^2, the sum of the terms' weights, the same since the moments
    were last collected, and the steps.
    """
    steps, r = signs.shape
    forget = keep**steps
    for i in range(3):
        sums[i] *= forget
    sums[3] += steps
    for t in range(steps):
        sums[0] += signs[t, 0] * gram[r * t, r * t]
        sums[1] += weights[t]
        sums[2] += weights[t]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def add_moment(moment: Any, responses: Any, signs: Any, forget: float) -> None:
    """Add sum_j c_j y_j y_j^T to ``moment``, of whose past a share stays."""
    slots, d = responses.shape
    r = signs.shape[1]
    weighted = np.empty((d, slots))
    for k in range(d):
        for i in range(d):
            moment[k, i] *= forget
    for at in range(slots):
        c = signs[at // r, at % r]
        for k in range(d):
            weighted[k, at] = c * responses[at, k]
    add_rows(moment, weighted, responses, ZERO, ZERO, d)
