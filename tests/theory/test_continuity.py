"""[SLOW] Definition 2 on data: chains and walks of which it is known to hold, or not to."""

import numpy as np
import pytest

from eigenstream.theory import class_continuity, metric_rule_alpha, metric_rule_error


def circle_density(distance, step):
    """The density of a normal step on a circle of circumference 1, by its Fourier series."""
    k = np.arange(1, 200)
    heights = np.exp(-2 * (np.pi * step * k) ** 2)
    return 1 + 2 * np.cos(2 * np.pi * np.outer(distance, k)) @ heights


def crossing(step):
    """The distance up to which a step is at least as likely as a draw from the circle."""
    distances = np.linspace(0, 0.5, 5001)
    return distances[np.flatnonzero(circle_density(distances, step) >= 1).max()]


def circle_walk(n, step, rng):
    return np.cumsum(step * rng.standard_normal(n)) % 1


@pytest.mark.parametrize("step", [0.01, 0.05, 0.1, 0.2, 0.4])
def test_a_walk_on_a_circle_crosses_less_than_a_quarter_as_often_as_chance(step):
    """Definition 2 holds for arcs as long as that and for no longer ones; [SLOW] says 1/2."""
    assert crossing(step) < 0.25
    if step <= 0.1:  # no step goes round the circle: the normal density falls to 1
        assert crossing(step) == pytest.approx(
            step * np.sqrt(-2 * np.log(step * np.sqrt(2 * np.pi))), abs=2e-4
        )


@pytest.mark.parametrize("seed", range(5))
def test_circle_walks_in_data(seed):
    place = circle_walk(100_000, 0.05, np.random.default_rng(seed))
    cells = np.floor(place * 40)
    assert 0.1 < crossing(0.05) < 0.125
    assert not class_continuity(cells, np.floor(place * 10)).refuted
    long = class_continuity(cells, np.floor(place * 4))
    assert long.refuted
    (kind, first), (other, second) = (long.cells[k] for k in long.pair)
    assert kind == other
    assert abs(first - second) / 40 > crossing(0.05) - 1 / 40
    assert "not continuous" in str(long)


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
    alpha = metric_rule_alpha(0.25, change)
    bound = metric_rule_error(alpha * 0.25 - (1 - alpha) * change, alpha, 0.5).value
    pairs = rng.integers(0, 100_000, (20_000, 2))
    alike = mood[pairs[:, 0]] == mood[pairs[:, 1]]
    error = (alike != (kind[pairs[:, 0]] == kind[pairs[:, 1]])).mean()
    assert bound < 0.14
    assert error > 0.4
    assert class_continuity(mood, kind).refuted
