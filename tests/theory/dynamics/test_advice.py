"""The adviser against the chain: its mean time to specialise is within 10% of the simulated one."""

import numpy as np

from eigenstream.theory import CompetitiveDynamics, PrincipalDynamics, SymmetricPair

RUNS = 120


def first_times(values, level, times):
    """When each run first reaches the level, in the middle of its interval of the grid."""
    above = values >= level
    assert above.any(axis=1).all()
    return times[above.argmax(axis=1)] - times[1] / 2


def assert_within_a_tenth(predicted, ends):
    error = ends.std(ddof=1) / np.sqrt(RUNS)
    assert abs(predicted - ends.mean()) < 0.1 * ends.mean() + 3 * error


def random_start(N):
    """R and Q of two random vectors of length 1, for each run."""
    J = np.random.default_rng(0).standard_normal((RUNS, 2, N))
    J /= np.linalg.norm(J, axis=2, keepdims=True)
    return J[..., :2], J @ J.transpose(0, 2, 1)


def test_two_prototypes():
    N, b, eta = 500, 1.65, 2.16
    pair = SymmetricPair(b)
    predicted = pair.advise(eta, n_features=N).examples / N
    R, Q = random_start(N)
    times = np.linspace(0, 5 * predicted, 200)
    model = CompetitiveDynamics(b * np.eye(2), learning_rate=eta)
    runs = model.simulate(R, Q, times, n_features=N, runs=RUNS)
    minus = np.abs(runs.R[..., 0, 0] - runs.R[..., 0, 1] - runs.R[..., 1, 0] + runs.R[..., 1, 1])
    (high, low), _ = pair.specialised(eta)[0]
    assert_within_a_tenth(predicted, first_times(minus / 2, (high - low) / 2, times))


def test_two_units():
    N, model = 500, PrincipalDynamics((0.7, 0.33), learning_rate=0.31)
    predicted = model.advise(n_features=N).examples / N
    R, Q = random_start(N)
    times = np.linspace(0, 6 * predicted, 300)
    runs = model.simulate(R, Q, times, n_features=N, runs=RUNS)
    half = model.fixed_point()[0][1, 1] / 2
    assert_within_a_tenth(predicted, first_times(np.abs(runs.R[..., 1, 1]), half, times))


def test_what_never_specialises_is_said():
    pair = SymmetricPair(1.0)
    above = pair.advise(2.0, n_features=500)
    assert above.examples == np.inf
    assert "never" in str(above)
    assert above.best_examples < np.inf
    assert above.best_rate == pair.best_rate
    lost = PrincipalDynamics([2.0, 1.0], learning_rate=2.5).advise(n_features=500)
    assert lost.examples == np.inf
    assert not lost.stable
    assert "is below the critical rate 6, but the state it aims at is not stable" in str(lost)
    fast = PrincipalDynamics([2.0, 1.0], learning_rate=[1.5, 0.5]).advise(n_features=500)
    assert (fast.learning_rate, fast.critical_rate) == (1.5, 16.0)
