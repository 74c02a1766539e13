"""All figures of [DYN] on one page: theory as lines, simulations as points with error bars."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

from eigenstream.demo import Clock
from eigenstream.reports.base import PageTable, Report, Section
from papers.base import Effort, Outcome
from papers.dynamics._competitive import (
    N,
    learning_curves,
    phase_line,
    rest_states,
)
from papers.dynamics._explorer import explorer
from papers.dynamics._principal import (
    TRIED,
    cascade,
    lengths,
    lost_overlaps,
    stability,
)


@dataclass(frozen=True)
class Figures:
    """The figures, the finite-N saturation of plateaus, and the corrected stability region."""

    name: str = "dynamics"
    summary: str = "Plateaus and critical rates of competitive learning and Sanger's rule ([DYN])"
    #: Of the simulations in figure 2, a tenth of those in figure 1a.
    n_features: int = N
    #: N and the number of runs, where finite N ends the plateau.
    tried: Any = TRIED

    def figures(self) -> dict[str, Callable[[int], Any]]:
        """Return what makes each figure from a seed."""
        return {
            "1a": partial(learning_curves, n_features=self.n_features),
            "1b": phase_line,
            "2": partial(rest_states, n_features=self.n_features),
            "3a, 4b": cascade,
            "3b": lost_overlaps,
            "4a": partial(lengths, tried=self.tried),
            "stability": stability,
        }

    def missing(self) -> str | None:
        """Return None: no data are needed."""
        return None

    def run(self, effort: Effort, seeds: int, clock: Clock) -> Outcome:
        """Make each figure; its repetitions are runs of its own, so that seeds choose only which.

        The effort changes nothing: the whole takes seconds.
        """
        start = perf_counter()
        sections: list[Section] = []
        numbers: dict[str, Any] = {}
        figures = self.figures()
        clock.begin("figures", len(figures))
        for name, figure in figures.items():
            with clock.spent(name):
                section, numbers[name] = figure(seeds)
            sections.append(section)
            clock.advance(1)
        sides = {
            name: str(numbers[name]["points on the wrong side"]) for name in ("1b", "stability")
        }
        rows = [
            ("1b: simulated points on the wrong side", sides["1b"], "0"),
            ("4a: plateau per e-fold of X(0)", f"{-numbers['4a']['slope']:.2f}", "10.99"),
            ("stability: points on the wrong side", sides["stability"], "0"),
        ]
        table = PageTable(("", "measured", "theory"), rows)
        report = Report(
            title="The dynamics of on-line learning",
            lead=(
                "Overlaps of prototypes and units with the directions of the data: ordinary "
                "differential equations as lines, exact simulations at finite N as points."
            ),
            facts=(("seconds", f"{perf_counter() - start:.0f}"),),
            sections=(Section("Measured, and in theory", "", (table,)), explorer(), *sections),
        )
        return Outcome(table, report, {"seeds": seeds} | numbers)


EXPERIMENT = Figures()
