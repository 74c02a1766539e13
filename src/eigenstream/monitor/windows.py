"""The features of a window of rows, their scores, and ranks that hold a rate of alarms."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable
from eigenstream.subspace.sums.completion import imputed, positive_part, scales

#: The groups of features, in the order of output.
GROUPS = ("level", "residual", "spread", "shape", "health")

#: All features of a window. Those that are not in a group name columns only.
PARTS = (*GROUPS, "own")

#: The least share of a column's variance that the other columns cannot predict. With less, rounding
#: decides about columns that are exact sums of others.
LEAST_UNEXPLAINED = 1e-3

#: The least share of present values of a column. Columns with fewer are left out of a window.
LEAST_PRESENT = 0.5

#: Values are clipped at this number of standard deviations. With more, single outliers hide
#: changes. With less, changes of rare states are hidden.
MOST_DEVIATIONS = 3.0

#: The least standard deviation of a column, relative to its mean. Less takes rounding for a change.
LEAST_DEVIATION = 1e-9

#: Correlations are clipped at this value.
MOST_CORRELATION = 0.999

#: Features with a smaller share of the largest variance are rounding.
LEAST_VARIANCE = 1e-12


#: The least standard deviation of the logarithm of a score. With less, rounding of scores that are
#: all equal counts as a change.
LEAST_LOG = 0.05

#: The least standard deviation of a feature, against division by zero.
LEAST_FEATURE = 1e-9

#: Windows of a reference whose score is more than this number of robust standard deviations above
#: the median are outliers. With less, heavy tails are reported.
MOST_ROBUST = 8.0


@storable(
    level="f8 K d",
    residual="f8 K D",
    spread="f8 K D",
    shape="f8 K shape",
    health="f8 K health",
    own="f8 K own",
)
@dataclass(frozen=True)
class Features:
    """The features of windows, one window in each row.

    ``own`` are the features of each column by itself. They name columns, but do not raise alarms.
    """

    level: Float64s
    residual: Float64s
    spread: Float64s
    shape: Float64s
    health: Float64s
    own: Float64s

    def group(self, name: str) -> Float64s:
        """Return the features of one group."""
        values: Float64s = getattr(self, name)
        return values

    def __len__(self) -> int:
        return len(self.level)

    def without(self, windows: Iterable[int]) -> "Features":
        """Return the features without some windows."""
        return Features(*(np.delete(self.group(name), list(windows), axis=0) for name in PARTS))


def joined_features(parts: Iterable[Features]) -> Features:
    """Return the features of consecutive windows as one object."""
    each = list(parts)
    return Features(*(np.concatenate([part.group(name) for part in each]) for name in PARTS))


@storable(mean="f8 D", inside="f8 D d", loadings="f8 D d", unexplained="f8 D", deviations="f8 D")
@dataclass(frozen=True)
class Geometry:
    """Directions inside a subspace, and the prediction of each column from the others.

    Columns of ``inside`` give features of unit variance. With their ``loadings`` B on the columns,
    the factor model C = B B^T + diag(unexplained) predicts a column from the other columns.
    ``deviations`` are the standard deviations of the distances from these predictions.
    """

    mean: Float64s
    inside: Float64s
    loadings: Float64s
    unexplained: Float64s
    deviations: Float64s

    def precision(self) -> Float64s:
        """Return the inverse of the factor model."""
        scaled = self.loadings / self.unexplained[:, None]
        inner = np.eye(self.loadings.shape[1]) + self.loadings.T @ scaled
        product = scaled @ np.linalg.solve(inner, scaled.T)
        return np.asarray(np.diag(1.0 / self.unexplained) - product)

    def scale(self) -> Float64s:
        """Return the standard deviation of each column in the factor model."""
        return np.asarray(np.sqrt((self.loadings**2).sum(axis=1) + self.unexplained))

    def correlation(self) -> Float64s:
        """Return the correlations of the columns in the factor model."""
        scaled = self.loadings / self.scale()[:, None]
        correlation = scaled @ scaled.T
        np.fill_diagonal(correlation, 1.0)
        return np.asarray(correlation)

    def centred(self, rows: Float64s) -> Float64s:
        """Return rows minus the mean, with predictions in place of missing values."""
        if np.isnan(rows).any():
            covariance = self.loadings @ self.loadings.T + np.diag(self.unexplained)
            rows = imputed(rows, self.mean, covariance)
        return np.nan_to_num(rows - self.mean)


def geometry_of(mean: Float64s, covariance: Float64s, weights: Float64s) -> Geometry:
    """Return the geometry of a subspace, from the mean and the covariance of a reference."""
    values, turn = np.linalg.eigh(weights.T @ covariance @ weights)
    varies = values > LEAST_VARIANCE * max(float(values.max(initial=0.0)), np.finfo(float).tiny)
    inside = weights @ turn[:, varies] / np.sqrt(values[varies])
    variance = np.diagonal(covariance)
    size = np.maximum(np.abs(mean), np.sqrt(variance))
    size[size == 0.0] = size.max(initial=0.0) or 1.0
    variance = np.maximum(variance, (LEAST_DEVIATION * size) ** 2)
    loadings = covariance @ inside
    unexplained = np.maximum(variance - (loadings**2).sum(axis=1), LEAST_UNEXPLAINED * variance)
    plain = Geometry(mean, inside, loadings, unexplained, np.ones(len(mean)))
    precision = plain.precision()
    residual_directions = precision / np.diagonal(precision)
    spread = np.einsum("ij,ij->j", residual_directions, covariance @ residual_directions)
    deviations = np.sqrt(np.maximum(spread, LEAST_UNEXPLAINED * unexplained))
    return Geometry(mean, inside, loadings, unexplained, deviations)


def window_of(rows: Float64s, geometry: Geometry, precision: Float64s) -> tuple[Features, Float64s]:
    """Return the features of the rows of a window, and the spread of each column.

    The spread is the standard deviation of a column's distance from its prediction, in units of the
    reference's standard deviation. NaN marks columns that are left out.
    """
    absent = np.isnan(rows)
    missing = absent.mean(axis=0)
    repeated = (rows[1:] == rows[:-1]).mean(axis=0)
    centred = geometry.centred(rows)
    inside = centred @ geometry.inside
    distances = centred @ precision / np.diagonal(precision) / geometry.deviations
    present = np.where(missing <= 1.0 - LEAST_PRESENT, 1.0, np.nan)
    latent, residuals = recentred(inside), recentred(distances)
    within, between = latent.T @ latent / len(rows), latent.T @ residuals / len(rows)
    pairs = np.triu_indices(len(within), 1)
    shape = [log_deviation(np.diagonal(within)), within[pairs], (present * between).ravel()]
    features = Features(
        clipped(inside).mean(axis=0)[None],
        (present * clipped(distances).mean(axis=0))[None],
        (present * log_deviation((residuals**2).mean(axis=0)))[None],
        np.concatenate(shape)[None],
        np.concatenate([missing, repeated])[None],
        (present * own_features(centred / geometry.scale())).ravel()[None],
    )
    return features, distances.std(axis=0)


def own_features(values: Float64s) -> Float64s:
    """Return the mean, the logarithm of the deviation and the lag-1 correlation of columns.

    Deviations from the median are clipped at 3, so single outliers count little. The correlation is
    transformed by arctanh, which makes its deviation nearly constant.

    >>> own_features(np.array([[0.0], [1.0], [0.0], [1.0]])).round(2).tolist()
    [[0.5], [-0.69], [-3.8]]
    """
    middle = np.median(values, axis=0)
    centred = clipped(values - middle)
    mean = middle + centred.mean(axis=0)
    centred = centred - centred.mean(axis=0)
    variance = np.maximum((centred**2).mean(axis=0), 1e-12)
    lag = (centred[1:] * centred[:-1]).mean(axis=0) / variance
    lag = np.arctanh(np.clip(lag, -MOST_CORRELATION, MOST_CORRELATION))
    return np.asarray([mean, np.log(variance) / 2.0, lag])


def clipped(values: Float64s) -> Float64s:
    """Return values of unit variance without outliers.

    >>> clipped(np.array([1.0, -50.0])).tolist()
    [1.0, -3.0]
    """
    return np.clip(values, -MOST_DEVIATIONS, MOST_DEVIATIONS)


def recentred(values: Float64s) -> Float64s:
    """Return values without their level and without outliers."""
    values = clipped(values - values.mean(axis=0))
    return np.asarray(values - values.mean(axis=0))


def log_deviation(variance: Float64s) -> Float64s:
    """Return the logarithm of the standard deviation, which is finite for a variance of 0."""
    return np.asarray(np.log(np.maximum(variance, np.finfo(float).tiny)) / 2.0)


class PairwiseSums:
    """Sums of rows with gaps, over the rows in which each pair of columns is present."""

    def __init__(self, width: int) -> None:
        #: The mean of the first values of each column, which is subtracted from its values.
        self.anchor = np.full(width, np.nan)
        self.product, self.sums, self.weight = np.zeros((3, width, width))

    def add(self, rows: Float64s) -> None:
        """Add rows."""
        present = np.isfinite(rows)
        n = present.sum(axis=0)
        mean = np.where(present, rows, 0.0).sum(axis=0) / np.maximum(n, 1)
        self.anchor = np.where(np.isnan(self.anchor) & (n > 0), mean, self.anchor)
        centred = np.where(present, rows - self.anchor, 0.0)
        self.product += centred.T @ centred
        if present.all():
            self.sums += centred.sum(axis=0)[:, None]
            self.weight += len(rows)
        else:
            counts = present.astype(np.float64)
            self.sums += centred.T @ counts
            self.weight += counts.T @ counts

    @property
    def mean(self) -> Float64s:
        """The mean of each column, 0 for columns without values."""
        means = self.anchor + np.diagonal(self.sums) / np.maximum(np.diagonal(self.weight), 1.0)
        return np.where(np.isnan(means), 0.0, means)

    def covariance(self) -> Float64s:
        """Return the covariance, without the negative eigenvalues that gaps may cause."""
        weight = np.maximum(self.weight, 1.0)
        covariance = (self.product - self.sums * self.sums.T / weight) / weight
        if self.weight.min() == self.weight.max():
            return covariance
        scale = scales(covariance)
        units = np.outer(scale, scale)
        return positive_part(covariance / units) * units


# ---- scores and ranks ----------------------------------------------------------------------


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
    centred = pool - pool.mean(axis=0)
    others = centred**2
    sums = others.sum(axis=0)
    others *= -n / (n - 1)  # in place: a pool of many columns is larger than the cache
    others += sums
    np.maximum(others, 0.0, out=others)
    others /= n - 2
    others += least**2
    centred *= n / (n - 1)
    centred /= np.sqrt(others, out=others)
    centred[:, np.isnan(sums)] = 0.0
    return np.asarray(centred)


def hotelling(pool: Float64s) -> Float64s:
    """Return Hotelling's T2 of each row against the mean and covariance of the other rows."""
    n = len(pool)
    centred = pool - pool.mean(axis=0)
    precision = np.linalg.pinv(centred.T @ centred)
    inner = np.einsum("ij,jk,ik->i", centred, precision, centred) * n / (n - 1)
    return np.asarray((n - 2) * n / (n - 1) * inner / np.maximum(1.0 - inner, 1e-12))


def scores_of(
    pool: Features, window: int
) -> tuple[Float64s, dict[str, Float64s], dict[str, Float64s]]:
    """Return the total scores of windows, their scores by group, and the standardised features."""
    least = {"health": 0.5 / window}
    changes = {
        name: standardized(pool.group(name), least.get(name, LEAST_FEATURE)) for name in GROUPS
    }
    scores = {name: np.abs(changes[name]).max(axis=1, initial=0.0) for name in GROUPS}
    scores["level"] = np.sqrt(np.maximum(hotelling(pool.level), 0.0))
    scores["shape"] = np.sqrt((changes["shape"] ** 2).mean(axis=1))
    groups = {name: common_scale(scores[name]) for name in GROUPS}
    return np.max(list(groups.values()), axis=0), groups, changes


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
