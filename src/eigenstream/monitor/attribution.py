"""Attribution of a changed window to columns: those that moved, then those that disagree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from eigenstream.core.linalg import Float64s
from eigenstream.monitor.windows import standardized
from eigenstream.rows.chunk import Places

#: The features of a column by itself, and its distance from the prediction by the other columns.
KINDS = ("mean", "variance", "time scale", "relation")

#: Columns whose changes differ by less than this share are near ties. The one that moved more comes
#: first. Nearer ties, which rows cannot decide, have a rival.
NEAR_TIE, RIVAL = 0.8, 0.9

#: The probability that an unchanged window has a column that moved.
MOVED_BY_CHANCE = 0.01

#: The change from which an alarm names its first column, in standard deviations.
LEAST_CHANGE = 3.0

#: The number of columns that a record names.
MOST_NAMED = 5

#: With more columns than this, only alarms and columns that moved are attributed. The first one
#: inverts three D x D matrices.
WIDE = 200

#: The least share of a column's variance between windows that others cannot predict.
LEAST_SHARE = 1e-3


class Baseline:
    """The own features of the columns in the windows of a reference.

    ``mean`` and ``deviation`` have one row for each kind of feature. The covariances of windows
    shrink to ``correlation``, that of rows.
    """

    def __init__(self, own: Float64s, correlation: Float64s) -> None:
        self.own, self.correlation = own, correlation
        self.mean, self.deviation = own.mean(axis=0), own.std(axis=0, ddof=1)
        self._inverses: list[Float64s] | None = None

    @property
    def inverses(self) -> list[Float64s]:
        """The inverse of the covariance of each kind of feature between windows."""
        if self._inverses is None:  # ``cached_property`` keeps its lock after an interrupt
            z = standardized(self.own.reshape(len(self.own), -1), 1e-9).reshape(self.own.shape)
            targets = self.correlation, self.correlation**2, self.correlation**2
            covariances = [shrunk(z[:, k], target) for k, target in enumerate(targets)]
            self._inverses = [np.asarray(np.linalg.inv(c), np.float64) for c in covariances]
        return self._inverses


@dataclass(frozen=True)
class Attribution:
    """The columns that explain a window, the first to blame first, and the changes of all columns.

    ``rivals`` are columns that explain the window nearly as well as a named one. ``score`` and
    ``kind`` are each column's largest change and its place in ``KINDS``. ``offset`` is the distance
    of the mean of a named column from the value that the columns outside ``order`` predict, in
    standard deviations of rows.
    """

    order: tuple[int, ...]
    rivals: dict[int, int]
    n_moved: int
    score: Float64s
    kind: Any
    offset: Float64s


def attributed(
    baseline: Baseline,
    own: Float64s,
    distance: Float64s,
    excess: Float64s,
    alarm: bool = False,
) -> Attribution:
    """Attribute a window.

    Columns that moved by themselves come first. Then the column that disagrees most with the
    columns that are left is taken out, until these agree. So a column that only looks wrong because
    others moved is not named.

    Parameters
    ----------
    baseline : Baseline
        The windows of the reference.
    own : array of shape (3, D)
        The own features of the columns in the window.
    distance : array of shape (D,)
        The change of the spread of each column's distance from its prediction.
    excess : array of shape (D,)
        The size of this change in the precision's metric, in which no other column exceeds the one
        at fault.
    alarm : bool, default=False
        An alarm names its first column from a smaller change on.
    """
    n_windows, width = len(baseline.own), own.shape[1]
    standard_changes = np.nan_to_num((own - baseline.mean) / np.hypot(baseline.deviation, 1e-9))
    limit = float(student.isf(MOVED_BY_CHANCE / (8 * width), n_windows - 1))
    size = np.abs(standard_changes).max(axis=0)
    moved = size > limit
    changes = np.vstack([np.abs(standard_changes), np.zeros(width)])
    if not alarm and not moved.any() and width > WIDE:
        score, kind = changes.max(axis=0), changes.argmax(axis=0)
        return Attribution((), {}, 0, score, kind, np.zeros(width))
    inverses, most = baseline.inverses, max(width - 2, 0)  # at least two columns stay trusted
    products = [inverse @ row for inverse, row in zip(inverses, standard_changes, strict=True)]
    order = [int(k) for k in np.argsort(-size, kind="stable") if moved[k]]
    n_moved, rivals = len(order), {}
    relation = np.zeros(width) if order else np.abs(distance)
    absent = np.flatnonzero(np.isnan(own).any(axis=0))
    distrusted = np.union1d(absent, order).astype(np.intp)[:most]
    while len(order) < MOST_NAMED:
        disagreements = disagreements_of(inverses, products, distrusted)
        largest = disagreements.max(axis=0)
        if not order and relation.max(initial=0.0) > max(float(largest.max(initial=0.0)), limit):
            measure = np.where(relation > limit, excess, -1.0)
            first, changes[3] = int(measure.argmax()), relation
        elif largest.max(initial=0.0) <= (LEAST_CHANGE if alarm and not order else limit):
            break
        else:
            measure = largest
            tied = np.flatnonzero(largest >= NEAR_TIE * largest.max())
            first = int(tied[size[tied].argmax()])
            changes[:3, first] = np.maximum(changes[:3, first], disagreements[:, first])
        others = np.where(np.arange(width) == first, -1.0, measure)
        if others.max() >= RIVAL * measure.max() > 0.0:
            rivals[first] = int(others.argmax())
        order.append(first)
        distrusted = np.union1d(distrusted, [first]).astype(np.intp)[:most]
    for k in sorted(order[n_moved:], key=lambda k: size[k]):
        if len(order) > 1 and changes[3, k] == 0.0:
            remaining = distrusted[distrusted != k]
            if disagreements_of(inverses, products, remaining).max() <= limit:
                order.remove(k)
                distrusted = remaining
    offset = offsets_of(inverses[0], products[0], distrusted, order)
    offset *= np.nan_to_num(baseline.deviation[0])
    rivals = {k: rival for k, rival in rivals.items() if rival not in order}
    score, kind = changes.max(axis=0), changes.argmax(axis=0)
    return Attribution(tuple(order), rivals, n_moved, score, kind, offset)


def shrunk(z: Float64s, target: Float64s) -> Float64s:
    """Return the covariance of windows, with the weight D / (D + K) on a target.

    The square of correlations of rows is the target for variances and correlations at lag 1.
    """
    n_windows, width = z.shape
    weight = width / (width + n_windows)
    covariance = (1.0 - weight) * np.cov(z.T).reshape(width, width) + weight * target
    return np.asarray(covariance + LEAST_SHARE * np.eye(width))


# A column is predicted from the other columns that are trusted. With the inverse P of the
# covariance and the product g = P x, the distrusted columns S are inv(P_SS) g_S away from their
# predictions. So P is never changed.


def disagreements_of(
    inverses: Sequence[Float64s], products: Sequence[Float64s], distrusted: Places
) -> Float64s:
    """Return the distances of trusted columns from their predictions in deviations, else 0.

    Each kind of feature has a row, with its inverse and its product.
    """
    rows = np.zeros((len(inverses), len(products[0])))
    for row, inverse, product in zip(rows, inverses, products, strict=True):
        precision = np.diagonal(inverse).copy()
        across, within = inverse[:, distrusted], inverse[np.ix_(distrusted, distrusted)]
        gains = np.linalg.solve(within, across.T)
        precision -= (across * gains.T).sum(axis=1)
        precision[distrusted] = 1.0
        row[:] = np.abs(product - product[distrusted] @ gains) / np.sqrt(precision)
    rows[:, distrusted] = 0.0
    return rows


def offsets_of(
    inverse: Float64s, product: Float64s, distrusted: Places, columns: Sequence[int]
) -> Float64s:
    """Return the distances of these columns from their predictions by the others, else 0."""
    every = np.union1d(distrusted, columns).astype(np.intp)
    offsets = np.zeros(len(product))
    offsets[every] = np.linalg.solve(inverse[np.ix_(every, every)], product[every])
    return np.where(np.isin(np.arange(len(offsets)), columns), offsets, 0.0)
