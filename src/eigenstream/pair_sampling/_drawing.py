"""Independent pairs of labelled rows."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenstream._checks import check_names, check_whole
from eigenstream._machine import check_fits

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
    random_state: Any = None,
) -> IndexPairs:
    """Draw independent pairs of labelled rows ([HPCA] section 3).

    Each draw takes a uniform random task and then two different rows of that task. With
    ``balanced=True`` half of the pairs are positive and half are negative.

    Parameters
    ----------
    labels : array of shape (n,)
    n_pairs : int
    balanced : bool
    groups : array of shape (n,), optional
        The learning task of each row; a single task by default.
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
    pairs = np.concatenate([drawing.same(n_same), drawing.different(n_pairs - n_same)])
    signs = np.repeat([1, -1], [n_same, n_pairs - n_same])
    mixed = drawing.rng.permutation(n_pairs)  # any slice holds both signs
    return pairs[mixed], signs[mixed]


class _Drawing:
    """Rows sorted by task and class; pairs are drawn as positions in that order."""

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
            raise ValueError("No group has two rows. Pass larger groups.")
        task = self.rng.choice(able, n)
        return self._distinct(self.task_start[task], self.task_sizes[task])

    def same(self, n: int) -> NDArray[np.intp]:
        m, of_task = self.sizes.astype(float), self.task_sizes[self.task_of_class]
        # The probability of a class for a uniform task and two different rows of it.
        chance = m * (m - 1) / np.maximum(of_task * (of_task - 1.0), 1.0)
        if not chance.any():
            raise ValueError(
                "Every class has a single row, so there are no positive pairs. "
                "Use more rows or balanced=False."
            )
        drawn = self.rng.choice(len(m), n, p=chance / chance.sum())
        return self._distinct(self.class_start[drawn], self.sizes[drawn])

    def different(self, n: int) -> NDArray[np.intp]:
        m, of_task = self.sizes.astype(float), self.task_sizes[self.task_of_class]
        chance = m * (of_task - m) / np.maximum(of_task * (of_task - 1.0), 1.0)
        if n and not chance.any():
            raise ValueError(
                "Every task has a single class, so there are no negative pairs. "
                "Use more classes or balanced=False."
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
