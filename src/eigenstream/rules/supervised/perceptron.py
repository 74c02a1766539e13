"""The perceptron's rule: on a mistake, add the row with the sign of its class [ROSENBLATT]."""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.base import Rule, add_input, read_responses
from eigenstream.rules.supervised.base import Units, response

__all__ = ["PERCEPTRON", "perceptron_steps"]


@njit(cache=True, nogil=True, error_model="numpy")
def perceptron_steps(
    units: Units, rows: Any, classes: Any, order: Any, weights: Any, active: Any, ratchet: bool
) -> None:
    """Show the rows in this order to the units that are ``active``.

    Unit k answers +1 to class k, a single unit to class 1; a response of zero is a mistake. On a
    mistake w += c y x, with the row's weight c and y = +1 or -1. With a pocket, the weights that
    were right for the longest run of rows are kept [GALLANT]; with the ratchet they are only
    exchanged for weights that err on less of all the rows.
    """
    n_units, last = units.weights.shape[0], rows.shape[1]
    for s in range(order.shape[0]):
        row, c = rows[order[s]], weights[order[s]]
        mine = classes[order[s]] - (1 if n_units == 1 else 0)
        for k in range(n_units):
            if not active[k] or c == 0.0:
                continue
            y = 1.0 if mine == k else -1.0
            w = units.weights[k]
            if y * response(w, row) > 0.0:
                if units.kept.size:
                    _survived(units, k, rows, classes, weights, ratchet)
                continue
            units.mistakes[k] += 1
            step = c * y
            for j in range(last):
                w[j] += step * row[j]
            w[last] += step * units.bias
            if units.sums.size:
                before = step * (units.seen[0] + s)
                for j in range(last):
                    units.sums[k, j] += before * row[j]
                units.sums[k, last] += before * units.bias
            units.marks[0, k] = 0
            units.marks[2, k] = 0
    units.seen[0] += order.shape[0]


@njit(cache=True, nogil=True, error_model="numpy")
def _survived(units: Units, k: int, rows: Any, classes: Any, weights: Any, ratchet: bool) -> None:
    """Count a right answer; put the weights into the pocket if they are better than what it has."""
    marks = units.marks
    marks[0, k] += 1
    if marks[0, k] <= marks[1, k]:
        return
    if marks[2, k] == 0:
        errors = 0.0
        if ratchet:
            first = 1 if units.weights.shape[0] == 1 else 0
            for i in range(rows.shape[0]):
                y = 1.0 if classes[i] - first == k else -1.0
                if y * response(units.weights[k], rows[i]) <= 0.0:
                    errors += weights[i]
        if ratchet and errors >= units.errors[k]:
            marks[2, k] = 2
            return
        units.errors[k] = errors if ratchet else np.inf
        units.kept[k] = units.weights[k]
        marks[2, k] = 1
    if marks[2, k] == 1:
        marks[1, k] = marks[0, k]


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
    """Take steps of w_k += eta y u on the rows with y <w_k, u> <= 0; the signs are the y."""
    d = moved.shape[0]
    for t in range(signs.shape[0]):
        if not read_responses(moved, d + t, responses, t) < np.inf:
            return t
        y = signs[t, 0]
        for k in range(d):
            if y * responses[t, k] <= 0.0:
                add_input(moved[k], gains[t] * rates[k] * y, gram, d + t, d)
    return int(signs.shape[0])


#: For the block engine: the rows with a last column of ones, their classes +1 and -1 as ``signs``.
PERCEPTRON = Rule("perceptron", _run)
