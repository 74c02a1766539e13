"""What learning from pairs asks: directions that keep unlike pairs apart and like ones near."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenstream._checks import warn_user
from eigenstream._linalg import Float64s
from eigenstream.estimators.base import DEFAULT
from eigenstream.learners.base import Solution
from eigenstream.learners.pairs import (
    Choice,
    Evidence,
    Fold,
    MarginRiskLosses,
    choose_eta,
    few_threads,
    margin_weights,
    top,
)
from eigenstream.solvers import dense, dual
from eigenstream.solvers.base import Eigenpairs


@dataclass(frozen=True)
class Hyperbolic:
    """The question of hyperbolic PCA [HPCA]; the parameters are those of the estimators."""

    n_components: int | None
    #: The weights of negative pairs to choose from, that of positive ones being 1.
    etas: tuple[float, ...]
    by_margin_risk: bool
    margin: tuple[float, float] | None
    balanced: bool
    criterion: str
    shrinkage: float | None
    kernel: str
    diameter: float | None
    scaled: bool

    @property
    def searches(self) -> bool:
        """Whether the data choose the weight."""
        return self.margin is None and len(self.etas) > 1 and self.criterion == "difference"

    def weights_online(self) -> tuple[float, float]:
        """Return the weights of the two scatters for a rule that needs them beforehand."""
        if self.margin is not None:
            negative, positive = margin_weights(self.margin)
            return 0.5 * negative, 0.5 * positive
        return 0.5 * float(self.etas[0]), 0.5

    def of_scatters(self, evidence: Evidence) -> Solution:
        """Solve the matrices of both kinds of pairs."""
        return self._answer(evidence, dense_size=np.inf)

    def of_operator(self, evidence: Evidence) -> Solution:
        """Solve what is applied to vectors, and formed only where it is small."""
        return self._answer(evidence)

    def of_estimate(self, estimate: Any, weights: tuple[float, float], diameter: float) -> Solution:
        """Take over the solution of the flow, or of a sketch, for T with these weights."""
        eta = weights[0] / weights[1]
        positive = int((estimate.pairs.values > 0).sum())
        details = self._details(diameter) | {"eta": eta, "weights": weights}
        pairs = self._only_positive(estimate.pairs, positive, eta)
        details["n_positive"] = positive
        return Solution(pairs, np.asarray(estimate.mean), estimate.n_rows, details)

    def _details(self, diameter: float) -> dict[str, Any]:
        """Return what is known of any answer."""
        return {
            "criterion": self.criterion,
            "kernel": self.kernel,
            "diameter": diameter if self.diameter is None else float(self.diameter),
            "eta": None,
            "weights": None,
        }

    def _answer(self, evidence: Evidence, **how: Any) -> Solution:
        details = self._details(evidence.diameter)
        with few_threads(evidence.operator.n_features):
            if self.criterion == "ratio":
                pairs, positive = self._ratios(evidence)
            else:
                weights_of = self._weights_of(evidence)
                eta, choice = self._eta(evidence, weights_of)
                details |= {"eta": eta, "weights": weights_of(eta)}
                if choice is not None:
                    details |= {"etas": choice.etas, "losses": choice.losses}
                pairs, positive = top(
                    evidence.operator,
                    weights_of(eta),
                    self.n_components,
                    evidence.rounding,
                    floor=evidence.floor,
                    **how,
                )
                pairs = self._only_positive(pairs, positive, eta, chosen=choice is not None)
        details["n_positive"] = positive
        return Solution(pairs, evidence.mean, evidence.n_rows, details)

    def _weights_of(self, evidence: Evidence) -> Callable[[float], tuple[float, float]]:
        """Return what turns eta into the weights of the two scatters, as in [HPCA] section 6."""
        total = evidence.n_different + evidence.n_same
        shares = evidence.n_different / total, evidence.n_same / total
        if self.balanced:
            shares = 0.5 * (shares[0] > 0), 0.5 * (shares[1] > 0)
        size = 1.0 if self.margin is None else margin_weights(self.margin)[1]
        return lambda eta: (size * eta * shares[0], size * shares[1])

    def _eta(
        self, evidence: Evidence, weights_of: Callable[[float], tuple[float, float]]
    ) -> tuple[float, Choice | None]:
        if self.margin is not None:
            negative, positive = margin_weights(self.margin)
            return negative / positive, None
        if len(self.etas) == 1:
            return float(self.etas[0]), None
        if evidence.n_same == 0.0:
            return 1.0, None  # nothing to weigh against
        groupings = evidence.groupings
        if self.by_margin_risk:
            losses = MarginRiskLosses(evidence.counts, evidence.diameter)
            groupings = [lambda: [Fold(evidence.operator, losses)]]
        choice = choose_eta(
            self.etas,
            groupings,
            weights_of,
            self.n_components,
            evidence.rounding,
            evidence.floor,
        )
        return choice.eta, choice

    def _ratios(self, evidence: Evidence) -> tuple[Eigenpairs, int]:
        """Return the largest ratios; vectors have a like pairs' mean square of one."""
        reward = evidence.operator.matrix(1.0, 0.0)
        penalty = dual.shrunk(evidence.operator.matrix(0.0, -1.0), self.shrinkage)
        wanted = len(reward) if self.n_components is None else int(self.n_components)
        pairs = dense.largest_ratios(reward, penalty, min(wanted, len(reward)), evidence.rounding)
        if len(pairs.values) == 0:
            raise ValueError(
                "criterion='ratio' divides by the scatter of the positive pairs, and all of them "
                "are pairs of equal rows. Use criterion='difference', or shrinkage on other data."
            )
        if self.n_components is not None and len(pairs.values) < wanted:
            warn_user(
                f"n_components={wanted} was asked for, but the positive pairs span "
                f"{len(pairs.values)} directions only: as many are returned."
            )
        lengths = np.sqrt(np.einsum("ji,jk,ki->i", pairs.vectors, penalty, pairs.vectors))
        scaled: Float64s = pairs.vectors / np.where(lengths > 0, lengths, 1.0)
        return Eigenpairs(pairs.values, scaled), int((pairs.values > 0).sum())

    def _only_positive(
        self, pairs: Eigenpairs, positive: int, eta: float, *, chosen: bool = False
    ) -> Eigenpairs:
        """Drop the directions that lower the objective, and say so."""
        n = self.n_components
        # Of one feature there is one direction, also where the default says two.
        wanted = 1 if len(pairs.vectors) == 1 and n == DEFAULT else n
        if positive == 0:
            how = "raise eta, or use eta='auto'"
            if chosen:
                how = "the data chose this eta: give a larger one, unless rows hardly differ"
            warn_user(
                f"no eigenvalue of T is positive at eta={eta:.3g}: no direction tells unlike pairs "
                f"apart more than it moves like ones. The best one is returned; {how}."
            )
        elif wanted is not None and positive < wanted:
            them = "1 eigenvalue of T is" if positive == 1 else f"{positive} eigenvalues of T are"
            warn_user(
                f"n_components={n} was asked for, but only {them} positive at "
                f"eta={eta:.3g}: as many components are returned, since the others would lower "
                "the objective. Raise eta for more."
            )
        kept = max(positive, min(1, len(pairs.values)))
        return Eigenpairs(pairs.values[:kept], pairs.vectors[:, :kept])
