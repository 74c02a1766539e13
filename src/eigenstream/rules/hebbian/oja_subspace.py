"""Oja's subspace rule without orthonormalisation: dV = eta (I - V V^T) u u^T V."""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.base import Rule, add_input, begin_step

__all__ = ["OJA_SUBSPACE"]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _run(
    moved: Any,
    gram: Any,
    own: Any,
    signs: Any,
    gains: Any,
    rates: Any,
    adapt: Any,
    responses: Any,
) -> int:
    """Take steps of w_k += eta_k y_k (u - sum_l y_l w_l), all right sides with the old w."""
    d, width = moved.shape
    seen = np.empty(width)
    for t in range(signs.shape[0]):
        eta, sound = begin_step(moved, gram, signs, gains, adapt, responses, t)
        if not sound:
            return t
        seen[:] = 0.0
        for k in range(d):
            for j in range(width):
                seen[j] += responses[t, k] * moved[k, j]
        for k in range(d):
            f = eta * rates[k] * responses[t, k]
            for j in range(width):
                moved[k, j] -= f * seen[j]
            add_input(moved[k], f, gram, d + t, d)
    return int(signs.shape[0])


OJA_SUBSPACE = Rule("oja_subspace", _run)
