"""Learning by the operator sketch: one pass, bounded memory, no step size."""

from typing import Any, Self

import numpy as np

from eigenstream._checks import warn_user
from eigenstream._state import State, joined, part
from eigenstream.learners.base import Abilities, Solution
from eigenstream.learners.sketch import (
    OperatorSketch,
    SketchPlan,
    SketchSolution,
    begun_with,
)
from eigenstream.learners.temporal.base import (
    Source,
    StreamLearner,
    StreamQuestion,
    StreamTask,
    check_not_vanishing,
)
from eigenstream.solvers import dense
from eigenstream.solvers.base import above

__all__ = ["Sketched"]

#: An alpha is right but for this share, as a rule; the pass after the second moves it by less.
RIGHT = 0.05

#: By how much of itself a second pass may bring alpha down: so many times the ratio of the next
#: direction's alpha to it. Where many directions gain at about the same alpha, that is noise in
#: which the d-th may still be hidden (measured: docs/mathematics.md).
FALLEN = 0.12

#: By how much of it alpha may lie above the weight that the pass has decided by, what to keep.
ABOVE = 0.2


class Sketched(StreamLearner):
    """Keeps the largest and the most negative directions of the sum of all terms, and its trace."""

    kind = "sketch"
    abilities = Abilities(
        scatters=False,
        ratios=False,
        any_weights=False,
        any_number=False,
        any_shares=False,
        all_positive=True,
        more_passes=True,
        weights_in_passes=True,
    )
    reads = ("forgetting", "block_size", "oversampling")

    def __init__(self, n_features: int, sketch: OperatorSketch) -> None:
        self.n_features = n_features
        self._sketch = sketch
        #: The alpha found by each pass but the last, where it is looked for.
        self._alphas: list[float] = []

    @classmethod
    def begun(cls, task: StreamTask) -> Self:
        """Return a learner that has seen nothing."""
        reward = task.reward
        sketch = OperatorSketch(
            task.n_components,
            lag=reward.lag,
            center=reward.center,
            **begun_with(task.contrast.weights),
            **{name: task.given[name] for name in cls.reads},
        )
        return cls(reward.n_features, sketch)

    def add(self, rows: Any, weights: Any = None, *, new_sequence: bool = False) -> None:
        """Learn from checked rows that follow the rows seen so far."""
        self._sketch.add(rows, weights, new_sequence=new_sequence)

    def read(self, source: Source, question: StreamQuestion) -> None:
        """Learn from all the rows, as many times as the source says: better each time.

        Where nothing has been cut off, all is known, and the rows are not read again.
        """
        search = self._sketch.plan.search
        for k in range(source.first_turn, source.passes):
            if k > source.first_turn:
                if self._sketch.exact:
                    break
                if search and self._sketch.n_terms:
                    self._alphas.append(self._sketch.solution().weights[0])
                self._sketch = self._sketch.another_pass()
            super().read(source, question)
        if search and self._sketch.n_terms and not self._sketch.exact:
            check_found(self._sketch.solution(), self._alphas, self._sketch.plan)

    def merge(self, later: Self, *, new_sequence: bool = False) -> Self:
        """Return what has learned this one's rows and then the later one's; neither is changed.

        What either has cut off is lost: exact only where nothing is (see docs/online.md).
        """
        both = self._sketch.merge(later._sketch, new_sequence=new_sequence)
        return type(self)(self.n_features, both)

    def solution(self, question: StreamQuestion) -> Solution:
        """Return the answer so far, rows that wait for their block included."""
        found = self._sketch.solution()
        size = max(float(abs(found.mean).max()), found.total**0.5)
        check_not_vanishing(size, found.total)
        if not self._sketch.plan.search:
            return question.of_estimate(found)
        return question.of_estimate(found, found.weights[0])

    @property
    def n_rows(self) -> int:
        """The number of rows seen."""
        return self._sketch.n_rows

    @property
    def n_terms(self) -> int:
        """The number of terms learned, or waiting."""
        return self._sketch.n_terms

    @property
    def n_velocities(self) -> int:
        """The number of terms with a past to be compared with."""
        return self._sketch.n_velocities

    @property
    def sequence_rows(self) -> int:
        """The number of rows of the running sequence."""
        return self._sketch.sequence_rows

    def state(self) -> State:
        """Return all that has been learned as a flat dict of arrays, numbers and strings."""
        own = {"kind": self.kind, "n_features": self.n_features}
        return own | {"alphas": np.array(self._alphas)} | joined(sketch=self._sketch.state())

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a learner that goes on from a ``state``, to the last bit."""
        sketch = OperatorSketch.restored(part(state, "sketch"))
        learner = cls(int(state["n_features"]), sketch)
        learner._alphas = np.asarray(state["alphas"], np.float64).tolist()
        return learner


def check_found(found: SketchSolution, before: list[float], plan: SketchPlan) -> None:
    """Refuse an alpha that is not settled; say of another one what it is.

    No sketch can tell that it has missed nothing: the others look alike. Nothing is wrong with one
    that is exact, or that no second pass has looked for.
    ``before`` are those of the passes before the last one.
    """
    if found.exact or not before:
        return
    alpha, fallen = found.weights[0], before[-1] / found.weights[0] - 1.0
    doubt = ""
    if alpha > (1.0 + ABOVE) * found.frame_weights[0]:
        doubt = (
            f"the last pass has looked for directions at {found.frame_weights[0]:.3g}, and has "
            f"lost some that gain at less than the {alpha:.3g} it has found"
        )
    elif len(before) > 1 and abs(fallen) > RIGHT:
        doubt = f"the last pass has moved it from {before[-1]:.3g} to {alpha:.3g}"
    elif len(before) == 1 and fallen > FALLEN * _next(found, plan.d) / alpha:
        doubt = f"the second pass has brought it down from {before[-1]:.3g} to {alpha:.3g}"
    n, D = found.n_rows, len(found.mean)
    if doubt:
        raise ValueError(
            f"alpha='auto' is not settled after {len(before) + 1} passes over {n} rows of {D} "
            f"columns: {doubt}. Give passes={len(before) + 2}, or alpha={alpha:.3g} to take it as "
            "it is; solver='krylov' finds it exactly."
        )
    doubt = (
        f"is that of the directions that a sketch of {D} columns has found: where slow ones much "
        "smaller than the others are missing it is too large"
    )
    if not plan.promises(n, D):
        doubt = (
            f"has been read from {n} rows of {D} columns, less than 25 a column: it may be far too "
            "large"
        )
    warn_user(
        f"alpha={alpha:.3g} {doubt}. solver='krylov' finds it exactly; give alpha={alpha:.3g} to "
        "take it as it is."
    )


def _next(found: SketchSolution, d: int) -> float:
    """Return the least weight at which one more direction than ``d`` would gain."""
    cut = len(found.mean) * float(np.finfo(np.float64).eps)
    return above(dense.smallest_positive_weight(found.rewarded, found.penalised, d + 1, cut))
