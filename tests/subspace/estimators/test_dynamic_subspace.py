"""Oscillations: decay times, periods, prediction and reweighting, beside deeptime and PyDMD."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from eigenstream import DynamicSubspace, SlowSubspace, open_stream


def rotating(n, seed=0, size=0.98, period=8.0, noise=0.0, width=3):
    """Return a rotating pair and an AR(1) process, mixed."""
    rng = np.random.default_rng(seed)
    angle = 2.0 * np.pi / period
    step = np.zeros((3, 3))
    step[:2, :2] = size * np.array(
        [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    )
    step[2, 2] = 0.9
    rows = np.zeros((n, 3))
    for t in range(1, n):
        rows[t] = step @ rows[t - 1] + rng.normal(size=3)
    return rows @ rng.normal(size=(3, width)) + noise * rng.normal(size=(n, width)) + 5.0


ROWS = rotating(1500)


def plain(rows, lag, center=True):
    """Return C00, C01, C11 and the means."""
    past, now = rows[:-lag], rows[lag:]
    m0, m1 = (past.mean(0), now.mean(0)) if center else (np.zeros(rows.shape[1]),) * 2
    x, y = past - m0, now - m1
    return (*(one / len(x) for one in (x.T @ x, x.T @ y, y.T @ y)), m0, m1)


@pytest.mark.parametrize("lag", [1, 3])
@pytest.mark.parametrize("center", [True, False])
def test_covariances_and_eigenvalues_are_the_plain_ones(lag, center):
    dynamic = DynamicSubspace(None, lag=lag, center=center).fit(ROWS)
    cov = dynamic.lagged_covariances_
    names = ("c00", "c01", "c11", "mean0", "mean1")
    for name, value in zip(names, plain(ROWS, lag, center), strict=True):
        assert_allclose(getattr(cov, name), value, atol=1e-10, err_msg=name)
    values, modes = np.linalg.eig(np.linalg.solve(cov.c00, cov.c01).T)
    order = np.lexsort((-values.imag, -np.abs(values).round(10)))
    assert_allclose(dynamic.propagator_eigenvalues_, values[order], atol=1e-9)
    for mode, other in zip(dynamic.modes_, modes.T[order], strict=True):
        scale = mode @ other.conj() / (other @ other.conj())
        assert_allclose(mode, scale * other, atol=1e-8)
    z = dynamic.transform(ROWS[:-lag])
    assert_allclose(z.T @ z / len(z), np.eye(3), atol=1e-9)


@pytest.mark.parametrize("lag", [1, 2, 3])
def test_a_rotation_has_its_decay_and_period(lag):
    rows = rotating(60_000)
    dynamic = DynamicSubspace(3, lag=lag).fit(rows)
    expected = np.array([0.98**lag * np.exp(2j * np.pi * lag / 8), 0.9**lag])
    assert_allclose(dynamic.propagator_eigenvalues_[[0, 2]], expected, atol=0.015)
    assert_allclose(dynamic.periods_[:2], 8.0, rtol=0.005)
    assert_allclose(dynamic.timescales_[0], -1 / np.log(0.98), rtol=0.06)
    assert dynamic.periods_[2] == np.inf
    if lag == 2:  # the symmetric part alone does not see it
        slow = SlowSubspace(3, criterion="ratio", reversible=True, lag=2).fit(rows)
        assert (slow.result_.autocorrelations[1:] < 0.1).all()


@pytest.mark.parametrize("lag", [1, 4])
def test_equal_to_deeptime(lag):
    decomposition = pytest.importorskip("deeptime.decomposition")
    covariance = pytest.importorskip("deeptime.covariance")
    train = rotating(1500)
    dynamic = DynamicSubspace(2, lag=lag).fit(train)
    vamp = decomposition.VAMP(lagtime=lag, dim=2, epsilon=1e-14).fit(train).fetch_model()
    assert_allclose(dynamic.singular_values_, vamp.singular_values[:2], atol=1e-8)
    theirs = vamp.transform(train)
    signs = np.sign((theirs * dynamic.transform(train)).sum(axis=0))
    assert_allclose(dynamic.transform(train) * signs, theirs, atol=1e-8)
    estimator = covariance.KoopmanWeightingEstimator(lagtime=lag, epsilon=1e-14).fit(train)
    assert_allclose(dynamic.koopman_weights(train), estimator.transform(train), atol=1e-8)


def test_reweighting_keeps_the_mean():
    rows = rotating(300)
    weights = DynamicSubspace(3, lag=2).fit(rows).koopman_weights(rows[:-2])
    assert_allclose(weights.mean(), 1.0)
    assert_allclose(weights @ rows[:-2], weights @ rows[2:])
    trend = np.column_stack([np.arange(50.0), np.ones(50)])
    with pytest.raises(ValueError, match="no stationary weights"):
        DynamicSubspace(1).fit(trend).koopman_weights(trend)


def test_prediction_is_the_regression_on_the_past():
    rows, lag = rotating(2000), 3
    dynamic = DynamicSubspace(None, lag=lag).fit(rows)
    ones = np.ones((len(rows) - lag, 1))
    slope = np.linalg.lstsq(np.hstack([rows[:-lag], ones]), rows[lag:], rcond=None)[0]
    once = np.hstack([rows[:-lag], ones]) @ slope
    assert_allclose(dynamic.predict(rows[:-lag]), once, atol=1e-9)
    assert_allclose(dynamic.predict(rows[:-lag], 2), np.hstack([once, ones]) @ slope, atol=1e-9)
    assert_allclose(dynamic.predict([rows, rows], 2)[1], dynamic.predict(rows, 2))
    (chunk,) = dynamic.predict(open_stream(rows), 2).chunks()
    assert_allclose(chunk.rows, dynamic.predict(rows, 2))
    far = dynamic.predict(rows[:1], 10**6)
    assert_allclose(dynamic.predict(far), far, atol=1e-9)
    with pytest.raises(ValueError, match="steps must be"):
        dynamic.predict(rows, 0)


def test_a_column_without_values_is_nan_in_components_and_modes():
    rows = rotating(1500, noise=0.3, width=6)
    gaps = np.where(np.random.default_rng(0).random(rows.shape) < 0.05, np.nan, rows)
    model, other = (DynamicSubspace(3, lag=2, missing="available") for _ in range(2))
    other.fit(np.insert(gaps, 2, np.nan, axis=1))
    assert np.isnan(other.components_[:, 2]).all()
    assert np.isnan(other.modes_[:, 2]).all()
    expected = model.fit(gaps).propagator_eigenvalues_
    assert_allclose(other.propagator_eigenvalues_, expected, atol=1e-9)


def test_error_bars_of_decay_times_and_periods():
    dynamic = DynamicSubspace(3, lag=2).fit(rotating(20_000, seed=1), blocks=20)
    bars = dynamic.result_.uncertainty
    assert 0.001 < bars.periods.error[0] < 0.05
    assert bars.timescales.low[0] < -1 / np.log(0.98) < bars.timescales.high[0]
    assert bars.periods.low[0] < 8.0 < bars.periods.high[0]
    assert np.isnan(bars.periods.error[2])
    assert "period" in repr(bars)


def test_a_share_of_the_variance_as_rank():
    with pytest.raises(ValueError, match="'rank' parameter"):
        DynamicSubspace(2, rank=1.5).fit(ROWS)
    some = DynamicSubspace(None, rank=0.9).fit(ROWS)
    assert some.n_components_ < 3
    assert some.solved_with(rank=None).n_components_ == 3


@pytest.mark.parametrize(("width", "noise", "share"), [(6, 0.3, 0.05), (12, 1.0, 0.2)])
def test_gaps_leave_decay_and_period(width, noise, share):
    rows = rotating(6000, noise=noise, width=width)
    complete = DynamicSubspace(3, lag=2).fit(rows)
    gaps = np.where(np.random.default_rng(0).random(rows.shape) < share, np.nan, rows)
    dynamic = DynamicSubspace(None, lag=2, missing="available").fit(gaps)
    assert (np.abs(dynamic.propagator_eigenvalues_) < 1.0).all()
    assert_allclose(dynamic.periods_[:2], complete.periods_[:2], rtol=0.01)
    assert_allclose(np.abs(dynamic.propagator_eigenvalues_[:2]), 0.98**2, atol=0.02)
    assert (dynamic.singular_values_ < 1.0).all()
    never = np.insert(gaps, 2, np.nan, axis=1)
    other = DynamicSubspace(3, lag=2, missing="available").fit(never)
    assert np.isnan(other.components_[:, 2]).all()
    assert np.isnan(other.modes_[:, 2]).all()
    assert_allclose(
        other.propagator_eigenvalues_,
        DynamicSubspace(3, lag=2, missing="available").fit(gaps).propagator_eigenvalues_,
        atol=1e-9,
    )
