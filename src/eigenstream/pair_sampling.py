"""Pairs of the same and of different classes, drawn from labels or from rows in time."""

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
from eigenstream._machine import check_fits
from eigenstream._types import Array, RandomState
from eigenstream.kernels.pairs import nth_alike, window_counts

__all__ = ["LabelledPairs", "TemporalPairs", "sample_pairs"]


#: Peak memory of a pair: several copies of two indices and a sign.
PAIR_BYTES = 100

#: Signed index pairs: shape (n, 2), and +1 or -1 for each.
IndexPairs = tuple[NDArray[np.intp], NDArray[np.int64]]


def sample_pairs(
    labels: ArrayLike,
    n_pairs: int,
    *,
    balanced: bool = True,
    groups: ArrayLike | None = None,
    random_state: RandomState = None,
) -> IndexPairs:
    """Draw independent pairs of labelled rows.

    Each draw takes a uniform random task and then two different rows of that task ([1]_ section
    3).

    Parameters
    ----------
    labels : array-like of shape (n,)
        The class of each row.
    n_pairs : int
        The number of pairs.
    balanced : bool, default=True
        Draw half of the pairs from the same class and half from different classes.
    groups : array-like of shape (n,), default=None
        The learning task of each row. By default, all rows belong to one task.
    random_state : int, generator or None, default=None
        The seed of the draws.

    Returns
    -------
    pairs : array of shape (n_pairs, 2)
        Indices of rows, for ``PairSubspace(preprocessor=X)``.
    y : array of shape (n_pairs,)
        +1 for the same label, -1 for different labels.

    See Also
    --------
    LabelledPairs : Pairs from a stream of labelled rows.

    References
    ----------
    .. [1] A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", Subspace,
           Latent Structure and Feature Selection, 2006.

    Examples
    --------
    >>> pairs, y = sample_pairs(["a", "a", "b", "b", "c"], 6, random_state=0)
    >>> pairs.shape, sorted(y.tolist())
    ((6, 2), [-1, -1, -1, 1, 1, 1])
    """
    if np.ndim(labels) != 1 or np.size(labels) < 2:
        raise ValueError(f"labels={labels!r} is not a list of labels. Pass at least two labels.")
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
    kinds = drawing.of_kind(n_same, True), drawing.of_kind(n_pairs - n_same, False)
    signs = np.repeat([1, -1], [n_same, n_pairs - n_same])
    mixed = drawing.rng.permutation(n_pairs)  # any slice holds both signs
    return np.concatenate(kinds)[mixed], signs[mixed]


class _Drawing:
    """Rows in the order of tasks and classes; pairs are drawn as positions in that order."""

    def __init__(
        self, codes: NDArray[np.intp], tasks: NDArray[np.intp], rng: np.random.Generator
    ) -> None:
        self.rng = rng
        self.order = np.argsort(codes, kind="stable")
        self.sizes, self.task_sizes = np.bincount(codes), np.bincount(tasks)
        self.class_start = np.cumsum(self.sizes) - self.sizes
        self.task_start = np.cumsum(self.task_sizes) - self.task_sizes
        self.task_of_class = tasks[self.order[self.class_start]]

    def any(self, n: int) -> NDArray[np.intp]:
        """Return pairs of two rows of a task."""
        able = np.flatnonzero(self.task_sizes >= 2)
        if len(able) == 0:
            raise ValueError("No group has two rows. Pass larger groups.")
        task = self.rng.choice(able, n)
        start, size = self.task_start[task], self.task_sizes[task]
        first = start + self.rng.integers(size)
        return self._paired(first, start, size, first, 1)

    def of_kind(self, n: int, same: bool) -> NDArray[np.intp]:
        """Return pairs of the same or of different classes of a task."""
        if n == 0:
            return np.empty((0, 2), np.intp)
        of_task = self.task_sizes[self.task_of_class]
        # The probability of a class for a uniform task and two different rows of it.
        chance = self.sizes * (self.sizes - 1.0 if same else of_task - self.sizes)
        chance = chance / np.maximum(of_task * (of_task - 1.0), 1.0)
        if not chance.any():
            lacks = "two rows of a class" if same else "two classes"
            raise ValueError(f"No group has {lacks}. Use more rows or balanced=False.")
        drawn = self.rng.choice(len(chance), n, p=chance / chance.sum())
        start, size, task = self.class_start[drawn], self.sizes[drawn], self.task_of_class[drawn]
        first = start + self.rng.integers(size)
        if same:
            return self._paired(first, start, size, first, 1)
        return self._paired(first, self.task_start[task], self.task_sizes[task], start, size)

    def _paired(self, first: Any, start: Any, size: Any, gap: Any, width: Any) -> NDArray[np.intp]:
        """Return pairs of rows; the second is one of ``size`` rows, but not in the gap."""
        second = start + self.rng.integers(size - width)
        second += np.where(second >= gap, width, 0)
        return np.asarray(self.order[np.column_stack([first, second])])


class LabelledPairs:
    """Pairs from a stream of labelled rows, in bounded memory.

    Each row is paired with random rows up to ``memory`` steps back. Pairs of the same sign inside
    that window are equally likely. With groups, both rows of a pair belong to one group.
    Unbalanced pairs keep the proportion of the signs in the window. Balanced pairs have each sign
    equally often on average. New classes may appear at any time.

    Only the last ``memory`` rows are stored. Any chunking of the stream gives the same pairs. The
    window should hold several rows of every class, so shuffle a stream that is sorted by class.

    Parameters
    ----------
    per_row : float, default=1.0
        The mean number of pairs per row. For balanced pairs with many classes, the mean number of
        pairs of each sign.
    memory : int, default=2000
        The length of the window, in rows.
    balanced : bool, default=True
        Draw both signs equally often.
    random_state : int, generator or None, default=None
        The seed of the draws.

    See Also
    --------
    sample_pairs : Independent pairs from an array of labels.

    Examples
    --------
    >>> import numpy as np
    >>> stream = LabelledPairs(memory=50, random_state=0)
    >>> rows, labels = (
    ...     np.arange(400.0).reshape(-1, 1),
    ...     np.tile([0, 1, 2, 3], 100),
    ... )
    >>> pairs, y = stream.pairs(rows, labels)
    >>> bool(0.8 < (y > 0).sum() / (y < 0).sum() < 1.25)
    True
    >>> same = pairs[:, 0, 0] % 4 == pairs[:, 1, 0] % 4
    >>> (
    ...     bool((same == (y > 0)).all()),
    ...     float((pairs[:, 0] - pairs[:, 1]).max()) <= 50,
    ... )
    (True, True)
    """

    def __init__(
        self,
        *,
        per_row: float = 1.0,
        memory: int = 2000,
        balanced: bool = True,
        random_state: RandomState = None,
    ) -> None:
        self.per_row = check_number(per_row, "per_row", above=0)
        self.memory = check_whole(memory, "memory")
        self.balanced = check_flag(balanced, "balanced")
        # Separate generators for counts and for partners make the draws independent of chunks.
        self._how_many, *self._whom = np.random.default_rng(random_state).spawn(3)
        self._rows: Array | None = None
        self._keys: tuple[dict[Hashable, int], dict[Hashable, int]] = ({}, {})
        self._codes = np.empty((0, 2), np.intp)
        self._seen = 0

    def pairs(
        self, chunk: ArrayLike, labels: ArrayLike, groups: ArrayLike | None = None
    ) -> tuple[Array, NDArray[np.int64]]:
        """Return the pairs of the next rows of the stream.

        Parameters
        ----------
        chunk : array-like of shape (n, n_features)
            The next rows.
        labels : array-like of shape (n,)
            The class of each row.
        groups : array-like of shape (n,), default=None
            The task of each row.

        Returns
        -------
        pairs : array of shape (n_pairs, 2, n_features)
            Pairs of rows, the newer row first. Positive pairs come first.
        y : array of shape (n_pairs,)
            +1 for the same class, -1 for different classes.
        """
        rows = _checked(chunk, self._rows, self._seen)
        codes = self._coded(check_names(labels, "labels", len(rows)), groups)
        kept = rows[:0] if self._rows is None else self._rows
        both, codes = np.concatenate([kept, rows]), np.concatenate([self._codes, codes])
        now = np.arange(len(kept), len(both))
        low = np.maximum(now - self.memory, 0)
        classes, tasks = np.ascontiguousarray(codes.T)
        (of_class, same), (of_task, inside) = (
            window_counts(kinds, len(known), len(kept), self.memory)
            for kinds, known in zip((classes, tasks), self._keys, strict=True)
        )
        width = (now - low).astype(np.float64)
        rate = self.per_row * width / np.maximum(2.0 * inside + width, 1.0)
        rarer = np.ones(len(now))
        if self.balanced:
            rarer = 2.0 * (inside - same) / np.maximum(2.0 * same + width, 1.0)
        draws = self._how_many.random((len(now), 2))
        # Positive pairs are inside a class, negative ones inside a task and across classes.
        signs = (
            (rarer, of_class, classes, np.arange(len(both))),
            (1.0, of_task - of_class, tasks, classes),
        )
        first, second = [], []
        for k, (share, partners, kinds, parts) in enumerate(signs):
            mean = rate * share * partners
            repeated = np.repeat(np.arange(len(now)), (mean + draws[:, k]).astype(int) * (mean > 0))
            places = (self._whom[k].random(len(repeated)) * partners[repeated]).astype(np.intp)
            first.append(now[repeated])
            second.append(nth_alike(kinds, parts, now[repeated], low[repeated], places))
        pairs = np.stack([both[np.concatenate(ends)] for ends in (first, second)], axis=1)
        self._seen += len(rows)
        self._rows, self._codes = (values[-self.memory :].copy() for values in (both, codes))
        return pairs, np.repeat([1, -1], [len(ends) for ends in first])

    def _coded(self, names: Array, groups: Any) -> NDArray[np.intp]:
        """Return the numbers of the class and the group of each row."""
        tasks: list[Any] = [None] * len(names)
        if groups is not None:
            tasks = check_names(groups, "groups", len(names)).tolist()
        classes, of_task = self._keys
        codes = [
            (classes.setdefault(key, len(classes)), of_task.setdefault(key[0], len(of_task)))
            for key in zip(tasks, names.tolist(), strict=True)
        ]
        return np.array(codes, dtype=np.intp).reshape(-1, 2)


class TemporalPairs:
    """Pairs from a stream: rows near in time count as the same, distant rows as different.

    Such pairs allow learning from a continuous process without labels ([1]_ section 7). Each row
    forms a positive pair with each row ``near`` steps back. For each of these pairs it forms a
    negative pair with a random row between ``far`` and ``memory`` steps back. Some negative pairs
    have the same class by chance. Set eta above their share.

    Only the last ``memory`` rows are stored. Any chunking of the stream gives the same pairs.

    Parameters
    ----------
    near : iterable of int, default=(1, 2, 4, 8)
        The lags of positive pairs, inside a sequence.
    far : int, default=200
        The smallest lag of negative pairs.
    memory : int, default=2000
        The largest lag of negative pairs, which may join two sequences.
    random_state : int, generator or None, default=None
        The seed of the draws.

    References
    ----------
    .. [1] A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", Subspace,
           Latent Structure and Feature Selection, 2006.

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
        random_state: RandomState = None,
    ) -> None:
        self.near = check_lags(near, "near")
        if not self.near:
            raise ValueError("near is empty. Pass the lags of positive pairs, such as (1, 2, 4).")
        self.far = check_whole(far, "far", least=max(self.near) + 1)
        self.memory = check_whole(memory, "memory", least=self.far)
        self._rng = np.random.default_rng(random_state)
        self._rows: Array | None = None
        self._seen = 0
        self._start = 0

    def pairs(
        self, chunk: ArrayLike, *, new_sequence: bool = False
    ) -> tuple[Array, NDArray[np.int64]]:
        """Return the pairs of the next rows of the stream.

        Parameters
        ----------
        chunk : array-like of shape (n, n_features)
            The next rows.
        new_sequence : bool, default=False
            True if the chunk starts a new sequence.

        Returns
        -------
        pairs : array of shape (n_pairs, 2, n_features)
            Pairs of rows, the newer row first. Positive pairs come first.
        y : array of shape (n_pairs,)
            +1 for rows near in time, -1 for distant rows.
        """
        check_flag(new_sequence, "new_sequence")
        rows = _checked(chunk, self._rows, self._seen)
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
        # One draw for each row and lag makes the pairs independent of the chunks.
        draws = self._rng.random((len(rows), len(self.near)))
        reach = np.minimum(self.memory, now) - self.far + 1
        distant = reach > 0
        for k in range(len(self.near)):
            lags = self.far + (draws[distant, k] * reach[distant]).astype(np.intp)
            first.append(now[distant])
            second.append(now[distant] - lags)
        n_same = sum(len(part) for part in first[: len(self.near)])
        newer, older = np.concatenate(first) - base, np.concatenate(second) - base
        pairs = np.stack([both[newer], both[older]], axis=1)
        self._seen += len(rows)
        self._rows = both[max(len(both) - self.memory, 0) :].copy()
        return pairs, np.repeat([1, -1], [n_same, len(newer) - n_same])


def _checked(chunk: ArrayLike, before: Array | None, first_row: int) -> Array:
    """Return the next rows of a stream as a float array."""
    rows = real_array(chunk, "a chunk")
    if rows.ndim != 2:
        raise ValueError(f"a chunk has shape {rows.shape}. Pass rows, (n, n_features).")
    if rows.dtype.kind != "f":
        rows = rows.astype(np.float64)  # differences of small integers would overflow
    check_finite(rows, first_row=first_row)
    if before is not None and rows.shape[1] != before.shape[1]:
        raise ValueError(
            f"a chunk has {rows.shape[1]} features. The first chunk has {before.shape[1]}."
        )
    return rows
