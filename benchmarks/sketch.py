"""The operator sketch: what one pass reaches of the batch optimum, its speed and its memory."""

import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from sklearn.decomposition import IncrementalPCA

from benchmarks._shares import SEEDS, STREAMS
from benchmarks._tools import console, race, show
from benchmarks.online import Case, best_of
from eigenstream.learners.online import FlowSolver
from eigenstream.learners.sketch import OperatorSketch


def runs_of(rows: Any) -> list[Any]:
    return rows if isinstance(rows, list) else [rows]


def options(case: Case) -> dict[str, Any]:
    slow = case.alpha < 1.0
    return {"weights": (case.alpha, 1.0 - case.alpha), "lag": 1} if slow else {}


def passed(sketch: OperatorSketch, rows: Any) -> OperatorSketch:
    for run in runs_of(rows):
        sketch.add(run, new_sequence=True)
    return sketch


def shares(case: Case, seed: int) -> list[float]:
    """Return what is reached: one pass, at most d, two passes, the flow, IncrementalPCA."""
    rows = case.rows(seed)
    T, best = best_of(rows, case.alpha, case.d)
    values = np.linalg.eigvalsh(T)[-case.d :]
    positive = float(values[values > 0].sum())

    def reached(V: Any, optimum: float = best) -> float:
        return float(np.sum((V @ T) * V)) / optimum

    once = passed(OperatorSketch(case.d, **options(case)), rows)
    twice = passed(once.another_pass(), rows)
    flow = FlowSolver(case.d, random_state=seed, **options(case))
    for run in runs_of(rows):
        flow.update(run, new_sequence=True)
    found = [
        reached(once.solution().components),
        reached(once.solution(positive=True).components, positive),
        reached(twice.solution().components),
        reached(flow.solution().components),
        np.nan,
    ]
    if case.alpha == 1.0:
        peer = IncrementalPCA(case.d, batch_size=max(100, case.d)).fit(rows)
        found[-1] = reached(peer.components_)
    return found


def quality(names: list[str]) -> None:
    table, missing = [], set()
    for case in STREAMS:
        if names and not any(name in case.name for name in names):
            continue
        try:
            found = np.array([shares(case, seed) for seed in SEEDS])
        except FileNotFoundError:
            missing.add(case.file)
            continue
        columns = zip(found.mean(axis=0), found.min(axis=0), strict=True)
        table.append(
            [case.name, *("" if np.isnan(m) else f"{m:.4f} ({w:.4f})" for m, w in columns)]
        )
    show(
        "Share of the batch optimum: mean (worst) of three seeds",
        ["", "sketch", "at most d", "two passes", "flow", "IncrementalPCA(100)"],
        table,
    )
    if missing:
        console.print(f"left out: no {', '.join(map(str, sorted(missing)))} in EIGENSTREAM_DATA")


def products(D: int, d: int, block: int, n: int) -> Callable[[], None]:
    """The unit: two thin products of a block with the frame and itself, in and out."""
    rng = np.random.default_rng(0)
    frame, coefficients = (
        rng.standard_normal((d + block, D)),
        rng.standard_normal((block, d + block)),
    )
    rows, inner = rng.standard_normal((block, D)), np.empty((block, d + block))
    out = np.empty((block, D))

    def run() -> None:
        for _ in range(n // block):
            np.matmul(rows, frame.T, out=inner)
            np.matmul(coefficients, frame, out=out)

    return run


SLOW = {"weights": (0.3, 0.7), "lag": 1}


def learned(rows: Any, **how: Any) -> None:
    OperatorSketch(10, **how).add(rows)


def speed() -> None:
    """Microseconds of the processor a row, one thread, d=10."""
    table = []
    for D, n in ((784, 20_000), (5000, 5000)):
        rng = np.random.default_rng(0)
        rows = rng.standard_normal((n, D))
        rows[:, :20] *= np.linspace(4.0, 1.5, 20)
        rows[1:] += 0.6 * rows[:-1]
        block = OperatorSketch(10, **SLOW).plan.block
        times = race(
            {
                "products": products(D, 10, block, n),
                "slow": partial(learned, rows, **SLOW),
                "float32": partial(learned, rows.astype(np.float32), **SLOW),
                "PCA": partial(learned, rows),
                "peer": partial(IncrementalPCA(10, batch_size=100).fit, rows),
            },
            clock=process_time,
        )
        per = {name: 1e6 * time / n for name, time in times.items()}
        table.append(
            [
                f"D={D} b={block}",
                f"{per['products']:.1f}",
                f"{per['slow']:.1f} = {per['slow'] / per['products']:.1f} x",
                f"{per['float32']:.1f}",
                f"{per['PCA']:.1f}",
                f"{per['peer']:.1f} = {per['peer'] / per['PCA']:.1f} x",
            ]
        )
    show(
        "Microseconds of one core a row, d=10",
        ["", "two products", "slow subspace", "float32", "PCA", "IncrementalPCA(100)"],
        table,
    )


def memory(D: int = 100_000, d: int = 10) -> None:
    """What a sketch holds, and what it takes at most, its chunk of rows aside."""
    rng = np.random.default_rng(0)
    tracemalloc.start()
    sketch, peak = OperatorSketch(d, weights=(0.3, 0.7), lag=1), 0
    for _ in range(20):
        rows = rng.standard_normal((37, D))
        tracemalloc.reset_peak()
        sketch.add(rows)
        peak = max(peak, tracemalloc.get_traced_memory()[1] - rows.nbytes)
    tracemalloc.stop()
    held = sum(np.asarray(value).nbytes for value in sketch.state().values())
    waiting = sketch.plan.block + 1
    console.print(
        f"D={D}, d={d}: the sketch holds {held / 8 / D:.0f} vectors of length D, the rows that "
        f"wait included, and {peak / 8 / D:.0f} for a moment (7 d + b + lag = {7 * d + waiting})"
    )


def main() -> None:
    names = [name for name in sys.argv[1:] if name != "sketch"]
    quality(names)
    if not names:
        speed()
        memory()
