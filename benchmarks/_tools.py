"""Timing side by side, and tables of results."""

import json
import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from platform import processor
from time import perf_counter, sleep
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

console = Console(width=110)

RESULTS = Path(__file__).with_name("results")
#: The tables of this run.
shown: list[dict[str, Any]] = []


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
    """Print one table, and remember it for ``store``."""
    shown.append({"title": title, "columns": columns, "rows": rows})
    table = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def store(name: str) -> None:
    """Write the tables of this run, with the date and the machine, to ``results/NAME.json``."""
    facts = {"date": date.today().isoformat(), "machine": machine(), "tables": shown}
    text = json.dumps(facts, indent=1, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def machine() -> str:
    """Return the processor and its number of cores."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{next(iter(names), processor() or 'unknown processor')}, {os.cpu_count()} cores"


def stored_data(name: str) -> dict[str, Any] | None:
    """Return the arrays of ``NAME.npz`` in EIGENSTREAM_DATA, or None if there is no such file."""
    for folder in filter(None, os.environ.get("EIGENSTREAM_DATA", "").split(os.pathsep)):
        path = Path(folder) / f"{name}.npz"
        if path.exists():
            with np.load(path) as arrays:
                return dict(arrays)
    console.print(f"{name}: set EIGENSTREAM_DATA to the folder of {name}.npz")
    return None


def stored_images(name: str) -> tuple[Any, Any] | None:
    """Return the images of ``NAME.npz`` as rows from 0 to 1 and their labels, or None."""
    if (stored := stored_data(name)) is None:
        return None
    images = stored["images"]
    return images.reshape(len(images), -1) / 255.0, stored["labels"]


def distances(atoms: Any) -> Any:
    """Return the distances between all pairs of atoms, whose places are (..., atoms, 3)."""
    first, last = np.triu_indices(atoms.shape[-2], 1)
    return np.linalg.norm(atoms[..., first, :] - atoms[..., last, :], axis=-1)


def rate_and_error(rate: float, n: int) -> str:
    """Return a rate of n trials with its standard error."""
    return f"{rate:.3f} ± {np.sqrt(max(rate * (1.0 - rate), 0.25 / n) / n):.3f}"
