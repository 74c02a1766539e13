"""Cross-validation with held-out pairs, from scatters or a kernel's factor made once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eigenstream._linalg import Float64s
from eigenstream._state import State, joined, part
from eigenstream.contrast import Contrast
from eigenstream.evaluation import pair_risk
from eigenstream.evaluation.base import PairCounts, counts_of_pairs, roc_area
from eigenstream.learners.pairs._eta import FOLDS, Fold, Matrices
from eigenstream.learners.pairs._hashes import pair_hashes
from eigenstream.learners.pairs._samples import PairSample
from eigenstream.learners.pairs._values import Pairs
from eigenstream.scatters import PairScatter
from eigenstream.scatters.laplacians import PairLaplacian
from eigenstream.solvers.dual import PairOperator

#: Pairs of either sign that a fold's loss is taken from, at most.
FOLD_PAIRS = 1 << 17

#: The numbers of folds: small, for there may be very many pairs.
Folds = NDArray[np.int8]


class PairFolds:
    """For each fold, the scatters of the pairs in it: these are held out together."""

    def __init__(self, width: int, n_folds: int) -> None:
        self.held = [(PairScatter(width), PairScatter(width)) for _ in range(n_folds)]

    def add(self, given: Pairs, folds: Folds) -> None:
        """Add pairs to the folds that they are in."""
        for fold, scatters in enumerate(self.held):
            add_signed(scatters, given, folds == fold)

    def state(self) -> State:
        """Return all that it holds: the folds are numbered."""
        folds = {
            str(k): joined(negative=negative.state(), positive=positive.state())
            for k, (negative, positive) in enumerate(self.held)
        }
        return {"n_folds": len(folds)} | joined(**folds)

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return folds that go on from a ``state``, to the last bit."""
        folds = cls(0, 0)
        for k in range(int(state["n_folds"])):
            negative, positive = (part(part(state, str(k)), n) for n in ("negative", "positive"))
            both = PairScatter.restored(negative), PairScatter.restored(positive)
            folds.held.append(both)
        return folds

    def merged(self, other: Self) -> "PairFolds":
        """Return the folds of both; neither is changed."""
        both = PairFolds(self.held[0][0].n_features, 0)
        both.held = [
            (mine[0].merge(theirs[0]), mine[1].merge(theirs[1]))
            for mine, theirs in zip(self.held, other.held, strict=True)
        ]
        return both


def add_signed(
    scatters: tuple[Any, Any], given: Pairs, chosen: NDArray[np.bool_] | None = None
) -> None:
    """Add pairs (all, or those chosen) to the scatter of their sign, that of negative ones first.

    Of index pairs all at once: then the points count, and not the pairs.
    """
    for sign, scatter in zip((-1, 1), scatters, strict=True):
        mine = given.signs == sign
        if chosen is not None:
            mine &= chosen
        if not mine.any():
            continue
        if given.index is None:
            some = given.chosen(mine)
            scatter.update(some.explicit, sample_weight=some.weights)
        else:
            scatter.add_checked(given.points, given.index, given.weights, mine)


@dataclass(frozen=True)
class HeldOutPairs:
    """The losses on held-out pairs: their least balanced risk, ties by the ROC area."""

    differences: Any
    index: Any
    signs: NDArray[np.int64]
    weights: Any = None

    def loss(self, vectors: Float64s) -> float:
        """Return the risk of the pairs after these vectors."""
        return pair_risk.risk_curve(self._counts(vectors)).risk

    def tie(self, vectors: Float64s) -> float:
        """Return the area above the ROC curve, one half where there is none."""
        if len(np.unique(self.signs)) < 2:
            return 0.5
        return 1.0 - roc_area(self._counts(vectors))

    def _counts(self, vectors: Float64s) -> PairCounts:
        Z = np.asarray(self.differences @ vectors, np.float64)
        if self.index is not None:
            Z = Z[self.index[:, 0]] - Z[self.index[:, 1]]
        lengths = np.sqrt(np.einsum("ij,ij->i", Z, Z))
        return counts_of_pairs(lengths, self.signs, self.weights)


def held_out_folds(contrast: Contrast, folds: PairFolds, sample: PairSample) -> Sequence[Fold]:
    """Return folds whose scatters are those of all pairs less those in the fold."""
    differences, signs, of_pair, weights = sample.read()
    found = []
    for fold, inside in enumerate(folds.held):
        mine = of_pair == fold
        if len(np.unique(signs[mine])) < 2:
            continue
        reward, penalty = (
            _less(whole, some)
            for whole, some in zip((contrast.reward, contrast.penalty), inside, strict=True)
        )
        if reward is not None and penalty is not None:
            held = HeldOutPairs(differences[mine], None, signs[mine], weights[mine])
            found.append(Fold(Matrices(reward, penalty), held))
    if found:
        return found
    assert contrast.penalty is not None
    # Too few pairs to hold any out: those that were learned from stand in.
    operator = Matrices(contrast.reward.matrix(), contrast.penalty.matrix())
    return [Fold(operator, HeldOutPairs(differences, None, signs, weights))]


def _less(whole: Any, some: PairScatter) -> Float64s | None:
    """Return the average over the pairs of the whole that are not among some of them."""
    weight = whole.weight - some.weight
    if weight <= 1e-12 * whole.weight:
        return None
    total = whole.weight * whole.matrix() - some.weight * some.matrix()
    return np.asarray(total / weight, np.float64)


def spread_pairs(
    given: Pairs, most: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return at most so many points with the pairs among them: points, pairs, and their indices."""
    n = given.points.shape[0]
    rng = np.random.default_rng(0)
    if n <= most:
        points = np.arange(n)
    elif 2 * len(given) <= n:  # no two pairs share a point
        points = np.sort(given.index[rng.permutation(len(given))[: most // 2]].ravel())
    else:
        points = np.sort(rng.permutation(n)[:most])
    place = np.full(n, -1)
    place[points] = np.arange(len(points))
    ends = place[given.index]
    kept = np.flatnonzero((ends >= 0).all(axis=1))
    return points, kept, ends[kept]


def folds_of(given: Pairs) -> Folds:
    """Return the fold of each pair: by its values, in whatever chunks and order pairs come.

    So the same pairs have the same folds from an array and from a stream. Holding out whole
    classes, which positive pairs tell of, takes all pairs at once: what a stream has added up
    cannot be dealt out anew. Nor did it choose better.
    """
    return np.asarray(pair_hashes(given, rounded=True) % np.uint64(FOLDS), np.int8)


def operator_folds(search: Any, given: Pairs, folds: Folds) -> Sequence[Fold]:
    """Return folds over points: rows, or leading columns of a kernel's factor."""
    found: list[Fold] = []
    for fold in [*np.unique(folds).tolist(), -1]:
        inside = folds == fold
        kept = ~inside
        if fold == -1:
            if found:
                break
            kept = inside = np.ones(len(given), dtype=bool)  # those learned from stand in
        one_sided = any(len(np.unique(given.signs[some])) < 2 for some in (kept, inside))
        if one_sided and fold != -1:
            continue
        weights = None if given.weights is None else given.weights[kept]
        n = search.shape[0]
        laplacian = PairLaplacian.of(n, given.index[kept], given.signs[kept], weights)
        operator: Any = PairOperator(search, laplacian)
        if isinstance(search, np.ndarray) and search.shape[1] <= 2 * n:
            operator = Matrices(operator.matrix(1.0, 0.0), operator.matrix(0.0, -1.0))
        mine = np.flatnonzero(inside)
        mine = mine[:: max(-(-len(mine) // (2 * FOLD_PAIRS)), 1)]
        weights = None if given.weights is None else given.weights[mine]
        held = HeldOutPairs(search, given.index[mine], given.signs[mine], weights)
        found.append(Fold(operator, held))
    return found
