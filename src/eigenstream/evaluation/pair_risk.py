"""Risks of a distance threshold from counts of pairs by distance ([HPCA] sections 2 and 4)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from eigenstream._checks import check_whole
from eigenstream._linalg import Float64s, brief
from eigenstream._storable import storable
from eigenstream.evaluation.base import (
    BINS,
    EXACT_PAIRS,
    PairCounts,
    all_pairs,
    counts_of_classes,
    labelled,
    pairs_of_tasks,
)
from eigenstream.theory.pair_bounds import margin_risks

#: The largest number of corners for an exact margin risk. Above it, a grid of this size is used.
MARGIN_THRESHOLDS = 2**16

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


@storable(
    Z="f8 n d",
    codes="i8 n",
    tasks="i8 n",
    weights="f8 n",
    total="number",
    complete="bool",
    n_distinct="number",
    group_weights="str",
)
@dataclass(frozen=True)
class TrainingRows:
    """The projected training rows, or a representative sample of them.

    ``weights`` count as repetitions. ``total`` is the sum of the weights of all rows, and
    ``n_distinct`` the number of different rows.
    """

    Z: Float64s
    codes: NDArray[np.intp]
    tasks: NDArray[np.intp]
    weights: Float64s
    total: float
    complete: bool
    n_distinct: float
    group_weights: str = "uniform"

    @property
    def counts(self) -> PairCounts:
        """The counts of the pairs."""
        return self.counted()

    def counted(self, repeats: float = 1.0) -> PairCounts:
        """Return the counts of the pairs; see ``counts_of_classes``."""
        share = 1.0 if self.complete else float(self.weights.sum()) / self.total
        repeats *= share
        return counts_of_classes(
            self.Z, self.codes, self.tasks, self.weights, repeats, self.group_weights
        )

    def risk_error(self, threshold: float) -> float:
        """Return the standard error of the balanced risk at a threshold; 0 for all rows."""
        if self.complete:
            return 0.0
        left = max(1.0 - len(self.Z) / self.n_distinct, 0.0)
        error = sampling_error(
            self.Z, self.codes, self.tasks, self.weights, threshold, self.group_weights
        )
        return float(np.sqrt(left)) * error


def balanced_risk(
    Z: ArrayLike, labels: ArrayLike, *, exact_pairs: int = EXACT_PAIRS, bins: int = BINS
) -> BalancedRisk:
    """Return the smallest balanced risk of a distance threshold, and the whole curve.

    A threshold c predicts "same" for pairs at distance < c. Errors are same pairs at distance >= c
    and different pairs at distance <= c, so a pair at distance c is always an error [1]_. Each
    kind of pairs has the weight one half.

    Parameters
    ----------
    Z : array-like of shape (n, n_features)
        Features.
    labels : array-like of shape (n,)
        At least two classes. At least one class needs two examples.
    exact_pairs : int, default=2**20
        Up to this number of pairs (1448 examples) the result is exact. Above it, distances are
        counted in a histogram, and ``risk_error`` bounds the error.
    bins : int, default=2**17
        The number of bins of the histogram.

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
    exact_pairs, bins = check_whole(exact_pairs, "exact_pairs", least=0), check_whole(bins, "bins")
    curve = risk_curve(all_pairs(data, exact_pairs=exact_pairs, bins=bins))
    return replace(
        curve,
        threshold=curve.threshold * data.scale,
        thresholds=curve.thresholds * data.scale,
    )


def risk_at(counts: PairCounts, threshold: float) -> float:
    """Return the balanced risk of one threshold: pairs below it are predicted to be the same."""
    place = int(np.searchsorted(counts.ends, threshold, side="right"))
    near, fooled = (share[place - 1] if place else 0.0 for share in counts.shares)
    return float((1.0 - near) * (counts.same[-1] > 0) + fooled) / 2.0


def risk_curve(counts: PairCounts) -> BalancedRisk:
    """Return the balanced risk of every threshold."""
    near, fooled = (np.concatenate([[0.0], share]) for share in counts.shares)
    missed = (1.0 - near) if counts.same[-1] > 0 else np.zeros_like(near)
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
        n_same=int(counts.same[-1]),
        n_different=int(counts.different[-1]),
    )


def accuracy_threshold(counts: PairCounts) -> float:
    """Return the threshold with the fewest errors, with equal weights of all pairs."""
    near, far = (np.concatenate([[0.0], side]) for side in (counts.same, counts.different))
    return _middle(counts.ends, int(np.argmin(counts.same[-1] - near + far)))


def rate_threshold(counts: PairCounts, rate: float) -> float:
    """Return the largest threshold that accepts at most this share of different pairs."""
    fooled = np.concatenate([[0.0], counts.shares[1]])
    return _middle(counts.ends, int(np.searchsorted(fooled, rate, side="right")) - 1)


def _middle(ends: Float64s, place: int) -> float:
    """Return a threshold above the first ``place`` ends and below the others."""
    if place == 0:
        return float(ends[0] / 2.0)
    if place == len(ends):
        return float(2.0 * ends[-1]) if ends[-1] > 0 else 1.0
    return float((ends[place - 1] + ends[place]) / 2.0)


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
    n_same, n_different = counts.same[-1], counts.different[-1]
    share = n_same / (n_same + n_different)
    if balanced and 0.0 < share < 1.0:
        share = 0.5
    risks = margin_risks(q, share * steps[0], (1.0 - share) * steps[1], t, margin)
    best = int(np.argmin(risks))
    # f has slope 1/margin. The error of q is at most a bin, that of t at most half its spacing.
    blur = 0.0 if counts.exact else float(np.diff(np.minimum(q, largest)).max(initial=0.0))
    error = (blur + spacing / 2.0) / margin
    return MarginRisk(float(risks[best]), float(np.sqrt(t[best])) * unit, min(error, 1.0))


def sampling_error(
    Z: Float64s,
    codes: NDArray[np.intp],
    tasks: NDArray[np.intp],
    weights: Float64s,
    threshold: float,
    group_weights: str = "uniform",
) -> float:
    """Return the standard error of the balanced risk at a threshold, from a sample of rows.

    It is the infinitesimal jackknife: the derivatives of the risk with respect to the weights of
    rows.
    """
    errors = np.zeros((4, len(Z)))
    of_pairs, _ = pairs_of_tasks(tasks, weights, 1.0, group_weights)
    for task, each in zip(np.unique(tasks), of_pairs, strict=True):
        part = np.flatnonzero(tasks == task)
        for queries in np.array_split(part, len(part) // QUERIES + 1):
            distances, alike = cdist(Z[queries], Z[part]), codes[queries, None] == codes[part]
            kinds = [alike & (queries[:, None] != part), ~alike]
            wrong = [kinds[0] & (distances >= threshold), kinds[1] & (distances <= threshold)]
            for k in (0, 1):
                errors[2 * k : 2 * k + 2, queries] = each * (
                    np.stack([wrong[k], kinds[k]]) @ weights[part]
                )
    slopes = np.zeros(len(Z))
    for wrong, all_ in ((errors[0], errors[1]), (errors[2], errors[3])):
        total = float(weights @ all_) / 2.0
        if total > 0:
            slopes += (wrong - float(weights @ wrong) / 2.0 / total * all_) / total / 2.0
    return float(np.sqrt(np.square(weights * slopes).sum()))


def pairs_error(
    distances: Float64s,
    signs: NDArray[np.int64],
    weights: Float64s,
    n_distinct: Sequence[float],
    threshold: float,
) -> float:
    """Return the standard error of the balanced risk at a threshold, from a sample of pairs.

    ``n_distinct`` are the numbers of distinct same and different pairs of the population.
    """
    variance = 0.0
    for sign, n_all in zip((1, -1), n_distinct, strict=True):
        selected = signs == sign
        if not selected.any():
            continue
        share = weights[selected] / weights[selected].sum()
        apart = distances[selected]
        wrong = (apart >= threshold if sign > 0 else apart <= threshold).astype(np.float64)
        left = max(1.0 - len(apart) / n_all, 0.0)
        variance += left * float(np.square(share * (wrong - share @ wrong)).sum()) / 4.0
    return float(np.sqrt(variance))
