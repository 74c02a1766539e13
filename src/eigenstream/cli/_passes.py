"""Several passes over the rows: the option, and which of them it is that goes on."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from eigenstream.cli._learning import LearningOptions

__all__ = ["RepeatedOptions", "Turns"]


@dataclass
class RepeatedOptions(LearningOptions):
    """How it is learned, and how often from the same rows."""

    passes: Annotated[
        int,
        typer.Option(
            help="How many times the rows are learned from, with --solver sketch: each pass comes "
            "nearer to the best answer. Standard input allows one."
        ),
    ] = 1


@dataclass
class Turns:
    """What says, where a pass begins, which one of several it is, if it is to learn.

    >>> from eigenstream import StreamPCA
    >>> turns = Turns(StreamPCA(2), None, 2)
    >>> turns(), turns(), turns.made
    (', pass 1 of 2', ', pass 2 of 2', 2)
    """

    estimator: Any
    keeper: Any
    passes: int
    _done: int | None = None

    def __call__(self) -> str:
        """Say it, of the pass that begins."""
        estimator, keeper = self.estimator, self.keeper
        of_map = estimator.features is not None and not hasattr(estimator, "features_")
        if self.passes < 2 or of_map:
            return ""
        # The first one here is that in which the checkpoint stands.
        before = 0 if keeper is None else keeper.passes
        self._done = before if self._done is None else self._done + 1
        return f", pass {self._done + 1} of {self.passes}"

    @property
    def made(self) -> int:
        """How many passes there were: fewer than asked for where nothing was left to be found."""
        return self.passes if self._done is None else self._done + 1
