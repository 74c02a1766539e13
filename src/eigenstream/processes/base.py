"""Streams of rows with a known law, reproducible in any chunks."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import DTypeLike

from eigenstream.core.checks import check_whole
from eigenstream.core.linalg import Float64s, Floats, orthonormalized
from eigenstream.core.types import Array, DType, RandomState

#: Rows drawn at a time, so that random numbers do not depend on the chunks. 1024 views of 28 x 28
#: take 6 MB.
BLOCK = 1024


def seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    """Return a fixed seed, so that a process gives the same rows at every reading.

    >>> seed_sequence(3).entropy
    3
    """
    if isinstance(random_state, np.random.SeedSequence):
        # A copy, because spawning changes its counter.
        return np.random.SeedSequence(random_state.entropy, spawn_key=random_state.spawn_key)
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    if random_state is None:
        return np.random.SeedSequence()
    return np.random.SeedSequence(check_whole(random_state, "random_state", least=0))


def generators(seed: np.random.SeedSequence, count: int) -> list[np.random.Generator]:
    """Return ``count`` independent generators, the same at every call."""
    fresh = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    return [np.random.default_rng(child) for child in fresh.spawn(count)]


def random_basis(seed: np.random.SeedSequence, n_features: int, d: int) -> Float64s:
    """Return d uniform random orthonormal columns, independent of ``generators(seed, 2)``.

    >>> random_basis(seed_sequence(0), 5, 2).shape
    (5, 2)
    """
    *_, rng = generators(seed, 3)
    return np.asarray(orthonormalized(rng.standard_normal((n_features, d))), np.float64)


def check_dtype(dtype: DTypeLike) -> DType:
    """Return the dtype of the rows, which must be float32 or float64."""
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise TypeError(f"dtype must be float32 or float64, got {kind}.")
    return kind


class Process(ABC):
    """A source of rows with a known law.

    Every ``take`` and every ``chunks`` starts at the first row. The same object, or the same
    ``random_state``, gives the same rows in any chunks.
    """

    #: The number of columns.
    n_features: int

    @abstractmethod
    def _blocks(self, dtype: DType) -> Iterator[Floats]:
        """Yield the rows from the first one, ``BLOCK`` at a time, without end."""

    def chunks(self, m: int, rows: int = BLOCK, dtype: DTypeLike = np.float64) -> Iterator[Array]:
        """Yield the first ``m`` rows in chunks, in constant memory.

        Parameters
        ----------
        m : int
            The number of rows.
        rows : int, default=1024
            The number of rows of a chunk; the last chunk may be shorter.
        dtype : dtype, default=float64
            The type of the rows: float32 or float64.

        Returns
        -------
        iterator of arrays of shape (rows, n_features)
            The chunks, in order.

        Examples
        --------
        >>> from itertools import islice
        >>> from eigenstream.processes import Autoregressive
        >>> parts = Autoregressive([0.9], random_state=0).chunks(100)
        >>> [part.shape for part in islice(parts, 2)]
        [(100, 1)]
        """
        m = check_whole(m, "m", least=0)
        rows = check_whole(rows, "rows")
        return self._cut(self._blocks(check_dtype(dtype)), m, rows)

    def _cut(self, blocks: Iterator[Floats], m: int, rows: int) -> Iterator[Array]:
        block = next(blocks)
        for start in range(0, m, rows):
            wanted, pieces = min(rows, m - start), []
            while wanted:
                block = block if len(block) else next(blocks)
                pieces.append(block[:wanted])
                block = block[wanted:]
                wanted -= len(pieces[-1])
            # Each row is yielded once, so the caller may write into a slice of a block.
            yield pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def take(self, m: int, dtype: DTypeLike = np.float64) -> Array:
        """Return the first ``m`` rows.

        Parameters
        ----------
        m : int
            The number of rows.
        dtype : dtype, default=float64
            The type of the rows: float32 or float64.

        Returns
        -------
        array of shape (m, n_features)
            The rows.

        Examples
        --------
        >>> from eigenstream.processes import Autoregressive
        >>> Autoregressive([0.9], random_state=0).take(5).shape
        (5, 1)
        """
        m = check_whole(m, "m", least=0)
        kind = check_dtype(dtype)
        out = np.empty((m, self.n_features), dtype=kind)
        fill(out, self._blocks(kind))
        return out


def fill(out: Array, blocks: Iterator[Array]) -> None:
    """Copy blocks into ``out`` until it is full."""
    done = 0
    while done < len(out):
        block = next(blocks)[: len(out) - done]
        out[done : done + len(block)] = block
        done += len(block)
