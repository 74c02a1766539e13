"""The rows of one ``fit``: arrays in memory, or a stream that is read chunk by chunk."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from eigenstream._streams import is_stream, note_columns
from eigenstream.estimators import _input, _mapping
from eigenstream.estimators._callbacks import reported
from eigenstream.estimators._missing import Holes, Skipped
from eigenstream.solvers.krylov import Block

__all__ = ["ArraySource", "StreamSource", "source_of"]


def source_of(estimator: Any, X: Any, sample_weight: Any, passes: int) -> Any:
    """Return what a fit reads; the estimator's feature map has learned from it, where it has one.

    A stream is whatever reads itself in chunks, as those of ``eigenstream.streams`` do.
    """
    if is_stream(X):
        if sample_weight is not None:
            raise ValueError("the rows of a stream have no weights yet: leave sample_weight out.")
        return StreamSource(estimator, X, passes)
    return ArraySource(estimator, X, sample_weight, passes)


class ArraySource:
    """Sequences of rows in memory: checked, behind the feature map."""

    def __init__(self, estimator: Any, X: Any, sample_weight: Any, passes: int) -> None:
        self.passes = passes
        self._estimator = estimator
        self._sequences = _input.as_sequences(estimator, X, sample_weight, reset=True)
        estimator._check_lengths(self._sequences)
        self._X = X
        self._missing = estimator.missing
        #: The holes of each chunk read so far, and the chunk's first row.
        self._holes: list[tuple[int, Holes]] = []
        estimator._map = None
        self.width = int(estimator.n_features_in_)
        if estimator.features is not None:
            estimator._map = _mapping.fitted(estimator.features, self._sequences)
            sample = next(_input.chunks([self._sequences[0].first(1)], "skip")).rows
            self.width = int(estimator._map.transform(sample).shape[1])

    @property
    def n_rows(self) -> int:
        """How many rows there are in all."""
        return sum(map(len, self._sequences))

    @property
    def expected_rows(self) -> int:
        """How many rows are known to come, by which a way to learn is chosen."""
        return self.n_rows

    def chunks(self) -> Iterator[_input.CheckedChunk]:
        """Start a pass over the rows."""
        parts = _input.chunks(self._sequences, self._missing)
        n_chunks, first, self._holes = _input.count_chunks(self._sequences), 0, []
        for part in reported(self._estimator, parts, n_chunks, self._X):
            self._holes.append((first, part.holes))
            first += len(part)
            yield part.mapped(self._estimator._map)

    def lagged_blocks(self, lag: int) -> Iterator[Block]:
        """Start a pass over blocks that are led by the ``lag`` rows before them."""
        for rows, weights in _input.lagged_blocks(self._sequences, lag, self._missing):
            yield _mapping.mapped(self._estimator._map, rows), weights

    def skipped(self, n_rows: int) -> Skipped:
        """Return what was left out of the first so many rows: all that were learned."""
        if not self._holes and self._missing == "skip":
            self._holes = [
                (0, part.holes) for part in _input.chunks(self._sequences, self._missing)
            ]
        return _skipped(self._holes, n_rows)


class StreamSource:
    """A stream of checked rows, in the memory of some chunks.

    A feature map learns in a pass of its own, as from an array. Of a stream that can be read once
    it learns from the first rows, as many as it says it needs, and these are used up.
    """

    def __init__(self, estimator: Any, stream: Any, passes: int) -> None:
        self.passes = passes
        self._estimator = estimator
        self._stream = stream
        self._holes: list[tuple[int, Holes]] = []
        #: A pass that has begun: of a stream that can be read once it is the only one.
        self._begun: Iterator[Any] | None = None
        estimator._map = None
        first = self._first()
        estimator.n_features_in_ = first.rows.shape[1]
        note_columns(estimator, stream)
        self.width = int(estimator.n_features_in_)
        if estimator.features is not None:
            sample = self._learn_map()
            self.width = int(estimator._map.transform(sample).shape[1])

    def _first(self) -> Any:
        """Return the first chunk that has rows, and put it back."""
        passing = iter(self._stream.chunks())
        for chunk in passing:
            if len(chunk):
                self._begun = chain([chunk], passing)
                return chunk
        raise ValueError(f"{self._stream!r} holds no rows.")

    def _learn_map(self) -> Any:
        """Let the feature map learn; return a row to see what it makes of one."""
        assert self._begun is not None
        if self._stream.rereadable:
            first = next(self._begun)
            self._estimator._map = _mapping.fitted_to(self._estimator.features, self._stream)
            self._begun = None
            return first.rows[:1]
        for chunk in self._begun:
            taken = self._estimator._collect_features(chunk.rows, chunk.weights)
            if _mapping.is_ready(self._estimator._map):
                self._begun = chain([self._rest(chunk, taken)], self._begun)
                return chunk.rows[:1]
        raise ValueError(
            f"{self._stream!r} ends before {self._estimator.features!r} has learned enough from it."
        )

    @staticmethod
    def _rest(chunk: Any, taken: int) -> Any:
        """Return what follows the first rows of a chunk."""
        weights = None if chunk.weights is None else chunk.weights[taken:]
        row = chunk.first_row + taken
        return replace(chunk, rows=chunk.rows[taken:], weights=weights, first_row=row)

    @property
    def n_rows(self) -> int:
        """How many rows there are in all; they are counted where the stream does not know it."""
        known = self._stream.n_rows
        return (
            int(known) if known is not None else sum(len(chunk) for chunk in self._stream.chunks())
        )

    @property
    def expected_rows(self) -> int | None:
        """How many rows are known to come, where they can be read again; else None."""
        known = self._stream.n_rows if self._stream.rereadable else None
        return None if known is None else int(known)

    def chunks(self) -> Iterator[_input.CheckedChunk]:
        """Start a pass over the rows."""
        passing = self._stream.chunks() if self._begun is None else self._begun
        self._begun, self._holes, first = None, [], 0
        for chunk in reported(self._estimator, passing, None, self._stream):
            if chunk.rows.shape[1] != self._estimator.n_features_in_:
                raise ValueError(
                    f"{chunk.source} has rows of {chunk.rows.shape[1]} features, and "
                    f"{self._estimator.n_features_in_} came before."
                )
            part = _input.clean(
                chunk.rows,
                chunk.weights,
                "raise",
                chunk.new_sequence,
                chunk.source,
                chunk.first_row,
            )
            if part.weights is not None:
                places = np.flatnonzero(part.weights == 0)
                self._holes.append((first, Holes(places, np.full(len(places), -1))))
            first += len(part)
            yield part.mapped(self._estimator._map)

    def lagged_blocks(self, lag: int) -> Iterator[Block]:
        """Start a pass over blocks that are led by the ``lag`` rows before them."""
        for rows, weights in self._stream.lagged_blocks(lag):
            yield _mapping.mapped(self._estimator._map, rows), weights

    def skipped(self, n_rows: int) -> Skipped:
        """Return what was left out of the first so many rows: all that were learned."""
        return _skipped(self._holes, n_rows)


def _skipped(holes: list[tuple[int, Holes]], n_rows: int) -> Skipped:
    """Return what the holes of the first so many rows come to."""
    found = Skipped()
    for first, some in holes:
        found = found.plus(some.between(0, max(n_rows - first, 0)))
    return found
