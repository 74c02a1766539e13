"""Pairs of the same and of different classes: drawn from labels, or from rows in time."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenstream._checks import (
    check_finite,
    check_flag,
    check_lags,
    check_names,
    check_number,
    check_whole,
    real_array,
)
from eigenstream._memory import check_fits

#: What drawing a pair takes at its height: two indices and a sign, several times over.
PAIR_BYTES = 100

#: Signed index pairs: shape (n, 2), and +1 or -1 for each.
IndexPairs = tuple[NDArray[np.intp], NDArray[np.int64]]


def sample_pairs(
    labels: ArrayLike,
    n_pairs: int,
    *,
    balanced: bool = True,
    groups: ArrayLike | None = None,
    random_state: Any = None,
) -> IndexPairs:
    """Draw pairs of labelled rows, independently ([HPCA] section 3).

    A task is drawn uniformly, then two different rows of it. Balanced, positive and negative pairs
    are one half each, either half drawn by the law above given its sign.

    Parameters
    ----------
    labels : array of shape (n,)
    n_pairs : int
    balanced : bool
    groups : array of shape (n,), optional
        The learning task of each row; by default there is one.
    random_state : int, generator or None

    Returns
    -------
    pairs : array of shape (n_pairs, 2)
        Indices of rows, for ``PairSubspace(preprocessor=X)``.
    y : array of shape (n_pairs,)
        +1 for the same label, -1 for different ones.

    Examples
    --------
    >>> pairs, y = sample_pairs(["a", "a", "b", "b", "c"], 6, random_state=0)
    >>> pairs.shape, sorted(y.tolist())
    ((6, 2), [-1, -1, -1, 1, 1, 1])
    """
    if np.ndim(labels) != 1 or np.size(labels) < 2:
        raise ValueError(f"labels must hold one label a row, of two rows at least; got {labels!r}.")
    names = check_names(labels, "labels", np.size(labels))
    n_pairs = check_whole(n_pairs, "n_pairs")
    check_fits(PAIR_BYTES * n_pairs, f"drawing n_pairs={n_pairs} pairs", "Draw fewer at a time.")
    tasks = np.zeros(len(names), np.intp)
    if groups is not None:
        of_rows = check_names(groups, "groups", len(names))
        tasks = np.unique(of_rows, return_inverse=True)[1].astype(np.intp)
    codes = np.unique(names, return_inverse=True)[1].ravel()
    _, codes = np.unique(tasks * (codes.max() + 1) + codes, return_inverse=True)
    drawing = _Drawing(codes.ravel(), tasks, np.random.default_rng(random_state))
    if not balanced:
        pairs = drawing.any(n_pairs)
        return pairs, np.where(codes[pairs[:, 0]] == codes[pairs[:, 1]], 1, -1)
    n_same = (n_pairs + 1) // 2
    pairs = np.concatenate([drawing.same(n_same), drawing.different(n_pairs - n_same)])
    signs = np.repeat([1, -1], [n_same, n_pairs - n_same])
    mixed = drawing.rng.permutation(n_pairs)  # any part of them holds both signs
    return pairs[mixed], signs[mixed]


class _Drawing:
    """Rows sorted by class, classes by task: pairs are drawn as places in that order."""

    def __init__(
        self, codes: NDArray[np.intp], tasks: NDArray[np.intp], rng: np.random.Generator
    ) -> None:
        self.rng = rng
        self.order = np.lexsort((codes, tasks)).astype(np.intp)
        self.sizes = np.bincount(codes)
        first_row = np.zeros(len(self.sizes), np.intp)
        first_row[codes[::-1]] = np.arange(len(codes))[::-1]
        self.task_of_class = tasks[first_row]
        self.task_sizes = np.bincount(tasks)
        sorted_codes, sorted_tasks = codes[self.order], tasks[self.order]
        self.class_start = np.searchsorted(
            sorted_tasks * len(self.sizes) + sorted_codes,
            self.task_of_class * len(self.sizes) + np.arange(len(self.sizes)),
        )
        self.task_start = np.searchsorted(sorted_tasks, np.arange(len(self.task_sizes)))

    def any(self, n: int) -> NDArray[np.intp]:
        able = np.flatnonzero(self.task_sizes >= 2)
        if len(able) == 0:
            raise ValueError("no group has two rows, so that there is no pair to draw.")
        task = self.rng.choice(able, n)
        return self._distinct(self.task_start[task], self.task_sizes[task])

    def same(self, n: int) -> NDArray[np.intp]:
        m, of_task = self.sizes.astype(float), self.task_sizes[self.task_of_class]
        # The chance of a class under a uniform task and two different rows of it.
        chance = m * (m - 1) / np.maximum(of_task * (of_task - 1.0), 1.0)
        if not chance.any():
            raise ValueError(
                "every class has a single row, so that no pair is of one class; use more rows, or "
                "balanced=False."
            )
        drawn = self.rng.choice(len(m), n, p=chance / chance.sum())
        return self._distinct(self.class_start[drawn], self.sizes[drawn])

    def different(self, n: int) -> NDArray[np.intp]:
        m, of_task = self.sizes.astype(float), self.task_sizes[self.task_of_class]
        chance = m * (of_task - m) / np.maximum(of_task * (of_task - 1.0), 1.0)
        if n and not chance.any():
            raise ValueError(
                "every task has a single class, so that no pair is of different ones; use rows of "
                "more classes, or balanced=False."
            )
        if n == 0:
            return np.empty((0, 2), np.intp)
        drawn = self.rng.choice(len(m), n, p=chance / chance.sum())
        first = self.class_start[drawn] + self._below(self.sizes[drawn])
        task = self.task_of_class[drawn]
        second = self.task_start[task] + self._below(self.task_sizes[task] - self.sizes[drawn])
        second += np.where(second >= self.class_start[drawn], self.sizes[drawn], 0)
        return self.order[np.column_stack([first, second])]

    def _distinct(self, start: NDArray[np.intp], size: NDArray[np.intp]) -> NDArray[np.intp]:
        first, second = self._below(size), self._below(size - 1)
        second += second >= first
        return self.order[np.column_stack([start + first, start + second])]

    def _below(self, sizes: NDArray[np.intp]) -> NDArray[np.intp]:
        return self.rng.integers(sizes).astype(np.intp)


class LabelledPairs:
    """Pairs from a stream of labelled rows, in bounded memory: new classes may come at any time.

    Each row is paired with rows up to ``memory`` steps back, and every pair inside that reach is as
    likely as any other of its sign: all pairs, or pairs inside tasks, as ``ClassSubspace`` takes
    them, but drawn. About ``per_row`` pairs a row are positive or negative, in the proportion in
    which the reach holds them; or, balanced, one for one: positive ones are drawn more often, by as
    much as they are rarer.

    Memory: the last ``memory`` rows. Any chunking of the stream gives the same pairs. A reach
    should hold several rows of every class: a stream sorted by class is shuffled first.

    Parameters
    ----------
    per_row : float
        The mean number of pairs that a row makes, of each sign if balanced and classes are many.
    memory : int
        The reach back, in rows.
    balanced : bool
    random_state : int, generator or None

    Examples
    --------
    >>> import numpy as np
    >>> stream = LabelledPairs(memory=50, random_state=0)
    >>> rows, labels = np.arange(400.0).reshape(-1, 1), np.tile([0, 1, 2, 3], 100)
    >>> pairs, y = stream.pairs(rows, labels)
    >>> bool(0.8 < (y > 0).sum() / (y < 0).sum() < 1.25)
    True
    >>> same = pairs[:, 0, 0] % 4 == pairs[:, 1, 0] % 4
    >>> bool((same == (y > 0)).all()), float((pairs[:, 0] - pairs[:, 1]).max()) <= 50
    (True, True)
    """

    def __init__(
        self,
        *,
        per_row: float = 1.0,
        memory: int = 2000,
        balanced: bool = True,
        random_state: Any = None,
    ) -> None:
        self.per_row = check_number(per_row, "per_row", above=0)
        self.memory = check_whole(memory, "memory")
        self.balanced = check_flag(balanced, "balanced")
        # How many pairs a row makes, and with whom: one stream of draws each, whatever the chunks.
        self._how_many, *self._whom = np.random.default_rng(random_state).spawn(3)
        self._rows: NDArray[Any] | None = None
        self._keys: tuple[dict[Hashable, int], dict[Hashable, int]] = ({}, {})
        self._codes = np.empty((0, 2), np.intp)
        #: Pairs inside the reach: of one class, and of one task.
        self._inside = np.zeros(2)
        self._seen = 0

    def pairs(
        self, chunk: ArrayLike, labels: ArrayLike, groups: ArrayLike | None = None
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the pairs that the next rows of the stream make, (n, 2, D), and their signs.

        Positive pairs come first; the newer member of a pair comes first.
        """
        rows = _checked_chunk(chunk, self._rows, self._seen)
        codes = self._coded(check_names(labels, "labels", len(rows)), groups)
        kept = rows[:0] if self._rows is None else self._rows
        both, codes = np.concatenate([kept, rows]), np.concatenate([self._codes, codes])
        n, old = len(both), len(kept)
        now = np.arange(old, n)
        low, next_low = (np.maximum(now + k - self.memory, 0) for k in (0, 1))
        reach, counts = [_Reach(codes[:, k]) for k in (0, 1)], []
        inside = np.empty((2, len(now)))
        for k, kind in enumerate(reach):
            counts.append(kind.count(now, low, now))
            # The row that falls out of reach takes its pairs along, and the new one brings its own.
            change = kind.count(now, next_low, now) - np.where(
                next_low > low, kind.count(low, low + 1, now), 0
            )
            inside[k] = self._inside[k] + np.cumsum(change) - change
            self._inside[k] += change.sum()
        n_same, n_different = counts[0], counts[1] - counts[0]
        width = (now - low).astype(np.float64)
        rate = self.per_row * width / np.maximum(2.0 * inside[1] + width, 1.0)
        rarer = np.ones(len(now))
        if self.balanced:
            rarer = 2.0 * (inside[1] - inside[0]) / np.maximum(2.0 * inside[0] + width, 1.0)
        draws = self._how_many.random((len(now), 2))
        first, lows = [], []
        for k, mean in enumerate((rate * rarer * n_same, rate * n_different)):
            some = np.floor(mean + draws[:, k]).astype(np.intp) * (mean > 0)
            first.append(np.repeat(now, some))
            lows.append(np.repeat(low, some))
        whom = [rng.random(len(ends)) for rng, ends in zip(self._whom, first, strict=True)]
        second = [
            reach[0].drawn(first[0], lows[0], whom[0]),
            reach[1].drawn_outside(reach[0], first[1], lows[1], whom[1]),
        ]
        found = np.stack([both[np.concatenate(ends)] for ends in (first, second)], axis=1)
        self._seen += len(rows)
        self._rows, self._codes = (values[-self.memory :].copy() for values in (both, codes))
        return found, np.repeat([1, -1], [len(ends) for ends in first])

    def _coded(self, names: NDArray[Any], groups: Any) -> NDArray[np.intp]:
        """Return the numbers of class and task of each row."""
        tasks: list[Any] = [None] * len(names)
        if groups is not None:
            tasks = check_names(groups, "groups", len(names)).tolist()
        classes, of_task = self._keys
        found = [
            (classes.setdefault(key, len(classes)), of_task.setdefault(key[0], len(of_task)))
            for key in zip(tasks, names.tolist(), strict=True)
        ]
        return np.array(found, dtype=np.intp).reshape(-1, 2)


class _Reach:
    """Rows sorted by kind, then by place: ranges of places are found by bisection."""

    def __init__(self, codes: NDArray[np.intp]) -> None:
        self.codes = codes
        self.unit = len(codes) + 1
        self.order = np.argsort(codes, kind="stable")
        self.keys = codes[self.order] * self.unit + self.order
        self.rank = np.empty(len(codes), np.intp)
        self.rank[self.order] = np.arange(len(codes))

    def first(self, rows: NDArray[np.intp], place: Any) -> NDArray[np.intp]:
        """Return the rank of the first row from that place on that is of the kind of each row."""
        return np.asarray(np.searchsorted(self.keys, self.codes[rows] * self.unit + place))

    def count(self, rows: NDArray[np.intp], low: Any, high: Any) -> NDArray[np.intp]:
        """Return how many rows at places from low up to high are of the kind of each row."""
        return np.asarray(self.first(rows, high) - self.first(rows, low), np.intp)

    def drawn(
        self, rows: NDArray[np.intp], low: NDArray[np.intp], draws: NDArray[np.float64]
    ) -> NDArray[np.intp]:
        """Return for each row one of its kind from place low on and before it."""
        count = self.count(rows, low, rows)
        return np.asarray(self.order[self.first(rows, low) + (draws * count).astype(np.intp)])

    def drawn_outside(
        self,
        part: "_Reach",
        rows: NDArray[np.intp],
        low: NDArray[np.intp],
        draws: NDArray[np.float64],
    ) -> NDArray[np.intp]:
        """Return for each row one of its kind, but not of its part, a finer kind."""
        start, mine = self.first(rows, low), part.first(rows, low)
        of_part = part.count(rows, low, rows)
        j = (draws * (self.count(rows, low, rows) - of_part)).astype(np.intp)
        # Among those of the part the number of others before them grows with their rank: bisect.
        others = self.rank[part.order] - np.arange(len(part.order)) + len(part.order)
        keys = part.codes[part.order] * (2 * part.unit) + others
        sought = part.codes[rows] * (2 * part.unit) + j + start - mine + len(part.order)
        before = np.clip(np.searchsorted(keys, sought, side="right") - mine, 0, of_part)
        return np.asarray(self.order[start + j + before])


class TemporalPairs:
    """Pairs from a stream: rows near in time count as the same, far ones as different.

    [HPCA] section 7 proposes this for learning from a continuous process without labels. Each row
    makes a positive pair with the rows ``near`` steps back and one negative pair for each of them,
    with rows drawn between ``far`` and ``memory`` steps back. How many of the negative pairs are of
    the same class by chance sets how large eta may be: it must stand above that share.

    Memory: the last ``memory`` rows. Any chunking of the stream gives the same pairs.

    Parameters
    ----------
    near : list of int
        Lags of positive pairs; none reaches into another sequence.
    far, memory : int
        Smallest and largest lag of negative pairs, across sequences, too.
    random_state : int, generator or None

    Examples
    --------
    >>> import numpy as np
    >>> stream = TemporalPairs(near=(1,), far=3, memory=5, random_state=0)
    >>> pairs, y = stream.pairs(np.arange(6.0).reshape(-1, 1))
    >>> pairs.shape, y.tolist()
    ((8, 2, 1), [1, 1, 1, 1, 1, -1, -1, -1])
    >>> (pairs[y > 0, 0] - pairs[y > 0, 1]).ravel()
    array([1., 1., 1., 1., 1.])
    """

    def __init__(
        self,
        near: Iterable[int] = (1, 2, 4, 8),
        *,
        far: int = 200,
        memory: int = 2000,
        random_state: Any = None,
    ) -> None:
        self.near = check_lags(near, "near")
        if not self.near:
            raise ValueError("near is empty: give the lags of positive pairs, such as (1, 2, 4).")
        self.far = check_whole(far, "far", least=max(self.near) + 1)
        self.memory = check_whole(memory, "memory", least=self.far)
        self._rng = np.random.default_rng(random_state)
        self._rows: NDArray[Any] | None = None
        self._seen = 0
        self._start = 0

    def pairs(
        self, chunk: ArrayLike, *, new_sequence: bool = False
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the pairs that the next rows of the stream make, (n, 2, D), and their signs.

        Positive pairs come first; the newer member of a pair comes first.
        """
        check_flag(new_sequence, "new_sequence")
        rows = _checked_chunk(chunk, self._rows, self._seen)
        if new_sequence:
            self._start = self._seen
        kept = rows[:0] if self._rows is None else self._rows
        both = np.concatenate([kept, rows])
        base = self._seen - len(kept)
        now = np.arange(self._seen, self._seen + len(rows))
        first, second = [], []
        for lag in self.near:
            inside = now[now - lag >= self._start]
            first.append(inside)
            second.append(inside - lag)
        # One draw a row and lag, in order, so that chunks make no difference.
        draws = self._rng.random((len(rows), len(self.near)))
        reach = np.minimum(self.memory, now) - self.far + 1
        distant = reach > 0
        for k in range(len(self.near)):
            lags = self.far + (draws[distant, k] * reach[distant]).astype(np.intp)
            first.append(now[distant])
            second.append(now[distant] - lags)
        n_same = sum(len(part) for part in first[: len(self.near)])
        newer, older = np.concatenate(first) - base, np.concatenate(second) - base
        found = np.stack([both[newer], both[older]], axis=1)
        self._seen += len(rows)
        self._rows = both[max(len(both) - self.memory, 0) :].copy()
        return found, np.repeat([1, -1], [n_same, len(newer) - n_same])


def _checked_chunk(chunk: ArrayLike, before: NDArray[Any] | None, first_row: int) -> NDArray[Any]:
    """Return the next rows of a stream as numbers."""
    rows = real_array(chunk, "a chunk")
    if rows.ndim != 2:
        raise ValueError(f"a chunk must hold rows, shape (n, n_features), got {rows.shape}.")
    if rows.dtype.kind != "f":
        rows = rows.astype(np.float64)  # differences of small whole numbers would wrap around
    check_finite(rows, first_row=first_row)
    if before is not None and rows.shape[1] != before.shape[1]:
        raise ValueError(f"a chunk has {rows.shape[1]} features, the first one {before.shape[1]}.")
    return rows
