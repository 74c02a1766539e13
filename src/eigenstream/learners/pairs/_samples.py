"""Bounded samples of rows and pairs that do not depend on chunking, order or merging.

A row's hash decides whether it stays: the sample is the rows with the smallest hashes, so it is a
function of the set of rows seen. It holds every distinct row of a small data set.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import is_sparse
from eigenstream._linalg import Float64s
from eigenstream._state import State, joined, names_of, names_state, part
from eigenstream.evaluation.pair_risk import TrainingRows
from eigenstream.learners.pairs._hashes import Hashes, row_hashes, smallest_distinct
from eigenstream.learners.pairs._values import LabelledRows, Pairs, codes_of
from eigenstream.scatters.classes import Key, keys_of

__all__ = ["ClassSample", "HashSample", "PairSample", "SampledRows", "sample_size"]

#: The signs of pairs, by what a saved state calls them.
SIGNS = (("positive", 1), ("negative", -1))

#: Values that a sample holds: 32 MB of float64.
SAMPLE_VALUES = 1 << 22


def sample_size(n_features: int, most: int) -> int:
    """Return how many rows a sample holds at most."""
    return int(np.clip(SAMPLE_VALUES // max(n_features, 1), 256, most))


class HashSample:
    """The ``size`` distinct rows with the smallest hashes of those added, in no order.

    Each with the weight that it has had in all: whoever is dropped never comes back, so that the
    weights of those that stay are exact.
    """

    def __init__(self, width: int) -> None:
        self.hashes: Hashes = np.empty(0, dtype=np.uint64)
        self.rows: Float64s = np.empty((0, width))
        self.weights: Float64s = np.empty(0)
        #: The weight of all rows added.
        self.total = 0.0
        #: Whether no row has been dropped.
        self.complete = True

    def add(
        self,
        hashes: Hashes,
        rows: Callable[[Any], Any],
        size: int,
        weights: Float64s,
        total: float,
        complete: bool = True,
    ) -> None:
        """Take up distinct rows (``rows`` fetches them by number), the best of many.

        ``total`` is the weight of these many, and ``complete`` tells whether they are all here.
        """
        self.total += total
        self.complete = self.complete and complete
        self.trim(size)
        place = np.argsort(self.hashes)
        found = np.searchsorted(self.hashes, hashes, sorter=place)
        known = np.zeros(len(hashes), dtype=bool)
        inside = np.flatnonzero(found < len(place))
        known[inside] = self.hashes[place[found[inside]]] == hashes[inside]
        self.weights[place[found[known]]] += weights[known]
        fresh = np.flatnonzero(~known)
        both = np.concatenate([self.hashes, hashes[fresh]])
        have = len(self.hashes)
        if len(both) > size:
            self.complete = False
            staying = np.zeros(len(both), dtype=bool)
            staying[np.argpartition(both, size - 1)[:size]] = True
        else:
            staying = np.ones(len(both), dtype=bool)
        coming = fresh[staying[have:]]
        if len(coming) == 0:
            return
        taken = rows(coming)
        taken = np.asarray(taken.toarray() if is_sparse(taken) else taken, np.float64)
        # Whoever comes takes the place of one who goes, so that a full sample is never copied.
        going = np.flatnonzero(~staying[:have])
        self.rows[going] = taken[: len(going)]
        self.hashes[going] = hashes[coming[: len(going)]]
        self.weights[going] = weights[coming[: len(going)]]
        if len(coming) > len(going):
            rest = slice(len(going), None)
            self.rows = np.concatenate([self.rows, taken[rest]])
            self.hashes = np.concatenate([self.hashes, hashes[coming[rest]]])
            self.weights = np.concatenate([self.weights, weights[coming[rest]]])

    def trim(self, size: int) -> None:
        """Keep the ``size`` smallest hashes."""
        if len(self.hashes) > size:
            self.complete = False
            kept = np.argsort(self.hashes)[:size]
            self.hashes, self.rows = self.hashes[kept], self.rows[kept]
            self.weights = self.weights[kept]

    def state(self) -> State:
        """Return all that it holds."""
        return {
            "hashes": self.hashes.copy(),
            "rows": self.rows.copy(),
            "weights": self.weights.copy(),
            "total": self.total,
            "complete": self.complete,
        }

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a sample that goes on from a ``state``, to the last bit."""
        rows = np.array(state["rows"], np.float64)
        sample = cls(rows.shape[1])
        sample.rows, sample.hashes = rows, np.array(state["hashes"], np.uint64)
        sample.weights = np.array(state["weights"], np.float64)
        sample.total, sample.complete = float(state["total"]), bool(state["complete"])
        return sample

    @property
    def n_distinct(self) -> float:
        """About how many distinct rows have been added: their hashes are spread evenly."""
        if self.complete:
            return float(len(self.hashes))
        return (len(self.hashes) - 1) / ((float(self.hashes.max()) + 1.0) * 2.0**-64)


@dataclass(frozen=True)
class SampledRows:
    """Rows of all classes, each as likely as any other to be among them.

    ``total`` is the weight of all rows; these are all of them where ``complete``, else
    ``n_distinct`` says about how many different ones there are.
    """

    rows: Float64s
    keys: list[Key]
    weights: Float64s
    total: float
    complete: bool
    n_distinct: float

    def projected(self, columns: Float64s, group_weights: str) -> TrainingRows:
        """Return the rows after these vectors."""
        return TrainingRows(
            self.rows @ columns,
            codes_of(self.keys),
            codes_of(key[0] for key in self.keys),
            self.weights,
            self.total,
            self.complete,
            self.n_distinct,
            group_weights,
        )


class ClassSample:
    """Rows of all classes: of each as many as the number of classes leaves room for, and others.

    The first part serves to compare classes, however rare they are. The others make the sample hold
    the rows with the smallest hashes of all: these are drawn without a look at the class, and pairs
    of them come in true proportions.
    """

    def __init__(self, width: int, size: int | None = None) -> None:
        self.width = width
        #: How many rows are drawn without a look at the class.
        self.size = sample_size(width, 4096) if size is None else size
        self.classes: dict[Key, HashSample] = {}

    @property
    def per_class(self) -> int:
        """How many rows of a class are held at least, if there are as many."""
        return max(self.size // max(len(self.classes), 1), 2)

    def add(self, given: LabelledRows) -> None:
        """Take up labelled rows that weigh anything."""
        given = given.weighing
        if len(given) == 0:
            return
        rows, weights = given.rows, given.weights
        keys, codes = keys_of(given.labels, given.groups)
        for key in keys:
            self.classes.setdefault(key, HashSample(self.width))
        hashes = row_hashes(rows)
        weights = np.ones(len(hashes)) if weights is None else weights
        # What lies beyond the rows drawn so far and these is not drawn, whatever comes.
        most = self._reach(hashes)
        order = np.argsort(codes, kind="stable")
        edges = np.searchsorted(codes[order], np.arange(len(keys) + 1))
        rows = rows.tocsr() if is_sparse(rows) else rows
        for k, key in enumerate(keys):
            mine = order[edges[k] : edges[k + 1]]
            held = self.classes[key]
            drawn = (hashes[mine] <= most).sum() + (held.hashes <= most).sum()
            size = max(self.per_class, int(drawn))
            first, sums, everything = smallest_distinct(hashes[mine], weights[mine], size)
            kept = mine[first]

            def fetch(k: Any, at: NDArray[np.intp] = kept) -> Any:
                return rows[at[k]]

            held.add(hashes[kept], fetch, size, sums, float(weights[mine].sum()), everything)
        self._trim()

    def state(self) -> State:
        """Return all that it holds: the classes are numbered, in order of arrival."""
        tasks, labels = zip(*self.classes, strict=True) if self.classes else ((), ())
        of_classes = {str(k): found.state() for k, found in enumerate(self.classes.values())}
        names = names_state("task", tasks) | names_state("label", labels)
        return {"width": self.width, "size": self.size} | names | joined(**of_classes)

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a sample that goes on from a ``state``, to the last bit."""
        sample = cls(int(state["width"]), state.get("size"))
        keys = zip(names_of(state, "task"), names_of(state, "label"), strict=True)
        for k, key in enumerate(keys):
            sample.classes[key] = HashSample.restored(part(state, str(k)))
        return sample

    def merged(self, other: Self) -> Self:
        """Return the sample of both; neither is changed."""
        both = type(self)(self.width, self.size)
        both.classes = {key: HashSample(self.width) for key in (*self.classes, *other.classes)}
        for one in (self, other):
            for key, found in one.classes.items():
                rows = found.rows.__getitem__
                size = len(found.hashes) + len(both.classes[key].hashes)
                both.classes[key].add(
                    found.hashes, rows, size, found.weights, found.total, found.complete
                )
        both._trim()
        return both

    def read(self, keys: Sequence[Key]) -> tuple[Float64s, list[Key]]:
        """Return the rows and the class of each, as many of every class where there are.

        Classes in the order they are asked for, rows by their hashes; a single row of a class that
        was seen more often, twice.
        """
        parts = []
        keys = [key for key in keys if key in self.classes]  # a class may have no weight
        for found in map(self.classes.__getitem__, keys):
            some = found.rows[np.argsort(found.hashes)[: self.per_class]]
            alone = len(some) == 1 and found.weights[0] > 1
            parts.append(np.repeat(some, 2, axis=0) if alone else some)
        rows = np.concatenate([*parts, np.empty((0, self.width))])
        return rows, [key for key, some in zip(keys, parts, strict=True) for _ in some]

    def drawn(self) -> SampledRows:
        """Return the rows drawn without a look at the class, by class and hash."""
        most = self._reach()
        parts, weights, keys = [np.empty((0, self.width))], [np.empty(0)], []
        for key, found in self.classes.items():
            order = np.argsort(found.hashes)
            order = order[found.hashes[order] <= most]
            parts.append(found.rows[order])
            weights.append(found.weights[order])
            keys += [key] * len(order)
        complete = self.complete
        return SampledRows(
            np.concatenate(parts),
            keys,
            np.concatenate(weights),
            sum(found.total for found in self.classes.values()),
            complete,
            float(len(keys)) if complete else (len(keys) - 1) / ((float(most) + 1.0) * 2.0**-64),
        )

    @property
    def complete(self) -> bool:
        """Whether every row is held."""
        return all(found.complete for found in self.classes.values())

    def _reach(self, more: Hashes | None = None) -> np.uint64:
        """Return the hash up to which rows are drawn without a look at the class."""
        none = np.empty(0, np.uint64)
        held = np.concatenate([none, *(found.hashes for found in self.classes.values())])
        if more is not None and len(held) + len(more) > self.size:
            held = np.unique(np.concatenate([held, more]))
        if len(held) <= self.size:
            return np.uint64(2**64 - 1)
        return np.uint64(np.partition(held, self.size - 1)[self.size - 1])

    def _trim(self) -> None:
        most = self._reach()
        for found in self.classes.values():
            found.trim(max(self.per_class, int((found.hashes <= most).sum())))


class PairSample:
    """Distinct pairs of either sign with their weights, and the fold of each (-1 for none)."""

    def __init__(self, width: int, size: int | None = None) -> None:
        self.width = width
        self.size = sample_size(width, 8192) if size is None else size
        # The fold travels as one more column.
        self.signs = {sign: HashSample(width + 1) for sign in (1, -1)}

    def add(self, hashes: Hashes, given: Pairs, folds: NDArray[np.int8]) -> None:
        """Take up pairs that weigh anything."""
        weights = np.ones(len(given)) if given.weights is None else given.weights
        for sign, found in self.signs.items():
            mine = np.flatnonzero((given.signs == sign) & (weights > 0))
            first, sums, everything = smallest_distinct(hashes[mine], weights[mine], self.size)
            kept = mine[first]

            def fetch(k: Any, at: NDArray[np.intp] = kept) -> Any:
                return np.column_stack([given.differences(at[k]), folds[at[k]]])

            total = float(weights[mine].sum())
            found.add(hashes[kept], fetch, self.size, sums, total, everything)

    def state(self) -> State:
        """Return all that it holds."""
        of_signs = {name: self.signs[sign].state() for name, sign in SIGNS}
        return {"width": self.width, "size": self.size} | joined(**of_signs)

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a sample that goes on from a ``state``, to the last bit."""
        sample = cls(int(state["width"]), int(state["size"]))
        sample.signs = {sign: HashSample.restored(part(state, name)) for name, sign in SIGNS}
        return sample

    def merged(self, other: Self) -> Self:
        """Return the sample of both; neither is changed."""
        both = type(self)(self.width, self.size)
        for one in (self, other):
            for sign, found in one.signs.items():
                rows = found.rows.__getitem__
                both.signs[sign].add(
                    found.hashes, rows, both.size, found.weights, found.total, found.complete
                )
        return both

    def read(self) -> tuple[Float64s, NDArray[np.int64], NDArray[np.int64], Float64s]:
        """Return differences, signs, folds and weights, those of a sign adding up to all seen."""
        rows, weights = [np.empty((0, self.width + 1))], [np.empty(0)]
        for found in self.signs.values():
            order = np.argsort(found.hashes)
            rows.append(found.rows[order])
            kept = found.weights[order]
            weights.append(kept if found.complete else kept * (found.total / kept.sum()))
        both = np.concatenate(rows)
        signs = np.repeat([1, -1], [len(found.rows) for found in self.signs.values()])
        folds = both[:, -1].astype(np.int64)
        return both[:, :-1], signs.astype(np.int64), folds, np.concatenate(weights)
