"""The perceptron: the rule itself, Novikoff's bound, and what it says when there is no plane."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.svm import SVC

from eigenstream import Adaline, MultilayerPerceptron, Perceptron


def twin(rows, signs, passes, weights=None):
    """The rule as one would write it, and the number of mistakes."""
    rows = np.column_stack([rows, np.ones(len(rows))])
    w, mistakes = np.zeros(rows.shape[1]), 0
    for _ in range(passes):
        for i, (x, y) in enumerate(zip(rows, signs, strict=True)):
            if y * (w @ x) <= 0:
                w = w + y * x * (1.0 if weights is None else weights[i])
                mistakes += 1
    return w, mistakes


def blobs(n=120, seed=0, spread=3.0):
    """Two clouds that overlap a little, as whole numbers: sums of them are exact."""
    rows, labels = make_blobs(n, 4, centers=2, cluster_std=spread, random_state=seed)
    return np.round(rows), labels


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("passes", [1, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_rule_and_scikit_learn(passes, weighted):
    rows, labels = blobs()
    weights = np.random.default_rng(0).integers(1, 4, len(rows)).astype(float)
    given = {"sample_weight": weights} if weighted else {}
    w, mistakes = twin(rows, 2 * labels - 1, passes, weights if weighted else None)
    ours = Perceptron(max_iter=passes, shuffle=False).fit(rows, labels, **given)
    theirs = TheirPerceptron(max_iter=passes, shuffle=False, tol=None).fit(rows, labels, **given)
    np.testing.assert_array_equal(np.append(ours.coef_, ours.intercept_), w)
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    np.testing.assert_array_equal(ours.intercept_, theirs.intercept_)
    assert ours.n_mistakes_.tolist() == [mistakes]
    assert ours.n_steps_ == passes * len(rows)


@pytest.mark.parametrize("seed", range(5))
def test_mistakes_stay_within_novikoffs_bound(seed):
    """With the best plane's margin, from a support vector machine through the origin of (x, 1)."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((200, 3))
    side = rows @ [1.0, -2.0, 0.5] + 0.3
    rows, signs = rows[abs(side) > 0.3], np.sign(side[abs(side) > 0.3])
    unit = Perceptron(random_state=seed).fit(rows, signs)
    assert unit.converged_
    assert unit.separable_
    assert (unit.predict(rows) == signs).all()
    # Without an intercept of its own: pairs (x, 1, +) and (-x, -1, -) are symmetric about zero.
    both = np.column_stack([rows, np.ones(len(rows))]) * signs[:, None]
    best = SVC(kernel="linear", C=1e6, tol=1e-6)
    best.fit(np.concatenate([both, -both]), np.repeat([1, -1], len(both)))
    margin = (both @ best.coef_[0]).min() / np.linalg.norm(best.coef_)
    assert margin > 0
    assert unit.radius_ == pytest.approx(np.linalg.norm(both, axis=1).max())
    assert 0 < unit.margin_[0] <= margin * (1 + 1e-5)
    assert unit.n_mistakes_[0] <= (unit.radius_ / margin) ** 2 <= unit.mistake_bound_[0] * 1.00002


def test_inseparable_rows_are_said_to_be():
    corners = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    with pytest.warns(ConvergenceWarning, match="no plane separates the rows"):
        unit = Perceptron(max_iter=50, random_state=0).fit(corners, [0, 1, 1, 0])
    assert not unit.converged_
    assert unit.separable_ is False
    assert unit.mistake_bound_.tolist() == [np.inf]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("power", [-12, -8, -3, 0, 3, 8, 12])
def test_separable_rows_are_so_in_any_units(power):
    """What is said of the rows does not depend on their unit, with an intercept or without."""
    rng = np.random.default_rng(power + 12)
    rows = rng.standard_normal((100, 3)) + 2
    for offset in (0.0, 3.0):
        side = rows @ [1.0, -2.0, 0.5] + offset
        for intercept in (True, False) if offset == 0 else (True,):
            unit = Perceptron(max_iter=20, random_state=0, fit_intercept=intercept)
            unit.fit(rows * 10.0**power, side > 0)
            assert unit.separable_ is not False
    noise = rng.integers(0, 2, 100)
    assert Perceptron(max_iter=5).fit(rows * 10.0**power, noise).separable_ is False


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("make", [Perceptron, Adaline, MultilayerPerceptron])
def test_a_chunk_of_weight_zero_changes_nothing(make):
    rows, labels = blobs(spread=0.5)
    zero = np.zeros(len(rows))
    model = make(random_state=0).partial_fit(rows, labels, [0, 1], zero)
    assert vars(model) == vars(make(random_state=0))
    model.partial_fit(rows, labels, [0, 1])
    before = pickle.dumps(model)
    assert pickle.dumps(model.partial_fit(rows, labels, sample_weight=zero)) == before
