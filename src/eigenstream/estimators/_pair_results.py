"""How well a learned projection tells pairs apart, and what it promises for fresh ones."""

from abc import abstractmethod

from eigenstream._checks import check_number
from eigenstream.estimators._pair_bounds import check_delta
from eigenstream.estimators._pair_decisions import PairDecisions
from eigenstream.estimators._pair_parameters import PairParameters
from eigenstream.estimators._pair_solve import PAPER_MARGIN
from eigenstream.estimators.base import SubspaceEstimator
from eigenstream.evaluation import pair_risk
from eigenstream.theory.bounds import RiskBound


class PairResults(PairParameters, SubspaceEstimator, PairDecisions):
    """Risks, the unit of length, and bounds of the estimators that learn a projection."""

    def _learned(self, name: str) -> str:
        """Return the kernel or criterion that was learned with: it may have been set since."""
        return str(self._solved().details[name])

    @property
    def diameter_(self) -> float:
        """No two members of a pair are farther apart: what the theory's unit of length is.

        ``diameter`` where it was given. Else, from labelled rows: twice the radius of a ball about
        the first row or the origin, whichever is smaller, that holds all of them; for index pairs
        the same of their rows about the mean; for others the largest distance of a pair. For the
        "rbf" kernel it is sqrt(2), whatever the data ([HPCA] halves the kernel for it).
        """
        return float(self._solved().details["diameter"])

    @property
    def margin_risk_(self) -> float:
        """The least balanced margin risk on the training pairs, distances in ``diameter_``.

        At the margin of ``margin``, or 0.01 as in [HPCA] section 7.
        """
        return self._margin_risk().risk

    @property
    def margin_risk_error_(self) -> float:
        """How far ``margin_risk_`` may be from that of the same pairs with exact distances.

        Up to 2^20 pairs are held; above, they are counted in 2^17 bins.
        """
        return self._margin_risk().error

    def _margin_risk(self) -> pair_risk.MarginRisk:
        if self.margin is not None:
            self._check_margin()
        gamma = PAPER_MARGIN if self.margin is None else float(self.margin[1])
        return pair_risk.margin_risk(self._counts(), gamma, self._unit())

    def _unit(self) -> float:
        # Ratios are scaled freely: their own largest distance is the unit.
        ratio = self._learned("criterion") == "ratio"
        return float(self._counts().ends[-1]) if ratio else self.diameter_

    def bound(self, delta: float = 0.05, margin: float = 0.1) -> RiskBound:
        """Bound the risk of the learned projection on fresh pairs ([HPCA] Theorem 1).

        From pairs, taken as independent: the balanced risk, each kind with its own number of pairs
        and half of delta; with ``balanced=False`` the risk in the proportions that pairs came in. A
        pair that came k times, or with a weight, counts as one pair of that weight. From labels:
        the risk on two fresh rows, in the proportion in which pairs arise; all pairs of m rows
        count as m // 2 independent ones. What a sample instead of all pairs may hide is added.
        Distances are in ``diameter_``: give ``diameter`` where fresh rows may lie farther apart
        than these. The margin must have been chosen before looking.
        """
        delta = check_delta(delta)
        if self._learned("criterion") == "ratio":
            raise ValueError(
                "[HPCA] Theorem 1 is about projections, and criterion='ratio' stretches directions:"
                " use criterion='difference', or PairMetric with Theorem 3."
            )
        margin = check_number(margin, "margin", above=0, below=1)
        return self._risk_bound(margin, delta)

    @abstractmethod
    def _risk_bound(self, margin: float, delta: float) -> RiskBound:
        """Bound the risk of the learned projection on fresh pairs."""
