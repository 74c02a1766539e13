"""A page about a map of one's own rows: borders, hits and the planes of its features."""

from typing import Any

from eigenstream import plotting
from eigenstream.experiments.report import Drawing, PageTable, Report, Section, Tiles

__all__ = ["map_page"]

#: More planes than this are too many to look at.
MOST_PLANES = 24


#: More units than this are too many to show as images.
MOST_IMAGES = 900


def map_page(som: Any, *, command: str = "", image_shape: tuple[int, int] | None = None) -> Report:
    """Return a page about a fitted map; with ``image_shape``, of units as images.

    >>> import numpy as np
    >>> from eigenstream import SelfOrganizingMap
    >>> som = SelfOrganizingMap((2, 3), random_state=0).fit(np.eye(8))
    >>> "U-matrix" in map_page(som).html()
    True
    """
    grid = som.grid_
    planes = som.component_planes()
    names = getattr(som, "feature_names_in_", None)
    named = [f"column {k}" if names is None else str(names[k]) for k in range(len(planes))]
    shown = min(len(planes), MOST_PLANES)
    left = "" if shown == len(planes) else f" The first {shown} of {len(planes)}."
    whole = [
        ("U-matrix", som.u_matrix(), "distance", "High values are borders between regions."),
        ("Hits", som.hits(), "rows", "How many rows are nearest to each unit."),
    ]
    drawn = [
        Drawing(
            plotting.svg(plotting.map_plane(grid, values, label=label), f"whole{k}"), title, caption
        )
        for k, (title, values, label, caption) in enumerate(whole)
    ]
    features = [
        Drawing(plotting.svg(plotting.map_plane(grid, planes[k]), f"plane{k}"), named[k], "")
        for k in range(shown)
    ]
    table = PageTable(
        ("", "of the rows learned"),
        (
            (
                "quantisation error: mean distance to the nearest unit",
                f"{som.quantization_error_:.6g}",
            ),
            ("topographic error: nearest two are no neighbours", f"{som.topographic_error_:.4f}"),
        ),
    )
    return Report(
        title="A self-organising map",
        lead="Units on a grid stand for the rows around them; neighbours stand for similar rows.",
        facts=(
            ("grid", " × ".join(map(str, grid.shape))),
            ("topology", grid.topology + (", periodic" if grid.periodic else "")),
            ("steps", f"{som.n_steps_:,}"),
            ("columns", str(som.n_features_in_)),
        ),
        sections=(
            Section("How well it stands for them", "", (table,)),
            Section("Borders and hits", "", drawn),
            *(() if image_shape is None else (_images(som, image_shape),)),
            Section("Features", f"What each unit has of every column.{left}", features),
        ),
        command=command,
    )


def _images(som: Any, shape: tuple[int, int]) -> Section:
    """Return the units as images, where they lie on the grid."""
    grid, units = som.grid_, som.prototypes_
    rows = min(grid.rows, max(MOST_IMAGES // grid.columns, 1))
    shown = plotting.gray(units[: rows * grid.columns], shape)
    left = "" if rows == grid.rows else f" The first {rows} of {grid.rows} rows of the grid."
    tiles = Tiles(
        [(plotting.png_uri(picture), "") for picture in shown],
        "Units as images",
        "Each where it lies on the grid." + left,
        columns=grid.columns,
        wide=True,
    )
    return Section("What the units look like", "", (tiles,))
