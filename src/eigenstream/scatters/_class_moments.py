"""Moments of every class apart: from them follow the sums over all pairs that labels imply."""

from collections.abc import Hashable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import blas

from eigenstream._checks import is_sparse
from eigenstream._linalg import Float64s, rank_update
from eigenstream._state import State, joined, names_of, names_state, part
from eigenstream.scatters._class_order import order_of_moments
from eigenstream.scatters._few_rows import ClassRows, stacked
from eigenstream.scatters._moment import (
    FLOAT32_ROUNDING,
    Weights,
    block_rows,
    floating,
)

#: A class: the learning task it belongs to (None when there is one only), and its label.
Key = tuple[Hashable, Hashable]

#: Blocks of a class this many times larger than others pay for going through D x D once a block.
LARGE_BLOCKS = 4

#: So many rows are worth a pass over D x D; of a class, fewer wait for more of it.
LEAST_ROWS = 256


@dataclass
class PairTotals:
    """Sums over all unordered pairs inside tasks: of Q_{x - x'}, lower triangles, and of weights.

    Weights count as repetitions: a class of total weight m has m (m - 1) / 2 pairs.
    """

    same: Float64s
    different: Float64s
    n_same: float
    n_different: float
    mean: Float64s
    count: int
    weight: float
    rounding: float

    def state(self) -> State:
        """Return all that it holds."""
        return {name: copy(value) for name, value in vars(self).items()}

    @classmethod
    def restored(cls, state: State) -> "PairTotals":
        """Return the sums that gave this ``state``."""
        return cls(
            same=np.array(state["same"], np.float64, order="F"),
            different=np.array(state["different"], np.float64, order="F"),
            n_same=float(state["n_same"]),
            n_different=float(state["n_different"]),
            mean=np.array(state["mean"], np.float64),
            count=int(state["count"]),
            weight=float(state["weight"]),
            rounding=float(state["rounding"]),
        )


def keys_of(labels: Any, groups: Any) -> tuple[list[Key], NDArray[np.intp]]:
    """Return the classes present, sorted, and the class of each row as an index into them."""
    names, codes = np.unique(np.asarray(labels), return_inverse=True)
    codes = codes.ravel()
    if groups is None:
        return [(None, name) for name in names.tolist()], codes.astype(np.intp)
    tasks, of_task = np.unique(np.asarray(groups), return_inverse=True)
    joint, codes = np.unique(of_task.ravel() * len(names) + codes, return_inverse=True)
    task_names, class_names = tasks.tolist(), names.tolist()
    keys = [(task_names[k // len(names)], class_names[k % len(names)]) for k in joint.tolist()]
    return keys, codes.ravel().astype(np.intp)


class ClassMoments:
    """Count, mean and centred second moment of each class: of few rows, these themselves.

    The sums over pairs weight every class by its FINAL count, so that one pass that does not know
    the counts yet has to keep the classes apart. For that it merges exactly, in any order.
    """

    def __init__(self, n_features: int, group_weights: str = "uniform") -> None:
        self.n_features = n_features
        self.group_weights = group_weights
        self.classes: dict[Key, ClassRows] = {}
        self._all: PairTotals | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs: the sums are made again."""
        return {**self.__dict__, "_all": None}

    def add(self, rows: Any, labels: Any, groups: Any, weights: Weights | None) -> None:
        """Add labelled rows."""
        self._all = None
        keys, codes = keys_of(labels, groups)
        rows = rows.tocsr() if is_sparse(rows) else rows
        order = np.argsort(codes, kind="stable")
        edges = np.searchsorted(codes[order], np.arange(len(keys) + 1))
        # Large classes: whole blocks are fetched to one place, centred there and used up. (float32
        # sums stay short: they are rounded to float32 inside a block.)
        double = isinstance(rows, np.ndarray) and rows.dtype == np.float64
        step = block_rows(self.n_features) * (LARGE_BLOCKS if double else 1)
        fetched = np.empty((step if double and len(codes) >= step else 0, self.n_features))
        for k, key in enumerate(keys):
            found = self.classes.setdefault(key, ClassRows(self.n_features))
            mine = order[edges[k] : edges[k + 1]]
            mine = mine if weights is None else mine[weights[mine] > 0]
            if found.takes(len(mine)):
                found.add(rows[mine], None if weights is None else weights[mine])
                continue
            moment = found.to_moment()
            for start in range(0, len(mine), step):
                chosen = mine[start : start + step]
                w = None if weights is None else weights[chosen]
                if len(fetched) and len(chosen) >= LEAST_ROWS:
                    block = fetched[: len(chosen)]
                    np.take(rows, chosen, axis=0, out=block, mode="clip")
                    moment.use_up(block, w)
                else:
                    moment.add(floating(rows[chosen]), w)

    def state(self) -> State:
        """Return all that has been learned: the classes are numbered, in order of arrival."""
        tasks, labels = zip(*self.classes, strict=True) if self.classes else ((), ())
        of_classes = {str(k): m.state() for k, m in enumerate(self.classes.values())}
        own = {"n_features": self.n_features, "group_weights": self.group_weights}
        return (
            own | names_state("task", tasks) | names_state("label", labels) | joined(**of_classes)
        )

    @classmethod
    def restored(cls, state: State) -> "ClassMoments":
        """Return moments that go on from a ``state``, to the last bit."""
        moments = cls(int(state["n_features"]), str(state["group_weights"]))
        keys = zip(names_of(state, "task"), names_of(state, "label"), strict=True)
        for k, key in enumerate(keys):
            moments.classes[key] = ClassRows.restored(part(state, str(k)))
        return moments

    def merged(self, other: "ClassMoments") -> "ClassMoments":
        """Return the moments of both; neither is changed."""
        both = ClassMoments(self.n_features, self.group_weights)
        both.classes = {key: found.copy() for key, found in self.classes.items()}
        for key, found in other.classes.items():
            if key in both.classes:
                both.classes[key].merge(found)
            else:
                both.classes[key] = found.copy()
        return both

    def in_order(self) -> list[Key]:
        """Return the classes by where their rows lie: names have no part in it."""
        keys = list(self.classes)
        found = [c.read() for c in self.classes.values()]
        means, squares = [one.mean for one in found], [one.squares() for one in found]
        return [keys[k] for k in order_of_moments([one.weight for one in found], means, squares)]

    def totals(self) -> PairTotals:
        """Return the sums over all pairs; computed once for as long as no row is added."""
        if self._all is None:
            self._all = self.totals_without(frozenset())
        return self._all

    def totals_without(self, classes: frozenset[Key]) -> PairTotals:
        """Return the sums over all pairs that have no member in these classes."""
        chosen = {key: c.read() for key, c in self.classes.items() if key not in classes}
        weights = {key: found.weight for key, found in chosen.items()}
        totals = _means_only(
            self.n_features,
            weights,
            {key: found.mean for key, found in chosen.items()},
            sum(found.count for found in chosen.values()),
            self.group_weights,
        )
        per_task, of_pairs = _per_task(weights), _pair_weights(weights, self.group_weights)
        kept: dict[tuple[float, float], list[Float64s]] = {}
        for key, found in chosen.items():
            each, whole = of_pairs[key[0]], per_task[key[0]]
            inside, outside = each * weights[key], each * (whole - weights[key])
            if found.total is None:
                assert found.rows is not None
                kept.setdefault((inside, outside), []).append(found.rows)
                continue
            _add(totals.same, found.total, inside)
            _add(totals.different, found.total, outside)
            totals.rounding = max(totals.rounding, found.rounding)
        self._add_rows(totals, kept)
        return totals

    def _add_rows(
        self, totals: PairTotals, kept: dict[tuple[float, float], list[Float64s]]
    ) -> None:
        """Add the products of rows, by how much those of their class weigh in either sum."""
        step = block_rows(self.n_features)
        few: list[tuple[tuple[float, float], Float64s]] = []
        for factors, parts in kept.items():
            if sum(map(len, parts)) < LEAST_ROWS:
                few += [(factors, part) for part in parts]
                continue
            product = np.zeros((self.n_features, self.n_features), order="F")
            for block in stacked(iter(parts), step):
                rank_update(product, block)
            _add(totals.same, product, factors[0])
            _add(totals.different, product, factors[1])
        # So few that going through D x D for them would take longer than to multiply them twice.
        for kind, total in enumerate((totals.same, totals.different)):
            scaled = (np.sqrt(factors[kind]) * part for factors, part in few)
            for block in stacked(scaled, step):
                rank_update(total, block)


def totals_of_rows(
    rows: Any,
    labels: Any,
    groups: Any,
    weights: Weights | None,
    chosen: NDArray[np.bool_],
    group_weights: str,
) -> PairTotals:
    """Return the sums over all pairs of the chosen rows, holding two D x D matrices in all.

    With the labels known beforehand the final counts are, too. Classes of one size share a block,
    so that many small classes cost no more than a few large ones.
    """
    width = rows.shape[1]
    rows = rows.tocsr() if is_sparse(rows) else rows
    keys, codes = keys_of(labels, groups)
    weight = chosen.astype(np.float64) * (1.0 if weights is None else weights)
    sizes = np.bincount(codes, weights=weight, minlength=len(keys))
    inverse = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    means = np.zeros((len(keys), width))
    step = block_rows(width)
    for start in range(0, len(codes), step):
        part = slice(start, start + step)
        shares, places = weight[part] * inverse[codes[part]], np.arange(len(codes[part]))
        averaging = sp.csr_array((shares, (codes[part], places)), (len(keys), len(places)))
        means += averaging @ _dense(rows[part])
    present = np.flatnonzero(sizes > 0)
    totals = _means_only(
        width,
        {keys[k]: float(sizes[k]) for k in present},
        {keys[k]: means[k] for k in present},
        int(np.count_nonzero(weight)),
        group_weights,
    )
    if rows.dtype == np.float32:
        totals.rounding = FLOAT32_ROUNDING
    of_classes = {keys[k]: float(sizes[k]) for k in present}
    per_task, of_pairs = _per_task(of_classes), _pair_weights(of_classes, group_weights)
    factors = np.zeros((len(keys), 2))
    for k in present:
        task = keys[k][0]
        factors[k] = of_pairs[task] * sizes[k], of_pairs[task] * (per_task[task] - sizes[k])
    buckets, of_class = np.unique(factors, axis=0, return_inverse=True)
    bucket = np.where(weight > 0, of_class.ravel()[codes], -1)
    for b, (inside, outside) in enumerate(buckets):
        members = np.flatnonzero(bucket == b)
        product = np.zeros((width, width), order="F")
        for start in range(0, len(members), step):
            some = members[start : start + step]
            block = floating(_dense(rows[some]))
            block = (block - means[codes[some]]).astype(block.dtype, copy=False)
            if weights is not None:
                block *= np.sqrt(weight[some]).astype(block.dtype)[:, None]
            rank_update(product, block)
        _add(totals.same, product, inside)
        _add(totals.different, product, outside)
    return totals


def _dense(rows: Any) -> Any:
    return rows.toarray() if is_sparse(rows) else rows


def _per_task(weights: dict[Key, float]) -> dict[Hashable, float]:
    tasks: dict[Hashable, float] = {}
    for (task, _), weight in weights.items():
        tasks[task] = tasks.get(task, 0.0) + weight
    return tasks


def weights_of_pairs(n_pairs: Float64s, group_weights: str) -> Float64s:
    """Return what each pair of a task weighs, given how many pairs every task has.

    "uniform": all tasks weigh the same, as where a task is drawn first ([HPCA] section 3).

    >>> weights_of_pairs(np.array([1.0, 3.0, 0.0]), "uniform")
    array([2.        , 0.66666667, 0.        ])
    """
    if group_weights == "pairs":
        return np.ones(len(n_pairs))
    some = n_pairs > 0
    mean = n_pairs.sum() / max(np.count_nonzero(some), 1)
    return np.asarray(np.divide(mean, n_pairs, out=np.zeros(len(n_pairs)), where=some))


def _numbers(weights: dict[Key, float]) -> tuple[Float64s, Float64s]:
    """Return how many same and different pairs each task has, in the order of the tasks."""
    whole = _per_task(weights)
    squares, same = dict.fromkeys(whole, 0.0), dict.fromkeys(whole, 0.0)
    for (task, _), m in weights.items():
        squares[task] += m**2
        same[task] += max(m * (m - 1.0), 0.0)
    different = [max(whole[task] ** 2 - squares[task], 0.0) for task in whole]
    return np.array(list(same.values())) / 2.0, np.array(different) / 2.0


def _pair_weights(weights: dict[Key, float], group_weights: str) -> dict[Hashable, float]:
    """Return what each pair of a task weighs, given what the classes weigh."""
    of_pairs = weights_of_pairs(np.add(*_numbers(weights)), group_weights)
    return dict(zip(_per_task(weights), of_pairs.tolist(), strict=True))


def _means_only(
    width: int,
    weights: dict[Key, float],
    means: dict[Key, Float64s],
    count: int,
    group_weights: str,
) -> PairTotals:
    """Return the sums as if every row lay at the mean of its class."""
    per_task, of_pairs = _per_task(weights), _pair_weights(weights, group_weights)
    total = sum(per_task.values())
    mean = np.zeros(width)
    task_means = {task: np.zeros(width) for task in per_task}
    for key, weight in weights.items():
        if weight > 0:
            mean += weight / total * means[key]
            task_means[key[0]] += weight / per_task[key[0]] * means[key]
    different = np.zeros((width, width), order="F")
    heavy = [key for key, weight in weights.items() if weight > 0]
    if heavy:
        apart = np.array(
            [
                np.sqrt(of_pairs[k[0]] * per_task[k[0]] * weights[k])
                * (means[k] - task_means[k[0]])
                for k in heavy
            ]
        )
        rank_update(different, apart)
    n_same, n_different = _numbers(weights)
    each = np.array([of_pairs[task] for task in per_task])
    return PairTotals(
        same=np.zeros((width, width), order="F"),
        different=different,
        n_same=float(each @ n_same),
        n_different=float(each @ n_different),
        mean=mean,
        count=count,
        weight=total,
        rounding=0.0,
    )


def _add(total: Float64s, product: Float64s, factor: float) -> None:
    """Add a multiple in place: both are Fortran-ordered, so their memory is one long vector."""
    if factor != 0.0:
        blas.daxpy(product.ravel(order="K"), total.ravel(order="K"), a=factor)
