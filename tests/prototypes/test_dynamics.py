"""Competitive learning on vectors obeys the equations of its order parameters, and their advice."""

import numpy as np
import pytest

from eigenstream import CompetitiveLearning
from eigenstream.neurons import History
from eigenstream.theory import CompetitiveDynamics, OrderParameters, SymmetricPair
from simulated import students_with

R0, Q0 = np.array([[0.3, 0.1], [-0.1, 0.2]]), np.array([[0.5, 0.1], [0.1, 0.6]])
#: As in the tests of the chain: standard errors of a mean of so many runs, and the equations' bias.
SIGMAS, BIAS = 5.5, 15.0


def clusters(rng, m, width, b):
    """Rows of the paper's model: two clusters at b B_1 and b B_2, variance 1."""
    rows = rng.standard_normal((m, width))
    rows[np.arange(m), rng.integers(2, size=m)] += b
    return rows


@pytest.mark.parametrize(
    ("b", "eta", "assignment"), [(1.0, 0.5, "winner"), (1.5, 1.0, "winner"), (1.2, 0.8, "soft")]
)
def test_prototypes_follow_the_chain_and_the_equations(b, eta, assignment):
    N, runs, times = 400, 14, np.array([2.0, 5.0, 10.0])
    softness = None if assignment == "winner" else 1.0
    model, B = (
        CompetitiveDynamics(b * np.eye(2), learning_rate=eta, softness=softness),
        np.eye(2, N),
    )
    found = []
    for run in range(runs):
        rng = np.random.default_rng(run)
        learning = CompetitiveLearning(
            2,
            assignment=assignment,
            **({} if softness is None else {"width": 1.0}),
            learning_rate=eta / N,
            init=students_with(R0, Q0, B, random_state=rng),
            record_every=N,
        )
        for _ in range(10):
            learning.partial_fit(clusters(rng, N, N, b))
        recorded = OrderParameters.of_history(learning.history_, B)
        at = np.searchsorted(recorded.t, times)
        np.testing.assert_allclose(recorded.t[at], times)
        found.append((recorded.R[at], recorded.Q[at]))
    course = model.solve(R0, Q0, times)
    chain = model.simulate(R0, Q0, times, n_features=N, runs=4 * runs)
    for ours, simulated, exact in (
        (np.array([R for R, _ in found]), chain.R, course.R),
        (np.array([Q for _, Q in found]), chain.Q, course.Q),
    ):
        spread = ours.var(axis=0, ddof=1) / runs
        both = np.sqrt(spread + simulated.var(axis=0, ddof=1) / (4 * runs))
        assert (np.abs(ours.mean(axis=0) - simulated.mean(axis=0)) < SIGMAS * both).all()
        gap = np.abs(ours.mean(axis=0) - exact)
        assert (gap < SIGMAS * np.sqrt(spread) + BIAS / N).all()


def test_a_distance_of_prototypes_tells_the_clusters():
    for b in (0.3, 1.0, 2.5):
        state = SymmetricPair(b).specialised(1e-9)[1]
        distance = np.sqrt(2 * (state[0, 0] - state[0, 1]))
        assert SymmetricPair.of_distance(distance).b == pytest.approx(b, rel=1e-6)
    with pytest.raises(ValueError, match="Use prototypes of two separate clusters"):
        SymmetricPair.of_distance(1.5)


@pytest.mark.parametrize(("b", "rate"), [(1.6, 0.008)])
def test_prototypes_part_when_they_are_said_to(b, rate):
    """At a constant rate from random starts, within a tenth and the runs' own error."""
    N, runs = 200, 24
    rows = clusters(np.random.default_rng(1), 12_000, N, b) * 2.0 + 1.0
    means = CompetitiveLearning(2, method="batch", random_state=0).fit(rows)
    predicted = means.advise(rate).examples
    pair = SymmetricPair(b)
    R, _ = pair.specialised(rate * N)
    half, step, ends = (R[0, 0] - R[0, 1]) / 2, 20, []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        start = rng.standard_normal((2, N))
        start /= np.linalg.norm(start, axis=1)[:, None]
        learning = CompetitiveLearning(2, learning_rate=rate, init=start)
        seen, apart = 0, 0.0
        while apart < half:
            J = learning.partial_fit(clusters(rng, step, N, b)).prototypes_
            apart, seen = abs(J[0, 0] - J[0, 1] - J[1, 0] + J[1, 1]) / 2, seen + step
        ends.append(seen - step / 2)
    error = np.std(ends, ddof=1) / np.sqrt(runs)
    assert abs(predicted - np.mean(ends)) < 0.1 * np.mean(ends) + 3 * error


def test_advice_needs_two_prototypes_of_k_means_or_a_separation():
    rows = clusters(np.random.default_rng(0), 500, 20, 2.0)
    for model in (CompetitiveLearning(3, method="batch"), CompetitiveLearning(2)):
        with pytest.raises(ValueError, match=r"method='batch'.*, or pass separation="):
            model.fit(rows).advise(0.01)
    given = CompetitiveLearning(2).fit(rows).advise(0.01, separation=2.0 * 2**0.5)
    assert given.examples == SymmetricPair(2.0).advise(0.2, n_features=20).examples
    equal = CompetitiveLearning(2, method="batch", random_state=0)
    with pytest.raises(ValueError, match="so there is no noise"):
        equal.fit(np.repeat(np.eye(2, 5), 9, axis=0)).advise(0.01)


def test_a_history_that_fits_no_directions_is_refused():
    history = History(np.array([5]), np.zeros(0), np.eye(2, 4)[None])
    with pytest.raises(ValueError, match="history holds weights"):
        OrderParameters.of_history(History(np.zeros(0), np.zeros(0), []), np.eye(2, 4))
    with pytest.raises(ValueError, match="of the length of a weight vector"):
        OrderParameters.of_history(history, np.eye(2, 5))
    with pytest.raises(ValueError, match="orthonormal"):
        OrderParameters.of_history(history, np.ones((2, 4)))
