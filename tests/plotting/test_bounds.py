"""The pictures of the theory show its numbers."""

import numpy as np
import pytest

from eigenstream import SlowSubspace, plotting
from eigenstream.theory import FiniteMemory, Independent, slow_bound


def lines(ax):
    return {line.get_label(): line.get_data() for line in ax.get_lines()}


def test_bounds_are_drawn_where_there_are_any():
    profiles = {"independent": Independent(), "long": FiniteMemory(10_000)}
    drawn = lines(plotting.bounds(profiles, 5, rows=(1e3, 1e6), alpha=0.8))
    rows, gaps = drawn["independent"]
    for i in (0, 30, 60):
        assert gaps[i] == slow_bound(int(rows[i]), 5, 0.05, Independent(), alpha=0.8).value
    rows, gaps = drawn["long"]
    assert np.isnan(gaps[rows < 20_000]).all()
    assert np.isfinite(gaps[rows > 20_003]).all()


def test_alphas_show_the_path():
    rows = np.random.default_rng(0).standard_normal((2000, 4)).cumsum(axis=0) % 9
    path = SlowSubspace(2).fit(rows).path(np.linspace(0.05, 1, 20))
    drawn = lines(plotting.alphas(path))
    scale = np.abs(path.objective).max()
    np.testing.assert_allclose(drawn["objective L"][1], path.objective / scale)
    np.testing.assert_allclose(drawn["error bound"][1], path.error_bound)
    assert drawn[f"auto: {path.auto:.3g}"][0][0] == pytest.approx(path.auto)
    assert drawn["positive of 2"][1].max() == 1.0
