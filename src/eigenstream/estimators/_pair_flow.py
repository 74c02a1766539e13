"""solver="flow" for pairs and labels: learning online, without any D x D matrix."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from eigenstream._linalg import Float64s
from eigenstream.estimators._class_folds import plain
from eigenstream.estimators._pair_input import Pairs
from eigenstream.estimators._pair_solve import margin_weights
from eigenstream.estimators._pairwise import PairwiseEstimator
from eigenstream.estimators._samples import sample_size
from eigenstream.estimators.base import Solution
from eigenstream.pair_sampling import LabelledPairs
from eigenstream.schedules import Auto
from eigenstream.solvers.flow import FlowSolution, FlowSolver

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


class PairFlow:
    """The Oja-Karhunen flow on couples of a negative and a positive pair, in order of arrival.

    A step has the signed term ``reward u u^T - penalty v v^T`` with u the difference of a negative
    pair and v that of a positive one, so that either sign has the same total weight: the balanced
    T. To the engine v is a velocity: of two rows u - v and u, a sequence of their own.

    Where one sign is so much rarer that thousands wait for it, its latest pairs serve again; with
    no positive pair yet, nothing is penalised. Memory: the pairs that wait, and the subspace.
    """

    def __init__(self, n_components: int, weights: tuple[float, float], **options: Any) -> None:
        self.solver = FlowSolver(
            n_components, weights=weights, lag=COUPLES, center=False, **options
        )
        self.waiting: dict[int, Float64s] = {}
        self.latest: dict[int, Float64s] = {}
        self.seen = 0

    def update(self, given: Pairs) -> None:
        """Learn from pairs: in any chunks, the same, so long as no sign waits too long."""
        self.seen += len(given)
        # Pairs go in as they came: a queue may not overtake what the chunk still holds.
        for start in range(0, len(given), COUPLES):
            part = given.chosen(slice(start, start + COUPLES))
            apart = part.differences()
            for sign in (1, -1):
                kept = self.waiting.get(sign, apart[:0])
                self.waiting[sign] = np.concatenate([kept, apart[part.signs == sign]])
            while min(map(len, self.waiting.values())) >= COUPLES:
                self._step(self._taken(-1), self._taken(1))
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
    def has_terms(self) -> bool:
        """Whether there is anything to solve."""
        return self.solver.n_terms > 0 or len(self.waiting.get(-1, ())) > 0

    def _taken(self, sign: int) -> Float64s:
        rows = self.waiting[sign]
        self.waiting[sign] = rows[COUPLES:]
        self.latest[sign] = rows[:COUPLES]
        return rows[:COUPLES]

    def _recycle(self) -> None:
        """Couple the pairs of one sign that have waited too long with what there is."""
        if len(self.waiting[-1]) >= WAITING:
            negative = self._taken(-1)
            self._step(negative, self.latest.get(1, np.zeros_like(negative)))
        elif len(self.waiting[1]) >= WAITING:
            positive = self._taken(1)
            if -1 in self.latest:
                self._step(self.latest[-1], positive)

    def _step(self, negative: Float64s, positive: Float64s) -> None:
        _learn(self.solver, negative, positive)


def _learn(solver: FlowSolver, negative: Float64s, positive: Float64s) -> None:
    """Take one step a couple, up to COUPLES of them."""
    before = np.zeros((COUPLES, negative.shape[1]))
    before[: len(negative)] = negative - positive
    solver.update(np.concatenate([before, negative]), new_sequence=True)


class LabelFlow:
    """The flow on pairs that a stream of labelled rows makes, drawn in bounded memory.

    A row meets rows of its reach only, so that a stream sorted by class says little; ``fit``, which
    has all rows, puts them in random order first.
    """

    def __init__(self, width: int, flow: PairFlow, random_state: Any) -> None:
        self.flow = flow
        self.stream = LabelledPairs(memory=sample_size(width, REACH), random_state=random_state)
        self.seen = 0
        self.mean = np.zeros(width)

    def update(self, rows: Any, labels: Any, groups: Any) -> None:
        """Learn from the next rows of the stream."""
        for start in range(0, rows.shape[0], ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            block = np.asarray(plain(rows[part]), np.float64)
            pairs, signs = self.stream.pairs(
                block, labels[part], None if groups is None else groups[part]
            )
            self.seen += len(block)
            self.mean += (block - self.mean).sum(axis=0) / self.seen
            if len(pairs):
                self.flow.update(Pairs(pairs, None, None, signs, None))

    @property
    def solver(self) -> FlowSolver:
        """What holds the subspace."""
        return self.flow.solver

    @property
    def has_terms(self) -> bool:
        """Whether there is anything to solve."""
        return self.flow.has_terms

    def solution(self) -> FlowSolution:
        """Return the subspace after all pairs so far."""
        return self.flow.solution()


class Online(PairwiseEstimator):
    """What an estimator needs to learn by the flow, from pairs or from labels."""

    # What a subclass's __init__ sets.
    schedule: Any
    init: Any
    forgetting: float | None
    random_state: Any

    # What learning sets.
    _flow: PairFlow | LabelFlow

    @property
    def _online(self) -> bool:
        return "_flow" in self.__dict__

    def _new_flow(self, width: int) -> PairFlow:
        eta = self._grid()[0] if self.margin is None else margin_weights(self.margin)[0]
        size = 1.0 if self.margin is None else margin_weights(self.margin)[1]
        return PairFlow(
            self._wanted(width),
            (0.5 * float(eta), 0.5 * size),
            schedule=AUTO if isinstance(self.schedule, str) else self.schedule,
            init=self.init,
            forgetting=self.forgetting,
            random_state=self.random_state,
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether there is anything to read."""
        return self._online or super().__sklearn_is_fitted__()

    def _solve(self) -> Solution:
        if not self._online:
            return super()._solve()
        if not self._flow.has_terms:
            raise NotFittedError(f"{type(self).__name__} {self._waits_for()}")
        found = self._flow.solution().pairs
        weights = self._flow.solver.plan.weights
        positive = int((found.values > 0).sum())
        pairs = self._only_positive(found, positive, weights[0] / weights[1])
        details: dict[str, Any] = {"criterion": "difference", "kernel": "linear"}
        details |= {"choice": None, "weights": weights, "eta": weights[0] / weights[1]}
        diameter = self._data_diameter() if self.diameter is None else float(self.diameter)
        details |= {"n_positive": positive, "diameter": diameter}
        mean = np.zeros(len(found.vectors))
        if isinstance(self._flow, LabelFlow):
            mean = self._flow.mean.copy()
        return Solution(pairs, mean, self._flow.seen, details)

    @abstractmethod
    def _data_diameter(self) -> float:
        """Return a bound on the distance of two training rows."""

    @abstractmethod
    def _waits_for(self) -> str:
        """Say what is still missing before there is anything to solve."""
