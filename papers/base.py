"""Shared parts of the papers: the entry of a paper, its results, and numbers in tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from eigenstream import plotting
from eigenstream.demo import Clock
from eigenstream.reports.base import Drawing, PageTable, Report, Tiles

#: The amount of computation: for a test, a first look, the default, or the amount of the paper.
Effort = Literal["tiny", "quick", "default", "full"]
#: By the name of the features: a row of measures for each seed.
Figures = Mapping[str, Sequence[tuple[float, ...]]]
#: A space at which narrow screens do not break the line.
NARROW = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Outcome:
    """The table to print, the page, and all numbers for the JSON file."""

    table: PageTable
    report: Report
    numbers: dict[str, Any]


@dataclass(frozen=True)
class Paper:
    """A page that can be made by its name."""

    name: str
    summary: str
    #: Called with the effort, the number of seeds and a clock.
    run: Callable[[Effort, int, Clock], Outcome]
    #: Files of EIGENSTREAM_DATA that it needs.
    files: tuple[str, ...] = ()


def spread(values: Sequence[float]) -> float | None:
    """Return the standard deviation over seeds; None for a single one."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def degrees(vectors: Any, top: Any) -> Any:
    """Return the angle of vectors to a unit vector, as lines.

    >>> degrees(np.array([1.0, 1.0]), np.array([0.0, -1.0])).round(9)
    np.float64(45.0)
    """
    along = vectors @ top
    across = np.linalg.norm(vectors - np.multiply.outer(along, top), axis=-1)
    return np.degrees(np.arctan2(across, np.abs(along)))


def mean_and_error(values: Any) -> tuple[Any, Any]:
    """Return the mean over runs and its standard error, 0 for a single run.

    >>> [part.tolist() for part in mean_and_error(np.array([[1.0], [3.0]]))]
    [[2.0], [1.0]]
    """
    n = len(values)
    return values.mean(axis=0), values.std(axis=0, ddof=min(1, n - 1)) / np.sqrt(n)


def mean_with_spread(values: Sequence[float]) -> str:
    """Return the mean and the standard deviation as text, or a single value.

    >>> mean_with_spread([0.25]), mean_with_spread([0.1, 0.3]).replace(NARROW, " ")
    ('0.250', '0.200 ± 0.141')
    """
    sd = spread(values)
    return f"{np.mean(values):.3f}" + ("" if sd is None else f" ±{NARROW}{sd:.3f}")


def span(values: Sequence[float], digits: str = ".2g") -> str:
    """Write the range of some figures.

    >>> span([0.5, 0.25]), span([2]), span([])
    ('0.25 to 0.5', '2', '')
    """
    return " to ".join(
        dict.fromkeys(f"{v:{digits}}" for v in sorted(values)[:: len(values) - 1 or 1])
    )


def summary(values: Sequence[float]) -> dict[str, Any]:
    """Return the mean, the standard deviation and the values, as JSON holds them."""
    return {"mean": float(np.mean(values)), "sd": spread(values), "values": list(values)}


def figure_rows(runs: Figures, measures: Sequence[str]) -> list[dict[str, Any]]:
    """Return the figures of each kind of features, as JSON holds them."""
    columns = {name: map(summary, zip(*rows, strict=True)) for name, rows in runs.items()}
    return [{"features": name, **dict(zip(measures, columns[name], strict=True))} for name in runs]


def figure_table(runs: Figures, header: Sequence[str], caption: str = "") -> PageTable:
    """Return a table of the means and standard deviations of each kind of features.

    >>> figure_table({"raw": [(0.5, 0.25)]}, ("features", "area", "error")).rows
    [('raw', '0.500', '0.250')]
    """
    rows = [(name, *map(mean_with_spread, zip(*rows, strict=True))) for name, rows in runs.items()]
    return PageTable(header, rows, caption=caption)


#: Axes as a block of a page.
drawing = Drawing.of


def pictures(images: Any, title: str, caption: str = "", **options: Any) -> Tiles:
    """Return gray or coloured images as a block of a page, without labels."""
    return Tiles([(plotting.png_uri(image), "") for image in images], title, caption, **options)
