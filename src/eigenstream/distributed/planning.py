"""The time and memory of a fit on many machines, predicted from speeds measured on this one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, log2
from os import cpu_count
from pathlib import Path
from pickle import dumps, loads
from statistics import median
from sys import maxsize
from tempfile import TemporaryDirectory
from timeit import repeat
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenstream._checks import check_number, check_whole
from eigenstream._machine import CHUNK_VALUES, blas_threads
from eigenstream.distributed.clusters import client_of
from eigenstream.distributed.fitting import (
    MERGES,
    PIECES_PER_THREAD,
    ROWS_PER_FEATURE,
    n_parts_of,
)
from eigenstream.distributed.parts import PART_VALUES
from eigenstream.streams import open_stream
from eigenstream.subspace.slow_subspace import SlowSubspace
from eigenstream.subspace.solvers import chosen

#: The largest number of columns of the calibration. A larger number is more accurate and slower.
MOST_COLUMNS = 512

#: Values in the rows of the calibration (67 MB). Fewer values fit into the cache of a processor,
#: unlike the rows of a fit.
MEASURED_VALUES = 1 << 23

#: Runs of each calibration, of which the median counts. More runs take longer.
RUNS = 3

#: Tasks of the calibration of the scheduler. More tasks take longer.
MEASURED_TASKS = 100

#: Bytes of a worker without data: Python and the libraries.
EMPTY_WORKER = 2.5e8


@dataclass(frozen=True)
class Speeds:
    """The speeds of one worker, for rows of a given width.

    Attributes
    ----------
    read : float
        Bytes read per second. The calibration reads a file from the page cache.
    learn : float
        Rows learned per second.
    merge : float
        Bytes of learners sent and merged per second.
    task : float
        Seconds of the scheduler for each task.
    learner : float
        The bytes of a learner.
    passes : int
        Passes over the rows.
    sketch : bool
        True if the solver is "sketch".
    """

    read: float
    learn: float
    merge: float
    task: float
    learner: float
    passes: int
    sketch: bool


@dataclass(frozen=True)
class FitPlan:
    """The predicted time and memory of a fit.

    Attributes
    ----------
    rows, columns, workers : int
        The size of the data, and the number of workers.
    blocks : int or None
        The number of blocks of a Dask array; None for a stream.
    cores : int or None
        The cores that all workers share; None if each worker has its own.
    speeds : Speeds
        The speeds of one worker.
    times : dict
        Seconds of "reading", "arithmetic", "merging" and "latency".
    seconds : float
        The sum of the times. It does not include the start of the workers.
    bottleneck : str
        The largest of the times.
    memory : float
        Bytes of each worker.
    """

    rows: int
    columns: int
    workers: int
    blocks: int | None
    cores: int | None
    speeds: Speeds

    @property
    def n_parts(self) -> int:
        """The number of parts, each of which one worker learns."""
        least = ROWS_PER_FEATURE * self.columns if self.speeds.sketch else 1
        return min(n_parts_of(self.rows, self.columns, self.workers, least), self.blocks or maxsize)

    @property
    def n_tasks(self) -> int:
        """The number of tasks that learn rows."""
        most = self.blocks or PIECES_PER_THREAD * self.workers
        joined = ceil(self.rows * self.columns / PART_VALUES)  # small blocks are learned together
        return max(min(most, joined), self.n_parts)

    @property
    def times(self) -> dict[str, float]:
        """The seconds of each step."""
        speeds, n_tasks = self.speeds, self.n_tasks
        busy = min(self.workers, self.cores or self.workers, self.n_parts)
        turns = ceil(n_tasks / busy)
        rows = self.rows * turns / n_tasks  # of the busiest worker
        once = {
            "reading": 8.0 * self.columns * rows / speeds.read,
            "arithmetic": rows / speeds.learn,
            # Each task copies the learner of its part.
            "merging": (turns + ceil(log2(busy))) * speeds.learner / speeds.merge,
            # Each part also has an empty learner and a merge.
            "latency": (n_tasks + 2 * self.n_parts) * speeds.task,
        }
        return {name: speeds.passes * seconds for name, seconds in once.items()}

    @property
    def seconds(self) -> float:
        """The sum of the times."""
        return sum(self.times.values())

    @property
    def bottleneck(self) -> str:
        """The step that takes longest."""
        return max(self.times, key=self.times.__getitem__)

    @property
    def memory(self) -> float:
        """The bytes of a worker: two learners, one that is sent, and the terms of a chunk."""
        chunk = min(self.rows * self.columns / self.n_tasks, CHUNK_VALUES)
        return EMPTY_WORKER + 3 * self.speeds.learner + 4 * 8.0 * chunk

    def at(self, rows: float, workers: int) -> "FitPlan":
        """Return the plan for other data, with a core for each worker.

        Parameters
        ----------
        rows : float
            The number of rows.
        workers : int
            The number of workers.

        Returns
        -------
        FitPlan
            The plan for these data.
        """
        return replace(self, rows=int(rows), workers=workers, blocks=None, cores=None)

    def __str__(self) -> str:
        speeds = self.speeds
        notes = {
            "reading": f"{speeds.read / 1e6:,.0f} MB/s a worker",
            "arithmetic": f"{speeds.learn:,.0f} rows/s a worker",
            "merging": f"{self.n_parts:,} learners of {speeds.learner / 1e6:,.3g} MB",
            "latency": f"{self.n_tasks + 2 * self.n_parts:,} tasks of {1e3 * speeds.task:.2g} ms",
        }
        lines = [f"{self.rows:,} rows of {self.columns:,} columns on {self.workers:,} workers"]
        for name, seconds in self.times.items():
            mark = ", the bottleneck" * (name == self.bottleneck)
            lines.append(f"  {name:10} {seconds:12,.2f} s   {notes[name]}{mark}")
        lines.append(f"  {'in all':10} {self.seconds:12,.2f} s   without the start of workers")
        lines.append(f"  {'memory':10} {self.memory / 1e9:12,.2f} GB  for each worker")
        return "\n".join(lines)


def plan(
    rows: int,
    columns: int,
    workers: int = 1,
    *,
    estimator: Any = None,
    blocks: int | None = None,
    cores: int | None = None,
    read: float | None = None,
) -> FitPlan:
    """Predict the time, the memory and the bottleneck of ``distributed.fit``.

    The speeds of reading, learning, merging and scheduling are measured on this machine, in about
    seven seconds. One process for each worker on this machine runs at the same time, because
    busy cores share the memory and the clock. The other machines are assumed to be equal.

    Parameters
    ----------
    rows, columns : int
        The size of the data.
    workers : int, default=1
        The number of workers, with one thread each.
    estimator : estimator, default=None
        The estimator, which is not changed. By default ``SlowSubspace()``.
    blocks : int, default=None
        The number of blocks of a Dask array. By default the plan is for a stream.
    cores : int, default=None
        The cores that all workers share, if they are fewer than the workers.
    read : float, default=None
        Bytes that each worker reads per second from a disk or a network. By default the measured
        speed of the page cache, which is an upper limit.

    Returns
    -------
    FitPlan
        ``print`` shows it in seven lines. ``times``, ``seconds``, ``memory`` and ``bottleneck``
        have the numbers. ``at(rows, workers)`` predicts another size with the same speeds.

    See Also
    --------
    eigenstream.plotting.scaling : Draw the time against the number of workers.

    Notes
    -----
    The calibration starts processes. A script must call ``plan`` under
    ``if __name__ == "__main__":``. The times of all steps are added. Rows wider than 512 columns
    are extrapolated. The cost of a row grows with the square of its columns for solver="dense",
    and linearly for "sketch".

    Examples
    --------
    >>> from eigenstream.distributed import plan
    >>> found = plan(10**9, 20, workers=8)
    >>> len(str(found).splitlines()), sorted(found.times)
    (7, ['arithmetic', 'latency', 'merging', 'reading'])
    >>> found.at(10**9, workers=16).seconds < found.seconds
    True
    """
    sizes = {"rows": rows, "columns": columns, "workers": workers}
    rows, columns, workers = (check_whole(size, name) for name, size in sizes.items())
    blocks, cores = (
        n if n is None else check_whole(n, name)
        for n, name in ((blocks, "blocks"), (cores, "cores"))
    )
    busy = min(workers, cores or cpu_count() or 1)
    speeds = measured(SlowSubspace() if estimator is None else estimator, columns, busy)
    if read is not None:
        speeds = replace(speeds, read=check_number(read, "read", above=0))
    return FitPlan(rows, columns, workers, blocks, cores, speeds)


def measured(estimator: Any, columns: int, busy: int) -> Speeds:
    """Return the speeds of ``busy`` processes of this machine that run at the same time."""
    solver = chosen(estimator, columns, None, MERGES)
    model, sketch = clone(estimator).set_params(solver=solver), solver.name == "sketch"
    width = min(columns, MOST_COLUMNS)
    wider = (columns / width) ** (1 if sketch else 2)
    X = np.random.default_rng(0).standard_normal((MEASURED_VALUES // width, width))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, X)
        with client_of(busy, None, folder) as client:
            client.run(seconds_of_steps, model, X[:100])  # imports
            seconds = client.run(seconds_of_steps, model, path).values()
            tasks = range(MEASURED_TASKS)
            latency = median_seconds(lambda: client.gather(client.map(abs, tasks, pure=False)))
    reading, learning, merging, size = np.mean(list(seconds), axis=0).tolist()
    return Speeds(
        read=X.nbytes / reading,
        learn=len(X) / (learning * wider),
        merge=size / merging,
        task=latency / MEASURED_TASKS,
        learner=size * wider,
        passes=solver.passes,
        sketch=sketch,
    )


def seconds_of_steps(model: Any, given: Any) -> tuple[float, float, float, int]:
    """Return the seconds to read, learn and merge, and the bytes of a learner."""
    with blas_threads(1):
        X = np.concatenate([chunk.rows for chunk in open_stream(given)])
        y = np.arange(len(X)) % 2
        learner = clone(model).partial_fit(X, y)
        reading = median_seconds(lambda: list(map(len, open_stream(given))))
        learning = median_seconds(lambda: clone(model).partial_fit(X, y))
        merging = median_seconds(lambda: loads(dumps(learner)).merge(learner))
    return reading, learning, merging, len(dumps(learner))


def median_seconds(call: Callable[[], Any]) -> float:
    """Return the median of the seconds of a few calls."""
    return median(repeat(call, number=1, repeat=RUNS))
