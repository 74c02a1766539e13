"""``eigenstream reproduce``: the papers' tables and figures, ours beside them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from eigenstream._files import replacing
from eigenstream.cli import _data
from eigenstream.cli._terminal import print_table, progress_bars
from eigenstream.experiments.report import as_json


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Experiments by name, or all.", show_default=False),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    out: Annotated[
        Path, typer.Option(help="The folder for NAME.html and NAME.json.", file_okay=False)
    ] = Path("reports"),
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the observations.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="As many observations as the paper.")
    ] = False,
    seeds: Annotated[int, typer.Option(help="How many seeds to repeat everything with.")] = 3,
    json: _data.Json = False,
) -> None:
    """Make the papers' tables and figures again, with theirs beside ours."""
    from eigenstream._checks import check_whole
    from eigenstream.experiments import known
    from eigenstream.experiments.base import Clock, Effort

    console = Console()
    experiments = known()
    if listed:
        if names or quick or full:
            raise ValueError("--list goes alone.")
        if json:
            _data.print_json({name: one.summary for name, one in experiments.items()})
            return
        width = max(map(len, experiments))
        for name, experiment in experiments.items():
            print(f"{name:{width}}  {experiment.summary}")
        return
    wanted = _named(names or [], list(experiments))
    check_whole(seeds, "seeds")
    if quick and full:
        raise ValueError("--quick and --full exclude each other.")
    effort: Effort = "quick" if quick else "full" if full else "default"
    made: dict[str, Any] = {}
    with _folder(out):
        for name in _with_data(wanted, experiments, named="all" not in (names or [])):
            with (
                replacing(out / f"{name}.html") as page,
                replacing(out / f"{name}.json") as numbers,
            ):
                with progress_bars() as listener:
                    outcome = experiments[name].run(effort, seeds, Clock(listener))
                page.write(outcome.report.html())
                numbers.write(as_json(outcome.numbers))
            files = {"report": str(out / f"{name}.html"), "json": str(out / f"{name}.json")}
            made[name] = files | {"numbers": outcome.numbers}
            if json:
                continue
            console.print(f"[bold]{name}[/bold]", highlight=False)
            print_table(console, outcome.table)
            console.print(
                f"The report is in [bold]{out / name}.html[/bold], every number in {name}.json.",
                highlight=False,
                soft_wrap=True,
            )
    if json:
        _data.print_json(made)


def _named(names: list[str], experiments: list[str]) -> list[str]:
    """Return the experiments asked for, once each; refuse none and unknown ones."""
    if not names:
        raise ValueError(f"say which experiments: all, or some of {', '.join(experiments)}.")
    unknown = [name for name in names if name not in (*experiments, "all")]
    if unknown:
        raise ValueError(
            f"there is no experiment {unknown[0]!r}; known: {', '.join(experiments)}, or all."
        )
    return experiments if "all" in names else list(dict.fromkeys(names))


def _with_data(wanted: list[str], experiments: Any, named: bool) -> Iterator[str]:
    """Refuse an experiment asked for by name whose data are missing; of all, leave it out.

    What is left out is said when its turn comes: a refusal stands alone.
    """
    missing = {name: line for name in wanted if (line := experiments[name].missing())}
    if named and missing:
        raise ValueError("{}: {}".format(*next(iter(missing.items()))))
    for name in wanted:
        if name in missing:
            print(f"{name} is left out: {missing[name]}", file=sys.stderr)
        else:
            yield name


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    """Make a folder for what comes; take it away again if nothing did."""
    fresh = not path.exists()
    try:
        path.mkdir(exist_ok=True)
    except OSError as refusal:
        raise OSError(f"cannot make the folder {path}: {refusal.strerror}") from refusal
    try:
        yield
    finally:
        if fresh and not any(path.iterdir()):
            path.rmdir()
