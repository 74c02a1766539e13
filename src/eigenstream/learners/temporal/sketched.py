"""Learning by the operator sketch: one pass, bounded memory, no step size."""

from typing import Any, Self

import numpy as np

from eigenstream._checks import warn_user
from eigenstream._state import State, joined, part
from eigenstream.learners.base import Abilities, Solution
from eigenstream.learners.sketch import (
    FIRST_ALPHA,
    OperatorSketch,
    SketchPlan,
    SketchSolution,
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

#: An alpha is promised to be right but for this share.
RIGHT = 0.05

#: Where directions come in slowly, each pass goes a quarter of the way that is left, at least: of
#: what a pass has moved, three times as much may be left.
LEFT = 3.0

#: Where one more direction would need an alpha larger by less than this share, the first pass may
#: stand still far from the right one.
APART = 0.1


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
        #: The alpha found after each pass, where it is looked for.
        self._alphas: list[float] = []

    @classmethod
    def begun(cls, task: StreamTask) -> Self:
        """Return a learner that has seen nothing."""
        reward, weights = task.reward, task.contrast.weights
        sketch = OperatorSketch(
            task.n_components,
            weights=weights or (FIRST_ALPHA, 1.0 - FIRST_ALPHA),
            search=weights is None,
            lag=reward.lag,
            center=reward.center,
            **{name: task.given[name] for name in cls.reads},
        )
        return cls(reward.n_features, sketch)

    def add(self, rows: Any, weights: Any = None, *, new_sequence: bool = False) -> None:
        """Learn from checked rows that follow the rows seen so far."""
        self._sketch.add(rows, weights, new_sequence=new_sequence)

    def read(self, source: Source, question: StreamQuestion) -> None:
        """Learn from all the rows, as many times as the source says: better each time."""
        for k in range(source.first_turn, source.passes):
            if k > source.first_turn:
                self._sketch = self._sketch.another_pass()
            super().read(source, question)
            if self._sketch.plan.search and self._sketch.n_terms:
                self._alphas.append(self._sketch.solution().weights[0])

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
        alpha = found.weights[0]
        if self._alphas and not found.exact:
            warn_of_doubt(found, [*self._alphas[:-1], alpha], self._sketch.plan)
        return question.of_estimate(found, alpha)

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


def warn_of_doubt(found: SketchSolution, alphas: list[float], plan: SketchPlan) -> None:
    """Warn where the alpha that the last of several passes has found may be wrong by more."""
    alpha, d = alphas[-1], plan.d
    another = f"give passes={len(alphas) + 1} to see, or solver='krylov', which finds it exactly."
    if len(alphas) > 1 and LEFT * abs(alphas[-2] / alpha - 1.0) > RIGHT:
        warn_user(
            f"the last pass has moved alpha from {alphas[-2]:.3g} to {alpha:.3g}, and another "
            f"one may move it further, as a rule down: {another}"
        )
    elif len(alphas) == 2 and _next(found, d) < (1.0 + APART) * alpha:
        warn_user(
            f"one more direction than n_components={d} would gain at an alpha next to "
            f"{alpha:.3g}: two passes tell such directions apart no better than one, so that it "
            f"may be too large; {another}"
        )
    elif not plan.promises(found.n_terms, len(found.mean)):
        warn_user(
            f"alpha={alpha:.3g} has been read from {found.n_terms} rows of {len(found.mean)} "
            "columns, less than 25 a column: it may be off by a tenth. solver='krylov' finds it "
            "exactly."
        )


def _next(found: SketchSolution, d: int) -> float:
    """Return the least weight at which one more direction than ``d`` would gain."""
    cut = len(found.mean) * float(np.finfo(np.float64).eps)
    return above(dense.smallest_positive_weight(found.rewarded, found.penalised, d + 1, cut))
