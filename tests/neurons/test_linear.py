"""Adaline and Perceptron are compared with loops in plain NumPy."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris, load_linnerud, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from eigenstream import Adaline, AdalineRegressor, Perceptron
from eigenstream.online import UnstableStepError
from eigenstream.schedules import Power


def delta_rule(rows, targets, rates, rule, weights=None):
    """Adaline's rule as one would write it."""
    rows = np.column_stack([rows, np.ones(len(rows))])
    w = np.zeros(rows.shape[1])
    for i, (x, d, eta) in enumerate(zip(rows, targets, rates, strict=True)):
        step = eta * (d - w @ x) * x
        w = w + step * (1 if weights is None else weights[i]) / (x @ x if rule == "nlms" else 1.0)
    return w


def line(n=300, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, 4)) * [2, 1, 1, 0.5] + 1
    return rows, rows @ [1.0, -2.0, 0.5, 3.0] + 1 + noise * rng.standard_normal(n)


@pytest.mark.parametrize("rule", ["nlms", "lms"])
@pytest.mark.parametrize("weighted", [False, True])
def test_adaline_equals_the_rule(rule, weighted):
    rows, targets = line()
    weights = np.random.default_rng(1).uniform(0.2, 1, 300) if weighted else None
    schedule = Power(2, 50)
    ours = AdalineRegressor(learning_rate=schedule, rule=rule)
    ours.partial_fit(rows, targets, weights)
    expected = delta_rule(rows, targets, schedule.gains(0, 300), rule, weights)
    # 300 steps that do not expand, on numbers up to about 10.
    np.testing.assert_allclose(np.append(ours.coef_, ours.intercept_), expected, rtol=1e-12)


@pytest.mark.parametrize("rule", ["nlms", "lms"])
def test_limits_of_the_rate(rule):
    rows, targets = line(noise=0.0)
    extended = np.column_stack([rows, np.ones(300)])
    squares = (extended**2).sum(axis=1)
    scaled = extended / np.sqrt(squares)[:, None] if rule == "nlms" else extended
    model = AdalineRegressor(rule=rule, learning_rate=1e-3, max_iter=1, random_state=0)
    with pytest.warns(UserWarning, match="did not converge"):
        model.fit(rows, targets)
    assert model.rate_limit_ == pytest.approx(2 / np.linalg.eigvalsh(scaled.T @ scaled / 300)[-1])
    assert model.safe_rate_ == pytest.approx(2 / (scaled**2).sum(axis=1).max())
    assert model.safe_rate_ <= model.rate_limit_


def test_below_the_safe_rate_no_error_grows():
    """No step takes the weights farther from a solution that fits all rows."""
    rows, targets = line(noise=0.0)
    model = AdalineRegressor(rule="lms", learning_rate=1e-9, record_every=1)
    safe = model.partial_fit(rows, targets).safe_rate_
    model.set_params(learning_rate=0.999 * safe).__dict__.pop("_begun")
    model.partial_fit(rows, targets)
    truth = np.array([1.0, -2.0, 0.5, 3.0, 1.0])
    apart = [
        np.linalg.norm(np.append(w, b) - truth)
        for w, b in zip(model.history_.weights, model.history_.intercepts, strict=True)
    ]
    assert (np.diff(apart) <= 1e-12).all()


@pytest.mark.parametrize("rule", ["nlms", "lms"])
def test_divergence_names_its_step_and_changes_nothing(rule):
    rows, targets = line()
    model = AdalineRegressor(learning_rate=1e-3, rule=rule).partial_fit(rows, targets)
    before = pickle.dumps(model)
    model.learning_rate = lambda t: np.where(t < 400, 1e-3, 100.0)
    model._begun["learning_rate"] = model.learning_rate
    with pytest.raises(UnstableStepError) as caught:
        model.partial_fit(rows, targets)
    assert 400 < caught.value.step < 420
    assert caught.value.gain == 100.0
    assert "has changed nothing" in str(pickle.loads(pickle.dumps(caught.value)))
    np.testing.assert_array_equal(model.coef_, pickle.loads(before).coef_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_targets_of_plus_and_minus_one(n_classes):
    rows, labels = load_iris(return_X_y=True)
    labels = np.minimum(labels, n_classes - 1)
    signs = np.where(labels[:, None] == np.arange(n_classes), 1.0, -1.0)[:, n_classes == 2 :]
    model = Adaline(learning_rate=Power(2, 50)).partial_fit(rows, labels, classes=np.unique(labels))
    targets = AdalineRegressor(learning_rate=Power(2, 50)).partial_fit(rows, signs)
    np.testing.assert_array_equal(model.coef_, targets.coef_)
    answers = targets.predict(rows)
    codes = answers.argmax(axis=1) if n_classes > 2 else answers[:, 0] > 0
    np.testing.assert_array_equal(model.predict(rows), codes)


def test_several_targets_learn_beside_each_other():
    rows, targets = line()
    both = AdalineRegressor(random_state=0).fit(rows, np.column_stack([targets, -2 * targets]))
    assert both.coef_.shape == (2, 4)
    assert both.predict(rows).shape == (300, 2)
    np.testing.assert_allclose(both.coef_[1], -2 * both.coef_[0], rtol=1e-9)


def collinear(n=400):
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((n, 6)) @ (np.eye(6) + 0.8)
    return rows, rows @ rng.standard_normal((6, 2)) + rng.standard_normal((n, 2))


@pytest.mark.parametrize("rule", ["nlms", "lms"])
@pytest.mark.parametrize(
    "data", [load_diabetes(return_X_y=True), collinear()], ids=["diabetes", "collinear"]
)
def test_the_default_reaches_least_squares(data, rule):
    model = AdalineRegressor(rule=rule, random_state=0).fit(*data)
    assert model.converged_
    assert model.score(*data) > LinearRegression().fit(*data).score(*data) - 0.005


def test_a_fit_far_from_least_squares_raises_a_warning_with_the_difference():
    rows, targets = load_linnerud(return_X_y=True)
    model = AdalineRegressor(learning_rate=0.05, random_state=0)
    with pytest.warns(UserWarning, match=r"explain \d+% less of the variance than least sq"):
        model.fit(rows, targets)
    with warnings.catch_warnings(action="error"):
        model.fit(StandardScaler().fit_transform(rows), targets)
        model.set_params(learning_rate="adaptive").fit(rows, targets)
    near = rows[:, :1] + 1e-3 * rows  # no standardisation helps
    with pytest.warns(UserWarning, match="collinear columns"):
        AdalineRegressor(random_state=0).fit(near, rows @ [1.0, -1.0, 2.0])


@pytest.mark.parametrize("rule", ["nlms", "lms"])
@pytest.mark.parametrize("intercept", [False, True])
@given(seed=st.integers(0, 2**31 - 1))
@settings(max_examples=10, deadline=None)
def test_units_of_columns_do_not_change_the_default(rule, intercept, seed):
    rng = np.random.default_rng(seed)
    rows, targets = line(60, seed=seed)
    rows *= [1e3, 1e-3, 1, 1]  # equal columns are not standardised
    units, shift = 10.0 ** rng.uniform(-1, 1, 4), intercept * rng.uniform(-1e3, 1e3, 4)
    shift *= rows.std(axis=0)
    named = {"rule": rule, "fit_intercept": intercept, "max_iter": 20, "record_every": 50}
    with warnings.catch_warnings(action="ignore"):
        ours = AdalineRegressor(random_state=0, **named).fit(rows, targets)
        other = AdalineRegressor(random_state=0, **named).fit(units * (rows + shift), targets)
    # Shifts of 1,000 deviations lose three digits, and hundreds of steps a few more.
    for model in (ours, other):
        model.partial_fit(rows[:9] if model is ours else units * (rows[:9] + shift), targets[:9])
    expected = ours.predict(rows)
    np.testing.assert_allclose(other.predict(units * (rows + shift)), expected, atol=1e-7)
    sizes = rows.std(axis=0)
    np.testing.assert_allclose(other.coef_ * units * sizes, ours.coef_ * sizes, atol=1e-7)
    recorded = (model.history_.weights * sizes for model in (other, ours))
    np.testing.assert_allclose(next(recorded) * units, next(recorded), atol=1e-7)


def mistakes_rule(rows, signs, passes, weights=None):
    """The perceptron's rule as one would write it, and the number of mistakes."""
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
def test_the_perceptron_equals_the_rule_and_scikit_learn(passes, weighted):
    rows, labels = blobs()
    weights = np.random.default_rng(0).integers(1, 4, len(rows)).astype(float)
    given = {"sample_weight": weights} if weighted else {}
    w, mistakes = mistakes_rule(rows, 2 * labels - 1, passes, weights if weighted else None)
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
    # The machine has no intercept: pairs (x, 1, +) and (-x, -1, -) are symmetric about zero.
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
    """The answer does not depend on the unit of the rows, with an intercept or without."""
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
