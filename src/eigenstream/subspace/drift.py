"""Drift: the angle between the subspace of each window of a stream and a reference."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_number, check_whole, warn_user
from eigenstream._linalg import Float64s, orthonormalized
from eigenstream._streams import is_stream
from eigenstream.subspace import rows
from eigenstream.subspace.learner import Learner
from eigenstream.subspace.solvers import Dense
from eigenstream.subspace.uncertainty import (
    Part,
    TimeBlocks,
    check_blocks,
    held_parameters,
    learners_of,
    left_out,
    merged,
    short_blocks,
    with_sums,
)

#: Random signs for each alarm that they are expected to cause. More take time; fewer blur the rate.
FLIPS_PER_ALARM = 40

#: Signs that are tested at a time.
MOST_FLIPS = 1 << 14


@dataclass(frozen=True)
class DriftRecord:
    """The comparison of a window with the reference.

    Attributes
    ----------
    rows : int
        The number of rows up to the end of the window.
    angle : float
        The distance of the two subspaces, the root sum of squares of their principal angles, in
        radians.
    spread : float
        The angle that is expected without drift, from the jackknife over the blocks of the window.
    p_value : float
        The probability of such an angle without drift.
    alarm : bool
        True if the probability is at most the false-alarm rate.
    """

    rows: int
    angle: float
    spread: float
    p_value: float
    alarm: bool


class SubspaceDrift:
    """Monitor of a stream that raises an alarm when its subspace leaves a reference.

    Each window of rows is cut into blocks. The subspace without each block gives the spread of the
    angle to the reference. The alarm compares the angle with those for random signs of the blocks'
    contributions. This test is exact if contributions are independent and symmetric. Blocks should
    have at least ten time scales; a warning is raised if they are shorter.

    Parameters
    ----------
    reference : fitted StreamPCA or SlowSubspace
        It must be learned from other rows than those to be compared. Windows use its parameters
        and its feature map. An alpha of "auto" is chosen again in each window.
    window : int
        The number of rows in a window. Windows do not overlap.
    blocks : int, default=20
        The number of blocks in a window.
    false_alarm_rate : float, default=0.01
        The probability of an alarm in a window without drift.

    Attributes
    ----------
    history : list of DriftRecord
        The record of each window.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import StreamPCA, SubspaceDrift
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((30_000, 3)) * [3.0, 2.0, 1.0]
    >>> drift = SubspaceDrift(StreamPCA(1).fit(rows[:20_000]), window=2000)
    >>> [record.alarm for record in drift.watch(rows[20_000:])]
    [False, False, False, False, False]
    >>> turned = rows[:4000] @ [[0.9, 0.44, 0.0], [-0.44, 0.9, 0.0], [0.0, 0.0, 1.0]]
    >>> [record.alarm for record in drift.watch(turned)]
    [True, True]
    """

    def __init__(
        self, reference: Any, window: int, *, blocks: int = 20, false_alarm_rate: float = 0.01
    ) -> None:
        check_is_fitted(reference)
        if not hasattr(reference, "lag"):
            raise TypeError(f"{reference!r} is not learned from rows in time. Pass a StreamPCA.")
        self.reference, self.blocks = reference, check_blocks(blocks)
        self.window = check_whole(window, "window", least=2 * self.blocks)
        least = 2.0 ** (2 - self.blocks)
        self.false_alarm_rate = check_number(
            false_alarm_rate, "false_alarm_rate", least=least, below=1
        )
        self.history: list[DriftRecord] = []
        self._estimator = clone(reference).set_params(
            **held_parameters(reference), solver=Dense(), features=None
        )
        self._n_rows, self._warned = 0, False
        self._clear()

    def watch(self, X: Any) -> Iterator[DriftRecord]:
        """Yield the record of each complete window of rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), a list of them, or a stream
            Rows in time order, which begin a new sequence.

        Yields
        ------
        DriftRecord
            The record of a window.
        """
        if is_stream(X):
            source = rows.source_of_stream(self.reference, X)
        else:
            sequences = rows.sequences_of(self.reference, X, None, reset=False)
            source = rows.source_of_sequences(self.reference, sequences)
        source.map = self.reference._map
        for chunk in source.again():
            first = 0
            while first < len(chunk):
                last = min(len(chunk), first + self.window - self._blocks.n_rows)
                self._blocks.add(chunk[first:last])
                self._n_rows, first = self._n_rows + last - first, last
                if self._blocks.n_rows == self.window:
                    self.history.append(self._compared(self._blocks.done()))
                    self._clear()
                    yield self.history[-1]

    def _clear(self) -> None:
        def begin(width: int) -> tuple[Learner, ...]:
            return (learners_of(self._estimator, width, "SubspaceDrift"),)

        self._blocks = TimeBlocks(begin, self.blocks, self.window)

    def _compared(self, parts: list[Part]) -> DriftRecord:
        learner = merged(parts).learners[0]
        whole = with_sums(self._estimator, learner)
        with warnings.catch_warnings():  # eigenvalues of a window may be negative
            warnings.simplefilter("ignore", UserWarning)
            whole._solved()
        if not self._warned:
            learners = [part.learners[0] for part in parts]
            size = self.window / self.blocks
            message = short_blocks(size, whole._least_block(learners, size))
            self._warned = message is not None
            if message is not None:
                warn_user(message.replace("errors are", "spread is"))
        basis, own = orthonormalized(self.reference._vectors), orthonormalized(whole._vectors)
        nearby = (_turned(one._vectors, own) for one in left_out(whole, parts))
        away, *rest = (one - basis @ (basis.T @ one) for one in (own, *nearby))
        others = np.array(rest)
        n = len(others)
        values = (n * away - (n - 1) * others).reshape(n, -1)
        # The error of the reference adds to that of the window.
        factor = 1.0 + self.window / max(self.reference.n_samples_seen_, 1)
        spread = factor * float(values.var(axis=0, ddof=1).sum()) / n
        p_value = self._p_value(values @ values.T, factor)
        sines = np.linalg.svd(away, compute_uv=False)
        angle = float(np.linalg.norm(np.arcsin(np.minimum(sines, 1.0))))
        alarm = p_value <= self.false_alarm_rate
        return DriftRecord(self._n_rows, angle, float(np.sqrt(spread)), p_value, alarm)

    def _p_value(self, products: Float64s, factor: float) -> float:
        """Return the share of random signs with a sum at least as long as that of the values."""
        rng = np.random.default_rng(0)
        left = n_flips = int(np.ceil(FLIPS_PER_ALARM / self.false_alarm_rate))
        above = 0
        while left > 0:
            signs = rng.choice([-1.0, 1.0], size=(min(left, MOST_FLIPS), len(products)))
            lengths = factor * np.einsum("ij,ij->i", signs @ products, signs)
            above += int((lengths >= products.sum()).sum())
            left -= len(signs)
        return (1.0 + above) / (1.0 + n_flips)


def _turned(vectors: Float64s, near: Any) -> Float64s:
    """Return the orthonormal basis of a subspace that is nearest to another basis."""
    other = orthonormalized(vectors)
    left, _, right = np.linalg.svd(other.T @ near)
    return np.asarray(other @ (left @ right))
