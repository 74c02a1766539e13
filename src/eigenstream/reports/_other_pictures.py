"""Figures of what has no spectrum: of maps, of prototypes, and of neurons' weights."""

from typing import Any

import numpy as np

from eigenstream import plotting
from eigenstream._linalg import Float64s
from eigenstream.prototypes import CompetitiveLearning, SelfOrganizingMap
from eigenstream.reports import _components, _prototypes

__all__ = ["other_picture"]

#: Planes of a map that are drawn, and so many side by side; rows of bars; images in a row.
MOST_PLANES, ACROSS, MOST_BARS, MOST_ACROSS = 12, 3, 12, 12


def other_picture(estimator: Any, shape: tuple[int, int] | None) -> Any:
    """Draw a map, prototypes or a neuron's weights; return None of what is neither.

    >>> from eigenstream import Perceptron
    >>> neuron = Perceptron(random_state=0).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    >>> other_picture(neuron, None).get_title("left")
    'Perceptron: weights'
    """
    if isinstance(estimator, SelfOrganizingMap):
        return _map(estimator, shape)
    if isinstance(estimator, CompetitiveLearning):
        return _clusters(estimator, shape)
    weights = _weights(estimator)
    if weights is None:
        return None
    name = type(estimator).__name__
    title = f"{name}: weights" + (" of the first layer" if hasattr(estimator, "coefs_") else "")
    return _rows(weights, _components.named(estimator), shape, title, "unit")


def _map(som: SelfOrganizingMap, shape: tuple[int, int] | None) -> Any:
    """Draw borders and hits, and below them the planes of the columns, or the units as images."""
    grid = som.grid_
    wide = 2.6 * min(max(grid.rows / grid.columns, 0.35), 1.6) + 0.4
    planes = som.component_planes()[: MOST_PLANES if shape is None else 0]
    lines = [min(ACROSS, len(planes) - at) for at in range(0, len(planes), ACROSS)]
    if lines:  # the last line has as many places as the others: its planes are no larger
        lines = [min(ACROSS, len(planes))] * len(lines)
    rows, heights = [2, *lines], [1.3 * wide] + [wide] * len(lines)
    if shape is not None:
        side = 8.6 * grid.rows * shape[0] / (grid.columns * shape[1])
        rows, heights = [2, 1], [1.3 * wide, min(max(side, 0.8), 14.0)]
    axes = plotting.panels(rows, heights)
    plotting.map_plane(grid, som.u_matrix(), label="distance", ax=axes[0])
    plotting.map_plane(grid, som.hits(), label="rows", ax=axes[1])
    axes[0].set_title(f"{type(som).__name__}: U-matrix", loc="left")
    axes[1].set_title("hits", loc="left")
    if shape is not None:
        units = plotting.gray(som.prototypes_, shape)
        plotting.mosaic(units, columns=grid.columns, ax=axes[2])
        return axes[0]
    names = _components.named(som)
    for k, plane in enumerate(planes):
        plotting.map_plane(grid, plane, ax=axes[2 + k])
        axes[2 + k].set_title(f"column {k}" if names is None else names[k], loc="left")
    for empty in axes[2 + len(planes) :]:
        empty.set_axis_off()
    return axes[0]


def _clusters(model: CompetitiveLearning, shape: tuple[int, int] | None) -> Any:
    """Draw how many rows each prototype has, and what it looks like, the largest first."""
    vectors, counts = model.prototypes_, model.counts_
    order = np.argsort(-counts, kind="stable")
    if shape is not None:
        shown = order[: _prototypes.MOST_IMAGES]
        lines = -(-len(shown) // MOST_ACROSS)
        tall = 8.6 / min(MOST_ACROSS, len(shown)) * lines * (shape[0] + 1) / (shape[1] + 1)
        axes = plotting.panels([1, 1], [2.6, min(max(tall, 0.8), 12.0)])
        pictures = plotting.gray(vectors[shown], shape)
        plotting.mosaic(pictures, columns=MOST_ACROSS, ax=axes[1])
    else:
        shown = order[:MOST_BARS]
        axes = plotting.panels([1, 1], [2.6, 0.9 + 0.5 * len(shown)])
        apart = _prototypes.apart(vectors, counts, vectors)
        plotting.loadings(apart[shown], _components.named(model), ax=axes[1])
        axes[1].set(ylabel="prototype")
        axes[1].set_yticklabels([str(k) for k in shown])
    of_all = "" if len(shown) == len(order) else f", the {len(shown)} largest of {len(order)}"
    what = "as images" if shape is not None else "apart from the mean, each on its own scale"
    axes[1].set_title(what + of_all, loc="left")
    plotting.sizes(counts, model.dead_, ax=axes[0])
    axes[0].set_title(f"{type(model).__name__}: rows of each prototype", loc="left")
    return axes[0]


def _weights(estimator: Any) -> Float64s | None:
    """Return a neuron's weights, a row a unit, without looking at what is no neuron's."""
    if hasattr(estimator, "components_"):
        return np.asarray(estimator.components_)
    if hasattr(estimator, "coefs_"):  # (inputs, units), as scikit-learn's
        return np.asarray(estimator.coefs_[0]).T
    found = getattr(estimator, "coef_", None)
    return None if found is None else np.atleast_2d(found)


def _rows(
    weights: Float64s,
    names: list[str] | None,
    shape: tuple[int, int] | None,
    title: str,
    what: str,
) -> Any:
    """Draw weights as images, or as bars."""
    most = MOST_BARS if shape is None else 5 * MOST_ACROSS
    shown = weights[:most]
    if shape is None:
        ax = plotting.loadings(shown, names)
        ax.set(ylabel=what)
    else:
        across = min(MOST_ACROSS, len(shown))
        lines = -(-len(shown) // across)
        ax = plotting.axes(
            max(1.2 * across, 4.0), max(1.2 * lines * shape[0] / shape[1], 1.6) + 0.4
        )
        plotting.mosaic(plotting.signed(shown, shape), columns=across, ax=ax)
    more = "" if len(shown) == len(weights) else f", {len(shown)} of {len(weights)}"
    ax.set_title(title + more, loc="left")
    return ax
