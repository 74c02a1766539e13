"""Learners by the Oja-Karhunen flow, with one step for each row or pair."""

from copy import deepcopy
from itertools import pairwise
from typing import Any

import numpy as np

from eigenstream._checks import is_sparse
from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream.online import UnstableStepError
from eigenstream.subspace.accumulators import Moments
from eigenstream.subspace.chunks import Chunk
from eigenstream.subspace.flow_solver import FlowSolver
from eigenstream.subspace.learner import Learner
from eigenstream.subspace.operators import Eigenpairs
from eigenstream.subspace.terms import (
    BETWEEN,
    NOTHING,
    ClassTerms,
    ContrastTerms,
    Parts,
    Terms,
    TimeTerms,
    Weights,
    chunk_keys,
)


class FlowOperator:
    """The flow's estimates of the eigenpairs of T and of the trace of A."""

    def __init__(self, solver: FlowSolver, floor: float) -> None:
        found = solver.solution()
        self.pairs, self.trace, self.floor = found.pairs, found.total, floor

    def largest(self, weights: Weights, n_components: int) -> Eigenpairs:
        """Return the eigenpairs at the weights of the flow."""
        return self.pairs.first(n_components)


@storable(solver="FlowSolver", exact="any")
class FlowLearner(Learner):
    """A learner that passes rows to the flow and only counts the terms."""

    def __init__(self, terms: TimeTerms, solver: FlowSolver, *, exact: bool = False) -> None:
        super().__init__(terms, None)
        self.solver = solver
        #: Exact sums for a hook that records the angle to the exact answer.
        self.exact = Moments(terms.n_features) if exact else None

    @property
    def stopped(self) -> bool:
        """True if a hook has stopped the last call."""
        return self.solver.stopped

    def ahead(self, *, copied: bool = False) -> "FlowLearner":
        """Return the learner itself, since the flow handles its pending rows."""
        return self

    def operator(self, held: Parts = NOTHING) -> FlowOperator:
        """Return the flow's estimates."""
        return FlowOperator(self.solver, self.terms.floor)

    def _learn(self, block: Chunk) -> None:
        terms = self.terms.take(block)
        if self.exact is not None:
            self.exact.add(terms, self.terms)
        cuts = [0, *(int(start) for start in block.starts if start > 0), len(block)]
        for first, last in pairwise(cuts):
            part = slice(first, last)
            weights = None if block.weights is None else block.weights[part]
            try:
                self.solver.update(
                    block.rows[part],
                    weights,
                    new_sequence=bool((block.starts == first).any()),
                    exact=None if self.exact is None else self._exact_columns,
                )
            except UnstableStepError:
                self._count()
                raise
            if self.solver.stopped:
                self._count()
                return

    def _count(self) -> None:
        """Count only the rows that the flow has learned."""
        assert isinstance(self.terms, TimeTerms)
        self.terms.n_rows = self.solver.n_rows
        self.terms.center.mean = self.solver.solution().mean

    def _exact_columns(self) -> Float64s:
        plan = self.solver.plan
        assert self.exact is not None
        return self.exact.operator(self.terms).largest(plan.weights, plan.n_components).vectors


#: The number of couples in a block, and the largest number of vectors buffered for the other kind.
COUPLES, WAITING = 64, 4096


@storable()
class CoupleLearner(Learner):
    """A learner that passes chunks of pairs or labelled rows to the flow."""

    def add(self, chunk: Chunk) -> None:
        """Learn from checked rows. Rows of weight 0 do not count in the blocks."""
        kept = chunk.chosen(np.flatnonzero(chunk.each_weight() > 0.0))
        self.terms.n_rows += len(chunk) - len(kept)
        super().add(kept)

    def _learn(self, block: Chunk) -> None:
        self.terms.take(block)
        self.sums.add(block, self.terms)


@storable(solver="FlowSolver", rewarded="f8 p W", penalised="f8 q W")
class CoupleFlow:
    """The flow on couples of a rewarded vector u and a penalised vector v.

    A step has the term ``w_0 u u^T - w_1 v v^T``. The flow receives the sequence of the two rows
    u - v and u, whose velocity is v.
    """

    def __init__(self, n_features: int, solver: FlowSolver) -> None:
        self.solver = solver
        #: Buffered vectors of one kind, until there are vectors of the other kind.
        self.rewarded = self.penalised = np.empty((0, n_features))

    def add(self, chunk: Chunk, terms: Terms) -> None:
        """Take a step for each couple."""
        if isinstance(terms, ClassTerms):
            rewarded, penalised = _of_classes(chunk, terms, self.solver.plan.weights)
        elif isinstance(terms, ContrastTerms):
            rewarded, penalised = _of_sets(chunk, terms)
        else:
            rewarded, penalised = _of_pairs(chunk)
        self.rewarded = np.concatenate([self.rewarded, rewarded])
        self.penalised = np.concatenate([self.penalised, penalised])
        n = min(len(self.rewarded), len(self.penalised))
        if n == 0 and len(self.rewarded) >= WAITING:  # nothing is penalised yet
            self.penalised, n = np.zeros_like(self.rewarded), len(self.rewarded)
        for first in range(0, n, COUPLES):
            some = slice(first, min(first + COUPLES, n))
            _step(self.solver, self.rewarded[some], self.penalised[some])
        self.rewarded, self.penalised = self.rewarded[n:][-WAITING:], self.penalised[n:][-WAITING:]

    def operator(self, terms: Terms, held: Parts = NOTHING) -> FlowOperator:
        """Return the flow's estimates."""
        solver = self.solver
        if solver.n_terms == 0 and len(self.rewarded):
            solver, first = deepcopy(solver), self.rewarded[:COUPLES]
            _step(solver, first, np.zeros_like(first))
        return FlowOperator(solver, terms.floor)


def _step(solver: FlowSolver, rewarded: Float64s, penalised: Float64s) -> None:
    pasts = np.zeros((COUPLES, rewarded.shape[1]))
    pasts[: len(rewarded)] = rewarded - penalised
    solver.update(np.concatenate([pasts, rewarded]), new_sequence=True)


def _dense(rows: Any) -> Float64s:
    return np.asarray(rows.toarray() if is_sparse(rows) else rows, np.float64)


def _of_pairs(chunk: Chunk) -> tuple[Float64s, Float64s]:
    """Return the differences of negative and of positive pairs."""
    assert chunk.pairs is not None
    apart = _dense(chunk.rows[chunk.pairs[:, 0]] - chunk.rows[chunk.pairs[:, 1]])
    apart *= np.sqrt(chunk.each_weight())[:, None]
    unlike = np.asarray(chunk.targets) < 0
    heavy = chunk.each_weight() > 0.0
    return apart[unlike & heavy], apart[~unlike & heavy]


def _of_sets(chunk: Chunk, terms: ContrastTerms) -> tuple[Float64s, Float64s]:
    """Return the rows of two sets, minus the mean of their set so far."""
    heavy = chunk.heavy()
    root, targets = np.sqrt(heavy.each_weight())[:, None], np.asarray(heavy.targets)
    found = [
        (root * (_dense(heavy.rows) - center.mean))[targets == target]
        for target, center in enumerate(terms.centers.values())
    ]
    return found[0], found[1]


def _of_classes(chunk: Chunk, terms: ClassTerms, weights: Weights) -> tuple[Float64s, Float64s]:
    """Return each row minus the mean of its task, and minus that of its class, scaled for T.

    Let S be the scatter of a task, S_c that of a class, and b the share of the terms between class
    means. Then ``T = b S - sum_c (b - share_c) S_c``.
    """
    shares, rows = terms.shares(weights), _dense(chunk.rows)
    n = sum(center.weight for center in terms.centers.values())
    keys, codes = chunk_keys(chunk)
    u, v = np.zeros_like(rows), np.zeros_like(rows)
    for k, key in enumerate(keys):
        mine, b = codes == k, shares.get((BETWEEN, key[0]), 0.0)
        if b == 0.0 or key not in terms.centers:
            continue
        task = [c for other, c in terms.centers.items() if other[0] == key[0]]  # type: ignore[index]
        middle = np.average([c.mean for c in task], axis=0, weights=[c.weight for c in task])
        of_class = max(b - shares.get(key, 0.0), 0.0)
        u[mine] = np.sqrt(n * b / weights[0]) * (rows[mine] - middle)
        v[mine] = np.sqrt(n * of_class / weights[1]) * (rows[mine] - terms.centers[key].mean)
    root, heavy = np.sqrt(chunk.each_weight())[:, None], chunk.each_weight() > 0.0
    return (root * u)[heavy], (root * v)[heavy]


__all__ = ["COUPLES", "Any", "CoupleFlow", "CoupleLearner", "FlowLearner", "FlowOperator"]
