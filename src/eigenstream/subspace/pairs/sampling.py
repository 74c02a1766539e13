"""Pairs of the same and of different classes, drawn from labels or from rows in time."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenstream.core.checks import (
    check_flag,
    check_lags,
    check_names,
    check_whole,
    real_array,
)
from eigenstream.core.linalg import check_fits
from eigenstream.core.types import Array, RandomState
from eigenstream.rows.door import as_floats

#: Peak memory of a pair: several copies of two indices and a sign.
PAIR_BYTES = 100

#: Signed index pairs: shape (n, 2), and +1 or -1 for each.
IndexPairs = tuple[NDArray[np.intp], NDArray[np.int64]]


def sample_pairs(
    labels: ArrayLike, n_pairs: int, *, random_state: RandomState = None
) -> IndexPairs:
    """Draw independent pairs of labelled rows, half of them from one class ([1]_ section 3).

    All pairs of the same class are equally likely, and so are all pairs of different classes.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The class of each row.
    n_pairs : int
        The number of pairs.
    random_state : int, generator or None, default=None
        The seed of the draws.

    Returns
    -------
    pairs : array of shape (n_pairs, 2)
        Indices of rows, for ``PairSubspace(preprocessor=X)``.
    y : array of shape (n_pairs,)
        +1 for the same label, -1 for different labels.

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
    codes = np.unique(names, return_inverse=True)[1].ravel()
    order, sizes = np.argsort(codes, kind="stable"), np.bincount(codes)
    starts, rng = np.cumsum(sizes) - sizes, np.random.default_rng(random_state)

    def drawn(n: int, same: bool) -> NDArray[np.intp]:
        """Return pairs of rows of one class, or of two classes."""
        chance = sizes * (sizes - 1.0 if same else float(len(codes)) - sizes)
        if n == 0:
            return np.empty((0, 2), np.intp)
        if not chance.any():
            lacks = "two rows of a class" if same else "two classes"
            raise ValueError(f"labels do not have {lacks}. Pass more rows.")
        classes = rng.choice(len(sizes), n, p=chance / chance.sum())
        start, size = starts[classes], sizes[classes]
        first = start + rng.integers(size)
        if same:
            second = start + rng.integers(size - 1)
            second += second >= first
        else:
            second = rng.integers(len(codes) - size)
            second += np.where(second >= start, size, 0)
        return np.asarray(order[np.column_stack([first, second])])

    n_same = (n_pairs + 1) // 2
    pairs = np.concatenate([drawn(n_same, True), drawn(n_pairs - n_same, False)])
    mixed = rng.permutation(n_pairs)  # any slice holds both signs
    return pairs[mixed], np.repeat([1, -1], [n_same, n_pairs - n_same])[mixed]


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
        earlier = rows[:0] if self._rows is None else self._rows
        rows_in_reach = np.concatenate([earlier, rows])
        base = self._seen - len(earlier)
        now = np.arange(self._seen, self._seen + len(rows))
        near = np.array(self.near)[:, None]
        lag, row = np.nonzero(now - near >= self._start)
        # One draw for each row and lag makes the pairs independent of the chunks.
        draws = self._rng.random((len(rows), len(near)))
        reach = np.minimum(self.memory, now) - self.far + 1
        distant = reach > 0
        lags = self.far + (draws[distant].T * reach[distant]).astype(np.intp)
        far = np.broadcast_to(now[distant], lags.shape)
        newer = np.concatenate([now[row], far.ravel()]) - base
        older = np.concatenate([now[row] - near[lag, 0], (far - lags).ravel()]) - base
        pairs = np.stack([rows_in_reach[newer], rows_in_reach[older]], axis=1)
        self._seen += len(rows)
        self._rows = rows_in_reach[max(len(rows_in_reach) - self.memory, 0) :].copy()
        return pairs, np.repeat([1, -1], [len(row), far.size])


def _checked(chunk: ArrayLike, before: Array | None, first_row: int) -> Array:
    """Return the next rows of a stream as a float array."""
    rows: Array = real_array(chunk, "a chunk")
    if rows.ndim != 2:
        raise ValueError(f"a chunk has shape {rows.shape}. Pass rows, (n, n_features).")
    rows = as_floats(rows, first_row)
    if before is not None and rows.shape[1] != before.shape[1]:
        raise ValueError(
            f"a chunk has {rows.shape[1]} features. The first chunk has {before.shape[1]}."
        )
    return rows
