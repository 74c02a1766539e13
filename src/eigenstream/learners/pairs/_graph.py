"""Learning from pairs as edges between points, without their scatters: only the answer is kept."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream._state import State, joined, part
from eigenstream.evaluation.base import PairCounts
from eigenstream.learners.base import Abilities, Solution
from eigenstream.learners.pairs._eta import Fold
from eigenstream.learners.pairs._spaces import KernelSpace, RowSpace, Space
from eigenstream.learners.pairs.base import Evidence, PairLearner, PairQuestion, PairTask
from eigenstream.scatters.laplacians import Laplacian
from eigenstream.solvers.dual import PairOperator

__all__ = ["DUAL", "MATRIX_FREE", "GraphLearner"]

#: What can be done with T applied to vectors, and with T in the space of a kernel.
MATRIX_FREE = Abilities(goes_on=False, merges=False, scatters=False, ratios=False)
DUAL = Abilities(goes_on=False, merges=False, scatters=False, kernels=True)


class GraphLearner(PairLearner):
    """Keeps the answer of one look at all the pairs: nothing to go on from.

    T is ``Z^T L Z`` with points Z, which are rows or lie in the space of a kernel, and L the
    Laplacian of the graph whose edges are the pairs.
    """

    def __init__(
        self, n_features: int, given: dict[str, Any], *, sample_size: int | None = None
    ) -> None:
        self.n_features = n_features
        self._given = given
        self._sample_size = sample_size
        self._answer: Solution | None = None

    @classmethod
    def begun(cls, task: PairTask) -> Self:
        """Return a learner that has seen nothing."""
        names = ("kernel", "gamma", "group_weights")
        given = {name: task.given[name] for name in names if name in task.given}
        return cls(task.n_features, given, sample_size=task.sample_size)

    def add(self, given: Any) -> None:
        """Refuse: all pairs are looked at together."""
        raise TypeError("this learner looks at all the pairs together: use read.")

    def _space(self, points: Any) -> Space:
        """Return the points' space."""
        if self.abilities.kernels:
            return KernelSpace(points, self._given["kernel"], self._given["gamma"])
        return RowSpace(points)

    @property
    def _precomputed(self) -> bool:
        """Whether what comes as rows is a Gram matrix."""
        return bool(self._given["kernel"] == "precomputed")

    def _diameter(self, points: Any, of_rows: Callable[[], float]) -> float:
        """Return what no two points can be farther apart than."""
        if self._precomputed:
            return 2.0 * float(np.sqrt(max(np.diagonal(points).max(), 0.0)))
        return float(np.sqrt(2.0)) if self._given["kernel"] == "rbf" else of_rows()

    def _evidence(
        self,
        operator: PairOperator,
        groupings: Sequence[Callable[[], Sequence[Fold]]],
        counts: Callable[[Float64s], PairCounts],
        diameter: float,
        mean: Float64s,
        n_rows: int,
    ) -> Evidence:
        pairs: Laplacian = operator.pairs
        return Evidence(
            operator=operator,
            n_different=pairs.n_different,
            n_same=pairs.n_same,
            rounding=operator.n_features * float(np.finfo(np.float64).eps),
            groupings=groupings,
            counts=counts,
            diameter=diameter,
            mean=mean,
            n_rows=n_rows,
        )

    def solution(self, question: PairQuestion) -> Solution:
        """Return the answer to the question that was put while the data were there."""
        assert self._answer is not None
        return self._answer

    @property
    def n_rows(self) -> int:
        """The number of pairs (or rows) seen."""
        return 0 if self._answer is None else self._answer.n_rows

    @property
    def n_terms(self) -> int:
        """Whether there is an answer, as 0 or 1."""
        return int(self._answer is not None)

    def state(self) -> State:
        """Return the answer as a flat dict of arrays, numbers and strings."""
        given = {name: value for name, value in self._given.items() if value is not None}
        own = {"kind": self.kind, "n_features": self.n_features} | joined(given=given)
        return own if self._answer is None else own | joined(answer=self._answer.state())

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a learner with the answer of a ``state``."""
        learner = cls(int(state["n_features"]), {"gamma": None} | part(state, "given"))
        answer = part(state, "answer")
        learner._answer = Solution.restored(answer) if answer else None
        return learner
