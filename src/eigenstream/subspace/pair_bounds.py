"""What [HPCA] promises for fresh pairs, from the pairs or the rows that were learned from."""

from dataclasses import replace
from math import ceil, log, sqrt

import numpy as np

from eigenstream._checks import check_number
from eigenstream.evaluation.base import PairCounts
from eigenstream.evaluation.pair_risk import TrainingRows, margin_risk
from eigenstream.subspace.sample import Kind, TrainingPairs, all_alike
from eigenstream.theory import RiskBound, operator_bound, pair_bound


def check_delta(delta: float) -> float:
    """Return the probability that a bound may fail with; refuse all that is none."""
    return check_number(delta, "delta", above=0, below=1)


def gap_of(
    kind: Kind, norms: tuple[float, float], margin: float, delta: float
) -> tuple[int, float]:
    """Return the number of pairs that a bound rests on, and its gap.

    The theorem holds for all maps at once, so for a sample of the pairs as for any others; or it is
    taken for all pairs, and what their empirical risk may be above that of the sample is paid for.
    Which gap is the smaller one does not depend on the risks.
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

    ``norms`` are the largest Hilbert-Schmidt and operator norm of the class. Balanced: each kind
    with its own number of pairs and half of delta, so that both hold together. Else all pairs
    count, each by its weight.
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
    """Return both kinds of pairs as one: (sum w)^2 / (sum w^2) over all of them."""
    totals = np.array([counts.same[-1], counts.different[-1]])
    there = np.flatnonzero(totals)
    known = np.array([kind.m for kind in kinds])[there]
    if all(kinds[k].m_all is None for k in there):
        squares = totals[there] ** 2 / known
        return Kind(float(totals.sum() ** 2 / squares.sum()))
    # The kinds were drawn at rates of their own: as few as the scarcer one would leave in a sample
    # in true proportions.
    shares = totals[there] / totals.sum()
    m = float((known / shares).min())
    every = [kinds[k].m_all or kinds[k].m for k in there]
    alike = np.ptp(np.array(every) / shares) <= 1e-9 * sum(every)
    return Kind(m, sum(every) if alike else None)


def _empirical(
    counts: PairCounts, margin: float, unit: float, *, balanced: bool, largest: float = 1.0
) -> float:
    found = margin_risk(counts, margin, unit, balanced=balanced, largest=largest)
    return min(found.risk + (0.0 if counts.exact else found.error), 1.0)


def sampling_price(n_sampled: int, change: float, delta: float) -> float:
    """Return how much larger a margin risk of all pairs may be than that of a sample of them.

    With probability > 1 - delta, for one projection and all thresholds at once. As a function of
    c^2 a margin risk is a falling function (same pairs) plus a rising one (different pairs), which
    vary by 1 in all. Cut at J places between which they vary by 1 / J: with the falling part taken
    at the end of its stretch and the rising one at the start, the sample's means are known to
    within McDiarmid's inequality for random subsets, J of them at once. One sampled row or pair
    changes such a mean by ``change / n_sampled`` at most.
    """
    places = ceil(sqrt(n_sampled))
    return change * sqrt(log(places / delta) / (2 * n_sampled)) + 1.0 / places


def bound_of_rows(rows: TrainingRows, margin: float, delta: float, diameter: float) -> RiskBound:
    """Bound the risk on pairs of fresh rows from all pairs of n independent ones, of one task.

    The average over all pairs is one over all ways to part the rows into n // 2 disjoint pairs
    (Hoeffding), so it is as good as that many independent pairs; in their own proportion, since the
    numbers of same and of different pairs hang together.

    Rows that came k times may be copies, or rows that are often drawn: the bound holds for either.
    An average with weights w is one over random sets of rows, row i being in it with the chance
    w_i / max w, so that only W / max w rows count; the pairs of a row with its copies are left out,
    and their share, which is what they could add, is added to the risk.
    """
    if len(np.unique(rows.tasks)) > 1:
        raise ValueError(
            "rows of several tasks (groups) are not drawn alike, and the bound is about rows that "
            "are: fit one task."
        )
    apart, every = rows.counts(repeats=0.0), rows.counts()
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
    """Return a number of pairs, rounded down but for what rounding took from it."""
    return max(int(np.floor(m * (1 + 1e-12))), 1)
