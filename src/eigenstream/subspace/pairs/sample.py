"""Bounded samples of rows and pairs, on which errors are counted.

A sample does not depend on the order, the chunking or the merging of the rows.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import sqrt
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from eigenstream.core.device import on_host
from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable
from eigenstream.core.types import Array, Matrix
from eigenstream.evaluation.base import BLOCK_VALUES, PairCounts, counts_of_pairs, distances_of
from eigenstream.evaluation.pair_risk import TrainingRows
from eigenstream.rows.chunk import Chunk, joined
from eigenstream.subspace.pairs.terms import chunk_keys

#: The largest number of values in a sample (64 MB). More take memory and reduce sampling errors.
SAMPLE_VALUES = 1 << 23

#: The largest numbers of rows, and of pairs of each sign, in a sample.
MOST_ROWS, MOST_PAIRS = 10_000, 8192

#: A map of rows to the features whose distances count.
Project = Callable[[Matrix], Float64s]


@storable(
    size="int",
    hashes="u8 h",
    chunk="Chunk | None",
    kept="=chunk",
    total="number",
    complete="bool",
)
class Sample:
    """The distinct rows (or pairs of one sign) with the smallest hashes, and their weights.

    ``total`` is the weight of all added rows. ``complete`` is True while the sample holds them all.
    """

    def __init__(self, n_features: int, most: int = MOST_ROWS) -> None:
        self.size = int(np.clip(SAMPLE_VALUES // max(n_features, 1), 256, most))
        self.hashes = np.empty(0, np.uint64)
        self.chunk: Chunk | None = None
        self.total, self.complete = 0.0, True

    def add(self, chunk: Chunk) -> None:
        """Add the rows of positive weight."""
        rows = chunk.heavy()
        if len(rows) == 0:
            return
        rows = replace(rows, rows=on_host(rows.rows))
        hashes = hashes_of(rows)
        self.total += float(rows.each_weight().sum())
        if not self.complete and len(self.hashes) >= self.size:
            places = np.flatnonzero(hashes <= self.hashes[-1])
            rows, hashes = rows.chosen(places), hashes[places]
        self._take(hashes, rows)

    def merge(self, later: "Sample") -> None:
        """Add the rows of another sample."""
        self.total += later.total
        self.complete = self.complete and later.complete
        if later.chunk is not None:
            self._take(later.hashes, later.chunk)

    def _take(self, hashes: NDArray[np.uint64], rows: Chunk) -> None:
        hashes = np.concatenate([self.hashes, hashes])
        rows = rows if self.chunk is None else joined([self.chunk, rows])
        distinct, first, place = np.unique(hashes, return_index=True, return_inverse=True)
        weights = np.bincount(place, rows.each_weight(), len(distinct)).astype(np.float64)
        self.complete = self.complete and len(distinct) <= self.size
        taken = rows.chosen(first[: self.size]).kept()
        self.chunk = replace(taken, weights=weights[: self.size])
        self.hashes = distinct[: self.size]

    @property
    def n_distinct(self) -> float:
        """The estimated number of distinct rows added."""
        if self.complete:
            return float(len(self.hashes))
        return (len(self.hashes) - 1) / ((float(self.hashes[-1]) + 1.0) * 2.0**-64)


@storable(signs="dict[Sample]")
class PairSample:
    """One sample of pairs for each sign."""

    def __init__(self, n_features: int, most: int = MOST_PAIRS) -> None:
        self.signs = {sign: Sample(n_features, most) for sign in (1, -1)}

    def add(self, chunk: Chunk) -> None:
        """Add the pairs of positive weight."""
        for sign, sample in self.signs.items():
            sample.add(chunk.chosen(np.flatnonzero(chunk.targets == sign)))

    def merge(self, later: "PairSample") -> None:
        """Add the pairs of another sample."""
        for sign, sample in self.signs.items():
            sample.merge(later.signs[sign])

    @property
    def chunk(self) -> Chunk | None:
        """The sampled pairs, weighted to the total weight of all pairs of their sign."""
        parts = []
        for sample in self.signs.values():
            if sample.chunk is not None:
                w = sample.chunk.each_weight()
                parts.append(replace(sample.chunk, weights=w * (sample.total / w.sum())))
        return joined(parts) if parts else None


def hashes_of(chunk: Chunk) -> NDArray[np.uint64]:
    """Return a hash of each pair, or of each row and its class."""
    if chunk.pairs is not None:
        return pair_hashes(chunk)
    hashes = row_hashes(chunk.rows)
    if chunk.targets is None:
        return hashes
    keys, codes = chunk_keys(chunk)
    of_keys = np.array([crc32(repr(key).encode()) for key in keys], np.uint64)
    return mixed(hashes + of_keys[codes])


def row_hashes(rows: Matrix) -> NDArray[np.uint64]:
    """Return a hash of the values of each row, rounded to 23 significant bits.

    The rounding is needed because the last bits of a feature map may depend on the chunk size.
    """
    n, width = rows.shape
    odd = np.random.default_rng(20060).integers(0, 2**63, width, np.uint64) * 2 + 1
    sums, step = np.empty(n, np.uint64), max(BLOCK_VALUES // width, 1)
    for first in range(0, n, step):
        part = rows[first : first + step]
        part = part.toarray() if hasattr(part, "toarray") else part
        bits = np.ascontiguousarray(part + 0.0, np.float64).view(np.uint64)
        bits = (bits + np.uint64(1 << 28)) >> np.uint64(29)
        (bits * odd).sum(axis=1, dtype=np.uint64, out=sums[first : first + step])
    return mixed(sums)


def pair_hashes(chunk: Chunk) -> NDArray[np.uint64]:
    """Return a hash of the values of each pair, which does not depend on the order in it."""
    assert chunk.pairs is not None
    hashes = row_hashes(chunk.rows)[chunk.pairs]
    return mixed(hashes[:, 0] + hashes[:, 1])


def mixed(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return hashes in which each bit depends on all input bits (splitmix64)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        h = (h ^ (h >> np.uint64(shift))) * np.uint64(factor)
    return h


# ---- training pairs by learned distance --------------------------------------------------------


@storable(counts="PairCounts", numbers="tuple[number]")
@dataclass(frozen=True)
class TrainingPairs:
    """All training pairs or a sample of them, counted by distance.

    ``numbers`` are the effective numbers of independent positive and negative pairs.
    """

    counts: PairCounts
    numbers: tuple[float, float]

    @classmethod
    def of_all(cls, chunks: Iterable[Chunk], project: Project) -> "TrainingPairs":
        """Return all pairs of chunks after projection, where equal pairs count as one."""
        parts = [
            (lengths_of(c, project), c.targets, c.each_weight(), pair_hashes(c)) for c in chunks
        ]
        lengths, signs, weights, hashes = map(np.concatenate, zip(*parts, strict=True))
        return cls(counts_of_pairs(lengths, signs, weights), numbers_of(hashes, signs, weights))

    @classmethod
    def of_sample(cls, sample: PairSample, project: Project) -> "TrainingPairs":
        """Return the pairs of a sample after projection."""
        pairs = sample.chunk
        assert pairs is not None
        lengths, signs, weights = lengths_of(pairs, project), pairs.targets, pairs.each_weight()
        numbers = [_effective(weights[signs == sign]) for sign in (1, -1)]
        return cls(counts_of_pairs(lengths, signs, weights), (numbers[0], numbers[1]))


def training_rows(sample: Sample, project: Project) -> TrainingRows:
    """Return the labelled rows of a sample after projection."""
    rows = sample.chunk
    assert rows is not None
    keys, codes = chunk_keys(rows)
    numbers: dict[object, int] = {}
    tasks = np.array([numbers.setdefault(key[0], len(numbers)) for key in keys], np.intp)
    Z = project(rows.rows)
    weights = rows.each_weight()
    distinct, complete = sample.n_distinct, sample.complete
    return TrainingRows(Z, codes, tasks[codes], weights, sample.total, complete, distinct)


def lengths_of(chunk: Chunk, project: Project) -> Float64s:
    """Return the distance of the members of each pair after projection."""
    assert chunk.pairs is not None
    return distances_of(project(chunk.rows), chunk.pairs)


def numbers_of(hashes: NDArray[np.uint64], signs: Array, weights: Float64s) -> tuple[float, float]:
    """Return the effective numbers of positive and of negative pairs; equal pairs count once."""
    numbers = []
    for sign in (1, -1):
        chosen = (signs == sign) & (weights > 0)
        _, place = np.unique(hashes[chosen], return_inverse=True)
        sums = np.bincount(place, weights[chosen]).astype(np.float64)
        numbers.append(_effective(sums))
    return numbers[0], numbers[1]


def all_alike(weights: Float64s, total: float, n_distinct: float) -> float | None:
    """Return the number of rows sampled from, or None if their weights differ."""
    n = total / float(weights[0])
    # If rows outside the sample are repeated, there are fewer distinct rows than n.
    spread = 5.0 / sqrt(len(weights))
    if np.ptp(weights) <= 1e-12 * weights[0] and n_distinct >= n * (1.0 - spread):
        return n
    return None


def _effective(weights: Float64s) -> float:
    """Return the number of equally weighted pairs with the same precision.

    Weighted pairs count as (sum w)^2 / (sum w^2) independent ones. For weights p that sum to 1,
    McDiarmid's inequality and the Rademacher average have sum p^2 in place of 1 / m.
    """
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0
