"""Does distance tell same from different? Over all pairs of distinct examples."""

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from eigenstream._checks import check_number, check_whole
from eigenstream._linalg import Float64s
from eigenstream.evaluation.base import (
    EXACT_PAIRS,
    Labelled,
    PairCounts,
    all_pairs,
    labelled,
    roc_area,
)
from eigenstream.kernels.pairs import pair_sums

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
