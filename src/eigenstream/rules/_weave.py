"""How a step's input vectors arise from the rows of a block, and the way back."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from eigenstream._linalg import Float64s

__all__ = ["PLAIN", "Weave", "unwoven", "woven"]


@dataclass(frozen=True)
class Weave:
    """How input vectors arise from a block's rows: centred rows, and lagged differences.

    Step t's first vector is row ``now[t]`` less a running mean of the rows of the steps before,
    m <- (1 - s) m + s row with s = ``shares[t]``; if ``paired``, its second is row ``now[t]`` less
    row ``past[t]``, which needs no centring. The running mean starts at the row ``origin``, or
    at zero if that is negative.
    """

    now: Any
    past: Any
    shares: Any
    paired: bool
    origin: int = -1

    def mean(self, n: int) -> Float64s:
        """Return the coefficients on ``n`` rows of the running mean after the block."""
        mean: Float64s = _mean(self.now, self.shares, self.origin, n)
        return mean


#: The rows themselves, one a step.
PLAIN = Weave(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), False)


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _mean(now: Any, shares: Any, origin: int, n: int) -> Any:
    mean = np.zeros(n)
    left = 1.0
    for t in range(now.shape[0] - 1, -1, -1):
        mean[now[t]] = left * shares[t]
        left *= 1.0 - shares[t]
    if origin >= 0:
        mean[origin] = left
    return mean


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def woven(
    products: Any, start: int, now: Any, past: Any, shares: Any, paired: bool, origin: int
) -> Any:
    """Return the inner products of the input vectors, given those of the rows: (cross, gram).

    ``products`` (n, start + n) holds the rows' with ``start`` other vectors, then with themselves.
    """
    r = 2 if paired else 1
    steps = now.shape[0]
    half = np.empty((r * steps, products.shape[1]))
    mean = np.zeros(products.shape[1])
    if origin >= 0:
        mean[:] = products[origin]
    for t in range(steps):
        for j in range(products.shape[1]):
            value = products[now[t], j]
            half[r * t, j] = value - mean[j]
            mean[j] += shares[t] * (value - mean[j])
            if paired:
                half[r * t + 1, j] = value - products[past[t], j]
    gram = np.empty((r * steps, r * steps))
    for i in range(r * steps):
        offset = half[i, start + origin] if origin >= 0 else 0.0
        for t in range(steps):
            value = half[i, start + now[t]]
            gram[i, r * t] = value - offset
            offset += shares[t] * (value - offset)
            if paired:
                gram[i, r * t + 1] = value - half[i, start + past[t]]
    return half[:, :start], gram


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def unwoven(
    moved: Any,
    n: int,
    now: Any,
    past: Any,
    shares: Any,
    paired: bool,
    origin: int,
) -> Any:
    """Return the weights' coefficients on the rows, given those on the input vectors.

    This is the transpose of the map from rows to vectors, so the recursion of the mean runs back.
    """
    d = moved.shape[0]
    r = 2 if paired else 1
    lift = np.zeros((d, n))
    for k in range(d):
        later = 0.0
        for t in range(now.shape[0] - 1, -1, -1):
            value = moved[k, d + r * t]
            at = now[t]
            lift[k, at] += value + shares[t] * later
            later = (1.0 - shares[t]) * later - value
            if paired:
                value = moved[k, d + r * t + 1]
                lift[k, at] += value
                lift[k, past[t]] -= value
        if origin >= 0:
            lift[k, origin] += later
    return lift
