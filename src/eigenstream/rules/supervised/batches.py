"""Backpropagation with mini-batches: the step of ``backpropagation``, as matrix products."""

from typing import Any

import numpy as np
from scipy.special import expit

from eigenstream._linalg import Float64s
from eigenstream.rules.supervised._outputs import local_gradients
from eigenstream.rules.supervised.base import ACTIVATIONS, OUTPUTS, Network

__all__ = ["BatchSteps", "network_answers"]

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
