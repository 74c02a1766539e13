"""Labelled examples in the first two features."""

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from eigenstream._checks import check_finite, check_names, real_array
from eigenstream.plotting._axes import axes, colours


def embedding(features: ArrayLike, labels: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw the first two features of labelled examples, every class with its name beside one.

    Examples
    --------
    >>> len(embedding([[0.0, 1.0], [2.0, 3.0]], ["a", "b"]).texts)
    2
    """
    ax = axes(4.4, 4.0) if ax is None else ax
    points = real_array(features, "features")
    if points.ndim != 2 or points.shape[1] < 2 or len(points) == 0:
        raise ValueError(
            f"features must hold rows of two features at least, got shape {points.shape}."
        )
    check_finite(points, name="features")
    names = check_names(labels, "labels", len(points))
    classes = np.unique(names)
    anchors = [points[names == name][0, :2] for name in classes]
    offsets = _label_offsets(np.array(anchors), np.ptp(points[:, :2], axis=0))
    for name, colour, anchor, offset in zip(
        classes, colours(len(classes)), anchors, offsets, strict=True
    ):
        mine = points[names == name]
        ax.plot(mine[:, 0], mine[:, 1], ".", ms=5, alpha=0.75, color=colour, mew=0)
        ax.annotate(
            str(name),
            (float(anchor[0]), float(anchor[1])),
            xytext=offset,
            textcoords="offset points",
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


def _label_offsets(
    anchors: NDArray[np.float64], extent: NDArray[np.float64]
) -> list[tuple[float, float]]:
    """Return where labels go, in points from their anchors, so that near ones do not overlap."""
    # In points, on axes of about 250 of them.
    at = 250.0 * anchors / np.where(extent > 0, extent, 1.0)
    placed: list[NDArray[np.float64]] = []
    offsets = []
    for point in at:
        choices = [(0.0, 13.0), (13.0, 0.0), (0.0, -13.0), (-13.0, 0.0)]
        room = [
            min((float(np.abs(point + c - q).max()) for q in placed), default=99) for c in choices
        ]
        # The first place with room for a label, or else the roomiest.
        best = next((k for k, free in enumerate(room) if free > 16.0), int(np.argmax(room)))
        placed.append(point + choices[best])
        offsets.append(choices[best])
    return offsets
