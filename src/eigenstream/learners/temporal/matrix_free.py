"""Learning without any matrix: the data are read again and again, and only the answer is kept."""

from typing import Any, Self

import numpy as np

from eigenstream._state import State, joined, part
from eigenstream.learners.base import Abilities, Solution
from eigenstream.learners.temporal.base import (
    Source,
    StreamLearner,
    StreamQuestion,
    StreamTask,
    check_not_vanishing,
)
from eigenstream.solvers.base import krylov_cost
from eigenstream.solvers.krylov import LaggedOperator

__all__ = ["MatrixFree"]


class MatrixFree(StreamLearner):
    """Keeps the answer of passes over rows in time order: nothing to go on from.

    Memory: some vectors of the rows' length. The data are not referred to afterwards.
    """

    kind = "matrix_free"
    abilities = Abilities(
        goes_on=False,
        merges=False,
        scatters=False,
        ratios=False,
        own_weights=False,
        any_number=False,
        all_positive=False,
    )

    def __init__(self, n_features: int, *, lag: int, center: bool) -> None:
        self.n_features = n_features
        self.lag = lag
        self.center = center
        self._answer: Solution | None = None
        self._counts = (0, 0, 0)

    @classmethod
    def cost(cls, n_rows: int, n_features: int) -> float:
        """Return the approximate number of multiplications that ``n_rows`` rows take."""
        return krylov_cost(n_rows, n_features)

    @classmethod
    def begun(cls, task: StreamTask) -> Self:
        """Return a learner that has seen nothing."""
        width, n = task.reward.n_features, task.n_components
        if not isinstance(n, int | np.integer) or n >= width:
            raise ValueError(
                f"solver='krylov' finds a few components of many: n_components must be a whole "
                f"number below the number of features, {width}, got {n!r}. Use solver='dense'."
            )
        return cls(width, lag=task.reward.lag, center=task.reward.center)

    def add(self, rows: Any, weights: Any = None, *, new_sequence: bool = False) -> None:
        """Refuse: one pass is not enough."""
        raise TypeError("a matrix-free learner reads all the data several times: use read.")

    def read(self, source: Source, question: StreamQuestion) -> None:
        """Find the answer to the question by as many passes over the source as it takes."""
        operator = LaggedOperator(
            lambda: source.lagged_blocks(self.lag), self.n_features, self.lag, self.center
        )
        self._counts = (source.n_rows, operator.count, int(operator.penalty_weight > 0))
        if operator.count:
            check_not_vanishing(float(np.abs(operator.mean).max()), operator.trace())
            self._answer = question.of_operator(operator, source.n_rows)

    def solution(self, question: Any) -> Solution:
        """Return the answer to the question that was put while the data were there."""
        assert self._answer is not None
        return self._answer

    @property
    def n_rows(self) -> int:
        """The number of rows read."""
        return self._counts[0]

    @property
    def n_terms(self) -> int:
        """The number of terms averaged."""
        return self._counts[1]

    @property
    def n_velocities(self) -> int:
        """Whether there is any term with a past to be compared with, as 0 or 1."""
        return self._counts[2]

    def state(self) -> State:
        """Return the answer as a flat dict of arrays, numbers and strings."""
        own = {"kind": self.kind, "n_features": self.n_features, "lag": self.lag}
        own |= {"center": self.center, "counts": list(self._counts)}
        return own if self._answer is None else own | joined(answer=self._answer.state())

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a learner with the answer of a ``state``."""
        learner = cls(int(state["n_features"]), lag=int(state["lag"]), center=bool(state["center"]))
        rows, terms, velocities = (int(count) for count in state["counts"])
        learner._counts = (rows, terms, velocities)
        answer = part(state, "answer")
        learner._answer = Solution.restored(answer) if answer else None
        return learner
