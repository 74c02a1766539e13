"""Bad input: what was wrong, where, and what mends it."""

import numpy as np
import pytest

from eigenstream import schedules
from eigenstream.theory import (
    Annealing,
    CompetitiveDynamics,
    PrincipalDynamics,
    SymmetricPair,
    random_overlaps,
    students_with,
)

PAIR = CompetitiveDynamics(np.eye(2), eta=0.5)
SANGER = PrincipalDynamics([0.6, 0.4], eta=0.1)
R, Q = 0.1 * np.eye(2), np.eye(2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CompetitiveDynamics(np.eye(2), eta=0.0), "eta must be a number in"),
        (lambda: CompetitiveDynamics(np.eye(2), eta=-1), "eta must be a number in"),
        (lambda: CompetitiveDynamics([1.0]), "centres must be a table"),
        (lambda: CompetitiveDynamics([[np.nan]]), "centres must be a table of finite"),
        (lambda: CompetitiveDynamics(np.eye(2), weights=[0.5, 0.6]), "weights must add up to 1"),
        (lambda: CompetitiveDynamics(np.eye(2), variances=[1, 0]), "variances must be finite and"),
        (lambda: CompetitiveDynamics(np.eye(2), softness=0), "softness"),
        (lambda: CompetitiveDynamics(np.eye(2), n_prototypes=0), "n_prototypes"),
        (lambda: PrincipalDynamics([0.6], eta=0), "eta must be finite and above 0"),
        (lambda: PrincipalDynamics([0.6], eta=[1, 2]), "eta must be one number or 1"),
        (lambda: PrincipalDynamics([0.4, 0.6]), "largest first"),
        (lambda: PrincipalDynamics([-0.4]), "strengths must be finite and above 0"),
        (lambda: PrincipalDynamics([0.4], rule="oja"), "rule must be one of"),
        (lambda: PrincipalDynamics([0.4], annealing=schedules.Constant(1)), "annealing must be"),
        (lambda: Annealing(schedules.Auto(), 10), "depend on the data"),
        (lambda: Annealing(schedules.Power, 10), "must be one of eigenstream.schedules"),
        (lambda: Annealing(schedules.Constant(1), 0), "n_features"),
        (lambda: PAIR.solve(R * 0, np.ones((2, 2)), [1]), "prototypes 0 and 1 coincide"),
        (lambda: PAIR.simulate(R * 0, np.ones((2, 2)), [1], n_features=9), "coincide"),
        (lambda: PAIR.solve(2 * Q, Q, [1]), "no vectors have these overlaps.*eigenvalue -3"),
        (lambda: PAIR.solve(R, [[1, 0.5], [0.4, 1]], [1]), "Q must be symmetric"),
        (lambda: PAIR.solve(R[:1], Q, [1]), "R must have shape"),
        (lambda: PAIR.solve(R * np.nan, Q, [1]), "must be finite"),
        (lambda: SANGER.solve(R, 0.9 * Q, [1]), "keeps students at length 1"),
        (lambda: SANGER.solve(R, Q, [2, 1]), "got 1.0 after 2.0"),
        (lambda: SANGER.solve(R, Q, [-1]), "not negative"),
        (lambda: SANGER.solve(R, Q, []), "alphas must be a list of times"),
        (lambda: SANGER.simulate(R, Q, [1], n_features=3), "n_features.*at least 4"),
        (lambda: SANGER.simulate(R, Q, [1], n_features=9, runs=1), "runs"),
        (lambda: SANGER.simulate([R] * 3, [Q] * 3, [1], n_features=9, runs=2), "2 runs start"),
        (lambda: SANGER.growth_rate(3), "at most 2"),
        (lambda: PrincipalDynamics([1.0]).growth_rate(), "gamma is that of two units"),
        (lambda: SANGER.first_unit([0.1], [1]), "first unit's 2 overlaps"),
        (lambda: SANGER.solve(R, Q, [1, 2]).when([1, 2, 3], 0.5), "one number a time"),
        (lambda: PrincipalDynamics([1, 0.5], rule="subspace").is_stable(), "Sanger's rule"),
        (lambda: SymmetricPair(0), "b must be a number"),
        (lambda: SymmetricPair(1).growth_rate(0), "eta must be a number"),
        (lambda: random_overlaps(2, 2, n_features=3), "n_features"),
        (lambda: students_with(R, Q, np.ones((2, 9))), "orthonormal"),
        (lambda: students_with(R, Q, np.eye(2, 3)), "need 4 dimensions"),
    ],
)
def test_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_an_integration_that_runs_away_is_stopped():
    model = PrincipalDynamics([1.0, 0.5], eta=0.5, normalize=False)
    with pytest.raises(ArithmeticError, match="explode before alpha = 10000: use a smaller eta"):
        model.solve(R, Q, [1e4], step=50.0)
