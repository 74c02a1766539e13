"""The terms of T for pairs and for labelled rows, and bounded samples to count errors on.

A sample does not depend on the order, the chunking or the merging of the rows.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from eigenstream.core.checks import is_sparse
from eigenstream.core.device import on_host
from eigenstream.core.linalg import Float64s, row_squares
from eigenstream.core.storable import storable
from eigenstream.core.types import Matrix
from eigenstream.evaluation.base import BLOCK_VALUES
from eigenstream.rows.chunk import Chunk, Places, joined
from eigenstream.subspace.sums.block import Block, Center, Part, Runs, Shares, mean_of
from eigenstream.subspace.sums.terms import NOTHING, Parts, Sides, Terms, Weights

#: The task and the label of a class.
ClassKey = tuple[Hashable, Hashable]


def chunk_keys(chunk: Chunk) -> tuple[list[ClassKey], Places]:
    """Return the (task, label) classes of a chunk, and the index of each row's class.

    Targets are labels of shape (n,), or labels and tasks of shape (n, 2).
    """
    targets = np.asarray(chunk.labels)
    if targets.ndim == 1:
        names, codes = np.unique(targets, return_inverse=True)
        return [(None, name) for name in names.tolist()], codes.astype(np.intp)
    labels, of_label = np.unique(targets[:, 0].tolist(), return_inverse=True)
    tasks, of_task = np.unique(targets[:, 1].tolist(), return_inverse=True)
    numbers, codes = np.unique(of_task * len(labels) + of_label, return_inverse=True)
    names, task_names = labels.tolist(), tasks.tolist()
    keys = [(task_names[k // len(names)], names[k % len(names)]) for k in numbers.tolist()]
    return keys, codes.astype(np.intp)


@storable(weights="dict[number]", longest="number")
class PairTerms(Terms):
    """Terms of pairs: negative pairs (sign -1) are rewarded, positive pairs (+1) penalised."""

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self.weights = {-1: 0.0, 1: 0.0}
        #: An upper bound on the distance within a pair, exact for pairs given side by side.
        self.longest = 0.0

    def _loaded(self) -> None:
        if self.weights.keys() != {-1, 1}:
            raise ValueError("the terms have other pairs than same and different ones.")

    def _take(self, chunk: Chunk) -> Block:
        assert chunk.pairs is not None
        assert chunk.labels is not None
        self.longest = max(self.longest, _longest(chunk))
        block = Block(self.n_features, chunk.rows)
        for sign in self.weights:
            chosen = np.flatnonzero(chunk.labels == sign)
            if len(chosen) == 0:
                continue
            w = None if chunk.weights is None else chunk.weights[chosen]
            first, second = chunk.pairs[chosen].T
            block.add(sign, (0, first), (0, second), w)
            self.weights[sign] += float(len(chosen) if w is None else w.sum())
        return block

    def _join(self, later: "PairTerms", new_sequence: bool) -> Block:
        self.weights = {part: w + later.weights[part] for part, w in self.weights.items()}
        self.longest = max(self.longest, later.longest)
        return Block(self.n_features)

    def forget(self, share: float) -> None:
        """Multiply the weights of all terms so far by a share."""
        self.weights = {part: share * weight for part, weight in self.weights.items()}

    def totals(self, held_out: Parts = NOTHING) -> Weights:
        """Return the weights of the rewarded and of the penalised terms."""
        return self.weights[-1], self.weights[1]

    def shares(self, weights: Weights, held_out: Parts = NOTHING) -> Shares:
        """Return the share of each part in T."""
        reward, penalty = self._each(weights, held_out)
        return {-1: reward, 1: -penalty}

    def with_final_means(self) -> "PairTerms":
        """Return an object that makes the same terms in a further pass."""
        return PairTerms(self.n_features)


def _longest(chunk: Chunk) -> float:
    """Return an upper bound on the distance of the members of a pair."""
    weighted = chunk.of_positive_weight()
    rows, pairs = weighted.rows, weighted.pairs
    if len(weighted) == 0:
        return 0.0
    if 2 * len(weighted) <= rows.shape[0]:
        differences = rows[pairs[:, 0]] - rows[pairs[:, 1]]  # type: ignore[index]
        return float(np.sqrt(row_squares(differences).max()))
    # There are fewer rows than pairs: bound the distance by twice the radius of the rows.
    mean = mean_of(rows, None)
    squares = row_squares(rows) - 2.0 * (rows @ mean) + mean @ mean
    return 2.0 * float(np.sqrt(squares.max()))


#: The part of the terms between class means, with one part for each task.
BETWEEN = "between means"


@storable(centers="dict[Center]")
class ClassTerms(Terms):
    """Terms of labelled rows, for all implied pairs, in time linear in the number of rows.

    A class is a (task, label) pair, and pairs are formed within tasks. Let S_c be the scatter of
    class c about its mean, and m_c its weight. The sum over pairs of the same class is
    ``sum_c m_c S_c``. Let d_c be the mean of the class minus that of its task, and M the weight of
    the task. The sum over pairs of different classes is
    ``sum_c (M - m_c) S_c + M sum_c m_c d_c d_c^T``.

    Each class is therefore a part. The numbers of rows enter only the shares, and held-out classes
    are another set of shares. Every task has the same weight, as in [HPCA].
    """

    closes = True

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self.centers: dict[ClassKey, Center] = {}

    def _loaded(self) -> None:
        keys: list[Any] = [*self.centers]
        if not all(isinstance(key, tuple) and len(key) == 2 for key in keys):
            raise ValueError("the terms have classes that are no pairs of a task and a class.")

    def _take(self, chunk: Chunk) -> Block:
        keys, codes = chunk_keys(chunk)
        order = np.argsort(codes, kind="stable")
        edges = np.searchsorted(codes[order], np.arange(len(keys) + 1))
        block = Block(self.n_features, chunk.rows if len(keys) == 1 else chunk.rows[order])
        weights = None if chunk.weights is None else chunk.weights[order]
        for k, (key, center) in enumerate(zip(keys, self._centers_of(keys), strict=True)):
            first, last = int(edges[k]), int(edges[k + 1])
            places = Runs(np.arange(first, last), [slice(first, last)])
            w = None if weights is None else weights[first:last]
            center.add(block, key, (0, places), w, last - first)
        return block

    def _join(self, later: "ClassTerms", new_sequence: bool) -> Block:
        block = Block(self.n_features)
        keys = [*later.centers]
        for task, label in keys[:1]:
            self.check_kinds(label, task)
        for key, center in zip(keys, self._centers_of(keys), strict=True):
            center.join(block, key, later.centers[key])
        return block

    def check_kinds(self, label: object, task: object = None) -> None:
        """Raise if labels or tasks change from text to numbers, or from numbers to text."""
        for earlier_task, earlier_label in [*self.centers][:1]:
            now, before = (
                ["text" if isinstance(key, str) else "numbers" for key in names if key is not None]
                for names in ((label, task), (earlier_label, earlier_task))
            )
            if now != before:
                raise ValueError(
                    f"y and groups contain {now}, but earlier rows had {before}. Use one kind of "
                    "label in all calls."
                )

    def _centers_of(self, keys: Sequence[ClassKey]) -> list[Center]:
        """Return the centers of classes, which are new for new classes."""
        for key in keys:
            if key not in self.centers:
                self.centers[key] = Center(np.zeros(self.n_features))
        return [*map(self.centers.__getitem__, keys)]

    def _tasks(self, held_out: Parts) -> dict[Hashable, dict[ClassKey, float]]:
        """Return the weights of the classes of each task."""
        tasks: dict[Hashable, dict[ClassKey, float]] = {}
        for key, center in self.centers.items():
            if key not in held_out and center.weight > 0.0:
                tasks.setdefault(key[0], {})[key] = center.weight
        return tasks

    def _pairs(self, held_out: Parts) -> tuple[list[tuple[dict[ClassKey, float], float]], Weights]:
        """Return the weights of the classes and of a pair of each task, and of both kinds of pairs.

        All tasks have equal weights, which sum to the number of all pairs.
        """
        counts, total, n_able = [], 0.0, 0
        for sizes in self._tasks(held_out).values():
            m = np.array([*sizes.values()])
            like = float(np.maximum(m * (m - 1.0), 0.0).sum()) / 2.0
            unlike = max(float(m.sum() ** 2 - (m**2).sum()) / 2.0, 0.0)
            counts.append((sizes, unlike, like))
            total, n_able = total + unlike + like, n_able + (unlike + like > 0.0)
        pairs, reward, penalty = [], 0.0, 0.0
        for sizes, unlike, like in counts:
            each = total / n_able / (unlike + like) if unlike + like > 0.0 else 0.0
            pairs.append((sizes, each))
            reward, penalty = reward + each * unlike, penalty + each * like
        return pairs, (reward, penalty)

    def forget(self, share: float) -> None:
        """Multiply the weight of everything seen by this share."""
        for center in self.centers.values():
            center.weight *= share

    def totals(self, held_out: Parts = NOTHING) -> Weights:
        """Return the weights of the rewarded and of the penalised terms."""
        return self._pairs(held_out)[1]

    def shares(self, weights: Weights, held_out: Parts = NOTHING) -> Shares:
        """Return the share of each part in T."""
        pairs, totals = self._pairs(held_out)
        shares: dict[Part, float] = {}
        reward, penalty = weights[0] / (totals[0] or 1.0), weights[1] / (totals[1] or 1.0)
        for sizes, each in pairs:
            total = sum(sizes.values())
            for key, size in sizes.items():
                # A class of weight 1 or less has no pairs.
                shares[key] = each * (reward * (total - size) - penalty * size * (size > 1.0))
            shares[BETWEEN, key[0]] = each * reward * total
        return shares

    def sides(self, held_out: Parts = NOTHING) -> Sides:
        """Return the shares of the parts in the covariances between and within classes.

        All tasks have the same weight.
        """
        between: dict[Part, float] = {}
        within: dict[Part, float] = {}
        impurity = degrees = n = 0.0
        for task, sizes in self._tasks(held_out).items():
            m = np.array([*sizes.values()])
            total = float(m.sum())
            between[BETWEEN, task] = 1.0 / total
            # A class of weight 1 or less has no pairs.
            within |= {key: (size > 1.0) / total for key, size in sizes.items()}
            impurity += 1.0 - float(m @ m) / total**2
            degrees += float(np.maximum(m - 1.0, 0.0).sum()) / total
            n += total
        units = (between, impurity or 1.0), (within, degrees or 1.0)
        return [({part: w / unit for part, w in side.items()}, n) for side, unit in units]

    def along(self, basis: Float64s) -> "ClassTerms":
        """Return the state in coordinates along orthonormal columns."""
        inside = super().along(basis)
        inside.centers = {
            key: Center(center.mean @ basis, center.weight) for key, center in self.centers.items()
        }
        return inside

    def closing(self, held_out: Parts = NOTHING) -> Block:
        """Return the terms between the class means and the means of their tasks."""
        block = Block(self.n_features)
        for task, sizes in self._tasks(held_out).items():
            means = np.array([self.centers[key].mean for key in sizes])
            weights = np.array([*sizes.values()])
            block.pieces.append(means)
            now = len(block.pieces) - 1, np.arange(len(means))
            middle = block.row(weights @ means / weights.sum())
            block.add((BETWEEN, task), now, middle, weights)
        return block

    def with_final_means(self) -> "ClassTerms":
        """Return an object that makes the same terms in a further pass."""
        again = ClassTerms(self.n_features)
        again.centers = {c: Center(center.mean, fixed=True) for c, center in self.centers.items()}
        return again

    @property
    def mean(self) -> Float64s:
        """The mean of the rows."""
        sums, total = np.zeros(self.n_features), 0.0
        for center in self.centers.values():
            if center.weight > 0.0:
                sums, total = sums + center.weight * center.mean, total + center.weight
        return sums / (total or 1.0)


# ---- samples -------------------------------------------------------------------------------

#: The largest number of values in a sample (64 MB). More take memory and reduce sampling errors.
SAMPLE_VALUES = 1 << 23

#: The largest numbers of rows, and of pairs of each sign, in a sample.
MOST_ROWS, MOST_PAIRS = 10_000, 8192


@storable(
    size="int",
    hashes="u8 h",
    chunk="Chunk | None",
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
        rows = chunk.of_positive_weight()
        if len(rows) == 0:
            return
        weights = rows.each_weight()
        rows = replace(rows, rows=on_host(rows.rows), weights=weights)
        hashes = hashes_of(rows)
        self.total += float(weights.sum())
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
        weights = np.bincount(place, rows.weights, len(distinct)).astype(np.float64)
        self.complete = self.complete and len(distinct) <= self.size
        taken = replace(rows.chosen(first[: self.size]), weights=weights[: self.size])
        self.chunk = taken if taken.pairs is None else taken.copied()
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
            sample.add(chunk.chosen(np.flatnonzero(chunk.labels == sign)))

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
    if chunk.labels is None:
        return hashes
    keys, codes = chunk_keys(chunk)
    of_keys = np.array([crc32(repr(key).encode()) for key in keys], np.uint64)
    return scrambled(hashes + of_keys[codes])


def row_hashes(rows: Matrix) -> NDArray[np.uint64]:
    """Return a hash of the values of each row, rounded to 23 significant bits.

    The rounding is needed because the last bits of a feature map may depend on the chunk size.
    """
    n, width = rows.shape
    odd = np.random.default_rng(20060).integers(0, 2**63, width, np.uint64) * 2 + 1
    sums, step = np.empty(n, np.uint64), max(BLOCK_VALUES // width, 1)
    for first in range(0, n, step):
        part = rows[first : first + step]
        part = part.toarray() if is_sparse(part) else part
        bits = np.ascontiguousarray(part + 0.0, np.float64).view(np.uint64)
        bits = (bits + np.uint64(1 << 28)) >> np.uint64(29)
        (bits * odd).sum(axis=1, dtype=np.uint64, out=sums[first : first + step])
    return scrambled(sums)


def pair_hashes(chunk: Chunk) -> NDArray[np.uint64]:
    """Return a hash of the values of each pair, which does not depend on the order in it."""
    assert chunk.pairs is not None
    hashes = row_hashes(chunk.rows)[chunk.pairs]
    return scrambled(hashes[:, 0] + hashes[:, 1])


def scrambled(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return hashes in which each bit depends on all input bits (splitmix64)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        h = (h ^ (h >> np.uint64(shift))) * np.uint64(factor)
    return h
