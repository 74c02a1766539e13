"""Time scales of features on rows that they were not learned from."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.signal import lfilter

from eigenstream import DynamicSubspace, SlowSubspace
from eigenstream.processes import Autoregressive
from eigenstream.subspace import implied_timescales
from eigenstream.subspace.inference.decays import of_operator
from eigenstream.subspace.inference.held_out import (
    corrected,
    directed_edge,
    slow_ratios,
    slowest_first,
    white_edge,
)
from eigenstream.subspace.sums.terms import FIRST_TERMS


def one_slow(n, D=20, seed=1):
    return Autoregressive([np.exp(-1 / 20)] + [0.0] * (D - 1), random_state=seed).take(n)


@pytest.mark.parametrize("shape", [(200, 400), (60, 50), (1000, 100)])
@pytest.mark.parametrize(
    "model", [SlowSubspace(2), SlowSubspace(2, criterion="ratio"), DynamicSubspace(2)], ids=repr
)
def test_noise_has_no_time_scale_and_fit_warns(model, shape):
    rows = np.random.default_rng(0).standard_normal(shape)
    with pytest.warns(UserWarning, match="not distinguishable from chance"):
        model.fit(rows)
    assert np.isnan(model.timescales_).all()
    assert np.isnan(model.result_.held_out.timescales).all()


def test_a_lag_much_too_long_is_chance():
    rows = Autoregressive(np.exp([-1 / 5] * 10), random_state=0).take(10_080)
    with pytest.warns(UserWarning, match="not distinguishable"):
        assert np.isnan(SlowSubspace(2, lag=3600).fit(rows).timescales_).all()


@pytest.mark.parametrize(
    "model", [SlowSubspace(1), SlowSubspace(1, criterion="ratio"), DynamicSubspace(1)], ids=repr
)
def test_a_clear_feature_gives_no_warning(model):
    with warnings.catch_warnings(action="error"):
        assert 15 < model.fit(one_slow(5000)).timescales_[0] < 25
    test = model.result_.held_out
    assert test.in_sample[0] >= test.corrected[0] > 0.94


def test_an_inflated_time_scale_is_warned_of_with_the_corrected_one():
    rows = Autoregressive(np.exp([-1 / 5] * 40), random_state=0).take(300)
    with pytest.warns(UserWarning, match="not learned from"):
        model = SlowSubspace(1).fit(rows)
    scale, better = model.timescales_[0], model.result_.held_out.timescales[0]
    assert scale > 3 * 5
    assert scale > 2 * better > 2 * 5


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("criterion", ["difference", "ratio"])
def test_a_field_of_more_cells_than_rows_has_no_long_time_scale_on_other_rows(criterion):
    rng = np.random.default_rng(0)
    scales = np.r_[45.0, 8.0, 5.0, [1.0] * 12]
    patterns = (
        rng.standard_normal((len(scales), 400)) / np.sqrt(1.0 + np.arange(len(scales)))[:, None]
    )
    process = Autoregressive(np.exp(-1 / scales), random_state=1)
    rows = process.take(240) @ patterns + 0.7 * rng.standard_normal((240, 400))
    model = SlowSubspace(2, criterion=criterion).fit(rows)
    fresh = process.take(20_000) @ patterns + 0.7 * rng.standard_normal((20_000, 400))
    test, true = model.result_.held_out, implied_timescales(model, fresh)
    assert (model.timescales_ > 100 * true)[~test.chance].all()
    assert (test.timescales < 5 * true)[~test.chance].all()


@given(*[hnp.arrays(float, 5, elements=st.floats(-1, 1))] * 3)
def test_a_corrected_autocorrelation_is_between_those_on_other_and_on_all_rows(own, other, rho):
    better = corrected(rho, own, other)
    assert (better <= rho + 1e-12).all()
    assert (better >= np.minimum(other, rho) - 1e-12).all()


def test_the_repr_of_a_result_shows_how_sure_it_is():
    model = SlowSubspace(1).fit(one_slow(5000))
    assert repr(model.result_).endswith("\n" + repr(model.result_.held_out))
    assert "\n" not in repr(model.result_).split("\nHeldOut")[0]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_mode_that_may_be_chance_has_no_period():
    rows = np.random.default_rng(0).standard_normal((60, 50))
    assert np.isnan(DynamicSubspace(2).fit(rows).periods_).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("n_rows", [20, 60, 100])
def test_singular_values_of_noise_are_small_on_other_rows(n_rows):
    dynamic = DynamicSubspace(2).fit(np.random.default_rng(0).standard_normal((n_rows, 50)))
    other = dynamic.result_.held_out.singular_values
    assert dynamic.singular_values_.min() > 0.95
    assert np.isnan(other).all() if n_rows == 20 else np.abs(other).max() < 0.4


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", range(4))
def test_both_modes_of_a_pair_have_the_same_values_on_other_rows(seed):
    rows = oscillating(100, 20, seed)
    dynamic = DynamicSubspace(4).fit(rows)
    test, complex_pair = dynamic.result_.held_out, dynamic.propagator_eigenvalues_.imag > 0.0
    assert complex_pair.any()
    for k in np.flatnonzero(complex_pair):
        for values in (test.other_half, test.corrected, test.chance, dynamic.timescales_):
            np.testing.assert_array_equal(values[k], values[k + 1])


def oscillating(n_rows, width, seed):
    """Return a pair with a period of 8 rows and a decay of 50, among columns of noise."""
    rng, angle = np.random.default_rng(seed), 2.0 * np.pi / 8.0
    noise = rng.standard_normal((n_rows, 2)) @ [1.0, 1.0j]
    factor = np.exp(-1.0 / 50.0 + 1j * angle)
    amplitudes = lfilter([1.0], [1.0, -factor], noise)
    pair = np.column_stack([amplitudes.real, amplitudes.imag])
    rows = np.hstack([pair, rng.standard_normal((n_rows, width - 2))])
    return rows @ np.linalg.qr(rng.standard_normal((width, width)))[0]


def test_the_other_half_is_that_of_separate_fits():
    first = FIRST_TERMS + 1  # the first row has no velocity
    rows = Autoregressive([0.9, 0.5, 0.0], random_state=0).take(first + FIRST_TERMS // 2)
    model = SlowSubspace(2, alpha=0.3).fit(rows)
    parts = rows[:first], rows[first - 1 :]
    fits = [SlowSubspace(2, alpha=0.3).fit(part) for part in parts]
    found = []
    for fitted, part in zip(fits, parts[::-1], strict=True):
        features = part @ fitted.components_.T
        steps = ((features[1:] - features[:-1]) ** 2).mean(axis=0)
        found.append(1.0 - steps / (2.0 * features[1:].var(axis=0)))
    np.testing.assert_allclose(model.result_.held_out.other_half, np.mean(found, axis=0))


def solved_like(model, answer, operator, units):
    """Return the features of A and B by the methods that solve a fit."""
    n, weights = len(answer.pairs.values), answer.weights
    if weights is None:
        n_varying = int(np.isfinite(units).sum())
        return slow_ratios(operator, n, model.shrinkage, n_varying, model.rank).vectors
    operator = operator if model.rank is None else operator.principal(model.rank)
    vectors = operator.largest(weights, n).vectors
    if not answer.sorted:
        return vectors
    return vectors @ slowest_first(*operator.forms(vectors), operator.floor)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"alpha": 0.02, "lag": 3},
        {"scale": True, "basis": "eigenvalue"},
        {"rank": 3},
        {"criterion": "ratio"},
        {"criterion": "ratio", "rank": 0.9, "shrinkage": 0.1},
        {"center": "sequences"},
        {"missing": "available"},
    ],
    ids=str,
)
@pytest.mark.parametrize("width", [5, 150])
def test_features_of_each_half_are_evaluated_one_at_a_time(params, width):
    """The twin solves for one half after the other, and takes one moment at a time."""
    rows = one_slow(120, width) + 1.0
    if "missing" in params:
        rows[np.random.default_rng(0).random(rows.shape) < 0.1] = np.nan
    model = SlowSubspace(3, **params).fit([rows[:70], rows[70:]])
    answer, learner = model.result_, model._learner
    units = learner.deviations(np.inf) if answer.weights is None else answer.scale
    halves = learner.half_operators(units)
    found = []
    for own, other in zip(halves, halves[::-1], strict=True):
        columns = solved_like(model, answer, own, units)
        found.append(of_operator(other, columns))
    n = min(map(len, found))
    expected = np.mean([values[:n] for values in found], axis=0)
    np.testing.assert_allclose(answer.held_out.other_half[:n], expected, atol=1e-10)
    assert np.isnan(answer.held_out.other_half[n:]).all()


def test_a_late_reading_warns_once():
    rows = np.random.default_rng(0).standard_normal((3000, 140))
    with warnings.catch_warnings(action="error"):
        model = SlowSubspace(2).fit(rows)
        model.transform(rows)
    with pytest.warns(UserWarning, match="not distinguishable"):
        assert np.isnan(model.timescales_).all()
    with warnings.catch_warnings(action="error"):
        assert np.isnan(model.timescales_).all()


def test_edges_of_white_noise():
    rows, n, D = np.random.default_rng(0), 2000, 200
    model = SlowSubspace(1, criterion="ratio").fit(rows.standard_normal((n, D)))
    assert model._solved().autocorrelations[0] == pytest.approx(white_edge(D, n), abs=0.03)
    values = DynamicSubspace(1).fit(rows.standard_normal((n, D))).singular_values_
    assert values[0] == pytest.approx(directed_edge(D, n), abs=0.03)
