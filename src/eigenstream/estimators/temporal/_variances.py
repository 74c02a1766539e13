"""What StreamPCA asks: the directions of the largest variance, and how much of it they have."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenstream._linalg import numerical_rank
from eigenstream.contrast import Contrast
from eigenstream.learners.base import Solution
from eigenstream.learners.temporal import Estimate
from eigenstream.scatters import Scatter
from eigenstream.solvers import krylov
from eigenstream.solvers.base import Eigenpairs
from eigenstream.solvers.dense import largest


@dataclass(frozen=True)
class Variances:
    """The question of principal components: so many, a share of the variance, or all (None)."""

    n_components: Any
    center: bool
    scale: bool

    def of_scatters(self, contrast: Contrast) -> Solution:
        """Decompose the scatter."""
        contrast.scaled = self.scale
        scatter, matrix = contrast.reward, contrast.matrix((1.0, 0.0))
        total, n = float(np.trace(matrix)), self.n_components
        if isinstance(n, int | np.integer):
            pairs = largest(matrix, int(n))
        else:
            pairs = largest(matrix, len(matrix))
            if n is None:
                floor = contrast.floor((1.0, 0.0))
                kept = max(numerical_rank(pairs.values, scatter.rounding, floor), 1)
            else:
                shares = np.cumsum(pairs.values) / max(total, np.finfo(float).tiny)
                kept = min(int(np.searchsorted(shares, n, side="right")) + 1, len(shares))
            pairs = Eigenpairs(pairs.values[:kept], pairs.vectors[:, :kept])
        found = self._of_moments(pairs, scatter, scatter.n_rows, total)
        if self.scale:
            found.details["scale"] = contrast.scale
        return found

    def of_operator(self, operator: krylov.LaggedOperator, n_rows: int) -> Solution:
        """Find the components by passes over the data."""
        pairs = krylov.largest(operator, (1.0, 0.0), self.n_components)
        return self._of_moments(pairs, operator, n_rows, operator.trace())

    def of_estimate(self, estimate: Estimate, alpha: float | None = None) -> Solution:
        """Take over what a learner without scatters has found."""
        pairs, details = self._variances(
            estimate.pairs, estimate.weight, estimate.n_terms, estimate.total
        )
        return Solution(pairs, np.asarray(estimate.mean), estimate.n_rows, details)

    def _of_moments(
        self,
        pairs: Eigenpairs,
        moments: Scatter | krylov.LaggedOperator,
        n_rows: int,
        total: float,
    ) -> Solution:
        mean = moments.mean
        pairs, details = self._variances(pairs, moments.weight, moments.count, total)
        return Solution(pairs, mean if self.center else np.zeros_like(mean), n_rows, details)

    def _variances(
        self, pairs: Eigenpairs, weight: float, count: int, total: float
    ) -> tuple[Eigenpairs, dict[str, Any]]:
        """Return the eigenpairs, and what turns them into explained variances and noise."""
        # No variance is negative; what rounding says otherwise is zero.
        pairs = Eigenpairs(np.maximum(pairs.values, 0.0), pairs.vectors)
        # The mean takes one degree of freedom, as in scikit-learn; weights count as repetitions.
        freedom = weight / (weight - 1.0) if self.center and weight > 1.0 else 1.0
        rest = min(len(pairs.vectors), count) - len(pairs.values)
        noise = max(total - float(pairs.values.sum()), 0.0) / rest if rest > 0 else 0.0
        details = {"freedom": freedom, "total": total, "noise": noise * freedom}
        return pairs, details | {"weights": (1.0, 0.0)}
