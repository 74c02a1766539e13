"""Prototypes without neighbours: where they begin among the first rows."""

import numpy as np
from sklearn.cluster import kmeans_plusplus

from eigenstream._linalg import Float64s
from eigenstream.learners.prototypes.base import PrototypeLearner, PrototypePlan
from eigenstream.rules.competitive import Competition

__all__ = ["CompetingLearner"]


class CompetingLearner(PrototypeLearner):
    """Prototypes that compete by a rule: clusters of a stream.

    >>> from eigenstream.rules.competitive import WINNER
    >>> learner = CompetingLearner(WINNER, PrototypePlan(1), 2)
    >>> learner = learner.add(np.array([[0.0, 2.0], [2.0, 0.0]]))
    >>> learner.vectors
    array([[1., 1.]])
    """

    def __init__(self, rule: Competition, plan: PrototypePlan, n_features: int) -> None:
        self.rule = rule
        super().__init__(plan, n_features)

    def copy(self) -> "CompetingLearner":
        """Return an independent copy."""
        other = CompetingLearner(self.rule, self.plan, self.n_features)
        other.restore(self.state())
        return other

    def _placed(self, rows: Float64s, weights: Float64s) -> Float64s:
        """Return where they begin; what is left out becomes the next rows that are new."""
        plan = self.plan
        if not isinstance(plan.init, str):
            return np.asarray(plan.init, np.float64)
        if plan.init == "data":
            return rows[:0]
        distinct = np.sort(np.unique(rows, axis=0, return_index=True)[1])
        rows, weights = rows[distinct], weights[distinct]
        if len(rows) <= plan.n_prototypes:
            return rows[:0]
        random = np.random.RandomState(plan.seed)
        if plan.init == "random":
            return rows[np.sort(random.permutation(len(rows))[: plan.n_prototypes])]
        found, _ = kmeans_plusplus(
            rows - rows.mean(axis=0), plan.n_prototypes, sample_weight=weights, random_state=random
        )
        return np.asarray(found + rows.mean(axis=0))
