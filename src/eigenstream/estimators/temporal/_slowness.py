"""What SlowSubspace asks: directions with much variance and little velocity, at which alpha."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenstream._checks import warn_user
from eigenstream._linalg import Float64s
from eigenstream.contrast import Contrast
from eigenstream.estimators.temporal import _alpha
from eigenstream.learners.base import Solution
from eigenstream.learners.temporal import Estimate
from eigenstream.solvers import dense, krylov
from eigenstream.solvers.base import Eigenpairs


@dataclass(frozen=True)
class Slowness:
    """The question of slow subspaces; ``n_components=None`` asks for all that raise the objective.

    ``alpha`` is a number, "auto", "bound", or None for ratios of variance to velocity.
    """

    n_components: int | None
    alpha: Any
    center: bool
    scale: bool

    def of_scatters(self, contrast: Contrast) -> Solution:
        """Solve the contrast's matrices."""
        contrast.scaled = self.scale
        mean, wanted = self.middle(contrast), self.n_components
        scale = contrast.scale if self.scale else None
        if self.alpha is None:
            return Solution(self._ratios(contrast), mean, contrast.n_rows, {"scale": scale})
        alpha, bound = self._chosen(contrast)
        weights = (alpha, 1.0 - alpha)
        total = contrast.matrix(weights)
        if wanted is None:
            floor = contrast.floor(weights)
            pairs, positive = dense.largest_and_positive(
                total, len(total), contrast.rounding, floor
            )
            kept = max(positive, 1)
            pairs = Eigenpairs(pairs.values[:kept], pairs.vectors[:, :kept])
        else:
            pairs = dense.largest(total, wanted)
        self._warn_about_sign(pairs, alpha)
        details = {"alpha": alpha, "bound": bound, "weights": weights, "scale": scale}
        # What the theory asks about: whether the data chose alpha, and the number of directions.
        details |= {"chosen": isinstance(self.alpha, str), "open": wanted is None}
        return Solution(pairs, mean, contrast.n_rows, details)

    def of_operator(self, operator: krylov.LaggedOperator, n_rows: int) -> Solution:
        """Solve by passes over the data."""
        assert self.n_components is not None
        alpha = float(self.alpha)
        weights = (alpha, 1.0 - alpha)
        pairs = krylov.largest(operator, weights, self.n_components)
        self._warn_about_sign(pairs, alpha)
        mean = operator.mean if self.center else np.zeros_like(operator.mean)
        # One pass more, after some tens: what time scales are read from.
        variance, velocity = operator.moments(pairs.vectors)
        found = {"alpha": alpha, "weights": weights, "variance": variance, "velocity": velocity}
        return Solution(pairs, mean, n_rows, found)

    def of_estimate(self, estimate: Estimate, alpha: float | None = None) -> Solution:
        """Take over what a learner without scatters has found, and the alpha that it has found."""
        alpha = float(self.alpha) if alpha is None else alpha
        total = float(estimate.pairs.values.sum())
        if total < 0:
            warn_user(
                f"the estimated objective is {total:.3g}: this subspace is worse than none. Remove "
                "outliers, use solver='dense', raise alpha, or lower n_components."
            )
        else:
            self._warn_about_sign(estimate.pairs, alpha)
        return Solution(
            estimate.pairs, np.asarray(estimate.mean), estimate.n_rows, {"alpha": alpha}
        )

    def middle(self, contrast: Contrast) -> Float64s:
        """Return the point that rows are centred by."""
        return contrast.reward.mean if self.center else np.zeros(contrast.n_features)

    def _ratios(self, contrast: Contrast) -> Eigenpairs:
        """Return the largest ratios of variance to velocity; vectors have unit variance."""
        reward, penalty = contrast.matrices()
        assert penalty is not None
        wanted = len(reward) if self.n_components is None else self.n_components
        pairs = dense.largest_ratios(reward, penalty, wanted, contrast.rounding)
        if len(pairs.values) < wanted and self.n_components is not None:
            warn_user(
                f"the velocities span {len(pairs.values)} directions only; n_components="
                f"{wanted} was asked for and {len(pairs.values)} are returned.",
            )
        deviation = np.sqrt(np.einsum("ji,jk,ki->i", pairs.vectors, reward, pairs.vectors))
        return Eigenpairs(pairs.values, pairs.vectors / np.where(deviation > 0, deviation, 1.0))

    def _chosen(self, contrast: Contrast) -> tuple[float, float | None]:
        """Return alpha, and the value of Theorem 5's bound where that chose it."""
        if self.alpha == "bound":
            radius = contrast.radius.reach(self.middle(contrast))
            return _alpha.minimise_bound(contrast, self.n_components, radius)
        if self.alpha != "auto":
            return float(self.alpha), None
        return _alpha.automatic(contrast, self.n_components or contrast.n_features), None

    def _warn_about_sign(self, pairs: Eigenpairs, alpha: float) -> None:
        if self.n_components is None or isinstance(self.alpha, str):
            return
        positive = int((pairs.values > 0).sum())
        if positive < len(pairs.values):
            remedy = "Raise alpha (or use alpha='auto'), or lower n_components."
            if alpha == 1.0:
                remedy = "The rows vary in no others: lower n_components."
            warn_user(
                f"only {positive} of the {len(pairs.values)} eigenvalues are positive at "
                f"alpha={alpha:.3g}: the other components lower the objective. {remedy}",
            )
