"""Backpropagation through layers of units: an example at a time in a loop, batches as products."""

from itertools import pairwise
from math import exp, log, tanh
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream.kernels.base import njit

__all__ = ["OUTPUTS", "BatchSteps", "Network", "backpropagation_steps", "network_answers"]

#: How a hidden unit answers to its input v, by number; ``derivative`` speaks of the answers.
ACTIVATIONS = ("identity", "logistic", "tanh", "relu")
#: What the last layer answers, and the loss: cross-entropy of shares, of one share or of several
#: that stand alone, half the squared error of v, and half the squared error of logistic answers.
OUTPUTS = ("softmax", "logistic", "identity", "logistic_squared")


#: Shares are held this far from 0 and 1 when their logarithm is taken, as scikit-learn does.
LEAST = float(np.finfo(np.float64).eps)


@storable(
    sizes="i8 layers",
    weights="f8 weights",
    velocity="f8 weights | f8 0",
    activation="int",
    output="int",
    momentum="number",
    nesterov="bool",
)
class Network(NamedTuple):
    """Layers of units, each fully connected to the one before it.

    The weights of all layers lie in one array: those from layer l to the next as (inputs, units),
    then the intercepts of the units.

    >>> net = Network.zeros((2, 3, 1), "tanh", "logistic")
    >>> [(coefs.shape, intercepts.shape) for coefs, intercepts in net.layers()]
    [((2, 3), (3,)), ((3, 1), (1,))]
    """

    sizes: Any  # units of each layer, the inputs first
    weights: Any
    velocity: Any  # the last change of the weights; empty without momentum
    activation: int  # of the hidden units, in ACTIVATIONS
    output: int  # in OUTPUTS
    momentum: float
    nesterov: bool

    @classmethod
    def zeros(
        cls,
        sizes: tuple[int, ...],
        activation: str,
        output: str,
        *,
        momentum: float = 0.0,
        nesterov: bool = False,
    ) -> "Network":
        """Return a network whose weights are all zero."""
        total = cls._total(sizes)
        return cls(
            np.array(sizes, np.int64),
            np.zeros(total),
            np.zeros(total if momentum else 0),
            ACTIVATIONS.index(activation),
            OUTPUTS.index(output),
            float(momentum),
            bool(nesterov),
        )

    def _loaded(self) -> None:
        """Check that the weights belong to these layers."""
        if (
            len(self.sizes) < 2
            or min(self.sizes) < 1
            or len(self.weights) != self._total(self.sizes)
        ):
            raise ValueError(f"layers of {self.sizes.tolist()} units have other weights.")
        ACTIVATIONS[self.activation], OUTPUTS[self.output]

    @staticmethod
    def _total(sizes: Any) -> int:
        return sum((int(n) + 1) * int(m) for n, m in pairwise(sizes))

    def layers(self, flat: Float64s | None = None) -> list[tuple[Float64s, Float64s]]:
        """Return views of the weights and the intercepts, or of an array of their layout."""
        flat = self.weights if flat is None else flat
        found, at = [], 0
        for n, m in pairwise(self.sizes.tolist()):
            found.append((flat[at : at + n * m].reshape(n, m), flat[at + n * m : at + (n + 1) * m]))
            at += (n + 1) * m
        return found

    def copy(self) -> "Network":
        """Return a network that learns without this one."""
        return self._replace(weights=self.weights.copy(), velocity=self.velocity.copy())


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


LOGISTIC, TANH, RELU = (ACTIVATIONS.index(name) for name in ("logistic", "tanh", "relu"))


def activate(values: Float64s, kind: int) -> None:
    """Replace inputs v by answers phi(v).

    >>> v = np.array([-1.0, 2.0])
    >>> activate(v, RELU); v
    array([0., 2.])
    """
    if kind == LOGISTIC:
        expit(values, out=values)
    elif kind == TANH:
        np.tanh(values, out=values)
    elif kind == RELU:
        np.maximum(values, 0.0, out=values)


def times_slope(deltas: Float64s, answers: Float64s, kind: int) -> None:
    """Multiply by phi'(v), from the answers phi(v).

    >>> d = np.ones(2)
    >>> times_slope(d, np.array([0.5, 1.0]), TANH); d
    array([0.75, 0.  ])
    """
    if kind == LOGISTIC:
        deltas *= answers * (1.0 - answers)
    elif kind == TANH:
        deltas *= 1.0 - answers * answers
    elif kind == RELU:
        deltas *= answers > 0.0


def network_answers(net: Network, rows: Any) -> Float64s:
    """Return what the last layer answers to each row.

    >>> network_answers(Network.zeros((2, 1), "tanh", "logistic"), np.ones((1, 2)))
    array([[0.5]])
    """
    values, layers = rows, net.layers()
    for coefs, intercepts in layers[:-1]:
        values = values @ coefs + intercepts
        activate(values, net.activation)
    values = np.asarray(values @ layers[-1][0] + layers[-1][1], np.float64)
    if OUTPUTS[net.output] == "softmax":
        values -= values.max(axis=1, keepdims=True)
        np.exp(values, out=values)
        values /= values.sum(axis=1, keepdims=True)
    elif OUTPUTS[net.output] != "identity":
        activate(values, LOGISTIC)
    return values


class BatchSteps:
    """Takes steps on batches of up to ``size`` rows; holds the arrays that they need.

    The step is eta / n times the sum over the n rows of the batch of c delta y, c their weights.

    >>> net = Network.zeros((2, 1), "tanh", "identity")
    >>> steps = BatchSteps(net, 2)
    >>> steps.learn(np.eye(2), np.array([[1.0], [3.0]]), np.arange(2), np.array([0.5]), np.ones(2))
    (1, 5.0)
    >>> net.weights  # the mean error is 2
    array([0.25, 0.75, 1.  ])
    """

    def __init__(self, net: Network, size: int) -> None:
        self.net = net
        self.size = size
        sizes = net.sizes.tolist()
        self._answers = [np.empty((size, n)) for n in sizes]
        self._deltas = [np.empty((size, n)) for n in sizes]
        self._targets = np.empty((size, sizes[-1]))
        self._change = np.empty_like(net.weights)

    def learn(
        self, rows: Any, targets: Any, order: Any, gains: Any, weights: Any
    ) -> tuple[int, float]:
        """Take a step a batch on the rows in this order; return the steps and the sum of losses.

        The last batch may be smaller. A loss that is not finite ends it before its step is taken.
        """
        total, step = 0.0, 0
        with np.errstate(over="ignore", invalid="ignore"):  # said by the number of steps
            for start in range(0, len(order), self.size):
                picks = order[start : start + self.size]
                loss = self._step(rows, targets, picks, gains[step], weights)
                if not np.isfinite(loss):
                    return step, total
                total, step = total + loss, step + 1
        return step, total

    def _step(self, rows: Any, targets: Any, picks: Any, rate: float, weights: Any) -> float:
        net, count, layers = self.net, len(picks), self.net.layers()
        answers = [one[:count] for one in self._answers]
        deltas = [one[:count] for one in self._deltas]
        wanted = self._targets[:count]
        np.take(rows, picks, axis=0, out=answers[0], mode="clip")
        np.take(targets, picks, axis=0, out=wanted, mode="clip")
        for at, (coefs, intercepts) in enumerate(layers):
            np.dot(answers[at], coefs, out=answers[at + 1])
            answers[at + 1] += intercepts
            if at < len(layers) - 1:
                activate(answers[at + 1], net.activation)
        out = answers[-1], wanted, weights[picks], deltas[-1]
        loss = float(local_gradients(*out, net.output))
        if not np.isfinite(loss):
            return loss
        for at in range(len(layers) - 1, -1, -1):
            coefs, intercepts = net.layers(self._change)[at]
            np.dot(answers[at].T, deltas[at + 1], out=coefs)
            deltas[at + 1].sum(axis=0, out=intercepts)
            if at > 0:
                np.dot(deltas[at + 1], layers[at][0].T, out=deltas[at])
                times_slope(deltas[at], answers[at], net.activation)
        self._change *= rate / count
        if net.momentum:
            velocity = net.velocity
            velocity *= net.momentum
            velocity += self._change
            np.add(net.weights, velocity, out=net.weights)
            if net.nesterov:
                self._change += (net.momentum - 1.0) * velocity
                np.add(net.weights, self._change, out=net.weights)
        else:
            np.add(net.weights, self._change, out=net.weights)
        return loss
