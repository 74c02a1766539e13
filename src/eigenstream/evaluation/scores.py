"""Scores of features: the ROC of distances, the one-shot error, angles between subspaces."""

from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from eigenstream._checks import check_finite, check_number, check_whole, real_array
from eigenstream._linalg import Float64s, orthonormalized, principal_angles
from eigenstream.evaluation.base import (
    EXACT_PAIRS,
    Labelled,
    PairCounts,
    all_pairs,
    labelled,
    roc_area,
)
from eigenstream.kernels.pairs import one_shot_misses, pair_sums

#: Bins of the curve's histogram, few enough to look values up in: from 0 to the diameter of a ball
#: around all examples. That is at most twice the largest distance, so a bin is never wider than
#: 2 / CURVE_BINS of it.
CURVE_BINS = 2**14


@dataclass(frozen=True, eq=False)
class PairROC:
    """The ROC curve of distances as detectors of the same class.

    Attributes
    ----------
    area : float
        The chance that a pair of the same class is nearer than one of different classes; ties
        count one half.
    area_error : float
        ``area`` is within this of the exact area: 0 when all distances were sorted.
    standard_error : float
        Of the area, over fresh examples of the same classes; see :func:`pair_roc`.
    interval : (float, float)
        The confidence interval at ``level``.
    level : float
    thresholds : array
        Ascending distances; entry k calls "same" all pairs up to ``thresholds[k]``.
    false_positive_rate, true_positive_rate : arrays
        The share of different and of same pairs called "same"; both start at 0 (at threshold
        -inf, which calls no pair same) and end at 1. The points lie on the exact curve.
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


def pair_roc(
    Z: ArrayLike,
    labels: ArrayLike,
    *,
    level: float = 0.95,
    exact_pairs: int = EXACT_PAIRS,
    bins: int = CURVE_BINS,
) -> PairROC:
    """Return the ROC curve of distance as a detector of class equality, over all pairs.

    The distances of few examples are sorted, and the area is exact. Those of more examples are
    counted in a histogram of constant size. The points of the curve remain exact, and the error of
    the area is at most ``area_error``.

    Pairs share examples, so they are not independent. The standard error is the infinitesimal
    jackknife over examples, with fixed sizes of the classes. It covers new examples of the same
    classes, not other classes.

    Parameters
    ----------
    Z : array (n, n_features)
        Features; their euclidean distance is the detector.
    labels : array (n,)
        Two or more classes, at least one with two examples.
    level : float
        The level of the confidence interval (normal, cut to [0, 1]).
    exact_pairs : int
        Up to this number of pairs, all distances are sorted; by default those of 1448 examples.
    bins : int
        The number of bins of the histogram.

    Examples
    --------
    >>> roc = pair_roc([[0.0], [1.0], [5.0], [7.0]], ["a", "a", "b", "b"])
    >>> roc.area, roc.n_same, roc.n_different
    (1.0, 2, 4)
    """
    level = check_number(level, "level", above=0, below=1)
    data = labelled(Z, labels)
    exact_pairs, bins = check_whole(exact_pairs, "exact_pairs", least=0), check_whole(bins, "bins")
    counts = binned = all_pairs(data, exact_pairs=0, bins=bins)
    if data.n_same + data.n_different <= exact_pairs:
        counts = all_pairs(data, exact_pairs=exact_pairs)
    positives, negatives = (np.concatenate([[0.0], share]) for share in counts.shares)
    area = roc_area(counts)
    # Inside a bin the curve may run anywhere between the corners of its step.
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
        n_same=data.n_same,
        n_different=data.n_different,
    )


def _standard_error(data: Labelled, binned: PairCounts) -> float:
    """Return the infinitesimal jackknife's standard error of the area, over examples.

    With a weight w_i on each example, the area is a ratio: numerator, the weights' products summed
    over all couples of a same and a different pair in the right order; denominator, the product of
    the summed weights of both kinds of pair. Its derivative at w = 1 is a sum over the pairs of i.
    """
    n_same, n_different = data.n_same, data.n_different
    same, different = (np.diff(kind, prepend=0.0) for kind in (binned.same, binned.different))
    below = np.cumsum(same) - same / 2  # ties, here pairs in one bin, count one half
    above = n_different - np.cumsum(different) + different / 2
    area = float(same @ above) / (n_same * n_different)
    table = np.stack(
        [
            above / (n_same * n_different) - area / n_same,
            below / (n_same * n_different) - area / n_different,
        ]
    )
    slopes = np.zeros(len(data.codes))
    pair_sums(data.points, data.codes, 1.0 / binned.width, table, slopes)
    # Fresh examples of the same classes: only the variation inside each class counts.
    sizes = data.sizes[data.codes]
    means = np.bincount(data.codes, weights=slopes) / data.sizes
    inside = (slopes - means[data.codes]) ** 2 * sizes / np.maximum(sizes - 1, 1)
    # The spread inside a class of one example is unknown: its whole slope stands in for it.
    return sqrt(float(np.where(sizes > 1, inside, slopes**2).sum()))


# ---- one example of each class ---------------------------------------------------------------

#: Queries whose distances to all points are held at a time.
QUERIES = 64


@dataclass(frozen=True)
class OneShotError:
    """The error of the single-example-per-class nearest-neighbour classifier.

    Attributes
    ----------
    error : float
        Its expectation over all choices of the examples, exactly.
    sampled : float or None
        The mean over ``n_draws`` random choices; None when none were drawn.
    spread : float or None
        The standard deviation of the error of one choice, from the draws.
    n_draws : int
    """

    error: float
    sampled: float | None
    spread: float | None
    n_draws: int

    @property
    def standard_error(self) -> float | None:
        """Return the standard error of ``sampled``; None without at least two draws."""
        return None if self.spread is None else self.spread / sqrt(self.n_draws)


def one_shot_error(
    Z: ArrayLike, labels: ArrayLike, *, n_draws: int | None = None, random_state: Any = None
) -> OneShotError:
    """Return the expected error when one random example of each class is all that is known.

    One example of each class is chosen uniformly; every other row is a query and takes the class
    of the nearest example. A tie with another class counts as an error. The expectation over all
    choices is exact, by counting: query q of class y is right with probability

        1 / (n_y - 1) * sum over p in y, p != q, of
            prod over c != y of #{x in c : dist(q, x) > dist(q, p)} / n_c,

    it is a query, and not the example itself, with probability (n_y - 1) / n_y, and there are
    always n - K queries. Time is n sorts of n distances; memory beyond Z does not
    grow with the number of pairs.

    Parameters
    ----------
    Z : array (n, n_features)
    labels : array (n,)
        Two or more classes, at least one with two examples.
    n_draws : int, optional
        Also draw this many choices at random, for their mean and spread.
    random_state : int, generator or None
        For the draws.

    Examples
    --------
    >>> one_shot_error([[0.0], [1.0], [2.0], [9.0]], ["a", "a", "b", "b"]).error
    0.375
    """
    data = labelled(Z, labels)
    n, n_classes = len(data.codes), len(data.sizes)
    # Class after class, so that each class is one run of columns.
    by_class = np.argsort(data.codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(data.sizes)])
    points, codes = np.ascontiguousarray(data.points[:, by_class].T), data.codes[by_class]
    misses = np.empty(n)
    for first in range(0, n, QUERIES):
        last = min(first + QUERIES, n)
        distances = cdist(points[first:last], points, "sqeuclidean")
        for start, stop in pairwise(starts):
            distances[:, start:stop].sort(axis=1)
        one_shot_misses(distances, codes[first:last], starts, misses[first:last])
    # The n_y - 1 of a query's probability to be one cancels that of its mean over examples.
    # Rounding of the sum must not make it more than certain.
    error = min(float((misses / data.sizes[codes]).sum()) / (n - n_classes), 1.0)
    if n_draws is None:
        return OneShotError(error, None, None, 0)
    n_draws = check_whole(n_draws, "n_draws")
    rng = np.random.default_rng(random_state)
    examples = starts[:-1] + rng.integers(data.sizes, size=(n_draws, n_classes))
    errors = np.array([_error_of_draw(points, codes, chosen) for chosen in examples])
    spread = float(errors.std(ddof=1)) if n_draws > 1 else None
    return OneShotError(error, float(errors.mean()), spread, n_draws)


def _error_of_draw(points: Float64s, codes: NDArray[np.intp], chosen: NDArray[np.intp]) -> float:
    """Return the share of the other rows that are no nearer to the example of their class."""
    distances = cdist(points, points[chosen], "sqeuclidean")
    rows = np.arange(len(codes))
    own = distances[rows, codes]
    distances[rows, codes] = np.inf
    wrong = distances.min(axis=1) <= own
    wrong[chosen] = False
    return float(wrong.sum()) / (len(codes) - len(chosen))


# ---- subspaces -------------------------------------------------------------------------------


def subspace_angles(left: ArrayLike, right: ArrayLike) -> Float64s:
    """Return the principal angles between two column spans, in radians, largest first.

    Columns span the subspaces, as in the processes' ``subspace``. Pass ``components_.T`` of an
    estimator.

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

    The objective of the projector P on the span of the columns is ``<P, T>``. Its maximum is the
    sum of the d largest eigenvalues of the symmetric operator T ([SLOW] Theorem 1). The share is
    at most 1, and negative if the objective is negative.

    >>> captured([[1.0], [0.0]], np.diag([3.0, 4.0]))
    0.75
    """
    columns = _columns(basis, "basis")
    T = real_array(operator, "operator").astype(np.float64, copy=False)
    if T.shape != (len(columns), len(columns)):
        raise ValueError(
            f"operator has shape {T.shape}. "
            f"The basis requires shape ({len(columns)}, {len(columns)})."
        )
    check_finite(T, name="operator")
    V = orthonormalized(columns)
    best = float(np.linalg.eigvalsh(T)[-V.shape[1] :].sum())
    if best <= 0:
        raise ValueError(
            f"The best objective in {V.shape[1]} dimensions is {best:g}, which is not positive. "
            "Use fewer dimensions or a larger alpha."
        )
    return float(np.einsum("ij,ik,kj->", V, T, V, optimize=True)) / best


def _columns(values: ArrayLike, name: str) -> Float64s:
    columns = real_array(values, name).astype(np.float64, copy=False)
    if columns.ndim != 2 or not 0 < columns.shape[1] <= columns.shape[0]:
        raise ValueError(
            f"{name} has shape {columns.shape}. Pass (n_features, d) with d <= n_features, "
            "such as components_.T."
        )
    check_finite(columns, name=name)
    return columns
