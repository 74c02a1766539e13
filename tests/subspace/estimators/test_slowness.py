"""Features from slow to fast, the score on held-out rows, and the warning about the lag."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigh

import oracles
from eigenstream import SlowSubspace
from eigenstream.processes import Autoregressive
from eigenstream.subspace import autocorrelations, matrices

PROCESS = Autoregressive(
    np.exp([-1 / 50, -1 / 10, -1 / 2]), n_features=6, noise=0.05, random_state=0
)
ROWS = PROCESS.take(20_000)


@pytest.mark.parametrize("solver", ["dense", "krylov", "sketch"])
@pytest.mark.parametrize("scale", [False, True])
def test_features_are_uncorrelated_and_sorted_from_slow_to_fast(solver, scale):
    model = SlowSubspace(4, alpha=0.7, solver=solver, scale=scale and solver == "dense").fit(ROWS)
    features = model.transform(ROWS)
    np.testing.assert_allclose(np.cov(features.T), np.eye(4), atol=2e-3)
    assert (np.diff(autocorrelations(model, ROWS)) < 0).all()
    orthonormal = SlowSubspace(4, alpha=0.7, solver=solver, scale=scale and solver == "dense")
    orthonormal.set_params(basis="eigenvalue").fit(ROWS)
    np.testing.assert_allclose(
        model.inverse_transform(features),
        orthonormal.inverse_transform(orthonormal.transform(ROWS)),
        atol=1e-9,
    )


@given(st.floats(0.05, 0.6), st.integers(0, 9))
@pytest.mark.filterwarnings("ignore:only .* eigenvalues are positive")
def test_features_that_lower_the_objective_are_not_scaled_up(alpha, seed):
    rows = ROWS[:2000] + np.random.default_rng(seed).normal(size=(2000, 6)) * 0.2
    model = SlowSubspace(6, alpha=alpha).fit(rows)
    plain = SlowSubspace(6, alpha=alpha, basis="eigenvalue").fit(rows)
    C, A, B = model.components_, matrices(model).reward, matrices(model).penalty
    variance, velocity = np.diagonal(C @ A @ C.T), np.diagonal(C @ B @ C.T)
    # The objective of each feature has the sign of an eigenvalue, by Sylvester's law of inertia.
    lowers = alpha * variance < (1 - alpha) * velocity
    assert lowers.sum() == (plain.eigenvalues_ <= 0.0).sum()
    sizes = 1.0 / np.linalg.norm(C / np.sqrt(variance)[:, None], axis=1)
    expected = np.where(lowers, (sizes / sizes.max()) ** 2, 1.0)
    np.testing.assert_allclose(variance, expected, rtol=1e-6)
    back = plain.inverse_transform(plain.transform(rows))
    np.testing.assert_allclose(model.inverse_transform(model.transform(rows)), back, atol=1e-8)


@pytest.mark.parametrize("basis", ["slowness", "eigenvalue"])
@pytest.mark.parametrize("center", [True, False])
def test_the_score_is_its_formula(basis, center):
    model = SlowSubspace(3, lag=2, basis=basis, center=center).fit(ROWS[:5000])
    held_out = ROWS[5000:6000]
    sorted_model = SlowSubspace(3, lag=2, center=center).fit(ROWS[:5000])
    Z = sorted_model.transform(held_out)
    r = sorted_model.result_.autocorrelations
    V = Z[2:].T @ Z[2:] / 998
    moved = Z[2:] - Z[:-2]
    C = V - moved.T @ moved / 998 / 2
    expected = 2 * (r * np.diagonal(C)).sum() - (np.outer(r, r) * V**2).sum()
    assert model.score(held_out) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_lag_that_is_too_short_warns(seed, recwarn):
    rng = np.random.default_rng(seed)
    drift = Autoregressive(np.exp([-1 / 500]), random_state=seed).take(10_000)
    sensors = drift @ rng.standard_normal((1, 8)) + rng.standard_normal((10_000, 8))
    with pytest.warns(UserWarning, match="Compare lag="):
        SlowSubspace(1).fit(sensors)
    with pytest.warns(UserWarning, match="Compare lag="):
        SlowSubspace(1).fit([sensors[:5000], sensors[5000:]])


@pytest.mark.parametrize("seed", range(3))
def test_a_second_process_that_the_lag_resolves_does_not_warn(seed, recwarn):
    drift = Autoregressive(np.exp([-1 / 500]), random_state=seed).take(10_000)
    fast = Autoregressive(np.exp([-1 / 2]), random_state=seed + 10).take(10_000)
    SlowSubspace(1).fit(drift + fast)
    assert not any("Compare lag=" in str(warning.message) for warning in recwarn)


@pytest.mark.parametrize("seed", range(5))
def test_a_lag_that_suits_does_not_warn(seed, recwarn):
    rng = np.random.default_rng(seed)
    rates = np.sort(np.exp(-1 / rng.uniform(1, 300, 5)))[::-1]
    SlowSubspace(2).fit(Autoregressive(rates, random_state=seed).take(5000))
    SlowSubspace(2).fit(rng.standard_normal((2000, 5)))
    SlowSubspace(2).fit(rng.standard_normal((2000, 5)).cumsum(axis=0))
    assert not [one for one in recwarn if "lag=" in str(one.message)]


@pytest.mark.parametrize("shrinkage", [1e-4, 0.0])
def test_the_ratio_finds_the_slowest_column_whatever_its_variance(shrinkage):
    rng = np.random.default_rng(0)
    memory = np.exp([-1 / 100, -1 / 3, -1 / 3, -1 / 3000])
    sources = oracles.autoregressive(memory, 20_000, rng) * [1.0, 1.0, 1.0, 1e-3]
    model = SlowSubspace(1, criterion="ratio", shrinkage=shrinkage).fit(sources)
    assert abs(np.corrcoef(model.transform(sources)[:, 0], sources[:, 3])[0, 1]) > 0.95


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-4, 0.1, 1.0]), st.booleans())
def test_a_shrunk_ratio_is_the_generalised_eigenproblem_of_the_rows(seed, shrinkage, scale):
    rows = oracles.slow_sources(m=100, n_features=5, seed=seed % 1000)
    model = SlowSubspace(3, criterion="ratio", shrinkage=shrinkage, scale=scale).fit(rows)
    A, B = oracles.variance(rows, lag=1), oracles.velocity(rows, lag=1)
    ridge = (np.diag(B) / np.diag(A)).mean() * np.diag(np.diag(A))
    B = (1.0 - shrinkage) * B + shrinkage * ridge
    np.testing.assert_allclose(model.eigenvalues_, eigh(A, B)[0][:1:-1], rtol=1e-8)
    assert model.result_.shrinkage == shrinkage


def test_the_ratio_of_rows_in_a_plane_has_two_features():
    plane = oracles.slow_sources(m=200, n_features=2) @ [
        [1.0, 2.0, 3.0, 4.0],
        [1.0, 4.0, 9.0, 16.0],
    ]
    for shrinkage in (0.0, 1e-4):
        model = SlowSubspace(None, criterion="ratio", shrinkage=shrinkage).fit(plane)
        assert model.n_components_ == 2
        with pytest.warns(UserWarning, match="span 2 directions only"):
            SlowSubspace(3, criterion="ratio", shrinkage=shrinkage).fit(plane)._solved()
