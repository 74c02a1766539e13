"""What is summed up of each block."""

from typing import Any

from eigenstream.kernels.base import njit

__all__ = ["add_block"]

#: Weights t^p of the terms in the running estimate of V^T T V: early terms saw another V.
RECENT = 3.0


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def add_block(
    moment: Any,
    sums: Any,
    responses: Any,
    signs: Any,
    gram: Any,
    weights: Any,
    keep: float,
) -> None:
    """Add sum_j c_j y_j y_j^T to the lower triangle of ``moment``, and weights to ``sums``.

    ``sums``: the rewarded sum of c |u|^2, the sum of the terms' weights, the weight of the moment,
    and the steps. The past shrinks by ``keep`` a step; in the moment, whose early terms saw other
    weights, to (t / (t + n))^RECENT at most when n steps follow t.
    """
    steps, r = signs.shape
    d = responses.shape[1]
    forget = keep**steps
    recent = min((sums[3] / (sums[3] + steps)) ** RECENT, forget)
    for k in range(d):
        for i in range(k + 1):
            moment[k, i] *= recent
    sums[0] *= forget
    sums[1] *= forget
    sums[2] *= recent
    sums[3] += steps
    for t in range(steps):
        sums[0] += signs[t, 0] * gram[r * t, r * t]
        sums[1] += weights[t]
        sums[2] += weights[t]
        for j in range(r):
            y = responses[r * t + j]
            for k in range(d):
                f = signs[t, j] * y[k]
                for i in range(k + 1):
                    moment[k, i] += f * y[i]
