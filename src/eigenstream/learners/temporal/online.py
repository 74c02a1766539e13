"""Learning online: one observation at a time by a rule, without any D x D matrix."""

from typing import Any, Self

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream._state import State, joined, part
from eigenstream.contrast import Contrast
from eigenstream.learners.base import Abilities, Solution
from eigenstream.learners.online import FlowSolver
from eigenstream.learners.temporal.base import (
    SMALLEST_VALUE,
    StreamLearner,
    StreamQuestion,
    StreamTask,
    check_not_vanishing,
)
from eigenstream.solvers import dense

__all__ = ["OnlineFlow"]


class OnlineFlow(StreamLearner):
    """Keeps the subspace that the Oja-Karhunen flow has come to, and the rows of one block.

    ``tracked`` are the scatters of the same rows, for a hook that asks how far the exact answer is.
    """

    kind = "flow"
    abilities = Abilities(
        merges=False,
        scatters=False,
        ratios=False,
        own_weights=False,
        any_number=False,
        all_positive=False,
        any_shares=False,
    )
    reads = ("schedule", "init", "forgetting", "block_size", "hook")

    def __init__(
        self, n_features: int, solver: FlowSolver, tracked: Contrast | None = None
    ) -> None:
        self.n_features = n_features
        self._solver = solver
        self._tracked = tracked

    @classmethod
    def begun(cls, task: StreamTask) -> Self:
        """Return a learner that has seen nothing."""
        reward, weights, hook = task.reward, task.contrast.weights, task.given["hook"]
        assert weights is not None
        solver = FlowSolver(
            task.n_components,
            weights=weights,
            lag=reward.lag,
            center=reward.center,
            hook_every=getattr(hook, "every", 1000),
            random_state=task.given["random_state"],
            **{name: task.given[name] for name in cls.reads},
        )
        tracked = task.contrast if getattr(hook, "exact", False) else None
        return cls(reward.n_features, solver, tracked)

    def add(self, rows: Any, weights: Any = None, *, new_sequence: bool = False) -> None:
        """Learn from checked rows that follow the rows seen so far.

        A step that is not finite raises ``UnstableStepError``; the blocks before it stay learned.
        """
        exact = None
        if self._tracked is not None:
            self._tracked.add_checked(rows, weights, new_sequence=new_sequence)
            exact = self._exact_columns
        self._solver.update(rows, weights, new_sequence=new_sequence, exact=exact)

    def _exact_columns(self) -> Float64s:
        """Return the exact answer on all the rows that have come in."""
        assert self._tracked is not None
        return dense.largest(self._tracked.matrix(), self._solver.plan.n_components).vectors

    def solution(self, question: StreamQuestion) -> Solution:
        """Return the answer so far, rows that wait for their block included."""
        found = self._solver.solution()
        # The gain looks at fourth powers.
        size = max(float(np.abs(found.mean).max()), np.sqrt(found.total))
        check_not_vanishing(size, found.total, np.sqrt(SMALLEST_VALUE))
        return question.of_estimate(found)

    @property
    def stopped(self) -> bool:  # type: ignore[override]
        """Whether a hook has ended the last ``add``."""
        return self._solver.stopped

    @property
    def n_rows(self) -> int:
        """The number of rows seen."""
        return self._solver.n_rows

    @property
    def n_terms(self) -> int:
        """The number of steps, taken and waiting."""
        return self._solver.n_terms

    @property
    def n_velocities(self) -> int:
        """The number of terms with a past to be compared with."""
        return self._solver.n_velocities

    @property
    def sequence_rows(self) -> int:
        """The number of rows of the running sequence."""
        return self._solver.sequence_rows

    def state(self) -> State:
        """Return all that has been learned, but for a hook: that is its owner's."""
        parts = {"solver": self._solver.state()}
        if self._tracked is not None:
            parts["tracked"] = self._tracked.state()
        return {"kind": self.kind, "n_features": self.n_features} | joined(**parts)

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a learner that goes on from a ``state``, to the last bit."""
        tracked = part(state, "tracked")
        return cls(
            int(state["n_features"]),
            FlowSolver.restored(part(state, "solver")),
            Contrast.restored(tracked) if tracked else None,
        )
