"""The ``eigenstream`` command, a file for each of its commands."""

import signal
import sys
from typing import Annotated, NoReturn

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

__all__ = ["app", "main"]

app = typer.Typer(
    cls=OneLineErrors,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line."""
    asked: list[int] = []

    def end(number: int, frame: object) -> NoReturn:
        asked.append(number)
        sys.exit(128 + number)

    # Asked to end, clean up on the way out: no partial file stays.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # Under nohup a signal is ignored, and so it stays.
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)
    try:
        app()
    except BaseException:
        # A compiler that is interrupted raises an error of its own instead.
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
        typer.Option("--version", callback=_show_version, is_eager=True, help="Say which version."),
    ] = False,
) -> None:
    """Learn low-dimensional features from streams, from time and from pairs."""
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command("demo", epilog="Example: eigenstream demo --seed 1 --out other.html")(demo.demo)
app.command("look", epilog="Example: eigenstream look runs/*.csv --sequence day")(look.look)
app.add_typer(fit.app, name="fit")
app.command(
    "transform", epilog="Example: eigenstream transform model.eigs new.csv -o features.npy"
)(transform.transform)
app.command("inspect", epilog="Example: eigenstream inspect model.eigs")(inspect.inspect)
app.command("export", epilog="Example: eigenstream export model.eigs -o components.csv")(
    export.export
)
app.command(
    "evaluate", epilog="Example: eigenstream evaluate model.eigs test.csv --labels species"
)(evaluate.evaluate)
app.command("plot", epilog="Example: eigenstream plot model.eigs -o figure.png")(plot.plot)
app.command("merge", epilog="Example: eigenstream merge monday.eigs tuesday.eigs -o both.eigs")(
    merge.merge
)
app.add_typer(bound.app, name="bound")
app.add_typer(advise.app, name="advise")
