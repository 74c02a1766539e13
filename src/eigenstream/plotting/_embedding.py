"""Labelled examples in the first two features."""

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from eigenstream.plotting._axes import axes, colours


def embedding(features: ArrayLike, labels: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw the first two features of labelled examples, the name of each class at its median.

    Examples
    --------
    >>> len(embedding([[0.0, 1.0], [2.0, 3.0]], ["a", "b"]).texts)
    2
    """
    ax = axes(4.4, 4.0) if ax is None else ax
    points, names = np.asarray(features, np.float64), np.asarray(labels)
    if points.ndim != 2 or points.shape[1] < 2 or len(points) == 0:
        raise ValueError(f"features has shape {points.shape}. Pass rows of two features or more.")
    classes = np.unique(names)
    for name, colour in zip(classes, colours(len(classes)), strict=True):
        mine = points[names == name]
        ax.plot(mine[:, 0], mine[:, 1], ".", ms=5, alpha=0.75, color=colour, mew=0)
        x, y = np.median(mine[:, :2], axis=0)
        ax.annotate(
            str(name),
            (float(x), float(y)),
            ha="center",
            va="center",
            fontsize=9,
            fontweight="bold",
            color="black",
            bbox={"boxstyle": "circle,pad=0.15", "fc": "white", "ec": colour, "alpha": 0.9},
        )
    ax.margins(0.09)  # room for the names
    ax.set(xlabel="first feature", ylabel="second feature", xticks=[], yticks=[])
    return ax
