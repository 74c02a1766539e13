"""Passes over a stream, from where a checkpoint stands, and kept on the way."""

from collections.abc import Callable, Iterator
from contextlib import closing
from inspect import signature
from typing import Any

import numpy as np
from scipy.sparse import vstack

from eigenstream._checkpoints import Keeper, Resumption
from eigenstream._checks import is_sparse
from eigenstream._memory import physical_memory
from eigenstream._provenance import NOTED, note_source
from eigenstream._streams.base import Taught, complete_rows, fresh, name_columns

__all__ = ["Course", "Passes", "all_rows", "learn_chunks"]

#: What all rows of a stream may take of the memory, where an estimator needs them at once.
MEMORY_SHARE = 0.25


class Passes:
    """The complete rows of a stream, chunk by chunk, as often as it is iterated over.

    What can be read once only is held in memory from the first pass on, where it fits.
    """

    def __init__(self, stream: Any, what: str) -> None:
        self.stream, self.what = stream, what
        #: Rows that lack values, of what is held in memory.
        self.left_out = 0
        self._held: list[Taught] | None = None

    def __iter__(self) -> Iterator[Taught]:
        if self.stream.rereadable:
            return complete(self.stream.chunks())
        if self._held is None:
            self._held = list(self._bounded())
        return iter(self._held)

    def _bounded(self, precision: int = 0) -> Iterator[Taught]:
        """Read once, as long as what has been read fits in memory, at so many bytes a number."""
        stream = self.stream
        limit, size = MEMORY_SHARE * physical_memory(), 0.0
        if None not in (stream.n_rows, stream.n_features, stream.dtype):
            number = max(stream.dtype.itemsize, precision)
            self._check(stream.n_rows * stream.n_features * number, limit)
        for some in complete(stream.chunks(), self._leave_out):
            values = some.rows.data
            size += values.nbytes * max(precision / values.itemsize, 1.0)
            self._check(size, limit)
            yield some

    def _leave_out(self, n: int) -> None:
        self.left_out += n

    def _check(self, size: float, limit: float) -> None:
        if size > limit:
            raise ValueError(
                f"{self.what} needs all rows of {self.stream!r} in memory, where they take more "
                f"than {limit / 2**30:.2g} GiB, a quarter of this machine's. Fit a part of them, "
                "open_stream(..., rows=...), or learn chunk by chunk with partial_fit."
            )

    def whole(self) -> Taught:
        """Return all rows at once: what needs them learns in float64, and may copy them once."""
        parts = list(self._bounded(8)) if self._held is None else self._held
        if not parts:
            raise ValueError(
                f"{self.stream!r} has no row to learn from: all lack values, or a label."
            )
        rows = [part.rows for part in parts]
        labels = [part.labels for part in parts]
        return Taught(
            vstack(rows, format="csr") if is_sparse(rows[0]) else np.concatenate(rows),
            None if labels[0] is None else np.concatenate(labels),
        )


def complete(chunks: Any, left_out: Callable[[int], None] | None = None) -> Iterator[Taught]:
    """Yield the complete rows of chunks; ``left_out`` hears how many others there were."""
    with closing(chunks):
        for chunk in chunks:
            some = complete_rows(chunk)
            if left_out is not None:
                left_out(len(chunk) - some.rows.shape[0])
            if some.rows.shape[0]:
                yield some


def all_rows(stream: Any, what: str) -> Taught:
    """Return all complete rows of a stream; refuse more than a quarter of the memory.

    >>> from eigenstream.streams import open_stream
    >>> all_rows(open_stream([[1.0], [2.0]]).with_labels(["a", "b"]), "a test").rows.shape
    (2, 1)
    """
    return Passes(stream, what).whole()


class Course:
    """One fit of a stream: who learns, from where on, and who keeps it on the way.

    ``learned`` is the estimator that learns: a fresh one, or what a checkpoint holds. All that it
    needs to go on is in it whenever the next chunk of ``learning`` is asked for.
    """

    def __init__(self, estimator: Any, stream: Any, keeper: Keeper | None = None) -> None:
        self.stream = stream
        self._keeper = keeper
        found: Resumption | None = None if keeper is None else keeper.begin(estimator, stream)
        self._rows = 0 if found is None else found.rows
        self.learned: Any = fresh(estimator) if found is None else found.estimator
        #: The number of the next pass that learns, from 0.
        self.first_turn = self.turn = 0 if found is None else found.turn
        #: Whether what learns asks for checkpoints of its own fit.
        self.keeps = "checkpoint" in signature(estimator.fit).parameters
        #: Whether a checkpoint is gone on with, and whether nothing is left to do.
        self.goes_on = found is not None
        self.complete = found is not None and found.complete
        if found is not None and not found.complete:
            # Rows go by without names.
            for name in ("feature_names_in_", *NOTED):
                vars(self.learned).pop(name, None)

    @property
    def kept(self) -> bool:
        """Whether checkpoints are asked for."""
        return self._keeper is not None

    @property
    def _name(self) -> str:
        return type(self.learned).__name__

    def all_rows(self, what: str) -> Taught:
        """Return all rows at once, of which nothing can be kept on the way."""
        if self._keeper is None:
            return all_rows(self.stream, what)
        remedy = "leave checkpoint= out"
        if not self.keeps and hasattr(self.learned, "partial_fit"):
            remedy += (
                ", or learn in one pass, chunk by chunk: "
                f"persistence.Checkpoint(path).learn({self._name}(...), stream)"
            )
        raise ValueError(
            f"{what} needs all rows at once, and there is nothing to keep on the way: {remedy}."
        )

    def keep_nothing(self) -> None:
        """Refuse checkpoints: what there is to learn is not worth keeping on the way."""
        if self._keeper is not None:
            raise ValueError(
                f"fit of {self._name} draws its rows in a quick pass and keeps nothing on the way: "
                "leave checkpoint= out. What learns behind it, features=, keeps it."
            )

    def before(self) -> None:
        """Keep what was learned before the first pass, such as a feature map."""
        if self._keeper is not None:
            self._keeper.began(self._noted)

    def passes(self) -> Passes:
        """Return passes over the stream, of which none is kept."""
        return Passes(self.stream, f"fit of {self._name}")

    def learning(
        self,
        passes: Passes | None = None,
        *,
        whole: bool = False,
        left_out: Callable[[int], None] | None = None,
    ) -> Iterator[Taught]:
        """Start the next pass that learns: a chunk is learned when the next one is asked for.

        ``passes`` are given where there are several, which read what can be read once from memory.
        ``whole`` says that nothing is learned before the pass is over, as in batch training.
        """
        turn, keeper = self.turn, self._keeper
        self.turn += 1
        if keeper is None:
            if passes is not None and not self.stream.rereadable:
                found = iter(passes)
                if left_out is not None:
                    left_out(passes.left_out)
                return found
            return complete(self.stream.chunks(), left_out)
        if passes is not None and not self.stream.rereadable:
            raise ValueError(
                f"checkpoint= of several passes needs a stream that can be read again, and "
                f"{self.stream!r} cannot: write it to a file first, or make one pass."
            )
        return complete(self._kept(keeper, turn, whole), left_out)

    def _kept(self, keeper: Keeper, turn: int, whole: bool) -> Iterator[Any]:
        rows, self._rows = self._rows, 0
        with closing(self.stream.chunks(rows)) as chunks:
            keeper.learning = True
            for chunk in chunks:
                yield chunk
                keeper.after(chunk, self._noted, turn, whole)
        keeper.learning = False

    def _noted(self) -> Any:
        """Return what learns as it stands, with what is known of the stream."""
        noted = fresh(self.learned)
        vars(noted).update(vars(self.learned))
        name_columns(noted, self.stream)
        note_source(noted, self.stream)
        return noted

    def end(self) -> Any:
        """Return what has learned; a checkpoint says that the fit is over."""
        if self.complete:
            return self.learned
        learned = self._noted()
        if self._keeper is not None:
            self._keeper.complete(lambda: learned)
        return learned


def learn_chunks(course: Course, **first: Any) -> None:
    """Let the estimator of a course learn from one pass, by ``partial_fit``.

    ``first`` are arguments of the first call only, such as ``classes``.

    >>> from eigenstream import ClassSubspace
    >>> from eigenstream.streams import open_stream
    >>> stream = open_stream(np.eye(4)).with_labels([0, 0, 1, 1])
    >>> course = Course(ClassSubspace(1, eta=1.0), stream)
    >>> learn_chunks(course)
    >>> course.end().n_samples_seen_
    4
    """
    if course.goes_on:
        first = {}
    for rows, labels in course.learning():
        course.learned.partial_fit(rows, *(() if labels is None else (labels,)), **first)
        first = {}
