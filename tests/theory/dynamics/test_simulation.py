"""The chain is the rule on vectors, and the equations are its limit.

Means are compared within SIGMAS standard errors: of the few hundred numbers of a test, Student's t
with some twenty runs passes 5.5 by chance about once in a hundred tests with other seeds. Between
the equations and finite N lies a bias of order 1 / N, which is observed and not derived: BIAS / N
is half a standard error at N = 20000, where the two are compared.
"""

import numpy as np
import pytest

from eigenstream.schedules import Constant, Power
from eigenstream.theory import Annealing, CompetitiveDynamics, PrincipalDynamics
from simulated import shares, students_with

SIGMAS, BIAS = 5.5, 15.0


def assert_means_agree(left, right, allowed=0.0, error=None):
    """Two sets of runs, or runs and a course: (runs, ...) arrays."""
    spread = left.var(axis=0, ddof=1) / len(left)
    if error is None:
        spread = spread + right.var(axis=0, ddof=1) / len(right)
        right = right.mean(axis=0)
    gap = np.abs(left.mean(axis=0) - right)
    assert (gap <= SIGMAS * np.sqrt(spread) + allowed).all(), (gap, np.sqrt(spread))


def assert_follows(model, R, Q, times, *, n_features, runs, seed=0):
    """The chain's means lie on the equations' solution."""
    found = model.simulate(R, Q, times, n_features=n_features, runs=runs, random_state=seed)
    course = model.solve(R, Q, times)
    for part, exact in ((found.R, course.R), (found.Q, course.Q)):
        assert_means_agree(part, exact, allowed=BIAS / n_features, error=True)
    return found, course


def competitive_vectors(model, R, Q, times, N, runs, seed=1):
    """The rule itself on vectors of N entries, all runs at once."""
    rng = np.random.default_rng(seed)
    M = R.shape[1]
    B = np.eye(M, N)
    J = np.array([students_with(R, Q, B, random_state=rng) for _ in range(runs)])
    kept = []
    for step in range(round(times[-1] * N)):
        cluster = rng.choice(len(model.weights), runs, p=model.weights)
        rows = np.sqrt(model.variances[cluster])[:, None] * rng.standard_normal((runs, N))
        rows[:, :M] += model.centres[cluster]
        fields = np.einsum("rkn,rn->rk", J, rows) - np.einsum("rkn,rkn->rk", J, J) / 2
        p = shares(model, fields)
        J += (model.learning_rate / N * p)[:, :, None] * (rows[:, None, :] - J)
        if step + 1 in np.rint(np.array(times) * N):
            kept.append((J[:, :, :M].copy(), J @ J.transpose(0, 2, 1)))
    return (np.stack(part, axis=1) for part in zip(*kept, strict=True))


def principal_vectors(model, R, Q, times, N, runs, seed=1):
    """The same for Sanger's rule."""
    rng = np.random.default_rng(seed)
    m = R.shape[1]
    J = np.array([students_with(R, Q, np.eye(m, N), random_state=rng) for _ in range(runs)])
    seen = np.tri(len(R))
    kept = []
    for step in range(round(times[-1] * N)):
        rows = rng.standard_normal((runs, N))
        rows[:, :m] *= 1 + model.strengths
        x = np.einsum("rkn,rn->rk", J, rows)
        rest = rows[:, None, :] - np.einsum("lk,rk,rkn->rln", seen, x, J)
        J = J + (model.learning_rate / N * x)[:, :, None] * rest
        J /= np.linalg.norm(J, axis=2, keepdims=True)
        if step + 1 in np.rint(np.array(times) * N):
            kept.append((J[:, :, :m].copy(), J @ J.transpose(0, 2, 1)))
    return (np.stack(part, axis=1) for part in zip(*kept, strict=True))


R2, Q2 = np.array([[0.3, 0.1], [-0.1, 0.2]]), np.array([[0.5, 0.1], [0.1, 0.6]])
UNIT = np.array([[1.0, 0.2], [0.2, 1.0]])
TWO = CompetitiveDynamics(
    [[1.0, 0.0], [0.0, 2.0]], learning_rate=0.7, weights=[0.7, 0.3], variances=[1.5, 0.6]
)
SOFT = CompetitiveDynamics(np.eye(2), learning_rate=0.8, softness=1.5)
MAP = CompetitiveDynamics(
    np.eye(2), learning_rate=0.8, weights=[0.7, 0.3], neighborhood=[[1.0, 0.3], [0.5, 0.8]]
)
GAS = CompetitiveDynamics(np.eye(2), learning_rate=0.8, neighborhood=[1.0, 0.4])
SANGER = PrincipalDynamics([1.0, 0.6], learning_rate=[1.0, 0.6])


@pytest.mark.parametrize(
    ("model", "Q", "vectors"),
    [
        (TWO, Q2, competitive_vectors),
        (SOFT, Q2, competitive_vectors),
        (MAP, Q2, competitive_vectors),
        (GAS, Q2, competitive_vectors),
        (SANGER, UNIT, principal_vectors),
    ],
    ids=["winner", "soft", "map", "gas", "sanger"],
)
def test_the_chain_has_the_law_of_vectors(model, Q, vectors):
    """Exactly so, at any N: here 7, where nothing may be left to the limit."""
    N, runs, times = 7, 1500, [1 / 7, 4 / 7]
    chain = model.simulate(R2, Q, times, n_features=N, runs=runs, random_state=3)
    R, Q = vectors(model, R2, Q, times, N, runs)
    for found, direct in ((chain.R, R), (chain.Q, Q)):
        assert_means_agree(found, direct, allowed=1e-12)  # lengths are 1 on both sides
        assert_means_agree(found**2, direct**2, allowed=1e-12)


#: A chain of three units, and a gas of three.
CHAIN = CompetitiveDynamics(
    2 * np.eye(3),
    learning_rate=0.3,
    neighborhood=[[1.0, 0.4, 0.1], [0.4, 1.0, 0.4], [0.1, 0.4, 1.0]],
)
GAS_OF_THREE = CompetitiveDynamics(2 * np.eye(3), learning_rate=0.3, neighborhood=[1.0, 0.4, 0.1])
THREE = np.array([[0.2, 0.0, 0.1], [0.0, 0.3, 0.0], [-0.1, 0.0, 0.2]])


@pytest.mark.parametrize(
    ("model", "R", "Q"),
    [
        (TWO, R2, Q2),
        (SOFT, R2, Q2),
        (CompetitiveDynamics(2 * np.eye(3), learning_rate=0.3), THREE, np.eye(3) * 0.4),
        (CHAIN, THREE, np.eye(3) * 0.4),
        (GAS_OF_THREE, THREE, np.eye(3) * 0.4),
        (SANGER, R2, UNIT),
        (PrincipalDynamics([1.0, 0.6, 0.3], learning_rate=0.5, n_units=2), THREE[:2], np.eye(2)),
    ],
)
def test_the_chain_follows_the_equations(model, R, Q):
    assert_follows(model, R, Q, [1.0, 3.0, 8.0], n_features=20_000, runs=8)


def test_annealing():
    constant = PrincipalDynamics([1.0, 0.6], learning_rate=0.8)
    same = PrincipalDynamics([1.0, 0.6], annealing=Annealing(Constant(0.8 / 300), 300))
    times = [1.0, 5.0]
    np.testing.assert_allclose(
        same.solve(R2, UNIT, times).R, constant.solve(R2, UNIT, times).R, atol=1e-6
    )
    for n_features in (2000, 700):  # the schedule's own N, and another
        annealing = Annealing(Power(1.0, 1000.0), 2000)
        for model, Q in (
            (PrincipalDynamics([1.0, 0.6], annealing=annealing), UNIT),
            (CompetitiveDynamics(np.eye(2), annealing=annealing), Q2),
        ):
            _, course = assert_follows(model, R2, Q, [2.0, 8.0], n_features=n_features, runs=30)
            still = type(model)(np.eye(2) if Q is Q2 else [1.0, 0.6], learning_rate=2.0)
            assert np.abs(still.solve(R2, Q, [2.0, 8.0]).R - course.R).max() > 0.02
