"""[SLOW] Definition 2 on data: chains and walks of which it is known to hold, or not to."""

import numpy as np
import pytest

from eigenstream.theory import class_continuity, metric_rule_error


def test_counts_by_hand():
    cells = np.tile(["a", "a", "b"], 200)[:-1]
    found = class_continuity(cells, ["all"] * 599, blocks=4)
    assert found.cells == (("all", "a"), ("all", "b"))
    steps = np.array([[200, 199], [199, 0]])
    shares = (steps.sum(axis=0) + steps.sum(axis=1)) / (2 * 598)
    np.testing.assert_allclose(found.excess, steps / 598 - np.outer(shares, shares))
    assert found.refuted  # b never follows b, nor a itself as often as by chance


@pytest.mark.parametrize("stay", [0.5, 0.9, 0.99])
def test_classes_mixed_inside_are_not_refuted(stay):
    """Chains that stay in their class and forget all else are continuous, exactly."""
    refuted = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        shares = rng.dirichlet(np.full(6, 20.0))
        fresh = rng.choice(6, 20_000, p=shares)
        kinds = np.arange(6) // 2
        moves = rng.random(20_000) >= stay
        kind = kinds[fresh[np.maximum.accumulate(np.where(moves, np.arange(20_000), 0))]]
        inside = shares.reshape(3, 2) / shares.reshape(3, 2).sum(axis=1, keepdims=True)
        cells = 2 * kind + (rng.random(20_000) >= inside[kind, 0])
        refuted += class_continuity(cells, kind).refuted
    assert refuted <= 2  # a hundredth of 20 expected


def test_classes_that_last_long_are_not_enough():
    """Two classes and two moods, and a feature that shows the mood: Theorem 5 does not apply."""
    change = 0.004
    rng = np.random.default_rng(0)
    mood, kind = (np.cumsum(rng.random(100_000) < change) % 2 for _ in range(2))
    alpha = 1 / (1 + (0.25 / change) ** 0.5)  # minimises the bound
    bound = metric_rule_error(alpha * 0.25 - (1 - alpha) * change, alpha, 0.5)
    pairs = rng.integers(0, 100_000, (20_000, 2))
    alike = mood[pairs[:, 0]] == mood[pairs[:, 1]]
    error = (alike != (kind[pairs[:, 0]] == kind[pairs[:, 1]])).mean()
    assert bound < 0.14
    assert error > 0.4
    assert class_continuity(mood, kind).refuted
