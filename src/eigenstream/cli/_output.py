"""Output of the commands: facts, JSON, a spectrum, progress and files."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from eigenstream.core.types import SECONDS, Facts, RowStream

if TYPE_CHECKING:
    from eigenstream.rows.chunk import Chunk

#: The endings of figures.
FIGURES = ".png", ".svg", ".pdf"

#: The number of values of a list that are shown.
MOST_SHOWN = 8

#: The width of the longest bar of a spectrum, in characters.
BAR_WIDTH = 32

#: The text in front of the progress of a pass.
ROWS = "{task.completed:,.0f} rows {task.description}"

#: Seconds of a pass before its progress is shown.
QUIET_SECONDS = 1.0

#: Seconds between the lines that show the progress of a pass where there is no terminal.
LINE_SECONDS = 30.0


def check_output(out: Path | None, inputs: Sequence[object], endings: tuple[str, ...] = ()) -> None:
    """Raise an error, before any work, if a file cannot or should not be written."""
    from eigenstream.core.files import check_writable

    if out is None:
        return
    if endings and out.suffix.lower() not in endings:
        raise ValueError(f"{out}: the name must end in {', '.join(endings)}.")
    sources = (Path(str(name).partition("::")[0]) for name in inputs)
    if out.resolve() in (source.resolve() for source in sources):
        raise ValueError(f"{out}: this would replace what is read. Name another file.")
    check_writable(out)


def command_line() -> str:
    """Return the words of this command as they would be typed, for the pages that it makes."""
    return shlex.join(["eigenstream", *sys.argv[1:]])


def save_figure(drawn: Any, out: Path) -> None:
    """Write a figure into a file, whole or not at all."""
    from eigenstream.core.files import replacing
    from eigenstream.plotting import save

    with replacing(out) as file:
        save(drawn, file.buffer, out.suffix[1:])


# ---- results -----------------------------------------------------------------------------------


def say(facts: Facts, sentence: str, as_json: bool) -> None:
    """Print results as one JSON object or as a sentence."""
    if as_json:
        print_json(facts)
    else:
        print(sentence)


def show(title: str, facts: Facts, as_json: bool) -> None:
    """Print results as one JSON object, or one a line with the eigenvalues as bars.

    >>> show(
    ...     "Model",
    ...     {"n_rows": 3000, "names": ["x", "y"], "alpha": None},
    ...     as_json=False,
    ... )
    Model
      n rows  3,000
      names   2: x, y
    """
    if as_json:
        print_json(facts)
        return
    print(title)
    lines = {name.replace("_", " "): as_text(value) for name, value in facts.items()}
    eigenvalues = facts.get("eigenvalues")
    lines.pop("eigenvalues", None)
    width = max(map(len, lines), default=0)
    for name, text in lines.items():
        if text:
            print(f"  {name:{width}}  {printable(text)}")
    if eigenvalues is None:
        return
    print()
    values = np.asarray(eigenvalues, dtype=float)
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    for place, value in enumerate(values.tolist(), 1):
        bar = ("#" if value >= 0 else "-") * round(BAR_WIDTH * abs(value) / largest)
        print(f"{place:3} {value:12.5g}  {bar}".rstrip())


def printable(text: str) -> str:
    r"""Return text with escapes for what could control a terminal, as names of columns could.

    >>> printable("heat\x1b[2J")
    'heat\\x1b[2J'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def as_text(value: object) -> str:
    """Return a value as text; empty for None and for what is empty.

    >>> pairs = {"equal": 3, "unequal": 4}
    >>> as_text(1234), as_text(0.5), as_text(pairs), as_text([])
    ('1,234', '0.5', 'equal 3, unequal 4', '')
    """
    if value is None:
        return ""
    if isinstance(value, Mapping):
        parts = [f"{name} {as_text(part)}".replace("_", " ") for name, part in value.items()]
        return ", ".join(parts[:MOST_SHOWN])
    if isinstance(value, np.ndarray | list | tuple):
        shown = ", ".join(map(as_text, value[:MOST_SHOWN])) + ", ..." * (len(value) > MOST_SHOWN)
        return f"{len(value)}: {shown}" if len(value) > 1 else shown
    if isinstance(value, float | np.floating):
        return f"{value:,.6g}"
    return f"{value:,}" if type(value) is int else str(value)


def interval(value: float, low: float | None = None, high: float | None = None) -> str:
    """Return a time scale with its interval as text.

    >>> interval(50.0), interval(50.0, 46.1, 53.6), interval(float("nan"))
    ('50', '50 [46.1, 53.6]', 'not distinguishable from chance')
    """
    if np.isnan(value):
        return "not distinguishable from chance"
    return f"{value:.4g}" if low is None else f"{value:.4g} [{low:.4g}, {high:.4g}]"


def print_json(facts: Facts) -> None:
    """Print one JSON object at once, also into a pipe. NaN and infinity become null."""
    print(json.dumps(_plain(facts), allow_nan=False), flush=True)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)


# ---- progress ----------------------------------------------------------------------------------


def terminal() -> Console:
    """Return the console of standard error, which is silent if that is no terminal."""
    return Console(stderr=True, quiet=not sys.stderr.isatty())


def waiting(what: str) -> Any:
    """Show on a terminal what is being done."""
    return terminal().status(what)


def progress_bar(text: str = "{task.description}") -> Progress:
    """Return a progress bar on standard error, with a text in front."""
    columns = TextColumn(text), BarColumn(24), TimeRemainingColumn(elapsed_when_finished=True)
    return Progress(*columns, console=terminal(), transient=True)


class Times:
    """The first and the last time, and the steps between rows of a sequence."""

    def __init__(self) -> None:
        self.ends: list[Any] = []
        self.last = self.shortest = self.longest = self.usual = np.nan
        self.n_repeated = 0
        self.are_dates = False

    def step(self, unit: str) -> float:
        """Return the usual step of dates in a unit of time, or 1 without dates or such a unit.

        It is the median of the steps of the first chunk, as in a report.
        """
        if unit in SECONDS and self.are_dates and np.isfinite(self.usual):
            return self.usual / SECONDS[unit]
        return 1.0

    def add(self, chunk: Any) -> None:
        """Include the times of a chunk."""
        from eigenstream.core.checks import usual_step

        if chunk.raw_times is None:
            return
        raw = chunk.raw_times[[0, -1]].astype(np.str_).tolist()
        self.ends = [(self.ends or raw)[0], raw[1]]
        self.are_dates = chunk.raw_times.dtype.kind not in "biuf"
        last = np.nan if chunk.new_sequence else self.last
        steps = np.diff(chunk.times, prepend=last)
        self.last = float(chunk.times[-1])
        self.n_repeated += int((steps == 0).sum())
        forward = steps[steps > 0]
        self.usual = usual_step(steps) if np.isnan(self.usual) else self.usual
        self.shortest = np.fmin(self.shortest, forward.min(initial=np.inf))
        self.longest = np.fmax(self.longest, forward.max(initial=-np.inf))

    def facts(self) -> Facts:
        """Return the facts by name, for rows with times."""
        if not self.ends:
            return {}
        steps = {"shortest_step": self.shortest, "longest_step": self.longest}
        return {"time": " to ".join(self.ends), **steps, "repeated_times": self.n_repeated}


class Watched(RowStream):
    """A stream that counts its rows and shows the progress of passes longer than a second."""

    #: The times of the rows of the last complete pass.
    times: Times

    def __init__(self, stream: Any) -> None:
        self._stream, self._progress = stream, progress_bar(ROWS)
        self._task = self._progress.add_task("")
        self.times = Times()
        self._begin(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __repr__(self) -> str:
        return repr(self._stream)

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    @property
    def seconds(self) -> float:
        """Return the time since the last pass began."""
        return perf_counter() - self._since

    def keeping_holes(self, *missing: str) -> "Watched":
        """Read the stream with NaN where a value is missing, or skip such rows, from now on."""
        self._stream = self._stream.keeping_holes(*missing)
        return self

    def chunks(self, skip: int = 0) -> Iterator["Chunk"]:
        """Start a pass, behind the passes that steps of preprocessing need."""
        self._begin(0)
        self._stream.learn_steps(self._advance)
        self._begin(skip)
        if skip:
            print(f"eigenstream: resuming at row {skip:,}", file=sys.stderr)
        times = Times()
        with closing(self._stream.chunks(skip)) as chunks:
            for chunk in chunks:
                yield chunk
                times.add(chunk)
                self._advance(len(chunk))
        self.times = times

    def _begin(self, skipped: int) -> None:
        self._since, self.rows, self._skipped = perf_counter(), 0, skipped
        self._next_line = LINE_SECONDS

    def _advance(self, rows: int) -> None:
        self.rows += rows
        done, total, share = self._skipped + self.rows, self._stream.n_rows, self._stream.share_read
        if total is None and share is not None:
            total = done / share  # an estimate from the bytes read so far
        self._progress.update(self._task, completed=done, total=total)
        self.note(f"{self.rows / self.seconds:,.0f} rows/s")

    def note(self, text: str) -> None:
        """Show a text after the number of rows, once the pass has taken a second."""
        self._progress.update(self._task, description=text)
        if self.seconds > QUIET_SECONDS:
            self._progress.start()
        if self._progress.console.quiet and self.seconds > self._next_line:
            self._next_line += LINE_SECONDS
            print(f"eigenstream: {self._skipped + self.rows:,} rows, {text}", file=sys.stderr)
