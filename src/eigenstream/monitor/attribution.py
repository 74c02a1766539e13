"""Attribution of a changed window to columns: those that moved, then those that disagree."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from eigenstream.core.linalg import Float64s
from eigenstream.monitor.windows import standardized

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
            self._inverses = self._inverted()
        return self._inverses

    def _inverted(self) -> list[Float64s]:
        z = standardized(self.own.reshape(len(self.own), -1), 1e-9).reshape(self.own.shape)
        targets = self.correlation, self.correlation**2, self.correlation**2
        covariances = [shrunk(z[:, k], target) for k, target in enumerate(targets)]
        return [np.asarray(np.linalg.inv(covariance), np.float64) for covariance in covariances]


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
    predictions = [
        Prediction(*pair) for pair in zip(baseline.inverses, standard_changes, strict=True)
    ]
    order = [int(k) for k in np.argsort(-size, kind="stable") if moved[k]]
    n_moved, rivals = len(order), {}
    relation = np.zeros(width) if order else np.abs(distance)
    for prediction in predictions:
        prediction.leave_out([*np.flatnonzero(np.isnan(own).any(axis=0)), *order])
    while len(order) < MOST_NAMED:
        disagreements = np.abs([prediction.changes() for prediction in predictions])
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
        for prediction in predictions:
            prediction.leave_out([first])
    for k in sorted(order[n_moved:], key=lambda k: size[k]):
        if len(order) > 1 and changes[3, k] == 0.0:
            tried = [prediction.with_column(k) for prediction in predictions]
            if max(float(np.abs(each.changes()).max()) for each in tried) <= limit:
                order.remove(k)
                predictions = tried
    offset = predictions[0].distances(order) * np.nan_to_num(baseline.deviation[0])
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


class Prediction:
    """The prediction of each trusted column of a window from the other trusted columns.

    With the inverse P of the covariance and g = P x, the columns S that are not trusted are
    inv(P_SS) g_S away from their predictions. So P is never changed.
    """

    def __init__(self, inverse: Float64s, values: Float64s) -> None:
        self.inverse, self.product = inverse, inverse @ values
        self.distrusted = np.empty(0, np.intp)

    def leave_out(self, columns: Sequence[int]) -> None:
        """Trust these columns no more. At least two columns stay."""
        most = max(len(self.product) - 2, 0)
        self.distrusted = np.union1d(self.distrusted, columns).astype(np.intp)[:most]

    def with_column(self, column: int) -> "Prediction":
        """Return the prediction that trusts one more column."""
        prediction = copy(self)
        prediction.distrusted = self.distrusted[self.distrusted != column]
        return prediction

    def changes(self) -> Float64s:
        """Return the distances of trusted columns from their predictions in deviations, else 0."""
        columns, precision = self.distrusted, np.diagonal(self.inverse).copy()
        across, within = self.inverse[:, columns], self.inverse[np.ix_(columns, columns)]
        gains = np.linalg.solve(within, across.T)
        distances = self.product - self.product[columns] @ gains
        precision -= (across * gains.T).sum(axis=1)
        distances[columns], precision[columns] = 0.0, 1.0
        return np.asarray(distances / np.sqrt(precision))

    def distances(self, columns: Sequence[int]) -> Float64s:
        """Return the distances of these columns from their predictions by the others, else 0."""
        every = np.union1d(self.distrusted, columns).astype(np.intp)
        distances = np.zeros(len(self.product))
        distances[every] = np.linalg.solve(self.inverse[np.ix_(every, every)], self.product[every])
        return np.where(np.isin(np.arange(len(distances)), columns), distances, 0.0)
