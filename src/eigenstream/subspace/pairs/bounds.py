"""Risk bounds of [HPCA] for new pairs, from training pairs or labelled rows."""

from dataclasses import replace
from math import ceil, log, sqrt

import numpy as np

from eigenstream.evaluation.base import PairCounts
from eigenstream.evaluation.pair_risk import TrainingRows, margin_risk
from eigenstream.subspace.pairs.sample import TrainingPairs, all_alike
from eigenstream.theory import RiskBound, operator_bound, pair_bound


def bound_of_pairs(
    pairs: TrainingPairs, norms: tuple[float, float], margin: float, delta: float, unit: float
) -> RiskBound:
    """Bound the balanced risk from independent pairs ([HPCA] Theorem 3).

    ``norms`` are the largest Hilbert-Schmidt and operator norm of the class. With pairs of both
    signs, it is a union bound with half of delta for each sign.
    """
    risk = _empirical(pairs.counts, margin, unit, balanced=True, largest=norms[1])
    m = [_whole(number) for number in pairs.numbers if number > 0.0]
    gaps = [operator_bound(n, *norms, margin, delta / len(m)).gap for n in m]
    return RiskBound(risk, sum(gaps) / len(m), delta, sum(m))


def _empirical(
    counts: PairCounts, margin: float, unit: float, *, balanced: bool, largest: float = 1.0
) -> float:
    smallest = margin_risk(counts, margin, unit, balanced=balanced, largest=largest)
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


def bound_of_rows(rows: TrainingRows, margin: float, delta: float, diameter: float) -> RiskBound:
    """Bound the risk on pairs of new rows from all pairs of n independent rows of one task.

    The mean over all pairs is a mean over all partitions of the rows into n // 2 disjoint pairs
    (Hoeffding). It is therefore as accurate as n // 2 independent pairs. The bound is not balanced,
    since the numbers of same and of different pairs are dependent.

    The bound also holds for repeated rows, whether they are copies or frequent values. A mean with
    weights w is a mean over random subsets that contain row i with probability w_i / max w. The
    bound therefore counts sum(w) / max(w) rows. It excludes pairs of a row with its own copies, and
    adds their share to the risk.
    """
    if len(np.unique(rows.tasks)) > 1:
        raise ValueError(
            "The bound assumes rows of one distribution, but there are several tasks (groups). Fit "
            "one task."
        )
    apart, every = rows.counted(repeats=0.0), rows.counts
    pairs, n_pairs = (float(c.same[-1] + c.different[-1]) for c in (apart, every))
    risk = _empirical(apart, margin, diameter, balanced=False) + 1.0 - pairs / n_pairs
    d, weights = rows.Z.shape[1], rows.weights
    sampled = float(weights.sum() / weights.max())
    bound = pair_bound(_whole(sampled / 2), d, margin, delta, empirical_risk=min(risk, 1.0))
    n_all = None if rows.complete else all_alike(weights, rows.total, rows.n_distinct)
    if n_all is not None:
        part = pair_bound(_whole(n_all / 2), d, margin, delta / 2, empirical_risk=min(risk, 1.0))
        gap = part.gap + sampling_price(len(weights), 2.0, delta / 2)
        if gap < bound.gap:
            return replace(part, gap=gap, delta=delta)
    return bound


def _whole(m: float) -> int:
    """Return a number of pairs rounded down, with a tolerance for rounding errors."""
    return max(int(np.floor(m * (1 + 1e-12))), 1)
