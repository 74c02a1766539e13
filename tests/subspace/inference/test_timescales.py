"""Autocorrelations, the time scales that they imply, and several lags from one pass."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigh
from sklearn.exceptions import NotFittedError

import oracles
from eigenstream import RBFNetwork, SlowSubspace, lag_path, open_stream
from eigenstream.processes import Autoregressive
from eigenstream.subspace import autocorrelations, implied_timescales

ROWS = oracles.slow_sources(m=200)
RUNS = [ROWS[:60], ROWS[60:75], ROWS[75:]]
LAGS = (1, 3, 10)
#: Of three sources, in rows.
SCALES = np.array([40.0, 12.0, 3.0])


def correlations(slow, rows):
    """What a newcomer would write: of every feature, now and so many rows ago."""
    features = slow.transform(rows)
    now, velocity = features[slow.lag :], features[slow.lag :] - features[: -slow.lag]
    about = now.mean(axis=0) if slow.center else 0.0
    return 1 - (velocity**2).mean(axis=0) / (2 * ((now - about) ** 2).mean(axis=0))


@pytest.mark.parametrize(
    "slow",
    [
        SlowSubspace(3, lag=7),
        SlowSubspace(2, alpha=0.9, lag=2, center=False),
        SlowSubspace(3, criterion="ratio", lag=3),
        SlowSubspace(3, scale=True),
        SlowSubspace(2, features=RBFNetwork(20, gamma="median", random_state=0)),
    ],
    ids=repr,
)
def test_autocorrelations_are_those_of_the_features(slow):
    slow.fit(ROWS)
    np.testing.assert_allclose(slow.result_.autocorrelations, correlations(slow, ROWS), atol=1e-9)
    rho = slow.result_.autocorrelations
    positive = rho > 0
    chance = slow.result_.held_out.chance[positive]
    expected = np.where(chance, np.nan, -slow.lag / np.log(rho[positive]))
    np.testing.assert_allclose(slow.timescales_[positive], expected)
    assert (slow.timescales_[~positive] == 0).all()


def test_a_krylov_fit_reads_again_for_them():
    rows = oracles.slow_sources(m=2000)
    slow = SlowSubspace(2, alpha=0.9, lag=2, solver="krylov").fit(rows)
    np.testing.assert_allclose(slow.result_.autocorrelations, correlations(slow, rows), atol=1e-9)
    np.testing.assert_allclose(slow.timescales_, implied_timescales(slow, rows), rtol=1e-6)


@pytest.mark.parametrize(
    "slow",
    [
        SlowSubspace(3),
        SlowSubspace(3, criterion="ratio", lag=3),
        SlowSubspace(3, scale=True, center=False, alpha=0.9),
        SlowSubspace(2, features=RBFNetwork(20, gamma="median", random_state=0)),
    ],
    ids=repr,
)
def test_of_other_rows_and_at_other_lags(slow):
    slow.fit(ROWS[:120])
    np.testing.assert_allclose(
        autocorrelations(slow, ROWS[:120]), slow.result_.autocorrelations, atol=1e-9
    )
    longer = SlowSubspace(lag=9, center=slow.center)
    longer.transform = slow.transform
    other = autocorrelations(slow, ROWS[120:], lag=9)
    np.testing.assert_allclose(other, correlations(longer, ROWS[120:]), atol=1e-9)
    positive = other > 0
    np.testing.assert_allclose(
        implied_timescales(slow, ROWS[120:], lag=9)[positive], -9 / np.log(other[positive])
    )
    runs = autocorrelations(slow, RUNS)
    named = {"a": RUNS[0], "b": RUNS[1], "c": RUNS[2]}
    for stream in (open_stream(RUNS, chunk_rows=11), open_stream(named)):
        np.testing.assert_allclose(autocorrelations(slow, stream), runs, atol=1e-9)
    assert not np.allclose(runs, autocorrelations(slow, ROWS), atol=1e-9)


def test_rows_that_have_nothing_to_say_of_time_scales():
    slow = SlowSubspace(2, missing="skip").fit(ROWS)
    holes = ROWS.copy()
    holes[5:20, 0] = np.nan
    left = autocorrelations(slow, holes)
    skipped = autocorrelations(slow, open_stream(holes, missing="skip"))
    np.testing.assert_allclose(left, skipped, atol=1e-12)
    assert np.isfinite(left).all()
    for rows, how, message in (
        (ROWS[:1], {}, "No two rows are lag=1 apart"),
        (ROWS, {"lag": 0}, "lag must be"),
        (open_stream(ROWS[:, :2]), {}, "has 2 features, and SlowSubspace has learned from 8"),
    ):
        with pytest.raises(ValueError, match=message):
            implied_timescales(slow, rows, **how)
    with pytest.raises(NotFittedError):
        implied_timescales(SlowSubspace(), ROWS)


def test_time_scales_of_sources_that_are_known():
    """Within five standard errors of an autocorrelation, by Bartlett's formula for AR(1)."""
    a, n = np.exp(-1 / SCALES), 100_000
    rows = Autoregressive(a, n_features=6, noise=0.0, random_state=0).take(n)
    # Six features of three sources: what is left over has no variance.
    path = lag_path(SlowSubspace(3, criterion="ratio"), rows, LAGS)
    for lag, found in zip(path.lags, path.timescales, strict=True):
        square = a ** (2 * lag)
        error = (1 + a**2) * (1 - square) / (1 - a**2) - 2 * lag * square
        error = np.sqrt(error / n) * SCALES**2 / (lag * a**lag)
        assert (np.abs(found - SCALES) < 5 * error).all(), lag


@given(st.integers(1, 40), st.sampled_from([SlowSubspace(2), SlowSubspace(2, criterion="ratio")]))
def test_several_lags_equal_separate_fits(chunk_rows, slow):
    """Whatever the chunks; sequences shorter than a lag teach it nothing, as in a fit."""
    stream = open_stream(RUNS, chunk_rows=chunk_rows)
    path = lag_path(slow, stream, LAGS)
    for k, lag in enumerate(LAGS):
        alone = SlowSubspace(2, lag=lag, criterion=slow.criterion).fit(RUNS)
        np.testing.assert_allclose(path.estimators[k].components_, alone.components_, atol=1e-9)
        np.testing.assert_allclose(path.timescales[k], alone.timescales_, rtol=1e-9)
        np.testing.assert_allclose(
            path.autocorrelations[k], alone.result_.autocorrelations, atol=1e-9
        )
        np.testing.assert_allclose(path.eigenvalues[k], alone.eigenvalues_, rtol=1e-9)
        if path.alphas is not None:
            assert path.alphas[k] == pytest.approx(alone.alpha_, rel=1e-9)
    assert (path.alphas is None) == (slow.criterion == "ratio")


@pytest.mark.parametrize("lag", [1, 4])
def test_reversible_features_are_those_of_tica(lag):
    decomposition = pytest.importorskip("deeptime.decomposition")
    process = Autoregressive(np.exp(-1 / SCALES), n_features=5, noise=0.05, random_state=1)
    rows = process.take(3000) + 2.0
    runs = [rows[:900], rows[900:]]
    tica = decomposition.TICA(lagtime=lag, dim=3, scaling=None).fit_fetch(runs)
    ours = SlowSubspace(3, criterion="ratio", reversible=True, shrinkage=0, lag=lag)
    ours.fit(runs)
    np.testing.assert_allclose(ours.result_.autocorrelations, tica.singular_values[:3], atol=1e-9)
    np.testing.assert_allclose(ours.timescales_, tica.timescales()[:3], rtol=1e-6)
    np.testing.assert_allclose(abs(ours.transform(rows)), abs(tica.transform(rows)), atol=1e-6)
    np.testing.assert_allclose(
        autocorrelations(ours, runs), ours.result_.autocorrelations, atol=1e-9
    )


@given(st.integers(0, 2**32 - 1))
def test_reversible_averages_weigh_both_rows_of_a_velocity_alike(seed):
    weights = np.random.default_rng(seed).integers(0, 4, len(ROWS)).astype(float)
    lag, w = 3, oracles.weights_of_velocities(weights, 3)
    both, w2 = np.concatenate([ROWS[lag:], ROWS[:-lag]]), np.concatenate([w, w])
    slow = SlowSubspace(2, criterion="ratio", reversible=True, shrinkage=0, lag=lag)
    slow.fit(ROWS, sample_weight=weights)
    np.testing.assert_allclose(slow.mean_, np.average(both, axis=0, weights=w2), atol=1e-12)
    values = eigh(
        np.cov(both.T, aweights=w2, ddof=0), oracles.velocity(ROWS, lag=lag, weights=weights)
    )[0]
    np.testing.assert_allclose(slow.eigenvalues_, values[:-3:-1], rtol=1e-9)


@pytest.mark.parametrize(("scales", "lag"), [((9.0, 19.0, 40.0), 10), ((9.0, 21.0, 40.0), 3)])
def test_the_recommended_lag_has_half_of_the_longest_time_scale(scales, lag, monkeypatch):
    path = lag_path(SlowSubspace(1), ROWS, [1, 3, 10])
    monkeypatch.setattr(type(path), "on_other_rows", np.array(scales)[:, None])
    assert path.recommended_lag == lag


@pytest.mark.filterwarnings("ignore:time scales at")
def test_time_scales_that_hold_for_the_rows_of_the_fit_only_recommend_no_lag():
    """Ten columns of a random walk in noise: long lags leave few independent rows."""
    rng = np.random.default_rng(0)
    walks = rng.standard_normal((2000, 20)).cumsum(axis=0) + 3 * rng.standard_normal((2000, 20))
    path = lag_path(SlowSubspace(2), walks)
    slowest = path.on_other_rows.max(axis=1)
    expected = path.lags[slowest >= slowest.max() / 2][0]
    assert path.recommended_lag == expected < path.lags[-1]


def test_a_path_of_lags_has_the_time_scales_on_other_rows():
    path = lag_path(SlowSubspace(2), ROWS, LAGS, dt=0.5)
    for k, model in enumerate(path.estimators):
        expected = 0.5 * model.result_.held_out.timescales
        np.testing.assert_allclose(path.on_other_rows[k], expected)
    assert repr(path).splitlines()[0].endswith("on other rows")


def test_a_path_warns_of_time_scales_that_hold_for_its_rows_only():
    rows = Autoregressive(np.exp([-1 / 5] * 40), random_state=0).take(300)
    with pytest.warns(UserWarning, match="2 of 2 lags hold for these rows only, first at lag 1"):
        lag_path(SlowSubspace(1), rows, [1, 2])


@pytest.mark.filterwarnings("ignore:time scales at")
def test_a_path_of_few_rows_for_each_column_has_no_error_bars_and_shows_its_progress():
    rows, solved = np.random.default_rng(0).standard_normal((60, 50)), []
    with pytest.warns(UserWarning, match="too few rows for error bars"):
        path = lag_path(SlowSubspace(1), rows, [1, 2, 5], blocks=5, progress=solved.append)
    assert path.errors is None
    assert path.curves is None
    assert path.recommended_lag is None
    assert solved == [1, 2, 5]
