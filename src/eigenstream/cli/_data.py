"""What the commands that read a user's data share: options, a pass that shows itself, words."""

import csv
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from io import StringIO
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

__all__ = [
    "Data",
    "Json",
    "Missing",
    "Watched",
    "check_output",
    "check_unread",
    "column",
    "listed",
    "loaded",
    "names_of",
    "print_facts",
    "print_json",
    "read_by",
    "saved",
    "spectrum",
    "written",
]

#: Work that is over sooner shows no progress.
QUIET_SECONDS = 1.0

#: What bars are made of: of numbers from zero on, and below.
BLOCKS = "█░"

#: How many sources a command names.
MOST_NAMED = 5

Data = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders, globs, file::part, or - for standard input.",
        show_default=False,
        metavar="DATA...",
    ),
]
Missing = Annotated[
    str, typer.Option(help="What to do about missing values: raise, skip or interpolate.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]


def column(text: str | None) -> str | int | None:
    """Return a column's number where the text is one, else its name.

    >>> column("3"), column("heat"), column(None)
    (3, 'heat', None)
    """
    return int(text) if text is not None and text.lstrip("-").isdecimal() else text


def listed(text: str) -> list[str | int | None]:
    """Return the columns of a list with commas; quotes hold a name with a comma together.

    >>> listed("x, 3"), listed('"a, b",c')
    (['x', 3], ['a, b', 'c'])
    """
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or not all(names):
        raise ValueError(
            f"--columns must be names or numbers, as x,y or 0,2, or '\"a, b\",c'; got {text!r}."
        )
    return [column(name) for name in names]


def written(names: Iterable[Any]) -> str:
    """Return a list of columns as it is typed in a shell, which ``listed`` reads.

    >>> print(written(["x", "day"]), written(["a, b", "c"]))
    x,day '"a, b",c'
    """
    text = StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return shlex.quote(text.getvalue())


def check_output(out: Path, inputs: list[str], endings: tuple[str, ...]) -> None:
    """Refuse a file that cannot be written, or should not be, before the work."""
    from eigenstream._files import check_writable

    if out.suffix.lower() not in endings:
        known = ", ".join(endings)
        raise ValueError(f"-o {out}: the name must end in {known}, such as {out.stem}{endings[0]}.")
    check_unread(out, inputs, "-o")
    check_writable(out)


def check_unread(out: Path, inputs: list[str], option: str) -> None:
    """Refuse to write where something is read."""
    for name in inputs:
        source = Path(name.partition("::")[0])
        if out.exists() and source.exists() and out.samefile(source):
            raise ValueError(f"{option} {out}: this would replace what is read. Name another file.")


def loaded(path: Path) -> Any:
    """Return the model of a file."""
    from eigenstream.persistence import load

    return load(path)


def read_by(estimator: Any) -> Any:
    """Return the names of the columns that a model reads, before any step; or None."""
    found = getattr(estimator, "provenance_", {}).get("columns")
    return getattr(estimator, "feature_names_in_", None) if found is None else found


def saved(model: Any, out: Path) -> None:
    """Write a model into a file."""
    from eigenstream.persistence import save

    save(model, out)


class Watched:
    """A stream that counts what passes, and shows it where that takes over a second.

    It reads as the stream does, which ``fit`` cannot tell from it. ``turn``, asked where a pass
    begins, says what is shown of it behind its rows.
    """

    def __init__(
        self,
        stream: Any,
        console: Console | None = None,
        *,
        quiet: float = QUIET_SECONDS,
        turn: Callable[[], str] = str,
    ) -> None:
        self._stream = stream
        self._quiet = quiet
        self._console = console or Console(stderr=True)
        self._progress: Progress | None = None
        self._task: Any = None
        self._since = perf_counter()
        self.rows = self._behind = 0
        self._turn, self._which = turn, ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __repr__(self) -> str:
        return repr(self._stream)

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    @property
    def seconds(self) -> float:
        """Return how long ago the last pass has begun."""
        return perf_counter() - self._since

    def keeping_holes(self) -> "Watched":
        """Read the stream with NaN where a value is missing, from now on."""
        self._stream = self._stream.keeping_holes()
        return self

    def chunks(self, skip: int = 0) -> Iterator[Any]:
        """Start a pass."""
        self._learn_steps()
        self._begin()
        self._which = self._turn()
        # What was read before an interruption counts, but not for the rate.
        self._behind = skip
        with closing(self._stream.chunks(skip)) as chunks:
            for chunk in chunks:
                yield chunk
                self._advance(len(chunk))

    def lagged_blocks(self, lag: int) -> Iterator[Any]:
        """Start a pass over blocks led by the rows before them."""
        self._learn_steps()
        self._begin()
        with closing(self._stream.lagged_blocks(lag)) as blocks:
            for block in blocks:
                yield block
                self._advance(block[0].shape[0] - lag)

    def _learn_steps(self) -> None:
        """Make, and show, the passes before: a step's, such as that of standardising."""
        self._begin()
        self._stream.learn_steps(self._advance)

    def _begin(self) -> None:
        self._since, self.rows, self._behind = perf_counter(), 0, 0
        self._which = ""

    def _expected(self) -> float | None:
        """Return how many rows there are, or will be if they go on as those so far."""
        known: int | None = self._stream.n_rows
        share: float | None = self._stream.share_read
        if known is not None or share is None:
            return known
        return (self._behind + self.rows) / share

    def _advance(self, rows: int) -> None:
        self.rows += rows
        quiet = self._progress is None and self.seconds < self._quiet
        if quiet or not self._console.is_terminal:
            return
        done, total = self._behind + self.rows, self._expected()
        rate = self.rows / self.seconds
        # What rich says of the time left begins anew whenever more or fewer rows are expected.
        left = "" if total is None else str(timedelta(seconds=round(max(total - done, 0) / rate)))
        how: dict[str, Any] = {"rate": f"{rate:,.0f} rows/s", "left": left, "which": self._which}
        if self._progress is None:
            columns = (
                TextColumn("{task.completed:,.0f} rows{task.fields[which]}"),
                BarColumn(24),
                TextColumn("{task.fields[rate]}"),
                TextColumn("{task.fields[left]}"),
            )
            self._progress = Progress(*columns, console=self._console, transient=True)
            self._task = self._progress.add_task("", total=total, completed=done, **how)
            self._progress.start()
        self._progress.update(self._task, completed=done, total=total, **how)


def spectrum(values: Any, width: int = 32, marks: str = BLOCKS) -> Iterator[str]:
    """Yield a line with a bar for each eigenvalue; those below zero have a lighter one.

    >>> for line in spectrum([2.0, 1.0, -0.5], width=8):
    ...     print(line)
      1            2  ████████
      2            1  ████
      3         -0.5  ░░
    """
    full, light = marks[0], marks[1]
    values = np.asarray(values, dtype=float)
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    for place, value in enumerate(values.tolist(), 1):
        bar = (full if value >= 0 else light) * round(width * abs(value) / largest)
        yield f"{place:3} {value:12.5g}  {bar}".rstrip()


def print_facts(title: str, facts: Mapping[str, str], values: Any = None) -> None:
    """Print what is known, a line each, and a spectrum below."""
    print(title)
    width = max(map(len, facts), default=0)
    for name, text in facts.items():
        print(f"  {name:{width}}  {text}")
    if values is not None:
        print()
        for line in spectrum(values, marks=_marks()):
            print(line)


def _marks() -> str:
    """Return what bars are made of, on a terminal that may not know blocks."""
    try:
        BLOCKS.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "#-"
    return BLOCKS


def names_of(sources: Any) -> str:
    """Return the number of sources and the names of the first ones."""
    shown = ", ".join(sources[:MOST_NAMED])
    more = f" and {len(sources) - MOST_NAMED} more" if len(sources) > MOST_NAMED else ""
    return f"{len(sources)}: {shown}{more}"


def print_json(found: Mapping[str, Any]) -> None:
    """Print one JSON object; what is no finite number is null."""
    print(json.dumps(_plain(found), allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)
