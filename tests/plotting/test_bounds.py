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
    ax = plotting.alphas(path)
    curves = [line.get_ydata() for line in ax.get_lines() if len(line.get_xdata()) == 20]
    ratio = path.eigenvalues / path.alphas[:, None] / path.eigenvalues[-1].max()
    np.testing.assert_allclose(np.transpose(curves), ratio)
    assert lines(ax)[f"auto: {path.auto:.3g}"][0][0] == pytest.approx(path.auto)
    best = path.alphas[path.error_bound.argmin()]
    assert lines(ax)[f"bound: {best:.3g}"][0][0] == pytest.approx(best)
