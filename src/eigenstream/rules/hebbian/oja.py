"""Oja's neuron: a Hebbian step and a norm kept at one, exactly or to first order in the rate."""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.base import Rule, add_input, begin_step

__all__ = ["OJA_LINEAR", "OJA_NORMALIZED"]


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
    """Take steps of w = (w + eta y u) / |w + eta y u|, or of w += eta y (u - y w) [OJA].

    The engine gives ``own`` to the normalised rule only. Each unit learns alone.
    """
    d, width = moved.shape
    for t in range(signs.shape[0]):
        eta, sound = begin_step(moved, gram, signs, gains, adapt, responses, t)
        if not sound:
            return t
        for k in range(d):
            y = responses[t, k]
            f = eta * rates[k]
            if own.size:
                norm = np.sqrt(own[k, k] + f * y * y * (2.0 + f * gram[t, t]))
                own[k, k] = 1.0
                add_input(moved[k], f * y, gram, d + t, d)
                for j in range(width):
                    moved[k, j] /= norm
            else:
                for j in range(width):
                    moved[k, j] *= 1.0 - f * y * y
                add_input(moved[k], f * y, gram, d + t, d)
    return int(signs.shape[0])


OJA_NORMALIZED = Rule("oja_normalized", _run, norms=True)
OJA_LINEAR = Rule("oja_linear", _run)
