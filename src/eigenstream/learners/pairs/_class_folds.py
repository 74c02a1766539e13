"""Cross-validation with held-out classes, from scatters or a kernel's factor made once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._linalg import Float64s
from eigenstream.evaluation import one_shot_error, pair_risk
from eigenstream.evaluation.base import counts_of_classes
from eigenstream.learners.pairs._eta import Fold, Matrices
from eigenstream.learners.pairs._hashes import Hashes
from eigenstream.learners.pairs._values import LabelledRows, codes_of
from eigenstream.scatters.classes import (
    ClassScatter,
    Key,
    keys_of,
    order_of_gram,
    order_of_rows,
)
from eigenstream.scatters.laplacians import ClassLaplacian
from eigenstream.solvers.dual import PairOperator

#: Rows of a held-out fold that its loss is taken from, at most.
FOLD_ROWS = 1000


def classes_in_order(
    given: LabelledRows, *, gram: bool = False
) -> tuple[list[Key], NDArray[np.intp]]:
    """Return the classes by where their rows lie, and the place of each row's among them.

    ``gram``: the rows are given by their inner products.
    """
    keys, codes = keys_of(given.labels, given.groups)
    order = (order_of_gram if gram else order_of_rows)(given.rows, codes, len(keys), given.weights)
    place = np.empty(len(keys), np.intp)
    place[order] = np.arange(len(keys))
    return [keys[k] for k in order], place[codes]


def spread(codes: NDArray[np.intp], hashes: Hashes, most: int) -> NDArray[np.intp]:
    """Return at most so many rows, evenly out of every class, those of a class by their hashes.

    >>> spread(np.array([0, 0, 0, 0, 1, 1]), np.arange(6, dtype=np.uint64), 3)
    array([0, 2, 4])
    """
    step = max(-(-len(codes) // most), 1)
    order = np.lexsort((hashes, codes))
    return np.sort(order[::step])


def risk_of(Z: Float64s, keys: Sequence[Key], group_weights: str) -> float:
    """Return the least balanced risk of a threshold over the pairs inside tasks."""
    counts = counts_of_classes(
        Z, codes_of(keys), codes_of(key[0] for key in keys), group_weights=group_weights
    )
    return pair_risk.risk_curve(counts).risk if len(counts.ends) else 1.0


def error_of(Z: Float64s, keys: Sequence[Key], group_weights: str) -> float:
    """Return the mean of the tasks' one-example-per-class errors, or that by numbers of queries.

    Where no task has what it takes (two classes, two examples of one), the risk stands in.
    """
    codes, tasks = codes_of(keys), codes_of(key[0] for key in keys)
    errors, queries = [], []
    for task in range(int(tasks.max(initial=-1)) + 1):
        mine = tasks == task
        sizes = np.unique(codes[mine], return_counts=True)[1]
        if len(sizes) >= 2 and sizes.max() >= 2:
            errors.append(one_shot_error(Z[mine], codes[mine]).error)
            queries.append(1 if group_weights == "uniform" else int(sizes.sum()) - len(sizes))
    if not errors:
        return risk_of(Z, keys, group_weights)
    return float(np.average(errors, weights=queries))


@dataclass(frozen=True)
class HeldOutRows:
    """The losses on held-out rows: their one-example error, ties by their risk."""

    rows: Any
    keys: Sequence[Key]
    group_weights: str

    def loss(self, vectors: Float64s) -> float:
        """Return the error of the rows after these vectors."""
        return error_of(self._projected(vectors), self.keys, self.group_weights)

    def tie(self, vectors: Float64s) -> float:
        """Return the risk, which takes many times as long."""
        return risk_of(self._projected(vectors), self.keys, self.group_weights)

    def _projected(self, vectors: Float64s) -> Float64s:
        return np.asarray(self.rows @ vectors, np.float64)


@dataclass(frozen=True)
class ScaledScatter:
    """A scatter of classes, of features divided by their scales."""

    scatter: ClassScatter
    scale: Float64s

    def matrix(self) -> Float64s:
        """Return the scatter's matrix for the scaled features."""
        return self.scatter.matrix() / self.scale / self.scale[:, None]

    @property
    def group_weights(self) -> str:
        """How the tasks weigh."""
        return self.scatter.group_weights

    def other_kind(self) -> "ScaledScatter":
        """Return the scatter of the other kind of pairs."""
        return ScaledScatter(self.scatter.other_kind(), self.scale)


def scaled_without(
    without: Callable[[frozenset[Key]], ClassScatter], scale: Float64s
) -> Callable[[frozenset[Key]], ScaledScatter]:
    """Return what makes the scaled scatter without some classes."""
    return lambda held: ScaledScatter(without(held), scale)


def scatter_folds(
    reward: Any,
    without: Callable[[frozenset[Key]], Any],
    rows: Float64s,
    of_rows: Sequence[Key],
    place: Mapping[Key, int],
) -> Sequence[Fold]:
    """Return folds whose scatters are those of all classes less those of the held-out ones.

    ``place`` says in which fold a class is held out. ``rows`` are a sample, of the classes
    ``of_rows``; their loss stands for all.
    """
    found = []
    for fold in sorted(set(place.values())) or [-1]:
        held = frozenset(key for key, where in place.items() if where == fold)
        scatter = without(held) if held else reward
        mine = [k for k, key in enumerate(of_rows) if key in held or not held]
        mine = mine[:: max(-(-len(mine) // FOLD_ROWS), 1)]
        operator = Matrices(scatter.matrix(), scatter.other_kind().matrix())
        found.append(
            Fold(
                operator, HeldOutRows(rows[mine], [of_rows[k] for k in mine], reward.group_weights)
            )
        )
    return found


def without_of_rows(
    given: LabelledRows, group_weights: str
) -> Callable[[frozenset[Key]], ClassScatter]:
    """Return what makes the scatter without some classes by a pass over the rows.

    For more classes than there is room for their matrices: two at a time are enough.
    """
    keys, codes = keys_of(given.labels, given.groups)

    def without(held: frozenset[Key]) -> ClassScatter:
        outside = np.array([key not in held for key in keys])[codes]
        how = {"groups": given.groups, "sample_weight": given.weights, "chosen": outside}
        how["group_weights"] = group_weights
        return ClassScatter.of(given.rows, given.labels, same=False, **how)

    return without


def operator_folds(
    search: Any,
    keys: Sequence[Key],
    codes: NDArray[np.intp],
    hashes: Hashes,
    weights: Any,
    place: Mapping[Key, int],
    group_weights: str,
) -> Sequence[Fold]:
    """Return folds over points: rows (or an operator's points), by the number of each's class."""
    of_row = np.array([place.get(key, -1) for key in keys])[codes]
    labels = [keys[c] for c in codes]
    groups = codes_of(key[0] for key in labels)
    found = []
    for fold in sorted(set(place.values())) or [-1]:
        held = of_row == fold
        kept = np.ones(len(codes)) if weights is None else np.array(weights)
        if place:
            kept[held] = 0.0
        laplacian = ClassLaplacian.of(codes, groups, kept, group_weights)
        operator: Any = PairOperator(search, laplacian)
        if isinstance(search, np.ndarray) and search.shape[1] <= 2 * len(codes):
            operator = Matrices(operator.matrix(1.0, 0.0), operator.matrix(0.0, -1.0))
        mine = np.flatnonzero(held)
        mine = mine[spread(codes[mine], hashes[mine], FOLD_ROWS)]
        found.append(
            Fold(operator, HeldOutRows(search[mine], [labels[k] for k in mine], group_weights))
        )
    return found
