"""Timing side by side: every contestant in turn, several rounds, the best of each."""

from collections.abc import Callable
from time import perf_counter, sleep

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

console = Console(width=110)


def race(
    contestants: dict[str, Callable[[], object]],
    rounds: int = 3,
    threads: int = 1,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, float]:
    """Return each contestant's best time in seconds, under a bound on threads.

    ``time.process_time`` as the clock counts the seconds of the processor: what to look at for runs
    of one thread where others keep the machine busy.

    Rounds are interleaved, so that a busy moment of the machine does not fall on one alone. Before
    each is a pause: the threads of a BLAS spin for a while when their work is done.
    """
    best = dict.fromkeys(contestants, float("inf"))
    with threadpool_limits(threads):
        for _ in range(rounds):
            for name, run in contestants.items():
                sleep(0.1)
                start = clock()
                run()
                best[name] = min(best[name], clock() - start)
    return best


def show(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print one table."""
    table = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)
