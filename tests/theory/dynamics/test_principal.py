"""Sanger, Oja, the subspace rule: drift, fixed points, stability, conservation, plateaus."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from eigenstream.theory import (
    CompetitiveDynamics,
    PrincipalDynamics,
    SymmetricPair,
    overlaps_of_pair,
)
from simulated import students_with


def strengths_of(excess):
    """b from beta = b (b + 2)."""
    return np.sqrt(1 + np.asarray(excess, float)) - 1


def drawn_state(rng, M, m):
    J = rng.standard_normal((M, M + m))
    J /= np.linalg.norm(J, axis=1, keepdims=True)
    return J[:, :m], J @ J.T


def literal(R, Q, beta, eta):
    """[DYN] eq. 3.6 as it is written, with the prefactor eta_l + eta_j + eta_l eta_j."""
    M = len(R)
    C = Q + (R * beta) @ R.T
    dR, dQ = np.zeros_like(R), np.zeros_like(Q)
    decay = (eta + eta**2 / 2) * np.diag(C)
    for i in range(M):
        dR[i] = eta[i] * (1 + beta) * R[i] - decay[i] * R[i]
        for k in range(i):
            dR[i] -= eta[i] * C[i, k] * (R[k] - Q[k, i] * R[i])
        for j in range(M):
            if i == j:
                continue
            dQ[i, j] = (eta[i] + eta[j] + eta[i] * eta[j]) * C[i, j]
            dQ[i, j] -= (decay[i] + decay[j]) * Q[i, j]
            for k in range(i):
                dQ[i, j] -= eta[i] * C[i, k] * (Q[k, j] - Q[k, i] * Q[i, j])
            for k in range(j):
                dQ[i, j] -= eta[j] * C[j, k] * (Q[i, k] - Q[k, j] * Q[i, j])
    return dR, dQ


def test_the_drift_is_that_of_the_paper():
    rng = np.random.default_rng(0)
    for _ in range(50):
        M, m = rng.integers(1, 5, 2)
        b = np.sort(rng.uniform(0.1, 2, m))[::-1]
        model = PrincipalDynamics(b, learning_rate=rng.uniform(0.1, 2, M), n_units=M)
        R, Q = drawn_state(rng, M, m)
        for found, expected in zip(
            model.drift(R, Q), literal(R, Q, model.excess, model.learning_rate), strict=True
        ):
            np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_integrator_is_right_and_keeps_what_is_linearly_dependent():
    rng = np.random.default_rng(1)
    model = PrincipalDynamics([1.0, 0.7, 0.4], learning_rate=[0.5, 0.4, 0.6])
    R, Q = drawn_state(rng, 3, 3)

    def speed(_, values):
        return np.concatenate(
            [part.ravel() for part in model._speed(values[:9].reshape(3, 3),
                                                   values[9:].reshape(3, 3), 1.0)]
        )  # fmt: skip

    start = np.concatenate([R.ravel(), Q.ravel()])
    exact = solve_ivp(speed, (0, 30), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    course = model.solve(R, Q, [10.0, 30.0])
    # Fourth order: (h rate)^4 / 120 = 5e-8 a step at h rate = 0.05, and 1 / h of them that last.
    found = np.concatenate([course.R[-1].ravel(), course.Q[-1].ravel()])
    np.testing.assert_allclose(found, exact, atol=1e-6)
    # The plateau that ordinary Runge-Kutta loses: 134.9 at rtol 1e-3, 191.6 at 1e-6.
    model = PrincipalDynamics([0.6, 0.4], learning_rate=0.1)
    times = np.arange(0, 300, 0.5)
    course = model.solve([[0.06, 0.06], [0.06, 0.06 + 1e-10 / 0.06]], np.eye(2), times)
    half = abs(model.fixed_point()[0][1, 1]) / 2
    assert course.when(np.abs(course.R[:, 1, 1]), half) == pytest.approx(219.32, abs=0.02)


def test_the_error_is_that_of_vectors():
    rng = np.random.default_rng(2)
    model = PrincipalDynamics([0.8, 0.5, 0.3])
    R, Q = drawn_state(rng, 3, 3)
    N, m = 40, 50_000
    J = students_with(R, Q, np.eye(3, N))
    rows = rng.standard_normal((m, N))
    rows[:, :3] *= 1 + model.strengths
    x = rows @ J.T
    draws = (((x @ J - rows) ** 2).sum(axis=1) - (rows**2).sum(axis=1)) / 2
    assert abs(draws.mean() - model.error(R, Q)) < 4.5 * draws.std() / np.sqrt(m)
    assert model.error(np.zeros((3, 3)), np.eye(3)) == -1.5


def test_aligned_states_are_fixed_points():
    model = PrincipalDynamics([1.0, 0.7, 0.4], learning_rate=0.5)
    R, Q = model.fixed_point()
    drift = np.concatenate([part.ravel() for part in model.drift(R, Q)])
    assert np.abs(drift).max() < 1e-14
    beta = model.excess
    np.testing.assert_allclose(np.diag(R) ** 2, (beta - 0.25) / (beta * 1.25))
    assert PrincipalDynamics([0.8]).critical_rates[0] == pytest.approx(4.48)


def test_oja_below_and_above_its_critical_rate():
    expected = {(0.5, 0.25): 0.8, (0.5, 1.25): 0.3077, (0.5, 3): 0, (1, 3): 0.2, (1, 5.4): 0.0270}
    for (b, eta), square in expected.items():
        model = PrincipalDynamics([b], learning_rate=eta)
        last = model.solve([[0.3]], [[1.0]], [80.0]).R[-1, 0, 0] ** 2
        assert last == pytest.approx(square, abs=5e-5)
        assert model.fixed_point()[0][0, 0] ** 2 == pytest.approx(square, abs=5e-5)


@pytest.mark.parametrize(("M", "cases"), [(2, 150), (3, 60)])
def test_the_criterion_is_the_sign_of_the_largest_rate(M, cases):
    rng = np.random.default_rng(M)
    verdicts = []
    for _ in range(cases):
        beta = np.sort(rng.uniform(0.2, 8, M))[::-1]
        eta = rng.uniform(0.02, 0.99 if M == 2 else 0.5, M) * 2 * beta
        model = PrincipalDynamics(strengths_of(beta), learning_rate=eta)
        top = model.deviation_rates(*model.fixed_point())[0].real
        assert abs(top) > 1e-7  # else the case decides nothing
        verdicts.append(model.is_stable())
        assert verdicts[-1] == (top < 0), (beta, eta, top)
    assert 0 < np.mean(verdicts) < 1


def test_below_every_critical_rate_is_not_enough():
    """[DYN] says it is: for b = (2, 1) the second unit joins the first from eta = 1.601 on."""
    thresholds = {(2, 1): 1.601, (1.5, 1): 3.56, (2, 0.5): 0.667, (1.5, 0.3): 0.741}
    for b, threshold in thresholds.items():
        assert PrincipalDynamics(b, learning_rate=threshold - 0.005).is_stable()
        assert not PrincipalDynamics(b, learning_rate=threshold + 0.005).is_stable()
    for b in ((1, 0.5), (1, 0.8), (0.6, 0.4), (0.7, 0.2)):
        critical = PrincipalDynamics(b).critical_rates[1]
        for share in (0.02, 0.1, 0.3, 0.6, 0.9, 0.999):
            assert PrincipalDynamics(b, learning_rate=share * critical).is_stable()
    course = PrincipalDynamics([1.0, 0.5], learning_rate=[4.0, 1.0]).solve(
        [[0.1, -0.05], [0.06, 0.08]], np.eye(2), [200.0]
    )
    (r11, _), (r21, r22) = np.abs(course.R[-1])
    found = [r11, r21, r22, abs(course.Q[-1, 0, 1])]
    np.testing.assert_allclose(found, [0.3333, 0.7642, 0, 0.5347], atol=6e-5)


@pytest.mark.parametrize(
    ("beta", "eta", "gamma", "second"),
    [((1.56, 0.96), 0.8, 1.3760, 0.4480), ((1, 0.2), 0.7, 0.3500, -0.1050)],
)
def test_which_rate_governs_what(beta, eta, gamma, second):
    model = PrincipalDynamics(strengths_of(beta), learning_rate=eta)
    settled = np.array([[model.fixed_point()[0][0, 0], 0], [0, 1e-6]])
    for unit, rate, R in (
        (None, gamma, 1e-5 * np.array([[1, 0.5], [0.2, 1]])),
        (2, second, settled),
    ):
        dR, _ = model.drift(R, np.eye(2))
        growth = np.trace(np.linalg.solve(R, dR))  # X' / X by the equations
        assert [model.growth_rate(unit), growth] == pytest.approx([rate, rate])


@pytest.mark.parametrize(("beta", "eta"), [((1.56, 0.96), 0.1), ((1, 0.3), 0.2)])
def test_plateaus_grow_by_the_second_rate(beta, eta):
    model = PrincipalDynamics(strengths_of(beta), learning_rate=eta)
    rate, half = model.growth_rate(2), model.fixed_point()[0][1, 1] / 2
    times, ends = np.linspace(0, 40 / rate, 3001), []
    for X in (1e-5, 1e-7, 1e-9):
        start = np.array([[0.06, 0.06], [0.06, 0.06 + X / 0.06]])
        course = model.solve(start, np.eye(2), times)
        ends.append(course.when(np.abs(course.R[:, 1, 1]), half))
        assert course.plateaus()[-1].rate == pytest.approx(rate, rel=0.01)
    np.testing.assert_allclose(np.diff(ends) * rate / np.log(100), 1, rtol=2e-3)


def test_a_plateau_that_only_rounding_ends_is_named():
    model = PrincipalDynamics([0.6, 0.4], learning_rate=0.1)
    start = np.full((2, 2), 0.06)
    with pytest.warns(UserWarning, match=r"36 / gamma_2 = 396"):
        model.solve(start, np.eye(2), [10.0, 500.0])
    course = model.solve(start, np.eye(2), [10.0, 300.0])  # in time: no word, and X = 0 is kept
    assert abs(course.R[-1, 1, 1]) < 0.05
    model.solve(start + np.diag([0, 1e-3]), np.eye(2), [500.0])


def test_a_plateau_does_not_depend_on_the_grid():
    pair, units = SymmetricPair(1.2), PrincipalDynamics([0.8, 0.5], learning_rate=0.2)
    for model, state, rate in (
        (
            CompetitiveDynamics(1.2 * np.eye(2), learning_rate=1.0),
            overlaps_of_pair(0.3, 1e-6, 0.5, 0.5),
            pair.growth_rate(1.0),
        ),
        (units, (np.full((2, 2), 0.06) + np.diag([0, 1e-8]), np.eye(2)), units.growth_rate(2)),
    ):
        found = [model.solve(*state, np.linspace(0, 40 / rate, n)).plateaus() for n in (401, 1601)]
        for coarse, fine in zip(*found, strict=True):
            assert coarse.length == pytest.approx(fine.length, rel=0.05)
        assert found[1][-1].rate == pytest.approx(rate, rel=0.05)
    # A slow end is no plateau.
    alone = PrincipalDynamics([1.0], learning_rate=0.5)
    assert alone.solve([[0.3]], [[1.0]], np.linspace(0, 200, 801)).plateaus() == []
