"""Plain Hebbian learning: it grows without bound, and is here to show that it does."""

from typing import Any

from eigenstream.kernels.base import njit
from eigenstream.rules.base import Rule, add_input, begin_step

__all__ = ["HEBB"]


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
    """Take steps of w_k += eta_k y_k u, with y_k = <w_k, u>."""
    d = moved.shape[0]
    for t in range(signs.shape[0]):
        eta, sound = begin_step(moved, gram, signs, gains, adapt, responses, t)
        if not sound:
            return t
        for k in range(d):
            add_input(moved[k], eta * rates[k] * responses[t, k], gram, d + t, d)
    return int(signs.shape[0])


HEBB = Rule("hebb", _run)
