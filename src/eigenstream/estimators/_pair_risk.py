"""Risks of a distance threshold from counts of pairs by distance ([HPCA] sections 2 and 4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from eigenstream._linalg import Float64s
from eigenstream.evaluation import BalancedRisk
from eigenstream.kernels.pairs import (
    pair_distances,
    pair_errors,
    pair_histogram,
    weighted_pair_histogram,
)

#: Up to this many pairs all distances are held and sorted; above, counted in bins.
EXACT_PAIRS = 2**20

#: Bins of the histogram over the data's own largest distance, never over [0, 1].
BINS = 2**17

#: Thresholds that a margin risk is tried at when there are too many corners to try all.
MARGIN_THRESHOLDS = 2**16


@dataclass(frozen=True)
class PairCounts:
    """Cumulative weights of the pairs of either kind with a distance of at most each of ``ends``.

    A pair that came k times, or with the weight k, counts k times.
    """

    ends: Float64s
    same: Float64s
    different: Float64s
    #: No distance is further than this below the end that it is counted at: 0 when exact.
    width: float

    @property
    def exact(self) -> bool:
        """Whether every distance was held."""
        return self.width == 0.0

    @property
    def shares(self) -> tuple[Float64s, Float64s]:
        """The shares of same and of different pairs at most so far apart."""
        return tuple(  # type: ignore[return-value]
            kind / kind[-1] if kind[-1] > 0 else kind for kind in (self.same, self.different)
        )


def counts_of_pairs(distances: Float64s, signs: Any, weights: Any = None) -> PairCounts:
    """Return the counts of pairs with known distances, and weights if given."""
    signs = np.asarray(signs)
    kinds = [signs > 0, signs < 0]
    if weights is not None:
        kinds = [kind & (weights > 0) for kind in kinds]
    return _counted([(distances[k], None if weights is None else weights[k]) for k in kinds])


def distances_of(Z: Float64s, index: NDArray[np.intp], step: int = 1 << 20) -> Float64s:
    """Return the distances between rows with these indices, in blocks."""
    out = np.empty(len(index))
    for start in range(0, len(index), step):
        part = index[start : start + step]
        apart = Z[part[:, 0]] - Z[part[:, 1]]
        out[start : start + step] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    return out


def _counted(kinds: Any) -> PairCounts:
    """Return the counts of same and of different pairs from the distances and weights of each."""
    found = []
    for distances, weights in kinds:
        if weights is None:
            ends, steps = np.unique(distances, return_counts=True)
        else:
            ends, places = np.unique(distances, return_inverse=True)
            steps = np.bincount(places, weights, minlength=len(ends))
        found.append((ends, np.concatenate([[0.0], np.cumsum(steps, dtype=np.float64)])))
    ends, width = np.unique(np.concatenate([ends for ends, _ in found])), 0.0
    if sum(len(ends) for ends, _ in found) > EXACT_PAIRS:
        width = ends[-1] / BINS
        ends = np.concatenate([width * np.arange(BINS), ends[-1:]])
    same, different = (sums[np.searchsorted(at, ends, side="right")] for at, sums in found)
    return PairCounts(ends, same, different, float(width))


def counts_of_classes(
    Z: Float64s,
    codes: NDArray[np.intp],
    tasks: NDArray[np.intp],
    weights: Float64s | None = None,
    repeats: float = 1.0,
) -> PairCounts:
    """Return the counts of all pairs inside tasks.

    Weights of rows count as repetitions: a row of weight k also makes k (k - 1) / 2 pairs with
    itself, at the distance zero. They count ``repeats`` times, as where the rows are a sample: a
    share of all rows holds that share of these pairs, but its square of all others.
    """
    if weights is not None and (weights == 1.0).all():
        weights = None
    parts = [np.flatnonzero(tasks == task) for task in np.unique(tasks)]
    points = np.ascontiguousarray(Z.T, dtype=np.float64)
    own = 0.0
    if weights is not None:
        own = repeats * float(np.maximum(weights * (weights - 1.0), 0.0).sum()) / 2.0
    if sum(len(part) * (len(part) - 1) // 2 for part in parts) <= EXACT_PAIRS:
        # First the pairs that rows make with themselves.
        near, far = [np.zeros(int(own > 0))], [np.empty(0)]
        of_near, of_far = [np.full(int(own > 0), own)], [np.empty(0)]
        for part in parts:
            if weights is None:
                n_same = sum(int(size * (size - 1)) // 2 for size in np.bincount(codes[part]))
                same, different = (
                    np.empty(n_same),
                    np.empty(len(part) * (len(part) - 1) // 2 - n_same),
                )
                columns = np.ascontiguousarray(points[:, part])
                pair_distances(columns, codes[part], same, different)
                near.append(same)
                far.append(different)
                continue
            first, second = np.triu_indices(len(part), 1)
            alike = codes[part][first] == codes[part][second]
            distances = pdist(Z[part])
            products = weights[part][first] * weights[part][second]
            near.append(distances[alike])
            far.append(distances[~alike])
            of_near.append(products[alike])
            of_far.append(products[~alike])
        joined = [np.concatenate(each) for each in (near, far, of_near, of_far)]
        if weights is None:
            return _counted([(joined[0], None), (joined[1], None)])
        return _counted([(joined[0], joined[2]), (joined[1], joined[3])])
    centre = points.mean(axis=1, keepdims=True)
    reach = 2.0 * float(np.sqrt(((points - centre) ** 2).sum(axis=0).max()))
    width = reach / BINS if reach > 0 else 1.0
    counts = np.zeros((2, BINS + 1), dtype=np.int64 if weights is None else np.float64)
    for part in parts:
        columns = np.ascontiguousarray(points[:, part])
        if weights is None:
            pair_histogram(columns, codes[part], 1.0 / width, counts)
        else:
            weighted_pair_histogram(columns, codes[part], weights[part], 1.0 / width, counts)
    sums = counts.astype(np.float64)
    sums[0, 0] += own
    same, different = np.cumsum(sums, axis=1)
    return PairCounts(width * np.arange(BINS + 1.0), same, different, width)


@dataclass(frozen=True)
class TrainingRows:
    """Projected rows that were learned from, all of them or a sample in true proportions.

    ``weights`` count as repetitions, ``total`` is that of all rows, and ``n_distinct`` the number
    of different ones.
    """

    Z: Float64s
    codes: NDArray[np.intp]
    tasks: NDArray[np.intp]
    weights: Float64s
    total: float
    complete: bool
    n_distinct: float

    def counts(self, repeats: float = 1.0) -> PairCounts:
        """Return all their pairs by distance, those of a row with itself ``repeats`` times."""
        share = 1.0 if self.complete else float(self.weights.sum()) / self.total
        return counts_of_classes(self.Z, self.codes, self.tasks, self.weights, share * repeats)

    def risk_error(self, threshold: float) -> float:
        """Return the standard error of the balanced risk at a threshold: 0 from all rows."""
        if self.complete:
            return 0.0
        left = max(1.0 - len(self.Z) / self.n_distinct, 0.0)
        found = sampling_error(self.Z, self.codes, self.tasks, self.weights, threshold)
        return float(np.sqrt(left)) * found


def risk_curve(counts: PairCounts) -> BalancedRisk:
    """Return the balanced risk of every threshold; an undecided pair counts as an error."""
    near, fooled = (np.concatenate([[0.0], share]) for share in counts.shares)
    missed = (1.0 - near) if counts.same[-1] > 0 else np.zeros_like(near)
    risks, ends = (missed + fooled) / 2.0, counts.ends
    bound = 0.0
    if counts.exact:
        # Between two neighbouring distances the risk is constant: stand in the middle.
        beyond = 2.0 * ends[-1] if ends[-1] > 0 else 1.0
        between = np.concatenate([[ends[0] / 2.0], (ends[:-1] + ends[1:]) / 2.0, [beyond]])
    else:
        between = np.concatenate([[0.0], ends])
        bound = float(risks.min() - ((missed[1:] + fooled[:-1]) / 2.0).min())
    if ends[0] == 0.0:  # no threshold stands below a distance of zero
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
    """Return the threshold with the fewest wrong decisions, every pair counting the same."""
    near, far = (np.concatenate([[0.0], side]) for side in (counts.same, counts.different))
    return _middle(counts.ends, int(np.argmin(counts.same[-1] - near + far)))


def rate_threshold(counts: PairCounts, rate: float) -> float:
    """Return the largest threshold that calls at most this share of different pairs same."""
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
    """The least balanced margin risk over thresholds, where it is, and how exact it is."""

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
    """Return inf over c of R^_margin(P, c), distances in units of the diameter.

    ``balanced``: same and different pairs weigh one half each, where there are both; else every
    pair weighs the same. c^2 is tried up to ``largest``.

    As a function of t = c^2 it is a difference of integrated distribution functions: with F that
    of q = |P(x - x')|^2, the mean of f(t - q) is 1 - (integral of F over [t - g, t]) / g.
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
    same = [_integrated(q, steps[0], at) for at in (t, t - margin)]
    different = [_integrated(q, steps[1], at) for at in (t + margin, t)]
    missed = 1.0 - (same[0] - same[1]) / margin if shares[0][-1] > 0 else np.zeros_like(t)
    fooled = (different[0] - different[1]) / margin
    n_same, n_different = counts.same[-1], counts.different[-1]
    share = n_same / (n_same + n_different)
    if balanced and 0.0 < share < 1.0:
        share = 0.5
    risks = np.clip(share * missed + (1.0 - share) * fooled, 0.0, 1.0)
    best = int(np.argmin(risks))
    # f has the slope 1/margin; q is known to within its bin, t to within half its spacing.
    blur = 0.0 if counts.exact else float(np.diff(np.minimum(q, largest)).max(initial=0.0))
    error = (blur + spacing / 2.0) / margin
    return MarginRisk(float(risks[best]), float(np.sqrt(t[best])) * unit, min(error, 1.0))


def sampling_error(
    Z: Float64s,
    codes: NDArray[np.intp],
    tasks: NDArray[np.intp],
    weights: Float64s,
    threshold: float,
) -> float:
    """Return the standard error of the balanced risk at a threshold, from rows that are a sample.

    The infinitesimal jackknife: how much the risk changes with the weight of each row.
    """
    errors = np.zeros((4, len(Z)))
    for task in np.unique(tasks):
        part = np.flatnonzero(tasks == task)
        found = np.zeros((4, len(part)))
        columns = np.ascontiguousarray(Z[part].T, dtype=np.float64)
        pair_errors(columns, codes[part], weights[part], threshold, found)
        errors[:, part] = found
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
    """Return the standard error of the balanced risk at a threshold, from pairs that are a sample.

    ``n_distinct`` are the numbers of different same and different pairs that they were drawn from.
    """
    variance = 0.0
    for sign, n_all in zip((1, -1), n_distinct, strict=True):
        mine = signs == sign
        if not mine.any():
            continue
        share = weights[mine] / weights[mine].sum()
        apart = distances[mine]
        wrong = (apart >= threshold if sign > 0 else apart <= threshold).astype(np.float64)
        left = max(1.0 - len(apart) / n_all, 0.0)
        variance += left * float(np.square(share * (wrong - share @ wrong)).sum()) / 4.0
    return float(np.sqrt(variance))


def _integrated(values: Float64s, weights: Float64s, at: Float64s) -> Float64s:
    """Return the sum of weight * max(at - value, 0), values ascending."""
    place = np.searchsorted(values, at, side="right")
    weight = np.concatenate([[0.0], np.cumsum(weights)])[place]
    moment = np.concatenate([[0.0], np.cumsum(weights * values)])[place]
    return np.asarray(weight * at - moment)


def roc_area(counts: PairCounts) -> float:
    """Return the chance that a same pair is nearer than a different one; ties count one half."""
    near, far = (np.concatenate([[0.0], share]) for share in counts.shares)
    return float((near[1:] + near[:-1]) @ np.diff(far)) / 2.0
