"""How neurons learn: lines that move, paths over an error surface and on the unit circle."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from eigenstream.plotting._axes import COLOURS, INK, axes, colours, legend


def decision_lines(
    rows: ArrayLike,
    labels: ArrayLike,
    units: Sequence[tuple[ArrayLike, float]],
    *,
    faint: Sequence[tuple[ArrayLike, float]] = (),
    answers: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw points of two classes in the plane, and the line <w, x> + b = 0 of each unit (w, b).

    ``faint`` lines are those of before. ``answers(points)``, from 0 to 1, shades the plane.

    Examples
    --------
    >>> ax = decision_lines([[0, 0], [1, 1]], [0, 1], [([1.0, 1.0], -1.0)])
    >>> len(ax.lines), len(ax.collections)
    (1, 2)
    """
    ax = axes(3.6, 3.4) if ax is None else ax
    points, names = np.asarray(rows, np.float64), np.asarray(labels)
    low, high = points.min(axis=0), points.max(axis=0)
    pad = 0.25 * (high - low)
    low, high = low - pad, high + pad
    if answers is not None:
        across, up = (np.linspace(low[j], high[j], 61) for j in range(2))
        grid = np.stack(np.meshgrid(across, up), axis=-1)
        shade = np.asarray(answers(grid.reshape(-1, 2))).reshape(61, 61)
        levels = np.linspace(0.0, 1.0, 6)
        ax.contourf(across, up, shade, levels, colors=_shades(len(levels) - 1), alpha=0.25)
    for group, colour in ((faint, COLOURS[0]), (units, INK)):
        for w, b in group:
            ends = _line(np.asarray(w, np.float64), float(b), low, high)
            if ends is not None:
                ax.plot(*ends, lw=0.8 if colour == COLOURS[0] else 1.6, color=colour, zorder=1)
    for name, colour in zip(np.unique(names), (COLOURS[2], COLOURS[1]), strict=False):
        mine = points[names == name]
        ax.scatter(mine[:, 0], mine[:, 1], s=16, color=colour, zorder=2)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="x₁", ylabel="x₂")
    return ax


def _shades(count: int) -> list[str]:
    return [COLOURS[2]] * (count // 2) + ["#ffffff"] * (count % 2) + [COLOURS[1]] * (count // 2)


def _line(w: Any, b: float, low: Any, high: Any) -> tuple[Any, Any] | None:
    """Return two points of a line, far enough apart to cross the picture; None where there is none.

    >>> _line(np.zeros(2), 1.0, np.zeros(2), np.ones(2))
    """
    length = float(np.hypot(*w))
    if length == 0.0:
        return None
    middle = (low + high) / 2
    foot = middle - (w @ middle + b) * w / length**2
    along = np.array([-w[1], w[0]]) / length * np.hypot(*(high - low))
    return (foot[0] - along[0], foot[0] + along[0]), (foot[1] - along[1], foot[1] + along[1])


def error_surface(
    moment: ArrayLike,
    solution: ArrayLike,
    paths: Mapping[str, ArrayLike],
    *,
    reach: float,
    ax: Axes | None = None,
) -> Axes:
    """Draw the contours of (w - w*)^T R (w - w*) for two weights, and paths (steps, 2) over them.

    The picture reaches so far around the solution w*; what leaves it is cut.

    Examples
    --------
    >>> ax = error_surface(np.eye(2), [1, 1], {"slow": [[0, 0], [0.5, 0.5]]}, reach=2)
    >>> [line.get_label() for line in ax.lines][0]
    'slow'
    """
    ax = axes(4.4, 4.0) if ax is None else ax
    R, centre = np.asarray(moment, np.float64), np.asarray(solution, np.float64)
    around = np.linspace(-reach, reach, 81)
    grid = np.stack(np.meshgrid(around, around), axis=-1)
    error = np.einsum("...i,ij,...j->...", grid, R, grid)
    levels = error.max() * np.linspace(0.04, 1, 10) ** 2
    ax.contour(
        around + centre[0], around + centre[1], error, levels, colors=COLOURS[0], linewidths=0.7
    )
    for (name, path), colour in zip(paths.items(), colours(len(paths) + 1)[1:], strict=True):
        steps = np.asarray(path, np.float64)
        ax.plot(steps[:, 0], steps[:, 1], lw=1.1, color=colour, label=name)
    ax.plot(*centre, "+", ms=10, color=INK)
    ax.set(xlabel="w₁", ylabel="w₂")
    ax.set(xlim=centre[0] + np.array([-reach, reach]), ylim=centre[1] + np.array([-reach, reach]))
    legend(ax, "upper left")
    return ax


def unit_circle(
    paths: Mapping[str, ArrayLike], component: ArrayLike, *, ax: Axes | None = None
) -> Axes:
    """Draw weight vectors (steps, 2) on their way to a component, and the circle of length one.

    Examples
    --------
    >>> ax = unit_circle({"Oja": [[1.0, 0.0], [0.7, 0.7]]}, [0.0, 1.0])
    >>> float(ax.get_aspect())
    1.0
    """
    ax = axes(4.0, 4.0) if ax is None else ax
    turn = np.linspace(0.0, 2.0 * np.pi, 181)
    ax.plot(np.cos(turn), np.sin(turn), lw=0.8, color=COLOURS[0])
    x, y = np.asarray(component, np.float64)
    ax.plot([-2 * x, 2 * x], [-2 * y, 2 * y], ls="--", lw=1.0, color=INK)
    for (name, path), colour in zip(paths.items(), colours(len(paths) + 1)[1:], strict=True):
        steps = np.asarray(path, np.float64)
        ax.plot(steps[:, 0], steps[:, 1], lw=1.2, color=colour, label=name)
        ax.plot(*steps[0], "o", ms=4, color=colour)
    ax.set(xlim=(-1.6, 1.6), ylim=(-1.6, 1.6), aspect=1.0, xlabel="w₁", ylabel="w₂")
    legend(ax, "lower left")
    return ax


def arrivals(
    steps: ArrayLike, curves: Mapping[str, ArrayLike], label: str, *, ax: Axes | None = None
) -> Axes:
    """Draw how several things come about over the steps, such as the parts of an answer.

    Examples
    --------
    >>> arrivals([1, 10], {"first": [0.1, 1.0]}, "|cosine|").get_ylabel()
    '|cosine|'
    """
    ax = axes() if ax is None else ax
    for (name, values), colour in zip(curves.items(), colours(len(curves) + 1)[1:], strict=True):
        ax.plot(steps, np.asarray(values), lw=1.5, color=colour, label=name)
    ax.set(xscale="log", xlabel="step", ylabel=label)
    ax.set_ylim(bottom=0.0)
    legend(ax, "best")
    return ax
