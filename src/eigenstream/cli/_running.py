"""A fit of a stream: its pass, its checkpoint, its files and its results."""

import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from eigenstream.cli._options import RunOptions, sides
from eigenstream.cli._output import Watched, names_of, waiting

__all__ = ["SIGNALS", "counted", "finished", "fitted", "pace", "stoppable", "watched"]

#: Signals that ask a command to end.
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if name in dir(signal)]


def fitted(
    estimator: Any,
    stream: Any,
    keeper: Any,
    run: RunOptions,
    found: Callable[..., tuple[dict[str, Any], dict[str, str]]],
) -> None:
    """Learn from a stream, with checkpoints, and finish."""
    begun = perf_counter()
    with stoppable(keeper):
        with watched(stream, run) as rows:
            estimator.fit(rows, checkpoint=keeper)
        seconds = perf_counter() - begun
        finished(estimator, rows, keeper, run, found, seconds)


def watched(stream: Any, run: RunOptions) -> Watched:
    """Return a stream that shows its progress, and that samples its rows for the report."""
    if run.report is None:
        return Watched(stream)
    from eigenstream.reports import SeenRows

    return Watched(stream, seen=SeenRows(tuple(stream.sources)))


def finished(
    estimator: Any,
    stream: Watched,
    keeper: Any,
    run: RunOptions,
    found: Callable[..., tuple[dict[str, Any], dict[str, str]]],
    seconds: float,
) -> None:
    """Save the model, write its page and print what ``found`` returns."""
    from eigenstream.persistence import save

    with waiting("solving"):
        numbers, facts = found(estimator, stream, seconds, keeper)
    if run.out is not None:
        save(estimator, run.out)
    if run.report is not None:
        from eigenstream.reports import SeenRows, report

        seen = stream.seen
        taken = getattr(estimator, "n_samples_seen_", None)
        if taken is None:  # prototypes count steps: a row each in every pass
            taken = estimator.n_steps_ // getattr(estimator, "n_iter_", 1)
        if seen.n_rows != taken + estimator.n_samples_skipped_ and stream.rereadable:
            # The last pass was not a whole one, such as after --resume.
            seen = SeenRows.of(stream)
        with waiting("writing the report"):
            report(
                estimator,
                run.report,
                seen,
                shape=sides(run.shape, run.pixels),
                seconds={"reading and learning": seconds},
                command=shlex.join(["eigenstream", *sys.argv[1:]]),
            )
    run.show(estimator, numbers, facts)


def counted(
    estimator: Any, stream: Any, seconds: float, keeper: Any, rows: int, unit: str, passes: int = 1
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the results that every fit reports, as numbers and as text."""
    skipped = estimator.n_samples_skipped_
    found = {
        "sources": list(stream.sources),
        "rows_skipped": skipped,
        "columns": estimator.n_features_in_,
        "seconds": seconds,
    }
    left_out = f", {skipped:,} rows left out" if skipped else ""
    again = f", in {passes} passes" if passes > 1 else ""
    return found, {
        "sources": names_of(found["sources"]),
        unit: f"{rows:,}{left_out}{again}",
        "columns": str(found["columns"]),
        "time": pace(seconds, rows * passes, unit, keeper),
    }


def pace(seconds: float, done: int, unit: str, keeper: Any) -> str:
    """Return the time of a fit and its rate; a resumed fit counts its own rows only.

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
    """Let the first signal end the fit behind its chunk, and print what the checkpoint holds.

    The second signal ends the fit at once. So does the first one if nothing would be lost.
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

    def stop(number: int, frame: object) -> None:
        asked.append(number)
        restore()
        if not keeper.learning:
            sys.exit(128 + number)
        keeper.stop()

    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, stop)
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if not asked:
            raise
        kept = "Nothing was kept: it ended before the first checkpoint."
        if keeper.rows or keeper.passes:
            kept = f"{keeper.path} holds {keeper.held}. --resume continues from there."
        print("eigenstream: interrupted.", kept, file=sys.stderr)
        sys.exit(128 + asked[0])
    finally:
        restore()
