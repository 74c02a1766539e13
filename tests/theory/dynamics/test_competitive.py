"""Any prototypes, any clusters: the averages against Monte Carlo, and the exact orthants."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr, owens_t

from eigenstream.theory import CompetitiveDynamics, students_with
from eigenstream.theory.dynamics._loops import _owens_t, triple_winners
from eigenstream.theory.dynamics._orthants import orthant, soft_products, winners

#: Of the largest of a few hundred standard normals: passed by chance once in ten thousand.
SIGMAS = 5.0


def drawn_state(rng, students, directions):
    """Overlaps of random vectors."""
    J = rng.standard_normal((students, students + directions)) * 0.7
    return J[:, :directions], J @ J.T


@pytest.mark.parametrize(
    ("K", "M", "softness"),
    [(2, 2, None), (2, 3, None), (3, 3, None), (4, 3, None), (2, 2, 1.0), (2, 2, 4.0), (3, 2, 1.0)],
)
def test_the_drift_is_the_average_of_the_rule(K, M, softness):
    rng = np.random.default_rng(K + M)
    centres, weights = rng.standard_normal((3, M)), np.array([0.5, 0.3, 0.2])
    variances, eta = np.array([1.0, 0.6, 1.5]), 0.7
    model = CompetitiveDynamics(
        centres, eta=eta, n_prototypes=K, weights=weights, variances=variances, softness=softness
    )
    R, Q = drawn_state(rng, K, M)
    dR, dQ = model.drift(R, Q)
    m = 150_000
    cluster = rng.choice(3, m, p=weights)
    sd = np.sqrt(variances[cluster])[:, None]
    y = centres[cluster] + sd * rng.standard_normal((m, M))
    x = y @ R.T + sd * rng.standard_normal((m, K)) @ np.linalg.cholesky(Q - R @ R.T).T
    h = x - np.diag(Q) / 2
    if softness is None:
        p = (h == h.max(axis=1, keepdims=True)).astype(float)
    else:
        p = np.exp(softness * (h - h.max(axis=1, keepdims=True)))
        p /= p.sum(axis=1, keepdims=True)
    moved = eta * p[:, :, None] * (y[:, None, :] - R)
    pull = p[:, None, :] * (x[:, :, None] - Q)
    noise = (sd**2)[:, :, None] * p[:, :, None] * p[:, None, :]
    turned = eta * (pull + pull.transpose(0, 2, 1)) + eta**2 * noise
    for exact, draws in ((dR, moved), (dQ, turned)):
        error = draws.std(axis=0) / np.sqrt(m)
        # Quasi-random averages are right to 1e-4, of differences of about one.
        allowed = SIGMAS * error + (2e-4 if K > 3 or (softness and K > 2) else 1e-12)
        assert (np.abs(draws.mean(axis=0) - exact) <= allowed).all()


def test_the_error_is_that_of_vectors():
    rng = np.random.default_rng(1)
    centres, weights, variances = np.eye(2) * [1.0, 2.0], [0.7, 0.3], [1.5, 0.6]
    model = CompetitiveDynamics(centres, eta=1, weights=weights, variances=variances)
    R, Q = drawn_state(rng, 2, 2)
    N, m = 30, 100_000
    J = students_with(R, Q, np.eye(2, N), random_state=2)
    cluster = rng.choice(2, m, p=weights)
    rows = np.sqrt(np.take(variances, cluster))[:, None] * rng.standard_normal((m, N))
    rows[:, :2] += centres[cluster]
    fields = rows @ J.T - np.diag(Q) / 2  # -(|xi - J|^2 - |xi|^2) / 2
    draws = -fields.max(axis=1)
    error = draws.std() / np.sqrt(m)
    assert abs(draws.mean() - model.error(R, Q)) < SIGMAS * error


def test_orthants_in_two_and_three_dimensions():
    for h, k, rho in (
        (0.3, -0.7, 0.5), (-1, -2, -0.9), (0, 1.5, 0.99), (0, -1.5, 0.3), (0, 0, -0.4),
        (2, -3, -0.7), (-0.2, 0, 0.8), (1, 1, 0.0),
    ):  # fmt: skip
        root = np.sqrt(1 - rho * rho)

        def inner(x, k=k, rho=rho, root=root):
            return np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * ndtr((k - rho * x) / root)

        exact = quad(inner, -12, h, epsabs=1e-13, limit=200)[0]
        found = orthant(np.array([h, 2 * k]), np.array([[1, 2 * rho], [2 * rho, 4]], float))
        assert found == pytest.approx(exact, abs=1e-12)
    spread = np.array([[1, 0.5, -0.2], [0.5, 1, 0.3], [-0.2, 0.3, 1]])
    exact = 0.125 + (np.arcsin(0.5) + np.arcsin(-0.2) + np.arcsin(0.3)) / (4 * np.pi)
    assert orthant(np.zeros(3), spread) == pytest.approx(exact, abs=1e-4)


def test_three_prototypes_of_which_one_is_far_are_two():
    R = np.array([[0.5, 0.1], [0.0, 0.7], [0.0, 0.0]])
    Q = np.array([[0.5, 0.1, 0.0], [0.1, 0.8, 0.0], [0.0, 0.0, 900.0]])
    two, three = (
        CompetitiveDynamics(np.eye(2), eta=0.5, n_prototypes=K).averages(R[:K], Q[:K, :K])
        for K in (2, 3)
    )
    for one, other in zip(two, three, strict=True):
        cut = tuple([slice(None)] + [slice(2)] * (one.ndim - 1))
        np.testing.assert_allclose(other[cut], one, atol=1e-12)


def test_chances_add_up_to_one():
    rng = np.random.default_rng(4)
    for K, within in ((3, 1e-13), (4, 1e-4), (5, 4e-4)):
        R, Q = drawn_state(rng, K, 2)
        P, A = winners(rng.standard_normal(K), Q)
        assert abs(P.sum() - 1) < within
        np.testing.assert_array_equal(A, A.T)
        assert abs(soft_products(R[:, 0], Q, 3.0).sum() - 1) < 1e-12


def test_prototypes_on_a_line_are_no_trouble():
    places = np.array([-1.0, 0.0, 1.0, 2.0])
    for K in (3, 4):
        R, Q = places[:K, None], np.outer(places, places)[:K, :K]
        P, A, _ = CompetitiveDynamics([[0.3]], n_prototypes=K, eta=0.1).averages(R, Q)
        edges = ndtr(np.array([-0.5, 0.5, 1.5])[: K - 1] - 0.3)
        # Four go through the quasi-random set, with a hair of noise.
        expected = np.diff([0, *edges, 1])
        np.testing.assert_allclose(P[0], expected, atol=1e-12 if K == 3 else 1e-2)
        assert np.isfinite(A).all()


def test_the_soft_grid_is_refined_where_the_sigmoid_is_steep():
    mean, Q = np.array([0.3, 0.0]), np.array([[4.0, 0.0], [0.0, 4.0]])
    # beta sd = 850: a grid of 3001 points would miss the tie's width.
    cross = soft_products(mean, Q, 300.0)[0, 1]
    density = np.exp(-0.5 * 0.09 / 8) / np.sqrt(2 * np.pi * 8)
    assert cross * 300.0 == pytest.approx(density, rel=1e-4)


@pytest.mark.parametrize("beta", [0.1, 1.0, 4.0, 40.0])
def test_the_soft_average_of_two_is_the_integral(beta):
    mean, Q = np.array([0.4, -0.3]), np.array([[1.3, 0.2], [0.2, 0.9]])
    gap, spread = 0.7, np.sqrt(1.3 + 0.9 - 0.4)

    def average(power):
        def at(z):
            p = 0.5 * (1 + np.tanh(0.5 * beta * (gap + spread * z)))
            return p**power * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)

        return quad(at, -12, 12, points=[-gap / spread], epsabs=1e-13, limit=400)[0]

    found = soft_products(mean, Q, beta)
    np.testing.assert_allclose(found[0], [average(2), average(1) - average(2)], atol=1e-12)


def test_more_prototypes_than_clusters_and_back():
    """Integrations reach a state at rest: no closed form is claimed."""
    rng = np.random.default_rng(5)
    for clusters, K in ((2, 3), (3, 2)):
        model = CompetitiveDynamics(2 * np.eye(clusters), eta=0.3, n_prototypes=K)
        R = 0.1 * rng.standard_normal((K, clusters))
        course = model.solve(R, R @ R.T + 0.1 * np.eye(K), [0.0, 150.0, 600.0])
        speeds = [
            max(np.abs(part).max() for part in model.drift(*state))
            for state in zip(course.R, course.Q, strict=True)
        ]
        assert speeds[1] < speeds[0] / 5
        assert speeds[2] < speeds[1] / 5
        assert course.error[2] < course.error[0] - 1


def test_owens_t_is_scipys():
    """To rounding, and to the 2e-16 within which SciPy's own methods meet."""
    rng = np.random.default_rng(0)
    h = np.concatenate([rng.normal(0, 3, 500), [0.0, 1e-12, 40.0]])
    a = np.concatenate([rng.standard_cauchy(500), [2.0, -1e9, 0.3]])
    found = [_owens_t(*pair) for pair in zip(h.tolist(), a.tolist(), strict=True)]
    np.testing.assert_allclose(found, owens_t(h, a), rtol=0, atol=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_three_prototypes_have_the_averages_of_any(seed):
    rng = np.random.default_rng(seed)
    R, Q = drawn_state(rng, 3, 2)
    if seed % 4 == 0:  # on a line, far from it, alike
        R[2], Q[2], Q[:, 2] = (R[0] + R[1]) / 2, (Q[0] + Q[1]) / 2, (Q[0] + Q[1]) / 2
        Q[2, 2] = (Q[0, 0] + 2 * Q[0, 1] + Q[1, 1]) / 4
    centres, variances = rng.standard_normal((2, 2)) * 2, rng.uniform(0.3, 2, 2)
    P, A = np.empty((2, 3)), np.zeros((2, 3, 3))
    triple_winners(R, Q, (centres, np.full(2, 0.5), variances), P, A)
    for n in range(2):
        exact, ties = winners(centres[n] @ R.T - np.diag(Q) / 2, variances[n] * Q)
        # Where three lie on a line, a root of rounding is left of a variance.
        allowed = 1e-7 if seed % 4 == 0 else 1e-13
        np.testing.assert_allclose(P[n], exact, rtol=0, atol=allowed)
        np.testing.assert_allclose(A[n], ties, rtol=1e-7, atol=allowed)
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
