"""What a new direction is charged of what lies outside the frame."""

import numpy as np
import pytest

from eigenstream._linalg import orthonormalized
from eigenstream.learners.sketch import OperatorSketch
from eigenstream.learners.sketch._block import crowded
from sketches import SLOW, batch, learned, share, slow_sources


@pytest.mark.parametrize("dimensions", [10, 60, 300])
def test_crowding_counts_the_dimensions_that_vectors_lie_in(dimensions):
    """Of m vectors in k dimensions: m^2 / 2 squares with a deviation of sqrt(2) means each."""
    rng, m = np.random.default_rng(dimensions), 128
    vectors = rng.standard_normal((m, dimensions))
    found = crowded(vectors @ vectors.T, 300)
    assert found == pytest.approx(300 / dimensions, rel=5 * 2 / m)
    # No unit; vectors of nothing, which have no direction, say only that others are fewer.
    assert crowded(1e-12 * vectors @ vectors.T, 300) == pytest.approx(found)
    some = np.concatenate([vectors, np.zeros((m, dimensions))])
    assert crowded(some @ some.T, 300) == pytest.approx(found)


def test_crowding_of_next_to_nothing():
    assert crowded(np.zeros((4, 4)), 10) == 1.0
    assert crowded(np.diag([1.0, 0.0]), 10) == 1.0
    assert crowded(np.eye(5), 10) == 1.0  # none along the others: at least 1


def couples(seed, D=300, dimensions=40, n=1280):
    """Negative and positive pairs in few of many dimensions; four that gain, 36 that lose."""
    rng = np.random.default_rng(seed)
    basis = orthonormalized(rng.standard_normal((D, dimensions))).T
    size = np.linspace(1.5, 0.5, dimensions)
    negative, positive = (rng.standard_normal((n, dimensions)) * size for _ in range(2))
    positive[:, :4] *= 0.5
    noise = 0.02 * rng.standard_normal((2, n, D))
    return negative @ basis + noise[0], positive @ basis + noise[1]


@pytest.mark.parametrize("seed", range(4))
def test_independent_couples_in_few_dimensions_lose_half_as_much(seed):
    negative, positive = couples(seed)
    T = (0.3 * negative.T @ negative - 0.7 * positive.T @ positive) / len(negative)
    best, losses = np.linalg.eigvalsh(T)[-4:].sum(), []
    for independent in (False, True):
        sketch = OperatorSketch(
            4,
            weights=(0.3, 0.7),
            lag=64,
            center=False,
            independent=independent,
            block_size=128,  # ten blocks, so that there are debts to charge
        )
        for start in range(0, len(negative), 64):
            u, v = negative[start : start + 64], positive[start : start + 64]
            sketch.add(np.concatenate([u - v, u]), new_sequence=True)
        V = sketch.solution(positive=True).components
        losses.append(1.0 - np.sum(V * (V @ T)) / best)
    assert losses[1] < 0.5 * losses[0]


@pytest.mark.parametrize("seed", range(3))
def test_debts_are_charged_in_part_so_that_few_noisy_rows_suffice(seed):
    """Twenty rows a column in noise twice as large: 0.82 to 0.90 if they are charged whole."""
    rows = slow_sources(4000, 200, 2.0, seed)
    T = batch([rows], 0.3, 0.7, 1)[0]
    assert share(learned(rows, 5, **SLOW).solution().components, T) > 0.92


@pytest.mark.parametrize("seed", range(3))
def test_where_all_directions_lose_the_gap_is_kept(seed):
    """Four that lose least. With 0.7 of the others' debts in their place: 1.11 to 1.12 of the loss.

    For these have about 0.6 of the debts of the others, so that nearly no gap would be left.
    """
    rows = slow_sources(20_000, 100, 1.0, seed)
    T = batch([rows], 0.5, 0.5, 400)[0]
    assert np.linalg.eigvalsh(T)[-1] < 0
    found = learned(rows, 4, weights=(0.5, 0.5), lag=400).solution()
    assert share(found.components, T) < 1.08  # of a loss: more is worse


def test_a_sum_that_forgets_is_charged_whole():
    """0.7 of the debts would follow noise there: 0.985, not 0.994, of a turning stream's T."""
    for forgetting, share_of_debts in ((None, 0.7), (1e-3, 1.0)):
        plan = OperatorSketch(5, **SLOW, forgetting=forgetting).plan
        assert plan.debts == share_of_debts


@pytest.mark.parametrize("seed", [3, 5])
def test_few_directions_outside_the_frame_are_charged_whole(seed):
    """48 of 50 are in the frame. Two that owe 0.7 of their debts take turns, and look best.

    Five directions gain and all others lose 2.6 or more, -4 at worst: one of the latter was taken
    for -0.05 to -0.3, among the best eight.
    """
    rows = slow_sources(20_000, 50, 2.0, seed)
    T = batch([rows], 0.3, 0.7, 1)[0]
    found = learned(rows, 8, **SLOW).solution()
    best = np.linalg.eigvalsh(T)[::-1][:8]
    reached = np.sum(found.components * (found.components @ T))
    # To a hundredth of a losing direction's size. Taken for the best, one cost 1.2 to 1.4.
    assert best.sum() - reached < 0.01 * abs(best[-1])
    np.testing.assert_allclose(found.eigenvalues, best, atol=0.05 * abs(best[-1]))
