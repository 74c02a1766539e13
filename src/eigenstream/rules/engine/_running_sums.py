"""What is summed up of each block."""

from typing import Any

from eigenstream.kernels.base import njit

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
    """Add sum_j c_j y_j y_j^T to the lower triangle of ``moment``, of whose past a share stays."""
    steps, r = signs.shape
    d = responses.shape[1]
    for k in range(d):
        for i in range(k + 1):
            moment[k, i] *= forget
    for t in range(steps):
        for j in range(r):
            y = responses[r * t + j]
            for k in range(d):
                f = signs[t, j] * y[k]
                for i in range(k + 1):
                    moment[k, i] += f * y[i]
