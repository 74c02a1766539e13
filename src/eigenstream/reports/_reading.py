"""What was read: counted on the way, with the first rows of some sequences and a thin sample."""

from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import check_whole, is_sparse
from eigenstream.streams import open_stream

#: The first rows of so many sequences are kept,
MOST_SEQUENCES = 4
#: so many of each, and as many of all rows, evenly over the whole,
MOST_ROWS = 1200
#: but no more than fill so many bytes each.
MOST_BYTES = 1 << 24


class SeenRows:
    """Counts of the rows that pass, and a bounded sample of them.

    Attributes
    ----------
    sources : tuple of str
        The names of the files.
    most_rows : int
        Of the sample: so many of each sequence, and of the whole up to twice as many.
    n_rows, n_missing : int
        All rows, and those that lack values.
    n_filled : int
        Values that were missing, and were filled in by the stream.
    lengths : (number, shortest, longest)
        Of sequences.
    whole : bool
        Whether all there is has been read.

    Examples
    --------
    >>> reading = SeenRows.of([np.zeros((3, 2)), np.ones((4, 2))])
    >>> reading.n_rows, reading.lengths, [len(rows) for rows in reading.first]
    (7, (2, 3, 4), [3, 4])
    """

    def __init__(self, sources: tuple[str, ...] = (), *, most_rows: int = MOST_ROWS) -> None:
        self.sources = sources
        self.most_rows = check_whole(most_rows, "most_rows")
        self.begin()

    def begin(self) -> None:
        """Start anew: a pass begins."""
        self.n_rows = self.n_missing = self.n_filled = 0
        self.whole = True
        self._past = [0, 0, 0]  # sequences that have ended: how many, the shortest, the longest
        self._running = 0
        self._first: list[list[NDArray[Any]]] = []
        self._kept: list[NDArray[Any]] = []
        self.step = 1

    @classmethod
    def of(cls, X: Any, *, most_rows: int = MOST_ROWS) -> "SeenRows":
        """Read what ``fit`` takes; of a stream only until the sample of first rows is complete.

        A stream that can be read once is left alone: it has been.
        """
        given = hasattr(X, "chunks") and hasattr(X, "rereadable")
        stream: Any = X if given else open_stream(X, missing="skip")
        reading = cls(tuple(stream.sources) if given else (), most_rows=most_rows)
        if not stream.rereadable:
            reading.whole = False
            return reading
        with closing(stream.chunks()) as chunks:
            for chunk in chunks:
                reading.add(chunk)
                if given and reading.complete and reading.n_rows >= 100 * most_rows:
                    reading.whole = False
                    break
        reading.n_filled = getattr(stream, "n_filled", 0)
        return reading

    def add(self, chunk: Any) -> None:
        """Take note of the next chunk."""
        if len(chunk) == 0:
            return
        rows = chunk.rows
        if chunk.new_sequence or not self._first:
            self._end()
            if len(self._first) < MOST_SEQUENCES:
                self._first.append([])
            self._counting = len(self._first) * (self._past[0] < MOST_SEQUENCES)
        most = sampled_rows(rows.shape[1], self.most_rows)
        if self._counting and self._running < most:
            self._first[self._counting - 1].append(shown(chunk, slice(most - self._running)))
        lacking = np.zeros(len(chunk), bool) if chunk.weights is None else chunk.weights == 0
        if not is_sparse(rows) and np.isnan(rows.sum()):  # of who knows what to do about holes
            lacking |= np.isnan(rows).any(axis=1)
        self.n_missing += int(lacking.sum())
        self._thin(chunk, most)
        self._running += len(chunk)
        self.n_rows += len(chunk)

    def _thin(self, chunk: Any, most: int) -> None:
        """Keep every ``step``-th row of all; once there are twice too many, every other of them."""
        offset = -self.n_rows % self.step
        if offset < len(chunk):
            self._kept.append(shown(chunk, slice(offset, None, self.step)))
        while sum(map(len, self._kept)) > 2 * most:
            # Every other row of the whole, which the parts together are.
            self._kept = [np.concatenate(self._kept)[::2].copy()]
            self.step *= 2

    def _end(self) -> None:
        """Count the sequence that has ended."""
        if self._running:
            count, shortest, longest = self._past
            shortest = self._running if count == 0 else min(shortest, self._running)
            self._past = [count + 1, shortest, max(longest, self._running)]
        self._running = 0

    @property
    def lengths(self) -> tuple[int, int, int]:
        """Return how many sequences there are, and the least and the most rows of one."""
        count, shortest, longest = self._past
        if self._running:
            shortest = self._running if count == 0 else min(shortest, self._running)
            return count + 1, shortest, max(longest, self._running)
        return count, shortest, longest

    @property
    def complete(self) -> bool:
        """Say whether the first rows of enough sequences are there."""
        return bool(self._first) and (
            self._past[0] >= MOST_SEQUENCES or self._running >= self.most_rows
        )

    @property
    def first(self) -> list[NDArray[Any]]:
        """Return the first rows of the first sequences."""
        return [np.concatenate(parts) for parts in self._first if parts]

    @property
    def thin(self) -> NDArray[Any]:
        """Return every ``step``-th row of all."""
        return np.concatenate(self._kept)


def sampled_rows(width: int, most: int) -> int:
    """Return how many rows of a width are kept.

    >>> sampled_rows(10, 1200), sampled_rows(100_000, 1200)
    (1200, 20)
    """
    return min(max(MOST_BYTES // (8 * width), 16), most)


def shown(chunk: Any, which: slice) -> NDArray[Any]:
    """Return a copy of some rows of a chunk, dense; those that lack values are NaN throughout."""
    rows = chunk.rows[which]
    rows = rows.toarray() if hasattr(rows, "toarray") else np.array(rows)
    if chunk.weights is not None:
        rows[chunk.weights[which] == 0] = np.nan
    return rows
