"""Centring a stream without a second pass, in the coefficients of a block of rows."""

from typing import Any

import numpy as np
from numba import njit

__all__ = ["centered_terms"]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def centered_terms(
    now: Any, past: Any, weights: Any, total: float, keep: float, center: bool, paired: bool
) -> Any:
    """Return (mix, shrink, mean, left, total): the input vectors as combinations of rows.

    An observation is centred by the mean m of all before it and counts W / (W + w) times its
    weight w, where W is the weight of those before: summed over any number of steps, the terms
    (W w / (W + w)) (x - m)(x - m)^T are exactly the scatter about the final mean [CHAN]. A
    lagged difference needs no centring. Rows are given relative to the mean before the block.

    ``mix`` (steps * r, n): the vectors, centred observation first;  ``shrink`` (steps,): W/(W + w);
    the mean after the block is ``mean`` @ rows + ``left`` * (the mean before it).
    """
    steps, n = now.shape[0], past.max() + 1
    n = max(n, now.max() + 1)
    r = 2 if paired else 1
    mix = np.zeros((steps * r, n))
    shrink = np.ones(steps)
    mean = np.zeros(n)
    left = 1.0
    for t in range(steps):
        if center:
            w = weights[t]
            total *= keep
            share = w / (total + w) if w > 0.0 else 0.0
            shrink[t] = 1.0 - share
            for j in range(n):
                mix[r * t, j] = -mean[j]
                mean[j] *= 1.0 - share
            mean[now[t]] += share
            left *= 1.0 - share
            total += w
        mix[r * t, now[t]] += 1.0
        if paired:
            mix[r * t + 1, now[t]] += 1.0
            mix[r * t + 1, past[t]] -= 1.0
    return mix, shrink, mean, left, total
