"""The rule of Widrow and Hoff: a step against the error of the linear response [ADALINE]."""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.base import Rule, add_input, read_responses
from eigenstream.rules.supervised.base import Units, response

__all__ = ["ADALINE", "adaline_steps"]

#: An error this many times the largest target means that the weights explode.
EXPLODED = 1e12


@njit(cache=True, nogil=True, error_model="numpy")
def adaline_steps(
    units: Units, rows: Any, targets: Any, order: Any, gains: Any, factors: Any, largest: float
) -> Any:
    """Take steps of w_k += eta c e_k x, with e_k = d_k - <w_k, x>; return steps done and |e|^2.

    The factors c are the rows' weights, divided by |x|^2 in the normalised form. The number of
    steps falls short of that of the rows where an error was not finite or exploded.
    """
    n_units, last = units.weights.shape[0], rows.shape[1]
    limit, total = EXPLODED * largest, 0.0
    for s in range(order.shape[0]):
        i = order[s]
        row, f = rows[i], gains[s] * factors[i]
        for k in range(n_units):
            w = units.weights[k]
            e = targets[i, k] - response(w, row)
            if not abs(e) <= limit:
                return s, total
            total += e * e
            step = f * e
            for j in range(last):
                w[j] += step * row[j]
            w[last] += step * units.bias
    units.seen[0] += order.shape[0]
    return order.shape[0], total


@njit(cache=True, error_model="numpy")
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
    """Take steps of w_k += eta (d - <w_k, u>) u / |u|^2; the signs are the targets d."""
    d = moved.shape[0]
    for t in range(signs.shape[0]):
        if not read_responses(moved, d + t, responses, t) < np.inf:
            return t
        if gram[t, t] > 0.0:
            for k in range(d):
                e = signs[t, 0] - responses[t, k]
                add_input(moved[k], gains[t] * rates[k] * e / gram[t, t], gram, d + t, d)
    return int(signs.shape[0])


#: For the block engine: the rows with a last column of ones, their targets as ``signs``.
ADALINE = Rule("adaline", _run)
