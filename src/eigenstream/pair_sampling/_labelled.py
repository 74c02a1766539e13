"""Pairs from a stream of labelled rows."""

from collections.abc import Hashable
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenstream._checks import check_flag, check_names, check_number, check_whole
from eigenstream._state import (
    State,
    generator_of,
    generator_state,
    joined,
    names_of,
    names_state,
    part,
)
from eigenstream.pair_sampling._chunks import checked_chunk
from eigenstream.pair_sampling._reach import Reach


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
        rows = checked_chunk(chunk, self._rows, self._seen)
        codes = self._coded(check_names(labels, "labels", len(rows)), groups)
        kept = rows[:0] if self._rows is None else self._rows
        both, codes = np.concatenate([kept, rows]), np.concatenate([self._codes, codes])
        n, old = len(both), len(kept)
        now = np.arange(old, n)
        low, next_low = (np.maximum(now + k - self.memory, 0) for k in (0, 1))
        reach, counts = [Reach(codes[:, k]) for k in (0, 1)], []
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

    def anew(self) -> "LabelledPairs":
        """Return a stream that has seen nothing, and draws other pairs than this one has drawn.

        What it is handed again meets no row of before.
        """
        fresh = type(self)(per_row=self.per_row, memory=self.memory, balanced=self.balanced)
        fresh._how_many, *fresh._whom = deepcopy([self._how_many, *self._whom])
        return fresh

    def state(self) -> State:
        """Return all that the pairs to come depend on."""
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
        """Return a stream that goes on from a ``state``, to the last bit."""
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
