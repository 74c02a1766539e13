"""The time and memory of a fit on many machines, predicted from speeds measured on this one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, log2
from pathlib import Path
from pickle import dumps, loads
from tempfile import TemporaryDirectory
from time import process_time
from timeit import repeat
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenstream._checks import check_number, check_whole
from eigenstream._machine import CHUNK_VALUES, blas_threads
from eigenstream.distributed.clusters import client_of
from eigenstream.distributed.fitting import MERGES, ROWS_PER_FEATURE, n_parts_of
from eigenstream.distributed.parts import PART_VALUES
from eigenstream.streams import open_stream
from eigenstream.subspace.slow_subspace import SlowSubspace
from eigenstream.subspace.solvers import chosen

#: The largest number of columns of the calibration. A larger number is more accurate and slower.
MOST_COLUMNS = 512

#: Runs of each calibration, of which the fastest counts. More runs take longer.
RUNS = 3

#: Tasks of the calibration of the scheduler. More tasks take longer.
MEASURED_TASKS = 100

#: The number of tasks for each part: its rows, its learner and a merge.
TASKS = 3

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
    parts : int or None
        The number of parts that are learned and merged; None for that of a stream.
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
    parts: int | None
    cores: int | None
    speeds: Speeds

    @property
    def n_parts(self) -> int:
        """The number of parts that are learned and merged."""
        least = ROWS_PER_FEATURE * self.columns if self.speeds.sketch else 1
        return self.parts or n_parts_of(self.rows, self.columns, self.workers, least)

    @property
    def times(self) -> dict[str, float]:
        """The seconds of each step."""
        speeds, n_parts = self.speeds, self.n_parts
        busy = min(self.workers, self.cores or self.workers, n_parts)
        turns = ceil(n_parts / busy)
        rows = self.rows * turns / n_parts  # of the busiest worker
        once = {
            "reading": 8.0 * self.columns * rows / speeds.read,
            "arithmetic": rows / speeds.learn,
            "merging": (turns - 1 + ceil(log2(busy))) * speeds.learner / speeds.merge,
            "latency": TASKS * n_parts * speeds.task,
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
        chunk = min(self.rows * self.columns / self.n_parts, CHUNK_VALUES)
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
        return replace(self, rows=int(rows), workers=workers, parts=None, cores=None)

    def __str__(self) -> str:
        speeds = self.speeds
        notes = {
            "reading": f"{speeds.read / 1e6:,.0f} MB/s a worker",
            "arithmetic": f"{speeds.learn:,.0f} rows/s a worker",
            "merging": f"{self.n_parts:,} learners of {speeds.learner / 1e6:,.3g} MB",
            "latency": f"{TASKS * self.n_parts:,} tasks of {1e3 * speeds.task:.2g} ms",
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
    parts: int | None = None,
    cores: int | None = None,
    read: float | None = None,
) -> FitPlan:
    """Predict the time, the memory and the bottleneck of ``distributed.fit``.

    The speeds of reading, learning, merging and scheduling are measured on this machine, in about
    two seconds. The other machines are assumed to be equal.

    Parameters
    ----------
    rows, columns : int
        The size of the data.
    workers : int, default=1
        The number of workers, with one thread each.
    estimator : estimator, default=None
        The estimator, which is not changed. By default ``SlowSubspace()``.
    parts : int, default=None
        The number of blocks of a Dask array. By default the number of parts of a stream.
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
    The times of all steps are added. Rows wider than 512 columns are extrapolated. The cost of a
    row grows with the square of its columns for solver="dense", and linearly for "sketch".

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
    given = {"parts": parts, "cores": cores}
    given = {name: n if n is None else check_whole(n, name) for name, n in given.items()}
    speeds = measured(SlowSubspace() if estimator is None else estimator, columns)
    if read is not None:
        speeds = replace(speeds, read=check_number(read, "read", above=0))
    return FitPlan(rows, columns, workers, **given, speeds=speeds)


def measured(estimator: Any, columns: int) -> Speeds:
    """Return the speeds of this machine for an estimator of rows with ``columns`` columns."""
    solver = chosen(estimator, columns, None, MERGES)
    model, sketch = clone(estimator).set_params(solver=solver), solver.name == "sketch"
    width = min(columns, MOST_COLUMNS)
    wider = (columns / width) ** (1 if sketch else 2)
    X = np.random.default_rng(0).standard_normal((PART_VALUES // width, width))
    y = np.arange(len(X)) % 2
    with TemporaryDirectory() as folder, blas_threads(1):
        path = Path(folder) / "rows.npy"
        np.save(path, X)
        reading = fastest(lambda: list(map(len, open_stream(path))))
        learning = fastest(lambda: clone(model).partial_fit(X, y))
        learner = clone(model).partial_fit(X, y)
        merging = fastest(lambda: loads(dumps(learner)).merge(learner))
        with client_of(1, None, folder, processes=False) as client:
            tasks = range(MEASURED_TASKS)
            latency = fastest(lambda: client.gather(client.map(abs, tasks, pure=False)))
    size = len(dumps(learner))
    return Speeds(
        read=X.nbytes / reading,
        learn=len(X) / (learning * wider),
        merge=size / merging,
        task=latency / MEASURED_TASKS,
        learner=size * wider,
        passes=solver.passes,
        sketch=sketch,
    )


def fastest(call: Callable[[], Any]) -> float:
    """Return the processor time of the fastest of a few calls, as on a quiet machine."""
    return min(repeat(call, timer=process_time, number=1, repeat=RUNS))
