"""Backpropagation, an example at a time: local gradients from layer to layer [BACKPROP]."""

from math import tanh
from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.supervised._outputs import answer_and_compare, logistic
from eigenstream.rules.supervised.base import Network

__all__ = ["backpropagation_steps"]


@njit(cache=True, nogil=True, error_model="numpy")
def _answers(values: Any, kind: int) -> None:
    """Replace inputs v by answers phi(v): logistic (1), tanh (2), relu (3); or leave them (0)."""
    for j in range(values.shape[0]):
        v = values[j]
        if kind == 1:
            values[j] = logistic(v)
        elif kind == 2:
            values[j] = tanh(v)
        elif kind == 3:
            values[j] = max(v, 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def _slope(y: float, kind: int) -> float:
    """Return phi'(v), from the answer y = phi(v)."""
    if kind == 1:
        return y * (1.0 - y)
    if kind == 2:
        return 1.0 - y * y
    if kind == 3:
        return 1.0 if y > 0.0 else 0.0
    return 1.0


# Sums may be reordered, so that they run in vector registers.
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _drive(weights: Any, inputs: Any, out: Any) -> None:
    """Write v_j = sum_i w_ij y_i ([BACKPROP]), four inputs at a time."""
    n, m = weights.shape
    out[:m] = 0.0
    whole = n - n % 4
    for i in range(0, whole, 4):
        a, b, c, d = inputs[i], inputs[i + 1], inputs[i + 2], inputs[i + 3]
        for j in range(m):
            near = a * weights[i, j] + b * weights[i + 1, j]
            out[j] += near + (c * weights[i + 2, j] + d * weights[i + 3, j])
    for i in range(whole, n):
        a = inputs[i]
        for j in range(m):
            out[j] += a * weights[i, j]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _send_back(weights: Any, deltas: Any, answers: Any, kind: int, out: Any) -> None:
    """Write delta_j = phi'(v_j) sum_k delta_k w_kj for the units j of a layer ([BACKPROP])."""
    for i in range(weights.shape[0] - 1):
        total = 0.0
        for k in range(weights.shape[1]):
            total += weights[i, k] * deltas[k]
        out[i] = total * _slope(answers[i], kind)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _change(weights: Any, inputs: Any, deltas: Any, rate: float) -> None:
    """Add ``rate * delta_k y_i`` to the weights of a layer ([BACKPROP])."""
    for i in range(weights.shape[0]):
        factor = rate * inputs[i]
        if factor != 0.0:
            for k in range(weights.shape[1]):
                weights[i, k] += factor * deltas[k]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _push(
    weights: Any, velocity: Any, inputs: Any, deltas: Any, rate: float, keep: float, ahead: float
) -> None:
    """Let the weights follow a velocity, of which ``keep`` stays; see ``backpropagation_steps``."""
    for i in range(weights.shape[0]):
        factor = rate * inputs[i]
        for k in range(weights.shape[1]):
            step = factor * deltas[k]
            velocity[i, k] = keep * velocity[i, k] + step
            weights[i, k] += ahead * (keep * velocity[i, k] + step - velocity[i, k])
            weights[i, k] += velocity[i, k]


@njit(cache=True, nogil=True, error_model="numpy")
def backpropagation_steps(
    net: Network, rows: Any, targets: Any, order: Any, gains: Any, weights: Any
) -> Any:
    """Take a step on each row in this order; return the steps done and the sum of the losses.

    dw_ji = eta c delta_j y_i with the row's weight c; delta_j = phi'(v_j) sum_k delta_k w_kj in a
    hidden layer ([BACKPROP]). With momentum m, v = m v + dw is what the weights change by,
    in Nesterov's form m v + dw. A loss that is not finite ends it: its step is not taken.
    """
    sizes, last = net.sizes, net.sizes.shape[0] - 1
    # The answers of a layer, and a one that drives the intercepts of the next.
    at = np.zeros(last + 2, np.int64)
    at[1:] = np.cumsum(sizes + 1)
    answers, deltas = np.ones(at[last + 1]), np.empty(at[last + 1])
    total = 0.0
    for s in range(order.shape[0]):
        answers[: sizes[0]] = rows[order[s]]
        place = 0
        for here in range(last):
            n, m = sizes[here] + 1, sizes[here + 1]
            layer = net.weights[place : place + n * m].reshape((n, m))
            out = answers[at[here + 1] : at[here + 1] + m]
            _drive(layer, answers[at[here] : at[here + 1]], out)
            if here < last - 1:
                _answers(out, net.activation)
            place += n * m
        out = answers[at[last] : at[last] + sizes[last]]
        loss = answer_and_compare(out, targets[order[s]], deltas[at[last] :], net.output)
        if not abs(loss) < np.inf:
            return s, total
        total += weights[order[s]] * loss
        rate = gains[s] * weights[order[s]]
        for here in range(last - 1, -1, -1):
            n, m = sizes[here] + 1, sizes[here + 1]
            place -= n * m
            layer = net.weights[place : place + n * m].reshape((n, m))
            inputs, back = answers[at[here] : at[here + 1]], deltas[at[here + 1] : at[here + 1] + m]
            if here > 0:
                _send_back(layer, back, inputs, net.activation, deltas[at[here] : at[here + 1]])
            if net.velocity.shape[0] == 0:
                _change(layer, inputs, back, rate)
            else:
                past = net.velocity[place : place + n * m].reshape((n, m))
                ahead = 1.0 if net.nesterov else 0.0
                _push(layer, past, inputs, back, rate, net.momentum, ahead)
    return order.shape[0], total
