"""A page about a map of one's own rows: borders, hits and the planes of its features."""

from typing import Any

from eigenstream import plotting
from eigenstream.experiments.report import Drawing, PageTable, Report, Section

__all__ = ["map_page"]

#: More planes than this are too many to look at.
MOST_PLANES = 24


def map_page(som: Any, *, command: str = "") -> Report:
    """Return a page about a fitted map.

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
            Section("Features", f"What each unit has of every column.{left}", features),
        ),
        command=command,
    )
