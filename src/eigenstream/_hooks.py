"""Functions of higher floors that estimators call: checkpoints, streams and work on Dask data.

They are imported when they are called, because their modules import estimators.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from eigenstream._types import Estimator, StreamLike

__all__ = ["KEEPING", "Keeper", "Resumption", "keeper_of"]

#: The parameters of checkpoints in every ``fit`` that learns from a stream, and their docs.
KEEPING = {
    "checkpoint": """\
checkpoint : str, path or persistence.Checkpoint, default=None
    For streams: a model file to which ``fit`` writes its state at intervals.""",
    "every": """\
every : int, default=None
    Number of rows between two checkpoints. By default checkpoints are written at time
    intervals.""",
    "resume": """\
resume : bool, default=False
    If True, resume from the checkpoint if it exists. The result equals that of an uninterrupted
    fit, to rounding. Different data or parameters raise an error.""",
}


@dataclass(frozen=True)
class Resumption:
    """The contents of a checkpoint: the estimator and its position in the stream."""

    estimator: Estimator
    #: The number of learned rows of the pass. ``chunks(skip=rows)`` continues after them.
    rows: int
    #: The number of the pass, from 0.
    turn: int
    #: True if the fit was complete.
    complete: bool


class Keeper(Protocol):
    """Interface of objects that write checkpoints and read the last one."""

    #: True during a pass that learns. Stopping at any other time loses nothing.
    learning: bool

    def begin(
        self, estimator: Estimator, stream: StreamLike, **settings: object
    ) -> Resumption | None:
        """Return the position to resume from, or None for a new fit.

        Different data, parameters or settings raise an error.
        """

    def began(self, learned: Callable[[], object]) -> None:
        """Write a checkpoint after work before the first chunk, such as fitting a feature map."""

    def after(
        self, chunk: Any, learned: Callable[[], object], turn: int = 0, whole: bool = False
    ) -> None:
        """Note a learned chunk, and write a checkpoint if one is scheduled.

        ``learned`` returns the current estimator. If ``whole`` is True, the estimator learns only
        at the end of a pass, and an interrupted pass is repeated.
        """

    def complete(self, learned: Callable[[], object]) -> None:
        """Write the final checkpoint of a complete fit."""


def upper(path: str) -> Callable[..., Any]:
    """Return a function that imports a function of a higher floor when it is called.

    >>> upper("eigenstream.open_stream")([[1.0, 2.0]]).n_features
    2
    """
    module, name = path.rsplit(".", 1)

    def call(*what: object, **how: object) -> Any:
        return getattr(import_module(module), name)(*what, **how)

    return call


#: Return a keeper for the path and the parameters ``every`` and ``resume`` of a fit.
make_keeper = upper("eigenstream.persistence.Checkpoint")
#: Fit an estimator to Dask data.
fit_dask = upper("eigenstream.distributed.fit")
#: Return the lazy results of a method for Dask data.
map_dask = upper("eigenstream.distributed.parts.mapped")
#: Let the workers of a cluster add to an array for ranges of rows.
spread_dask = upper("eigenstream.distributed.parts.spread")
#: Return a stream of a source.
open_stream = upper("eigenstream.streams.open_stream")


def keeper_of(checkpoint: Any, every: Any, resume: Any) -> Keeper | None:
    """Return the keeper for the arguments of a fit, or None without a checkpoint.

    ``checkpoint`` is a path or an existing keeper.

    >>> keeper_of(None, None, False) is None
    True
    """
    if checkpoint is None:
        for name, value in (("every", every), ("resume", resume or None)):
            if value is not None:
                raise ValueError(f"{name}= requires checkpoint=. Pass the path of the checkpoint.")
        return None
    if hasattr(checkpoint, "begin"):
        if every is not None or resume:
            raise ValueError("fit has a Checkpoint. Pass every= and resume= to this Checkpoint.")
        keeper: Keeper = checkpoint
        return keeper
    kept: Keeper = make_keeper(checkpoint, every=every, resume=resume)
    return kept
