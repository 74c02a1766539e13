"""Learning from scatters: exact, mergeable, and solvable for any weights without another look."""

from typing import Any, Self

import numpy as np

from eigenstream._memory import chunk_rows
from eigenstream._state import State, joined, part
from eigenstream.contrast import Contrast
from eigenstream.learners.base import Abilities, Solution
from eigenstream.learners.temporal.base import (
    StreamLearner,
    StreamQuestion,
    StreamTask,
    check_not_vanishing,
)
from eigenstream.solvers.base import dense_cost

__all__ = ["FromScatters"]


class FromScatters(StreamLearner):
    """Keeps the scatters of a contrast of rows in time order.

    Memory: a D x D matrix a scatter, however long the stream. With ``precise`` rows in single
    precision are multiplied in double: weights that the data choose, and ratios, may rest on
    directions that are far smaller than what float32 products leave of the largest.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream.scatters import VarianceScatter
    >>> learner = FromScatters(Contrast(VarianceScatter(1)))
    >>> learner.add(np.array([[1.0], [3.0]]))
    >>> learner.n_terms, learner.contrast.matrix()
    (2, array([[1.]]))
    """

    kind = "scatters"
    abilities = Abilities()
    reads = ("scale",)
    contrast: Contrast

    def __init__(self, contrast: Contrast, *, precise: bool = False) -> None:
        self.contrast = contrast
        self.precise = precise
        self.n_features = contrast.n_features

    @classmethod
    def cost(cls, n_rows: int, n_features: int) -> float:
        """Return about how many products of numbers it takes to learn from so many rows."""
        return dense_cost(n_rows, n_features)

    @classmethod
    def begun(cls, task: StreamTask) -> Self:
        """Return a learner that has seen nothing."""
        return cls(task.contrast, precise=task.contrast.weights is None)

    def add(self, rows: Any, weights: Any = None, *, new_sequence: bool = False) -> None:
        """Learn from checked rows that follow the rows seen so far."""
        if not (self.precise and isinstance(rows, np.ndarray) and rows.dtype == np.float32):
            self.contrast.add_checked(rows, weights, new_sequence=new_sequence)
            return
        step = chunk_rows(self.n_features)  # not a copy of all of them
        for start in range(0, max(len(rows), 1), step):
            some = slice(start, start + step)
            self.contrast.add_checked(
                rows[some].astype(np.float64),
                None if weights is None else weights[some],
                new_sequence=new_sequence and start == 0,
            )

    def merge(self, later: Self, *, new_sequence: bool = False) -> Self:
        """Return what has learned this one's rows and then the later one's; neither is changed."""
        both = self.contrast.merge(later.contrast, new_sequence=new_sequence)
        return type(self)(both, precise=self.precise)

    def solution(self, question: StreamQuestion) -> Solution:
        """Return the answer of the scatters, which know the weights in it from then on."""
        radius = self.contrast.radius
        first = 0.0 if radius.first is None else float(np.abs(radius.first).max())
        size = max(float(np.abs(self.contrast.reward.mean).max()), first)
        check_not_vanishing(size, radius.about_origin**2)
        found = question.of_scatters(self.contrast)
        self.contrast.weights = found.details.get("weights")
        return found

    @property
    def n_rows(self) -> int:
        """The number of rows seen."""
        return self.contrast.n_rows

    @property
    def n_terms(self) -> int:
        """The number of terms averaged."""
        return self.contrast.reward.count

    @property
    def n_velocities(self) -> int:
        """The number of terms with a past to be compared with."""
        return 0 if self.contrast.penalty is None else self.contrast.penalty.count

    @property
    def sequence_rows(self) -> int:
        """The number of rows of the running sequence."""
        return self.contrast.reward.sequence_rows

    def state(self) -> State:
        """Return all that has been learned as a flat dict of arrays, numbers and strings."""
        own = {"kind": self.kind, "precise": self.precise}
        return own | joined(contrast=self.contrast.state())

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a learner that goes on from a ``state``, to the last bit."""
        # Files from before do not say: they go on as they have begun.
        precise = bool(state.get("precise", False))
        return cls(Contrast.restored(part(state, "contrast")), precise=precise)
