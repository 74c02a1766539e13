"""The seam between a fit that reads a stream and the file it leaves on the way.

Whatever learns lies below the model files, which know every class. So it asks for a keeper here,
and the package's own ``__init__``, above all floors, says who makes one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["KEEPING", "Keeper", "Resumption", "keeper_of", "made_by"]

#: What is about checkpoints in every ``fit`` that learns from a stream, and what it means.
KEEPING = {
    "checkpoint": """\
checkpoint : str or path, or a persistence.Checkpoint, optional
    Of a stream: a file that holds what has been learned so far, replaced whole from time to
    time. It is a model file, too.""",
    "every": """\
every : int, optional
    Rows from one checkpoint to the next; by default it goes by time.""",
    "resume": """\
resume : bool
    Continue where the checkpoint stands, if there is one. The result is that of a fit that was
    never interrupted, to rounding. Other data and other parameters raise an error.""",
}


@dataclass(frozen=True)
class Resumption:
    """What a checkpoint holds: the estimator as it was, and where in the stream it stood."""

    estimator: Any
    #: How many rows of the pass it has learned: ``chunks(skip=rows)`` continues behind them.
    rows: int
    #: The number of the pass, from 0.
    turn: int
    #: Whether the fit had come to its end: nothing is left to read.
    complete: bool


class Keeper(Protocol):
    """Who writes checkpoints, and reads the last one."""

    #: Whether a pass that learns is under way: else there is nothing that a stop would lose.
    learning: bool

    def begin(self, estimator: Any, stream: Any, **settings: Any) -> Resumption | None:
        """Return where to go on, or None; refuse what differs: data, parameters or settings."""

    def began(self, learned: Callable[[], Any]) -> None:
        """Hear that something was learned before the first chunk, which is worth keeping."""

    def after(
        self, chunk: Any, learned: Callable[[], Any], turn: int = 0, whole: bool = False
    ) -> None:
        """Hear that a chunk has been learned; ``learned`` gives the estimator as it stands.

        ``whole`` says that nothing is learned before the pass is over: it has to be made again.
        """

    def complete(self, learned: Callable[[], Any]) -> None:
        """Hear that the fit is over."""


#: Who makes a keeper of a path, rows between checkpoints and the wish to go on.
_makers: list[Callable[[Any, Any, Any], Keeper]] = []


def made_by(maker: Callable[[Any, Any, Any], Keeper]) -> None:
    """Say who makes a keeper of ``checkpoint=``, ``every=`` and ``resume=``."""
    _makers[:] = [maker]


def keeper_of(checkpoint: Any, every: Any, resume: Any) -> Keeper | None:
    """Return the keeper that the arguments of a fit ask for, or None.

    ``checkpoint`` is a path, or a keeper that was made before.

    >>> keeper_of(None, None, False) is None
    True
    """
    if checkpoint is None:
        for name, value in (("every", every), ("resume", resume or None)):
            if value is not None:
                raise ValueError(f"{name}= is about checkpoints: say where with checkpoint=.")
        return None
    if hasattr(checkpoint, "begin"):
        if every is not None or resume:
            raise ValueError("a keeper of checkpoints has its own every= and resume=.")
        keeper: Keeper = checkpoint
        return keeper
    return _makers[0](checkpoint, every, resume)
