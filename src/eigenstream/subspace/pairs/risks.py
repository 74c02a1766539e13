"""Risks of a learned distance on the training pairs, on new pairs and on new classes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_number
from eigenstream.core.linalg import brief
from eigenstream.evaluation import pair_risk
from eigenstream.evaluation.base import PairCounts
from eigenstream.evaluation.pair_risk import BalancedRisk, MarginRisk, RateInterval, rate_interval

if TYPE_CHECKING:
    from eigenstream.subspace.pairs.decisions import PairDecisions
    from eigenstream.theory import RiskBound

#: The margin of training margin risks, as in [HPCA] section 7.
PAPER_MARGIN = 0.01


@dataclass(frozen=True, repr=False)
class PairRisks:
    """Risks of a distance threshold on the training pairs.

    Attributes
    ----------
    curve : BalancedRisk
        The balanced risk of every threshold: the mean of the error rates on same and on different
        pairs (Maurer 2006, section 3).
    counts : PairCounts
        The training pairs, or a sample of them, counted by learned distance. ``ends`` are
        ascending distances. ``same`` and ``different`` are the weights of the pairs of each kind
        up to that distance.
    diameter : float
        An upper bound on the distance within a training pair, the unit of margins and bounds. It
        is the largest distance for given pairs, and twice the largest distance from the mean for
        index pairs. For labelled rows it is twice the radius of a ball that contains all rows. For
        the "rbf" kernel it is sqrt(2).
    unit : float
        The unit of ``margin_risk``: the diameter for orthonormal components, and the largest
        learned distance of a training pair for others.
    """

    curve: BalancedRisk
    counts: PairCounts
    diameter: float
    unit: float

    __repr__ = brief

    @property
    def risk(self) -> float:
        """The smallest balanced risk of a threshold."""
        return self.curve.risk

    def margin_risk(self, margin: float = PAPER_MARGIN) -> MarginRisk:
        """Return the smallest balanced risk at a margin, its threshold and its counting error.

        Parameters
        ----------
        margin : float, default=0.01
            The margin, in (0, 1), in units of ``unit``.

        Returns
        -------
        MarginRisk
            The error is due to binned distances, and 0 up to 2^20 pairs.
        """
        margin = check_number(margin, "margin", above=0, below=1)
        return pair_risk.margin_risk(self.counts, margin, self.unit)


def pair_risks(model: "PairDecisions") -> PairRisks:
    """Return the risks of a learned distance on its training pairs.

    After ``fit`` of pairs they use all pairs. After ``partial_fit`` and ``merge`` they use up to
    8192 distinct pairs of each sign. For labelled rows they use all pairs of up to 10^4 distinct
    rows, sampled regardless of class.

    Parameters
    ----------
    model : ClassSubspace, PairSubspace or PairMetric
        A fitted estimator.

    Returns
    -------
    PairRisks

    Examples
    --------
    >>> from eigenstream import ClassSubspace
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(np.arange(20), 20)
    >>> rows = 5 * rng.standard_normal((20, 3))[y]
    >>> rows += rng.standard_normal((400, 3))
    >>> risks = pair_risks(ClassSubspace(2).fit(rows, y))
    >>> round(risks.risk, 2), round(risks.margin_risk(0.1).risk, 2)
    (0.08, 0.34)
    """
    counts, diameter = model._counts(), model._unit()
    orthonormal = getattr(model, "eta_", None) is not None
    unit = diameter if orthonormal else float(counts.ends[-1])
    return PairRisks(pair_risk.risk_curve(counts), counts, diameter, unit)


def risk_bound(
    model: "PairDecisions",
    delta: float = 0.05,
    margin: float = 0.1,
    *,
    diameter: float | None = None,
) -> "RiskBound":
    """Bound the risk of a learned distance on new pairs (Maurer 2006, Theorems 1 and 3).

    Learned from pairs, it bounds the balanced risk and assumes that the pairs are independent.
    Repeated pairs count once, with their total weight. Learned from labels, it bounds the risk on
    two new rows. All pairs of m rows count as m // 2 independent pairs. If the risk is estimated
    from a sample of the rows, the bound adds a term that uses part of delta.

    Parameters
    ----------
    model : ClassSubspace, PairSubspace or PairMetric
        A fitted estimator.
    delta : float in (0, 1), default=0.05
        The probability that the bound fails.
    margin : float in (0, 1), default=0.1
        The margin of the empirical risk. Choose it before looking at the data. ``PairMetric`` has
        the margin and the diameter of its fit instead.
    diameter : float, optional
        An upper bound on the distance of any two rows, including new ones. The default is that of
        ``pair_risks``, which holds only for the training rows.

    Returns
    -------
    RiskBound
        The empirical risk, the gap and their sum.

    References
    ----------
    A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", in Subspace,
    Latent Structure and Feature Selection, LNCS 3940, pp. 185-197, Springer, 2006.

    Examples
    --------
    >>> from eigenstream import PairMetric
    >>> pairs = np.random.default_rng(0).standard_normal((500, 2, 2))
    >>> distances = np.linalg.norm(pairs[:, 0] - pairs[:, 1], axis=1)
    >>> y = np.where(distances < 1.5, 1, -1)
    >>> bound = risk_bound(PairMetric().fit(pairs, y))
    >>> bound.value > 1.0  # vacuous: 500 pairs are few
    True
    """
    delta = check_number(delta, "delta", above=0, below=1)
    margin = check_number(margin, "margin", above=0, below=1)
    check_is_fitted(model)
    if diameter is not None:
        diameter = check_number(diameter, "diameter", above=0)
    return model._risk_bound(margin, delta, diameter)


def false_positive_interval(model: "PairDecisions", X: ArrayLike, y: ArrayLike) -> RateInterval:
    """Return the false-positive rate of ``threshold_`` for new classes, with an interval.

    Parameters
    ----------
    model : ClassSubspace, PairSubspace or PairMetric
        A fitted estimator, preferably after ``calibrate_threshold`` with the same rows.
    X : array-like of shape (n, n_features), or a stream
        Rows of classes that were not learned from.
    y : array-like of shape (n,)
        Their class labels.

    Returns
    -------
    RateInterval

    Examples
    --------
    >>> from eigenstream import ClassSubspace
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(np.arange(60), 10)
    >>> rows = 5 * rng.standard_normal((60, 3))[y]
    >>> rows += rng.standard_normal((600, 3))
    >>> model = ClassSubspace(2).fit(rows[:200], y[:200])
    >>> new = rows[200:], y[200:]
    >>> _ = model.calibrate_threshold(*new, false_positive_rate=0.01)
    >>> low, high = false_positive_interval(model, *new).interval
    >>> low < 0.01 < high
    True
    """
    _, labelled = model._measured(X, y)
    if labelled is None:
        raise ValueError("X contains pairs. Pass labelled rows, whose classes can be counted.")
    features, labels = labelled
    codes = np.unique(labels, return_inverse=True)[1].astype(np.intp)
    return rate_interval(features, codes, model.threshold_)
