"""Learning from pairs and from labels in one pass without any D x D matrix."""

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from eigenstream._linalg import Float64s
from eigenstream._state import State, joined, part
from eigenstream.evaluation.pair_risk import TrainingRows
from eigenstream.learners.base import Abilities, Solution
from eigenstream.learners.online import FlowSolver
from eigenstream.learners.pairs._couples import READS, Couples, flow_for
from eigenstream.learners.pairs._hashes import pair_hashes
from eigenstream.learners.pairs._labels import columns_of, training_rows, with_training_rows
from eigenstream.learners.pairs._samples import ClassSample, PairSample, sample_size
from eigenstream.learners.pairs._training import TrainingPairs
from eigenstream.learners.pairs._values import LabelledRows, Pairs, farthest_apart, plain
from eigenstream.learners.pairs.base import (
    PairLearner,
    PairQuestion,
    PairSource,
    PairTask,
    with_training,
)
from eigenstream.pair_sampling import LabelledPairs
from eigenstream.scatters.radius_bound import RadiusBound

__all__ = ["LabelsOnline", "PairsOnline"]

#: How many rows back a labelled row finds its partners, at most: as far as 32 MB of rows reach.
REACH = 4096

#: Labelled rows that are turned into pairs at a time.
ROWS_AT_A_TIME = 1024

#: What the flow on couples can do, and the parameters that it reads.
ONLINE = Abilities(
    merges=False,
    scatters=False,
    ratios=False,
    own_weights=False,
    any_number=False,
    all_positive=False,
    any_shares=False,
)


class PairsOnline(PairLearner):
    """Keeps the subspace that the flow on couples of pairs has come to, and a sample of the pairs.

    Memory: some thousand pairs.
    """

    kind = "pairs_flow"
    abilities = ONLINE
    reads: ClassVar[tuple[str, ...]] = READS
    SOLVER: ClassVar[Any] = FlowSolver
    COUPLES_FOR: ClassVar[Any] = staticmethod(flow_for)

    def __init__(self, n_features: int, couples: Couples) -> None:
        self.n_features = n_features
        self.couples = couples
        self.sample = PairSample(n_features)
        self.farthest = 0.0

    @classmethod
    def begun(cls, task: PairTask) -> Self:
        """Return a learner that has seen nothing."""
        learner = cls(task.n_features, cls.COUPLES_FOR(task))
        learner.sample = PairSample(task.n_features, task.sample_size)
        return learner

    def add(self, given: Pairs) -> None:
        """Learn from more checked pairs; those of one sign wait for the other."""
        self._learn(given)

    def _learn(self, given: Pairs) -> Any:
        """Learn; return what the pairs are known by when they come again."""
        self.farthest = max(self.farthest, farthest_apart(given))
        self.couples.add(given)
        hashes = pair_hashes(given)
        self.sample.add(hashes, given, np.full(len(given), -1, np.int8))
        return hashes

    def read(self, source: PairSource, question: PairQuestion) -> Solution | None:
        """Learn from all the pairs of a source; return the answer to a question."""
        hashes = np.concatenate([self._learn(some) for some in source.parts()])
        if self.n_terms == 0:
            return None
        found = self.solution(question)
        return with_training(found, TrainingPairs.of_all(source, found.pairs.vectors, hashes))

    def solution(self, question: PairQuestion) -> Solution:
        """Return the answer so far, pairs that wait included where they have a partner."""
        estimate, weights = self.couples.solution(), self.couples.weights
        found = question.of_estimate(estimate, weights, self.farthest)
        return Solution(found.pairs, np.zeros(self.n_features), self.couples.seen, found.details)

    def training(self, solution: Solution) -> TrainingPairs:
        """Return the pairs that were learned from, as they lie after a solution."""
        trained = part(solution.details, "trained")
        if trained:
            return TrainingPairs.restored(trained)
        return TrainingPairs.of_sample(self.sample, solution.pairs.vectors)

    @property
    def n_rows(self) -> int:
        """The number of pairs seen."""
        return self.couples.seen

    @property
    def n_terms(self) -> int:
        """The number of steps taken, and of negative pairs that wait for a positive one."""
        return self.couples.n_terms

    def state(self) -> State:
        """Return all that has been learned as a flat dict of arrays, numbers and strings."""
        own = {"kind": self.kind, "n_features": self.n_features, "farthest": self.farthest}
        return own | joined(couples=self.couples.state(), sample=self.sample.state())

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a learner that goes on from a ``state``, to the last bit."""
        learner = cls(
            int(state["n_features"]), Couples.restored(part(state, "couples"), cls.SOLVER)
        )
        learner.sample = PairSample.restored(part(state, "sample"))
        learner.farthest = float(state["farthest"])
        return learner


class LabelsOnline(PairLearner):
    """The flow on pairs that a stream of labelled rows makes, drawn in bounded memory.

    A row meets rows of its reach only, so that a stream sorted by class says little; ``read``,
    which has all rows, takes them in random order.
    """

    kind = "labels_flow"
    abilities = ONLINE
    reads: ClassVar[tuple[str, ...]] = READS
    SOLVER: ClassVar[Any] = FlowSolver
    COUPLES_FOR: ClassVar[Any] = staticmethod(flow_for)

    def __init__(self, couples: Couples, stream: LabelledPairs, width: int, weights: str) -> None:
        self.n_features = width
        self.couples = couples
        self.stream = stream
        self.group_weights = weights
        self.mean = np.zeros(width)
        self.seen = 0
        self.sample = ClassSample(width)
        self.radius = RadiusBound()

    @classmethod
    def begun(cls, task: PairTask) -> Self:
        """Return a learner that has seen nothing."""
        width = task.n_features
        seed = check_random_state(task.given["random_state"]).randint(2**31)
        stream = LabelledPairs(memory=sample_size(width, REACH), random_state=seed)
        learner = cls(cls.COUPLES_FOR(task), stream, width, task.given["group_weights"])
        learner.sample = ClassSample(width, task.sample_size)
        return learner

    @property
    def first_row(self) -> Float64s | None:  # type: ignore[override]
        """The first of all rows that weigh anything."""
        return self.radius.first

    def add(self, given: LabelledRows) -> None:
        """Learn from the next checked rows of the stream."""
        self.radius.add(given.rows, given.weights)
        self.sample.add(given)
        for some in self._pieces(given):
            rows = self._learn(some)
            self.seen += len(rows)
            self.mean += (rows - self.mean).sum(axis=0) / self.seen

    @staticmethod
    def _pieces(given: LabelledRows) -> Iterator[LabelledRows]:
        """Hand out the rows that weigh anything, some at a time."""
        given = given.weighing
        for start in range(0, len(given), ROWS_AT_A_TIME):
            yield given.chosen(slice(start, start + ROWS_AT_A_TIME))

    def _learn(self, some: LabelledRows) -> Float64s:
        """Learn from the pairs that some rows make; return the rows."""
        rows = np.asarray(plain(some.rows), np.float64)
        pairs, signs = self.stream.pairs(rows, some.labels, some.groups)
        if len(pairs):
            self.couples.add(Pairs(pairs, None, None, signs, None))
        return rows

    def read(self, source: PairSource, question: PairQuestion) -> Solution | None:
        """Learn from all the rows of a source; return the answer to a question."""
        for some in source.parts(shuffled=True):
            self.add(some)
        if self.n_terms == 0:
            return None
        return with_training_rows(self.solution(question), source, self.sample, self.group_weights)

    def solution(self, question: PairQuestion) -> Solution:
        """Return the answer so far."""
        estimate, weights = self.couples.solution(), self.couples.weights
        found = question.of_estimate(estimate, weights, self.radius.diameter)
        return Solution(found.pairs, self.mean.copy(), self.seen, found.details)

    def training(self, solution: Solution) -> TrainingRows:
        """Return the rows that were learned from, as they lie after a solution."""
        return training_rows(solution) or self.sample.drawn().projected(
            columns_of(solution), self.group_weights
        )

    @property
    def n_rows(self) -> int:
        """The number of rows seen."""
        return self.seen

    @property
    def n_terms(self) -> int:
        """The number of steps taken, and of negative pairs that wait for a positive one."""
        return self.couples.n_terms

    def state(self) -> State:
        """Return all that has been learned as a flat dict of arrays, numbers and strings."""
        own = {"kind": self.kind, "n_features": self.n_features, "seen": self.seen}
        own |= {"mean": self.mean.copy(), "group_weights": self.group_weights}
        return own | joined(
            couples=self.couples.state(),
            stream=self.stream.state(),
            sample=self.sample.state(),
            radius=self.radius.state(),
        )

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a learner that goes on from a ``state``, to the last bit."""
        learner = cls(
            Couples.restored(part(state, "couples"), cls.SOLVER),
            LabelledPairs.restored(part(state, "stream")),
            int(state["n_features"]),
            str(state["group_weights"]),
        )
        learner.seen, learner.mean = int(state["seen"]), np.array(state["mean"], np.float64)
        learner.sample = ClassSample.restored(part(state, "sample"))
        learner.radius = RadiusBound.restored(part(state, "radius"))
        return learner
