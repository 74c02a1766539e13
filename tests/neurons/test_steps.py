"""The compiled loops take the steps of ten lines of NumPy."""

import numpy as np
import pytest

from eigenstream.neurons._base import SupervisedRows
from eigenstream.neurons._steps import (
    ACTIVATIONS,
    OUTPUTS,
    HebbianUnits,
    Network,
    backpropagation_steps,
    hebbian_steps,
)
from eigenstream.online.blocks import automatic

N, D = 203, 12
RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((N, D)) + 0.3
GAINS = 1.0 / (5 + np.arange(N))


def hebbian(start, form, center, power):
    """The textbook's steps of three units with factors of the rate, and the mean of the weights."""
    (subtracts, normalizes), W = form, start.copy()
    mean, average = np.zeros(D), start.copy()
    for t, (x, eta) in enumerate(zip(ROWS, GAINS / 5, strict=True)):
        share = 1 / (t + 1) if center else 0.0
        mean = x if center and t == 0 else mean
        u = x - mean
        y = W @ u
        change = np.array([u - subtracts * y[: k + 1] @ W[: k + 1] for k in range(3)])
        W = W + (eta * FACTORS * (1 - share) * y)[:, None] * change
        W = W / np.linalg.norm(W, axis=1, keepdims=True) if normalizes else W
        mean = mean + share * u
        average = average + (1 - (t / (t + 1)) ** (power + 1)) * (W - average)
    return W, average, mean


FACTORS = np.array([1.0, 0.5, 2.0])


@pytest.mark.parametrize("form", [(False, True), (True, False), (False, False), (True, True)])
@pytest.mark.parametrize("center", [True, False])
def test_the_hebbian_loop_takes_the_steps_of_the_textbook(form, center):
    start = np.random.default_rng(1).standard_normal((3, D)) / 4
    units = HebbianUnits(start.copy(), start.copy(), np.zeros(D), automatic(0.0, 1.0))
    for part in (slice(0, 50), slice(50, N)):
        done = hebbian_steps(
            *units, ROWS[part], part.start, GAINS[part] / 5, FACTORS, form, center, 1.5
        )
        assert done == part.stop - part.start
    for found, expected in zip(units, hebbian(start, form, center, 1.5), strict=False):
        scale = np.abs(expected).max(initial=1e-300)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * scale)


def test_a_hebbian_step_that_is_too_large_changes_nothing():
    start, rows = np.eye(2, D), ROWS.copy()
    rows[7] = 1e200
    units = HebbianUnits(start.copy(), start.copy(), np.zeros(D), automatic(0.0, 1.0))
    arguments = np.ones(2), (True, False), True, 1.0
    assert hebbian_steps(*units, rows, 0, GAINS, *arguments) == 7
    before = units.copy()
    assert hebbian_steps(*units, rows[7:], 7, GAINS[7:], *arguments) == 0
    for now, then in zip(units, before, strict=True):
        np.testing.assert_array_equal(now[:], then)


PHI = {
    "logistic": (lambda v: 1 / (1 + np.exp(-v)), lambda y: y * (1 - y)),
    "tanh": (np.tanh, lambda y: 1 - y**2),
    "relu": (lambda v: np.maximum(v, 0), lambda y: (y > 0) * 1.0),
}


def backpropagation(net, batches, targets, gains, weights):
    """The textbook's steps, a batch at a time; return the sum of the losses."""
    (phi, slope), total, v = PHI[ACTIVATIONS[net.activation]], 0.0, 0.0
    output = OUTPUTS[net.output]
    for picks, gain in zip(batches, gains, strict=True):
        layers, x, d, c = net.layers(), [ROWS[picks]], targets[picks], weights[picks, None]
        for W, b in layers[:-1]:
            x.append(phi(x[-1] @ W + b))
        z = x[-1] @ layers[-1][0] + layers[-1][1]
        y = PHI["logistic"][0](z) if output == "logistic" else z
        y = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True) if output == "softmax" else y
        loss = -(d * np.log(y)) if output in ("softmax", "logistic") else (d - y) ** 2 / 2
        total += (c * (loss - (output == "logistic") * (1 - d) * np.log(1 - y))).sum()
        delta = c * (d - y)
        change = []
        for (W, _), before in zip(layers[::-1], x[::-1], strict=True):
            change = [*(before.T @ delta).ravel(), *delta.sum(axis=0), *change]
            delta = delta @ W.T * slope(before)
        step = gain / len(picks) * np.array(change)
        v = net.momentum * v + step
        net.weights[:] += net.momentum * v + step
    return total


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("momentum", [0.0, 0.7])
@pytest.mark.parametrize("size", [1, 8])
def test_backpropagation_equals_the_textbook(activation, output, momentum, size):
    rng = np.random.default_rng(100)
    net = Network.zeros((D, 5, 4, 3), activation, output, momentum)
    net.weights[:] = rng.standard_normal(net.weights.size) / 3
    other = net.copy()
    targets, weights = np.eye(3)[rng.integers(3, size=N)], rng.uniform(0, 2, N)
    order, n_steps = rng.permutation(N), -(-N // size)
    gains = GAINS[:n_steps] / 5
    block = SupervisedRows(ROWS, targets, weights, weights)
    done, loss = backpropagation_steps(net, block, order, gains, size)
    assert done == n_steps
    batches = np.split(order, range(size, N, size))
    assert loss == pytest.approx(backpropagation(other, batches, targets, gains, weights))
    np.testing.assert_allclose(net.weights, other.weights, rtol=0, atol=1e-12)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("size", [1, 4])
def test_a_loss_that_is_not_finite_ends_the_steps(output, size):
    net = Network.zeros((D, 3), "tanh", output)
    targets, rows = np.eye(3)[np.zeros(N, int)], ROWS.copy()
    rows[7, 0] = np.nan
    block = SupervisedRows(rows, targets, np.ones(N), np.ones(N))
    steps = backpropagation_steps(net, block, np.arange(N), GAINS, size)
    assert steps[0] == 7 // size
