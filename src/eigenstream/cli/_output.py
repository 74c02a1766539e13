"""Output of the commands: facts, JSON, a spectrum, progress and files."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from math import isfinite
from pathlib import Path
from threading import Timer
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

__all__ = [
    "MOST_NAMED",
    "Watched",
    "check_output",
    "names_of",
    "print_facts",
    "print_json",
    "waiting",
]

#: Seconds of work before progress is shown; a larger value hides more.
QUIET_SECONDS = 1.0

#: The number of sources that are listed by name.
MOST_NAMED = 5

#: The width of the longest bar of a spectrum, in characters.
BAR_WIDTH = 32


def check_output(
    out: Path, inputs: list[str], endings: tuple[str, ...], option: str = "-o"
) -> None:
    """Raise an error, before any work, if a file cannot or should not be written."""
    from eigenstream._files import check_writable

    if out.suffix.lower() not in endings:
        known = ", ".join(endings)
        raise ValueError(
            f"{option} {out}: the name must end in {known}, such as {out.stem}{endings[0]}."
        )
    check_unread(out, inputs, option)
    check_writable(out)


def check_unread(out: Path, inputs: list[str], option: str) -> None:
    """Raise an error if an output file is one of the inputs."""
    for name in inputs:
        source = Path(name.partition("::")[0])
        if out.exists() and source.exists() and out.samefile(source):
            raise ValueError(f"{option} {out}: this would replace what is read. Name another file.")


def print_facts(title: str, facts: Mapping[str, str], values: Any = None) -> None:
    """Print a fact a line, and a spectrum below.

    >>> print_facts("Model", {"rows": "3", "solver": "dense"})
    Model
      rows    3
      solver  dense
    """
    print(title)
    width = max(map(len, facts), default=0)
    for name, text in facts.items():
        print(f"  {name:{width}}  {text}")
    if values is None:
        return
    print()
    # A terminal without Unicode cannot show blocks.
    unicode = (sys.stdout.encoding or "ascii").lower().startswith("utf")
    above, below = "█░" if unicode else "#-"
    values = np.asarray(values, dtype=float)
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    for place, value in enumerate(values.tolist(), 1):
        bar = (above if value >= 0 else below) * round(BAR_WIDTH * abs(value) / largest)
        print(f"{place:3} {value:12.5g}  {bar}".rstrip())


def names_of(sources: Any, number: int | None = None) -> str:
    """Return the number of sources and the names of the first ones.

    >>> names_of(["a", "b"]), names_of("abcdefg")
    ('2: a, b', '7: a, b, c, d, e and 2 more')
    """
    number = len(sources) if number is None else number
    shown = sources[:MOST_NAMED]
    more = f" and {number - len(shown)} more" if number > len(shown) else ""
    return f"{number}: {', '.join(shown)}{more}"


def print_json(found: Mapping[str, Any]) -> None:
    """Print one JSON object. NaN and infinity become null."""
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


@contextmanager
def waiting(
    what: str, console: Console | None = None, *, quiet: float = QUIET_SECONDS
) -> Iterator[None]:
    """Show on a terminal what is being done and for how long, once it has taken a second.

    >>> with waiting("counting"):
    ...     total = sum(range(10))
    """
    console = console or Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    progress = Progress(*columns, console=console, transient=True)
    progress.add_task(what, total=None)
    timer = Timer(quiet, progress.start)
    timer.daemon = True
    if console.is_terminal:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if timer.is_alive():
            timer.join()
        if progress.live.is_started:
            progress.stop()


class Watched:
    """A stream that counts its rows and shows the progress of passes longer than a second.

    ``seen``, if given, is a sample for a report: it is filled with the rows of each pass.
    """

    def __init__(
        self,
        stream: Any,
        console: Console | None = None,
        *,
        quiet: float = QUIET_SECONDS,
        seen: Any = None,
    ) -> None:
        self._stream = stream
        self._quiet = quiet
        self._console = console or Console(stderr=True)
        self._progress: Progress | None = None
        self.seen = seen
        self._begin(0)

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
        """Return the time since the last pass began."""
        return perf_counter() - self._since

    def keeping_holes(self) -> "Watched":
        """Read the stream with NaN where a value is missing, from now on."""
        self._stream = self._stream.keeping_holes()
        return self

    def chunks(self, skip: int = 0) -> Iterator[Any]:
        """Start a pass, behind the passes that steps of preprocessing need."""
        self._begin(0)
        self._stream.learn_steps(self._advance)
        self._begin(skip)
        if self.seen is not None:
            self.seen.begin()
        with closing(self._stream.chunks(skip)) as chunks:
            for chunk in chunks:
                if self.seen is not None:
                    self.seen.add(chunk)
                yield chunk
                self._advance(len(chunk))
        if self.seen is not None:
            self.seen.n_filled = self._stream.n_filled

    def _begin(self, skipped: int) -> None:
        self._since, self.rows, self._skipped = perf_counter(), 0, skipped

    def _advance(self, rows: int) -> None:
        self.rows += rows
        quiet = self._progress is None and self.seconds < self._quiet
        if quiet or not self._console.is_terminal:
            return
        done, total, share = self._skipped + self.rows, self._stream.n_rows, self._stream.share_read
        if total is None and share is not None:
            total = done / share  # an estimate from the bytes read so far
        if self._progress is None:
            columns = (
                TextColumn("{task.completed:,.0f} rows"),
                BarColumn(24),
                TextColumn("{task.description}"),
                TimeRemainingColumn(),
            )
            self._progress = Progress(*columns, console=self._console, transient=True)
            self._task = self._progress.add_task("")
            self._progress.start()
        rate = f"{self.rows / self.seconds:,.0f} rows/s"
        self._progress.update(self._task, completed=done, total=total, description=rate)
