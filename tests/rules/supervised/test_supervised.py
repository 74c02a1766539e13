"""The compiled loops take the steps of ten lines of NumPy."""

import numpy as np
import pytest

from eigenstream.rules.supervised import (
    BatchSteps,
    Network,
    Units,
    adaline_steps,
    backpropagation_steps,
    perceptron_steps,
)

N, D = 203, 12
RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((N, D)) + 0.3
SIGNS = np.sign(ROWS @ RNG.standard_normal(D) + RNG.standard_normal(N))
GAINS = 1.0 / (5 + np.arange(N))


def perceptron(w, x, y, eta):
    return w + eta * y * x if y * (w @ x) <= 0 else w


def adaline(w, x, d, eta):
    return w + eta * (d - w @ x) * x / (x @ x)


def by_hand(rule):
    w = np.zeros(D + 1)
    for x, y, eta in zip(ROWS, SIGNS, GAINS, strict=True):
        w = rule(w, np.append(x, 1.0), y, eta)
    return w


def test_the_loops_take_the_same_steps():
    order = np.arange(N)
    units = Units.zeros(1, D)
    squares = (ROWS**2).sum(axis=1) + 1
    done, _ = adaline_steps(units, ROWS, SIGNS[:, None], order, GAINS, 1 / squares, 1.0)
    assert done == N
    np.testing.assert_allclose(units.weights[0], by_hand(adaline), rtol=0, atol=203 * 1e-15)
    units = Units.zeros(1, D)
    classes = (SIGNS > 0).astype(np.int64)
    # The rates are the rows' weights here.
    perceptron_steps(units, ROWS, classes, order, GAINS, np.ones(1, bool), True)
    np.testing.assert_allclose(units.weights[0], by_hand(perceptron), rtol=0, atol=203 * 1e-15)


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
@pytest.mark.parametrize("output", ["softmax", "logistic", "identity", "logistic_squared"])
@pytest.mark.parametrize("momentum", [0.0, 0.7])
def test_batches_of_one_are_the_sequential_loop(activation, output, momentum):
    rng = np.random.default_rng(100)
    net = Network.zeros((D, 5, 4, 3), activation, output, momentum=momentum, nesterov=True)
    net.weights[:] = rng.standard_normal(net.weights.size) / 3
    other = net.copy()
    targets, weights = np.eye(3)[rng.integers(3, size=N)], rng.uniform(0, 2, N)
    order, gains = rng.permutation(N), GAINS / 5
    done, loss = backpropagation_steps(net, ROWS, targets, order, gains, weights)
    assert done == N
    assert (N, pytest.approx(loss)) == BatchSteps(other, 1).learn(
        ROWS, targets, order, gains, weights
    )
    np.testing.assert_allclose(net.weights, other.weights, rtol=0, atol=1e-12)


@pytest.mark.parametrize("output", ["softmax", "logistic", "identity"])
def test_what_is_not_finite_ends_the_steps(output):
    net = Network.zeros((D, 3), "tanh", output)
    targets, rows = np.eye(3)[np.zeros(N, int)], ROWS.copy()
    rows[7, 0] = np.nan
    for steps in (
        backpropagation_steps(net.copy(), rows, targets, np.arange(N), GAINS, np.ones(N)),
        BatchSteps(net.copy(), 1).learn(rows, targets, np.arange(N), GAINS, np.ones(N)),
    ):
        assert steps[0] == 7
