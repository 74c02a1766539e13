"""Several passes over the rows: the option, and which of them it is that goes on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from eigenstream.cli._learning import LearningOptions

__all__ = ["RepeatedOptions", "turns"]


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


def turns(estimator: Any, keeper: Any, passes: int) -> Callable[[], str]:
    """Return what says, where a pass begins, which one of several it is, if it is to learn.

    >>> from eigenstream import StreamPCA
    >>> words = turns(StreamPCA(2), None, 2)
    >>> words(), words()
    (', pass 1 of 2', ', pass 2 of 2')
    """
    done: int | None = None

    def begun() -> str:
        nonlocal done
        of_map = estimator.features is not None and not hasattr(estimator, "features_")
        if passes < 2 or of_map:
            return ""
        # The first one here is that in which the checkpoint stands.
        before = 0 if keeper is None else keeper.passes
        done = before if done is None else done + 1
        return f", pass {done + 1} of {passes}"

    return begun
