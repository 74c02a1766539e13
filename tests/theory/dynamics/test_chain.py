"""The chain at finite N where formulas say what to expect: rest, plateaus, random starts.

Means are compared within 5 standard errors of the runs, plus BIAS / N as in test_simulation.
"""

import numpy as np
import pytest

from eigenstream.theory import (
    CompetitiveDynamics,
    PrincipalDynamics,
    SymmetricPair,
    overlaps_of_pair,
    random_overlaps,
)

SIGMAS, BIAS = 5.0, 15.0


def assert_mean(values, expected, N):
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert abs(np.mean(values) - expected) < SIGMAS * error + BIAS / N, (np.mean(values), expected)


def minus(R):
    return (R[..., 0, 0] - R[..., 0, 1] - R[..., 1, 0] + R[..., 1, 1]) / 2


def test_random_prototypes_part_after_half_the_logarithm_of_N():
    """A start and noise of about 1 / sqrt(N): each e-fold of N costs 1 / (2 lambda)."""
    model, pair, runs = CompetitiveDynamics(np.eye(2), learning_rate=0.5), SymmetricPair(1.0), 24
    half = minus(pair.specialised(0.5)[0]) / 2
    times, medians = np.arange(0.0, 110.0, 0.5), {}
    for N in (200, 5000):
        start = random_overlaps(2, 2, n_features=N, runs=runs, length=0.1**0.5, random_state=N)
        found = model.simulate(*start, times, n_features=N, runs=runs, random_state=1)
        above = np.abs(minus(found.R)) > half
        assert above.any(axis=1).mean() > 0.8
        ends = np.where(above.any(axis=1), times[above.argmax(axis=1)], times[-1])
        # Of a median: 1.2533 times that of a mean, for ends that are roughly normal.
        medians[N] = np.median(ends), 1.2533 * ends.std(ddof=1) / np.sqrt(runs)
    for N, expected in ((200, 27.6), (5000, 50.3)):
        assert abs(medians[N][0] - expected) < SIGMAS * medians[N][1]
    gap = medians[5000][0] - medians[200][0]
    error = np.hypot(medians[200][1], medians[5000][1])
    assert abs(gap - np.log(25) / (2 * pair.growth_rate(0.5))) < SIGMAS * error


@pytest.mark.parametrize(("b", "eta", "growth"), [(1.0, 0.5, 0.0869), (1.5, 0.8, 0.3249)])
def test_soft_prototypes_part_at_their_own_rate(b, eta, growth):
    """On the plateau of beta = 1, Q- = eta / 2, and R- grows by the formula."""
    N, runs, end = 10_000, 24, 2.0 / growth
    model = CompetitiveDynamics(b * np.eye(2), learning_rate=eta, softness=1.0)
    start = overlaps_of_pair(b, 0.05, b * b + eta / 2, eta / 2)
    found = model.simulate(*start, [end], n_features=N, runs=runs)
    course = model.solve(*start, [end])
    assert_mean(minus(found.R[:, 0]), minus(course.R[0]), N)
    small = overlaps_of_pair(b, 1e-4, b * b + eta / 2, eta / 2)
    grown = minus(model.solve(*small, [end]).R[0]) / 1e-4
    assert grown == pytest.approx(np.exp(growth * end), rel=2e-3)


@pytest.mark.parametrize(
    ("beta", "parted"), [(0.4, 0.0), (0.6, 0.0), (0.72, 0.4430), (0.9, 0.8126)]
)
def test_too_soft_prototypes_merge(beta, parted):
    """b = 1, eta = .5: below beta = 2/3 they meet at the centre of mass."""
    N, runs = 2000, 12
    model = CompetitiveDynamics(np.eye(2), learning_rate=0.5, softness=beta)
    start = overlaps_of_pair(1.0, 0.3, 1.25, 0.3)
    assert minus(model.solve(*start, [400.0]).R[0]) == pytest.approx(parted, abs=2e-3)
    found = model.simulate(*start, [100.0], n_features=N, runs=runs)
    assert_mean(minus(found.R[:, 0]), minus(model.solve(*start, [100.0]).R[0]), N / 4)


def test_the_second_unit_leaves_at_gamma_two():
    """X grows at gamma near R = 0, and at gamma_2 once the first unit has settled."""
    N, runs = 20_000, 24
    model = PrincipalDynamics([0.6, 0.4], learning_rate=0.3)
    settled = model.fixed_point()[0][0, 0]
    R = np.array([[settled, 0.0], [0.0, 0.02]])
    found = model.simulate(R, np.eye(2), [4.0], n_features=N, runs=runs)
    course = model.solve(R, np.eye(2), [4.0])
    assert_mean(np.linalg.det(found.R[:, 0]), np.linalg.det(course.R[0]), N)
    grown = np.log(np.linalg.det(course.R[0]) / np.linalg.det(R)) / 4.0
    assert grown == pytest.approx(model.growth_rate(2), rel=0.01)
    tiny = model.solve(np.array([[0.002, 0.001], [0.001, 0.002]]), np.eye(2), [1.0])
    grown = np.log(np.linalg.det(tiny.R[0]) / 3e-6)
    assert grown == pytest.approx(model.growth_rate(), rel=1e-3)


def test_units_collapse_where_the_exact_criterion_says_so():
    """b = (2, 1), equal rates below the second's critical 6: stable at 1, collapsed at 2.5."""
    N, runs = 4000, 6
    for eta, (first, second, across, both) in (
        (1.0, (0.791, 0.745, 0, 0)),
        (2.5, (0.612, 0, 0.612, 1)),
    ):
        model = PrincipalDynamics([2.0, 1.0], learning_rate=eta)
        assert model.is_stable() == (both == 0)
        found = model.simulate(
            [[0.3, 0.1], [0.15, 0.2]], np.eye(2), [60.0], n_features=N, runs=runs
        )
        R, Q = np.abs(found.R[:, 0]), np.abs(found.Q[:, 0])
        for values, expected in (
            (R[:, 0, 0], first),
            (R[:, 1, 1], second),
            (R[:, 1, 0], across),
            (Q[:, 0, 1], both),
        ):
            # Overlaps that are zero in the limit have the size of noise, about 1 / sqrt(N).
            assert np.abs(values.mean() - expected) < 4 / np.sqrt(N)
