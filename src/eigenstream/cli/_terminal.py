"""What the commands show on the terminal: progress bars and tables."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table as TerminalTable

from eigenstream.demo import Clock
from eigenstream.reports.base import PageTable


class Bars(Clock):
    """A clock with a progress bar for each stage."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self.progress = progress
        self.task: TaskID | None = None

    def begin(self, stage: str, total: int) -> None:
        self.progress.start()  # not before there is something to show
        self.task = self.progress.add_task(stage, total=total)

    def advance(self, steps: int) -> None:
        if self.task is not None:
            self.progress.advance(self.task, steps)


@contextmanager
def progress_bars() -> Iterator[Bars]:
    left = TimeRemainingColumn(elapsed_when_finished=True)
    columns = (TextColumn("{task.description}"), BarColumn(24), left)
    progress = Progress(*columns, console=Console(stderr=True))
    try:
        yield Bars(progress)
    finally:
        if progress.live.is_started:
            progress.stop()


def own_name() -> str:
    """Return what to type to get this command again."""
    typed = Path(sys.argv[0])
    if typed.name.startswith("eigenstream"):
        return "eigenstream" if which("eigenstream") else str(typed)
    return "python -m eigenstream"


def print_table(console: Console, table: PageTable) -> None:
    drawn = TerminalTable(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    for index, name in enumerate(table.header):
        # Folded, not cut: in a narrow window a number without its end is another number.
        drawn.add_column(name, justify="left" if index == 0 else "right", overflow="fold")
    for index, row in enumerate(table.rows):
        drawn.add_row(*row, style="bold cyan" if index in table.highlighted else None)
    console.print()
    console.print(drawn)
    console.print()
