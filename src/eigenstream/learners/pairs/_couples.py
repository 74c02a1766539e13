"""Couples of a negative and a positive pair: what solvers without any D x D matrix learn from."""

from copy import deepcopy
from typing import Any

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream._state import State, joined, part
from eigenstream.learners.online import FlowSolution, FlowSolver
from eigenstream.learners.pairs._samples import SIGNS
from eigenstream.learners.pairs._values import Pairs
from eigenstream.learners.pairs.base import PairTask
from eigenstream.learners.sketch import OperatorSketch, SketchSolution
from eigenstream.schedules import Auto

#: Couples handed to the engine at a time.
COUPLES = 64

#: "auto" for couples. They are independent of each other, so that their average needs no long
#: steps, and where most of T is negative, long steps lose the few directions that are not.
AUTO = Auto(c=2.0)

#: Pairs of one sign that wait for the other sign at most.
WAITING = 4096

#: The parameters that the flow on couples reads, and those that the sketch does.
READS = ("schedule", "init", "forgetting")
SKETCH_READS = ("forgetting", "block_size", "oversampling")


class Couples:
    """Couples of a negative and a positive pair, in order of arrival, for the flow or the sketch.

    A step has the signed term ``reward u u^T - penalty v v^T`` with u the difference of a negative
    pair and v that of a positive one, so that either sign has the same total weight: the balanced
    T. To the solver v is a velocity: of two rows u - v and u, a sequence of their own.

    Where one sign is so much rarer that thousands wait for it, its latest pairs serve again; with
    no positive pair yet, nothing is penalised. Memory: the pairs that wait, and the subspace.
    """

    def __init__(self, solver: FlowSolver | OperatorSketch) -> None:
        self.solver = solver
        self.waiting: dict[int, Float64s] = {}
        self.latest: dict[int, Float64s] = {}
        self.seen = 0

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
            self._learn_waiting()

    def _learn_waiting(self) -> None:
        """Learn from the pairs that have a partner, and from those that have waited too long."""
        while min(map(len, self.waiting.values())) >= COUPLES:
            _learn(self.solver, self._taken(-1), self._taken(1))
        while max(map(len, self.waiting.values())) >= WAITING:
            self._recycle()

    def solution(self) -> FlowSolution | SketchSolution:
        """Return the subspace after all pairs that have a partner; nothing is changed."""
        found: FlowSolution | SketchSolution = self._ahead().solution()
        return found

    def _ahead(self) -> Any:
        """Return the solver after the last pairs that have a partner, too: a copy where some do."""
        rest = min((len(rows) for rows in self.waiting.values()), default=0)
        solver = self.solver
        if rest or (solver.n_terms == 0 and len(self.waiting.get(-1, ()))):
            solver = deepcopy(solver)
            negative = self.waiting[-1][: rest or COUPLES]
            positive = self.waiting[1][:rest] if rest else np.zeros_like(negative)
            _learn(solver, negative, positive)
        return solver

    def merged(self, later: "Couples") -> "Couples":
        """Return the couples of both, for the sketch: those that wait here find partners there."""
        solver: Any = self.solver
        both = Couples(solver.merge(later.solver, new_sequence=True))
        both.seen = self.seen + later.seen
        for sign in self.waiting.keys() | later.waiting.keys():
            parts = [one.waiting[sign] for one in (self, later) if sign in one.waiting]
            both.waiting[sign] = np.concatenate(parts)
        both.latest = {**self.latest, **later.latest}
        if both.waiting:
            both._learn_waiting()
        return both

    def another_pass(self) -> "Couples":
        """Return couples that have seen nothing, for a sketch that begins with what is known."""
        return Couples(self._ahead().another_pass())

    @property
    def n_terms(self) -> int:
        """The number of steps taken, and of negative pairs that wait for a positive one."""
        return self.solver.n_terms + len(self.waiting.get(-1, ()))

    @property
    def weights(self) -> tuple[float, float]:
        """The weights of the two scatters."""
        weights = self.solver.plan.weights
        assert weights is not None  # pairs have no weights that a solver could look for
        return weights

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
    def restored(cls, state: State, solver: Any) -> "Couples":
        """Return what goes on from a ``state``, to the last bit; ``solver`` is a class."""
        couples = cls(solver.restored(part(state, "solver")))
        couples.seen = int(state["seen"])
        for name, rows in (("waiting", couples.waiting), ("latest", couples.latest)):
            held = part(state, name)
            rows.update({s: np.array(held[of], np.float64) for of, s in SIGNS if of in held})
        return couples


def _learn(solver: Any, negative: Float64s, positive: Float64s) -> None:
    """Learn from one term a couple, up to COUPLES of them."""
    before = np.zeros((COUPLES, negative.shape[1]))
    before[: len(negative)] = negative - positive
    rows = np.concatenate([before, negative])
    if isinstance(solver, FlowSolver):
        solver.update(rows, new_sequence=True)
    else:
        solver.add(rows, new_sequence=True)


def flow_for(task: PairTask) -> Couples:
    """Return couples that the Oja-Karhunen flow learns from."""
    assert task.weights is not None
    options = {name: task.given[name] for name in (*READS, "random_state")}
    if isinstance(options["schedule"], str):
        options["schedule"] = AUTO
    flow = FlowSolver(task.n_components, weights=task.weights, lag=COUPLES, center=False, **options)
    return Couples(flow)


def sketch_for(task: PairTask) -> Couples:
    """Return couples that the operator sketch learns from."""
    assert task.weights is not None
    options = {name: task.given[name] for name in SKETCH_READS}
    sketch = OperatorSketch(
        task.n_components,
        weights=task.weights,
        lag=COUPLES,
        center=False,
        independent=True,
        **options,
    )
    return Couples(sketch)
