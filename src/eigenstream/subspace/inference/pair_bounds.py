"""Risk bounds of [HPCA] for new pairs, from training pairs or labelled rows."""

from dataclasses import replace
from math import ceil, log, sqrt

import numpy as np

from eigenstream._checks import check_number
from eigenstream.evaluation.base import PairCounts
from eigenstream.evaluation.pair_risk import TrainingRows, margin_risk
from eigenstream.subspace.sums.sample import Kind, TrainingPairs, all_alike
from eigenstream.theory import RiskBound, operator_bound, pair_bound


def check_delta(delta: float) -> float:
    """Return the checked probability that a bound fails."""
    return check_number(delta, "delta", above=0, below=1)


def gap_of(
    kind: Kind, norms: tuple[float, float], margin: float, delta: float
) -> tuple[int, float]:
    """Return the number of pairs in a bound, and its gap.

    For a sample there are two valid bounds, and the smaller gap is returned. The first applies the
    theorem to the sample. The second applies it to all pairs, and adds the difference between their
    empirical risk and that of the sample.
    """
    m = _whole(kind.m)
    gap = operator_bound(m, *norms, margin, delta).gap
    if kind.m_all is not None:
        more = _whole(kind.m_all)
        price = sampling_price(m, 1.0, delta / 2)
        both = operator_bound(more, *norms, margin, delta / 2).gap + price
        if both < gap:
            return more, both
    return m, gap


def bound_of_pairs(
    pairs: TrainingPairs,
    norms: tuple[float, float],
    margin: float,
    delta: float,
    unit: float,
    *,
    balanced: bool,
) -> RiskBound:
    """Bound the risk from independent pairs ([HPCA] Theorem 3).

    ``norms`` are the largest Hilbert-Schmidt and operator norm of the class. The balanced bound is
    a union bound over the two kinds of pairs, with half of delta for each.
    """
    counts, kinds = pairs.counts, pairs.kinds
    risk = _empirical(counts, margin, unit, balanced=balanced, largest=norms[1])
    shares = counts.same[-1] > 0, counts.different[-1] > 0
    if balanced and all(shares):
        parts = [gap_of(kind, norms, margin, delta / 2) for kind in kinds]
        return RiskBound(risk, sum(gap for _, gap in parts) / 2, delta, sum(m for m, _ in parts))
    m, gap = gap_of(_together(counts, kinds), norms, margin, delta)
    return RiskBound(risk, gap, delta, m)


def _together(counts: PairCounts, kinds: tuple[Kind, Kind]) -> Kind:
    """Return both kinds of pairs as one kind, of size (sum w)^2 / (sum w^2)."""
    totals = np.array([counts.same[-1], counts.different[-1]])
    there = np.flatnonzero(totals)
    known = np.array([kind.m for kind in kinds])[there]
    if all(kinds[k].m_all is None for k in there):
        squares = totals[there] ** 2 / known
        return Kind(float(totals.sum() ** 2 / squares.sum()))
    # The two kinds were sampled at different rates. A sample in true proportions would be limited
    # by the scarcer kind.
    shares = totals[there] / totals.sum()
    m = float((known / shares).min())
    every = [kinds[k].m_all or kinds[k].m for k in there]
    alike = np.ptp(np.array(every) / shares) <= 1e-9 * sum(every)
    return Kind(m, sum(every) if alike else None)


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
