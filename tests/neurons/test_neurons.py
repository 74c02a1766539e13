"""Chunks and bad input of all neurons, and the limits of Oja's neuron and Sanger's network."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from eigenstream import (
    Adaline,
    AdalineRegressor,
    MultilayerPerceptron,
    MultilayerPerceptronRegressor,
    OjaNeuron,
    Perceptron,
    SangerNetwork,
)
from eigenstream.online import UnstableStepError
from eigenstream.schedules import Auto, Constant, Power
from eigenstream.streams import open_stream

IRIS = load_iris(return_X_y=True)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


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


@pytest.mark.parametrize("normalize", [False, True])
def test_sanger_finds_the_components_in_order(normalize):
    network = SangerNetwork(2, normalize=normalize, random_state=0).fit(data())
    np.testing.assert_allclose(np.abs(network.components_[:, :2]), np.eye(2), atol=0.05)
    assert network.converged_
    if normalize:
        np.testing.assert_allclose(np.linalg.norm(network.components_, axis=1), 1, rtol=1e-12)


def test_explained_variances_and_score_are_those_of_the_components():
    rows = data(2000)
    network = SangerNetwork(2, random_state=0).fit(rows)
    pca = PCA(2).fit(rows)
    np.testing.assert_allclose(
        network.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=0.01
    )
    basis = np.linalg.qr(network.components_.T)[0]
    centred = rows - network.mean_
    residual = centred - centred @ basis @ basis.T
    share = 1 - (residual**2).sum() / (centred**2).sum()
    np.testing.assert_allclose(network.score(rows), share, rtol=1e-12)
    assert 0.99 * pca.explained_variance_ratio_.sum() < share <= pca.explained_variance_ratio_.sum()
    streamed = SangerNetwork(2, random_state=0).fit(open_stream(rows))
    np.testing.assert_allclose(
        streamed.explained_variance_ratio_, network.explained_variance_ratio_, rtol=1e-10
    )
    assert not hasattr(network.partial_fit(rows), "explained_variance_ratio_")


@pytest.mark.parametrize(
    "neuron", [Perceptron(), AdalineRegressor(), MultilayerPerceptron(3, batch_size=4)], ids=repr
)
def test_sparse_rows_learn_as_dense_rows_do(neuron, monkeypatch):
    rows = np.random.default_rng(0).standard_normal((90, 6))
    rows[np.abs(rows) < 1] = 0.0
    targets = (rows[:, 0] > 0).astype(int)
    weights = np.arange(90) % 3 + 0.5
    neuron = clone(neuron).set_params(shuffle=False, max_iter=4, random_state=0)
    monkeypatch.setattr("eigenstream.neurons._base.PART", 6 * 40)  # several blocks
    sparse = csr_array(rows)
    left = clone(neuron).fit(sparse, targets, sample_weight=weights)
    right = clone(neuron).fit(rows, targets, sample_weight=weights)
    # Blocks of rows have other rounding errors of the columns' means than all rows at once.
    np.testing.assert_allclose(left.predict(sparse), right.predict(rows), rtol=1e-12)
    np.testing.assert_allclose(left.loss_curve_, right.loss_curve_, rtol=1e-12)
    left.partial_fit(sparse[:5], targets[:5])
    right.partial_fit(rows[:5], targets[:5])
    np.testing.assert_allclose(left.predict(rows), right.predict(rows), rtol=1e-12)


def test_components_far_from_converged_raise_a_warning():
    """The second component of raw wine data is off by 50 degrees and more."""
    raw = load_wine().data
    with pytest.warns(UserWarning, match=r"Component 4 is far from converged: .* degrees"):
        network = SangerNetwork(5, random_state=0).fit(np.random.default_rng(0).permutation(raw))
    exact = PCA(5).fit(raw).components_
    assert abs(network.components_[3] @ exact[3]) < 0.5
    scaled = StandardScaler().fit_transform(raw)
    with warnings.catch_warnings(action="error", category=UserWarning):
        SangerNetwork(5, random_state=0).fit(np.random.default_rng(0).permutation(scaled))
        OjaNeuron(random_state=0).fit(np.random.default_rng(0).standard_normal((2000, 20)))


def test_a_unit_with_rate_zero_stands_still():
    start = np.eye(2, 5)[::-1]
    network = SangerNetwork(2, unit_rates=[1.0, 0.0], init=start, max_iter=1).fit(data(500))
    np.testing.assert_allclose(network.components_[1], start[1], atol=1e-12)
    assert np.abs(network.components_[0] - start[0]).max() > 0.1


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


NET = {"learning_rate": Power(1, 20), "momentum": 0.5, "record_every": 10, "random_state": 0}
ALL = [
    OjaNeuron(random_state=0, record_every=40),
    SangerNetwork(2, random_state=0),
    Perceptron(record_every=40),
    Adaline(record_every=40, learning_rate=Power(1, 10)),
    AdalineRegressor(record_every=40, learning_rate=Power(1, 10)),
    MultilayerPerceptron(5, **NET),
    MultilayerPerceptron((5, 4), batch_size=7, **NET),
    MultilayerPerceptronRegressor(5, **NET),
]


def responses(neuron):
    names = "transform", "decision_function", "predict_proba", "predict"
    return next(getattr(neuron, name) for name in names if hasattr(neuron, name))(IRIS[0])


@pytest.mark.parametrize("neuron", ALL, ids=repr)
def test_law_4_any_chunking_gives_the_same(neuron):
    X, y = IRIS
    more = {"classes": [0, 1, 2]} if is_classifier(neuron) else {}
    whole, parts = clone(neuron).partial_fit(X, y, **more), clone(neuron)
    for index in np.split(np.arange(150), [1, 2, 50, 51, 100]):
        parts.partial_fit(X[index], y[index], **more)
        responses(parts)  # reading changes nothing
        parts = pickle.loads(pickle.dumps(parts))
    others, every = [whole, parts], neuron.record_every or 10**9
    recorded = list(range(every, whole.n_steps_ + 1, every))
    if hasattr(neuron, "shuffle"):
        others.append(clone(neuron).set_params(max_iter=1, shuffle=False).fit(X, y))
    for other in others:
        np.testing.assert_allclose(responses(other), responses(whole), rtol=0, atol=1e-12)
        assert other.history_.step.tolist() == recorded
        assert other.n_steps_ == whole.n_steps_ == -(-150 // getattr(neuron, "batch_size", 1))
    assert parts.n_iter_ == 6


NAN, ONES = np.full(150, np.nan), np.ones(150, int)
BAD = [
    (OjaNeuron(init=np.eye(2, 4)), {}, r"\(1, 4\)"),
    (OjaNeuron(init=np.zeros((1, 4))), {}, "1 of the 1 rows of init are zero"),
    (SangerNetwork(6), {}, "Use n_components <= 4"),
    (SangerNetwork(2, unit_rates=[1.0, -1.0]), {}, "unit_rates .* at index 1"),
    (SangerNetwork(2, learning_rate=-1.0), {}, "'learning_rate' parameter"),
    (AdalineRegressor(learning_rate="auto"), {}, "'learning_rate' parameter"),
    (AdalineRegressor(learning_rate="0.1"), {}, "'learning_rate' parameter.*'0.1'"),
    (AdalineRegressor(), {"y": NAN}, "y contains NaN at row 0"),
    (AdalineRegressor(), {"y": np.ma.masked_less(IRIS[1], 1)}, "y contains NaN at"),
    (Adaline(), {"y": ONES}, "is only one class"),
    (Perceptron(), {"y": IRIS[1][1:]}, "inconsistent numbers of samples"),
    (Perceptron(), {"sample_weight": 0 * NAN}, "sample_weight is not finite"),
    (Perceptron(), {"sample_weight": 0.0 * ONES}, "zero for every row"),
    (MultilayerPerceptron(0), {}, "hidden_layer_sizes"),
    (MultilayerPerceptron((3, "a")), {}, "hidden_layer_sizes"),
    (MultilayerPerceptron(momentum=1.0), {}, "'momentum' parameter"),
    (MultilayerPerceptron(), {"y": None}, "requires y .* Give one label"),
]


@pytest.mark.parametrize(("neuron", "given", "message"), BAD, ids=range(len(BAD)))
def test_bad_input_of_fit_raises(neuron, given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        neuron.fit(IRIS[0], **({"y": IRIS[1]} | given))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": IRIS[1] + 1}, "3 at row .* none of the classes"),
        ({"y": IRIS[1].astype(str)}, "none of the classes"),
        ({"classes": [0, 1]}, "is not the same as"),
        ({"y": None}, "requires y"),
    ],
)
def test_a_later_chunk_of_other_classes_raises(given, message):
    unit = Perceptron()
    for classes, words in ((None, "classes must be passed"), ([0], "is only one class")):
        with pytest.raises(ValueError, match=words):
            unit.partial_fit(*IRIS, classes)
    unit.fit(*IRIS)
    with pytest.raises(ValueError, match=message):
        unit.partial_fit(IRIS[0], **({"y": IRIS[1]} | given))
    with pytest.raises(ValueError, match="began with 1 targets"):
        AdalineRegressor().fit(*IRIS).partial_fit(IRIS[0], IRIS[0])


@pytest.mark.parametrize("call", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "kind", [Adaline, AdalineRegressor, MultilayerPerceptron, MultilayerPerceptronRegressor]
)
def test_the_rates_of_hebbian_neurons_are_rejected_elsewhere(kind, call):
    rows, y = np.random.default_rng(0).standard_normal((40, 3)), np.arange(40) % 2
    named = {"classes": [0, 1]} if call == "partial_fit" and is_classifier(kind()) else {}
    with pytest.raises(ValueError, match="for Hebbian neurons only"):
        getattr(kind(learning_rate=Auto()), call)(rows, y, **named)


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
