"""The rows of one ``fit``: arrays in memory, or a stream that is read chunk by chunk."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from eigenstream._checkpoints import Keeper, Resumption
from eigenstream._checks import warn_user
from eigenstream._provenance import NOTED, forget_source, note_source
from eigenstream._streams import is_stream, note_columns, refuse_keeping
from eigenstream.estimators import _input, _mapping
from eigenstream.estimators._callbacks import reported
from eigenstream.estimators._missing import Holes, Skipped
from eigenstream.solvers.base import fits_dense
from eigenstream.solvers.krylov import Block

__all__ = ["ArraySource", "StreamSource", "source_of"]


def source_of(
    estimator: Any, X: Any, sample_weight: Any, passes: int, keeper: Keeper | None = None
) -> Any:
    """Return what a fit reads; the estimator's feature map has learned from it, where it has one.

    A stream is whatever reads itself in chunks, as those of ``eigenstream.streams`` do.
    """
    if is_stream(X):
        if sample_weight is not None:
            raise ValueError("the rows of a stream have no weights yet: leave sample_weight out.")
        if getattr(X, "shuffled", False) and estimator._lag() > 0:
            warn_user(
                f"{X!r} comes from a loader that shuffles, and velocities are differences of rows "
                "that follow each other in time: load with shuffle=False."
            )
        if passes > 1 and not X.rereadable:  # said before the first pass, not after it
            raise ValueError(
                f"passes={passes} reads the rows so many times, and {X!r} can be read once only. "
                "Write it to a file first, or leave passes out."
            )
        return StreamSource(estimator, X, passes, keeper)
    if keeper is not None:
        refuse_keeping(X)
    return ArraySource(estimator, X, sample_weight, passes)


class ArraySource:
    """Sequences of rows in memory: checked, behind the feature map."""

    #: What a fit with checkpoints may find done: nothing, of arrays.
    first_turn = 0
    complete = False

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

    def goes_on_with(self, learner: Any) -> Any:
        """Return the learner that a fit goes on with: the one that has just begun."""
        return learner

    def end(self) -> None:
        """Hear that all is learned: none of it from a stream."""
        forget_source(self._estimator)

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
    it learns from the first rows, as many as it says it needs, and these are used up. With a
    keeper, what has been learned is kept from time to time, and a fit goes on where an earlier one
    has been ended.
    """

    def __init__(
        self, estimator: Any, stream: Any, passes: int, keeper: Keeper | None = None
    ) -> None:
        self.passes = passes
        self._estimator = estimator
        self._stream = stream
        self._keeper = keeper
        self._found = None if keeper is None else keeper.begin(estimator, stream, passes=passes)
        self._learner: Any = None
        self._holes: list[tuple[int, Holes]] = []
        #: What was left out before the checkpoint that this fit goes on from.
        self._before = Skipped()
        #: A pass that has begun: of a stream that can be read once it is the only one.
        self._begun: Iterator[Any] | None = None
        self._passing: Any = None
        #: How many sequences have begun in this pass; None where that cannot be seen.
        self._sequences: int | None = None
        self.first_turn, self.complete = 0, False
        if self._found is not None:
            self._take(self._found)
            return
        self._turn = 0
        estimator._map = None
        first = self._first()
        estimator.n_features_in_ = first.rows.shape[1]
        note_columns(estimator, stream)
        self.width = int(estimator.n_features_in_)
        if estimator.features is not None:
            sample = self._learn_map()
            self.width = int(estimator._map.transform(sample).shape[1])

    def _take(self, found: Resumption) -> None:
        """Take over what a checkpoint has learned; the stream is read from there on."""
        estimator, before = self._estimator, found.estimator
        self.first_turn = self._turn = found.turn
        self.complete = found.complete
        for name in ("n_features_in_", "feature_names_in_"):
            vars(estimator).pop(name, None)
            if hasattr(before, name):
                setattr(estimator, name, getattr(before, name))
        estimator._map = before._map
        self._before = before._skipped
        self._sequences = getattr(before, "provenance_", {}).get("sequences")
        self._learner = before._learner
        self.width = int(before._learner.n_features)

    def goes_on_with(self, learner: Any) -> Any:
        """Return the learner that a fit goes on with: that of the checkpoint, where there is one.

        It may be of another kind than the one that would be chosen here.
        """
        if self._found is not None:
            self._estimator.solver_ = self._found.estimator.solver_
            self._estimator._note_parameters(self._learner)
            return self._learner
        self._learner = learner
        if self._keeper is not None and self._estimator._map is not None and self._begun is None:
            # The map has taken a pass of its own, which need not be made again.
            self._keeper.began(self._learned)
        return learner

    def _learned(self) -> Any:
        """Return the estimator as it stands."""
        copy = self._estimator._with(self._learner)
        copy._skipped = self.skipped(self._learner.n_rows)
        note_source(copy, self._stream, self._sequences)
        return copy

    def end(self) -> None:
        """Hear that all is learned."""
        if self.complete and self._found is not None:
            forget_source(self._estimator)
            learned = vars(self._found.estimator)
            vars(self._estimator).update({k: learned[k] for k in NOTED if k in learned})
            return
        note_source(self._estimator, self._stream, self._sequences)
        if self._keeper is not None and not self.complete:
            self._keeper.complete(self._learned)

    def _first(self) -> Any:
        """Return the first chunk that has rows, and put it back."""
        passing = self._passing = iter(self._started())
        for chunk in passing:
            if len(chunk):
                self._begun = chain([chunk], passing)
                return chunk
        raise ValueError(f"{self._stream!r} holds no rows.")

    def _leave(self) -> None:
        """End a pass that has begun, where the stream is read anew: its chunks take memory, and
        some loaders have workers for one pass at a time."""
        if self._begun is not None and self._stream.rereadable:
            self._begun = None
            if hasattr(self._passing, "close"):
                self._passing.close()

    def _learn_map(self) -> Any:
        """Let the feature map learn; return a row to see what it makes of one."""
        assert self._begun is not None
        if self._stream.rereadable:
            first = next(self._begun)
            self._leave()
            self._estimator._map = _mapping.fitted_to(self._estimator.features, self._stream)
            return first.rows[:1]
        for chunk in self._begun:
            taken = self._estimator._collect_features(chunk.rows, chunk.weights)
            if _mapping.is_ready(self._estimator._map):
                self._begun = chain([self._rest(chunk, taken)], self._begun)
                return chunk.rows[:1]
        raise ValueError(
            f"{self._stream!r} ends before {self._estimator.features!r} has learned enough from it."
        )

    def _rest(self, chunk: Any, taken: int) -> Any:
        """Return what follows the first rows of a chunk."""
        weights = None if chunk.weights is None else chunk.weights[taken:]
        row = chunk.first_row + taken
        return replace(chunk, rows=chunk.rows[taken:], weights=weights, first_row=row)

    @property
    def n_rows(self) -> int:
        """How many rows there are in all; they are counted where the stream does not know it."""
        known = self._stream.n_rows
        if known is not None:
            return int(known)
        self._leave()
        return sum(len(chunk) for chunk in self._stream.chunks())

    @property
    def expected_rows(self) -> int | None:
        """How many rows are known to come, where reading again may be worth it; else None.

        It never is where matrices fit: the pages of a file cost more than the products with them.
        """
        again = self._stream.rereadable and not fits_dense(self.width)
        known = self._stream.n_rows if again else None
        return None if known is None else int(known)

    def _started(self) -> Iterator[Any]:
        """Start a pass, from the beginning or from where the checkpoint stands."""
        found = self._found if self._turn == self.first_turn else None
        return iter(self._stream.chunks(*([] if found is None else [found.rows])))

    def chunks(self) -> Iterator[_input.CheckedChunk]:
        """Start a pass over the rows."""
        passing = self._started() if self._begun is None else self._begun
        goes_on = self._found is not None and self._turn == self.first_turn
        first = int(self._learner.n_rows) if goes_on else 0
        self._before = self._before if goes_on else Skipped()
        self._sequences = (self._sequences or 0) if goes_on else 0
        self._begun, self._holes = None, []
        if self._keeper is not None:
            self._keeper.learning = True
        for chunk in reported(self._estimator, passing, None, self._stream):
            if chunk.rows.shape[1] != self._estimator.n_features_in_:
                raise ValueError(
                    f"{chunk.source} has rows of {chunk.rows.shape[1]} features, and "
                    f"{self._estimator.n_features_in_} came before."
                )
            part = self._checked(chunk)
            if part.weights is not None:
                places = np.flatnonzero(part.weights == 0)
                self._holes.append((first, Holes(places, np.full(len(places), -1))))
            first += len(part)
            # A feature map may have used up the rows that began the first sequence.
            self._sequences += int(part.new_sequence or first == len(part))
            yield part.mapped(self._estimator._map)
            if self._keeper is not None:
                self._keeper.after(chunk, self._learned, self._turn)
        self._turn += 1

    def _checked(self, chunk: Any) -> _input.CheckedChunk:
        """Return a chunk with finite rows."""
        where = chunk.source, chunk.first_row
        return _input.clean(chunk.rows, chunk.weights, "raise", chunk.new_sequence, *where)

    def lagged_blocks(self, lag: int) -> Iterator[Block]:
        """Start a pass over blocks that are led by the ``lag`` rows before them."""
        self._leave()
        for rows, weights in self._stream.lagged_blocks(lag):
            yield _mapping.mapped(self._estimator._map, rows), weights

    def skipped(self, n_rows: int) -> Skipped:
        """Return what was left out of the first so many rows: all that were learned."""
        return self._before.merged(_skipped(self._holes, n_rows))


def _skipped(holes: list[tuple[int, Holes]], n_rows: int) -> Skipped:
    """Return what the holes of the first so many rows come to."""
    found = Skipped()
    for first, some in holes:
        found = found.plus(some.between(0, max(n_rows - first, 0)))
    return found
