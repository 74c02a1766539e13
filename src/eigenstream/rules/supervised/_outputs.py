"""The last layer: its answers, the loss, and the local gradients that go back from it."""

from math import exp, log
from typing import Any

import numpy as np

from eigenstream.kernels.base import njit

__all__ = ["answer_and_compare", "local_gradients", "logistic"]

#: Shares are held this far from 0 and 1 when their logarithm is taken, as scikit-learn does.
LEAST = float(np.finfo(np.float64).eps)


@njit(cache=True, nogil=True, error_model="numpy")
def logistic(v: float) -> float:
    """Return 1 / (1 + exp(-v)) without an overflow.

    >>> logistic(0.0), logistic(-1000.0)
    (0.5, 0.0)
    """
    if v >= 0.0:
        return 1.0 / (1.0 + exp(-v))
    part = exp(v)
    return part / (1.0 + part)


@njit(cache=True, nogil=True, error_model="numpy")
def answer_and_compare(values: Any, targets: Any, deltas: Any, kind: int) -> float:
    """Answer in the last layer; write the local gradients delta; return the loss.

    delta = e = d - y for the cross-entropies and for a linear answer, and e phi'(v) for the squared
    error of a logistic one ([BACKPROP]).
    """
    loss = 0.0
    if kind == 0:
        top = values[0]
        for k in range(values.shape[0]):
            top = max(top, values[k])
        total = 0.0
        for k in range(values.shape[0]):
            values[k] = exp(values[k] - top)
            total += values[k]
        for k in range(values.shape[0]):
            values[k] /= total
    elif kind != 2:
        for k in range(values.shape[0]):
            values[k] = logistic(values[k])
    for k in range(values.shape[0]):
        y, d = values[k], targets[k]
        e = d - y
        if kind <= 1:
            share = min(max(y, LEAST), 1.0 - LEAST)
            if d > 0.0:
                loss -= d * log(share)
            if kind == 1 and d < 1.0:
                loss -= (1.0 - d) * log(1.0 - share)
            if y != y:
                loss = y
        else:
            loss += 0.5 * e * e
        deltas[k] = e * y * (1.0 - y) if kind == 3 else e
    return loss


@njit(cache=True, nogil=True, error_model="numpy")
def local_gradients(values: Any, targets: Any, weights: Any, deltas: Any, kind: int) -> float:
    """Do so for each row, the local gradients and the losses times the weights; sum the losses."""
    total = 0.0
    for t in range(values.shape[0]):
        total += weights[t] * answer_and_compare(values[t], targets[t], deltas[t], kind)
        for k in range(values.shape[1]):
            deltas[t, k] *= weights[t]
    return total
