"""Time and memory of the sketch compared with IncrementalPCA."""

import tracemalloc
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from sklearn.decomposition import IncrementalPCA

from benchmarks._tools import console, race, show
from eigenstream import SlowSubspace, StreamPCA

#: (features, rows).
SHAPES = [(50, 20_000), (300, 20_000), (784, 10_000), (5000, 2000)]


def rows_of(D: int, n: int) -> Any:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n, D))
    rows[:, :20] *= np.linspace(4.0, 1.5, 20)
    rows[1:] += 0.6 * rows[:-1]
    return rows


def speed() -> None:
    """Microseconds of one core a row, d = 10."""
    table = []
    for D, n in SHAPES:
        rows = rows_of(D, n)
        runs = {
            "slow": partial(SlowSubspace(10, alpha=0.3, solver="sketch").fit, rows),
            "PCA": partial(StreamPCA(10, solver="sketch").fit, rows),
            "float32": partial(StreamPCA(10, solver="sketch").fit, rows.astype(np.float32)),
            "peer": partial(IncrementalPCA(10, batch_size=100).fit, rows),
        }
        times = race(runs, rounds=3, clock=process_time)
        table.append([str(D), *(f"{1e6 * t / n:.1f}" for t in times.values())])
        table[-1].append(f"{times['peer'] / times['PCA']:.1f}")
    columns = ["D", "slow subspace", "PCA", "PCA, float32", "IncrementalPCA(100)", "it / PCA"]
    show("Microseconds of one core a row, d=10", columns, table)


def memory(D: int = 100_000) -> None:
    """The most that learning takes, its chunk of rows aside."""
    rng, peak = np.random.default_rng(0), 0
    sketch = SlowSubspace(10, alpha=0.3, solver="sketch")
    tracemalloc.start()
    for _ in range(20):
        rows = rng.standard_normal((37, D))
        tracemalloc.reset_peak()
        sketch.partial_fit(rows)
        peak = max(peak, tracemalloc.get_traced_memory()[1] - rows.nbytes)
    tracemalloc.stop()
    console.print(f"D={D}, d=10: at most {peak / 8 / D:.0f} vectors of length D")


def main() -> None:
    """Print the table, and the memory."""
    speed()
    memory()


if __name__ == "__main__":
    main()
