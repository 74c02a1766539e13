"""Learning by the operator sketch: one pass, bounded memory, no step size."""

from typing import Any, Self

from eigenstream._state import State, joined, part
from eigenstream.learners.base import Abilities, Solution
from eigenstream.learners.sketch import OperatorSketch
from eigenstream.learners.temporal.base import (
    Source,
    StreamLearner,
    StreamQuestion,
    StreamTask,
    check_not_vanishing,
)

__all__ = ["Sketched"]


class Sketched(StreamLearner):
    """Keeps the largest and the most negative directions of the sum of all terms, and its trace."""

    kind = "sketch"
    abilities = Abilities(
        scatters=False,
        ratios=False,
        own_weights=False,
        any_number=False,
        any_shares=False,
        all_positive=True,
        more_passes=True,
    )
    reads = ("forgetting", "block_size", "oversampling")

    def __init__(self, n_features: int, sketch: OperatorSketch) -> None:
        self.n_features = n_features
        self._sketch = sketch

    @classmethod
    def begun(cls, task: StreamTask) -> Self:
        """Return a learner that has seen nothing."""
        reward = task.reward
        sketch = OperatorSketch(
            task.n_components,
            lag=reward.lag,
            center=reward.center,
            weights=task.contrast.weights,
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
        for k in range(source.first_turn, source.passes):
            if k > source.first_turn:
                if self._sketch.exact:
                    break
                self._sketch = self._sketch.another_pass()
            super().read(source, question)

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
        return own | joined(sketch=self._sketch.state())

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a learner that goes on from a ``state``, to the last bit."""
        sketch = OperatorSketch.restored(part(state, "sketch"))
        return cls(int(state["n_features"]), sketch)
