"""What takes long and reads no rows: it is said, once it has taken a second."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from eigenstream.cli._data import QUIET_SECONDS

__all__ = ["waiting"]


@contextmanager
def waiting(
    what: str, console: Console | None = None, *, quiet: float = QUIET_SECONDS
) -> Iterator[None]:
    """Say on a terminal what is being done, and for how long, until it is done.

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
