"""The features over time, as far as rows are at hand."""

from typing import Any

import numpy as np

from eigenstream import plotting
from eigenstream._linalg import Float64s
from eigenstream.reports._reading import SeenRows
from eigenstream.reports.base import Drawing, Section

#: Features that are drawn, and points of a line: a page with more is slow to show.
MOST_FEATURES = 8
MOST_POINTS = 1200


def section(estimator: Any, reading: SeenRows | None) -> Section | None:
    """Return the features of the rows that were kept; None without any, or where time is none."""
    of_pairs = hasattr(type(estimator), "pair_counts_")
    if reading is None or not reading.first or of_pairs:
        return None
    names = [str(name) for name in estimator.get_feature_names_out()][:MOST_FEATURES]
    share = max(MOST_POINTS // len(reading.first), 2)
    first = [features(estimator, rows[:share]) for rows in reading.first]
    count, rows = len(first), max(map(len, first))
    of = "the sequence" if reading.lengths[0] == 1 else f"{count} of {reading.lengths[0]} sequences"
    blocks = [
        Drawing(
            plotting.svg(plotting.runs(first, names), "first"),
            "The first rows",
            f"Up to {rows:,} rows of {of}, one after the other, each feature on a scale of its "
            "own. Lines part the sequences."
            * (count > 1)
            or f"The first {rows:,} rows, each feature on a scale of its own.",
            wide=True,
        )
    ]
    if reading.step > 1:
        thin = [features(estimator, reading.thin)]
        far = "of the rows read" if reading.whole else "of the first rows"
        blocks.append(
            Drawing(
                plotting.svg(plotting.runs(thin, names, step=reading.step), "whole"),
                "The whole of it",
                f"One row in {reading.step:,} {far}, {reading.n_rows:,} in all.",
                wide=True,
            )
        )
    more = len(estimator.get_feature_names_out()) - len(names)
    left = f" The first {len(names)} are drawn; {more} more were learned." if more > 0 else ""
    holes = (reading.n_missing and " Where a row lacks values the lines have a gap.") or ""
    text = f"What transform makes of the rows.{holes}{left}"
    return Section("The features over time", text, blocks)


def features(estimator: Any, rows: Any) -> Float64s:
    """Return the first features of rows; those of rows that lack values are NaN."""
    there = np.isfinite(rows).all(axis=1)
    out = np.full((len(rows), min(len(estimator.get_feature_names_out()), MOST_FEATURES)), np.nan)
    if there.any():
        out[there] = np.asarray(estimator.transform(rows[there]))[:, : out.shape[1]]
    return out
