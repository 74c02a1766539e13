"""The operator sketch: what one pass reaches of the batch optimum, its speed and its memory."""

import tracemalloc
from collections.abc import Callable
from functools import partial
from time import thread_time
from typing import Any

import numpy as np
from eigenstream.learners.sketch import OperatorSketch
from sklearn.decomposition import IncrementalPCA

from benchmarks._tools import console, race, show
from benchmarks.online import Case, best_of
from benchmarks.shares import SEEDS, STREAMS
from eigenstream.subspace.flow_solver import FlowSolver


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


def quality() -> None:
    table, missing = [], set()
    for case in STREAMS:
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
COUPLED = {"weights": (0.5, 0.5), "lag": 64, "center": False, "independent": True}
KINDS: dict[str, dict[str, Any]] = {
    "a slow subspace": SLOW,
    "not centred": {**SLOW, "center": False},
    "PCA": {},
    "couples, two rows each": COUPLED,
}


def learned(sketch: OperatorSketch, rows: Any) -> None:
    """Learn rows; couples come 64 at a time, as two rows that lie 64 apart."""
    step = 2 * sketch.plan.lag if sketch.plan.independent else len(rows)
    for start in range(0, len(rows) - step + 1, step):
        sketch.add(rows[start : start + step], new_sequence=step < len(rows))


def speed() -> None:
    """Microseconds of the processor a row, one thread, d=10, when the first blocks are over."""
    table, blocks, sizes = [], [], ((784, 10_200), (5000, 2560))
    for D, n in sizes:
        rng = np.random.default_rng(0)
        rows = rng.standard_normal((n, D))
        rows[:, :20] *= np.linspace(4.0, 1.5, 20)
        rows[1:] += 0.6 * rows[:-1]
        runs: dict[str, Callable[[], object]] = {}
        for name, how in KINDS.items():
            for dtype in (np.float64, np.float32):
                sketch, given = OperatorSketch(10, **how), rows.astype(dtype)
                learned(sketch, given)
                runs[f"{name}, {dtype.__name__}"] = partial(learned, sketch, given)
        block = OperatorSketch(10, **SLOW).plan.block(D)
        runs["two thin products, 2 D (d + b)"] = products(D, 10, block, n)
        peer = IncrementalPCA(10, batch_size=100)
        runs["IncrementalPCA(batch_size=100)"] = partial(peer.fit, rows)
        blocks.append(f"{block} at D={D}")
        times = race(runs, rounds=7, clock=thread_time)
        unit = times["two thin products, 2 D (d + b)"]
        table.append([f"{1e6 * t / n:.1f} = {t / unit:.2f} x" for t in times.values()])
    show(
        f"Microseconds of one core a row, d=10, blocks of {', '.join(blocks)}",
        ["", *(f"D={D}" for D, _ in sizes)],
        [[name, *found] for name, *found in zip(runs, *table, strict=True)],
    )


def memory(D: int = 100_000, d: int = 10) -> None:
    """What a sketch holds, and what it takes at most, its chunk of rows aside."""
    rng = np.random.default_rng(0)
    OperatorSketch(1, **SLOW).add(rng.standard_normal((2000, 100)))  # compiles what is compiled
    tracemalloc.start()
    sketch, peak = OperatorSketch(d, weights=(0.3, 0.7), lag=1), 0
    for _ in range(20):
        rows = rng.standard_normal((37, D))
        tracemalloc.reset_peak()
        sketch.add(rows)
        peak = max(peak, tracemalloc.get_traced_memory()[1] - rows.nbytes)
    tracemalloc.stop()
    held = sum(np.asarray(value).nbytes for value in sketch.state().values())
    waiting = sketch.plan.block(D) + 1
    console.print(
        f"D={D}, d={d}: the sketch holds {held / 8 / D:.0f} vectors of length D, the rows that "
        f"wait included, and {peak / 8 / D:.0f} for a moment (7 d + b + lag = {7 * d + waiting})"
    )


def main() -> None:
    speed()
    memory()
    quality()
