"""What an estimator answers to the rows of a stream: a stream again."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, cast

import numpy as np

from eigenstream._checks import is_sparse
from eigenstream.streams._chunk import Chunk
from eigenstream.streams._steps import Step
from eigenstream.streams._stream import Stream
from eigenstream.streams.base import StreamError

__all__ = ["Mapped"]


class Mapped(Stream):
    """A stream of what a function makes of each chunk's rows, one answer a row.

    Chunks keep their sequences, labels and places. A row that weighs nothing has zeros, as in the
    stream itself, where answers are numbers.
    """

    def __init__(self, stream: Stream, function: Callable[[Any], Any]) -> None:
        self._of, self._function = stream, function

    def __repr__(self) -> str:
        return f"Mapped({self._of!r})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._of, name)

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the names of the files, in order."""
        return self._of.sources

    @property
    def n_rows(self) -> int | None:
        """Return how many rows all chunks have together, or None where only reading will tell."""
        return self._of.n_rows

    @property
    def n_features(self) -> int | None:
        """Return None: only the answers will tell."""
        return None

    @property
    def dtype(self) -> None:
        """Return None: only the answers will tell."""
        return

    @property
    def feature_names(self) -> None:
        """Return None: answers have no names of columns."""
        return

    @property
    def row_shape(self) -> None:
        """Return None: answers are plain rows."""
        return

    @property
    def rereadable(self) -> bool:
        """Say whether it can be read several times."""
        return self._of.rereadable

    @property
    def n_filled(self) -> int:
        """Return how many missing values the last pass has filled in."""
        return self._of.n_filled

    @property
    def labelled(self) -> bool:
        """Say whether its chunks have labels."""
        return self._of.labelled

    def with_labels(self, labels: Any) -> "Mapped":
        """Return the same answers with labels from elsewhere, one for each row that is read."""
        return Mapped(self._of.with_labels(labels), self._function)

    def through(self, *steps: Step) -> Stream:
        """Refuse steps behind an estimator."""
        if steps:
            raise StreamError(
                "steps of preprocessing go before the estimator: stream.through(...), and then "
                "transform."
            )
        return self

    def mapped(self, function: Callable[[Any], Any]) -> "Mapped":
        """Return the stream of what a function makes of the answers."""
        return Mapped(self, function)

    def keeping_holes(self) -> "Mapped":
        """Return the stream itself: answers have no holes."""
        return self

    def learn_steps(self, told: Callable[[int], object] = lambda n: None) -> None:
        """Make the passes that steps need before the one that counts, unless they were made."""
        self._of.learn_steps(told)

    @property
    def share_read(self) -> float | None:
        """Return about which share of it the pass has read; None where nobody can tell."""
        return self._of.share_read

    def identity(self) -> dict[str, Any]:
        """Refuse: what made the answers cannot be told by looking at the rows."""
        raise StreamError(
            f"{self.sources[0]}: answers of an estimator cannot be told from those of another, so "
            "that no checkpoint serves. Write them to a file first, or pass the estimator's map "
            "as features=."
        )

    def chunks(
        self, skip: int = 0, *, after: Mapping[str, Any] | None = None, places: bool = False
    ) -> Iterator[Chunk]:
        """Start a pass; what is read ahead is rows, and answers are made as they are asked for."""
        passing = self._of.chunks(skip, after=after, places=places)
        with closing(cast(Any, passing)) as chunks:
            for chunk in chunks:
                answers: Any = self._function(chunk.rows)
                if chunk.weights is not None and not is_sparse(answers):
                    answers = np.array(answers)
                    if answers.dtype.kind in "biuf":
                        answers[chunk.weights == 0] = 0
                yield replace(chunk, rows=answers, mark=chunk.place)
