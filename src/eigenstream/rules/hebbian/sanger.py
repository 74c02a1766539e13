"""Sanger's rule (generalised Hebbian algorithm): each unit learns what the units above leave."""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.base import Rule, add_input, begin_step

__all__ = ["SANGER", "SANGER_NORMALIZED"]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _deflate(table: Any, y: Any, f: Any, seen: Any) -> None:
    """Subtract ``f_k sum_{l <= k} y_l table_l`` from row k of the table, with the old rows."""
    seen[:] = 0.0
    for k in range(table.shape[0]):
        for j in range(table.shape[1]):
            seen[j] += y[k] * table[k, j]
            table[k, j] -= f[k] * seen[j]


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
    """Take steps of w_k += eta_k y_k (u - sum_{l <= k} y_l w_l) [SANGER].

    With explicit normalisation, w_k is then divided by |w_k| ([DYN] eq. 3.3). The norms come from
    the inner products of the weights, Q -> T Q T^T + (T y) f^T + f (T y)^T + |u|^2 f f^T with
    w -> T w + f u; the engine gives ``own`` = Q to the normalised rule only.
    """
    d, width = moved.shape
    seen = np.empty(width)
    f = np.empty(d)
    ty = np.empty((d, 1))
    for t in range(signs.shape[0]):
        eta, sound = begin_step(moved, gram, signs, gains, adapt, responses, t)
        if not sound:
            return t
        y = responses[t]
        for k in range(d):
            f[k] = eta * rates[k] * y[k]
        _deflate(moved, y, f, seen)
        for k in range(d):
            add_input(moved[k], f[k], gram, d + t, d)
        if own.size:
            ty[:, 0] = y
            _deflate(ty, y, f, seen[:1])
            _deflate(own, y, f, seen[:d])
            _deflate(own.T, y, f, seen[:d])
            for k in range(d):
                for j in range(d):
                    own[k, j] += ty[k, 0] * f[j] + f[k] * ty[j, 0] + gram[t, t] * f[k] * f[j]
            for k in range(d):
                norm = np.sqrt(own[k, k])
                for j in range(width):
                    moved[k, j] /= norm
                for j in range(d):
                    own[k, j] /= norm
                    own[j, k] /= norm
    return int(signs.shape[0])


SANGER = Rule("sanger", _run)
SANGER_NORMALIZED = Rule("sanger_normalized", _run, norms=True)
