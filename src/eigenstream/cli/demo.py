"""``eigenstream demo``: learn from a page of print, and recognise new digits."""

from pathlib import Path
from typing import Annotated

from eigenstream.cli._options import Json
from eigenstream.cli._output import check_output, print_json, progress_bar
from eigenstream.core.files import replacing


def demo(
    out: Annotated[Path, "The report, an HTML file."] = Path("report.html"),
    views: Annotated[int, "The number of views to learn from."] = 20_000,
    seed: Annotated[int, "The seed of everything drawn at random."] = 0,
    json: Json = False,
) -> None:
    """Learn from a page of print seen through a turning window, and recognise rotated digits."""
    # Imported late: the other commands start ten times faster.
    from eigenstream import demo as experiment

    check_output(out, [], (".html", ".htm"))
    progress = progress_bar()

    class Bars(experiment.Clock):
        """A clock with a progress bar for each stage."""

        def begin(self, stage: str, total: int) -> None:
            self.task = progress.add_task(stage, total=total)

        def advance(self, steps: int) -> None:
            progress.advance(self.task, steps)

    with progress:
        results = experiment.run(views, seed, Bars())
    with replacing(out) as page:
        page.write(experiment.demo_page(results).html())
    if json:
        judged = {name: [scores.area, scores.error] for name, scores in results.judged.items()}
        facts = {"alpha": results.alpha, "area_and_error": judged, "report": str(out)}
        print_json(facts | {"seconds": results.seconds})
        return
    table = experiment.table(results)
    for row in table.header, *table.rows:
        print(f"{row[0]:16}" + "".join(f"{cell:>12}" for cell in row[1:]))
    print(
        f"\nThe report is in {out}; open it in a browser. "
        f"Next, try another page: eigenstream demo --seed {seed + 1}"
    )
