"""Adaline: the rule itself, least squares as its oracle, and the rates at which it is stable."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris

from eigenstream import Adaline, AdalineRegressor
from eigenstream.online import UnstableStepError
from eigenstream.schedules import Power


def twin(rows, targets, rates, rule, weights=None):
    """The rule as one would write it."""
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
def test_equals_the_rule(rule, weighted):
    rows, targets = line()
    weights = np.random.default_rng(1).uniform(0.2, 1, 300) if weighted else None
    schedule = Power(2, 50)
    ours = AdalineRegressor(learning_rate=schedule, rule=rule)
    ours.partial_fit(rows, targets, weights)
    expected = twin(rows, targets, schedule.gains(0, 300), rule, weights)
    # 300 steps that do not expand, on numbers up to about 10.
    np.testing.assert_allclose(np.append(ours.coef_, ours.intercept_), expected, rtol=1e-12)


def test_falling_rates_lead_to_least_squares():
    """The distance to the solution falls as the rates do, and the noise averages out."""
    rows, targets = line(noise=2.0)
    solution = np.linalg.lstsq(np.column_stack([rows, np.ones(300)]), targets, rcond=None)[0]
    model, apart = AdalineRegressor(learning_rate=Power(20, 2000), rule="lms"), []
    for passes in (30, 270):
        for _ in range(passes):
            model.partial_fit(rows, targets)
        apart.append(np.linalg.norm(np.append(model.coef_, model.intercept_) - solution))
    # In one fixed order the distance is that of a pass's bias, in proportion to the rate: 20 / t.
    assert apart[1] < apart[0] / 5
    assert apart[1] < 0.02


def test_the_misadjustment_of_a_constant_rate():
    """In white noise LMS has eta tr R / (2 - eta tr R) more than the least error, for small eta."""
    rng = np.random.default_rng(0)
    D, n, eta = 10, 60_000, 0.005
    rows = rng.standard_normal((n, D))
    targets = rng.standard_normal(n)
    model = AdalineRegressor(learning_rate=eta, rule="lms", fit_intercept=False)
    model.partial_fit(rows[:5000], targets[:5000])
    model.partial_fit(rows[5000:], targets[5000:])
    # Gaussian rows: the exact stationary excess is eta D / (2 - eta (D + 2)).
    expected = 1 + eta * D / (2 - eta * (D + 2))
    noise = np.sqrt(2 / (n - 5000)) * 3
    assert abs(model.loss_curve_[-1] / (targets[5000:] ** 2).mean() - expected) < noise * 0.2 + 1e-3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("power", range(-12, 13, 2))
def test_a_fit_that_converged_is_near_least_squares_in_any_units(power, noise):
    rows, targets = line(noise=noise)
    model = AdalineRegressor(random_state=0).fit(rows * 10.0**power, targets)
    spread = targets.var()
    error = ((model.predict(rows * 10.0**power) - targets) ** 2).mean()
    if model.converged_:
        assert error <= 2.2 * noise**2 + 2e-3 * spread
    assert model.converged_ or power != 0


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


def test_beyond_the_limit_the_mean_weight_diverges():
    """Over many independent orders: E w' = (I - eta R) E w, whose largest factor is known."""
    rows, targets = line(n=50, noise=0.0)
    extended = np.column_stack([rows, np.ones(50)])
    R = extended.T @ extended / 50
    limit = 2 / np.linalg.eigvalsh(R)[-1]
    for factor, grows in ((1.05, True), (0.95, False)):
        step = np.eye(5) - factor * limit * R
        assert (np.abs(np.linalg.eigvalsh(step)).max() > 1) == grows
    with pytest.raises(UnstableStepError, match=r"makes step \d+ unstable.*stable for rates below"):
        AdalineRegressor(rule="lms", learning_rate=1.05 * limit, random_state=0).fit(rows, targets)


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


def test_large_targets_are_no_divergence():
    rows, targets = line(noise=0.0)
    model = AdalineRegressor(tol=0.0, random_state=0).fit(rows, 1e20 * targets)
    np.testing.assert_allclose(model.coef_, 1e20 * np.array([1.0, -2.0, 0.5, 3.0]), rtol=1e-6)


def test_classes_are_least_squares_on_signs():
    rows, labels = load_iris(return_X_y=True)
    rows = ((rows - rows.mean(axis=0)) / rows.std(axis=0))[:, 1:3]
    model, order = (
        Adaline(learning_rate=Power(100, 1000)),
        np.random.default_rng(0).permutation(150),
    )
    for _ in range(1000):
        model.partial_fit(rows[order], labels[order], classes=[0, 1, 2])
    signs = np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    extended = np.column_stack([rows, np.ones(150)])
    scale = 1 / np.linalg.norm(extended, axis=1, keepdims=True)  # the normalised rule weighs so
    least = np.linalg.lstsq(extended * scale, signs * scale, rcond=None)[0]
    np.testing.assert_allclose(np.c_[model.coef_, model.intercept_].T, least, atol=0.01)
    two = Adaline(random_state=0).fit(rows, labels == 0)
    assert two.coef_.shape == (1, 2)
    assert two.score(rows, labels == 0) == 1.0


@pytest.mark.parametrize("make", [Adaline, AdalineRegressor])
def test_any_chunking_gives_the_same(make):
    rows, labels = load_iris(return_X_y=True)
    more = {"classes": [0, 1, 2]} if make is Adaline else {}
    whole = make(record_every=40, learning_rate=Power(1, 10)).partial_fit(rows, labels, **more)
    parts = make(record_every=40, learning_rate=Power(1, 10))
    for index in np.split(np.arange(150), [1, 2, 50, 51, 100]):
        parts.partial_fit(rows[index], labels[index], **more)
        parts = pickle.loads(pickle.dumps(parts))
    np.testing.assert_array_equal(whole.coef_, parts.coef_)
    assert parts.history_.step.tolist() == [40, 80, 120]
    assert parts.n_steps_ == 150


def test_several_targets_learn_beside_each_other():
    rows, targets = line()
    both = AdalineRegressor(random_state=0).fit(rows, np.column_stack([targets, -2 * targets]))
    assert both.coef_.shape == (2, 4)
    assert both.predict(rows).shape == (300, 2)
    np.testing.assert_allclose(both.coef_[1], -2 * both.coef_[0], rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: AdalineRegressor(learning_rate="auto").fit(X, y), "Hebbian"),
        (lambda X, y: AdalineRegressor(learning_rate="0.1").fit(X, y), "a number, .*'0.1'"),
        (lambda X, y: AdalineRegressor().fit(X, np.ma.masked_less(y, y[2])), "y contains NaN at"),
        (
            lambda X, y: AdalineRegressor(learning_rate=-1.0).fit(X, y),
            "learning_rate must be a number",
        ),
        (lambda X, y: AdalineRegressor().fit(X, y * np.nan), "y contains NaN at row 0"),
        (lambda X, y: AdalineRegressor().fit(X, y[:-1]), "inconsistent"),
        (
            lambda X, y: AdalineRegressor().fit(X, y).partial_fit(X, np.c_[y, y]),
            "began with 1 targets",
        ),
        (lambda X, y: Adaline().fit(X, np.ones(len(X), int)), "is only one class"),
        (lambda X, y: Adaline().partial_fit(X, y > 0), "classes must be passed"),
    ],
)
def test_refusals(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(*line())


def test_rows_of_zeros_take_no_step():
    model = AdalineRegressor(fit_intercept=False).partial_fit(np.zeros((3, 2)), np.ones(3))
    assert model.coef_.tolist() == [0.0, 0.0]
    assert model.safe_rate_ == np.inf
