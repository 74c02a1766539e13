"""The page about prototypes: what they stand for, how many rows each has, what they look like."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances_argmin_min

from eigenstream import __version__, plotting
from eigenstream._linalg import Float64s
from eigenstream.reports._components import named
from eigenstream.reports._reading import SeenRows
from eigenstream.reports.base import Drawing, PageTable, Report, Section, Tiles

#: Prototypes that are drawn as bars, and as images; columns that are named for each; the largest
#: and the smallest that are listed.
MOST_DRAWN, MOST_IMAGES, MOST_NAMED, MOST_LISTED = 12, 60, 6, 5

MOVES = {
    "winner": "the nearest prototype alone",
    "soft": "every prototype by its share in a mixture",
    "rank": "prototypes by their rank among the nearest",
}


def page(
    model: Any,
    reading: SeenRows | None,
    read: Section,
    shape: tuple[int, int] | None,
    command: str,
) -> Report:
    """Return the page about a fitted ``CompetitiveLearning``, but for its last section."""
    vectors, counts = model.prototypes_, model.counts_
    rows = None
    if reading is not None and reading.n_rows:
        rows = np.asarray(reading.thin, np.float64)
        rows = rows[np.isfinite(rows).all(axis=1)]
    count = len(vectors)
    return Report(
        title=f"{type(model).__name__}: {count} {'prototype' if count == 1 else 'prototypes'} of "
        f"{model.n_features_in_} columns",
        lead="Prototypes stand for the rows around them. Each row moves "
        f"{MOVES[model.assignment]} towards it.",
        facts=(
            ("learned from", f"{model.n_steps_:,}"),
            ("columns", f"{model.n_features_in_:,}"),
            ("prototypes", f"{count:,}"),
            ("eigenstream", __version__),
        ),
        sections=[read, quality(model, rows), sizes(counts, model.dead_), look(model, rows, shape)],
        command=command,
    )


def quality(model: Any, rows: Float64s | None) -> Section:
    """Return how well prototypes stand for rows."""
    table = [
        ("mean squared distance to the nearest, of rows when they came", f"{model.error_:.6g}"),
    ]
    if rows is not None and len(rows):
        centre = rows.mean(axis=0)  # an offset would cost precision
        distances = pairwise_distances_argmin_min(rows - centre, model.prototypes_ - centre)[1]
        left, spread = float((distances**2).mean()), float(rows.var(axis=0).sum())
        table.append((f"distortion: the same at the end, of {len(rows):,} rows", f"{left:.6g}"))
        if spread > 0:
            table.append(("of their variance that is left", f"{100 * left / spread:.1f} %"))
    if hasattr(model, "inertia_"):
        table.append(("inertia: its sum over all rows of fit", f"{model.inertia_:.6g}"))
    table.append(("bits a row takes as the number of a prototype", f"{model.bits_per_vector_:.2f}"))
    dead = model.dead_
    listed = ", ".join(map(str, dead[:12])) + (", …" if len(dead) > 12 else "")
    table.append(("dead: nearest to none of the last rows", listed or "none"))
    if model.reseed is not None:
        table.append(("placed anew", f"{model.n_reseeded_:,}"))
    return Section("How well they stand for the rows", "", (PageTable(("", ""), table),))


def sizes(counts: Float64s, dead: Any) -> Section:
    """Return how many rows each has."""
    order = np.argsort(-counts, kind="stable")
    shown = list(order)
    if len(order) > 2 * MOST_LISTED:
        shown = [*order[:MOST_LISTED], *order[-MOST_LISTED:]]
    total = counts.sum()
    table = [
        (
            f"{k}" + (", dead" if k in dead else ""),
            f"{counts[k]:,.6g}",
            f"{100 * counts[k] / total:.2f} %",
        )
        for k in shown
    ]
    text = f"Were all alike, each would have {total / len(counts):,.6g}."
    bars = Drawing(
        plotting.svg(plotting.sizes(counts, dead), "sizes"),
        "Rows of each prototype",
        "From the largest to the smallest." + (" Dead ones stand out." if len(dead) else ""),
        wide=True,
    )
    caption = "" if len(shown) == len(order) else "The largest and the smallest."
    listed = PageTable(("prototype", "rows", "share"), table, caption=caption, wide=False)
    return Section("How many rows each has", text, (bars, listed))


def look(model: Any, rows: Float64s | None, shape: tuple[int, int] | None) -> Section:
    """Return what prototypes look like: as images, or by what sets each apart from the mean."""
    vectors, counts = model.prototypes_, model.counts_
    order = np.argsort(-counts, kind="stable")
    title = "What they look like"
    if shape is not None:
        shown = order[:MOST_IMAGES]
        tiles = [
            (plotting.png_uri(picture), f"{counts[k]:,.4g}")
            for k, picture in zip(shown, plotting.gray(vectors[shown], shape), strict=True)
        ]
        left = "" if len(shown) == len(order) else f" The first of {len(order)}."
        block = Tiles(
            tiles,
            "Prototypes as images",
            "With the number of their rows, the largest first." + left,
            columns=min(len(tiles), 10),
            wide=True,
            flows=True,
        )
        return Section(title, "", (block,))
    names = named(model)
    shown = order[:MOST_DRAWN]
    away = apart(vectors, counts, vectors if rows is None or len(rows) < 2 else rows)
    ax = plotting.loadings(away[shown], names)
    ax.set(ylabel="prototype")
    ax.set_yticklabels([str(k) for k in shown])
    left = "" if len(shown) == len(order) else f" The {len(shown)} largest of {len(order)}."
    bars = Drawing(
        plotting.svg(ax, "prototypes"),
        "What sets each apart",
        "Its difference from the mean, column by column, in standard deviations; one row a "
        "prototype, each on a scale of its own." + left,
        wide=True,
    )
    header = ("", *(f"prototype {k}" for k in shown))
    caption = "The columns in which each differs most: its value, and how many deviations away."
    table = PageTable(
        header, list(_marks(vectors[shown], away[shown], names)), caption=caption, unbroken=True
    )
    return Section(title, "", (bars, table))


def apart(vectors: Float64s, counts: Float64s, rows: Float64s) -> Float64s:
    """Return how far each is from the mean, column by column, in standard deviations of rows.

    >>> apart(np.array([[0.0, 1.0], [2.0, 1.0]]), np.ones(2), np.array([[0.0, 1.0], [4.0, 1.0]]))
    array([[-0.5,  0. ],
           [ 0.5,  0. ]])
    """
    away = vectors - np.average(vectors, axis=0, weights=np.maximum(counts, 1e-300))
    spread = rows.std(axis=0)
    found: Float64s = np.divide(away, spread, out=np.zeros_like(away), where=spread > 0)
    return found


def _marks(
    vectors: Float64s, apart: Float64s, names: list[str] | None
) -> Iterator[tuple[str, ...]]:
    """Yield for each place the column that stands there, its value and how far from the mean."""
    width = vectors.shape[1]
    names = [f"column {k}" for k in range(width)] if names is None else names
    order = np.argsort(-np.abs(apart), axis=1, kind="stable")[:, :MOST_NAMED]
    for place in range(order.shape[1]):
        yield (
            str(place + 1),
            *(
                f"{names[at[place]]} {one[at[place]]:.4g} ({far[at[place]]:+.1f})"
                for one, far, at in zip(vectors, apart, order, strict=True)
            ),
        )
