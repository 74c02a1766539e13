"""Risks of a learned distance on the training pairs, on new pairs and on new classes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, log, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_number
from eigenstream.core.linalg import Float64s, brief
from eigenstream.core.storable import storable
from eigenstream.core.types import Array, Matrix
from eigenstream.evaluation import pair_risk
from eigenstream.evaluation.base import (
    PairCounts,
    counts_of_classes,
    counts_of_pairs,
    distances_of,
)
from eigenstream.evaluation.pair_risk import (
    BalancedRisk,
    MarginRisk,
    RateInterval,
    rate_interval,
)
from eigenstream.rows.chunk import Chunk, Places
from eigenstream.subspace.pairs.terms import Sample, chunk_keys, pair_hashes
from eigenstream.theory import RiskBound, operator_bound, pair_bound

if TYPE_CHECKING:
    from eigenstream.subspace.pairs.decisions import PairDecisions

#: The margin of training margin risks, as in [HPCA] section 7.
PAPER_MARGIN = 0.01


#: A map of rows to the features whose distances count.
Project = Callable[[Matrix], Float64s]


@storable(counts="PairCounts", numbers="tuple[number]")
@dataclass(frozen=True)
class TrainingPairs:
    """All training pairs or a sample of them, counted by distance.

    ``numbers`` are the effective numbers of independent positive and negative pairs.
    """

    counts: PairCounts
    numbers: tuple[float, float]

    @classmethod
    def of(cls, chunks: Iterable[Chunk], project: Project) -> "TrainingPairs":
        """Return all pairs of chunks after projection, where equal pairs count as one.

        Weighted pairs count as (sum w)^2 / (sum w^2) independent ones. For weights p that sum to 1,
        McDiarmid's inequality and the Rademacher average have sum p^2 in place of 1 / m.
        """
        parts = []
        for chunk in chunks:
            assert chunk.pairs is not None
            lengths = distances_of(project(chunk.rows), chunk.pairs)
            parts.append((lengths, chunk.labels, chunk.each_weight(), pair_hashes(chunk)))
        lengths, signs, weights, hashes = map(np.concatenate, zip(*parts, strict=True))
        numbers = []
        for sign in (1, -1):
            chosen = (signs == sign) & (weights > 0)
            place = np.unique(hashes[chosen], return_inverse=True)[1]
            sums = np.bincount(place, weights[chosen])
            numbers.append(float(sums.sum() ** 2 / (float((sums**2).sum()) or 1.0)))
        return cls(counts_of_pairs(lengths, signs, weights), (numbers[0], numbers[1]))

    def bound(
        self, norms: tuple[float, float], margin: float, delta: float, unit: float
    ) -> RiskBound:
        """Bound the balanced risk from independent pairs ([HPCA] Theorem 3).

        ``norms`` are the largest Hilbert-Schmidt and operator norm of the class. With pairs of both
        signs, it is a union bound with half of delta for each sign.
        """
        risk = _empirical(self.counts, margin, unit, balanced=True, largest=norms[1])
        m = [_n_pairs(number) for number in self.numbers if number > 0.0]
        gaps = [operator_bound(n, *norms, margin, delta / len(m)).gap for n in m]
        return RiskBound(risk, sum(gaps) / len(m), delta, sum(m))


@dataclass(frozen=True)
class TrainingRows:
    """The training rows after projection, or a representative sample of them.

    ``weights`` count as repetitions. ``total`` is the sum of the weights of all rows, and
    ``n_distinct`` the number of different rows.
    """

    Z: Float64s
    #: The label, the class and the task of each row.
    labels: Array
    codes: Places
    tasks: Places
    weights: Float64s
    total: float
    complete: bool
    n_distinct: float

    @classmethod
    def of_sample(cls, sample: Sample, project: Project) -> "TrainingRows":
        """Return the labelled rows of a sample after projection."""
        rows = sample.chunk
        assert rows is not None
        keys, codes = chunk_keys(rows)
        numbers: dict[object, int] = {}
        tasks = np.array([numbers.setdefault(key[0], len(numbers)) for key in keys], np.intp)
        labels = np.array([label for _, label in keys])
        of_rows = project(rows.rows), labels[codes], codes, tasks[codes], rows.each_weight()
        return cls(*of_rows, sample.total, sample.complete, sample.n_distinct)

    @cached_property
    def counts(self) -> PairCounts:
        """The counts of the pairs."""
        return self.counted()

    def counted(self, repeats: float = 1.0) -> PairCounts:
        """Return the counts of the pairs; see ``counts_of_classes``."""
        share = 1.0 if self.complete else float(self.weights.sum()) / self.total
        return counts_of_classes(self.Z, self.codes, self.tasks, self.weights, repeats * share)

    def bound(
        self, norms: tuple[float, float], margin: float, delta: float, unit: float
    ) -> RiskBound:
        """Bound the risk on pairs of new rows from all pairs of n independent rows of one task.

        The mean over all pairs is a mean over all partitions of the rows into n // 2 disjoint pairs
        (Hoeffding). It is therefore as accurate as n // 2 independent pairs. The bound is not
        balanced, since the numbers of same and of different pairs are dependent.

        The bound also holds for repeated rows, whether they are copies or frequent values. A mean
        with weights w is a mean over random subsets that contain row i with probability w_i / max
        w. The bound therefore counts sum(w) / max(w) rows. It excludes pairs of a row with its own
        copies, and adds their share to the risk.
        """
        if len(np.unique(self.tasks)) > 1:
            raise ValueError(
                "The bound assumes rows of one distribution, but there are several tasks (groups). "
                "Fit one task."
            )
        apart, weights = self.counted(repeats=0.0), self.weights
        risk = _empirical(apart, margin, unit, balanced=False)
        risk = min(risk + 1.0 - sum(apart.totals) / sum(self.counts.totals), 1.0)

        def of_rows(n: float, delta: float) -> RiskBound:
            return pair_bound(_n_pairs(n / 2), self.Z.shape[1], margin, delta, empirical_risk=risk)

        bound = of_rows(float(weights.sum() / weights.max()), delta)
        n_all = None if self.complete else all_alike(weights, self.total, self.n_distinct)
        if n_all is not None:
            part = of_rows(n_all, delta / 2)
            gap = part.gap + sampling_price(len(weights), 2.0, delta / 2)
            if gap < bound.gap:
                return replace(part, gap=gap, delta=delta)
        return bound


def all_alike(weights: Float64s, total: float, n_distinct: float) -> float | None:
    """Return the number of rows sampled from, or None if their weights differ."""
    n = total / float(weights[0])
    # If rows outside the sample are repeated, there are fewer distinct rows than n.
    spread = 5.0 / sqrt(len(weights))
    if np.ptp(weights) <= 1e-12 * weights[0] and n_distinct >= n * (1.0 - spread):
        return n
    return None


# ---- risks -----------------------------------------------------------------------------------


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
) -> RiskBound:
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
    features, _, codes = labelled
    return rate_interval(features, codes, model.threshold_)


# ---- bounds ----------------------------------------------------------------------------------


def _empirical(
    counts: PairCounts, margin: float, unit: float, *, balanced: bool, largest: float = 1.0
) -> float:
    smallest = pair_risk.margin_risk(counts, margin, unit, balanced=balanced, largest=largest)
    return min(smallest.risk + (0.0 if counts.exact else smallest.error), 1.0)


def sampling_price(n_sampled: int, change: float, delta: float) -> float:
    """Return the largest excess of the margin risk of all pairs over that of a sample.

    It holds with probability > 1 - delta, for one projection and all thresholds at once. As a
    function of the squared threshold, the margin risk is a falling function (same pairs) plus a
    rising one (different pairs). Both vary by at most 1 in total. Divide the thresholds at J places
    between which they vary by 1 / J. McDiarmid's inequality for random subsets, with a union bound
    over the J places, bounds the error of the sample's means. One sampled row or pair changes a
    mean by at most ``change / n_sampled``.
    """
    places = ceil(sqrt(n_sampled))
    return change * sqrt(log(places / delta) / (2 * n_sampled)) + 1.0 / places


def _n_pairs(m: float) -> int:
    """Return a number of pairs rounded down, with a tolerance for rounding errors."""
    return max(int(np.floor(m * (1 + 1e-12))), 1)
