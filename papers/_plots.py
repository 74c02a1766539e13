"""Figures that only the papers' pages show."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from PIL import Image

from eigenstream.plotting import axes, save
from eigenstream.plotting.canvas import COLOURS, GREY, INK, colours, legend


def figure_uri(ax: Axes) -> str:
    """Return the figure of ``ax`` as a PNG data URI, and close it.

    A PNG is smaller than an SVG if the figure has thousands of points. A palette of 24
    colours suffices for a few hues and their smooth edges.

    >>> figure_uri(axes(1, 1))[:26]
    'data:image/png;base64,iVBO'
    """
    out = BytesIO()
    save(ax, out, "png")
    pyplot.close(ax.get_figure(root=True))
    picture = Image.open(out).convert("RGB").quantize(24)
    out = BytesIO()
    picture.save(out, "PNG", optimize=True)
    return "data:image/png;base64," + b64encode(out.getvalue()).decode("ascii")


def decision_lines(
    rows: ArrayLike,
    labels: ArrayLike,
    units: Sequence[tuple[Any, float]],
    *,
    faint: Sequence[tuple[Any, float]] = (),
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
    for group, colour in ((faint, GREY), (units, INK)):
        for w, b in group:
            if np.any(w):
                foot = -b * np.asarray(w) / np.sum(np.square(w))
                along = foot + np.array([-w[1], w[0]])
                ax.axline(foot, along, lw=0.8 if group is faint else 1.6, color=colour, zorder=1)
    for name, colour in zip(np.unique(names), (COLOURS[0], COLOURS[1]), strict=False):
        x, y = points[names == name].T
        ax.scatter(x, y, s=16, color=colour, zorder=2)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="x₁", ylabel="x₂")
    return ax


def _shades(count: int) -> list[str]:
    return [COLOURS[0]] * (count // 2) + ["#ffffff"] * (count % 2) + [COLOURS[1]] * (count // 2)


def error_surface(
    moment: ArrayLike,
    solution: ArrayLike,
    paths: Mapping[str, ArrayLike],
    *,
    reach: float,
    ax: Axes | None = None,
) -> Axes:
    """Draw the contours of (w - w*)^T R (w - w*) for two weights, and paths (steps, 2) over them.

    The picture shows the square of half-width ``reach`` around the solution w*.

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
    ax.contour(around + centre[0], around + centre[1], error, levels, colors=GREY, linewidths=0.7)
    for (name, path), colour in zip(paths.items(), colours(len(paths)), strict=True):
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
    ax.plot(np.cos(turn), np.sin(turn), lw=0.8, color=GREY)
    x, y = np.asarray(component, np.float64)
    ax.plot([-2 * x, 2 * x], [-2 * y, 2 * y], ls="--", lw=1.0, color=INK)
    for (name, path), colour in zip(paths.items(), colours(len(paths)), strict=True):
        steps = np.asarray(path, np.float64)
        ax.plot(steps[:, 0], steps[:, 1], lw=1.2, color=colour, label=name)
        ax.plot(*steps[0], "o", ms=4, color=colour)
    ax.set(xlim=(-1.6, 1.6), ylim=(-1.6, 1.6), aspect=1.0, xlabel="w₁", ylabel="w₂")
    legend(ax, "lower left")
    return ax


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
        vertices = np.asarray(path, float)
        for k in range(vertices.shape[1]):
            line = vertices[:, k].T
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


def risks(curves: Mapping[str, tuple[Any, Any]], *, ax: Axes | None = None) -> Axes:
    """Draw the balanced risk of every distance threshold by name, and mark the least.

    >>> risks({"raw": (np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.0, 0.5]))}).get_ylabel()
    'balanced risk'
    """
    ax = axes() if ax is None else ax
    for (name, (across, up)), colour in zip(curves.items(), colours(len(curves)), strict=True):
        best = int(up.argmin())
        ax.plot(across, up, color=colour, lw=2, label=f"{name}  {up[best]:.3f}")
        ax.plot(across[best], up[best], "o", ms=5, color=colour)
    # Room for the names above one half, where all curves end.
    ax.set(xlabel="threshold", ylabel="balanced risk", ylim=(-0.015, 0.6 + 0.09 * len(curves)))
    ax.set_yticks([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    legend(ax, "upper right", title="least risk", alignment="left")
    return ax
