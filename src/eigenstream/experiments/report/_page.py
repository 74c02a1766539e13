"""What a page holds, the page itself (HTML that loads nothing from elsewhere), and JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


@dataclass(frozen=True)
class Table:
    """Rows of text under a header; the first column names the row."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    #: Rows to set apart from the others.
    highlighted: frozenset[int] = frozenset()
    caption: str = ""
    wide: bool = True
    #: Whether cells hold sentences, to be wrapped.
    prose: bool = False
    kind: str = "table"


@dataclass(frozen=True)
class Drawing:
    """An SVG from ``plotting.svg`` with what it shows, for those who see and those who do not."""

    svg: str
    title: str
    caption: str
    kind: str = "drawing"


@dataclass(frozen=True)
class Tiles:
    """Small images in a grid, as data URIs with a caption each."""

    images: Sequence[tuple[str, str]]
    title: str
    caption: str
    #: Tiles in a row.
    columns: int = 5
    #: Whether the grid takes the whole width of the page, where there is room.
    wide: bool = False
    kind: str = "tiles"


@dataclass(frozen=True)
class Frames:
    """Drawings of one thing at several moments, one shown at a time: arrow keys step through them.

    Each is an SVG from ``plotting.svg`` with the moment that it shows. No script is needed.
    """

    #: Keeps the steps of several such blocks on a page apart.
    name: str
    frames: Sequence[tuple[str, str]]
    title: str
    caption: str
    kind: str = "frames"


@dataclass(frozen=True)
class Section:
    """A heading, a few sentences and what they speak of."""

    title: str
    text: str = ""
    blocks: Sequence[Table | Drawing | Tiles | Frames] = ()


@dataclass(frozen=True)
class Report:
    """A page: what was asked, what came out, and how to get it again."""

    title: str
    lead: str
    sections: Sequence[Section]
    #: Short facts by name, under the lead: what was run, how long it took.
    facts: Sequence[tuple[str, str]] = ()
    #: The command that makes this page again.
    command: str = ""

    def html(self) -> str:
        """Return the page: nothing in it is loaded from elsewhere, and no script runs."""
        pages = Environment(
            loader=PackageLoader("eigenstream.experiments.report", ""),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
        )
        return pages.get_template("template.html.j2").render(report=self)


def as_json(results: Any) -> str:
    """Return results as JSON text that every reader accepts (no NaN)."""
    return json.dumps(results, indent=2, allow_nan=False) + "\n"
