"""Learning from pairs and from labels online, by a rule and without any D x D matrix."""

from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from eigenstream._linalg import Float64s
from eigenstream._state import State, joined, part
from eigenstream.evaluation.pair_risk import TrainingRows
from eigenstream.learners.base import Abilities, Solution
from eigenstream.learners.online import FlowSolution, FlowSolver
from eigenstream.learners.pairs._hashes import pair_hashes
from eigenstream.learners.pairs._labels import columns_of, training_rows, with_training_rows
from eigenstream.learners.pairs._pair_folds import folds_by_hash
from eigenstream.learners.pairs._samples import SIGNS, ClassSample, PairSample, sample_size
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
from eigenstream.schedules import Auto

__all__ = ["LabelsOnline", "PairsOnline"]

#: Couples handed to the engine at a time.
COUPLES = 64

#: "auto" for couples. They are independent of each other, so that their average needs no long
#: steps, and where most of T is negative, long steps lose the few directions that are not.
AUTO = Auto(c=2.0)

#: Pairs of one sign that wait for the other sign at most.
WAITING = 4096

#: How many rows back a labelled row finds its partners, at most: as far as 32 MB of rows reach.
REACH = 4096

#: Labelled rows that are turned into pairs at a time.
ROWS_AT_A_TIME = 1024

#: What the flow on couples can do, and the parameters that it reads.
ONLINE = Abilities(
    merges=False,
    scatters=False,
    ratios=False,
    any_weights=False,
    any_number=False,
    all_positive=False,
    any_shares=False,
)
READS = ("schedule", "init", "forgetting")


class Couples:
    """The Oja-Karhunen flow on couples of a negative and a positive pair, in order of arrival.

    A step has the signed term ``reward u u^T - penalty v v^T`` with u the difference of a negative
    pair and v that of a positive one, so that either sign has the same total weight: the balanced
    T. To the engine v is a velocity: of two rows u - v and u, a sequence of their own.

    Where one sign is so much rarer that thousands wait for it, its latest pairs serve again; with
    no positive pair yet, nothing is penalised. Memory: the pairs that wait, and the subspace.
    """

    def __init__(self, solver: FlowSolver) -> None:
        self.solver = solver
        self.waiting: dict[int, Float64s] = {}
        self.latest: dict[int, Float64s] = {}
        self.seen = 0

    @classmethod
    def begun(cls, task: PairTask) -> "Couples":
        """Return a flow that has seen nothing."""
        assert task.weights is not None
        options = {name: task.given[name] for name in (*READS, "random_state")}
        if isinstance(options["schedule"], str):
            options["schedule"] = AUTO
        return cls(
            FlowSolver(
                task.n_components, weights=task.weights, lag=COUPLES, center=False, **options
            )
        )

    def add(self, given: Pairs) -> None:
        """Learn from pairs: in any chunks, the same, so long as no sign waits too long."""
        self.seen += len(given)
        # Pairs go in as they came: a queue may not overtake what the chunk still holds.
        for start in range(0, len(given), COUPLES):
            some = given.chosen(slice(start, start + COUPLES))
            apart = some.differences()
            for sign in (1, -1):
                kept = self.waiting.get(sign, apart[:0])
                self.waiting[sign] = np.concatenate([kept, apart[some.signs == sign]])
            while min(map(len, self.waiting.values())) >= COUPLES:
                _learn(self.solver, self._taken(-1), self._taken(1))
            self._recycle()

    def solution(self) -> FlowSolution:
        """Return the subspace after all pairs that have a partner; nothing is changed."""
        rest = min((len(rows) for rows in self.waiting.values()), default=0)
        solver = self.solver
        if rest or (solver.n_terms == 0 and len(self.waiting.get(-1, ()))):
            solver = solver.copy()
            negative = self.waiting[-1][: rest or COUPLES]
            positive = self.waiting[1][:rest] if rest else np.zeros_like(negative)
            _learn(solver, negative, positive)
        return solver.solution()

    @property
    def n_terms(self) -> int:
        """The number of steps taken, and of negative pairs that wait for a positive one."""
        return self.solver.n_terms + len(self.waiting.get(-1, ()))

    @property
    def weights(self) -> tuple[float, float]:
        """The weights of the two scatters."""
        return self.solver.plan.weights

    def _taken(self, sign: int) -> Float64s:
        rows = self.waiting[sign]
        self.waiting[sign] = rows[COUPLES:]
        self.latest[sign] = rows[:COUPLES]
        return rows[:COUPLES]

    def _recycle(self) -> None:
        """Couple the pairs of one sign that have waited too long with what there is."""
        if len(self.waiting[-1]) >= WAITING:
            negative = self._taken(-1)
            _learn(self.solver, negative, self.latest.get(1, np.zeros_like(negative)))
        elif len(self.waiting[1]) >= WAITING:
            positive = self._taken(1)
            if -1 in self.latest:
                _learn(self.solver, self.latest[-1], positive)

    def state(self) -> State:
        """Return all that has been learned."""
        queues = {"waiting": self.waiting, "latest": self.latest}
        held = {
            name: {of: rows[sign].copy() for of, sign in SIGNS if sign in rows}
            for name, rows in queues.items()
        }
        return {"seen": self.seen} | joined(solver=self.solver.state(), **held)

    @classmethod
    def restored(cls, state: State) -> "Couples":
        """Return a flow that goes on from a ``state``, to the last bit."""
        couples = cls(FlowSolver.restored(part(state, "solver")))
        couples.seen = int(state["seen"])
        for name, rows in (("waiting", couples.waiting), ("latest", couples.latest)):
            held = part(state, name)
            rows.update({s: np.array(held[of], np.float64) for of, s in SIGNS if of in held})
        return couples


def _learn(solver: FlowSolver, negative: Float64s, positive: Float64s) -> None:
    """Take one step a couple, up to COUPLES of them."""
    before = np.zeros((COUPLES, negative.shape[1]))
    before[: len(negative)] = negative - positive
    solver.update(np.concatenate([before, negative]), new_sequence=True)


class PairsOnline(PairLearner):
    """Keeps the subspace that the flow on couples of pairs has come to, and a sample of the pairs.

    Memory: some thousand pairs.
    """

    kind = "pairs_flow"
    abilities = ONLINE
    reads = READS

    def __init__(self, n_features: int, couples: Couples) -> None:
        self.n_features = n_features
        self.couples = couples
        self.sample = PairSample(n_features)
        self.farthest = 0.0

    @classmethod
    def begun(cls, task: PairTask) -> Self:
        """Return a learner that has seen nothing."""
        return cls(task.n_features, Couples.begun(task))

    def add(self, given: Pairs) -> None:
        """Learn from more checked pairs; those of one sign wait for the other."""
        self._learn(given)

    def _learn(self, given: Pairs) -> Any:
        """Learn; return what the pairs are known by when they come again."""
        self.farthest = max(self.farthest, farthest_apart(given))
        self.couples.add(given)
        hashes = pair_hashes(given)
        self.sample.add(hashes, given, folds_by_hash(hashes)[:, 0])
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
        learner = cls(int(state["n_features"]), Couples.restored(part(state, "couples")))
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
    reads = READS

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
        return cls(Couples.begun(task), stream, width, task.given["group_weights"])

    @property
    def first_row(self) -> Float64s | None:  # type: ignore[override]
        """The first of all rows that weigh anything."""
        return self.radius.first

    def add(self, given: LabelledRows) -> None:
        """Learn from the next checked rows of the stream."""
        self.radius.add(given.rows, given.weights)
        self.sample.add(given)
        given = given.weighing
        for start in range(0, len(given), ROWS_AT_A_TIME):
            some = given.chosen(slice(start, start + ROWS_AT_A_TIME))
            rows = np.asarray(plain(some.rows), np.float64)
            pairs, signs = self.stream.pairs(rows, some.labels, some.groups)
            self.seen += len(rows)
            self.mean += (rows - self.mean).sum(axis=0) / self.seen
            if len(pairs):
                self.couples.add(Pairs(pairs, None, None, signs, None))

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
            Couples.restored(part(state, "couples")),
            LabelledPairs.restored(part(state, "stream")),
            int(state["n_features"]),
            str(state["group_weights"]),
        )
        learner.seen, learner.mean = int(state["seen"]), np.array(state["mean"], np.float64)
        learner.sample = ClassSample.restored(part(state, "sample"))
        learner.radius = RadiusBound.restored(part(state, "radius"))
        return learner
