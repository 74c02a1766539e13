"""A page of pictures that teach: five neurons as they learn, each beside its theory."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from sklearn.exceptions import ConvergenceWarning

from eigenstream.demo import Clock
from eigenstream.reports.base import PageTable, Report, Section
from papers.base import Effort, Outcome
from papers.neurons._hebbian import oja, sanger
from papers.neurons._layers import exclusive_or
from papers.neurons._lesson import Lesson
from papers.neurons._linear import adaline, perceptron

#: Rows that the Hebbian units see, and passes of the network.
STEPS: dict[Effort, int] = {"quick": 5_000, "default": 20_000, "full": 100_000}
PASSES: dict[Effort, int] = {"quick": 500, "default": 1000, "full": 5000}


@dataclass(frozen=True)
class Lessons:
    """The classic neurons, in the order in which a teacher shows them."""

    name: str = "neurons"
    summary: str = "Perceptron, Adaline, Oja, Sanger, a multilayer perceptron: pictures and theory"

    def missing(self) -> str | None:
        """Return None: no data are needed."""
        return None

    def run(self, effort: Effort, seeds: int, clock: Clock) -> Outcome:
        """Let each neuron learn with so many seeds."""
        start = perf_counter()
        lessons: dict[str, Callable[[], Lesson]] = {
            "perceptron": lambda: perceptron(seeds),
            "adaline": lambda: adaline(seeds),
            "oja": lambda: oja(seeds, STEPS[effort]),
            "sanger": lambda: sanger(seeds, STEPS[effort]),
            "exclusive or": lambda: exclusive_or(seeds, PASSES[effort]),
        }
        clock.begin("lessons", len(lessons))
        found: dict[str, Lesson] = {}
        for name, lesson in lessons.items():
            with clock.spent(name), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                found[name] = lesson()
            clock.advance(1)
        table = PageTable(
            ("", "measured", "theory"),
            [row for lesson in found.values() for row in lesson.rows],
            caption="Mean ± standard deviation over the seeds, or their range.",
        )
        report = Report(
            title="The classic neurons, as they learn",
            lead=(
                "Units that learn from one example after the other, each by the rule of its "
                "textbook; and what theory says of each, beside what came out."
            ),
            facts=(("seeds", str(seeds)), ("seconds", f"{perf_counter() - start:.0f}")),
            sections=(
                Section("Measured, and in theory", "", (table,)),
                *(lesson.section for lesson in found.values()),
            ),
        )
        numbers = {"seeds": seeds} | {name: lesson.numbers for name, lesson in found.items()}
        return Outcome(table, report, numbers)


EXPERIMENT = Lessons()
