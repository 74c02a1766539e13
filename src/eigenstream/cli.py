"""The ``eigenstream`` command."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table as TerminalTable
from typer.core import TyperGroup

from eigenstream import __version__
from eigenstream.experiments._report import Table, replacing

#: What typer raises about the command line, wherever its version keeps the class.
UsageProblem: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


class OneLineErrors(TyperGroup):
    """A command whose refusals are one line and exit code 2, never a traceback."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line; what is wrong with it or with its files is said in one line."""
        options["standalone_mode"] = False
        try:
            code = super().main(*args, **options)
        except (ValueError, TypeError, OSError) as problem:
            refuse(str(problem))
        except UsageProblem as problem:
            refuse(problem.format_message())
        except (typer.Abort, KeyboardInterrupt):
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


def refuse(message: str) -> NoReturn:
    """End the command with one line that says what was wrong.

    >>> refuse("views must be a whole number of at least 1000, got 3.")
    Traceback (most recent call last):
        ...
    SystemExit: 2
    """
    print("eigenstream:", " ".join(message.split()), file=sys.stderr)
    sys.exit(2)


app = typer.Typer(
    cls=OneLineErrors,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line."""
    app()


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"eigenstream {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def eigenstream(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Say which version."),
    ] = False,
) -> None:
    """Learn low-dimensional features from streams, from time and from pairs."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(help="Where the report goes, an HTML file.", dir_okay=False)
    ] = Path("report.html"),
    views: Annotated[int, typer.Option(help="How many views to learn from.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Of everything that is random.")] = 0,
) -> None:
    """Watch a page of print through a turning window; then tell rotated digits never seen."""
    from eigenstream.experiments import demo as experiment
    from eigenstream.experiments.base import Clock

    console = Console()
    # The file is opened first: better to hear now than after the work that it cannot be written.
    with replacing(out) as page:
        with _progress() as listener:
            found = experiment.run(views, seed, Clock(listener))
        page.write(experiment.report(found).html())
    _print_table(console, experiment.table(found))
    console.print(
        f"The report is in [bold]{out}[/bold]; open it in a browser. "
        f"Next, try another page: {_own_name()} demo --seed {seed + 1}",
        highlight=False,
        soft_wrap=True,
    )


class _Bars:
    """A listener with a progress bar for each stage."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.task: TaskID | None = None

    def begin(self, stage: str, total: int) -> None:
        self.progress.start()  # not before there is something to show
        self.task = self.progress.add_task(stage, total=total)

    def advance(self, steps: int) -> None:
        if self.task is not None:
            self.progress.advance(self.task, steps)


@contextmanager
def _progress() -> Iterator[_Bars]:
    columns = (TextColumn("{task.description}"), BarColumn(24), TimeElapsedColumn())
    progress = Progress(*columns, console=Console(stderr=True))
    try:
        yield _Bars(progress)
    finally:
        if progress.live.is_started:
            progress.stop()


def _own_name() -> str:
    """Return what to type to get this command again."""
    typed = Path(sys.argv[0])
    if typed.name.startswith("eigenstream"):
        return "eigenstream" if which("eigenstream") else str(typed)
    return "python -m eigenstream"


def _print_table(console: Console, table: Table) -> None:
    drawn = TerminalTable(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    for index, name in enumerate(table.header):
        drawn.add_column(name, justify="left" if index == 0 else "right")
    for index, row in enumerate(table.rows):
        drawn.add_row(*row, style="bold cyan" if index in table.highlighted else None)
    console.print()
    console.print(drawn)
    console.print()


__all__ = ["app", "main"]
