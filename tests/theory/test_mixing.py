import numpy as np
import pytest

from eigenstream.theory import (
    Algebraic,
    FiniteMemory,
    Geometric,
    Independent,
    Table,
    estimate_mixing,
    markov_mixing,
)

LAGS = np.array([0, 1, 2, 3, 5, 10, 100, 1000, 10**6, 10**9])
CHAIN = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
PROFILES = [
    Independent(),
    FiniteMemory(5),
    Geometric(3, 0.9),
    Geometric(0.1, 0.9),
    Algebraic(2, 0.5),
    Table([0.9, 0.5, 0.0]),
    Table([0.5, 0.25], lags=[3, 7]),
    markov_mixing(CHAIN),
    estimate_mixing(np.random.default_rng(0).normal(size=2000), lags=[1, 2, 5]),
]


@pytest.mark.parametrize("profile", PROFILES, ids=repr)
def test_profiles_are_coefficients(profile):
    beta = profile(LAGS)
    assert beta.shape == LAGS.shape
    assert ((beta >= 0) & (beta <= 1)).all()
    # Exact profiles are computed to rounding, so they may grow by rounding.
    assert (np.diff(beta) <= 4 * np.finfo(float).eps).all()
    # One value at a time gives the same numbers, as floats (sums of up to 400 terms, rounded).
    single = [profile(int(lag)) for lag in LAGS]
    assert all(type(value) is float for value in single)
    np.testing.assert_allclose(single, beta, rtol=400 * np.finfo(float).eps)
    np.testing.assert_array_equal(profile(LAGS.reshape(2, 5)), beta.reshape(2, 5))


@pytest.mark.parametrize(("p", "q"), [(0.1, 0.1), (0.02, 0.3), (0.9, 0.8)])
def test_two_state_switching_has_its_closed_form(p, q):
    lags = np.array([0, 1, 2, 10, 100, 1000])
    profile = markov_mixing([[1 - p, p], [q, 1 - q]])
    exact = 2 * p * q / (p + q) ** 2 * np.abs(1 - p - q) ** lags.astype(float)
    # Repeated squaring multiplies relative errors up: about one rounding a step.
    np.testing.assert_allclose(profile(lags), exact, rtol=1000 * 4 * np.finfo(float).eps)


def test_a_longer_future_adds_nothing_for_a_markov_chain():
    """Total variation of one and of two future observations: both are beta."""
    profile = markov_mixing(CHAIN)
    pi = profile.stationary
    np.testing.assert_allclose(pi @ CHAIN, pi, atol=1e-15)
    for lag in (0, 1, 3):
        power = np.linalg.matrix_power(CHAIN, lag)
        joint = pi[:, None] * power
        assert profile(lag) == pytest.approx(0.5 * np.abs(joint - np.outer(pi, pi)).sum())
        given = power[:, :, None] * CHAIN[None]
        free = pi[:, None] * CHAIN
        variation = 0.5 * np.abs(given - free).sum(axis=(1, 2))
        assert profile(lag) == pytest.approx(pi @ variation, abs=1e-14)


def test_chains_with_special_structure():
    periodic = markov_mixing([[0, 1], [1, 0]])
    np.testing.assert_allclose(periodic([0, 1, 10, 10**9]), 0.5)
    transient = markov_mixing([[0.5, 0.5, 0.0], [0.0, 0.9, 0.1], [0.0, 0.1, 0.9]])
    np.testing.assert_allclose(transient.stationary, [0, 0.5, 0.5], atol=1e-15)
    assert transient(3) == pytest.approx(0.5 * 0.8**3)
    one = markov_mixing([[1.0]])
    np.testing.assert_array_equal(one([0, 1, 5]), 0.0)


def test_estimates_meet_a_chain_with_known_coefficients():
    rng = np.random.default_rng(1)
    m, switch, lags = 50_000, 0.1, [1, 2, 4, 8]
    estimate = estimate_mixing(np.cumsum(rng.random(m) < switch) % 2, lags=lags)
    exact = markov_mixing([[1 - switch, switch], [switch, 1 - switch]])(np.array(lags))
    # For two states the estimate is half the lag-k correlation. Bartlett: its variance is at most
    # (1 + 2 rho^2 / (1 - rho^2)) / m with rho = 1 - 2 switch; four standard errors.
    error = 0.5 * np.sqrt((1 + 2 * 0.64 / 0.36) / m)
    np.testing.assert_allclose(estimate.raw, exact, atol=4 * error)
    # Increasing maps of the data change nothing, because the bins are quantiles.
    x = rng.normal(size=m)
    assert estimate_mixing(np.exp(x), [1]).raw == estimate_mixing(x, [1]).raw
