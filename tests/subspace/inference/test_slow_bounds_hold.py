"""Simulation as the judge: what the bounds of slow subspaces promise holds at its confidence."""

from collections import Counter

import numpy as np
import pytest

from eigenstream import SlowSubspace
from eigenstream.subspace import matrices, pair_rule, subspace_bound
from eigenstream.theory import FiniteMemory, Independent, markov_mixing

pytestmark = pytest.mark.filterwarnings("ignore:(only .* eigenvalues|the bound of Theorem)")

PROBLEMS, DELTA, D = 80, 0.2, 4


def independent(rng, n, scales):
    """Noise without any signal: uniform entries; velocities have twice the variance."""
    rows = rng.uniform(-1, 1, (n, D)) * scales
    return rows, Independent(), scales**2 / 3, 2 * scales**2 / 3, np.linalg.norm(scales)


def moving_average(rng, n, scales):
    """Means over five steps: dependent on the last four."""
    noise = rng.uniform(-1, 1, (n + 4, D)) * scales
    rows = sum(noise[k : n + k] for k in range(5)) / 5
    variance = scales**2 / 3 / 5
    return rows, FiniteMemory(5), variance, 2 * variance * (1 - 4 / 5), np.linalg.norm(scales)


def switching(rng, n, scales):
    """One coordinate of two states that change rarely, the others noise."""
    change = float(rng.uniform(0.05, 0.3))
    rows = rng.uniform(-1, 1, (n, D)) * scales
    flips = np.where(rng.random(n) < change, -1.0, 1.0)
    rows[:, 0] = scales[0] * rng.choice([-1.0, 1.0]) * flips.cumprod()
    variance = scales**2 / 3 * np.array([3, 1, 1, 1])
    velocity = 2 * scales**2 / 3 * np.array([6 * change, 1, 1, 1])
    mixing = markov_mixing([[1 - change, change], [change, 1 - change]])
    return rows, mixing, variance, velocity, np.linalg.norm(scales)


def rare_and_far(rng, n, scales):
    """Heavy tails inside the ball: nearly always 0, and now and then at its border."""
    often = 0.02
    rows = np.where(rng.random((n, D)) < often, rng.choice([-1.0, 1.0], (n, D)), 0.0) * scales
    return rows, Independent(), often * scales**2, 2 * often * scales**2, np.linalg.norm(scales)


def problems():
    """Draw small problems of each kind with the rule for alpha that comes next."""
    kinds = (independent, moving_average, switching, rare_and_far)
    for seed in range(PROBLEMS):
        rng = np.random.default_rng(seed)
        scales = rng.uniform(0.2, 1.0, D)
        rows, *truth = kinds[seed % 4](rng, int(rng.integers(300, 1500)), scales)
        alpha = (0.1, 0.9, "auto", "bound")[(seed // 4) % 4]
        n_components = (1, 2, None)[(seed // 16) % 3]
        offset = rng.normal(size=D) * (seed % 3)
        yield rows + offset, *truth, alpha, n_components, bool(seed % 2)


@pytest.mark.filterwarnings("ignore:alpha='bound' selects")
def test_the_bounds_of_slow_subspaces_hold():
    """The true objective of the learned subspace, and of the worst subspace there is."""
    wrong, told, largest = Counter(), 0, 0.0
    for rows, mixing, variance, velocity, radius, alpha, n_components, tight in problems():
        model = SlowSubspace(n_components, alpha=alpha).fit(rows)
        try:
            bound = subspace_bound(model, DELTA, mixing, radius=radius, tight=tight)
        except ValueError:  # too few rows for this memory
            continue
        found = model.alpha_
        difference = matrices(model).matrix() - np.diag(found * variance - (1 - found) * velocity)
        shares = (model.components_**2).sum(axis=0)
        truth = shares @ (found * variance - (1 - found) * velocity)
        wrong["learned"] += abs(model.result_.objective - truth) > bound.gap
        # The promise is for all projections at once: the worst takes the largest eigenvalues.
        errors = np.sort(np.linalg.eigvalsh(difference))
        d = D if n_components is None else n_components
        worst = max(np.maximum(errors[-d:], 0).sum(), np.maximum(-errors[:d], 0).sum())
        wrong["all"] += worst > bound.gap
        largest = max(largest, worst / bound.gap)
        told += 1
    assert told > 0.9 * PROBLEMS
    assert max(wrong.values()) <= DELTA * told
    # Distribution-free bounds are loose; one that is nearly reached here would be an accident.
    assert 0.01 < largest < 1


def test_the_bound_holds_for_an_alpha_that_the_data_chose_among_all():
    """For all alpha at once: also for the one where the gap is widest."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows, mixing, variance, velocity, radius = switching(rng, 1000, np.ones(D))
        model = SlowSubspace(1).fit(rows)
        contrast = matrices(model)
        bound = subspace_bound(model, DELTA, mixing, radius=radius)
        gaps = [part.value * (2 * radius) ** 2 for part in bound.deviations]
        for alpha in np.linspace(0.05, 1, 20):
            difference = contrast.matrix((alpha, 1 - alpha))
            difference -= np.diag(alpha * variance - (1 - alpha) * velocity)
            error = np.abs(np.linalg.eigvalsh(difference)).max()
            assert error <= alpha * gaps[0] + (1 - alpha) * gaps[1]


def two_states(rng, n, stay):
    """Two states that stay as they are with a given probability."""
    states = np.where(rng.random(n) < 1 - stay, -1.0, 1.0).cumprod()
    return states, markov_mixing([[stay, 1 - stay], [1 - stay, stay]])


def test_the_pair_rule_keeps_its_promise():
    """Classes that are states of a chain which changes rarely: continuous, and exactly known."""
    wrong = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        change = float(rng.choice([0.1, 0.3]))
        states, mixing = two_states(rng, 60_000, 1 - change)
        noise = 0.02 * rng.choice([-1.0, 1.0], (len(states), 2))
        rows = np.column_stack([states, noise])
        radius = np.sqrt(1 + 2 * 0.02**2)
        model = SlowSubspace(1, alpha=(0.5, 0.7, "auto")[seed % 3], basis="eigenvalue").fit(rows)
        rule = pair_rule(model, 0.5, DELTA, mixing, radius=1.01 * radius, tight=True)
        kinds = np.array([[s, a, b] for s in (-1, 1) for a in (-0.02, 0.02) for b in (-0.02, 0.02)])
        Z = model.transform(kinds.astype(float))
        alike = rule.alike(np.repeat(Z, 8, axis=0), np.tile(Z, (8, 1)))
        same = np.repeat(kinds[:, 0], 8) == np.tile(kinds[:, 0], 8)
        wrong += (alike != same).mean() > rule.error
    assert wrong <= DELTA * 40
