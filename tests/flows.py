"""The flow on plain rows, without an estimator."""

from eigenstream.online import Plan
from eigenstream.rows.chunk import Chunk
from eigenstream.subspace.solvers.flow import FlowSums


class Flow:
    """The Oja-Karhunen flow with the parameters of a Plan, built at the first rows."""

    def __init__(self, n_components, **options):
        self.plan, self.learner = Plan(n_components, **options), None

    def update(self, rows, weights=None):
        if self.learner is None:
            self.learner = FlowSums(rows.shape[1], self.plan).learner()
        self.learner.add(Chunk(rows, weights))
        return self

    @property
    def sums(self):
        return self.learner.with_all_rows().sums

    def solution(self):
        return Solution(self.learner.with_all_rows())


class Solution:
    """The answer of a flow after all rows."""

    def __init__(self, learner):
        pairs = learner.operator().pairs
        self.components, self.eigenvalues, self.mean = pairs.vectors.T, pairs.values, learner.mean
