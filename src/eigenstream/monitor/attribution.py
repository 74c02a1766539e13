"""Attribution of a changed window to columns: those that moved, then those that disagree."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from eigenstream.core.linalg import Float64s
from eigenstream.monitor.ranks import standardized

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

#: With more columns than this, only alarms and columns that moved are attributed. It takes about
#: 15 ms for 200 columns, and 100 ms for 600.
WIDE = 200

#: The least share of a column's variance between windows that others cannot predict.
LEAST_SHARE = 1e-3


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
    own: Float64s,
    distance: Float64s,
    excess: Float64s,
    correlation: Float64s,
    alarm: bool = False,
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
    new, limit = z[-1], float(student.isf(MOVED_BY_CHANCE / (8 * width), n_windows - 1))
    size = np.abs(new).max(axis=0)
    moved = size > limit
    changes = np.vstack([np.abs(new), np.zeros(width)])
    if not alarm and not moved.any() and width > WIDE:
        score, kind = changes.max(axis=0), changes.argmax(axis=0)
        return Attribution((), {}, 0, score, kind, np.zeros(width))
    targets = correlation, correlation**2, correlation**2
    predictions = [Prediction(shrunk(z[:-1, k], targets[k]), new[k]) for k in range(3)]
    order = [int(k) for k in np.argsort(-size, kind="stable") if moved[k]]
    n_moved, rivals = len(order), {}
    relation = np.zeros(width) if order else np.abs(distance)
    for prediction in predictions:
        prediction.leave_out(order)
    while True:
        apart = np.abs([prediction.changes() for prediction in predictions])
        against = apart.max(axis=0)
        if not order and relation.max(initial=0.0) > max(float(against.max(initial=0.0)), limit):
            measure = np.where(relation > limit, excess, -1.0)
            first, changes[3] = int(measure.argmax()), relation
        elif against.max(initial=0.0) <= (LEAST_CHANGE if alarm and not order else limit):
            break
        else:
            measure = against
            tied = np.flatnonzero(against >= NEAR_TIE * against.max())
            first = int(tied[size[tied].argmax()])
            changes[:3, first] = np.maximum(changes[:3, first], apart[:, first])
        if len(order) >= MOST_NAMED:
            break
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
    offset = np.zeros(width)
    offset[order] = [predictions[0].distance(k) for k in order]
    offset *= np.nan_to_num(own[:-1, 0].std(axis=0, ddof=1))
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
    """The prediction of each trusted column of a window from the other trusted columns."""

    def __init__(self, covariance: Float64s, new: Float64s) -> None:
        self.covariance, self.new = covariance, new
        self.trusted = np.arange(len(new))
        self.inverse: Float64s | None = None

    def leave_out(self, columns: list[int]) -> None:
        """Trust these columns no more. At least two columns stay."""
        gone = np.flatnonzero(np.isin(self.trusted, columns))[: max(len(self.trusted) - 2, 0)]
        if self.inverse is not None and len(gone) == 1:
            (k,), left = gone, np.delete(np.arange(len(self.trusted)), gone)
            row = self.inverse[k, left]
            inverse = self.inverse[np.ix_(left, left)]
            self.inverse = inverse - np.outer(row, row) / self.inverse[k, k]
            self.trusted = self.trusted[left]
            return
        self.trusted = np.delete(self.trusted, gone)
        self.inverse = np.asarray(
            np.linalg.inv(self.covariance[np.ix_(self.trusted, self.trusted)])
        )

    def with_column(self, column: int) -> "Prediction":
        """Return the prediction that trusts one more column."""
        assert self.inverse is not None
        prediction = Prediction(self.covariance, self.new)
        if column in self.trusted:
            prediction.trusted, prediction.inverse = self.trusted, self.inverse
            return prediction
        cross = self.covariance[self.trusted, column]
        gain = np.append(self.inverse @ cross, -1.0)
        rest = self.covariance[column, column] - cross @ gain[:-1]
        prediction.trusted = np.append(self.trusted, column)
        prediction.inverse = np.outer(gain, gain) / rest
        prediction.inverse[:-1, :-1] += self.inverse
        return prediction

    def changes(self) -> Float64s:
        """Return the distances of trusted columns from their predictions in deviations, else 0."""
        assert self.inverse is not None
        changes = np.zeros(len(self.new))
        away = self.inverse @ self.new[self.trusted]
        changes[self.trusted] = away / np.sqrt(np.diagonal(self.inverse))
        return changes

    def distance(self, column: int) -> float:
        """Return the distance of a column from its prediction by the trusted ones."""
        assert self.inverse is not None
        others = self.covariance[column, self.trusted] * (self.trusted != column)
        return float(self.new[column] - others @ self.inverse @ self.new[self.trusted])
