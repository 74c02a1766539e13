"""Labelled features, and counts of pairs by distance, shared by all measures."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist

from eigenstream.core.checks import check_finite, check_names, real_array
from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable
from eigenstream.kernels.pairs import pair_histogram
from eigenstream.rows import door
from eigenstream.rows.door import is_dask

#: Up to this number of pairs (of 1448 examples) all distances are stored and sorted. Above it, they
#: are counted in bins.
EXACT_PAIRS = 2**20

#: Bins of the histogram from 0 to the largest distance of the data. More bins reduce the error.
BINS = 2**17

#: The number of values of differences that are in memory at a time. More do not fit the cache.
BLOCK_VALUES = 2**18

#: ``spread(call, out, n)`` lets ``call(out, first, last)`` add to ``out`` for ranges of n rows.
Spread = Callable[[Callable[..., None], Float64s, int], None]


def in_this_process(call: Callable[..., None], out: Float64s, n: int) -> None:
    """Call a function for all rows."""
    call(out, 0, n)


@dataclass(frozen=True, eq=False)
class Labelled:
    """Features as columns, scaled by a power of two, with their classes as codes 0..K-1."""

    points: Float64s
    scale: float
    codes: NDArray[np.intp]
    sizes: NDArray[np.intp]
    #: The workers of a cluster share the pairs of Dask data.
    spread: Spread = in_this_process


def labelled(Z: ArrayLike, labels: ArrayLike) -> Labelled:
    """Check features and labels; raise if the labels have no pair of either kind."""
    features = real_array(Z, "Z")
    if features.ndim != 2:
        raise ValueError(f"Z must have shape (n, n_features), got {features.shape}.")
    check_finite(features, name="Z")
    names = check_names(labels, "labels", len(features))
    classes, codes = np.unique(names, return_inverse=True)
    sizes = np.bincount(codes, minlength=len(classes)).astype(np.intp)
    if len(classes) < 2:
        raise ValueError(f"labels must name at least two classes, got {len(classes)}.")
    if sizes.max() < 2:
        raise ValueError(
            "Every class has a single example, so no pair is of the same class. "
            "Pass two examples of at least one class."
        )
    points = np.array(features.T, dtype=np.float64, order="C")
    # Rescaling by a power of two is exact and prevents overflow of squares.
    largest = max(points.max(initial=0.0), -points.min(initial=0.0))
    scale = 2.0 ** np.frexp(largest)[1] if largest > 0 else 1.0
    points /= scale
    spread = door.spread_dask if is_dask(Z) else in_this_process
    return Labelled(points, float(scale), codes.astype(np.intp), sizes, spread)


@storable(ends="f8 e", same="f8 e", different="f8 e", width="number")
@dataclass(frozen=True)
class PairCounts:
    """Cumulative weights of same and of different pairs, at distances up to each of ``ends``.

    A pair of weight k counts k times.
    """

    ends: Float64s
    same: Float64s
    different: Float64s
    #: The width of the bins of distances; 0 for exact distances.
    width: float

    @property
    def exact(self) -> bool:
        """True if the distances are exact."""
        return self.width == 0.0

    @property
    def totals(self) -> tuple[float, float]:
        """The weights of all same and of all different pairs."""
        return float(self.same[-1:].sum()), float(self.different[-1:].sum())

    @property
    def shares(self) -> tuple[Float64s, Float64s]:
        """The shares of same and of different pairs up to each distance."""
        n_same, n_different = self.totals
        return self.same / (n_same or 1.0), self.different / (n_different or 1.0)


def distances_of(Z: Float64s, index: NDArray[np.intp]) -> Float64s:
    """Return the distances between rows with these indices, in blocks."""
    out, step = np.empty(len(index)), max(BLOCK_VALUES // max(Z.shape[1], 1), 1)
    for start in range(0, len(index), step):
        part = index[start : start + step]
        apart = Z[part[:, 0]] - Z[part[:, 1]]
        out[start : start + step] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    return out


def counts_of_pairs(
    distances: Float64s,
    signs: Any,
    weights: Any = None,
    exact_pairs: int = EXACT_PAIRS,
    bins: int = BINS,
) -> PairCounts:
    """Return the counts of pairs with known distances, and weights if given."""
    weights = np.ones(len(distances)) if weights is None else np.asarray(weights)
    same = np.asarray(signs) > 0
    positive = weights > 0
    distances, same, weights = distances[positive], same[positive], weights[positive]
    ends, width = np.unique(distances), 0.0
    if len(ends) <= exact_pairs:
        places = np.searchsorted(ends, distances)
    else:
        width = float(ends[-1]) / bins
        places = np.minimum(np.ceil(distances / width).astype(np.intp), bins)
        ends = np.concatenate([width * np.arange(bins), ends[-1:]])
    sums = [np.bincount(places[k], weights[k], minlength=len(ends)) for k in (same, ~same)]
    below = [np.cumsum(each, dtype=np.float64) for each in sums]  # sums of no pairs are integers
    return PairCounts(ends, below[0], below[1], width)


def counts_of_classes(
    Z: Float64s,
    codes: NDArray[np.intp],
    tasks: NDArray[np.intp],
    weights: Float64s | None = None,
    repeats: float = 1.0,
    *,
    exact_pairs: int = EXACT_PAIRS,
    bins: int = BINS,
    spread: Spread = in_this_process,
) -> PairCounts:
    """Return the counts of all pairs inside tasks.

    A row of weight k counts as k rows. It therefore forms k (k - 1) / 2 pairs with itself at
    distance zero, which are multiplied by ``repeats``. In a sample, ``repeats`` is the sampled
    share of the rows. Above ``exact_pairs`` pairs, distances are counted in bins.
    """
    of_pairs, own_pairs = pairs_of_tasks(tasks, weights, repeats)
    weights = np.ones(len(Z)) if weights is None else weights
    parts = [np.flatnonzero(tasks == task) for task in np.unique(tasks)]
    own = float(of_pairs @ own_pairs)
    if sum(len(part) * (len(part) - 1) // 2 for part in parts) <= exact_pairs:
        distances, same, products = [np.zeros(1)], [np.ones(1, bool)], [np.array([own])]
        for part, each in zip(parts, of_pairs, strict=True):
            first, second = (part[side] for side in np.triu_indices(len(part), 1))
            distances.append(pdist(Z[part]))
            same.append(codes[first] == codes[second])
            products.append(each * weights[first] * weights[second])
        apart, alike, pair_weights = map(np.concatenate, (distances, same, products))
        return counts_of_pairs(apart, alike, pair_weights, exact_pairs, bins)
    points = np.ascontiguousarray(Z.T, dtype=np.float64)
    centre = points.mean(axis=1, keepdims=True)
    reach = 2.0 * float(np.sqrt(((points - centre) ** 2).sum(axis=0).max()))
    width = reach / bins if reach > 0 else 1.0
    counts = np.zeros((2, bins + 1))
    for part, each in zip(parts, of_pairs, strict=True):
        columns, scaled = np.ascontiguousarray(points[:, part]), np.sqrt(each) * weights[part]
        loop = partial(pair_histogram, columns, codes[part], scaled, 1.0 / width)
        spread(loop, counts, len(part))
    counts[0, 0] += own
    same_sums, different_sums = np.cumsum(counts, axis=1)
    return PairCounts(width * np.arange(bins + 1.0), same_sums, different_sums, width)


def pairs_of_tasks(
    tasks: NDArray[np.intp], weights: Float64s | None, repeats: float
) -> tuple[Float64s, Float64s]:
    """Return the weight of each pair of a task, and the number of pairs of equal rows.

    All tasks have the same total weight, as if a task were drawn first ([HPCA] section 3).
    """
    w = np.ones(len(tasks)) if weights is None else weights
    of_row = np.unique(tasks, return_inverse=True)[1]
    alone = np.bincount(of_row, np.maximum(w * (w - 1.0), 0.0))
    own = np.asarray(repeats * alone / 2.0, np.float64)
    apart = (np.bincount(of_row, w) ** 2 - np.bincount(of_row, w**2)) / 2.0
    n_pairs = np.asarray(own + np.maximum(apart, 0.0), np.float64)
    any_pair = n_pairs > 0
    mean = n_pairs.sum() / max(np.count_nonzero(any_pair), 1)
    return np.divide(mean, n_pairs, out=np.zeros(len(n_pairs)), where=any_pair), own


def all_pairs(data: Labelled, *, exact_pairs: int = EXACT_PAIRS, bins: int = BINS) -> PairCounts:
    """Return the counts of all pairs of labelled features, in units of their scale."""
    one_task = np.zeros(len(data.codes), np.intp)
    return counts_of_classes(
        data.points.T, data.codes, one_task, exact_pairs=exact_pairs, bins=bins, spread=data.spread
    )


def roc_area(counts: PairCounts) -> float:
    """Return the probability that a same pair is nearer than a different one (ties: 1/2)."""
    near, far = (np.concatenate([[0.0], share]) for share in counts.shares)
    return float((near[1:] + near[:-1]) @ np.diff(far)) / 2.0
