"""Held-out scores of estimators with default parameters, compared with plain peers.

Each module of ``benchmarks/families`` yields trials. ``--family=maps`` runs a single family; with
``--store``, the stored tables of the others remain. Data sets are those of installed packages, and
those of the folder EIGENSTREAM_DATA.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules

import numpy as np

from benchmarks import families
from benchmarks._tools import RESULTS, show, shown

#: A default that is worse than a peer by more standard errors than this is listed.
LIMIT = 2.0


@dataclass(frozen=True)
class Trial:
    """Scores on one data set, one number for each seed or split; the default's come first."""

    measure: str
    data: str
    scores: dict[str, list[float]]
    larger_is_better: bool = True
    #: Columns that are shown and are no peers.
    variants: tuple[str, ...] = ()

    def lead(self, peer: str) -> tuple[float, float]:
        """Return the mean advantage of the default over a peer, and its standard error.

        >>> Trial("accuracy", "iris", {"ours": [0.9, 0.8], "LDA": [0.8, 0.8]}).lead("LDA")
        (0.05..., 0.05...)
        """
        ours, theirs = (np.asarray(self.scores[name]) for name in (next(iter(self.scores)), peer))
        gaps = (ours - theirs) * (1.0 if self.larger_is_better else -1.0)
        return mean_and_error(gaps)

    def losses(self) -> Iterator[list[str]]:
        """Yield a line for each peer that is better by more than LIMIT standard errors."""
        for peer in [name for name in list(self.scores)[1:] if name not in self.variants]:
            lead, error = self.lead(peer)
            if lead < -LIMIT * error:
                yield [self.measure, self.data, peer, f"{lead:.3f} ± {error:.3f}"]


def mean_and_error(values: object) -> tuple[float, float]:
    """Return the mean of some numbers and its standard error."""
    values = np.asarray(values, np.float64)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def table(title: str, trials: list[Trial]) -> None:
    """Show the scores of one measure, and their means over the data sets."""
    names = list(dict.fromkeys(name for trial in trials for name in trial.scores))
    lines, means = [], {name: [] for name in names}
    for trial in trials:
        cells = []
        for name in names:
            if name not in trial.scores:
                cells.append("")
                continue
            mean, error = mean_and_error(trial.scores[name])
            means[name].append(mean)
            cells.append(f"{mean:.3f} ± {error:.3f}")
        lines.append([trial.data, *cells])
    complete = [name for name in names if len(means[name]) == len(trials)]
    last = [f"{np.mean(means[name]):.3f}" if name in complete else "" for name in names]
    show(title, ["", *names], [*lines, ["mean", *last]])


def main() -> None:
    """Show a table for each measure of each family, and the defaults that lose."""
    wanted = [word.split("=")[1] for word in sys.argv if word.startswith("--family=")]
    if wanted and "--store" in sys.argv and (path := RESULTS / "defaults.json").exists():
        tables = json.loads(path.read_text(encoding="utf-8"))["tables"]
        shown.extend(t for t in tables if t["title"].split(":")[0] not in wanted)
    for family in wanted or sorted(module.name for module in iter_modules(families.__path__)):
        by_measure: dict[str, list[Trial]] = {}
        for trial in import_module(f"benchmarks.families.{family}").trials():
            by_measure.setdefault(trial.measure, []).append(trial)
        for measure, trials in by_measure.items():
            table(f"{family}: {measure}", trials)
        losses = [line for trials in by_measure.values() for t in trials for line in t.losses()]
        title = f"{family}: defaults worse than a peer by more than {LIMIT:g} standard errors"
        show(title, ["measure", "data", "peer", "lead"], losses or [["none", "", "", ""]])
