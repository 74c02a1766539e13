"""Fits on 1, 2 and 4 worker processes, and of 4 GB on two workers of 700 MB."""

import warnings
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any
from unittest.mock import patch

import dask.array as da
import numpy as np
from dask import delayed
from sklearn.base import clone

from benchmarks._streams import mixed
from benchmarks._tools import show
from distributed import Client, LocalCluster
from eigenstream import Sketch, SlowSubspace, StreamPCA
from eigenstream.distributed import fit
from eigenstream.subspace import matrices

#: The shapes of the rows of the table (1.6 GB) and of the large fit (4 GB), and rows of a block.
SHAPE, LARGE, BLOCK = (1_000_000, 200), (2_500_000, 200), 10_000

#: Bytes of the large fit that a worker may take.
LIMIT = 700_000_000


def block(block_info: Any = None) -> Any:
    """Return rows that are cheap to make."""
    rng = np.random.default_rng(block_info[None]["chunk-location"][0])
    return np.tile(
        rng.standard_normal((1000, 200)) * np.linspace(3.0, 1.0, 200), (BLOCK // 1000, 1)
    )


def rows_of(shape: tuple[int, int]) -> Any:
    """Return lazy rows, made on the workers."""
    return da.map_blocks(block, chunks=((BLOCK,) * (shape[0] // BLOCK), shape[1]), dtype=float)


def peak() -> int:
    """Return the most memory of this process, in bytes."""
    status = Path("/proc/self/status").read_text()  # ru_maxrss includes the parent process
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def timed(run: Any) -> float:
    """Return the seconds of a call."""
    start = perf_counter()
    run()
    return perf_counter() - start


def svd(rows: Any) -> Any:
    """Return components by Dask's randomised decomposition."""
    return da.linalg.svd_compressed(rows - rows.mean(axis=0), 10, n_power_iter=1)[2].compute()


def on_workers(n_workers: int, limit: int, run: Any) -> Any:
    """Return the result of a function of the client of new worker processes."""
    with TemporaryDirectory() as folder:
        how: dict[str, Any] = {"dashboard_address": ":0", "local_directory": folder}
        how |= {"n_workers": n_workers, "threads_per_worker": 1, "memory_limit": limit}
        with LocalCluster(**how) as workers, Client(workers) as client:
            client.run(StreamPCA(10).fit, np.eye(200))  # imports
            return run(client)


def shares() -> list[list[str]]:
    """Return the shares of the optimum that sketches merged from parts reach, in lines."""
    table = []
    for name, rows in {
        "slow, D=500, n=20,000": mixed(20_000, 0, D=500),
        "slow, D=784, n=20,000": mixed(20_000, 0, D=784, noise=1.0),
    }.items():
        best = SlowSubspace(5, alpha=0.3, solver="dense", basis="eigenvalue").fit(rows)
        T, blocks = matrices(best).matrix(), [delayed(one) for one in np.split(rows, 40)]
        for n in (1, 2, 4, 8):
            line = [name, str(n), f"{len(rows) / n / rows.shape[1]:.1f}"]
            for passes in (1, 2, 3):
                found = clone(best).set_params(solver=Sketch(passes=passes))
                with patch("os.cpu_count", return_value=n):  # the number of parts
                    V = fit(found, blocks).components_
                line.append(f"{np.trace(V @ T @ V.T) / best.result_.objective:.3f}")
            table.append(line)
    return table


def main() -> None:
    """Print the table of the numbers of workers, the memory of the large fit, and the shares."""
    rows, large = rows_of(SHAPE), rows_of(LARGE)
    model = StreamPCA(10)
    memory = rows.compute(scheduler="threads")
    seconds = min(timed(partial(model.fit, memory)) for _ in range(2))
    del memory
    table = [["one process, rows in memory", f"{seconds:.1f}", ""]]
    for n in (1, 2, 4):

        def both(client: Any) -> tuple[float, float]:
            seconds = min(timed(partial(fit, model, rows, client=client)) for _ in range(2))
            return seconds, timed(partial(svd, rows))

        ours, theirs = on_workers(n, 2 * LIMIT, both)
        table.append([f"workers: {n}", f"{ours:.1f}", f"{theirs:.1f}"])
    columns = [f"{SHAPE[0]:,} rows of 200 features", "fit, s"]
    show("Seconds by the number of workers", [*columns, "da.linalg.svd_compressed, s"], table)

    def within(client: Any) -> tuple[float, int]:
        return timed(partial(fit, model, large, client=client)), max(client.run(peak).values())

    seconds, most = on_workers(2, LIMIT, within)
    line = [f"{large.nbytes / 1e9:.0f} GB", f"{seconds:.0f}", f"{most / 1e6:.0f}"]
    columns = ["rows", "seconds", "MB, the largest worker"]
    show(f"Two workers of {LIMIT / 1e6:.0f} MB", columns, [line])
    columns = ["stream", "parts", "rows of a part / D", "one pass", "two passes", "three passes"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # short parts
        show("Share of the optimum of merged sketches", columns, shares())
