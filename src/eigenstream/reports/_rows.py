"""Counts and a bounded sample of the rows of a pass."""

from contextlib import closing

import numpy as np

from eigenstream._checks import is_sparse
from eigenstream._streams import is_stream
from eigenstream._types import Array, RowsLike, StreamLike
from eigenstream.streams import open_stream
from eigenstream.streams.base import Chunk

#: Sequences and thinned rows in a sample: more are not visible in a drawing.
MOST_SEQUENCES, MOST_ROWS = 4, 1200
#: First rows of a sequence in a sample: time scales need many.
MOST_FIRST = 20_000
#: The most bytes of the sampled rows of a sequence.
MOST_BYTES = 1 << 24


class SeenRows:
    """Counts of the rows of a pass, with a bounded sample of them.

    Parameters
    ----------
    sources : tuple of str, default=()
        The names of the files.

    Attributes
    ----------
    sources : tuple of str
        The names of the files.
    n_rows, n_missing : int
        All rows, and the rows with missing values.
    lengths : (number, shortest, longest)
        The number of sequences and their lengths.
    whole : bool
        True if all rows have been read.
    first : list of arrays
        The first rows of the first sequences.
    thin : array
        Every ``step``-th row.

    Examples
    --------
    >>> rows = SeenRows.of([np.zeros((3, 2)), np.ones((4, 2))])
    >>> rows.n_rows, rows.lengths, [len(first) for first in rows.first]
    (7, (2, 3, 4), [3, 4])
    """

    def __init__(self, sources: tuple[str, ...] = ()) -> None:
        self.sources = sources
        self.begin()

    def begin(self) -> None:
        """Reset all counts at the start of a pass."""
        self.n_rows = self.n_missing = 0
        self.whole = True
        self.step = 1
        self._count = self._shortest = self._longest = self._running = 0
        self._first: list[list[Array]] = []
        self._kept: list[Array] = []

    @classmethod
    def of(cls, X: RowsLike) -> "SeenRows":
        """Read the input of ``fit``. Only the first rows of a stream are read.

        A stream that can be read only once is not read.

        Parameters
        ----------
        X : array, list of arrays, or stream
            The input.

        Returns
        -------
        SeenRows
            The counts and the sample.
        """
        streamed = is_stream(X)
        stream: StreamLike = X if streamed else open_stream(X, missing="skip")
        seen = cls(tuple(stream.sources) if streamed else ())
        seen.whole = stream.rereadable
        if not stream.rereadable:
            return seen
        with closing(stream.chunks()) as chunks:
            for chunk in chunks:
                seen.add(chunk)
                if streamed and seen.n_rows >= 100 * MOST_ROWS:
                    seen.whole = False
                    break
        return seen

    def add(self, chunk: Chunk) -> None:
        """Count and sample the rows of the next chunk.

        Parameters
        ----------
        chunk : Chunk
            The next rows.
        """
        if len(chunk) == 0:
            return
        rows = chunk.rows
        if chunk.new_sequence or not self.n_rows:
            self._count, self._shortest, self._longest = self.lengths
            self._running = 0
            self._first += [[]] * (len(self._first) <= MOST_SEQUENCES)
        room = max(MOST_BYTES // (8 * rows.shape[1]), 16)
        first, most = min(room, MOST_FIRST), min(room, MOST_ROWS)
        if len(self._first) <= MOST_SEQUENCES and self._running < first:
            self._first[-1].append(_dense(chunk, slice(first - self._running)))
        missing = np.zeros(len(chunk), bool) if chunk.weights is None else chunk.weights == 0
        if not is_sparse(rows) and np.isnan(rows.sum()):
            missing |= np.isnan(rows).any(axis=1)
        self.n_missing += int(missing.sum())
        self._kept.append(_dense(chunk, slice(-self.n_rows % self.step, None, self.step)))
        while sum(map(len, self._kept)) > 2 * most:
            self._kept = [np.concatenate(self._kept)[::2].copy()]
            self.step *= 2
        self._running += len(chunk)
        self.n_rows += len(chunk)

    @property
    def lengths(self) -> tuple[int, int, int]:
        """Return the number of sequences, the shortest and the longest length."""
        if not self._running:
            return self._count, self._shortest, self._longest
        shortest = min(self._shortest or self._running, self._running)
        return self._count + 1, shortest, max(self._longest, self._running)

    @property
    def first(self) -> list[Array]:
        """Return the first rows of the first sequences."""
        return [np.concatenate(parts) for parts in self._first[:MOST_SEQUENCES] if parts]

    @property
    def thin(self) -> Array:
        """Return every ``step``-th row."""
        return np.concatenate(self._kept)


def _dense(chunk: Chunk, which: slice) -> Array:
    """Return a copy of rows of a chunk as a dense array; skipped rows are NaN."""
    rows = chunk.rows[which]
    rows = rows.toarray() if is_sparse(rows) else np.array(rows)
    if chunk.weights is not None:
        rows[chunk.weights[which] == 0] = np.nan
    return rows
