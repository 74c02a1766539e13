"""A bounded sample of distinct rows or pairs that no order, chunking or merging changes."""

from dataclasses import replace
from typing import Any

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream._storable import storable
from eigenstream.subspace.chunks import Chunk, joined
from eigenstream.subspace.terms import chunk_keys, mixed, pair_hashes, row_hashes

#: Values that a sample holds at most: 64 MB.
SAMPLE_VALUES = 1 << 23

#: Rows, or pairs of either sign, that a sample holds at most.
MOST_ROWS, MOST_PAIRS = 10_000, 8192


@storable(size="int", hashes="u8 h", kept="Chunk | None", total="number", complete="bool")
class Sample:
    """The distinct rows (or pairs of a sign) with the smallest hashes, with their total weights.

    ``total`` is the weight of all rows added, and ``complete`` says whether they are all held.
    """

    def __init__(self, n_features: int, most: int = MOST_ROWS) -> None:
        self.size = int(np.clip(SAMPLE_VALUES // max(n_features, 1), 256, most))
        self.hashes = np.empty(0, np.uint64)
        self.kept: Chunk | None = None
        self.total, self.complete = 0.0, True

    def add(self, chunk: Chunk) -> None:
        """Add the rows of positive weight."""
        heavy = chunk.heavy()
        if len(heavy) == 0:
            return
        hashes = hashes_of(heavy)
        self.total += float(heavy.each_weight().sum())
        if not self.complete and len(self.hashes) >= self.size:
            places = np.flatnonzero(hashes <= self.hashes[-1])
            heavy, hashes = heavy.chosen(places), hashes[places]
        self._take(hashes, heavy)

    def merge(self, later: "Sample") -> None:
        """Add what another sample holds."""
        self.total += later.total
        self.complete = self.complete and later.complete
        if later.kept is not None:
            self._take(later.hashes, later.kept)

    def _take(self, hashes: Any, rows: Chunk) -> None:
        hashes = np.concatenate([self.hashes, hashes])
        whole = rows if self.kept is None else joined([self.kept, rows])
        found, first, place = np.unique(hashes, return_index=True, return_inverse=True)
        weights = np.bincount(place, whole.each_weight(), len(found)).astype(np.float64)
        self.complete = self.complete and len(found) <= self.size
        some = whole.chosen(first[: self.size]).kept()
        self.kept = replace(some, weights=weights[: self.size])
        self.hashes = found[: self.size]

    @property
    def n_distinct(self) -> float:
        """About how many distinct rows have been added."""
        if self.complete:
            return float(len(self.hashes))
        return (len(self.hashes) - 1) / ((float(self.hashes[-1]) + 1.0) * 2.0**-64)


@storable(signs="dict[Sample]")
class PairSample:
    """A sample of the pairs of either sign."""

    def __init__(self, n_features: int, most: int = MOST_PAIRS) -> None:
        self.signs = {sign: Sample(n_features, most) for sign in (1, -1)}

    def add(self, chunk: Chunk) -> None:
        """Add the pairs of positive weight."""
        for sign, sample in self.signs.items():
            sample.add(chunk.chosen(np.flatnonzero(chunk.targets == sign)))

    def merge(self, later: "PairSample") -> None:
        """Add what another sample holds."""
        for sign, sample in self.signs.items():
            sample.merge(later.signs[sign])

    @property
    def kept(self) -> Chunk | None:
        """The pairs of both signs; the weights of each add up to that of all its pairs."""
        found = []
        for sample in self.signs.values():
            if sample.kept is not None:
                w = sample.kept.each_weight()
                found.append(replace(sample.kept, weights=w * (sample.total / w.sum())))
        return joined(found) if found else None


def hashes_of(chunk: Chunk) -> Any:
    """Return what the rows, with their classes, or the pairs are known by."""
    if chunk.pairs is not None:
        return pair_hashes(chunk)
    found = row_hashes(chunk.rows)
    if chunk.targets is None:
        return found
    keys, codes = chunk_keys(chunk)
    return mixed(found + _of_keys(keys)[codes])


def _of_keys(keys: list[Any]) -> Any:
    """Return a hash of each (task, label), the same in every process."""
    from zlib import crc32

    return np.array([crc32(repr(key).encode()) for key in keys], np.uint64)


__all__ = ["Float64s", "PairSample", "Sample", "hashes_of"]
