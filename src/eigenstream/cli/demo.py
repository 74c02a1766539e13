"""``eigenstream demo``: watch a page of print, then tell digits never seen."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from eigenstream._files import replacing
from eigenstream.cli import _data


def demo(
    out: Annotated[
        Path, typer.Option(help="Where the report goes, an HTML file.", dir_okay=False)
    ] = Path("report.html"),
    views: Annotated[int, typer.Option(help="How many views to learn from.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Of everything that is random.")] = 0,
    json: _data.Json = False,
) -> None:
    """Watch a page of print through a turning window; then tell rotated digits never seen."""
    # Imported here: the other commands start ten times faster without it.
    from eigenstream import demo as experiment
    from eigenstream.cli._terminal import own_name, print_table, progress_bars

    if out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--out {out}: the report is an HTML file. Name it {out.stem}.html.")
    console = Console()
    # The file is opened first: better to hear now than after the work that it cannot be written.
    with replacing(out) as page:
        with progress_bars() as clock:
            found = experiment.run(views, seed, clock)
        page.write(experiment.report(found).html())
    if json:
        judged = {
            name: {"one_shot_error": one.error, "roc_area": one.area}
            for name, one in found.judged.items()
        }
        told = {"views": views, "seed": seed, "alpha": found.alpha, "features": judged}
        _data.print_json(told | {"seconds": found.seconds, "report": str(out)})
        return
    print_table(console, experiment.table(found))
    console.print(
        f"The report is in [bold]{out}[/bold]; open it in a browser. "
        f"Next, try another page: {own_name()} demo --seed {seed + 1}",
        highlight=False,
        soft_wrap=True,
    )
