"""Attribution of a changed window to columns: those that moved, then those that disagree."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from eigenstream._linalg import Float64s
from eigenstream.monitor.ranks import standardized

#: The features of a column by itself, and its distance from the prediction by the other columns.
KINDS = ("mean", "variance", "time scale", "relation")

#: Columns whose changes differ by less than this share are near ties: which of two disagrees cannot
#: be told, so the one that moved more comes first.
NEAR_TIE = 0.8

#: The probability that an unchanged window names a column.
NAMED_BY_CHANCE = 0.01

#: The change from which an alarm names its first column, in standard deviations.
LEAST_CHANGE = 3.0

#: The number of columns that a record names.
MOST_NAMED = 5

#: The least share of a column's variance between windows that others cannot predict.
LEAST_SHARE = 1e-3


@dataclass(frozen=True)
class Attribution:
    """The columns that explain a window, the first to blame first, and the changes of all columns.

    ``score`` and ``kind`` are each column's largest change and its place in ``KINDS``. ``offset``
    is the distance of the mean from the value that the columns outside ``order`` predict, in
    standard deviations of rows.
    """

    order: tuple[int, ...]
    score: Float64s
    kind: Any
    offset: Float64s


def attributed(
    own: Float64s, distance: Float64s, excess: Float64s, correlation: Float64s, alarm: bool = False
) -> Attribution:
    """Attribute the last window of a pool.

    Columns that moved by themselves come first. Then the column that disagrees most with the
    columns that are left is taken out, until these agree. So a column that only looks wrong because
    others moved is not named.

    Parameters
    ----------
    own : array of shape (K + 1, 3, D)
        The own features of the columns in the windows of the reference and in the new one.
    distance : array of shape (D,)
        The change of the spread of each column's distance from its prediction.
    excess : array of shape (D,)
        The size of this change in the precision's metric, in which no other column exceeds the one
        at fault.
    correlation : array of shape (D, D)
        The correlations of rows. The covariance of the windows' features shrinks to it.
    alarm : bool, default=False
        An alarm names its first column from a smaller change on.
    """
    n_windows, width = len(own) - 1, own.shape[2]
    z = standardized(own.reshape(len(own), -1), 1e-9).reshape(own.shape)
    new = z[-1]
    limit = float(student.isf(NAMED_BY_CHANCE / (8 * width), n_windows - 1))
    size = np.abs(new).max(axis=0)
    moved = size > limit
    still = np.flatnonzero(~moved)
    if len(still) < 2:
        still = np.sort(np.argsort(size, kind="stable")[:2])
    targets = correlation, correlation**2, correlation**2
    between = [shrunk(z[:-1, k], targets[k]) for k in range(3)]
    changes = np.vstack([np.abs(new), np.zeros(width)])
    order = [int(k) for k in np.argsort(-size, kind="stable") if moved[k]]
    relation = np.zeros(width) if order else np.abs(distance)
    while True:
        still = np.setdiff1d(np.arange(width), order)
        if len(still) < 2:
            still = np.sort(np.argsort(size, kind="stable")[:2])
        judged = [conditional(between[k], new[k], still) for k in range(3)]
        apart = np.abs([change for change, _ in judged])
        apart[:, order] = 0.0
        against = apart.max(axis=0)
        if not order and relation.max(initial=0.0) > max(float(against.max(initial=0.0)), limit):
            order.append(int(np.where(relation > limit, excess, -1.0).argmax()))
            changes[3] = relation
            continue
        least = limit if order or not alarm else LEAST_CHANGE
        if against.max(initial=0.0) <= least or len(order) >= MOST_NAMED:
            break
        tied = np.flatnonzero(against >= NEAR_TIE * against.max())
        first = int(tied[size[tied].argmax()])
        changes[:3, first] = np.maximum(changes[:3, first], apart[:, first])
        order.append(first)
    for k in sorted(order[int(moved.sum()) :], key=lambda k: size[k]):
        back = np.setdiff1d(np.arange(width), [j for j in order if j != k])
        if len(order) > 1 and changes[3, k] == 0.0:
            apart = np.abs([conditional(between[i], new[i], back)[0][back] for i in range(3)])
            worst = float(apart.max())
            if worst <= limit:
                order.remove(k)
    still = np.setdiff1d(np.arange(width), order)
    if len(still) > 1:
        judged = [conditional(between[i], new[i], still) for i in range(3)]
    offset = judged[0][0] * judged[0][1] * np.nan_to_num(own[:-1, 0].std(axis=0, ddof=1))
    return Attribution(tuple(order), changes.max(axis=0), changes.argmax(axis=0), offset)


def shrunk(z: Float64s, target: Float64s) -> Float64s:
    """Return the covariance of windows, with the weight D / (D + K) on a target.

    The square of correlations of rows is the target for variances and correlations at lag 1.
    """
    n_windows, width = z.shape
    weight = width / (width + n_windows)
    covariance = (1.0 - weight) * np.cov(z.T).reshape(width, width) + weight * target
    return np.asarray(covariance + LEAST_SHARE * np.eye(width))


def conditional(covariance: Float64s, new: Float64s, still: Any) -> tuple[Float64s, Float64s]:
    """Return the change of each column given the columns ``still`` without itself, and its unit."""
    inverse = np.linalg.inv(covariance[np.ix_(still, still)])
    cross = covariance[still]
    gain = inverse @ cross
    unit = np.sqrt(np.maximum(np.diagonal(covariance) - (cross * gain).sum(axis=0), LEAST_SHARE))
    away = new - new[still] @ gain
    unit[still] = 1.0 / np.sqrt(np.diagonal(inverse))
    away[still] = (inverse @ new[still]) * unit[still] ** 2
    return away / unit, unit
