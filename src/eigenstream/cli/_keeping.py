"""Checkpoints of ``fit``: their options, and a signal that ends a fit where it can go on."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from eigenstream.cli import _data

__all__ = ["KeepingOptions", "pace", "stoppable"]

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
        from eigenstream.persistence import Checkpoint

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


def pace(seconds: float, done: int, unit: str, keeper: Any) -> str:
    """Return how long a fit took, and its rate: of what it has learned itself, where it went on.

    >>> pace(2.0, 600, "rows", None)
    '2.00 s, 300 rows a second'
    """
    if keeper is not None and keeper.resumed:
        done = keeper.rows_since
    if not done:
        return f"{seconds:.2f} s: the fit was over before"
    return f"{seconds:.2f} s, {done / max(seconds, 1e-9):,.0f} {unit} a second"


@contextmanager
def stoppable(keeper: Any) -> Iterator[None]:
    """Let the first signal end the fit behind its chunk, and say what the checkpoint holds.

    The second signal ends it at once, as does the first one where nothing is kept, or where nothing
    has been learned that the checkpoint does not hold: in passes that only look at the rows.
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
        restore()
        if not keeper.learning:
            sys.exit(128 + number)
        keeper.stop()

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
    finally:
        restore()


def _say(keeper: Any) -> None:
    if keeper.rows or keeper.passes:
        words = f"{keeper.path} holds {keeper.held}: --resume goes on from there."
    else:
        words = "before the first checkpoint, so that nothing is kept."
    typer.echo(f"eigenstream: interrupted; {words}", err=True)
