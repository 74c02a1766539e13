"""Variance and velocity in one go: the same scatters as one by one, at three products for four."""

import numpy as np
import pytest

from eigenstream.contrast import Contrast
from eigenstream.scatters import VarianceScatter, VelocityScatter
from eigenstream.scatters import fused_update as fused
from eigenstream.testing import assert_same_scatter

rng = np.random.default_rng(0)
ROWS = rng.standard_normal((1200, 6)).cumsum(axis=0) @ rng.standard_normal((6, 6)) + 5.0


def both(lag, center):
    return VarianceScatter(6, lag=lag, center=center), VelocityScatter(6, lag=lag)


@pytest.mark.parametrize("lag", [1, 2, 3, 10])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
@pytest.mark.parametrize("n", [256, 300, 301, 303, 1199, 1200])
def test_equals_one_by_one(lag, center, layout, n):
    rows = ROWS[:n]
    laid = {"C": rows, "F": np.asfortranarray(rows), "strided": np.repeat(rows, 2, axis=1)[:, ::2]}
    variance, velocity = both(lag, center)
    assert fused.can_fuse(variance, velocity, laid[layout], None)
    # So few rows at a time that there are many blocks, and an odd rest.
    fused.fused_update(variance, velocity, laid[layout], rows=92)
    alone = [scatter.update(rows) for scatter in both(lag, center)]
    assert_same_scatter(variance, alone[0])
    assert_same_scatter(velocity, alone[1])


def test_chunks_merges_and_gaps():
    for lag in (1, 3):
        contrast = Contrast(*both(lag, True))
        alone = both(lag, True)
        for start, stop, gap in ((0, 400, False), (400, 403, False), (403, 900, True)):
            contrast.update(ROWS[start:stop], new_sequence=gap)
            for scatter in alone:
                scatter.update(ROWS[start:stop], new_sequence=gap)
        merged = contrast.merge(Contrast(*both(lag, True)).update(ROWS[900:]))
        for scatter in alone:
            scatter.update(ROWS[900:])
        assert_same_scatter(merged.reward, alone[0])
        assert_same_scatter(merged.penalty, alone[1])


def test_float32_far_from_zero_keeps_law_5():
    noise = np.random.default_rng(1).standard_normal((40_000, 6))
    rows = (noise + np.sin(np.arange(40_000) / 900)[:, None] + 1e4).astype(np.float32)
    variance, velocity = both(1, True)
    fused.fused_update(variance, velocity, rows)
    exact = [scatter.update(rows.astype(np.float64)) for scatter in both(1, True)]
    for ours, theirs in zip((variance, velocity), exact, strict=True):
        error = np.linalg.norm(ours.matrix() - theirs.matrix(), 2)
        assert error <= ours.rounding * np.linalg.norm(theirs.matrix(), 2)
