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
    info,
    lags,
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
    transform.transform: "model.eigs new.csv -o features.npy",
    evaluate.evaluate: "model.eigs test.csv --labels species",
    plot.plot: "model.eigs -o figure.png",
    info.info: "runs/*.csv --sequence day",
    merge.merge: "monday.eigs tuesday.eigs -o both.eigs",
    export.export: "model.eigs -o components.csv",
    lags.lags: "runs/*.csv --plot lags.png",
    demo.demo: "--seed 1 --out other.html",
}
for command, example in COMMANDS.items():
    name = command.__name__
    app.command(name, epilog=f"Example: eigenstream {name} {example}")(command)
research = typer.Typer(
    help="Predictions of the theory: error bounds and learning rates.",
    epilog="Example: eigenstream research bound slow --d 3 --m 1000000 --mixing independent",
)
research.add_typer(bound.app, name="bound")
research.add_typer(advise.app, name="advise")
app.add_typer(fit.app, name="fit")
app.add_typer(research, name="research")
