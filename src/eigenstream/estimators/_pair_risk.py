"""Risks of a distance threshold from counts of pairs by distance ([HPCA] sections 2 and 4)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._linalg import Float64s
from eigenstream.evaluation import BalancedRisk
from eigenstream.kernels.pairs import pair_distances, pair_histogram
from eigenstream.theory.bounds import RiskBound, balanced_pair_bound, pair_bound

#: Up to this many pairs all distances are held and sorted; above, counted in bins.
EXACT_PAIRS = 2**20

#: Bins of the histogram over the data's own largest distance, never over [0, 1].
BINS = 2**17

#: Thresholds that a margin risk is tried at when there are too many corners to try all.
MARGIN_THRESHOLDS = 2**16


@dataclass(frozen=True)
class PairCounts:
    """Cumulative numbers of pairs of either kind with a distance of at most each of ``ends``."""

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
        same = self.same / max(self.same[-1], 1.0)
        return same, self.different / max(self.different[-1], 1.0)


def counts_of_pairs(distances: Float64s, signs: Any) -> PairCounts:
    """Return the counts of pairs with known distances."""
    signs = np.asarray(signs)
    same, different = np.sort(distances[signs > 0]), np.sort(distances[signs < 0])
    return _sorted(same, different)


def distances_of(Z: Float64s, index: NDArray[np.intp], step: int = 1 << 20) -> Float64s:
    """Return the distances between rows with these indices, in blocks."""
    out = np.empty(len(index))
    for start in range(0, len(index), step):
        part = index[start : start + step]
        apart = Z[part[:, 0]] - Z[part[:, 1]]
        out[start : start + step] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    return out


def _sorted(same: Float64s, different: Float64s) -> PairCounts:
    ends = np.unique(np.concatenate([same, different]))
    return PairCounts(
        ends,
        np.searchsorted(same, ends, side="right").astype(np.float64),
        np.searchsorted(different, ends, side="right").astype(np.float64),
        0.0,
    )


def counts_of_classes(Z: Float64s, codes: NDArray[np.intp], tasks: NDArray[np.intp]) -> PairCounts:
    """Return the counts of all pairs inside tasks."""
    parts = [np.flatnonzero(tasks == task) for task in np.unique(tasks)]
    sizes = [
        (len(part), np.bincount(np.unique(codes[part], return_inverse=True)[1])) for part in parts
    ]
    n_same = [int((s * (s - 1)).sum()) // 2 for _, s in sizes]
    n_pairs = [n * (n - 1) // 2 for n, _ in sizes]
    points = np.ascontiguousarray(Z.T, dtype=np.float64)
    if sum(n_pairs) <= EXACT_PAIRS:
        found: list[tuple[Float64s, Float64s]] = []
        for part, same, pairs in zip(parts, n_same, n_pairs, strict=True):
            near, far = np.empty(same), np.empty(pairs - same)
            pair_distances(np.ascontiguousarray(points[:, part]), codes[part], near, far)
            found.append((near, far))
        near, far = (np.sort(np.concatenate([f[k] for f in found])) for k in (0, 1))
        return _sorted(near, far)
    centre = points.mean(axis=1, keepdims=True)
    reach = 2.0 * float(np.sqrt(((points - centre) ** 2).sum(axis=0).max()))
    width = reach / BINS if reach > 0 else 1.0
    counts = np.zeros((2, BINS + 1), dtype=np.int64)
    for part in parts:
        columns = np.ascontiguousarray(points[:, part])
        pair_histogram(columns, codes[part], 1.0 / width, counts)
    same_counts, different_counts = np.cumsum(counts, axis=1).astype(np.float64)
    return PairCounts(width * np.arange(BINS + 1.0), same_counts, different_counts, width)


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
    counts: PairCounts, margin: float, diameter: float, *, balanced: bool = True
) -> MarginRisk:
    """Return inf over c of R^_margin(P, c), distances in units of the diameter.

    ``balanced``: same and different pairs weigh one half each; else every pair weighs the same.

    As a function of t = c^2 it is a difference of integrated distribution functions: with F that
    of q = |P(x - x')|^2, the mean of f(t - q) is 1 - (integral of F over [t - g, t]) / g.
    """
    unit = diameter if diameter > 0 else 1.0
    q = (counts.ends / unit) ** 2
    shares = counts.shares
    steps = [np.diff(share, prepend=0.0) for share in shares]
    corners = np.concatenate([q, q + margin, q - margin, [0.0, 1.0]])
    spacing = 0.0
    if len(corners) > MARGIN_THRESHOLDS:
        corners, spacing = np.linspace(0.0, 1.0, MARGIN_THRESHOLDS + 1), 1.0 / MARGIN_THRESHOLDS
    t = np.unique(np.clip(corners, 0.0, 1.0))
    same = [_integrated(q, steps[0], at) for at in (t, t - margin)]
    different = [_integrated(q, steps[1], at) for at in (t + margin, t)]
    missed = 1.0 - (same[0] - same[1]) / margin if shares[0][-1] > 0 else np.zeros_like(t)
    fooled = (different[0] - different[1]) / margin
    n_same, n_different = counts.same[-1], counts.different[-1]
    share = 0.5 if balanced else n_same / (n_same + n_different)
    risks = np.clip(share * missed + (1.0 - share) * fooled, 0.0, 1.0)
    best = int(np.argmin(risks))
    # f has the slope 1/margin; q is known to within its bin, t to within half its spacing.
    blur = 0.0 if counts.exact else float(np.diff(np.minimum(q, 1.0)).max(initial=0.0))
    error = (blur + spacing / 2.0) / margin
    return MarginRisk(float(risks[best]), float(np.sqrt(t[best])) * unit, min(error, 1.0))


def bound_from_pairs(
    counts: PairCounts, d: int, margin: float, delta: float, diameter: float
) -> RiskBound:
    """Bound the balanced risk from independent pairs, in whatever proportion they came."""
    risk = margin_risk(counts, margin, diameter).risk
    n_same, n_different = int(counts.same[-1]), int(counts.different[-1])
    if n_same == 0 or n_different == 0:
        return pair_bound(max(n_same, n_different), d, margin, delta, empirical_risk=risk)
    return balanced_pair_bound(n_same, n_different, d, margin, delta, empirical_risk=risk)


def bound_from_rows(
    Z: Float64s, tasks: Any, counts: PairCounts, margin: float, delta: float, diameter: float
) -> RiskBound:
    """Bound the risk on pairs of fresh rows from all pairs of n independent ones, of one task.

    The average over all pairs is one over all ways to part the rows into n // 2 disjoint pairs
    (Hoeffding), so it is as good as that many independent pairs; in their own proportion, since the
    numbers of same and of different pairs hang together.
    """
    if len(np.unique(tasks)) > 1:
        raise ValueError(
            "rows of several tasks (groups) are not drawn alike, and the bound is about rows that "
            "are: fit one task."
        )
    risk = margin_risk(counts, margin, diameter, balanced=False).risk
    return pair_bound(len(Z) // 2, Z.shape[1], margin, delta, empirical_risk=risk)


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
