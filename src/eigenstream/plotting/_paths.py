"""Where prototypes went, in a plane."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from eigenstream.plotting._axes import axes, colours, legend


def paths(
    moved: Mapping[str, Any],
    rows: Any = None,
    *,
    marks: Any = None,
    labels: tuple[str, str] = ("", ""),
    ax: Axes | None = None,
) -> Axes:
    """Draw the paths (times, prototypes, 2) of each name in one colour, over rows as gray dots.

    The axes go as far as the paths and the marks, and half as far again. A ring is where a path
    begins, a dot where it ends, and a cross each of the ``marks``.

    Examples
    --------
    >>> ax = paths({"winner": [[[0, 0], [1, 0]], [[0, 1], [1, 1]]]}, [[0.5, 0.5]])
    >>> ax.get_legend_handles_labels()[1]
    ['winner']
    """
    ax = axes() if ax is None else ax
    if rows is not None:
        ax.plot(*np.asarray(rows, float).T, ".", ms=2, color="0.75", zorder=0)
    for (name, path), colour in zip(moved.items(), colours(len(moved)), strict=True):
        found = np.asarray(path, float)
        for k in range(found.shape[1]):
            line = found[:, k].T
            ax.plot(*line, lw=1.5, color=colour, label=name if k == 0 else None)
            ax.plot(*line[:, :1], "o", ms=4, mfc="white", color=colour)
            ax.plot(*line[:, -1:], "o", ms=5, color=colour)
    if marks is not None:
        ax.plot(*np.asarray(marks, float).T, "x", ms=8, mew=1.8, color="black", zorder=5)
    places = [np.asarray(path, float).reshape(-1, 2) for path in moved.values()]
    if marks is not None:
        places.append(np.asarray(marks, float).reshape(-1, 2))
    low, high = np.concatenate(places).min(axis=0), np.concatenate(places).max(axis=0)
    room = 0.5 * max(float((high - low).max()), 1e-12)
    ax.set_xlim(low[0] - room, high[0] + room)
    ax.set_ylim(low[1] - room, high[1] + room)
    ax.set(xlabel=labels[0], ylabel=labels[1], aspect="equal")
    legend(ax, "best")
    return ax
