"""The ``eigenstream`` command, a file for each of its commands."""

import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import Annotated

import typer

from eigenstream import __version__
from eigenstream.cli import fit
from eigenstream.cli._commands import Group, command, fail

__all__ = ["app", "main"]

app = typer.Typer(
    cls=Group,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line; a signal ends it cleanly, without a partial file.

    An unexpected error is one line and exit code 2, because 1 is an alarm of ``watch``.
    """
    asked: list[int] = []
    nothing = Path(os.devnull)  # closed streams are None
    sys.stdin = sys.stdin or nothing.open()
    sys.stdout, sys.stderr = sys.stdout or nothing.open("w"), sys.stderr or nothing.open("w")

    def end(number: int, frame: object) -> None:
        asked.append(number)
        if len(asked) == 1 and fit.UNDER_WAY and fit.UNDER_WAY[0].learning:
            fit.UNDER_WAY[0].stop()
        else:
            sys.exit(128 + number)

    for name in "SIGINT", "SIGTERM", "SIGHUP":
        number = getattr(signal, name, None)
        # Under nohup signals stay ignored.
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)
    try:
        app()
    except BaseException as problem:
        # An interrupted compiler raises another error.
        if asked:
            sys.exit(128 + asked[0])
        if not isinstance(problem, Exception):
            raise
        place = extract_tb(problem.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        fail(f"unexpected {type(problem).__name__}: {problem} ({where}). Please report it.")


@app.callback(invoke_without_command=True)
def eigenstream(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", metavar="", help="Print the version.")
    ] = False,
) -> None:
    """Learn low-dimensional features from streams, from time and from pairs."""
    if version:
        print(f"eigenstream {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


#: The module of each command, and the arguments of its example.
COMMANDS = {
    "transform": ("transform", "model.eigs new.csv -o features.npy"),
    "evaluate": ("evaluate", "model.eigs test.csv --labels species"),
    "plot": ("models", "model.eigs -o figure.png"),
    "info": ("info", "runs/*.csv --sequence day"),
    "merge": ("models", "monday.eigs tuesday.eigs -o both.eigs"),
    "export": ("models", "model.eigs -o components.csv"),
    "lags": ("lags", "runs/*.csv --plot lags.png"),
    "watch": ("watch", "model.eigs today.csv --reference good.csv --window 500"),
    "warmup": ("start", ""),
    "demo": ("start", "--seed 1 --out other.html"),
}
for name, (file, example) in COMMANDS.items():
    command(app, name, example)(getattr(import_module(f"eigenstream.cli.{file}"), name))
app.add_typer(fit.app, name="fit")
