"""The components: as images, as bars, or as the columns that weigh most."""

from typing import Any

import numpy as np

from eigenstream import plotting
from eigenstream._linalg import Float64s
from eigenstream.reports.base import Drawing, PageTable, Section, Tiles

#: Components that are drawn, and columns of the data that are named.
MOST_DRAWN = 12
MOST_NAMED = 10
MOST_IMAGES = 40


def section(estimator: Any, shape: tuple[int, int] | None) -> Section:
    """Return what the components look at."""
    title = "What the components look at"
    kernel = getattr(estimator, "kernel", "linear")
    if kernel != "linear":
        return Section(
            title,
            f"With kernel={kernel!r} a component is a sum of kernels at "
            f"{len(estimator.dual_coef_)} training rows: there is no column to point at.",
        )
    components, names = np.asarray(estimator.components_), named(estimator)
    mapped = getattr(estimator, "features", None)
    if mapped is not None:
        text = (
            f"They weigh the {components.shape[1]} features that {type(mapped).__name__} makes of "
            f"{estimator.n_features_in_} columns."
        )
        return Section(title, text, (bars(components, None),))
    if shape is not None:
        return Section(title, "", images(estimator, components, shape))
    blocks = (bars(components, names), loadings(components, names))
    what = "columns of the data"
    if getattr(estimator, "scale_", None) is not None:
        what += ", each divided by its standard deviation"
    steps = getattr(estimator, "preprocessing_", None)
    if steps is not None and steps.steps:
        what = "columns that the steps before have made"
    return Section(
        title, f"A component weighs the {what}; the sign of the whole is a convention.", blocks
    )


def named(estimator: Any) -> list[str] | None:
    """Return the names of the columns where they are known."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def images(estimator: Any, components: Float64s, shape: tuple[int, int]) -> list[Tiles]:
    """Return the components as images, and the mean."""
    values = getattr(estimator, "eigenvalues_", None)
    shown = components[:MOST_IMAGES]
    texts = [""] * len(shown) if values is None else [f"{value:.2g}" for value in values]
    tiles = [
        (plotting.png_uri(picture), text)
        for picture, text in zip(plotting.signed(shown, shape), texts, strict=False)
    ]
    left = "" if len(components) <= MOST_IMAGES else f" The first of {len(components)}."
    note = "Blue pixels count against red ones." + ("" if values is None else " With eigenvalues.")
    blocks = [
        Tiles(tiles, "Components", note + left, columns=min(len(tiles), 10), wide=True, flows=True)
    ]
    mean = getattr(estimator, "mean_", None)
    if mean is not None and np.any(mean):
        picture = plotting.png_uri(plotting.gray(mean[None, :], shape)[0])
        blocks.append(Tiles([(picture, "")], "The mean", "Taken off every row.", columns=4))
    return blocks


def bars(components: Float64s, names: list[str] | None) -> Drawing:
    """Return the components as rows of bars."""
    shown = components[:MOST_DRAWN]
    left = "" if len(shown) == len(components) else f" The first of {len(components)}."
    return Drawing(
        plotting.svg(plotting.loadings(shown, names), "loadings"),
        "Weights of the columns",
        "One row a component, each on a scale of its own." + left,
        wide=True,
    )


def loadings(components: Float64s, names: list[str] | None) -> PageTable:
    """Return the columns that weigh most in each component."""
    width = components.shape[1]
    names = [f"column {k}" for k in range(width)] if names is None else names
    shown = components[:MOST_DRAWN]
    order = np.argsort(-np.abs(shown), axis=1, kind="stable")[:, :MOST_NAMED]
    rows = [
        (
            str(place + 1),
            *(
                f"{names[row[place]]} {one[row[place]]:+.3f}"
                for one, row in zip(shown, order, strict=True)
            ),
        )
        for place in range(order.shape[1])
    ]
    header = ("", *(f"component {k + 1}" for k in range(len(shown))))
    caption = "The largest weights of each component by size, with the columns that have them."
    return PageTable(header, rows, caption=caption, unbroken=True)
