"""Checkpoints of ``fit``: their options, and a signal that ends a fit where it can go on."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from eigenstream.cli import _data

__all__ = ["KeepingOptions", "learned", "stoppable"]

#: Signals that ask a command to end.
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@dataclass
class KeepingOptions:
    """Where a fit leaves what it has learned so far."""

    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Keep what has been learned so far in this file, for --resume.", dir_okay=False
        ),
    ] = None
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on where the checkpoint stands, if there is one."),
    ] = False
    every: Annotated[
        int | None,
        typer.Option(help="Rows from one checkpoint to the next; by default it goes by time."),
    ] = None

    def keeper(self, data: list[str], out: Path | None) -> Any:
        """Return who writes the checkpoints, or None."""
        from eigenstream.models import Checkpoint

        path = self.checkpoint
        if path is None:
            for option, given in (("--resume", self.resume), ("--every", self.every is not None)):
                if given:
                    raise ValueError(f"{option} goes with --checkpoint FILE, and there is none.")
            return None
        if out is not None and path.resolve() == out.resolve():
            raise ValueError(f"--checkpoint {path}: the model is to be there. Name another file.")
        _data.check_unread(path, data, "--checkpoint")
        return Checkpoint(path, every=self.every, resume=self.resume)


def learned(estimator: Any, stream: Any, keeper: Any = None) -> Any:
    """Return an estimator that has learned from a stream; a keeper keeps what it learns on the way.

    >>> import numpy as np
    >>> from eigenstream import StreamPCA, open_stream
    >>> learned(StreamPCA(1), open_stream(np.eye(3))).n_samples_seen_
    3
    """
    if keeper is None:
        return estimator.fit(stream)
    if "checkpoint" in signature(estimator.fit).parameters:
        return estimator.fit(stream, checkpoint=keeper)
    from eigenstream import RBFNetwork

    if isinstance(getattr(estimator, "features", None), RBFNetwork):
        # In fit the map has a pass of its own, before; chunk by chunk it has not.
        raise ValueError(
            f"--features rbf learns its prototypes in a pass of its own, which --checkpoint of a "
            f"{type(estimator).__name__} does not keep: do without one of them."
        )
    return keeper.learn(estimator, stream)


@contextmanager
def stoppable(keeper: Any) -> Iterator[None]:
    """Let the first signal end the fit behind its chunk, and say what the checkpoint holds.

    The second signal ends it at once, as does the first one where nothing is kept.
    """
    if keeper is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {}
    asked: list[int] = []

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)
        before.clear()

    def stop(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        keeper.stop()
        restore()

    for name in SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, stop)
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if not asked:
            raise
        _say(keeper)
        sys.exit(128 + asked[0])
    except ValueError as refusal:
        # What Python says of itself, in the words of the command line.
        words = (
            str(refusal).replace("resume=True", "--resume").replace("checkpoint=", "--checkpoint")
        )
        raise ValueError(words) from refusal
    finally:
        restore()


def _say(keeper: Any) -> None:
    if keeper.rows:
        words = f"{keeper.path} holds the first {keeper.rows:,} rows: --resume goes on from there."
    else:
        words = "before the first checkpoint, so that nothing is kept."
    typer.echo(f"eigenstream: interrupted; {words}", err=True)
