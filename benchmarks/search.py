"""The alpha="auto" of the sketch and of "krylov" beside that of "dense": how far off, at what cost.

The problems are drawn at random, to make it fail: sources slow to any degree among fast ones, few
rows a column, large noise, and channels of sizes that differ much. Small channels count in alpha as
much as others, and next to nothing in a sum of squares.
"""

import tracemalloc
import warnings
from time import thread_time
from typing import Any

import numpy as np

from benchmarks import online, shares
from benchmarks._tools import console, show
from eigenstream import SlowSubspace
from eigenstream._blas import blas_threads
from eigenstream.learners.sketch import OperatorSketch
from eigenstream.solvers import dense, krylov

DRAWN, WIDE = 8, 2
SPREADS = (0.0, 0.3, 1.0)

#: Rows that are timed, and columns of those whose memory is measured.
TIMED, MEASURED = 20_000, 1500


def drawn(seed: int, spread: float) -> tuple[int, Any]:
    """Return a number of slow sources and rows of these among fast ones, at least 25 a column.

    ``spread`` is the standard deviation of the logarithms of all their sizes.
    """
    rng = np.random.default_rng([seed, 7])
    d, D = int(rng.integers(1, 13)), int(rng.integers(150, 500))
    return d, hidden(d, D, int(rng.uniform(25.0, 50.0) * D), spread, rng)


def wide(seed: int, spread: float) -> tuple[int, Any]:
    """Return the same of wide rows, 25 a column."""
    rng = np.random.default_rng([seed, 8])
    d, D = int(rng.integers(1, 13)), int(rng.integers(1500, 2200))
    return d, hidden(d, D, 25 * D, spread, rng)


def hidden(d: int, D: int, n: int, spread: float, rng: np.random.Generator) -> Any:
    """Return rows of ``d`` slow sources, and a few more, among fast ones."""
    slow = d + int(rng.integers(0, 6))
    memory = rng.uniform(-0.4, 0.4, D)
    memory[:slow] = 1.0 - 10.0 ** rng.uniform(-3.0, rng.choice([-1.0, -0.5, -0.2]), slow)
    rows = shares.sources(memory, n, rng)
    rows[:, slow:] *= rng.uniform(0.1, 2.0)
    rows *= np.exp(spread * rng.standard_normal(D))
    return rows @ online.orthogonal(D, rng) + rng.uniform(0.0, 10.0)


class Counted:
    """The matrices of a contrast, as an operator that counts its passes."""

    def __init__(self, A: Any, B: Any) -> None:
        self.A, self.B, self.n_features, self.passes = A, B, len(A), 0

    def apply(self, vectors: Any, reward: float, penalty: float) -> Any:
        self.passes += 1
        return reward * (self.A @ vectors) - penalty * (self.B @ vectors)


def on_drawn() -> None:
    """Print how far off alpha is on drawn problems, at most, and the passes that "krylov" takes."""
    table = []
    for what, draw, count in (("150 to 500", drawn, DRAWN), ("1500 to 2200", wide, WIDE)):
        for spread in SPREADS:
            off, off_krylov, passes = [], [], []
            for seed in range(count):
                d, rows = draw(seed, spread)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    exact = SlowSubspace(d, solver="dense").fit(rows)
                    found = SlowSubspace(d, solver="sketch").fit(rows)
                off.append(abs(found.alpha_ / exact.alpha_ - 1))
                if draw is drawn:  # passes over wide matrices take hours where sizes differ much
                    matrices = Counted(*exact.contrast_.matrices())
                    least = dense.smallest_positive_weight(matrices.A, matrices.B, d, 1e-13)
                    by_passes = krylov.smallest_positive_weight(matrices, d)
                    off_krylov.append(abs(by_passes / least - 1))
                    passes.append(matrices.passes)
            row = [what, f"{spread}", str(count), f"{max(off):.0e}"]
            if passes:
                row += [f"{max(off_krylov):.0e}", f"{np.median(passes):.0f} ({max(passes)})"]
            table.append(row + [""] * (6 - len(row)))
            console.print(f"[dim]{', '.join(row)}")
    show(
        'alpha="auto" on problems drawn at random, off by at most',
        ["columns", "spread of sizes", "problems", "sketch", "krylov", "its passes (most)"],
        table,
    )


def took(rows: Any, d: int) -> tuple[float, float]:
    """Return the seconds of one core that a sketch takes to learn, and to answer."""
    with blas_threads(1):
        sketch = OperatorSketch(d, weights=None, lag=1)
        begun = thread_time()
        sketch.add(rows)
        learned = thread_time()
        sketch.solution()
        return learned - begun, thread_time() - learned


def speed() -> None:
    """Print the time that rows take, and an answer."""
    table = []
    for D in (784, 1500, 3000):
        rows = online.mixed(TIMED, 0, D=D, noise=1.0)
        for dtype in (np.float64, np.float32):
            learning, solving = took(rows.astype(dtype), 10)
            table.append(
                [f"{D}", dtype.__name__, f"{1e6 * learning / len(rows):.0f}", f"{solving:.1f} s"]
            )
            console.print(f"[dim]{', '.join(table[-1])}")
    show(
        "A sketch that looks for alpha: microseconds of one core a row, and its answer",
        ["D", "rows", "a row", "an answer"],
        table,
    )


def memory(D: int = MEASURED) -> None:
    """Print what such a sketch takes, in D x D matrices: while it learns, and for an answer."""
    rows = np.random.default_rng(0).standard_normal((1000, D))
    sketch = OperatorSketch(5, weights=None, lag=1)
    tracemalloc.start()
    sketch.add(rows)
    held, learning = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    sketch.solution()
    reading = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    told = " ".join(f"{size / 8 / D**2:.1f}" for size in (held, learning, reading))
    console.print(f"D={D}: held, at most while learning, and for an answer, in D x D: {told}")


def main() -> None:
    """Print all tables."""
    speed()
    memory()
    on_drawn()


if __name__ == "__main__":
    main()
