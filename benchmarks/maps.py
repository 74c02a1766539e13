"""Self-organising maps compared with MiniSom, python-som, xpysom and matrix products."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np

from benchmarks._tools import console, race, show
from benchmarks.map_quality import images
from eigenstream import SelfOrganizingMap
from eigenstream.schedules import Power

SIDE, UNITS = 20, 400
#: Rows of the peers, whose steps are slow, and copies of them for ours.
FEW, COPIES = 300, 20
#: Rows and passes of batch training.
MANY, EPOCHS = 4000, 5


def rows_of(width: int, n: int) -> Any:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 10)) @ rng.standard_normal((10, width)) / 3


def as_minisom(steps: int, sigma: float, rate: float, init: Any) -> SelfOrganizingMap:
    """A map that takes MiniSom's steps: both fall as 1 / (1 + 2 t / steps)."""
    half = steps / 2
    return SelfOrganizingMap(
        (SIDE, SIDE),
        init=init,
        radius=Power(sigma * half, half),
        learning_rate=Power(rate * half, half),
    )


def minisom_run(rows: Any, init: Any, sigma: float, rate: float) -> Any:
    from minisom import MiniSom

    som = MiniSom(SIDE, SIDE, rows.shape[1], sigma=sigma, learning_rate=rate)
    som._weights = init.reshape(SIDE, SIDE, -1).copy()
    som.train(rows, len(rows))
    return som._weights.reshape(UNITS, -1)


def python_som_run(rows: Any, mode: str, iterations: int) -> None:
    import python_som

    som = python_som.SOM(x=SIDE, y=SIDE, input_len=rows.shape[1], random_seed=0)
    som.train(rows, n_iteration=iterations, mode=mode)


def steps() -> None:
    table = []
    for width in (64, 784):
        rows, init = rows_of(width, FEW), rows_of(width, UNITS)[::-1].copy()
        many = np.tile(rows, (COPIES, 1))
        shares = np.random.default_rng(0).random((len(many), UNITS))
        theirs = minisom_run(rows, init, 5.0, 0.5)
        ours = as_minisom(FEW, 5.0, 0.5, init).partial_fit(rows).prototypes_
        runs: dict[str, tuple[int, Any]] = {
            "SelfOrganizingMap": (
                len(many),
                lambda many=many, init=init: as_minisom(len(many), 5.0, 0.5, init).partial_fit(
                    many
                ),
            ),
            "two products of matrices": (
                len(many),
                lambda many=many, init=init, shares=shares: (many @ init.T, shares.T @ many),
            ),
            "MiniSom": (FEW, partial(minisom_run, rows, init, 5.0, 0.5)),
        }
        if find_spec("python_som"):
            runs["python-som, sequential"] = (FEW, partial(python_som_run, rows, "sequential", FEW))
        for _, run in runs.values():
            run()
        times = race({k: run for k, (_, run) in runs.items()}, rounds=5, clock=process_time)
        per = {name: 1e6 * times[name] / runs[name][0] for name in runs}
        for name, each in per.items():
            ratio = each / per["SelfOrganizingMap"]
            table.append([f"{width} features: {name}", f"{each:.2f}", f"{ratio:.2f}"])
        console.print(
            f"{width} features: largest difference to MiniSom {np.abs(ours - theirs).max():.1e}"
        )
    show("A map of 20 × 20 units: microseconds a row", ["", "µs", "times ours"], table)


def radii() -> None:
    table = []
    for width in (64, 784):
        rows, init = rows_of(width, FEW * COPIES), rows_of(width, UNITS)
        runs: dict[Any, Any] = {
            radius: lambda r=radius, rows=rows, init=init: SelfOrganizingMap(
                (SIDE, SIDE), init=init, radius=r, learning_rate=0.05
            ).partial_fit(rows)
            for radius in (10.0, 5.0, 2.0, 1.0, 0.5, 0.25, 0.0)
        }
        times = race(runs, rounds=5, clock=process_time)
        table.append([f"{width}"] + [f"{1e6 * one / len(rows):.2f}" for one in times.values()])
    show(
        "Microseconds a row, by the radius",
        ["features", "10", "5", "2", "1", "0.5", "0.25", "0"],
        table,
    )


def batch_rows() -> Iterator[tuple[str, Any]]:
    """Yield rows on which the search has more or less to rule units out by."""
    rng = np.random.default_rng(0)
    for width, name in ((64, "digits"), (784, "mnist")):
        yield f"{width} features of ten factors", rows_of(width, MANY)
        found = images(name)
        if found is not None:
            few = len(found) < MANY
            yield f"{name}, {width} features", rng.choice(found, MANY, replace=few)
        yield f"{width} features of white noise", rng.standard_normal((MANY, width))


def batch_runs(rows: Any, slow: bool) -> dict[str, Callable[[], Any]]:
    """Return a run of each map over the same rows and passes, with the slow maps if ``slow``."""
    init, width = rows[:UNITS].copy(), rows.shape[1]
    runs: dict[str, Callable[[], Any]] = {
        "SelfOrganizingMap": lambda: SelfOrganizingMap(
            (SIDE, SIDE), training="batch", init=init, max_iter=EPOCHS, shuffle=False
        ).fit(rows),
    }
    if find_spec("xpysom"):
        from xpysom import XPySom

        runs["xpysom"] = lambda: XPySom(SIDE, SIDE, width, sigma=10, random_seed=0, xp=np).train(
            rows, EPOCHS
        )
    if find_spec("python_som"):
        runs["python-som, batch"] = partial(python_som_run, rows, "batch", EPOCHS)
    if slow and find_spec("minisom"):
        from minisom import MiniSom

        runs["MiniSom, train_batch_offline"] = lambda: MiniSom(
            SIDE, SIDE, width, sigma=10
        ).train_batch_offline(rows, EPOCHS)
    return runs


def batches() -> None:
    table = []
    for title, rows in batch_rows():
        done = {}
        for name, run in batch_runs(rows, "ten" in title).items():
            try:
                run()
            except Exception as refusal:  # not ours: a peer that does not run on this machine
                console.print(f"{name} does not run here: {refusal}")
            else:
                done[name] = run
        times = race(done, rounds=3, clock=process_time)
        for name, each in times.items():
            ratio = each / times["SelfOrganizingMap"]
            table.append([f"{title}: {name}", f"{1e3 * each / EPOCHS:.1f}", f"{ratio:.2f}"])
    show(f"Batch training of {MANY} rows: ms a pass", ["", "ms", "times ours"], table)


def main() -> None:
    if not find_spec("minisom"):
        console.print("MiniSom is not installed: pip install minisom, or the extra 'bench'.")
        return
    steps()
    radii()
    batches()
