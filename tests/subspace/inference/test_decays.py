"""Time scales and noise shares from several lags, tests of a single rate, and kinetic maps."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import decays as simulated
from eigenstream import SlowSubspace, lag_path
from eigenstream.processes import Autoregressive
from eigenstream.subspace import autocorrelations
from eigenstream.subspace.inference.decays import decay, jackknife_error, resolved
from eigenstream.subspace.inference.held_out import implied

LAGS = np.array([1, 2, 5, 10, 20, 50, 100])
PROCESS = Autoregressive(
    np.exp([-1 / 50, -1 / 10, -1 / 2]), n_features=6, noise=0.05, random_state=0
)
ROWS = PROCESS.take(8000)
QUIET = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("source", [simulated.autoregressive, simulated.jumps])
@pytest.mark.parametrize("noise", [0.0, 0.3, 0.7])
def test_noise_does_not_shorten_the_time_scale(source, noise):
    median, coverage, share, naive, departs = simulated.simulated(source, 100, noise, 12)
    assert median == pytest.approx(100, rel=0.15)
    assert share == pytest.approx(noise, abs=0.05)
    assert coverage >= 0.75
    assert departs == (noise > 0)
    assert (naive < 30) == (noise > 0)


@given(
    st.floats(2.0, 500.0),
    st.floats(0.0, 0.8),
    st.floats(0.01, 100.0),
    st.integers(0, 2**32 - 1),
)
def test_an_exact_exponential_is_recovered_in_any_unit(scale, noise, dt, seed):
    rho = (1.0 - noise) * np.exp(-LAGS / scale)
    without = rho * (1.0 + 1e-6 * np.random.default_rng(seed).standard_normal((20, 7)))
    found = decay(LAGS, rho, without, dt)
    if (rho[:2] <= 0.05).any():
        assert np.isnan(found.timescale)
        return
    assert found.timescale == pytest.approx(scale * dt, rel=1e-2)
    assert found.noise == pytest.approx(noise, abs=1e-2)
    assert found.reliable


def test_a_fast_decay_before_a_slow_one_is_dropped():
    rho = 0.5 * np.exp(-LAGS / 100) + 0.5 * np.exp(-LAGS / 1)
    without = rho + 1e-4 * np.random.default_rng(0).standard_normal((20, 7))
    found = decay(LAGS, rho, without)
    assert found.timescale == pytest.approx(100, rel=0.01)
    assert found.noise == pytest.approx(0.5, abs=0.01)
    assert found.first == 10
    assert found.reliable


def test_an_oscillation_is_not_reliable():
    rho = np.cos(LAGS / 5) * np.exp(-LAGS / 50)
    without = rho + 1e-4 * np.random.default_rng(0).standard_normal((20, 7))
    assert not decay(LAGS, rho, without).reliable


def test_white_noise_has_no_decay_and_no_recommended_lag():
    rows = np.random.default_rng(0).standard_normal((5000, 8))
    path = lag_path(SlowSubspace(2), rows, blocks=20)
    assert np.isnan(path.timescales).all()
    assert all(np.isnan(one.timescale) for one in path.decay(100))
    assert path.recommended_lag is None


def test_time_scales_that_selection_explains_are_nan():
    for scale in (2, 5, 10, 20):
        assert simulated.false_time_scales(scale, 20, 3) == 0
    slow = lag_path(SlowSubspace(1), ROWS, [10], blocks=20)
    assert np.isfinite(slow.timescales).all()
    assert resolved(np.array([0.3]), np.array([0.01]), 5, 20).all()


@QUIET
def test_curves_are_those_of_the_features_on_the_rows():
    path = lag_path(SlowSubspace(2), ROWS, [1, 5, 20], blocks=5)
    for k, slow in enumerate(path.estimators):
        for j, lag in enumerate((1, 5, 20)):
            due = autocorrelations(slow, ROWS, lag)
            np.testing.assert_allclose(path.curves[k, j], due, atol=1e-9)
    np.testing.assert_allclose(np.einsum("kkd->kd", path.curves), path.autocorrelations, atol=1e-9)
    # Without the last block, the rows are those before it.
    np.testing.assert_allclose(
        path.curves_without[4, 0, 1],
        autocorrelations(path.estimators[0], ROWS[:6400], 5),
        atol=1e-9,
    )
    simulated.check()


@QUIET
def test_a_unit_scales_the_times():
    rows, scaled = (lag_path(SlowSubspace(2), ROWS, blocks=10, **how) for how in ({}, UNIT))
    np.testing.assert_allclose(scaled.timescales, 0.5 * rows.timescales)
    np.testing.assert_allclose(scaled.errors[2].timescales.low, 0.5 * rows.errors[2].timescales.low)
    assert scaled.decay(5)[0].timescale == pytest.approx(0.5 * rows.decay(5)[0].timescale)
    assert scaled.decay(5)[0].first == rows.decay(5)[0].first
    assert scaled.recommended_lag == rows.recommended_lag
    np.testing.assert_array_equal(scaled.lags, rows.lags)


UNIT = {"dt": 0.5, "unit": "ps"}


@QUIET
def test_the_check_of_multiples_warns_of_noise_only():
    path = lag_path(SlowSubspace(1, criterion="ratio"), ROWS, [1, 2, 5, 10, 20], blocks=20)
    with pytest.warns(UserWarning, match="feature 1 has an autocorrelation of .* use a longer lag"):
        found = path.chapman_kolmogorov(1)
    assert found.departs.all()
    np.testing.assert_array_equal(found.lags, [2, 5, 10, 20])
    np.testing.assert_allclose(found.predicted[:, 0], path.curves[0, 0, 0] ** found.lags)
    gaps = path.curves_without[:, 0, 2] - path.curves_without[:, 0, 0] ** 5
    np.testing.assert_allclose(found.errors[1], jackknife_error(gaps))
    assert replace(found, measured=found.predicted).warning is None


@QUIET
def test_paths_and_tests_of_lags_print_a_line_for_each_lag():
    path = lag_path(SlowSubspace(2), ROWS[:2000], [1, 2, 4, 8], blocks=20)
    lines = repr(path).splitlines()
    assert [line.split()[0] for line in lines] == ["lag", "1", "2", "4", "8"]
    assert float(lines[3].split()[1]) == pytest.approx(path.timescales[2, 0], rel=1e-3)
    tested = path.chapman_kolmogorov(1)
    lines = repr(tested).splitlines()
    assert [line.split()[0] for line in lines[1:]] == [str(lag) for lag in tested.lags]
    assert float(lines[2].split()[1]) == pytest.approx(tested.measured[1, 0], abs=1e-3)


@pytest.mark.filterwarnings("ignore:Blocks of 400 rows")
def test_bad_questions_raise():
    plain = lag_path(SlowSubspace(1), ROWS[:500], [1, 2])
    with pytest.raises(ValueError, match="blocks=20"):
        plain.decay(1)
    path = lag_path(SlowSubspace(1), ROWS[:2000], [1, 3], blocks=5)
    with pytest.raises(ValueError, match=r"lag=2 is not in lags. Use one of \[1, 3\]"):
        path.decay(2)
    with pytest.raises(ValueError, match="Add 6 to lags"):
        path.chapman_kolmogorov(3)
    with pytest.raises(ValueError, match="dt"):
        lag_path(SlowSubspace(1), ROWS[:500], [1], dt=0.0)


# ---- kinetic maps ----------------------------------------------------------------------------


@QUIET
@pytest.mark.parametrize("how", [{}, {"criterion": "ratio"}, {"alpha": 0.5, "solver": "krylov"}])
def test_kinetic_features_are_scaled_by_autocorrelation_and_time_scale(how):
    plain = SlowSubspace(3, lag=5, **how).fit(ROWS)
    due, rho = plain.transform(ROWS), plain.result_.autocorrelations
    for basis, factor in (("kinetic", abs(rho)), ("commute", np.sqrt(implied(rho, 5) / 2))):
        model = SlowSubspace(3, lag=5, basis=basis, **how).fit(ROWS)
        np.testing.assert_allclose(model.transform(ROWS), due * factor, atol=1e-9)
        np.testing.assert_allclose(model.result_.autocorrelations, rho, atol=1e-9)
        assert model.score(ROWS) == pytest.approx(plain.score(ROWS))
        back = model.inverse_transform(model.transform(ROWS))
        np.testing.assert_allclose(back, plain.inverse_transform(due), atol=1e-8)


def test_rank_is_the_cut_of_deeptime():
    decomposition = pytest.importorskip("deeptime.decomposition")
    slow = np.random.default_rng(3).standard_normal(len(ROWS)).cumsum() / np.sqrt(len(ROWS))
    rows = np.column_stack([ROWS, ROWS[:, 0] + 3e-5 * slow])
    runs = [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
    tica = decomposition.TICA(lagtime=5, dim=3).fit_fetch(runs)  # epsilon=1e-6
    variances = np.linalg.eigvalsh(tica.cov.cov_00)
    rank = int((variances > 1e-6).sum())
    assert rank == rows.shape[1] - 1
    ours = SlowSubspace(3, criterion="ratio", reversible=True, shrinkage=0, lag=5, basis="kinetic")
    for cut in (rank, 1.0 - 1e-6):
        ours.set_params(rank=cut).fit(runs)
        np.testing.assert_allclose(ours.timescales_, tica.timescales()[:3], rtol=1e-6)
        np.testing.assert_allclose(abs(ours.transform(rows)), abs(tica.transform(rows)), atol=1e-6)
    assert not np.allclose(ours.set_params(rank=None).fit(runs).timescales_, tica.timescales()[:3])
    with pytest.raises(ValueError, match="not supported by"):
        ours.set_params(rank=2, solver="krylov").fit(runs)


def test_a_share_of_the_kinetic_variance_chooses_the_number_of_features():
    whole = SlowSubspace(None, criterion="ratio", lag=5).fit(ROWS)
    kinetic = np.cumsum(whole.result_.autocorrelations**2)
    for share in (0.3, 0.7, 0.9, 0.999):
        model = SlowSubspace(share, criterion="ratio", lag=5).fit(ROWS)
        n = model.n_components_
        assert kinetic[n - 1] >= share * kinetic[-1]
        assert n == 1 or kinetic[n - 2] < share * kinetic[-1]
    with pytest.raises(ValueError, match="share of the kinetic variance"):
        SlowSubspace(0.9).fit(ROWS)
