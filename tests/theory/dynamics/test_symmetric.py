"""Two prototypes, two clusters: the formulas against the equations and against finite N."""

import numpy as np
import pytest

from eigenstream.theory import (
    CompetitiveDynamics,
    SymmetricPair,
    critical_separation,
    overlaps_of_pair,
)

PAIRS = [(1.0, 0.1), (1.5, 1.0), (2.0, 5.0)]


def model(b, eta, **more):
    return CompetitiveDynamics(b * np.eye(2), learning_rate=eta, **more)


def minus(R):
    """R- of a state or of many."""
    return (R[..., 0, 0] - R[..., 0, 1] - R[..., 1, 0] + R[..., 1, 1]) / 2


def test_the_symmetric_motion_is_the_whole_one():
    rng = np.random.default_rng(0)
    for _ in range(50):
        b, eta, Rp, Rm = rng.uniform(0.2, 2, 4)
        Qp, Qm = rng.uniform(0.1, 2) + Rp**2, rng.uniform(0.1, 2) + Rm**2
        dR, dQ = model(b, eta).drift(*overlaps_of_pair(Rp, Rm, Qp, Qm))
        expected = SymmetricPair(b).drift(Rm, Qm, eta)
        np.testing.assert_allclose([dR[0, 0] - dR[0, 1], dQ[0, 0] - dQ[0, 1]], expected, atol=1e-13)
        np.testing.assert_allclose(dR.sum(axis=1), eta / 2 * (b - Rp), atol=1e-13)
        for softness in (None, 1.0, 4.0):
            _, dQ = model(b, eta, softness=softness).drift(*overlaps_of_pair(Rp, Rm, Qp, Qm))
            np.testing.assert_allclose(
                dQ.sum() / 2, eta / 2 * (2 * b * Rp - 2 * Qp + eta), atol=1e-13
            )


@pytest.mark.parametrize(("b", "eta"), PAIRS)
def test_the_plateau_and_its_growth_rate(b, eta):
    pair, equations = SymmetricPair(b), model(b, eta)
    state = pair.plateau(eta)
    drift = np.concatenate(equations.drift(*state))
    assert np.abs(drift).max() < 1e-13
    found = equations.deviation_rates(*state)
    # Central differences: h^2 = 1e-10, and rounding over h. Only the rate of R- can be positive.
    assert np.abs(found - pair.growth_rate(eta)).min() < 1e-8 * max(1, eta)
    assert (found > 0).sum() == (pair.growth_rate(eta) > 0)


def test_the_printed_second_plateau_is_none():
    eta, s = 0.5, np.sqrt(1 + np.pi / 4)
    _, dQ = SymmetricPair(1.0).drift(0.0, (s - 1) ** 2 / np.pi, eta)
    assert dQ == pytest.approx(4 * eta * (s - 1) / np.pi)
    assert dQ == pytest.approx(0.2140, abs=5e-5)


def test_critical_and_best_rates():
    assert SymmetricPair(1.0).critical_rate == pytest.approx(1.9099, abs=5e-5)
    rates = {eta: model(1.0, eta) for eta in (1.5, 2.0)}
    top = [
        one.deviation_rates(*SymmetricPair(1.0).plateau(eta))[0] / eta for eta, one in rates.items()
    ]
    np.testing.assert_allclose(top, [0.02966, -0.00578], atol=5e-6)
    for b in (0.5, 1.0, 2.0):
        pair = SymmetricPair(b)
        etas = pair.best_rate * np.linspace(0.9, 1.1, 21)
        growth = [pair.growth_rate(eta) for eta in etas]
        assert np.argmax(growth) == 10
        assert growth[10] == pytest.approx(b**4 / (4 * np.pi))
        assert critical_separation(pair.critical_rate) == pytest.approx(b)
        assert pair.growth_rate(pair.critical_rate) == pytest.approx(0, abs=1e-14)
    line = [critical_separation(eta) for eta in (0.1, 0.5, 1, 2, 4, 6, 8, 10)]
    np.testing.assert_allclose(
        line, [0.2751, 0.5798, 0.7768, 1.0174, 1.3034, 1.4929, 1.6381, 1.7571], atol=6e-5
    )


def test_the_specialised_state_is_the_attractor_below_the_critical_rate():
    for b in (0.3, 0.75, 1.5, 3.0):
        pair = SymmetricPair(b)
        for share in (0.001, 0.1, 0.5, 0.9, 0.99):
            eta = share * pair.critical_rate
            state, equations = pair.specialised(eta), model(b, eta)
            assert np.abs(np.concatenate(equations.drift(*state))).max() < 1e-11 * max(1, eta)
            assert equations.deviation_rates(*state)[0].real < 0
        with pytest.raises(ValueError, match="is not below the critical rate"):
            pair.specialised(pair.critical_rate)


@pytest.mark.parametrize(("b", "shares"), [(0.5, (0.3, 2.0)), (1.0, (0.9, 1.1)), (2.0, (0.3, 1.1))])
def test_specialisation_occurs_below_the_critical_rate_only(b, shares):
    pair = SymmetricPair(b)
    for share in shares:
        eta = share * pair.critical_rate
        end = 30 / abs(pair.growth_rate(eta))
        R, Q = overlaps_of_pair(b, 1e-3, b * b + eta / 2, 1.0)
        last = abs(minus(model(b, eta).solve(R, Q, [end]).R[-1]))
        if share < 1:
            assert last == pytest.approx(minus(pair.specialised(eta)[0]), rel=1e-4)
        else:
            assert last < 1e-6


@pytest.mark.parametrize(("b", "eta"), [(1.5, 2.0)])
def test_plateaus_grow_by_the_logarithm_of_the_start(b, eta):
    pair = SymmetricPair(b)
    half = minus(pair.specialised(eta)[0]) / 2
    ends = []
    for seed in (1e-4, 1e-6, 1e-8):
        times = np.linspace(0, 40 / pair.growth_rate(eta), 4001)
        course = model(b, eta).solve(*overlaps_of_pair(0.1, seed, 0.5, 0.5), times)
        ends.append(course.when(minus(course.R), half))
        [plateau] = course.plateaus()
        assert plateau.rate == pytest.approx(pair.growth_rate(eta), rel=0.02)
    # Corrections are of the order of the start, and the grid is linear between its points.
    np.testing.assert_allclose(np.diff(ends) / np.log(100), 1 / pair.growth_rate(eta), rtol=1e-3)


def test_soft_prototypes():
    """[DYN] outlook: plateau, growth rate, merging, and the limit of the winner."""
    z = np.linspace(-9, 9, 20001)
    density = np.exp(-z * z / 2) / np.exp(-z * z / 2).sum()

    def sech2(beta, Q):
        return density @ (1 / np.cosh(beta * np.sqrt(2 * Q) * z / 2) ** 2)

    # The plateau solves Q (1 - beta T) = eta (1 - T) / 2; for beta = 1, Q = eta / 2.
    for b, eta, beta in ((1.0, 0.5, 1.0), (1.5, 0.8, 1.0), (1.0, 2.5, 1.0)):
        state = overlaps_of_pair(b, 0.0, b * b + eta / 2, eta / 2)
        equations = model(b, eta, softness=beta)
        assert np.abs(np.concatenate(equations.drift(*state))).max() < 1e-8
        growth = eta / 2 * ((b * b + 2) * beta / 2 * sech2(beta, eta / 2) - 1)
        np.testing.assert_allclose(equations.deviation_rates(*state)[0], growth, atol=1e-7)
    # Merging: below beta = 2/3 and with beta - 1 + eta beta^2 / 4 < 0.
    merged = overlaps_of_pair(1.0, 0.0, 1.25, 1e-12)
    for beta, expected in ((0.4, -0.1), (0.72, 0.02)):
        rates = model(1.0, 0.5, softness=beta).deviation_rates(*merged)
        assert rates[0] == pytest.approx(0.25 * (1.5 * beta - 1), abs=1e-6)
        assert rates[0] == pytest.approx(expected, abs=1e-6)
    # The winner's limit.
    for beta, expected in ((4, 1.5621), (20, 1.7153), (100, 1.7334), (200, 1.7354)):
        start = overlaps_of_pair(1.0, 0.0, 1.25, 1.7)
        Q = model(1.0, 0.5, softness=beta).solve(*start, [60.0]).Q[-1]
        assert Q[0, 0] - Q[0, 1] == pytest.approx(expected, abs=6e-5)
    # beta = 1, small steps: the true centres are stationary, unlike for the winner.
    centres = overlaps_of_pair(1.0, 1.0, 1.0, 1.0)
    assert np.abs(model(1.0, 1e-9, softness=1.0).drift(*centres)[0]).max() < 1e-17


def test_a_distance_of_prototypes_tells_the_clusters():
    for b in (0.3, 1.0, 2.5):
        state = SymmetricPair(b).specialised(1e-9)[1]
        distance = np.sqrt(2 * (state[0, 0] - state[0, 1]))
        assert SymmetricPair.of_distance(distance).b == pytest.approx(b, rel=1e-6)
    with pytest.raises(ValueError, match="Use prototypes of two separate clusters"):
        SymmetricPair.of_distance(1.5)
