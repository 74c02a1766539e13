"""Theory as lines, simulations as points with their standard errors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from eigenstream.plotting._axes import axes, colours, legend


def courses(
    lines: Mapping[str, tuple[Any, Any]],
    points: Mapping[str, tuple[Any, Any, Any]] | None = None,
    *,
    labels: tuple[str, str] = ("alpha", ""),
    scales: tuple[str, str] = ("linear", "linear"),
    ax: Axes | None = None,
) -> Axes:
    """Draw a line (x, y) for each name, and points (x, y, error) in the colour of the same name.

    Examples
    --------
    >>> ax = courses({"R": ([0, 1], [0.0, 0.9])}, {"R": ([1], [0.88], [0.02])})
    >>> ax.get_legend_handles_labels()[1]
    ['R']
    """
    ax = axes() if ax is None else ax
    names = list(dict.fromkeys([*lines, *(points or {})]))
    for name, colour in zip(names, colours(len(names)), strict=True):
        if name in lines:
            ax.plot(*lines[name], lw=1.6, color=colour, label=name)
        if points and name in points:
            x, y, error = (np.asarray(values, float) for values in points[name])
            label = None if name in lines else name
            ax.errorbar(x, y, error, fmt="o", ms=3.5, lw=1, capsize=2, color=colour, label=label)
    ax.set(xlabel=labels[0], ylabel=labels[1], xscale=scales[0], yscale=scales[1])
    legend(ax, "best")
    return ax
