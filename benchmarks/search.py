"""The alpha="auto" that a sketch finds in two passes and in three, beside that of "dense".

First on named streams, then on problems drawn at random, to see where it fails: sources slow to any
degree among fast ones, of few rows a column and of large noise. Where the sizes of the channels
differ much, a slow one may be so much smaller than fast ones that no pass finds it.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import online, shares
from benchmarks._tools import console, show
from eigenstream import SlowSubspace

#: An alpha is right if it is off by no more than this share.
RIGHT = 0.05

PASSES = (2, 3)
DRAWN = 24

Stream = tuple[str, int, Callable[[], Any]]


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


def drawn(seed: int, spread: float) -> tuple[int, Any]:
    """Return a number of slow sources and rows of these among fast ones, at least 25 a column.

    ``spread`` is the standard deviation of the logarithms of all their sizes.
    """
    rng = np.random.default_rng([seed, 7])
    d, D = int(rng.integers(1, 13)), int(rng.integers(150, 500))
    n, slow = int(rng.uniform(25.0, 50.0) * D), d + int(rng.integers(0, 6))
    memory = rng.uniform(-0.4, 0.4, D)
    memory[:slow] = 1.0 - 10.0 ** rng.uniform(-3.0, rng.choice([-1.0, -0.5, -0.2]), slow)
    rows = shares.sources(memory, n, rng)
    rows[:, slow:] *= rng.uniform(0.1, 2.0)
    rows *= np.exp(spread * rng.standard_normal(D))
    return d, rows @ online.orthogonal(D, rng) + rng.uniform(0.0, 10.0)


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


def on_drawn() -> None:
    """Print how often what is found on drawn problems is right, refused, or wrong."""
    table = []
    for spread in (0.0, 0.3, 1.0):
        count: Counter[str] = Counter()
        worst = 0.0
        for seed in range(DRAWN):
            d, rows = drawn(seed, spread)
            off, _ = error(rows, d, PASSES[0], SlowSubspace(d).fit(rows))
            verdict = "refused" if off is None else "right" if abs(off) < RIGHT else "wrong"
            count[verdict] += 1
            worst = max(worst, abs(off or 0.0))
        verdicts = [str(count[verdict]) for verdict in ("right", "refused", "wrong")]
        table.append([str(spread), *verdicts, f"{100 * worst:.1f} %"])
        console.print(f"[dim]spread {spread}: {', '.join(verdicts)}")
    show(
        f"{DRAWN} problems drawn at random, two passes: right to 5 %, refused, or wrong",
        ["spread of sizes", "right", "refused", "wrong", "worst"],
        table,
    )


def main() -> None:
    """Print both tables."""
    on_named()
    on_drawn()


if __name__ == "__main__":
    main()
