"""Reports: self-contained HTML pages, written whole or not at all."""

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any, cast

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
class Section:
    """A heading, a few sentences and what they speak of."""

    title: str
    text: str = ""
    blocks: Sequence[Table | Drawing | Tiles] = ()


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
            loader=PackageLoader("eigenstream.experiments", ""),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
        )
        return pages.get_template("template.html.j2").render(report=self)


@contextmanager
def replacing(path: Path) -> Iterator[TextIOWrapper]:
    """Open a file that takes the place of ``path`` once it is complete, and never before.

    >>> from tempfile import mkdtemp
    >>> target = Path(mkdtemp()) / "note.txt"
    >>> with replacing(target) as file:
    ...     _ = file.write("whole"); early = target.exists()
    >>> early, target.read_text()
    (False, 'whole')
    """
    # A link stays a link: what it points at is replaced.
    target = path.resolve()
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder")
    if target.exists() and not target.is_file():
        raise OSError(f"cannot write {path}: it is a device or a pipe, not a file")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"cannot write {path}: it is read-only")
    try:
        file = tempfile.NamedTemporaryFile(  # noqa: SIM115
            "w", encoding="utf-8", dir=target.parent, prefix=f".{target.name}.", delete=False
        )
    except OSError as refusal:
        raise OSError(f"cannot write {path}: {refusal.strerror}") from refusal
    try:
        with file:
            yield cast(TextIOWrapper, file.file)
        # Temporary files are private; a report is as readable as any other new file.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(file.name, 0o666 & ~mask)
        os.replace(file.name, target)
    except BaseException:
        Path(file.name).unlink(missing_ok=True)
        raise


def as_json(results: Any) -> str:
    """Return results as JSON text that every reader accepts (no NaN)."""
    return json.dumps(results, indent=2, allow_nan=False) + "\n"
