"""Bounded samples of rows and pairs that do not depend on chunking, order or merging.

A row's hash decides whether it stays: the sample is the rows with the smallest hashes, so it is a
function of the set of rows seen. It holds every distinct row of a small data set.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import is_sparse
from eigenstream._linalg import Float64s
from eigenstream.estimators._pair_input import Pairs
from eigenstream.kernels.hashing import row_hashes as bit_hashes
from eigenstream.scatters.classes import Key, keys_of

Hashes = NDArray[np.uint64]

#: Values that a sample holds: 32 MB of float64.
SAMPLE_VALUES = 1 << 22

#: Rows hashed at a time.
HASHED_VALUES = 1 << 20


def sample_size(n_features: int, most: int) -> int:
    """Return how many rows a sample holds at most."""
    return int(np.clip(SAMPLE_VALUES // max(n_features, 1), 256, most))


def _multipliers(n: int) -> Hashes:
    draws = np.random.default_rng(20060).integers(0, 2**63, n, dtype=np.uint64)
    return draws * np.uint64(2) + np.uint64(1)


def _mixed(h: Hashes) -> Hashes:
    """Scramble the bits (the finalizer of splitmix64), so that the high ones depend on all."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def row_hashes(rows: Any) -> Hashes:
    """Return a hash of the values of each row, the same for float32 and float64."""
    n, width = rows.shape
    multipliers = _multipliers(width)
    out = np.empty(n, dtype=np.uint64)
    step = max(HASHED_VALUES // max(width, 1), 1)
    for start in range(0, n, step):
        block = rows[start : start + step]
        block = block.toarray() if is_sparse(block) else block
        values = np.ascontiguousarray(block, dtype=np.float64)
        bit_hashes(values.view(np.uint64), multipliers, out[start : start + step])
    return _mixed(out)


def pair_hashes(given: Pairs) -> Hashes:
    """Return a hash of each pair that does not depend on which member comes first.

    Explicit pairs are known by their difference, index pairs by their indices.
    """
    if given.index is not None:
        ends = np.sort(given.index, axis=1).astype(np.uint64)
        return _mixed(_mixed(ends[:, 0]) + ends[:, 1])
    out = np.empty(len(given), dtype=np.uint64)
    step = max(HASHED_VALUES // max(given.width, 1), 1)
    for start in range(0, len(given), step):
        part = slice(start, start + step)
        apart = given.differences(part)
        out[part] = np.minimum(row_hashes(apart), row_hashes(-apart))
    return out


def smallest_distinct(hashes: Hashes, size: int) -> NDArray[np.intp]:
    """Return where the ``size`` smallest distinct hashes first stand.

    >>> smallest_distinct(np.array([5, 3, 3, 1, 4], dtype=np.uint64), 3)
    array([3, 1, 4])
    """
    reach = 2 * size
    while True:
        near = np.arange(len(hashes))
        if reach < len(hashes):  # sort only what may be needed
            near = np.flatnonzero(hashes <= np.partition(hashes, reach)[reach])
        _, first = np.unique(hashes[near], return_index=True)
        if len(first) >= size or len(near) == len(hashes):
            return np.asarray(near[first[:size]], np.intp)
        reach *= 4


class HashSample:
    """The ``size`` distinct rows with the smallest hashes of those added, in no order."""

    def __init__(self, width: int) -> None:
        self.hashes: Hashes = np.empty(0, dtype=np.uint64)
        self.rows: Float64s = np.empty((0, width))
        self.seen = 0

    def add(self, hashes: Hashes, rows: Callable[[Any], Any], size: int, seen: int) -> None:
        """Take up distinct rows (``rows`` fetches them by number), the best of ``seen`` rows."""
        self.seen += seen
        self.trim(size)
        fresh = np.flatnonzero(~np.isin(hashes, self.hashes))
        both = np.concatenate([self.hashes, hashes[fresh]])
        have = len(self.hashes)
        if len(both) > size:
            staying = np.zeros(len(both), dtype=bool)
            staying[np.argpartition(both, size - 1)[:size]] = True
        else:
            staying = np.ones(len(both), dtype=bool)
        coming = fresh[staying[have:]]
        if len(coming) == 0:
            return
        found = rows(coming)
        found = np.asarray(found.toarray() if is_sparse(found) else found, np.float64)
        # Whoever comes takes the place of one who goes, so that a full sample is never copied.
        going = np.flatnonzero(~staying[:have])
        self.rows[going] = found[: len(going)]
        self.hashes[going] = hashes[coming[: len(going)]]
        if len(coming) > len(going):
            self.rows = np.concatenate([self.rows, found[len(going) :]])
            self.hashes = np.concatenate([self.hashes, hashes[coming[len(going) :]]])

    def trim(self, size: int) -> None:
        """Keep the ``size`` smallest hashes."""
        if len(self.hashes) > size:
            kept = np.argsort(self.hashes)[:size]
            self.hashes, self.rows = self.hashes[kept], self.rows[kept]

    def sorted(self, size: int) -> Float64s:
        """Return the rows by their hashes; a single one that was seen more often, twice."""
        rows = self.rows[np.argsort(self.hashes)[:size]]
        return np.repeat(rows, 2, axis=0) if len(rows) == 1 and self.seen > 1 else rows


class ClassSample:
    """Rows of every class, as many a class as the number of classes leaves room for."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.classes: dict[Key, HashSample] = {}

    @property
    def per_class(self) -> int:
        """How many rows of a class are held at most."""
        return max(sample_size(self.width, 4096) // max(len(self.classes), 1), 2)

    def add(self, rows: Any, labels: Any, groups: Any, weights: Any) -> None:
        """Take up labelled rows that weigh anything."""
        if weights is not None:
            kept = np.flatnonzero(weights > 0)
            rows, labels, weights = rows[kept], np.asarray(labels)[kept], weights[kept]
            groups = None if groups is None else np.asarray(groups)[kept]
        if rows.shape[0] == 0:
            return
        keys, codes = keys_of(labels, groups)
        for key in keys:
            self.classes.setdefault(key, HashSample(self.width))
        hashes, size = row_hashes(rows), self.per_class
        order = np.argsort(codes, kind="stable")
        edges = np.searchsorted(codes[order], np.arange(len(keys) + 1))
        rows = rows.tocsr() if is_sparse(rows) else rows
        for k, key in enumerate(keys):
            mine = order[edges[k] : edges[k + 1]]
            # Weights count as repetitions.
            seen = len(mine) if weights is None else int(np.ceil(weights[mine].sum()))
            kept = mine[smallest_distinct(hashes[mine], size)]

            def fetch(k: Any, at: NDArray[np.intp] = kept) -> Any:
                return rows[at[k]]

            self.classes[key].add(hashes[kept], fetch, size, seen)
        for found in self.classes.values():
            found.trim(size)

    def merged(self, other: Self) -> Self:
        """Return the sample of both; neither is changed."""
        both = type(self)(self.width)
        both.classes = {key: HashSample(self.width) for key in (*self.classes, *other.classes)}
        for part in (self, other):
            for key, found in part.classes.items():
                both.classes[key].add(
                    found.hashes, found.rows.__getitem__, both.per_class, found.seen
                )
        return both

    def read(self) -> tuple[Float64s, list[Key]]:
        """Return the rows and the class of each, classes in the order they are asked for."""
        size = self.per_class
        parts = {key: found.sorted(size) for key, found in self.classes.items()}
        rows = np.concatenate([*parts.values(), np.empty((0, self.width))])
        return rows, [key for key, part in parts.items() for _ in range(len(part))]


class PairSample:
    """Differences of pairs of either sign, and the fold that each belongs to (-1 for none)."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.size = sample_size(width, 8192)
        # The fold travels as one more column.
        self.signs = {sign: HashSample(width + 1) for sign in (1, -1)}

    def add(self, hashes: Hashes, given: Pairs, folds: NDArray[np.int8]) -> None:
        """Take up pairs that weigh anything."""
        weighs = np.ones(len(given), dtype=bool) if given.weights is None else given.weights > 0
        for sign, found in self.signs.items():
            mine = np.flatnonzero((given.signs == sign) & weighs)
            kept = mine[smallest_distinct(hashes[mine], self.size)]

            def fetch(k: Any, at: NDArray[np.intp] = kept) -> Any:
                return np.column_stack([given.differences(at[k]), folds[at[k]]])

            found.add(hashes[kept], fetch, self.size, len(mine))

    def merged(self, other: Self) -> Self:
        """Return the sample of both; neither is changed."""
        both = type(self)(self.width)
        for part in (self, other):
            for sign, found in part.signs.items():
                both.signs[sign].add(found.hashes, found.rows.__getitem__, both.size, found.seen)
        return both

    def read(self) -> tuple[Float64s, NDArray[np.int64], NDArray[np.int64]]:
        """Return differences, signs and folds."""
        ordered = [found.rows[np.argsort(found.hashes)] for found in self.signs.values()]
        rows = np.concatenate(ordered)
        signs = np.repeat([1, -1], [len(found.rows) for found in self.signs.values()])
        return rows[:, :-1], signs.astype(np.int64), rows[:, -1].astype(np.int64)
