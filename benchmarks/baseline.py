"""Time a dozen pieces of work and compare the times with those in ``baseline.json``.

Times are in units of a fixed NumPy workload of the same process (products and a sort), so that a
file made on another machine can be compared. One thread, processor time, the least of interleaved
rounds. ``python -m benchmarks baseline --store`` writes the file again.
"""

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np

from benchmarks._tools import race, show
from eigenstream import (
    ClassSubspace,
    CompetitiveLearning,
    SelfOrganizingMap,
    SlowSubspace,
    StreamPCA,
    open_stream,
)
from eigenstream.evaluation import pair_roc

STORED = Path(__file__).with_name("baseline.json")
UNIT = "NumPy"


def slow_rows(n: int, D: int) -> np.ndarray:
    """Return mixtures of autoregressive sources, the first ones slow."""
    rng = np.random.default_rng(0)
    memory = np.r_[0.99, 0.98, 0.97, 0.96, 0.95, rng.uniform(-0.3, 0.3, D - 5)]
    rows = rng.standard_normal((n, D)) * np.sqrt(1.0 - memory**2)
    for t in range(1, n):
        rows[t] += memory * rows[t - 1]
    return rows @ np.linalg.qr(rng.standard_normal((D, D)))[0]


def work(folder: Path) -> dict[str, Callable[[], object]]:
    """Return what is timed, by name."""
    rng = np.random.default_rng(0)
    X = slow_rows(20_000, 300)
    labels = np.arange(6000) % 30
    Y = X[:6000] + rng.standard_normal((30, 300))[labels]
    centres = 2 * rng.standard_normal((10, 64))
    small = centres[rng.integers(10, size=10_000)] + rng.standard_normal((10_000, 64))
    np.save(folder / "rows.npy", X)
    names = ",".join(f"c{k}" for k in range(300))
    np.savetxt(folder / "rows.csv", X[:3000], delimiter=",", header=names, comments="")

    def flow(d: int) -> Callable[[], object]:
        return lambda: SlowSubspace(d, alpha=0.9, solver="flow").fit(X)

    def som(training: str) -> Callable[[], object]:
        return lambda: SelfOrganizingMap(
            (20, 20),
            training=training,
            n_steps=10_000 if training == "sequential" else None,
            max_iter=2,
            random_state=0,
        ).fit(small)

    return {
        UNIT: lambda: (X.T @ X, np.sort(X[:2000], axis=None)),
        "PCA, dense": lambda: StreamPCA(10).fit(X),
        "slow, dense": lambda: SlowSubspace(10).fit(X),
        "classes, dense": lambda: ClassSubspace(10, criterion="difference", eta=1.0).fit(Y, labels),
        "PCA, sketch": lambda: StreamPCA(10, solver="sketch").fit(X),
        "slow, sketch": lambda: SlowSubspace(10, alpha=0.9, solver="sketch").fit(X),
        "slow, flow, 10 of 300": flow(10),
        "slow, flow, 50 of 300": flow(50),
        "map, a sequential pass": som("sequential"),
        "map, two batch passes": som("batch"),
        "100 prototypes": lambda: CompetitiveLearning(100, init=small[:100]).fit(small),
        "pair ROC": lambda: pair_roc(Y[:4000, :20], labels[:4000]),
        "PCA of .npy": lambda: StreamPCA(10).fit(open_stream(folder / "rows.npy")),
        "PCA of .csv": lambda: StreamPCA(10).fit(open_stream(folder / "rows.csv")),
    }


def main() -> None:
    """Time everything, and show or store it."""
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jobs = work(Path(folder))
        for run in jobs.values():  # compile
            run()
        seconds = race(jobs, rounds=9, clock=process_time)
    units = {name: round(time / seconds[UNIT], 3) for name, time in seconds.items()}
    if "--store" in sys.argv:
        STORED.write_text(json.dumps(units, indent=2) + "\n")
    before = json.loads(STORED.read_text())
    rows = [
        [name, f"{1e3 * seconds[name]:.0f}", f"{units[name]:.2f}", f"{units[name] / then:.2f}"]
        for name, then in before.items()
        if name != UNIT
    ]
    show(
        f"one thread; unit: NumPy, {1e3 * seconds[UNIT]:.0f} ms",
        ["", "ms", "units", "ratio to stored"],
        rows,
    )
