"""Layers of units, and backpropagation through them in mini-batches."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream.kernels.base import njit
from eigenstream.neurons._supervised import Block

__all__ = ["OUTPUTS", "Network", "backpropagation_steps", "network_answers"]

#: Activation functions of the hidden units.
ACTIVATIONS = ("identity", "logistic", "tanh", "relu")
#: Activation functions of the last layer. The first two have the cross-entropy as loss, the others
#: half the squared error.
OUTPUTS = ("softmax", "logistic", "identity", "logistic_squared")

#: Shares are clipped this far from 0 and 1 before their logarithm, as in scikit-learn.
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
        momentum: float = 0.0,
        nesterov: bool = False,
    ) -> "Network":
        """Return a network whose weights are all zero."""
        total = sum((n + 1) * m for n, m in pairwise(sizes))
        kinds = ACTIVATIONS.index(activation), OUTPUTS.index(output)
        past = np.zeros(total if momentum else 0)
        layers = np.array(sizes, np.int64)
        return cls(layers, np.zeros(total), past, *kinds, float(momentum), bool(nesterov))

    def _loaded(self) -> None:
        """Check that the weights belong to these layers."""
        sizes = self.sizes.tolist()
        total = sum((n + 1) * m for n, m in pairwise(sizes))
        past = total if self.momentum else 0
        if (
            len(sizes) < 2
            or min(sizes) < 1
            or (len(self.weights), len(self.velocity))
            != (
                total,
                past,
            )
        ):
            raise ValueError(f"layers of {sizes} units have other weights.")
        ACTIVATIONS[self.activation], OUTPUTS[self.output]

    def layers(self) -> list[tuple[Float64s, Float64s]]:
        """Return views of the weights and the intercepts of each layer."""
        found: list[tuple[Float64s, Float64s]] = _layers(self.sizes.tolist(), self.weights)
        return found

    def copy(self) -> "Network":
        """Return a network that learns without this one."""
        return self._replace(weights=self.weights.copy(), velocity=self.velocity.copy())


def _layers(sizes: Any, flat: Any) -> Any:
    found, at = [], 0
    for k in range(len(sizes) - 1):
        n, m = sizes[k], sizes[k + 1]
        found.append((flat[at : at + n * m].reshape((n, m)), flat[at + n * m : at + (n + 1) * m]))
        at += (n + 1) * m
    return found


_compiled_layers = njit(cache=True, nogil=True)(_layers)


@njit(cache=True, nogil=True, error_model="numpy")
def _product(left: Any, right: Any) -> Any:
    """Return the matrix product; BLAS is several times faster with one row as a vector."""
    if left.shape[0] == 1:
        return np.dot(left[0], right).reshape((1, -1))
    return np.dot(left, right)


@njit(cache=True, nogil=True, error_model="numpy")
def _add_outer(coefs: Any, left: Any, right: Any) -> None:
    """Add the outer product without a temporary array."""
    for i in range(left.size):
        for j in range(right.size):
            coefs[i, j] += left[i] * right[j]


@njit(cache=True, nogil=True, error_model="numpy")
def _respond(values: Any, kind: int) -> None:
    """Replace inputs v by phi(v)."""
    flat = values.ravel()
    for j in range(flat.size):
        if kind == 1:
            flat[j] = 1.0 / (1.0 + np.exp(-flat[j]))
        elif kind == 2:
            flat[j] = np.tanh(flat[j])
        elif kind == 3:
            flat[j] = max(flat[j], 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def _times_slope(deltas: Any, answers: Any, kind: int) -> None:
    """Multiply by phi'(v), from the answers y = phi(v)."""
    d, y = deltas.ravel(), answers.ravel()
    for j in range(d.size):
        if kind == 1:
            d[j] *= y[j] * (1.0 - y[j])
        elif kind == 2:
            d[j] *= 1.0 - y[j] * y[j]
        elif kind == 3 and not y[j] > 0.0:
            d[j] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _forward(net: Network, rows: Any) -> Any:
    """Return the answers of each layer to the rows, the rows first."""
    answers = [rows]
    for coefs, intercepts in _compiled_layers(net.sizes, net.weights):
        values = _product(answers[-1], coefs) + intercepts
        if len(answers) < net.sizes.size - 1:
            _respond(values, net.activation)
        elif net.output == 0:
            for t in range(values.shape[0]):
                values[t] = np.exp(values[t] - values[t].max())
                values[t] /= values[t].sum()
        elif net.output != 2:
            _respond(values, 1)
        answers.append(values)
    return answers


@njit(cache=True, nogil=True, error_model="numpy")
def _compare(answers: Any, targets: Any, weights: Any, kind: int) -> Any:
    """Return the sum of the losses and the local gradients, both times the rows' weights.

    The gradient is e = d - y for the cross-entropies and linear answers. For the squared error of
    logistic answers it is e phi'(v) ([BACKPROP]).
    """
    deltas, loss = np.empty_like(answers), 0.0
    for t in range(answers.shape[0]):
        for k in range(answers.shape[1]):
            y, d = answers[t, k], targets[t, k]
            e = d - y
            part = 0.5 * e * e
            if kind <= 1:
                share = y if y != y else min(max(y, LEAST), 1.0 - LEAST)
                part = -d * np.log(share)
                if kind == 1:
                    part -= (1.0 - d) * np.log(1.0 - share)
            loss += weights[t] * part
            deltas[t, k] = weights[t] * (e * y * (1.0 - y) if kind == 3 else e)
    return loss, deltas


@njit(cache=True, nogil=True, error_model="numpy")
def backpropagation_steps(net: Network, block: Block, order: Any, gains: Any, size: int) -> Any:
    """Take a step on each batch of ``size`` rows; return the steps and the sum of the losses.

    A step is dw_ji = eta / n times the sum over the n rows of c delta_j y_i, c their weights. In a
    hidden layer delta_j = phi'(v_j) sum_k delta_k w_kj ([BACKPROP]). With momentum m, the weights
    change by v = m v + dw, in Nesterov's form by m v + dw. The last batch may be smaller. A loss
    that is not finite ends the loop before its step.

    >>> net = Network.zeros((2, 1), "tanh", "identity")
    >>> block = Block(np.eye(2), np.array([[1.0], [3.0]]), np.ones(2), np.ones(2))
    >>> backpropagation_steps(net, block, np.arange(2), np.array([0.5]), 2)
    (1, 5.0)
    >>> net.weights  # the mean error is 2
    array([0.25, 0.75, 1.  ])
    """
    weight, velocity, total = net.weights, net.velocity, 0.0
    change, alone = np.empty_like(weight), size == 1 and net.momentum == 0.0
    layers, changes = _compiled_layers(net.sizes, weight), _compiled_layers(net.sizes, change)
    for s in range(gains.shape[0]):
        picks = order[s * size : (s + 1) * size]
        answers = _forward(net, block.rows[picks])
        wanted, heavy = block.targets[picks], block.weights[picks]
        loss, deltas = _compare(answers[-1], wanted, heavy, net.output)
        if not np.isfinite(loss):
            return s, total
        total += loss
        deltas *= gains[s] / picks.size
        for k in range(len(layers) - 1, -1, -1):
            sent = deltas
            if k > 0:
                deltas = _product(sent, layers[k][0].T)
                _times_slope(deltas, answers[k], net.activation)
            coefs, intercepts = layers[k] if alone else changes[k]
            if alone:
                _add_outer(coefs, answers[k][0], sent[0])
                intercepts += sent[0]
            else:
                np.dot(answers[k].T, sent, coefs)
                intercepts[:] = sent.sum(axis=0)
        if net.momentum > 0.0:
            velocity[:] = net.momentum * velocity + change
            weight += net.momentum * velocity + change if net.nesterov else velocity
        elif not alone:
            weight += change
    return gains.shape[0], total


def network_answers(net: Network, rows: Any) -> Float64s:
    """Return the answers of the last layer to each row.

    >>> network_answers(Network.zeros((2, 1), "tanh", "logistic"), np.ones((1, 2)))
    array([[0.5]])
    """
    return np.asarray(_forward(net, np.require(rows, requirements=["C", "W"]))[-1])
