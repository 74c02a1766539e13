"""Pages and their blocks as HTML that loads nothing from the network."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from eigenstream import plotting


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

    @classmethod
    def of(cls, ax: Any, title: str, caption: str = "", *, wide: bool = False) -> Self:
        """Return the figure of axes as a block, and close it."""
        return cls(plotting.svg(ax), title, caption, wide)


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
    #: True for drawings, which are smoothed, in contrast to pixels.
    smooth: bool = False
    kind: str = "tiles"


@dataclass(frozen=True)
class Fragment:
    """A block of HTML, with an optional script.

    The page allows this script alone, by its hash. The script cannot load anything.
    """

    html: str
    title: str
    caption: str
    wide: bool = False
    script: str = ""
    kind: str = "fragment"


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
        """The scripts of fragments, each with its hash for the content security policy."""
        blocks = [block for section in self.sections for block in section.blocks]
        scripts = [block.script for block in blocks if isinstance(block, Fragment) and block.script]
        return [(text, b64encode(sha256(text.encode()).digest()).decode()) for text in scripts]

    def html(self) -> str:
        """Return the page: nothing is loaded from elsewhere, and only fragments run a script."""
        pages = Environment(
            loader=PackageLoader("eigenstream.reports", ""),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
        )
        return pages.get_template("template.html.j2").render(report=self)


def check_shape(shape: tuple[int, int], count: int) -> None:
    """Raise if ``shape`` is not the height and width of images of ``count`` pixels."""
    if np.shape(shape) != (2,) or min(shape) < 1 or np.prod(shape) != count:
        raise ValueError(f"shape={shape!r} is not (height, width) of images of {count} pixels.")
