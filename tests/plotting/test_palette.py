"""Colours for colour-blind people, and what passes through to the drawings."""

from itertools import combinations

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex, to_rgb

from eigenstream import SlowSubspace, plotting
from eigenstream.plotting.canvas import COLOURS, MARKERS

#: Machado, Oliveira and Fernandes (2009): colours in linear light as people without one kind of
#: cones see them.
BLIND = {
    "none": np.eye(3),
    "green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour, seen):
    rgb = np.array(to_rgb(colour))
    light = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(seen @ light, 0.0, 1.0) / TO_XYZ.sum(axis=1)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("kind", BLIND)
def test_any_two_colours_are_far_apart(kind):
    colours = [lab(colour, np.array(BLIND[kind])) for colour in COLOURS]
    assert min(np.linalg.norm(a - b) for a, b in combinations(colours, 2)) > 16.0


def test_classes_have_different_markers_beyond_the_colours():
    signs = {(COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]) for k in range(56)}
    assert len(signs) == 56


def test_options_pass_through_and_a_second_result_has_another_colour():
    ax = plotting.spectrum([3.0, 2.0], label="first")
    plotting.spectrum([2.0, 1.0], label="second", ax=ax)
    plotting.spectrum([1.0, 0.5], label="third", color="black", ax=ax)
    handles, labels = ax.get_legend_handles_labels()
    assert labels == ["first", "second", "third"]
    colours = [to_hex(handle.get_color()) for handle in handles]
    assert len(set(colours)) == 3
    assert colours[2] == "#000000"
    values = np.linspace(0.0, 1.0, 5)
    drawn = plotting.embedding(np.eye(5), values, label="age", cmap="magma").collections[0]
    assert drawn.get_cmap().name == "magma"
    np.testing.assert_array_equal(drawn.get_array(), values)
    plt.close("all")


def test_frames_keep_their_dates_and_names():
    dates = pd.date_range("2024-02-28", periods=6, freq="h")
    frame = pd.DataFrame(np.arange(12.0).reshape(6, 2), index=dates, columns=["inlet", "outlet"])
    ax = plotting.runs([frame[:2], frame[3:]])
    assert [text.get_text() for text in ax.texts] == ["inlet", "outlet"]
    ends = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) > 1]
    assert pd.DatetimeIndex(ends[1]).equals(dates[3:])
    plt.close("all")


def test_bars_are_sorted_and_have_the_intervals_of_the_fit():
    rows = np.random.default_rng(0).standard_normal((3000, 3)).cumsum(axis=0)
    frame = pd.DataFrame(rows % 9, columns=["a", "b", "c"])
    model = SlowSubspace(1, alpha=0.9).fit(frame, blocks=5)
    ax = plotting.loadings(model)
    weights = model.components_[0]
    order = np.argsort(-abs(weights))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["abc"[k] for k in order]
    bars = np.array([bar.get_width() for bar in ax.patches])
    np.testing.assert_allclose(bars, weights[order] / abs(weights).max())
    (lines,) = ax.collections
    ends = np.array([segment[:, 0] for segment in lines.get_segments()])
    found = model.result_.uncertainty.loadings
    low, high = found.low[0, order], found.high[0, order]
    np.testing.assert_allclose(ends, np.stack([low, high], 1) / abs(weights).max())
    plt.close("all")


def test_a_notebook_shows_every_figure(monkeypatch):
    """The backend loads with the first figure, and turns the interactive mode on."""
    figure = plt.figure

    def loading(**options):
        matplotlib.rcParams["interactive"] = True
        return figure(**options)

    with matplotlib.rc_context({"interactive": False}):
        monkeypatch.setattr(plt, "figure", loading)
        plotting.axes()
        assert matplotlib.rcParams["interactive"]
        assert matplotlib.rcParams["font.size"] == matplotlib.rcParamsDefault["font.size"]
