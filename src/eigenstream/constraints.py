"""Equivalence constraints: where pairs of the same and of different classes come from."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenstream._checks import check_finite, check_whole

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
    names = np.asarray(labels)
    if names.ndim != 1 or len(names) < 2:
        raise ValueError(f"labels must hold one label a row, of two rows at least; got {names!r}.")
    n_pairs = check_whole(n_pairs, "n_pairs")
    tasks = np.zeros(len(names), np.intp)
    if groups is not None:
        tasks = np.unique(np.asarray(groups), return_inverse=True)[1].ravel().astype(np.intp)
    if tasks.shape != names.shape:
        raise ValueError(f"groups must hold one task a row, {len(names)} in all.")
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
        self.near = tuple(check_whole(lag, "near") for lag in near)
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
        rows = np.asarray(chunk)
        if rows.ndim != 2:
            raise ValueError(f"a chunk must hold rows, shape (n, n_features), got {rows.shape}.")
        check_finite(rows, first_row=self._seen)
        if self._rows is not None and rows.shape[1] != self._rows.shape[1]:
            raise ValueError(
                f"a chunk has {rows.shape[1]} features, and the first one {self._rows.shape[1]}."
            )
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
