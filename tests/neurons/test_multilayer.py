"""The multilayer perceptron: the trajectories of scikit-learn, and results."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import (
    load_digits,
    load_iris,
    load_linnerud,
    load_wine,
    make_blobs,
    make_moons,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenstream import MultilayerPerceptron, MultilayerPerceptronRegressor
from eigenstream.online import UnstableStepError

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

IRIS = load_iris(return_X_y=True)


def assert_layers_close(ours, theirs, tolerance):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)


@pytest.mark.parametrize("batch", [1, 32, 200])
@pytest.mark.parametrize("activation", ["tanh", "logistic", "relu"])
def test_trajectories_equal_scikit_learn(activation, batch):
    """Same integer, same start, same orders; 1797 rows leave a last batch of five or of 197."""
    rows, labels = load_digits(return_X_y=True)
    rows = rows / 16.0 if batch > 1 else rows[:400] / 16.0
    labels = labels[: len(rows)]
    rate, passes = (0.02, 2) if batch == 1 else (0.3, 4)
    ours = MultilayerPerceptron(
        (16, 12), activation, batch_size=batch, learning_rate=rate, max_iter=passes, random_state=7
    ).fit(rows, labels)
    theirs = MLPClassifier(
        (16, 12), activation=activation, solver="sgd", batch_size=batch, learning_rate_init=rate,
        max_iter=passes, momentum=0, alpha=0, random_state=7,
    ).fit(rows, labels)  # fmt: skip
    assert_layers_close(ours.coefs_, theirs.coefs_, 1e-10)
    assert_layers_close(ours.intercepts_, theirs.intercepts_, 1e-10)
    np.testing.assert_allclose(ours.loss_curve_, theirs.loss_curve_, rtol=1e-10)
    np.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), atol=1e-10)


@pytest.mark.parametrize("batch", [1, 16])
def test_momentum_penalty_binary_and_regression_equal_scikit_learn(batch):
    rows, labels = make_moons(90, noise=0.1, random_state=0)
    more = {"batch_size": batch, "momentum": 0.8}
    more |= {"max_iter": 6, "random_state": 5, "activation": "tanh"}
    sgd = {"solver": "sgd", "alpha": 0.5, "learning_rate_init": 0.02}
    for ours, theirs, y in (
        (MultilayerPerceptron, MLPClassifier, labels),
        (MultilayerPerceptronRegressor, MLPRegressor, rows[:, 0] ** 2),
    ):
        one = ours(hidden_layer_sizes=(6,), learning_rate=0.02, l2=0.5, **more).fit(rows, y)
        other = theirs(hidden_layer_sizes=(6,), **sgd, **more).fit(rows, y)
        assert_layers_close(one.coefs_, other.coefs_, 1e-10)
        np.testing.assert_allclose(one.loss_curve_, other.loss_curve_, rtol=1e-9)


def test_stops_when_scikit_learn_does():
    rows, labels = make_moons(200, noise=0.2, random_state=0)
    more = {"max_iter": 200, "random_state": 5, "activation": "tanh", "n_iter_no_change": 4}
    more |= {"batch_size": 20, "tol": 1e-3}
    ours = MultilayerPerceptron((8,), learning_rate=0.2, **more).fit(rows, labels)
    theirs = MLPClassifier(
        (8,), solver="sgd", alpha=0, momentum=0, learning_rate_init=0.2, **more
    ).fit(rows, labels)
    assert ours.converged_
    assert ours.n_iter_ == theirs.n_iter_ < 200
    assert_layers_close(ours.coefs_, theirs.coefs_, 1e-10)


def test_early_stopping_returns_the_weights_of_the_smallest_held_out_loss():
    rows, labels = make_moons(300, noise=0.4, random_state=0)
    model = MultilayerPerceptron(
        64, activation="relu", learning_rate=0.1, early_stopping=0.3, random_state=0
    ).fit(rows, labels)
    losses = model.validation_losses_
    assert model.converged_
    assert np.argmin(losses) < len(losses) - 5
    # The rows that were held out are those of the same draw without early stopping.
    shorter = MultilayerPerceptron(
        64, activation="relu", learning_rate=0.1, early_stopping=0.3, random_state=0,
        max_iter=int(np.argmin(losses)) + 1,
    ).fit(rows, labels)  # fmt: skip
    assert_layers_close(model.coefs_, shorter.coefs_, 0)
    fresh, truth = make_moons(3000, noise=0.4, random_state=1)
    plain = MultilayerPerceptron(
        64, activation="relu", learning_rate=0.1, max_iter=model.n_iter_, random_state=0
    ).fit(rows, labels)
    assert model.score(fresh, truth) > plain.score(fresh, truth)
    model.partial_fit(rows, labels)
    assert not hasattr(model, "validation_losses_")
    with pytest.raises(ValueError, match="leaves none of 2 rows"):
        MultilayerPerceptron(early_stopping=0.9).fit(rows[:2], [0, 1])


def test_large_columns_raise_a_warning_and_standardised_columns_learn():
    rows, labels = load_wine(return_X_y=True)
    with pytest.warns(UserWarning, match="Column 12 of X has a root mean square of 810"):
        raw = MultilayerPerceptron(max_iter=50, random_state=0).fit(rows, labels)
    with warnings.catch_warnings(action="error", category=UserWarning):
        warnings.simplefilter("ignore", ConvergenceWarning)
        scaled = make_pipeline(
            StandardScaler(), MultilayerPerceptron(max_iter=50, random_state=0)
        ).fit(rows, labels)
    assert raw.score(rows, labels) < 0.5
    assert scaled.score(rows, labels) > 0.98
    # 20 scaled rows are learned by heart.
    with warnings.catch_warnings(action="error", category=UserWarning):
        warnings.simplefilter("ignore", ConvergenceWarning)
        MultilayerPerceptronRegressor(random_state=0).fit(*load_linnerud(return_X_y=True))


@pytest.mark.parametrize("batch", [1, 20])
def test_divergence_names_its_step_and_changes_nothing(batch):
    rows = IRIS[0]
    model = MultilayerPerceptronRegressor(8, "relu", batch_size=batch, random_state=0)
    before = model.fit(rows, rows[:, 0]).predict(rows)
    with pytest.raises(UnstableStepError, match=r"step \d+ unstable.*Use a smaller learning rate"):
        model.set_params(learning_rate=50.0).fit(rows, rows[:, 0])
    np.testing.assert_array_equal(model.predict(rows), before)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_decision_function_orders_rows_as_the_shares_do(n_classes):
    rows, labels = make_blobs(90, centers=n_classes, cluster_std=3.0, random_state=0)
    model = MultilayerPerceptron((4,), max_iter=3, random_state=0).fit(rows, labels)
    shares, decisions = model.predict_proba(rows), model.decision_function(rows)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    if n_classes == 2:
        np.testing.assert_allclose(1 / (1 + np.exp(-decisions)), shares[:, 1], atol=1e-12)
        assert roc_auc_score(labels, decisions) == roc_auc_score(labels, shares[:, 1])
    else:
        np.testing.assert_allclose(np.exp(decisions), shares, atol=1e-12)
