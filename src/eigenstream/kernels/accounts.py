"""What an online learner sums up of each block."""

from typing import Any

from numba import njit

__all__ = ["add_block"]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def add_block(
    moment: Any, sums: Any, responses: Any, signs: Any, squares: Any, weights: Any
) -> None:
    """Add sum_j c_j y_j y_j^T to the lower triangle of ``moment``, and weights to ``sums``.

    ``sums``: the rewarded sum of c |u|^2, and the sum of the terms' weights.
    """
    steps, r = signs.shape
    d = responses.shape[1]
    for t in range(steps):
        sums[0] += signs[t, 0] * squares[r * t]
        sums[1] += weights[t]
        for j in range(r):
            for k in range(d):
                f = signs[t, j] * responses[r * t + j, k]
                for i in range(k + 1):
                    moment[k, i] += f * responses[r * t + j, i]
