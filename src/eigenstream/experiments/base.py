"""What experiments share: a clock, a listener for progress, and how features are measured."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from eigenstream._linalg import Float64s, Floats
from eigenstream.evaluation import PairROC, one_shot_error, pair_roc
from eigenstream.experiments.report import PageTable, Report

#: How much to watch: a tenth of the default, the default, or as much as the paper did.
Effort = Literal["quick", "default", "full"]


class Listener(Protocol):
    """What shows the progress of an experiment."""

    def begin(self, stage: str, total: int) -> None:
        """Begin to show a stage of so many steps."""

    def advance(self, steps: int) -> None:
        """Show that so many more steps of it are done."""


class Silence:
    """A listener that shows nothing."""

    def begin(self, stage: str, total: int) -> None:
        """Do nothing."""

    def advance(self, steps: int) -> None:
        """Do nothing."""


@dataclass
class Clock:
    """Seconds spent on each kind of work, and a listener that shows the progress.

    >>> clock = Clock()
    >>> with clock.spent("adding"):
    ...     total = sum(range(10))
    >>> list(clock.seconds)
    ['adding']
    """

    listener: Listener = field(default_factory=Silence)
    #: What measures: the time on the wall, or that of the running thread on its core.
    timer: Callable[[], float] = perf_counter
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def spent(self, work: str) -> Iterator[None]:
        """Add the time spent inside to this kind of work."""
        start = self.timer()
        try:
            yield
        finally:
            self.seconds[work] = self.seconds.get(work, 0.0) + self.timer() - start


@dataclass(frozen=True)
class Judged:
    """How well distances in some features tell classes."""

    curve: PairROC
    #: Of the nearest neighbour among one example of each class, over all choices of the examples.
    error: float

    @property
    def area(self) -> float:
        """The ROC area of the distance as a detector of class equality."""
        return self.curve.area


def judge(features: Floats, labels: NDArray[Any]) -> Judged:
    """Measure how well the distance of features tells whether classes are equal.

    >>> import numpy as np
    >>> found = judge(np.array([[0.0], [0.1], [5.0], [5.1]]), np.array(list("aabb")))
    >>> found.area, found.error
    (1.0, 0.0)
    """
    return Judged(pair_roc(features, labels), one_shot_error(features, labels).error)


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
