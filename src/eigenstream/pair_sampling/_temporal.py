"""Pairs from a stream without labels: rows near in time count as the same."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenstream._checks import check_flag, check_lags, check_whole
from eigenstream.pair_sampling._chunks import checked_chunk


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
        rows = checked_chunk(chunk, self._rows, self._seen)
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
