"""The page about a map: its borders, hits and the planes of its features."""

from typing import Any

from eigenstream import __version__, plotting
from eigenstream.reports.base import Drawing, PageTable, Report, Section, Tiles

#: More planes than this are too many to look at, and more units than this to show as images.
MOST_PLANES, MOST_IMAGES = 24, 900


def page(som: Any, read: Section, shape: tuple[int, int] | None, command: str) -> Report:
    """Return the page about a fitted map, but for its last section."""
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
            ("columns", f"{som.n_features_in_:,}"),
            ("eigenstream", __version__),
        ),
        sections=[
            read,
            Section("How well it stands for them", "", (table,)),
            Section("Borders and hits", "", drawn),
            *([] if shape is None else [_images(som, shape)]),
            Section("Features", f"What each unit has of every column.{left}", features),
        ],
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
