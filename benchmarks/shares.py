"""One table: the share of the batch optimum that every way to learn reaches, on all streams.

The share is tr V T V^T over the sum of the top eigenvalues of the stream's T: the mean (and worst)
of three seeds. It is negative if the optimum is a small positive sum among large negative
eigenvalues. Cases on real data need the folder EIGENSTREAM_DATA.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import IncrementalPCA

from benchmarks import _streams as streams
from benchmarks._streams import Case, best_of
from benchmarks._tools import console, show, stored_data, stored_images
from eigenstream import (
    ClassSubspace,
    Dense,
    Flow,
    Krylov,
    PairSubspace,
    Sketch,
    SlowSubspace,
    StreamPCA,
    sample_pairs,
)
from eigenstream.processes import ImageWalk, page_image
from eigenstream.schedules import Auto
from eigenstream.subspace import matrices

SEEDS = (0, 1, 2)

#: The solver of each column.
WAYS: dict[str, Any] = {
    "dense": Dense(),
    "krylov": Krylov(),
    "sketch": Sketch(),
    "sketch, two passes": Sketch(passes=2),
    "flow": Flow(),
    "flow, last iterate": Flow(Auto(averaging=None)),
}
PEER = "IncrementalPCA"

#: krylov is left out if the gap after the last eigenvalue is smaller than this share of the
#: largest. It would need ten thousand passes or more.
CROWD = 1e-5


# ---- streams -------------------------------------------------------------------------------------


def sources(memory: Any, n: int, rng: np.random.Generator) -> Any:
    """Return autoregressive rows of power one."""
    rows = rng.standard_normal((n, len(memory))) * np.sqrt(1.0 - memory**2)
    for t in range(1, n):
        rows[t] += memory * rows[t - 1]
    return rows


def near_equal(n: int, seed: int, gap: float) -> Any:
    """Return rows of D=50 whose fifth and sixth source are as slow as each other, but for a gap."""
    rng = np.random.default_rng(seed)
    memory = np.r_[0.99, 0.98, 0.97, 0.96, 0.95, 0.95 - gap, rng.uniform(-0.3, 0.3, 44)]
    return sources(memory, n, rng) @ streams.orthogonal(50, rng)


def fast_channels(seed: int) -> Any:
    """Return a stream of D=784 with twelve channels of white noise thirty times as large."""
    rows, mixing = streams.slow(10_000, seed, D=784, noise=1.0)
    rows[:, 7:19] *= 30.0
    return rows @ mixing


def walk(n: int, seed: int) -> Any:
    return ImageWalk(page_image(random_state=0), random_state=seed).take(n)


def turning_walk(n: int, seed: int) -> Any:
    """Return views that turn and drift but keep their scale, on a separate page."""
    return ImageWalk(page_image(random_state=seed), scale=0.0, random_state=seed).take(n)


def jump(seed: int) -> Any:
    rows = streams.mixed(20_000, seed)
    rows[0] += 1e3
    return rows


def silent(seed: int) -> Any:
    return np.concatenate([np.zeros((2000, 50)), streams.mixed(20_000, seed)])


def growing(seed: int) -> Any:
    """Return 300 random walks, whose variance grows, in white noise."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((3000, 300)).cumsum(axis=0) / 30 + rng.standard_normal((3000, 300))


def heavy(seed: int) -> Any:
    """Return sources whose steps have no variance, nor much of a mean."""
    rng = np.random.default_rng(seed)
    memory = np.r_[0.99, 0.98, 0.97, 0.96, 0.95, rng.uniform(-0.3, 0.3, 45)]
    rows = rng.standard_t(1.2, (20_000, 50)) * np.sqrt(1.0 - memory**2)
    for t in range(1, len(rows)):
        rows[t] += memory * rows[t - 1]
    return rows * np.r_[np.ones(5), np.full(45, 2.0)] @ streams.orthogonal(50, rng)


def sines(seed: int) -> Any:
    """Return eight sines of periods from 60 to 4000 rows in noise of D=200."""
    rng = np.random.default_rng(seed)
    t = np.arange(12_000)[:, None]
    rows = 1.5 * rng.standard_normal((12_000, 200))
    rows[:, :8] += 3.0 * np.sin(2 * np.pi * t / np.geomspace(60, 4000, 8) + rng.uniform(0, 6, 8))
    return rows @ streams.orthogonal(200, rng)


def bursts(seed: int) -> Any:
    """Return slow sources that are silent nine tenths of the time, in bursts of 200 rows."""
    rng = np.random.default_rng(seed)
    rows, mixing = streams.slow(20_000, seed, D=200, noise=1.0)
    rows[:, :5] *= 3.0 * np.repeat(rng.random((100, 5)) < 0.1, 200, axis=0)
    return rows @ mixing


def regimes(seed: int) -> Any:
    """Return a stream whose scale changes a hundredfold every 2500 rows."""
    rows = streams.mixed(20_000, seed, D=200, noise=1.0)
    return rows * np.repeat(np.tile([0.1, 10.0], 4), 2500)[:, None]


def weather(seed: int) -> Any:
    """Return a year of an airport's weather, every hour with the 23 before it."""
    stored = stored_data("nyc_weather")
    assert stored is not None
    hours = stored["values"][seed].astype(float)
    hours = np.where(np.isfinite(hours), hours, np.nanmean(hours, axis=0))
    hours = (hours - hours.mean(axis=0)) / np.maximum(hours.std(axis=0), 1e-9)
    return np.lib.stride_tricks.sliding_window_view(hours, 24, axis=0).reshape(len(hours) - 23, -1)


def turning(seed: int, angle: float) -> Any:
    """Return a stream whose sources turn by an angle in radians into other directions."""
    rng = np.random.default_rng(seed)
    rows, mixing = streams.slow(20_000, seed)
    angles = np.linspace(0.0, angle, len(rows))[:, None]
    first, others = rows[:, :5].copy(), rows[:, 5:10].copy()
    rows[:, :5] = np.cos(angles) * first - np.sin(angles) * others
    rows[:, 5:10] = np.sin(angles) * first + np.cos(angles) * others
    return rows @ mixing @ streams.orthogonal(50, rng)


WALK = {"d": 10, "alpha": 0.2}
STREAMS = [
    *streams.CASES,
    Case("D=300, d=5, noise 2, n=3000", lambda k: streams.mixed(3000, k, D=300), -np.inf),
    Case("twelve fast channels, D=784, n=10000", fast_channels, 0.95),
    Case("walk of views, n=5000", lambda k: walk(5000, k), 0.9, **WALK),
    Case("walk of views, n=20000", lambda k: walk(20_000, k), 0.95, **WALK),
    Case("walk of views, n=100000", lambda k: walk(100_000, k), 0.95, **WALK),
    Case("turning views, n=5000", lambda k: turning_walk(5000, k), 0.9, **WALK),
    Case("turning views, n=20000", lambda k: turning_walk(20_000, k), 0.95, **WALK),
    Case("turning views, n=100000", lambda k: turning_walk(100_000, k), 0.95, **WALK),
    Case("near-equal, gap 0.001", lambda k: near_equal(20_000, k, 0.001), 0.99),
    Case("2000 zero rows first", silent, 0.997),
    Case("first row plus 1e3", jump, 0.997),
    Case("300 growing walks", growing, 0.7, d=3, alpha=0.4),
    Case("t(1.2) tails", heavy, 0.99),
    Case("eight sines, D=200, d=8", sines, 0.98, d=8, alpha=0.5),
    Case("sources in bursts, D=200", bursts, 0.98),
    Case("scale changes hundredfold, D=200", regimes, 0.98),
    Case("weather, 24 hours a row, d=4", weather, 0.99, d=4, alpha=0.8, file="nyc_weather"),
]


# ---- what is reached ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """T, the sum to be reached, and what learns: a column's parameters to components."""

    T: Any
    best: float
    d: int
    learned: Callable[[Any], Any]
    peer: Callable[[], Any] | None = None
    of_rows: bool = True  # without labels, which the flow needs

    @property
    def crowded(self) -> bool:
        values = np.linalg.eigvalsh(self.T)
        return bool(values[-self.d] - values[-self.d - 1] < CROWD * np.abs(values).max())

    def share(self, V: Any) -> float:
        return float(np.sum((V @ self.T) * V)) / self.best


def of_stream(case: Case, seed: int) -> Problem:
    rows = case.rows(seed)
    T, best = best_of(rows, case.alpha, case.d)

    def learned(solver: Any) -> Any:
        if case.alpha == 1.0:
            return StreamPCA(case.d, solver=solver).fit(rows).components_
        return (
            SlowSubspace(case.d, alpha=case.alpha, solver=solver, basis="eigenvalue")
            .fit(rows)
            .components_
        )

    def peer() -> Any:
        return IncrementalPCA(case.d, batch_size=max(100, case.d)).fit(rows).components_

    return Problem(T, best, case.d, learned, peer if case.alpha == 1.0 else None)


def of_drift(angle: float, seed: int) -> Problem:
    """Return the recent T to be reached, a row 2000 rows ago counting for 1 / e."""
    rows, keep = turning(seed, angle), 1.0 - 1.0 / 2000
    now, moved = rows[1:], np.diff(rows, axis=0)
    w = keep ** np.arange(len(now) - 1.0, -1.0, -1.0)
    w /= w.sum()
    now = now - w @ now
    T = 0.3 * now.T @ (w[:, None] * now) - 0.7 * moved.T @ (w[:, None] * moved)

    def learned(solver: Any) -> Any:
        if not isinstance(solver, Dense | Krylov):
            solver = clone(solver).set_params(forgetting=1 - keep)
        return SlowSubspace(5, alpha=0.3, solver=solver, basis="eigenvalue").fit(rows).components_

    return Problem(T, float(np.linalg.eigvalsh(T)[-5:].sum()), 5, learned)


def letters() -> tuple[Any, Any]:
    stored = stored_images("letters")
    assert stored is not None
    return stored


def positive_sum(T: Any, d: int) -> float:
    values = np.linalg.eigvalsh(T)[-d:]
    return float(values[values > 0].sum())


def of_labels(eta: float, seed: int) -> Problem:
    """Return all pairs of letters. Only directions with positive eigenvalues count."""
    X, y = letters()
    operator = matrices(
        ClassSubspace(10, criterion="difference", eta=eta, solver="dense").fit(X, y)
    )
    T = operator.matrix(operator.weights)

    def learned(solver: Any) -> Any:
        return (
            ClassSubspace(10, criterion="difference", eta=eta, solver=solver).fit(X, y).components_
        )

    return Problem(T, positive_sum(T, 10), 10, learned, of_rows=False)


def of_pairs(eta: float, n: int, seed: int) -> Problem:
    """Return n couples of pairs of letters."""
    X, y = letters()
    pairs, signs = sample_pairs(y, 2 * n, random_state=seed)
    pairs = X[pairs]
    operator = matrices(
        PairSubspace(10, criterion="difference", eta=eta, solver="dense").fit(pairs, signs)
    )
    T = operator.matrix(operator.weights)

    def learned(solver: Any) -> Any:
        return (
            PairSubspace(10, criterion="difference", eta=eta, solver=solver)
            .fit(pairs, signs)
            .components_
        )

    return Problem(T, positive_sum(T, 10), 10, learned, of_rows=False)


def problems() -> Iterator[tuple[str, str | None, Callable[[int], Problem]]]:
    """Return the name of each case, the file of data it needs, and what makes it from a seed."""
    for case in STREAMS:
        yield case.name, case.file, lambda k, case=case: of_stream(case, k)  # type: ignore[misc]
    yield "forgetting 1/2000, standing", None, lambda k: of_drift(0.0, k)
    yield "forgetting 1/2000, turning 1 rad", None, lambda k: of_drift(1.0, k)
    for eta in (0.3, 0.5, 1.0):
        name = f"letters, all pairs, eta={eta:g}"
        yield name, "letters", lambda k, eta=eta: of_labels(eta, k)  # type: ignore[misc]
    for eta, of in (("0.3", 0.3), ("3/7", 3 / 7)):
        for n in (5000, 20_000):
            name = f"letters, {n} couples, eta={eta}"
            yield name, "letters", lambda k, n=n, of=of: of_pairs(of, n, k)  # type: ignore[misc]


def shares(problem: Problem, ways: list[str]) -> list[float]:
    """Return what each way reaches; not a number where it does not apply."""
    found = []
    for name in ways:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # negative eigenvalues are intended
            if name == PEER:
                found.append(np.nan if problem.peer is None else problem.share(problem.peer()))
            elif (name == "krylov" and problem.crowded) or (
                name[:4] == "flow" and not problem.of_rows
            ):
                found.append(np.nan)
            else:
                found.append(problem.share(problem.learned(WAYS[name])))
    return found


def main() -> None:
    """Print the shares of every way in every case."""
    ways, lines = [*WAYS, PEER], []
    for name, file, made in problems():
        if file and stored_data(file) is None:
            continue
        found = np.array([shares(made(seed), ways) for seed in SEEDS])
        columns = zip(found.mean(axis=0), found.min(axis=0), strict=True)
        line = ["" if np.isnan(m) else f"{m:.3f} ({w:.3f})" for m, w in columns]
        console.print(" | ".join([name, *line]), soft_wrap=True)
        lines.append([name, *line])
    show("Share of the batch optimum: mean (worst) of three seeds", ["", *ways], lines)
