"""Any prototypes, any clusters: the averages against Monte Carlo and closed forms."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from eigenstream.theory import CompetitiveDynamics
from simulated import shares, students_with

#: Of the largest of a few hundred standard normals: passed by chance once in ten thousand.
SIGMAS = 5.0


def drawn_state(rng, students, directions):
    """Overlaps of random vectors."""
    J = rng.standard_normal((students, students + directions)) * 0.7
    return J[:, :directions], J @ J.T


def chain_of(K, width=0.8):
    """Shares of the units of a chain."""
    places = np.arange(K)
    return np.exp(-((places[:, None] - places) ** 2) / (2 * width**2))


@pytest.mark.parametrize(
    ("K", "M", "softness", "neighborhood"),
    [
        (1, 2, None, None),
        (2, 2, None, None),
        (2, 3, None, None),
        (3, 3, None, None),
        (4, 3, None, None),
        (6, 2, None, None),
        (2, 2, 1.0, None),
        (2, 2, 4.0, None),
        (2, 2, 30.0, None),
        (3, 2, 1.0, None),
        (4, 2, 2.0, None),
        (3, 2, None, chain_of(3)),
        (5, 2, None, chain_of(5)),
        (3, 2, None, [[1.0, 0.4, 0.0], [0.1, 0.9, 0.7], [0.0, 0.2, 1.2]]),
        (2, 2, None, [1.0, 0.3]),
        (3, 2, None, [1.0, 0.3, 0.1]),
        (4, 2, None, [1.0, 0.0, 0.5, 0.2]),
    ],
)
def test_the_drift_is_the_average_of_the_rule(K, M, softness, neighborhood):
    rng = np.random.default_rng(K + M)
    centres, weights = rng.standard_normal((3, M)), np.array([0.5, 0.3, 0.2])
    variances, eta = np.array([1.0, 0.6, 1.5]), 0.7
    model = CompetitiveDynamics(
        centres,
        learning_rate=eta,
        n_prototypes=K,
        weights=weights,
        variances=variances,
        softness=softness,
        neighborhood=neighborhood,
    )
    R, Q = drawn_state(rng, K, M)
    dR, dQ = model.drift(R, Q)
    m = 150_000
    cluster = rng.choice(3, m, p=weights)
    sd = np.sqrt(variances[cluster])[:, None]
    y = centres[cluster] + sd * rng.standard_normal((m, M))
    x = y @ R.T + sd * rng.standard_normal((m, K)) @ np.linalg.cholesky(Q - R @ R.T).T
    h = x - np.diag(Q) / 2
    p = shares(model, h)
    moved = eta * p[:, :, None] * (y[:, None, :] - R)
    pull = p[:, None, :] * (x[:, :, None] - Q)
    noise = (sd**2)[:, :, None] * p[:, :, None] * p[:, None, :]
    turned = eta * (pull + pull.transpose(0, 2, 1)) + eta**2 * noise
    for exact, draws in ((dR, moved), (dQ, turned)):
        error = draws.std(axis=0) / np.sqrt(m)
        # Quasi-random averages are right to a few 1e-4, of differences of about one.
        allowed = SIGMAS * error + (2e-4 if (2 if softness else 3) < K else 1e-7)
        assert (np.abs(draws.mean(axis=0) - exact) <= allowed).all()


def test_the_error_is_that_of_vectors():
    rng = np.random.default_rng(1)
    centres, weights, variances = np.eye(2) * [1.0, 2.0], [0.7, 0.3], [1.5, 0.6]
    model = CompetitiveDynamics(centres, learning_rate=1, weights=weights, variances=variances)
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


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        (np.ones((2, 3)), "has shape"),
        ([1.0, np.nan, 0.0], "NaN"),
        ([1.0, -0.1, 0.0], "negative"),
        (np.zeros((3, 3)), "only zeros"),
    ],
)
def test_neighborhoods_are_checked(shares, words):
    with pytest.raises(ValueError, match=words):
        CompetitiveDynamics(np.eye(3), neighborhood=shares)
    with pytest.raises(ValueError, match="softness are both set"):
        CompetitiveDynamics(np.eye(2), softness=1.0, neighborhood=[1.0, 0.5])
    with pytest.raises(ValueError, match="at most 4 prototypes"):
        CompetitiveDynamics(np.eye(6), neighborhood=np.ones(6))


def test_prototypes_on_a_line_are_no_trouble():
    K, places = 3, np.array([-1.0, 0.0, 1.0])
    R, Q = places[:, None], np.outer(places, places)
    P, A, _ = CompetitiveDynamics([[0.3]], n_prototypes=K, learning_rate=0.1)._averages(R, Q)
    middles = (places[1:] + places[:-1]) / 2 - 0.3
    # A root of rounding is left of what has no variance.
    np.testing.assert_allclose(P[0], np.diff([0, *ndtr(middles), 1]), atol=1e-7)
    # Neighbours tie with the density of the middle between them over their distance; others never.
    ties = np.exp(-(middles**2) / 2) / np.sqrt(2 * np.pi) / np.diff(places)
    expected = np.diag(ties, 1)
    np.testing.assert_allclose(A[0], expected + expected.T, atol=1e-7)


def soft_pair_products(mean, Q, beta):
    """<p p^T> of two prototypes with these fields, as the model computes them."""
    # One cluster at the origin: fields are -Q_kk / 2 there, so directions carry the rest.
    offsets = np.asarray(mean) + np.diag(Q) / 2
    model = CompetitiveDynamics([[1.0]], n_prototypes=2, softness=beta)
    return model._averages(offsets[:, None], np.asarray(Q, float))[2][0]


@pytest.mark.parametrize("beta", [0.1, 1.0, 3.5, 3.7, 3.8, 10.0, 40.0])
def test_the_soft_average_of_two_is_the_integral(beta):
    """On both sides of the steepness 5, at which one sum takes over from the other."""
    mean, Q = np.array([0.4, -0.3]), np.array([[1.3, 0.2], [0.2, 0.9]])
    gap, spread = 0.7, np.sqrt(1.3 + 0.9 - 0.4)

    def average(power):
        def at(z):
            p = 0.5 * (1 + np.tanh(0.5 * beta * (gap + spread * z)))
            return p**power * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)

        return quad(at, -12, 12, points=[-gap / spread], epsabs=1e-13, limit=400)[0]

    found = soft_pair_products(mean, Q, beta)
    np.testing.assert_allclose(found[0], [average(2), average(1) - average(2)], atol=1e-12)
    np.testing.assert_allclose(found[1], [found[0, 1], 1 - average(1) - found[0, 1]], atol=1e-12)
