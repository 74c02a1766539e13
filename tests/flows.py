"""The flow and other rules on plain rows, without an estimator."""

import numpy as np

from eigenstream.online import OJA_FLOW, Plan
from eigenstream.rows.chunk import Chunk
from eigenstream.subspace.solvers.flow import FlowSums


class RuleOnRows:
    """A learner that is built at the first rows, and its state."""

    def __init__(self, rule, plan):
        self.rule, self.plan, self.learner = rule, plan, None

    def update(self, rows, weights=None, *, new_sequence=False):
        if self.learner is None:
            self.learner = FlowSums(rows.shape[1], self.rule, self.plan).learner()
        starts = np.zeros(1 if new_sequence else 0, np.intp)
        self.learner.add(Chunk(rows, weights, starts))
        return self

    @property
    def sums(self):
        return self.learner.with_all_rows().sums

    @property
    def vectors(self):
        return self.sums.vectors

    @property
    def n_terms(self):
        return self.sums.steps

    @property
    def n_rows(self):
        return self.learner.n_rows

    def solution(self):
        return Solution(self.learner)


class Flow(RuleOnRows):
    """The Oja-Karhunen flow with the parameters of a Plan."""

    def __init__(self, n_components, **options):
        super().__init__(OJA_FLOW, Plan(n_components, **options))


class Solution:
    """The answer of a flow after all rows."""

    def __init__(self, learner):
        ready = learner.with_all_rows()
        operator = ready.operator()
        self.components, self.eigenvalues = operator.pairs.vectors.T, operator.pairs.values
        self.mean, self.n_terms, self.n_rows = ready.mean, ready.sums.steps, ready.n_rows
