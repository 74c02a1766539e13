from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from eigenstream.theory import (
    Algebraic,
    FiniteMemory,
    Geometric,
    Independent,
    Table,
    autoregressive_mixing,
    estimate_mixing,
    from_text,
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
    Geometric(0.5, 0.9) + Algebraic(0.5, 2),
    markov_mixing(CHAIN),
    autoregressive_mixing(-0.95),
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


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("independent", Independent()),
        ("finite:10", FiniteMemory(10)),
        ("geometric:1,0.99", Geometric(1.0, 0.99)),
        ("geometric:1e+1, 0.5", Geometric(10.0, 0.5)),
        ("algebraic:2,3", Algebraic(2.0, 3.0)),
        ("table:1,0.5,0", Table([1.0, 0.5, 0.0])),
        ("finite:3+geometric:1,0.5", FiniteMemory(3) + Geometric(1.0, 0.5)),
    ],
)
def test_text_gives_the_profile(text, profile):
    assert from_text(text) == profile


@pytest.mark.parametrize(("p", "q"), [(0.1, 0.1), (0.02, 0.3), (0.9, 0.8)])
def test_two_state_switching_has_its_closed_form(p, q):
    lags = np.array([0, 1, 2, 10, 100, 1000])
    profile = markov_mixing([[1 - p, p], [q, 1 - q]])
    exact = 2 * p * q / (p + q) ** 2 * np.abs(1 - p - q) ** lags.astype(float)
    # Repeated squaring multiplies relative errors up: about one rounding a step.
    np.testing.assert_allclose(profile(lags), exact, rtol=1000 * 4 * np.finfo(float).eps)


def test_markov_mixing_is_total_variation_from_independence():
    profile = markov_mixing(CHAIN)
    pi = profile.stationary
    np.testing.assert_allclose(pi @ CHAIN, pi, atol=1e-15)
    for lag in range(8):
        power = np.linalg.matrix_power(CHAIN, lag)
        joint = pi[:, None] * power
        assert profile(lag) == pytest.approx(
            0.5 * np.abs(joint - np.outer(pi, pi)).sum(), abs=1e-14
        )


def test_a_longer_future_adds_nothing_for_a_markov_chain():
    """The definition takes all of the future; two future observations give the same number."""
    profile = markov_mixing(CHAIN)
    pi = profile.stationary
    for lag in (1, 3):
        power = np.linalg.matrix_power(CHAIN, lag)
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


def gaussian_dependence(r):
    """The same number by adaptive quadrature of the mean total variation."""
    sd, width = np.sqrt(1 - r * r), -np.log1p(-r * r)

    def integrand(x):
        root = sd * np.sqrt(x * x + width)
        inside = [(x - root) / r, (x + root) / r]
        conditional, marginal = (
            np.diff(ndtr((np.array(inside) - r * x) / sd)),
            np.diff(ndtr(inside)),
        )
        return np.sqrt(2 / np.pi) * np.exp(-x * x / 2) * float((conditional - marginal)[0])

    corners = [0, *(np.sqrt(width) * np.array([0.3, 1, 3])), 5, 10]
    pieces = pairwise(corners)
    return sum(quad(integrand, a, b, epsrel=1e-11, epsabs=0)[0] for a, b in pieces)


@pytest.mark.parametrize("r", [0.01, 0.1, 0.5, 0.9])
def test_autoregression_agrees_with_adaptive_quadrature(r):
    assert autoregressive_mixing(r)(1) == pytest.approx(gaussian_dependence(r), rel=1e-9)


def test_autoregression_lies_below_what_is_known():
    lags = np.arange(1, 400)
    for coefficient in (0.3, -0.9, 0.99):
        beta = autoregressive_mixing(coefficient)(lags)
        r = np.abs(coefficient) ** lags.astype(float)
        assert (beta <= Geometric(1, abs(coefficient))(lags)).all()
        # Total variation is at most half the root of chi squared, r^2 / (1 - r^2) here.
        assert (beta <= 0.5 * r / np.sqrt(1 - r**2) * (1 + 1e-9)).all()
        # And it meets its first-order term.
        assert beta[-1] / r[-1] == pytest.approx(1 / np.pi, rel=2 * r[-1] + 1e-9)
        assert (np.diff(beta) <= 0).all()


def two_state(m, switch, rng):
    return np.cumsum(rng.random(m) < switch) % 2


def test_estimates_meet_a_chain_with_known_coefficients():
    rng = np.random.default_rng(1)
    m, switch, lags = 50_000, 0.1, [1, 2, 4, 8]
    estimate = estimate_mixing(two_state(m, switch, rng), lags=lags)
    exact = markov_mixing([[1 - switch, switch], [switch, 1 - switch]])(np.array(lags))
    # For two states the estimate is half the lag-k correlation. Bartlett: its variance is at most
    # (1 + 2 rho^2 / (1 - rho^2)) / m with rho = 1 - 2 switch; four standard errors.
    error = 0.5 * np.sqrt((1 + 2 * 0.64 / 0.36) / m)
    np.testing.assert_allclose(estimate.raw, exact, atol=4 * error)


def test_binning_underestimates_and_the_floor_overestimates():
    rng = np.random.default_rng(3)
    m, r = 40_000, 0.8
    noise = rng.normal(size=m) * np.sqrt(1 - r * r)
    x = np.empty(m)
    x[0] = rng.normal()
    for t in range(1, m):
        x[t] = r * x[t - 1] + noise[t]
    exact = autoregressive_mixing(r)(np.arange(1, 6))
    fine, coarse = (estimate_mixing(x, range(1, 6), n_bins=bins) for bins in (20, 2))
    assert (np.array(coarse.raw) < np.array(fine.raw)).all()
    assert (np.array(coarse.raw) < exact).all()
    assert (np.array(fine.raw) < exact + 2 * fine.noise_floor).all()
    c, rho = fine.geometric_fit()
    assert (Geometric(c, rho)([1, 2, 3]) >= np.array(fine.values[:3]) * (1 - 1e-12)).all()
    # Increasing maps of the data change nothing: bins are quantiles.
    assert estimate_mixing(np.exp(x), range(1, 6), n_bins=20).raw == fine.raw
    # A second column that repeats the first adds no dependence.
    twice = estimate_mixing(np.column_stack([x, x]), [1], n_bins=4)
    assert twice.raw == pytest.approx(estimate_mixing(x, [1], n_bins=4).raw)


@pytest.mark.parametrize("rare", [0.02, 0.98])
def test_rare_states_keep_their_own_bin(rare):
    """Ties at the lowest or the highest value must not swallow the other one."""
    x = (np.random.default_rng(5).random(5000) < rare).astype(float)
    repeated = np.repeat(x, 5)  # beta(1) > 0: four of five neighbours are the same draw
    for n_bins in (2, 7):
        raw = estimate_mixing(repeated, lags=[1], n_bins=n_bins).raw[0]
        share = x.mean()
        # beta of one draw seen twice is 2 p (1 - p), and four fifths of the pairs are that.
        assert raw == pytest.approx(0.8 * 2 * share * (1 - share), abs=0.002)
