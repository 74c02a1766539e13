"""[SLOW] Definition 2 on data, and Theorem 5: chains of which they are known to hold, or not to."""

import numpy as np
import pytest

from eigenstream.theory import class_continuity, markov_mixing, metric_rule_error


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


def metric_rule(scale, stay, rng):
    """A chain in three classes of four states, continuous with respect to the process."""
    classes = np.repeat(np.arange(3), 4)
    pi = rng.dirichlet(np.full(12, 20.0))
    same = classes[:, None] == classes[None, :]
    # Stay inside the class with probability ``stay``, else draw afresh.
    inside = same * pi / (same * pi).sum(axis=1, keepdims=True)
    transition = stay * inside + (1 - stay) * pi
    centers = rng.normal(size=(3, 5)) @ np.diag([1, 1, 0.1, 0.1, 0.1])
    features = centers[classes] + scale * rng.normal(size=(12, 5))
    features -= pi @ features
    features *= 0.5 / np.linalg.norm(features, axis=1).max()
    return pi, transition, classes, features


@pytest.mark.parametrize("stay", [0.9, 0.99, 0.999])
def test_theorem_5_bounds_the_exact_error(stay):
    rng = np.random.default_rng(5)
    told = 0
    for scale in (0.01, 0.1, 0.5):
        for _ in range(10):
            pi, transition, classes, features = metric_rule(scale, stay, rng)
            same = classes[:, None] == classes[None, :]
            pair, step = np.outer(pi, pi), pi[:, None] * transition
            assert (pair[same] <= step[same] * (1 + 1e-12)).all()  # Definition 2
            np.testing.assert_allclose(markov_mixing(transition).stationary, pi, atol=1e-12)
            projected = features[:, :2]
            distance = ((projected[:, None] - projected[None]) ** 2).sum(axis=2)
            variance = pi @ (projected**2).sum(axis=1)
            velocity = (step * distance).sum()
            for alpha in (0.01, 0.05, 0.2, 0.5):
                error = pair[(distance < alpha) != same].sum()
                objective = alpha * variance - (1 - alpha) * velocity
                bound = metric_rule_error(objective, alpha, pair[same].sum())
                assert error <= bound + 1e-12
                told += bound < 1
    assert told > 20, "the bound says something on some of these"
