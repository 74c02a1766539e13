"""The alpha="auto" that a sketch finds in a frame, beside that of "dense"; and what it costs.

Rows that are not too wide have no frame in such a search: the sums are held whole, and exact. The
first table has the time of both, which is the reason for where that ends. In the others
all rows have a frame, as wider ones do, to see what it finds in two passes and in three: on named
streams, and then on problems drawn at random, to see where it fails: sources slow to any degree
among fast ones, of few rows a column and of large noise. Where the sizes of the channels differ
much, a slow one may be so much smaller than fast ones that no pass finds it.
"""

import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import thread_time
from typing import Any

import numpy as np

from benchmarks import online, shares
from benchmarks._tools import console, show
from eigenstream import SlowSubspace
from eigenstream._blas import blas_threads
from eigenstream.learners.sketch import OperatorSketch, _plan, begun_with
from eigenstream.processes import ImageWalk, page_image

#: An alpha is right if it is off by no more than this share.
RIGHT = 0.05

PASSES = (2, 3)
DRAWN, WIDE = 24, 8
SPREADS = (0.0, 0.3, 1.0)

#: Rows that are timed, and columns of those whose memory is measured.
TIMED, MEASURED = 20_000, 1500

Stream = tuple[str, int, Callable[[], Any]]


@contextmanager
def whole_up_to(columns: int) -> Iterator[None]:
    """Let a search hold the sums whole up to so many columns: 0 gives all of them a frame."""
    before = _plan.WHOLE_PER_VECTOR, _plan.WHOLE_SEARCH
    _plan.WHOLE_PER_VECTOR, _plan.WHOLE_SEARCH = columns, columns
    try:
        yield
    finally:
        _plan.WHOLE_PER_VECTOR, _plan.WHOLE_SEARCH = before


def named() -> Iterator[Stream]:
    """Return the streams of docs/mathematics.md, with d and their rows."""
    yield "D=784, noise 1, n=20000", 5, lambda: online.mixed(20_000, 0, D=784, noise=1.0)
    yield "D=300, noise 1, n=6000", 5, lambda: online.mixed(6000, 0, D=300, noise=1.0)
    yield "D=300, noise 2, n=10000", 5, lambda: online.mixed(10_000, 0, D=300, noise=2.0)
    yield "D=1000, noise 2, n=25000", 5, lambda: online.mixed(25_000, 0, D=1000, noise=2.0)
    yield "twelve fast channels, D=784, n=10000", 5, lambda: shares.fast_channels(0)
    yield "sources in bursts, D=200", 5, lambda: shares.bursts(0)
    yield "scale changes hundredfold, D=200", 5, lambda: shares.regimes(0)
    yield "eight sines, D=200", 8, lambda: shares.sines(0)
    yield "300 growing walks, n=3000", 3, lambda: shares.growing(0)
    for d, n in ((3, 5000), (5, 20_000), (10, 20_000), (12, 40_000), (20, 30_000)):
        yield f"walk of views, n={n}, d={d}", d, lambda n=n: shares.walk(n, 0)
        yield f"turning views, n={n}, d={d}", d, lambda n=n: shares.turning_walk(n, 0)
    for d in (5, 10, 15, 20):
        yield f"walk of views of 46 x 46, n=53000, d={d}", d, wide_views


def wide_views() -> Any:
    """Return a walk over a page, 25 views a column."""
    return ImageWalk(page_image(random_state=0), size=46, random_state=0).take(53_000)


def drawn(seed: int, spread: float) -> tuple[int, Any]:
    """Return a number of slow sources and rows of these among fast ones, at least 25 a column.

    ``spread`` is the standard deviation of the logarithms of all their sizes.
    """
    rng = np.random.default_rng([seed, 7])
    d, D = int(rng.integers(1, 13)), int(rng.integers(150, 500))
    return d, hidden(d, D, int(rng.uniform(25.0, 50.0) * D), spread, rng)


def wide(seed: int, spread: float) -> tuple[int, Any]:
    """Return the same of rows so wide that a search has a frame, 25 a column."""
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


def error(rows: Any, d: int, passes: int, dense: SlowSubspace) -> tuple[float | None, float]:
    """Return by how much alpha is off, None if it is refused, and the share reached at it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = SlowSubspace(d, solver="sketch").fit(rows, passes=passes)
        except ValueError:
            return None, np.nan
    V, alpha = found.components_, found.alpha_
    T = dense.contrast_.matrix((alpha, 1.0 - alpha))
    best = dense.solved_with(alpha=alpha).objective_
    return alpha / dense.alpha_ - 1.0, float(np.sum((V @ T) * V)) / best


def on_named() -> None:
    """Print what is found on the named streams."""
    table = []
    for name, d, made in named():
        rows = made()
        dense = SlowSubspace(d).fit(rows)
        found = [error(rows, d, passes, dense) for passes in PASSES]
        told = ["refused" if e is None else f"{100 * e:+.1f} %" for e, _ in found]
        table.append([name, f"{dense.alpha_:.3f}", *told, f"{found[0][1]:.4f}"])
        console.print(f"[dim]{name}: {', '.join(told)}")
    show(
        'alpha="auto" by the sketch beside that of "dense"',
        ["stream", "dense", *(f"{passes} passes" for passes in PASSES), "share, 2 passes"],
        table,
    )


def on_drawn(what: str, draw: Callable[[int, float], tuple[int, Any]], count: int) -> None:
    """Print how often what is found on drawn problems is right, refused, or wrong."""
    table = []
    for spread in SPREADS:
        found: Counter[str] = Counter()
        worst = 0.0
        for seed in range(count):
            d, rows = draw(seed, spread)
            off, _ = error(rows, d, PASSES[0], SlowSubspace(d).fit(rows))
            verdict = "refused" if off is None else "right" if abs(off) < RIGHT else "wrong"
            found[verdict] += 1
            worst = max(worst, abs(off or 0.0))
        verdicts = [str(found[verdict]) for verdict in ("right", "refused", "wrong")]
        table.append([str(spread), *verdicts, f"{100 * worst:.1f} %"])
        console.print(f"[dim]{what}, spread {spread}: {', '.join(verdicts)}")
    show(
        f"{count} problems drawn at random, {what}, two passes: right to 5 %, refused, or wrong",
        ["spread of sizes", "right", "refused", "wrong", "worst"],
        table,
    )


def took(rows: Any, d: int, passes: int) -> tuple[float, float]:
    """Return the seconds of one core that a search takes to learn, and to answer."""
    with blas_threads(1):
        sketch = OperatorSketch(d, lag=1, **begun_with(None))
        begun = thread_time()
        for k in range(passes):
            sketch = sketch.another_pass() if k else sketch
            sketch.add(rows)
        learned = thread_time()
        sketch.solution()
        return learned - begun, thread_time() - learned


def speed() -> None:
    """Print the time of a frame in two passes, and of sums held whole in one; and their memory."""
    table = []
    for D in (784, 1500, 3000):
        rows = online.mixed(TIMED, 0, D=D, noise=1.0)
        for dtype in (np.float64, np.float32):
            given = rows.astype(dtype)
            for d in (5, 10, 20):
                with whole_up_to(0):
                    framed, _ = took(given, d, 2)
                with whole_up_to(D):
                    whole, solving = took(given, d, 1)
                unit = 1e6 / len(rows)
                times = [f"{framed * unit:.0f}", f"{whole * unit:.0f}", f"{solving:.2f} s"]
                table.append([str(D), dtype.__name__, str(d), *times])
                console.print(f"[dim]{', '.join(table[-1])}")
    show(
        "A search: microseconds of one core a row, and its answer from sums held whole",
        ["D", "rows", "d", "frame, two passes", "whole, one pass", "answer"],
        table,
    )
    with whole_up_to(MEASURED):
        memory()


def memory(D: int = MEASURED) -> None:
    """Print what sums held whole take, in D x D matrices: while they learn, and for an answer."""
    rows = np.random.default_rng(0).standard_normal((1000, D))
    sketch = OperatorSketch(5, lag=1, **begun_with(None))
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
    on_drawn("150 to 500 columns, sums held whole", drawn, DRAWN)
    with whole_up_to(0):
        on_named()
        on_drawn("150 to 500 columns, a frame", drawn, DRAWN)
        on_drawn("1500 to 2200 columns, a frame", wide, WIDE)


if __name__ == "__main__":
    main()
