"""Self-organising maps: values and classes at their units, and their net in the plane."""

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from numpy.typing import ArrayLike, NDArray

from eigenstream.plotting._axes import COLOURS, INK, axes, colours, legend


def map_plane(grid: Any, values: ArrayLike, *, label: str = "", ax: Axes | None = None) -> Axes:
    """Draw a value at each unit of a grid: a U-matrix, hits, or the plane of a feature.

    Examples
    --------
    >>> from eigenstream.prototypes import Grid
    >>> ax = map_plane(Grid(2, 3, "hexagonal"), [[1, 2, 3], [4, 5, 6]], label="hits")
    >>> len(ax.collections[0].get_paths())
    6
    """
    ax = axes(3.6, 3.2) if ax is None else ax
    cells = PolyCollection(_cells(grid), array=np.asarray(values, np.float64).ravel())
    cells.set(cmap="viridis", edgecolor="face", linewidth=0.3)
    _lay(ax, grid, cells)
    figure = ax.get_figure()
    assert figure is not None
    bar = figure.colorbar(cells, ax=ax, shrink=0.8)
    bar.set_label(label, color=INK)
    bar.ax.yaxis.set_tick_params(color=INK, labelcolor=INK)
    bar.outline.set_visible(False)
    return ax


def map_classes(grid: Any, found: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the most frequent class of each unit; the paler, the less pure. Empty ones are left out.

    ``found`` is what ``SelfOrganizingMap.class_map`` returns.

    Examples
    --------
    >>> from eigenstream.prototypes import ClassMap, Grid
    >>> found = ClassMap(np.array(["a", "b"]), np.array([[3.0, 1.0], [0.0, 0.0]]), (2,))
    >>> ax = map_classes(Grid(1, 2), found)
    >>> ax.collections[0].get_facecolors()[:, 3].tolist()
    [0.75, 0.0]
    """
    ax = axes(4.4, 3.2) if ax is None else ax
    named = mpl.colors.to_rgba_array(colours(len(found.classes)))
    faces = named[np.maximum(found.majority.ravel(), 0)]
    faces[:, 3] = np.nan_to_num(found.unit_purity.ravel())
    cells = PolyCollection(_cells(grid), facecolors=faces, edgecolor="none")
    _lay(ax, grid, cells)
    for name, colour in zip(found.classes, named, strict=True):
        ax.plot([], [], "s", ms=7, color=colour, label=str(name))
    if len(found.classes) <= 2 * len(COLOURS):
        legend(ax, "center left", bbox_to_anchor=(1.0, 0.5), handletextpad=0.3)
    return ax


def _cells(grid: Any) -> list[NDArray[np.float64]]:
    """Return the outline of each unit's cell."""
    if grid.hexagonal:
        angles = np.pi / 3 * np.arange(6) + np.pi / 6
        outline = np.column_stack([np.cos(angles), np.sin(angles)]) / np.sqrt(3)
    else:
        outline = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    return list(grid.positions[:, None] + outline)


def _lay(ax: Axes, grid: Any, cells: PolyCollection) -> None:
    """Put the cells onto the axes, the first row on top."""
    ax.add_collection(cells)
    low, high = grid.positions.min(axis=0) - 0.6, grid.positions.max(axis=0) + 0.6
    ax.set(xlim=(low[0], high[0]), ylim=(high[1], low[1]), xticks=[], yticks=[])
    ax.set_aspect("equal")
    ax.grid(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
