"""Cross-validation with held-out pairs, from scatters or a kernel's factor made once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from eigenstream._linalg import Float64s
from eigenstream._state import State, joined, part
from eigenstream.contrast import Contrast
from eigenstream.evaluation import pair_risk
from eigenstream.evaluation.base import PairCounts, counts_of_pairs, roc_area
from eigenstream.learners.pairs._eta import FOLDS, Fold, Matrices
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
    """For each fold, the scatters of the pairs that have a member in it."""

    def __init__(self, width: int, n_folds: int) -> None:
        self.touching = [(PairScatter(width), PairScatter(width)) for _ in range(n_folds)]

    def add(self, given: Pairs, folds: Folds) -> None:
        """Add explicit pairs with the folds of their two members."""
        for fold, (negative, positive) in enumerate(self.touching):
            inside = (folds == fold).any(axis=1)
            for sign, scatter in ((-1, negative), (1, positive)):
                mine = given.chosen(inside & (given.signs == sign))
                if len(mine):
                    scatter.update(mine.explicit, sample_weight=mine.weights)

    def state(self) -> State:
        """Return all that it holds: the folds are numbered."""
        folds = {
            str(k): joined(negative=negative.state(), positive=positive.state())
            for k, (negative, positive) in enumerate(self.touching)
        }
        return {"n_folds": len(folds)} | joined(**folds)

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return folds that go on from a ``state``, to the last bit."""
        folds = cls(0, 0)
        for k in range(int(state["n_folds"])):
            negative, positive = (part(part(state, str(k)), n) for n in ("negative", "positive"))
            both = PairScatter.restored(negative), PairScatter.restored(positive)
            folds.touching.append(both)
        return folds

    def merged(self, other: Self) -> "PairFolds":
        """Return the folds of both; neither is changed."""
        both = PairFolds(self.touching[0][0].n_features, 0)
        both.touching = [
            (mine[0].merge(theirs[0]), mine[1].merge(theirs[1]))
            for mine, theirs in zip(self.touching, other.touching, strict=True)
        ]
        return both


def add_signed(contrast: Contrast, given: Pairs) -> None:
    """Add pairs to the scatter of their sign: negative ones are rewarded."""
    for sign, scatter in ((-1, contrast.reward), (1, contrast.penalty)):
        assert isinstance(scatter, PairScatter)
        mine = given.signs == sign
        if not mine.any():
            continue
        if given.index is None:
            some = given.chosen(mine)
            scatter.update(some.explicit, sample_weight=some.weights)
        else:
            scatter.add_checked(given.points, given.index, given.weights, mine)


def add_indexed(contrast: Contrast, folds: PairFolds, given: Pairs, of_members: Any) -> None:
    """Add index pairs to the scatter of their sign, and to the folds that their members are in.

    The pairs between two folds are a graph of their own, on the points of these two: their
    products all together cost little more than the one of the whole graph.
    """
    n_folds = len(folds.touching)
    turned = of_members[:, 0] > of_members[:, 1]
    cells = np.where(turned, of_members[:, 1], of_members[:, 0]).astype(np.int8)
    cells *= np.int8(n_folds)
    cells += np.where(turned, of_members[:, 0], of_members[:, 1]).astype(np.int8)
    for cell in np.unique(cells).tolist():
        low, high = divmod(cell, n_folds)
        mine = np.flatnonzero(cells == cell)
        index = given.index[mine]
        index[turned[mine]] = index[turned[mine], ::-1]
        points, index = _compressed(given.points, index, low != high)
        weights = None if given.weights is None else given.weights[mine]
        some = Pairs(None, index, points, given.signs[mine], weights)
        width = contrast.reward.n_features
        inside = Contrast(PairScatter(width), PairScatter(width))
        add_signed(inside, some)
        merged = contrast.merge(inside)
        contrast.reward, contrast.penalty = merged.reward, merged.penalty
        for fold in {low, high}:
            negative, positive = folds.touching[fold]
            assert inside.penalty is not None
            folds.touching[fold] = negative.merge(inside.reward), positive.merge(inside.penalty)


def _compressed(points: Any, index: NDArray[np.intp], apart: bool) -> tuple[Any, NDArray[np.intp]]:
    """Return the points that pairs refer to and their new indices, first members first."""
    n = points.shape[0]
    seen = [np.zeros(n, dtype=bool) for _ in range(2)]
    for k in (0, 1):
        seen[k if apart else 0][index[:, k]] = True
    used = np.concatenate([np.flatnonzero(some) for some in seen])
    place = np.empty(n, dtype=np.intp)
    place[used] = np.arange(len(used))
    return points[used], place[index]


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
    """Return folds whose scatters are those of all pairs less those that touch the fold."""
    differences, signs, of_pair, weights = sample.read()
    found = []
    for fold, touching in enumerate(folds.touching):
        mine = of_pair == fold
        if len(np.unique(signs[mine])) < 2:
            continue
        reward, penalty = (
            _less(whole, some)
            for whole, some in zip((contrast.reward, contrast.penalty), touching, strict=True)
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


def folds_by_hash(hashes: NDArray[np.uint64]) -> Folds:
    """Return folds for pairs of unknown classes: both members are in that of the pair."""
    found = (hashes % np.uint64(FOLDS)).astype(np.int8)
    return np.repeat(found[:, None], 2, axis=1)


def folds_of_members(given: Pairs) -> Folds | None:
    """Return the folds of both members, classes being what positive index pairs connect."""
    if given.index is None:
        return None
    n = given.points.shape[0]
    same = given.index[given.signs > 0]
    graph = coo_array((np.ones(len(same)), (same[:, 0], same[:, 1])), (n, n))
    parts = connected_components(graph, directed=False)[1]
    used = np.unique(parts[given.index])
    if len(used) < 4:
        return None
    place = np.zeros(int(parts.max()) + 1, dtype=np.int8)  # there may be very many pairs
    place[used] = np.arange(len(used)) % min(FOLDS, len(used) // 2)
    folds = place[parts[given.index]]
    inside = folds[:, 0] == folds[:, 1]
    for fold in range(int(folds.max()) + 1):
        mine = given.signs[inside & (folds[:, 0] == fold)]
        if len(np.unique(mine)) < 2:
            return None  # too few pairs: a fold has nothing to tell apart
    return np.asarray(folds, np.int8)


def operator_folds(search: Any, given: Pairs, folds: Folds) -> Sequence[Fold]:
    """Return folds over points: rows, or leading columns of a kernel's factor."""
    found: list[Fold] = []
    for fold in [*np.unique(folds).tolist(), -1]:
        touches = (folds == fold).any(axis=1)
        kept, inside = ~touches, (folds == fold).all(axis=1)
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
