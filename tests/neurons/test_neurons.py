"""Oja's neuron and Sanger's network: what they converge to, and how they say so."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from eigenstream.neurons import OjaNeuron, SangerNetwork
from eigenstream.online import UnstableStepError
from eigenstream.schedules import Constant, Power


def data(n=20000, seed=0):
    """Rows with standard deviations 3, 2, 1, 1, 1 along the axes, off the origin."""
    return np.random.default_rng(seed).standard_normal((n, 5)) * [3, 2, 1, 1, 1] + 4.0


@pytest.mark.parametrize("form", ["normalized", "linear"])
@pytest.mark.parametrize("schedule", ["auto", Power(2, 100)])
def test_oja_finds_the_first_component(form, schedule):
    neuron = OjaNeuron(form=form, learning_rate=schedule, random_state=0).fit(data())
    assert abs(neuron.components_[0, 0]) > 0.999
    assert abs(np.linalg.norm(neuron.components_) - 1) < 0.02
    assert neuron.converged_
    assert neuron.n_iter_ <= 10
    np.testing.assert_allclose(neuron.mean_, data().mean(axis=0), atol=1e-10)
    responses = neuron.transform(data())
    assert abs(responses.std() / 3 - 1) < 0.05


def test_oja_keeps_the_stationary_angle_of_its_rate():
    """cos^2 = (beta - eta/2) / (beta (1 + eta/2)) at the rate eta / N for large N ([DYN] 3.9)."""
    rng = np.random.default_rng(1)
    N, beta, eta = 200, 3.0, 1.0
    scale = np.ones(N)
    scale[0] = np.sqrt(1 + beta)
    neuron = OjaNeuron(
        learning_rate=Constant(eta / N), center=False, init=np.eye(1, N), record_every=100
    )
    for _ in range(10):
        neuron.partial_fit(rng.standard_normal((4000, N)) * scale)
    squares = neuron.history_.weights[neuron.history_.step > 4000, 0, 0] ** 2
    expected = (beta - eta / 2) / (beta * (1 + eta / 2))
    # One run's spread is about 1.6 / sqrt(N); the mean over 36000 / N relaxation times is finer.
    assert abs(np.mean(squares) - expected) < 3 * 1.6 / np.sqrt(N) / np.sqrt(36000 / N / 2)


@pytest.mark.parametrize("normalize", [False, True])
def test_sanger_finds_the_components_in_order(normalize):
    network = SangerNetwork(2, normalize=normalize, random_state=0).fit(data())
    np.testing.assert_allclose(np.abs(network.components_[:, :2]), np.eye(2), atol=0.05)
    assert network.converged_
    if normalize:
        np.testing.assert_allclose(np.linalg.norm(network.components_, axis=1), 1, rtol=1e-12)


def test_a_unit_with_rate_zero_stands_still():
    start = np.eye(2, 5)[::-1]
    network = SangerNetwork(2, unit_rates=[1.0, 0.0], init=start, max_iter=1).fit(data(500))
    np.testing.assert_allclose(network.components_[1], start[1], atol=1e-12)
    assert np.abs(network.components_[0] - start[0]).max() > 0.1


@pytest.mark.parametrize("make", [OjaNeuron, lambda **kw: SangerNetwork(2, **kw)])
def test_any_chunking_gives_the_same_weights(make):
    rows = data(701)
    whole = make(random_state=0).partial_fit(rows)
    parts = make(random_state=0)
    for chunk in np.split(rows, [1, 2, 50, 51, 400]):
        parts.partial_fit(chunk)
        parts = pickle.loads(pickle.dumps(parts))
    np.testing.assert_allclose(whole.components_, parts.components_, rtol=0, atol=1e-12)
    assert parts.n_iter_ == 6
    assert parts.n_steps_ == 701


def test_a_number_is_a_constant_rate():
    neurons = [OjaNeuron(learning_rate=rate, random_state=0) for rate in (0.01, Constant(0.01))]
    one, other = (neuron.partial_fit(data(200)).components_ for neuron in neurons)
    np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="learning_rate must be a number in"):
        SangerNetwork(2, learning_rate=-1.0).fit(data(20))


def test_not_converged_is_said():
    neuron = OjaNeuron(learning_rate=Constant(0.05), tol=1e-9, max_iter=3, random_state=0).fit(
        data(500)
    )
    assert neuron.n_iter_ == 3
    assert not neuron.converged_


def test_history_on_request():
    neuron = OjaNeuron(record_every=100, random_state=0).partial_fit(data(1000))
    steps = neuron.history_.step.tolist()
    assert len(steps) >= 7  # blocks end about every 100 steps
    assert steps == sorted(steps)
    assert neuron.history_.weights.shape == (len(steps), 1, 5)
    assert len(OjaNeuron().fit(data(50)).history_.step) == 0


def test_explosion_is_reported_with_its_step():
    with pytest.raises(UnstableStepError, match="makes step"):
        OjaNeuron(form="linear", learning_rate=Constant(1.0), random_state=0).fit(data(2000))


@pytest.mark.parametrize(
    ("neuron", "message"),
    [
        (OjaNeuron(form="fast"), "'form' parameter"),
        (SangerNetwork(6), "Use n_components <= 5"),
        (SangerNetwork(2, unit_rates=[1.0]), "unit_rates=.1.0. is invalid"),
        (OjaNeuron(init=np.eye(2, 5)), r"\(1, 5\)"),
        (OjaNeuron(tol=-1.0), "'tol' parameter"),
        (SangerNetwork(2, unit_rates="fast"), "Pass 2 non-negative factors"),
    ],
)
def test_refusals(neuron, message):
    with pytest.raises(ValueError, match=message):
        neuron.fit(data(20))


@pytest.mark.parametrize("neuron", [OjaNeuron(center="no"), SangerNetwork(2, normalize="no")])
def test_what_is_neither_true_nor_false_is_refused(neuron):
    with pytest.raises(TypeError, match=r"'(center|normalize)' parameter"):
        neuron.fit(data(20))


def test_nonfinite_rows_are_named():
    rows = data(20)
    rows[7, 2] = np.nan
    with pytest.raises(ValueError, match="NaN at row 7, column 2"):
        OjaNeuron().fit(rows)


def test_a_start_at_zero_is_refused():
    with pytest.raises(ValueError, match="row 0 of init is zero"):
        OjaNeuron(init=np.zeros((1, 5))).fit(data(20))


@pytest.mark.parametrize("neuron", [OjaNeuron(random_state=0), SangerNetwork(2, random_state=0)])
@pytest.mark.parametrize(
    ("rows", "error"),
    [
        (np.ones((20, 1)) * np.nan, ValueError),
        (np.full((20, 7), np.inf), ValueError),
        (1e100 * data(20), UnstableStepError),
    ],
)
def test_a_refused_fit_leaves_the_neurons_usable(neuron, rows, error):
    neuron = clone(neuron).set_params(learning_rate=Constant(0.01)).fit(data(200))
    before = neuron.transform(data(20))
    with pytest.raises(error):
        neuron.fit(rows)
    np.testing.assert_array_equal(neuron.transform(data(20)), before)
    assert neuron.n_features_in_ == 5


def test_oja_has_the_variance_and_the_norm_that_theory_says():
    """At its end the response has variance lambda_1 and the weight length one [OJA]."""
    rows = data() - data().mean(axis=0)
    top = np.linalg.eigvalsh(rows.T @ rows / len(rows))[-1]
    neuron = OjaNeuron(form="linear", learning_rate=Power(2, 100), center=False, random_state=0)
    neuron.fit(rows)
    # The rate falls to about 2 / 40000 by then: what is left is of its order.
    assert abs(np.linalg.norm(neuron.components_) - 1) < 1e-3
    assert abs((neuron.transform(rows) ** 2).mean() / top - 1) < 2e-3


def test_plain_hebb_grows_without_bound():
    """E w(n) = (I + eta R)^n w(0): the largest eigenvalue wins, and its factor is the growth's."""
    rows = data(1500) - 4.0
    neuron = OjaNeuron(form="hebb", learning_rate=Constant(1e-3), center=False, init=np.eye(1, 5))
    lengths = [np.linalg.norm(neuron.partial_fit(part).components_) for part in np.split(rows, 3)]
    growth = np.diff(np.log(lengths))
    # A step multiplies w_1 by 1 + eta x_1^2; 500 of them spread by sqrt(2 / 500) = 6%.
    assert (abs(growth / (500 * 1e-3 * 9) - 1) < 0.2).all()
    with pytest.raises(UnstableStepError, match="makes step"):
        neuron.partial_fit(rows)
