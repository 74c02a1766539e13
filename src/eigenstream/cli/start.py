"""``eigenstream warmup`` and ``eigenstream demo``: for a new installation."""

import gc
import warnings
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np

import eigenstream as es
from eigenstream.cli._options import Json
from eigenstream.cli._output import check_output, print_json, progress_bar, say, waiting
from eigenstream.core.files import replacing


def warmup(json: Json = False) -> None:
    """Compile the loops of all estimators, which otherwise happens at their first use.

    Compiled loops are stored on disk, and later runs load them. The exact solvers of fit slow, pca,
    classes and pairs need no loops.
    """
    from eigenstream.evaluation import one_shot_error, pair_roc
    from eigenstream.kernels.base import NOTICE

    begun = perf_counter()
    rows, labels = np.random.default_rng(0).standard_normal((600, 4)), np.arange(600) % 2
    estimators: list[Any] = [
        *(es.SlowSubspace(1, alpha=0.5, solver="flow"), es.OjaNeuron(), es.SangerNetwork(2)),
        *(es.Perceptron(max_iter=1), es.Adaline(max_iter=1), es.MultilayerPerceptron(max_iter=1)),
        *(es.CompetitiveLearning(2), es.CompetitiveLearning(2, assignment="rank")),
        *(es.SelfOrganizingMap((2, 2)), es.SelfOrganizingMap((30, 30), max_iter=1)),
    ]
    gc.disable()  # collections would take a tenth of the time
    with waiting("compiling"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits too short to converge
        for estimator in estimators:  # loops of float32 rows are the same
            estimator.fit(rows, labels)
        one_shot_error(rows, labels)
        pair_roc(rows, labels)
    gc.enable()
    seconds = perf_counter() - begun
    text = f"Compiled in {seconds:.0f} s." if NOTICE.done else "All loops are compiled already."
    say({"compiled": NOTICE.done, "seconds": seconds}, text, json)


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
