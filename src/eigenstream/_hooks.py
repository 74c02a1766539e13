"""What estimators call of the floors above: pages and checkpoints. The package's init sets both."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["KEEPING", "Keeper", "Reported", "Resumption", "keeper_of"]

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


def _not_set(*_: Any, **__: Any) -> Any:
    raise RuntimeError("Import eigenstream first.")


#: Writes the page about an estimator: ``eigenstream.report``.
report: Callable[..., Any] = _not_set
#: Makes a keeper of the arguments ``checkpoint``, ``every`` and ``resume`` of a fit.
make_keeper: Callable[[Any, Any, Any], Keeper] = _not_set


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
    return make_keeper(checkpoint, every, resume)


class Reported:
    """Has a ``report``."""

    def report(
        self, path: Any, X: Any = None, y: Any = None, *, shape: tuple[int, int] | None = None
    ) -> None:
        """Write a page about what has been learned: one HTML file that loads nothing.

        The same as ``eigenstream.report(estimator, path, ...)``, which says more.

        Parameters
        ----------
        path : str or path
            The page, ending in .html; it is written whole or not at all.
        X : array, list of arrays or stream, optional
            The rows learned from, or others: the page shows features over the first of them.
        y : array-like, optional
            Labels of the rows (signs of pairs): the page judges by them.
        shape : (height, width), optional
            Of the images that rows are: components are shown as images.
        """
        report(self, path, X, y, shape=shape)
