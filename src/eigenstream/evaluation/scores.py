"""Scores of features: the ROC of distances, the one-shot error, angles; blocks for validation."""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.utils import check_array

from eigenstream.core.checks import check_number, check_whole
from eigenstream.core.linalg import Float64s, brief, orthonormalized, principal_angles
from eigenstream.core.types import Array
from eigenstream.evaluation.base import (
    EXACT_PAIRS,
    Labelled,
    PairCounts,
    all_pairs,
    labelled,
    roc_area,
)
from eigenstream.kernels.pairs import one_shot_misses, pair_sums

#: Bins of the histogram of a ROC curve, from 0 to the diameter of a ball around all examples. The
#: diameter is at most twice the largest distance. More bins reduce the error of the area.
CURVE_BINS = 2**14


@dataclass(frozen=True, eq=False)
class PairROC:
    """The ROC curve of distances as detectors of the same class.

    Attributes
    ----------
    area : float
        The probability that a same pair is nearer than a different pair. Ties count one half.
    area_error : float
        A bound on the difference from the exact area; 0 for sorted distances.
    standard_error : float
        The standard error of the area, for new examples of the same classes; see :func:`pair_roc`.
    interval : (float, float)
        The confidence interval at ``level``.
    level : float
        The confidence level.
    thresholds : array
        Ascending distances. Entry k predicts "same" for all pairs up to ``thresholds[k]``.
    false_positive_rate, true_positive_rate : arrays
        The shares of different and of same pairs that are predicted "same". They start at 0, at
        the threshold -inf, and end at 1. The points lie on the exact curve.
    n_same, n_different : int
        The numbers of pairs.
    """

    area: float
    area_error: float
    standard_error: float
    interval: tuple[float, float]
    level: float
    thresholds: Float64s
    false_positive_rate: Float64s
    true_positive_rate: Float64s
    n_same: int
    n_different: int

    __repr__ = brief


def pair_roc(Z: ArrayLike, labels: ArrayLike, *, level: float = 0.95) -> PairROC:
    """Return the ROC curve of distance as a detector of class equality, over all pairs.

    Up to 2^20 pairs (1448 examples) distances are sorted, and the area is exact. Above that, they
    are counted in a histogram of constant size. The points of the curve remain exact, and
    ``area_error`` bounds the error of the area.

    Parameters
    ----------
    Z : array-like of shape (n, n_features)
        Features. The detector is their Euclidean distance. The workers of a Dask array share the
        pairs. Each worker needs the memory of all features.
    labels : array-like of shape (n,)
        At least two classes. At least one class needs two examples.
    level : float, default=0.95
        The level of the confidence interval, which is normal and clipped to [0, 1].

    Returns
    -------
    PairROC

    See Also
    --------
    balanced_risk : The risk of each threshold.

    Notes
    -----
    Pairs share examples, so they are not independent. The standard error is the infinitesimal
    jackknife over examples, with fixed class sizes. It covers new examples of the same classes,
    but not new classes.

    Examples
    --------
    >>> roc = pair_roc([[0.0], [1.0], [5.0], [7.0]], ["a", "a", "b", "b"])
    >>> roc.area, roc.n_same, roc.n_different
    (1.0, 2, 4)
    """
    level = check_number(level, "level", above=0, below=1)
    data = labelled(Z, labels)
    counts = binned = all_pairs(data, exact_pairs=0, bins=CURVE_BINS)
    if sum(binned.totals) <= EXACT_PAIRS:
        counts = all_pairs(data)
    positives, negatives = (np.concatenate([[0.0], share]) for share in counts.shares)
    area = roc_area(counts)
    # Inside a bin the curve may be anywhere between the corners of its step.
    corner = float(np.diff(positives) @ np.diff(negatives)) / 2
    standard_error = _standard_error(data, binned)
    reach = NormalDist().inv_cdf(0.5 + level / 2) * standard_error
    return PairROC(
        area=area,
        area_error=0.0 if counts.exact else corner,
        standard_error=standard_error,
        interval=(max(0.0, area - reach), min(1.0, area + reach)),
        level=level,
        thresholds=np.concatenate([[-np.inf], counts.ends * data.scale]),
        false_positive_rate=negatives,
        true_positive_rate=positives,
        n_same=int(counts.totals[0]),
        n_different=int(counts.totals[1]),
    )


def _standard_error(data: Labelled, binned: PairCounts) -> float:
    """Return the infinitesimal jackknife's standard error of the area, over examples.

    With a weight w_i on each example, the area is a ratio. The numerator sums the products of
    weights over all couples of a same and a different pair in the right order. The denominator is
    the product of the total weights of both kinds of pairs. The derivative by w_i at w = 1 is a
    sum over the pairs of example i.
    """
    n_same, n_different = binned.totals
    same, different = (np.diff(kind, prepend=0.0) for kind in (binned.same, binned.different))
    below = np.cumsum(same) - same / 2  # ties are pairs in one bin and count one half
    above = n_different - np.cumsum(different) + different / 2
    area = float(same @ above) / (n_same * n_different)
    table = np.stack(
        [
            above / (n_same * n_different) - area / n_same,
            below / (n_same * n_different) - area / n_different,
        ]
    )
    slopes = np.zeros(len(data.codes))
    sums = partial(pair_sums, data.points, data.codes, 1.0 / binned.width, table)
    data.spread(sums, slopes, len(slopes))
    # For new examples of the same classes, only the variation inside each class counts.
    sizes = data.sizes[data.codes]
    means = np.bincount(data.codes, weights=slopes) / data.sizes
    inside = (slopes - means[data.codes]) ** 2 * sizes / np.maximum(sizes - 1, 1)
    # The spread inside a class of one example is unknown, so its whole slope is used instead.
    return sqrt(float(np.where(sizes > 1, inside, slopes**2).sum()))


# ---- one example of each class ---------------------------------------------------------------

#: The number of queries whose distances are in memory at a time.
QUERIES = 64


def one_shot_error(Z: ArrayLike, labels: ArrayLike) -> float:
    """Return the expected error of a nearest-neighbour classifier with one known example per class.

    One example of each class is drawn uniformly. Every other row is a query, and its prediction is
    the class of the nearest example. A tie with another class counts as an error. The expectation
    over all choices of the examples is exact.

    Parameters
    ----------
    Z : array-like of shape (n, n_features)
        Features. The workers of a Dask array share the queries. Each worker needs the memory of all
        features.
    labels : array-like of shape (n,)
        At least two classes. At least one class needs two examples.

    Returns
    -------
    float

    Notes
    -----
    Query q of class y is correct with probability

        1 / (n_y - 1) sum_p prod_c #{x in c : dist(q, x) > dist(q, p)} / n_c,

    with p != q in class y and c over the other classes. Row q is a query with probability (n_y -
    1) / n_y. There are n - n_classes queries. The time is that of n sorts of n distances. Memory
    is proportional to n.

    Examples
    --------
    >>> one_shot_error([[0.0], [1.0], [2.0], [9.0]], ["a", "a", "b", "b"])
    0.375
    """
    data = labelled(Z, labels)
    n, n_classes = len(data.codes), len(data.sizes)
    # Sorted by class, so that each class is one range of columns.
    by_class = np.argsort(data.codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(data.sizes)])
    points, codes = np.ascontiguousarray(data.points[:, by_class].T), data.codes[by_class]
    misses = np.zeros(n)
    data.spread(partial(_add_misses, points, codes, starts), misses, n)
    # The factor n_y - 1 of the probability to be a query cancels that of the mean over examples.
    # Rounding may raise the sum above 1.
    return min(float((misses / data.sizes[codes]).sum()) / (n - n_classes), 1.0)


def _add_misses(
    points: Float64s, codes: Any, starts: Any, misses: Float64s, begin: int, end: int
) -> None:
    """Write the misses of the queries from ``begin`` to ``end``."""
    for first in range(begin, end, QUERIES):
        last = min(first + QUERIES, end)
        distances = cdist(points[first:last], points, "sqeuclidean")
        for start, stop in pairwise(starts):
            distances[:, start:stop].sort(axis=1)
        one_shot_misses(distances, codes[first:last], starts, misses[first:last])


# ---- recordings ------------------------------------------------------------------------------


def time_blocks(X: ArrayLike, n_blocks: int, *, gap: int = 0) -> list[Array]:
    """Return a recording as a list of blocks, for cross-validation with ``KFold``.

    Estimators fit the blocks as separate sequences, so no velocity joins two blocks.

    Parameters
    ----------
    X : array of shape (n, n_features)
        Rows in time order.
    n_blocks : int
        The number of blocks.
    gap : int, default=0
        Number of rows left out between two blocks. Use several times the slowest time scale:
        neighbouring rows of a training and a test block are similar.

    Returns
    -------
    list of arrays
        Views of ``X``, of equal lengths up to one row.

    Examples
    --------
    >>> import numpy as np
    >>> [
    ...     block.ravel().tolist()
    ...     for block in time_blocks(np.arange(8)[:, None], 3, gap=1)
    ... ]
    [[0, 1], [3, 4], [6, 7]]
    """
    rows = np.asarray(X)
    n_blocks, gap = check_whole(n_blocks, "n_blocks"), check_whole(gap, "gap", least=0)
    edges = np.linspace(0, len(rows) + gap, n_blocks + 1).astype(int)
    if np.diff(edges).min() <= gap:
        raise ValueError(
            f"n_blocks={n_blocks} with gap={gap} exceeds the {len(rows)} rows. "
            "Use fewer blocks or a smaller gap."
        )
    return [rows[start : stop - gap] for start, stop in pairwise(edges)]


# ---- subspaces -------------------------------------------------------------------------------


def subspace_angles(left: ArrayLike, right: ArrayLike) -> Float64s:
    """Return the principal angles between two column spans, in radians, largest first.

    Parameters
    ----------
    left, right : array-like of shape (n_features, d)
        Bases of the subspaces as columns, such as ``components_.T`` of an estimator or the
        ``subspace`` of a process.

    Returns
    -------
    array of shape (d,)

    Examples
    --------
    >>> subspace_angles([[1.0], [0.0]], [[0.0], [1.0]]).round(4)
    array([1.5708])
    """
    a, b = _columns(left, "left"), _columns(right, "right")
    if len(a) != len(b):
        raise ValueError(
            f"left has columns of length {len(a)} and right of length {len(b)}. "
            "Pass components_.T, not components_."
        )
    return principal_angles(a, b)


def captured(basis: ArrayLike, operator: ArrayLike) -> float:
    """Return the objective of a subspace divided by the best objective of its dimension.

    Parameters
    ----------
    basis : array-like of shape (n_features, d)
        A basis of the subspace as columns.
    operator : array-like of shape (n_features, n_features)
        The symmetric operator T.

    Returns
    -------
    float
        At most 1, and negative if the objective is negative.

    Notes
    -----
    The objective of the projector P on the subspace is trace(P T). Its maximum is the sum of the d
    largest eigenvalues of T ([1]_ Theorem 1).

    References
    ----------
    .. [1] A. Maurer, "Unsupervised Slow Subspace-Learning from Stationary Processes", Algorithmic
           Learning Theory, 2006.

    Examples
    --------
    >>> captured([[1.0], [0.0]], np.diag([3.0, 4.0]))
    0.75
    """
    columns = _columns(basis, "basis")
    T = check_array(operator, dtype=np.float64, input_name="operator")
    if T.shape != (len(columns), len(columns)):
        raise ValueError(
            f"operator has shape {T.shape}. "
            f"The basis requires shape ({len(columns)}, {len(columns)})."
        )
    V = orthonormalized(columns)
    best = float(np.linalg.eigvalsh(T)[-V.shape[1] :].sum())
    if best <= 0:
        raise ValueError(
            f"The best objective in {V.shape[1]} dimensions is {best:g}, which is not positive. "
            "Use fewer dimensions or a larger alpha."
        )
    return float(np.einsum("ij,ik,kj->", V, T, V, optimize=True)) / best


def _columns(values: ArrayLike, name: str) -> Float64s:
    columns: Float64s = check_array(values, dtype=np.float64, input_name=name)
    if columns.shape[1] > columns.shape[0]:
        raise ValueError(
            f"{name} has shape {columns.shape}. Pass (n_features, d) with d <= n_features, "
            "such as components_.T."
        )
    return columns
