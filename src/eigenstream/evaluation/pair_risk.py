"""Risks of a distance threshold ([HPCA] sections 2 and 4), and its rate for new classes."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from scipy.stats import t as student

from eigenstream.core.checks import check_whole
from eigenstream.core.linalg import Float64s, brief
from eigenstream.core.storable import storable
from eigenstream.evaluation.base import PairCounts, all_pairs, labelled
from eigenstream.theory.pair_bounds import margin_risks

#: The largest number of corners for an exact margin risk. Above it, a grid of this size is used.
MARGIN_THRESHOLDS = 2**16

#: The level of the interval.
LEVEL = 0.9

#: Rows whose distances to all rows are computed at a time.
QUERIES = 256


@dataclass(frozen=True, eq=False)
class BalancedRisk:
    """The risk of a distance threshold, with weight one half for each kind of pairs.

    Attributes
    ----------
    risk : float
        The smallest risk over all thresholds.
    risk_error : float
        A bound on ``risk`` minus the exact smallest risk; 0 for sorted distances.
    threshold : float
        A threshold that attains ``risk``.
    thresholds, risks : arrays
        The whole curve, with thresholds in ascending order.
    n_same, n_different : int
        The numbers of pairs.
    """

    risk: float
    risk_error: float
    threshold: float
    thresholds: Float64s
    risks: Float64s
    n_same: int
    n_different: int

    __repr__ = brief


def balanced_risk(Z: ArrayLike, labels: ArrayLike) -> BalancedRisk:
    """Return the smallest balanced risk of a distance threshold, and the whole curve.

    A threshold c predicts "same" for pairs at distance < c. Errors are same pairs at distance >= c
    and different pairs at distance <= c, so a pair at distance c is always an error [1]_. Each
    kind of pairs has the weight one half. Up to 2^20 pairs (1448 examples) the result is exact.
    Above that, distances are counted in a histogram, and ``risk_error`` bounds the error.

    Parameters
    ----------
    Z : array-like of shape (n, n_features)
        Features.
    labels : array-like of shape (n,)
        At least two classes. At least one class needs two examples.

    Returns
    -------
    BalancedRisk

    See Also
    --------
    pair_roc : The ROC curve of the same distances.

    References
    ----------
    .. [1] A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", Subspace,
           Latent Structure and Feature Selection, 2006.

    Examples
    --------
    All same pairs are nearer than 3, and all different pairs are at distance 4 or more:

    >>> found = balanced_risk(
    ...     [[0.0], [1.0], [5.0], [7.0]], ["a", "a", "b", "b"]
    ... )
    >>> found.risk, found.threshold
    (0.0, 3.0)
    """
    data = labelled(Z, labels)
    curve, scale = risk_curve(all_pairs(data)), data.scale
    return replace(curve, threshold=curve.threshold * scale, thresholds=curve.thresholds * scale)


def risk_at(counts: PairCounts, threshold: float) -> float:
    """Return the balanced risk of one threshold: pairs below it are predicted to be the same."""
    place = int(np.searchsorted(counts.ends, threshold, side="right"))
    near, fooled = (share[place - 1] if place else 0.0 for share in counts.shares)
    return float((1.0 - near) * (counts.totals[0] > 0.0) + fooled) / 2.0


def risk_curve(counts: PairCounts) -> BalancedRisk:
    """Return the balanced risk of every threshold."""
    near, fooled = (np.concatenate([[0.0], share]) for share in counts.shares)
    missed = (1.0 - near) * (counts.totals[0] > 0.0)
    risks, ends = (missed + fooled) / 2.0, counts.ends
    bound = 0.0
    if counts.exact:
        # The risk is constant between neighbouring distances, so use their midpoints.
        beyond = 2.0 * ends[-1] if ends[-1] > 0 else 1.0
        between = np.concatenate([[ends[0] / 2.0], (ends[:-1] + ends[1:]) / 2.0, [beyond]])
    else:
        between = np.concatenate([[0.0], ends])
        bound = float(risks.min() - ((missed[1:] + fooled[:-1]) / 2.0).min())
    if ends[0] == 0.0:  # a threshold is not negative
        between, risks = between[1:], risks[1:]
    best = int(np.argmin(risks))
    return BalancedRisk(
        risk=float(risks[best]),
        risk_error=bound,
        threshold=float(between[best]),
        thresholds=between,
        risks=risks,
        n_same=int(counts.totals[0]),
        n_different=int(counts.totals[1]),
    )


def rate_threshold(counts: PairCounts, rate: float) -> float:
    """Return the largest threshold that accepts at most this share of different pairs."""
    fooled = np.concatenate([[0.0], counts.shares[1]])
    return _threshold_at(counts.ends, int(np.searchsorted(fooled, rate, side="right")) - 1)


def best_threshold(counts: PairCounts, strategy: str, min_rate: float, beta: float) -> float:
    """Return the threshold of the largest accuracy, F-beta, or rate of true pairs of one kind.

    >>> distances, same = np.array([1.0, 2.0]), np.array([1.0, 1.0])
    >>> counts = PairCounts(distances, same, np.array([0.0, 2.0]), 0.0)
    >>> best_threshold(counts, "accuracy", 0.0, 1.0)
    1.5
    """
    same, different = (np.concatenate([[0.0], kind]) for kind in (counts.same, counts.different))
    right = different[-1] - different
    if strategy == "accuracy":
        scores = same + right
    elif strategy == "f_beta":
        predicted = beta**2 * same[-1] + same + different
        scores = same / np.where(predicted > 0.0, predicted, 1.0)
    elif strategy == "max_tpr":
        scores = np.where(1.0 - different / max(different[-1], 1.0) >= min_rate, same, -1.0)
    else:
        scores = np.where(same / max(same[-1], 1.0) >= min_rate, right, -1.0)
    return _threshold_at(counts.ends, int(scores.argmax()))


def _threshold_at(ends: Float64s, place: int) -> float:
    """Return a threshold that accepts the pairs at the first ``place`` distances."""
    if place == len(ends):
        return float(2.0 * ends[-1]) if ends[-1] > 0 else 1.0
    return float((ends[place - 1] if place else 0.0) + ends[place]) / 2.0


@dataclass(frozen=True)
class MarginRisk:
    """The least margin risk over thresholds, its threshold and a bound on its error."""

    risk: float
    threshold: float
    error: float


def margin_risk(
    counts: PairCounts,
    margin: float,
    diameter: float,
    *,
    balanced: bool = True,
    largest: float = 1.0,
) -> MarginRisk:
    """Return inf over c of R^_margin(P, c), with distances in units of the diameter.

    If ``balanced``, same and different pairs have the weight one half each, provided that both
    exist. Otherwise all pairs have the same weight. c^2 is at most ``largest``.
    """
    unit = diameter if diameter > 0 else 1.0
    q = (counts.ends / unit) ** 2
    shares = counts.shares
    steps = [np.diff(share, prepend=0.0) for share in shares]
    corners = np.concatenate([q, q + margin, q - margin, [0.0, largest]])
    spacing = 0.0
    if len(corners) > MARGIN_THRESHOLDS:
        corners = np.linspace(0.0, largest, MARGIN_THRESHOLDS + 1)
        spacing = largest / MARGIN_THRESHOLDS
    t = np.unique(np.clip(corners, 0.0, largest))
    n_same, n_different = counts.totals
    share = n_same / (n_same + n_different)
    if balanced and 0.0 < share < 1.0:
        share = 0.5
    risks = margin_risks(q, share * steps[0], (1.0 - share) * steps[1], t, margin)
    best = int(np.argmin(risks))
    # f has slope 1/margin. The error of q is at most a bin, that of t at most half its spacing.
    blur = 0.0 if counts.exact else float(np.diff(np.minimum(q, largest)).max(initial=0.0))
    error = (blur + spacing / 2.0) / margin
    return MarginRisk(float(risks[best]), float(np.sqrt(t[best])) * unit, min(error, 1.0))


@storable(rate="number", log_error="number", n_classes="int")
@dataclass(frozen=True)
class RateInterval:
    """The share of pairs of different classes below a threshold, for new classes.

    Attributes
    ----------
    rate : float
        The share of the different pairs of the given rows.
    log_error : float
        The standard error of the logarithm of the rate, by the jackknife over classes. It is about
        the relative error of the rate, and infinite for fewer than 3 classes.
    n_classes : int
        The number of classes of the rows.
    interval : (float, float)
        The 90 % interval of the rate over all new classes. It assumes that the given classes are
        drawn at random from these.

    Examples
    --------
    >>> found = RateInterval(rate=0.01, log_error=0.5, n_classes=30)
    >>> [round(end, 4) for end in found.interval]
    [0.0043, 0.0234]
    >>> [round(end, 4) for end in found.predicted(30)]
    [0.003, 0.0332]
    """

    rate: float
    log_error: float
    n_classes: int

    @property
    def interval(self) -> tuple[float, float]:
        """The 90 % interval of the rate over all new classes."""
        return self._interval(self.log_error)

    def predicted(self, n_classes: int) -> tuple[float, float]:
        """Return the 90 % interval of the rate that new classes will show.

        Parameters
        ----------
        n_classes : int
            The number of new classes.

        Returns
        -------
        (float, float)
            The interval.
        """
        new = check_whole(n_classes, "n_classes", least=1)
        return self._interval(self.log_error * float(np.sqrt(1.0 + self.n_classes / new)))

    def _interval(self, error: float) -> tuple[float, float]:
        if not np.isfinite(error):
            return 0.0, 1.0
        reach = float(student.ppf(0.5 + LEVEL / 2.0, self.n_classes - 1)) * error
        return self.rate * float(np.exp(-reach)), min(self.rate * float(np.exp(reach)), 1.0)


def rate_interval(Z: Float64s, codes: NDArray[np.intp], threshold: float) -> RateInterval:
    """Return the share of different pairs below a threshold, from features and class codes.

    The error comes from leaving out each class. Pairs share classes, so that independent pairs
    would give intervals that are far too short.
    """
    sizes = np.bincount(codes).astype(np.float64)
    near = np.zeros(len(Z))
    for first in range(0, len(Z), QUERIES):
        queries = slice(first, first + QUERIES)
        different = codes[queries, None] != codes
        near[queries] = (different & (cdist(Z[queries], Z) < threshold)).sum(axis=1)
    accepted, pairs = np.bincount(codes, near), sizes * (len(Z) - sizes)
    n, all_pairs = len(sizes), pairs.sum() / 2.0
    rate = float(accepted.sum() / 2.0 / all_pairs)
    if n < 3:
        return RateInterval(rate, float("inf"), n)
    rates = (accepted.sum() / 2.0 - accepted) / (all_pairs - pairs)
    logs = np.log(np.maximum(rates, 0.25 / all_pairs))
    return RateInterval(rate, float(np.sqrt((n - 1) * logs.var())), n)
