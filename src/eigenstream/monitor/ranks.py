"""Scores of windows and their ranks, which hold a rate for exchangeable windows."""

import numpy as np

from eigenstream.core.linalg import Float64s
from eigenstream.monitor.windows import GROUPS, Features

#: The least standard deviation of the logarithm of a score. With less, rounding of scores that are
#: all equal counts as a change.
LEAST_LOG = 0.05

#: The least standard deviation of a feature, against division by zero.
LEAST_FEATURE = 1e-9

#: Windows of a reference whose score is more than this number of robust standard deviations above
#: the median are outliers. With less, heavy tails are reported.
MOST_ROBUST = 8.0


def least_windows(rate: float) -> int:
    """Return the least number of reference windows for a rate of false alarms.

    >>> least_windows(0.01), least_windows(0.05)
    (99, 19)
    """
    return int(np.ceil(1.0 / rate - 1e-9)) - 1


def standardized(pool: Float64s, least: float) -> Float64s:
    """Return each row's distance from the mean of the other rows, in their standard deviations.

    Columns with NaN become 0. ``least`` is the least standard deviation.
    """
    n = len(pool)
    away = pool - pool.mean(axis=0)
    others = away**2
    sums = others.sum(axis=0)
    others *= -n / (n - 1)  # in place: a pool of many columns is larger than the cache
    others += sums
    np.maximum(others, 0.0, out=others)
    others /= n - 2
    others += least**2
    away *= n / (n - 1)
    away /= np.sqrt(others, out=others)
    away[:, np.isnan(sums)] = 0.0
    return np.asarray(away)


def hotelling(pool: Float64s) -> Float64s:
    """Return Hotelling's T2 of each row against the mean and covariance of the other rows."""
    n = len(pool)
    away = pool - pool.mean(axis=0)
    inner = np.einsum("ij,jk,ik->i", away, np.linalg.pinv(away.T @ away), away) * n / (n - 1)
    return np.asarray((n - 2) * n / (n - 1) * inner / np.maximum(1.0 - inner, 1e-12))


def changes_of(pool: Features, window: int) -> dict[str, Float64s]:
    """Return the standardised features of each window, by group."""
    least = {"health": 0.5 / window}
    return {name: standardized(pool.group(name), least.get(name, LEAST_FEATURE)) for name in GROUPS}


def group_scores(pool: Features, changes: dict[str, Float64s]) -> dict[str, Float64s]:
    """Return the score of each window in each group."""
    scores = {name: np.abs(changes[name]).max(axis=1, initial=0.0) for name in GROUPS}
    scores["level"] = np.sqrt(np.maximum(hotelling(pool.level), 0.0))
    scores["shape"] = np.sqrt((changes["shape"] ** 2).mean(axis=1))
    return scores


def common_scale(scores: Float64s) -> Float64s:
    """Return scores in standard deviations of the other windows' logarithms."""
    logs = np.log(np.maximum(scores, 1e-12))
    if np.ptp(logs[:-1]) == 0.0 and logs[-1] <= logs[0]:
        return np.full(len(scores), -np.inf)
    return standardized(logs[:, None], LEAST_LOG)[:, 0]


def rank_p_value(scores: Float64s) -> float:
    """Return the share of scores that are at least the last one.

    >>> rank_p_value(np.array([1.0, 5.0, 2.0, 3.0]))
    0.5
    """
    return float((scores >= scores[-1]).mean())


def outlying(scores: Float64s) -> tuple[int, ...]:
    """Return the places of scores far above the others, by their median and quartiles."""
    low, median, high = np.quantile(scores, [0.25, 0.5, 0.75])
    deviation = max((high - low) / 1.349, LEAST_LOG)
    return tuple(np.flatnonzero(scores > median + MOST_ROBUST * deviation).tolist())
