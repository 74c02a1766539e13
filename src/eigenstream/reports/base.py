"""Pages and their blocks as HTML that loads nothing from the network, and JSON."""

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


@dataclass(frozen=True)
class PageTable:
    """Rows of text under a header; the first column names the row."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    #: Rows to set apart from the others.
    highlighted: frozenset[int] = frozenset()
    caption: str = ""
    wide: bool = True
    #: True if the cells are sentences to be wrapped.
    prose: bool = False
    #: True if cells are not wrapped; narrow screens scroll the table.
    unbroken: bool = False
    kind: str = "table"


@dataclass(frozen=True)
class Drawing:
    """An SVG from ``plotting.svg`` with a title and a caption."""

    svg: str
    title: str
    caption: str
    #: Whether it takes the whole width of the page; narrow screens scroll it.
    wide: bool = False
    kind: str = "drawing"


@dataclass(frozen=True)
class Tiles:
    """Small images in a grid, as data URIs with a caption each."""

    images: Sequence[tuple[str, str]]
    title: str
    caption: str
    #: Tiles in a row.
    columns: int = 5
    #: True for the whole width of the page.
    wide: bool = False
    #: True if narrow screens may show fewer than ``columns`` in a row.
    flows: bool = False
    #: True for drawings, which are smoothed, in contrast to pixels.
    smooth: bool = False
    kind: str = "tiles"


@dataclass(frozen=True)
class Frames:
    """Drawings of one thing at several moments, one shown at a time: arrow keys step through them.

    Each is an SVG from ``plotting.svg`` with the moment that it shows. No script is needed.
    """

    #: A unique name on the page.
    name: str
    frames: Sequence[tuple[str, str]]
    title: str
    caption: str
    kind: str = "frames"


@dataclass(frozen=True)
class Film:
    """Pictures of one thing at several moments that follow each other by themselves.

    The stills are images as data URIs.
    With reduced motion, only the last one is shown. No script is needed.
    """

    #: A unique name on the page.
    name: str
    stills: Sequence[str]
    title: str
    caption: str
    seconds: float = 0.7
    kind: str = "film"


@dataclass(frozen=True)
class Live:
    """An interactive block: a fragment of HTML and its script.

    The page allows this script alone, by its hash. The script cannot load anything.
    """

    html: str
    script: str
    title: str
    caption: str
    wide: bool = True
    kind: str = "live"


@dataclass(frozen=True)
class Section:
    """A heading with a text and blocks."""

    title: str
    text: str = ""
    blocks: Sequence[Any] = ()


@dataclass(frozen=True)
class Report:
    """A page with its title, sections and the command that makes it."""

    title: str
    lead: str
    sections: Sequence[Section]
    #: Short facts by name, below the lead.
    facts: Sequence[tuple[str, str]] = ()
    #: The command that makes this page again.
    command: str = ""

    @property
    def scripts(self) -> list[tuple[str, str]]:
        """The scripts of live blocks, each with its hash as a content security policy wants it."""
        found = [
            one for section in self.sections for one in section.blocks if isinstance(one, Live)
        ]
        return [
            (one.script, b64encode(sha256(one.script.encode()).digest()).decode()) for one in found
        ]

    def html(self) -> str:
        """Return the page: nothing is loaded from elsewhere, and only live blocks run a script."""
        pages = Environment(
            loader=PackageLoader("eigenstream.reports", ""),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
        )
        return pages.get_template("template.html.j2").render(report=self)


def as_json(results: Any) -> str:
    """Return results as JSON text that every reader accepts (no NaN)."""
    return json.dumps(results, indent=2, allow_nan=False) + "\n"
