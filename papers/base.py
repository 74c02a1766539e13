"""What the reproductions share: their protocol, their outcome and ROC curves."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream.demo import Clock, Judged
from eigenstream.reports.base import PageTable, Report

#: How much to watch: a tenth of the default, the default, or as much as the paper did.
Effort = Literal["quick", "default", "full"]


@dataclass(frozen=True)
class Curve:
    """A ROC curve at a few hundred false positive rates, most of them small."""

    false_positive_rate: Float64s
    true_positive_rate: Float64s
    area: float

    @classmethod
    def of(cls, judged: Judged) -> "Curve":
        """Return a few hundred points of a curve that has one for each pair."""
        whole, levels = judged.curve, np.linspace(0.0, 1.0, 301) ** 2
        rates = np.interp(levels, whole.false_positive_rate, whole.true_positive_rate)
        # The curve starts at (0, 0), even where its first rate is already 1.
        return cls(np.append(0.0, levels), np.append(0.0, rates), judged.area)


@dataclass(frozen=True)
class Outcome:
    """What an experiment found: the table to print, the page to look at, every number."""

    table: PageTable
    report: Report
    #: As JSON holds it: dictionaries, lists, text, finite numbers.
    numbers: dict[str, Any]


class Experiment(Protocol):
    """A table or figure of a paper that can be made again by its name."""

    @property
    def name(self) -> str:
        """Its name on the command line and in file names."""

    @property
    def summary(self) -> str:
        """Which table or figure it is, in one line."""

    def missing(self) -> str | None:
        """Say in one line which data are missing and how to get them; None where none are."""

    def run(self, effort: Effort, seeds: int, clock: Clock) -> Outcome:
        """Run it with seeds 0, 1, ..., so many of them."""
