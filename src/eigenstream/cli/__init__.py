"""The ``eigenstream`` command, a file for each of its commands."""

import signal
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from eigenstream import __version__
from eigenstream.cli import (
    advise,
    bound,
    demo,
    evaluate,
    export,
    fit,
    inspect,
    look,
    merge,
    plot,
    transform,
)
from eigenstream.cli._refusals import OneLineErrors
from eigenstream.cli._running import UNDER_WAY

__all__ = ["app", "main"]

app = typer.Typer(
    cls=OneLineErrors,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line; a signal ends it cleanly, without a partial file."""
    asked: list[int] = []

    def end(number: int, frame: object) -> None:
        asked.append(number)
        if len(asked) == 1 and UNDER_WAY and UNDER_WAY[0].learning:
            UNDER_WAY[0].stop()
        else:
            sys.exit(128 + number)

    for name in "SIGINT", "SIGTERM", "SIGHUP":
        number = getattr(signal, name, None)
        # Under nohup signals stay ignored.
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)
    try:
        app()
    except BaseException:
        # An interrupted compiler raises another error.
        if asked:
            sys.exit(128 + asked[0])
        raise


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"eigenstream {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def eigenstream(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Learn low-dimensional features from streams, from time and from pairs."""
    if context.invoked_subcommand is None:
        print(context.get_help())


#: Each command with the arguments of its example.
COMMANDS: dict[Callable[..., None], str] = {
    demo.demo: "--seed 1 --out other.html",
    look.look: "runs/*.csv --sequence day",
    transform.transform: "model.eigs new.csv -o features.npy",
    inspect.inspect: "model.eigs",
    export.export: "model.eigs -o components.csv",
    evaluate.evaluate: "model.eigs test.csv --labels species",
    plot.plot: "model.eigs -o figure.png",
    merge.merge: "monday.eigs tuesday.eigs -o both.eigs",
}
for command, example in COMMANDS.items():
    name = command.__name__
    app.command(name, epilog=f"Example: eigenstream {name} {example}")(command)
for group in fit, bound, advise:
    app.add_typer(group.app, name=group.__name__.rpartition(".")[2])
