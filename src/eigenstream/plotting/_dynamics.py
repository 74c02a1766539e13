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


def overlaps(course: Any, recorded: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the overlaps R of a solution of the equations, and those of a run upon them.

    Parameters
    ----------
    course : Trajectory
        The result of ``solve`` of a model of ``eigenstream.theory``.
    recorded : OrderParameters, optional
        Such as ``order_parameters_`` of a ``CompetitiveLearning``, as points.

    Examples
    --------
    >>> from eigenstream.theory import PrincipalDynamics
    >>> course = PrincipalDynamics([1.0], eta=0.5).solve([[0.1]], [[1.0]], np.linspace(0, 9, 19))
    >>> overlaps(course).get_legend_handles_labels()[1]
    ['R11']
    """
    students, directions = course.R.shape[1:]
    lines, points = {}, {}
    for k in range(students):
        for m in range(directions):
            name = f"R{k + 1}{m + 1}"
            lines[name] = course.alphas, course.R[:, k, m]
            if recorded is not None:
                values = recorded.R[:, k, m]
                points[name] = recorded.alphas, values, np.zeros(len(values))
    return courses(lines, points, ax=ax)
