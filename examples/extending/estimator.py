"""An estimator: directions of large velocity, not of small.

It has the terms of a time series and its own weights. Passes, chunks,
streams, sequences, missing rows, merging and all solvers come from the base
class.
"""

from eigenstream.subspace import Result
from eigenstream.subspace.estimators.time import TimeEstimator
from eigenstream.subspace.solvers.base import Problem
from eigenstream.subspace.sums.terms import VARIANCE, VELOCITY, TimeTerms


class Velocities(TimeTerms):
    """Terms of time whose velocities are rewarded."""

    def totals(self, held_out=frozenset()):
        """Return the weights of the rewarded and of the penalised terms."""
        return super().totals(held_out)[::-1]

    def shares(self, weights, held_out=frozenset()):
        """Return the share of each part in T."""
        reward, penalty = self._each(weights, held_out)
        return {VELOCITY: reward, VARIANCE: -penalty}


class FastSubspace(TimeEstimator):
    """Subspace with the largest velocities."""

    center, scale = True, False
    _result_class = Result

    def __init__(
        self,
        n_components=2,
        *,
        lag=1,
        solver="auto",
        features=None,
        missing="raise",
    ):
        self.n_components, self.lag, self.solver = n_components, lag, solver
        self.features, self.missing = features, missing

    def _problem(self, width):
        terms = Velocities(width, lag=self.lag, center=True)
        return Problem(terms, self._wanted(width), (1.0, 0.0))

    def _solve(self, learner):
        pairs = learner.operator().largest(
            (1.0, 0.0), self._wanted(learner.terms.n_features)
        )
        return Result(pairs, learner.mean)
