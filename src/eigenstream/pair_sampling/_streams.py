"""Pairs from streams of rows: by labels, or by nearness in time."""

from collections.abc import Hashable, Iterable
from copy import deepcopy
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
from eigenstream._state import (
    State,
    generator_of,
    generator_state,
    joined,
    names_of,
    names_state,
    part,
)


class LabelledPairs:
    """Pairs from a stream of labelled rows, in bounded memory.

    Each row is paired with random rows up to ``memory`` steps back. Pairs of the same sign inside
    that window are equally likely. With groups, both rows of a pair belong to one group. Unbalanced
    pairs keep the proportion of the signs in the window. Balanced pairs have each sign equally
    often on average. New classes may appear at any time.

    Only the last ``memory`` rows are kept. Any chunking of the stream gives the same pairs. The
    window should hold several rows of every class, so shuffle a stream that is sorted by class.

    Parameters
    ----------
    per_row : float
        The mean number of pairs of a row; of each sign, if balanced and with many classes.
    memory : int
        The length of the window, in rows.
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
        # Separate generators for counts and for partners make the draws independent of chunks.
        self._how_many, *self._whom = np.random.default_rng(random_state).spawn(3)
        self._rows: NDArray[Any] | None = None
        self._keys: tuple[dict[Hashable, int], dict[Hashable, int]] = ({}, {})
        self._codes = np.empty((0, 2), np.intp)
        #: The numbers of pairs in the window with the same class, and with the same group.
        self._inside = np.zeros(2)
        self._seen = 0

    def pairs(
        self, chunk: ArrayLike, labels: ArrayLike, groups: ArrayLike | None = None
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the pairs of the next rows of the stream, (n, 2, D), and their signs.

        Positive pairs come first. In each pair the newer row comes first.
        """
        rows = _checked(chunk, self._rows, self._seen)
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
            # The oldest row leaves the window with its pairs, and the new row adds pairs.
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

    def anew(self) -> "LabelledPairs":
        """Return an empty stream with the same parameters that continues the random draws."""
        fresh = type(self)(per_row=self.per_row, memory=self.memory, balanced=self.balanced)
        fresh._how_many, *fresh._whom = deepcopy([self._how_many, *self._whom])
        return fresh

    def state(self) -> State:
        """Return the state as a flat dict."""
        tasks, labels = zip(*self._keys[0], strict=True) if self._keys[0] else ((), ())
        found = {name: getattr(self, name) for name in ("per_row", "memory", "balanced")}
        found |= {"seen": self._seen, "codes": self._codes.copy(), "inside": self._inside.copy()}
        if self._rows is not None:
            found["rows"] = self._rows.copy()
        draws = {"how_many": self._how_many, "first": self._whom[0], "second": self._whom[1]}
        found |= names_state("task", tasks) | names_state("label", labels)
        return found | joined(**{name: generator_state(rng) for name, rng in draws.items()})

    @classmethod
    def restored(cls, state: State) -> "LabelledPairs":
        """Return the stream that gave this ``state``."""
        found = cls(
            per_row=float(state["per_row"]),
            memory=int(state["memory"]),
            balanced=bool(state["balanced"]),
        )
        found._how_many, *found._whom = (
            generator_of(part(state, name)) for name in ("how_many", "first", "second")
        )
        found._seen, found._inside = int(state["seen"]), np.array(state["inside"], np.float64)
        found._codes = np.array(state["codes"], np.intp)
        found._rows = np.array(state["rows"]) if "rows" in state else None
        classes, of_task = found._keys
        for key in zip(names_of(state, "task"), names_of(state, "label"), strict=True):
            classes[key] = len(classes)
            of_task.setdefault(key[0], len(of_task))
        return found

    def _coded(self, names: NDArray[Any], groups: Any) -> NDArray[np.intp]:
        """Return the numbers of the class and the group of each row."""
        tasks: list[Any] = [None] * len(names)
        if groups is not None:
            tasks = check_names(groups, "groups", len(names)).tolist()
        classes, of_task = self._keys
        found = [
            (classes.setdefault(key, len(classes)), of_task.setdefault(key[0], len(of_task)))
            for key in zip(tasks, names.tolist(), strict=True)
        ]
        return np.array(found, dtype=np.intp).reshape(-1, 2)


class TemporalPairs:
    """Pairs from a stream: rows near in time count as the same, distant rows as different.

    [HPCA] section 7 proposes this for learning from a continuous process without labels. Each row
    forms a positive pair with each row ``near`` steps back. For each of these pairs it forms a
    negative pair with a random row between ``far`` and ``memory`` steps back. Some negative pairs
    have the same class by chance; eta must exceed their share.

    Only the last ``memory`` rows are kept. Any chunking of the stream gives the same pairs.

    Parameters
    ----------
    near : list of int
        Lags of positive pairs, inside a sequence.
    far, memory : int
        The smallest and the largest lag of negative pairs, also across sequences.
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
            raise ValueError("near is empty. Pass the lags of positive pairs, such as (1, 2, 4).")
        self.far = check_whole(far, "far", least=max(self.near) + 1)
        self.memory = check_whole(memory, "memory", least=self.far)
        self._rng = np.random.default_rng(random_state)
        self._rows: NDArray[Any] | None = None
        self._seen = 0
        self._start = 0

    def pairs(
        self, chunk: ArrayLike, *, new_sequence: bool = False
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the pairs of the next rows of the stream, (n, 2, D), and their signs.

        Positive pairs come first. In each pair the newer row comes first.
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
        found = np.stack([both[newer], both[older]], axis=1)
        self._seen += len(rows)
        self._rows = both[max(len(both) - self.memory, 0) :].copy()
        return found, np.repeat([1, -1], [n_same, len(newer) - n_same])


class _Reach:
    """Rows sorted by kind and then by position, to find partners by bisection."""

    def __init__(self, codes: NDArray[np.intp]) -> None:
        self.codes = codes
        self.unit = len(codes) + 1
        self.order = np.argsort(codes, kind="stable")
        self.keys = codes[self.order] * self.unit + self.order
        self.rank = np.empty(len(codes), np.intp)
        self.rank[self.order] = np.arange(len(codes))

    def first(self, rows: NDArray[np.intp], place: Any) -> NDArray[np.intp]:
        """Return the rank of the first row of the same kind at ``place`` or later."""
        return np.asarray(np.searchsorted(self.keys, self.codes[rows] * self.unit + place))

    def count(self, rows: NDArray[np.intp], low: Any, high: Any) -> NDArray[np.intp]:
        """Return the number of rows of the same kind from ``low`` to ``high``."""
        return np.asarray(self.first(rows, high) - self.first(rows, low), np.intp)

    def drawn(
        self, rows: NDArray[np.intp], low: NDArray[np.intp], draws: NDArray[np.float64]
    ) -> NDArray[np.intp]:
        """Return an earlier row of the same kind at ``low`` or later, for each row."""
        count = self.count(rows, low, rows)
        return np.asarray(self.order[self.first(rows, low) + (draws * count).astype(np.intp)])

    def drawn_outside(
        self,
        part: "_Reach",
        rows: NDArray[np.intp],
        low: NDArray[np.intp],
        draws: NDArray[np.float64],
    ) -> NDArray[np.intp]:
        """Return an earlier row of the same kind but of another ``part``, a finer kind."""
        start, mine = self.first(rows, low), part.first(rows, low)
        of_part = part.count(rows, low, rows)
        j = (draws * (self.count(rows, low, rows) - of_part)).astype(np.intp)
        # The number of earlier rows outside the part grows with the rank, so bisection finds j.
        others = self.rank[part.order] - np.arange(len(part.order)) + len(part.order)
        keys = part.codes[part.order] * (2 * part.unit) + others
        sought = part.codes[rows] * (2 * part.unit) + j + start - mine + len(part.order)
        before = np.clip(np.searchsorted(keys, sought, side="right") - mine, 0, of_part)
        return np.asarray(self.order[start + j + before])


def _checked(chunk: ArrayLike, before: NDArray[Any] | None, first_row: int) -> NDArray[Any]:
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
