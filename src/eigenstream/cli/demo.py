"""``eigenstream demo``: learn from a page of print, and recognise new digits."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from eigenstream._files import replacing
from eigenstream.cli._options import Json
from eigenstream.cli._output import print_json


def demo(
    out: Annotated[Path, typer.Option(help="The report, an HTML file.", dir_okay=False)] = Path(
        "report.html"
    ),
    views: Annotated[int, typer.Option(help="The number of views to learn from.")] = 20_000,
    seed: Annotated[int, typer.Option(help="The seed of everything drawn at random.")] = 0,
    json: Json = False,
) -> None:
    """Learn from a page of print seen through a turning window, and recognise rotated digits."""
    # Imported late: the other commands start ten times faster.
    from eigenstream import demo as experiment

    if out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--out {out}: the report is an HTML file. Name it {out.stem}.html.")
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(24),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=Console(stderr=True),
    )

    class Bars(experiment.Clock):
        """A clock with a progress bar for each stage."""

        def begin(self, stage: str, total: int) -> None:
            progress.start()
            self.task = progress.add_task(stage, total=total)

        def advance(self, steps: int) -> None:
            progress.advance(self.task, steps)

    # The file is opened first: an error comes before the work.
    with replacing(out) as page:
        try:
            found = experiment.run(views, seed, Bars())
        finally:
            if progress.tasks:
                progress.stop()
        page.write(experiment.report(found).html())
    if json:
        judged = {
            name: {"one_shot_error": one.error, "roc_area": one.area}
            for name, one in found.judged.items()
        }
        told = {"views": views, "seed": seed, "alpha": found.alpha, "features": judged}
        print_json(told | {"seconds": found.seconds, "report": str(out)})
        return
    console, table = Console(), experiment.table(found)
    drawn = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    for index, name in enumerate(table.header):
        # Folded, not cut: in a narrow window a number without its end is another number.
        drawn.add_column(name, justify="right" if index else "left", overflow="fold")
    for index, row in enumerate(table.rows):
        drawn.add_row(*row, style="bold cyan" if index in table.highlighted else None)
    console.print()
    console.print(drawn)
    console.print()
    console.print(
        f"The report is in [bold]{out}[/bold]; open it in a browser. "
        f"Next, try another page: eigenstream demo --seed {seed + 1}",
        highlight=False,
        soft_wrap=True,
    )
