"""Coverage of ``LagPath.decay``, its Chapman-Kolmogorov test, and time scales of noise.

Features are simulated, 20,000 rows at a time. Their autocorrelations with and without each of 20
blocks are computed as in ``lag_path``; ``check`` compares them.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.signal import lfilter

from benchmarks._tools import console, show
from eigenstream import SlowSubspace, lag_path
from eigenstream.subspace.inference.decays import (
    ChapmanKolmogorov,
    decay,
    jackknife_error,
    predicted_correlations,
)
from eigenstream.subspace.inference.timescales import LAGS

RUNS, ROWS, BLOCKS = 200, 20_000, 20

#: The lag of the features. Their decay is fitted to the other lags.
LAG = 10

SCALES, NOISES = (5, 20, 100, 300, 600), (0.0, 0.3, 0.7)


def autoregressive(rng: Any, scale: float, n: int) -> Any:
    """Return a stationary first-order process of variance 1."""
    c = np.exp(-1.0 / scale)
    steps, first = rng.standard_normal(n), rng.standard_normal()
    return lfilter([np.sqrt(1.0 - c * c)], [1.0, -c], steps, zi=[c * first])[0]


def jumps(rng: Any, scale: float, n: int) -> Any:
    """Return a process that jumps between -1 and 1."""
    flips = rng.random(n) < (1.0 - np.exp(-1.0 / scale)) / 2.0
    return np.where(flips.cumsum() % 2, 1.0, -1.0)


def curves(z: Any, lags: Any) -> tuple[Any, Any]:
    """Return autocorrelations of a feature, and those without each block."""
    n, edges = len(z), np.linspace(0, len(z), BLOCKS + 1).astype(int)
    z, sizes = z - z.mean(), np.diff(edges)
    found = np.empty((BLOCKS + 1, len(lags)))
    for k, lag in enumerate(lags):
        square = np.r_[np.zeros(lag), z[lag:] ** 2]
        value = np.r_[np.zeros(lag), z[lag:]]
        steps = np.r_[np.zeros(lag), (z[lag:] - z[:-lag]) ** 2]
        count = np.r_[np.zeros(lag), np.ones(n - lag)]
        sums = np.array([np.add.reduceat(one, edges[:-1]) for one in (square, value, steps, count)])
        # Rows whose earlier row is in the block before lose their terms with it.
        ends = [min(lag, size) for size in sizes[1:]]
        after = np.zeros_like(sums)
        for i, (edge, length) in enumerate(zip(edges[1:-1], ends, strict=True)):
            part = slice(edge, edge + length)
            after[:, i] = [one[part].sum() for one in (square, value, steps, count)]
        total = sums.sum(axis=1)
        rest = np.column_stack([total, total[:, None] - sums - after])
        variance = rest[0] / rest[3] - (rest[1] / rest[3]) ** 2
        found[:, k] = 1.0 - rest[2] / rest[3] / (2.0 * variance)
    return found[0], found[1:]


def check() -> None:
    """Raise unless ``lag_path`` has the same curves."""
    z = autoregressive(np.random.default_rng(0), 20, 2000)
    path = lag_path(SlowSubspace(1, alpha=0.5), z[:, None], LAGS, blocks=BLOCKS)
    rho, without = curves(z, LAGS)
    assert path.curves is not None
    assert path.curves_without is not None
    np.testing.assert_allclose(path.curves[3, :, 0], rho, atol=1e-9)
    np.testing.assert_allclose(path.curves_without[:, 3, :, 0], without, atol=1e-9)


def departs(rho: Any, without: Any) -> bool:
    """Return whether the autocorrelations depart from the prediction of LAG."""
    lags = np.array(LAGS)
    start, later = LAGS.index(LAG), np.flatnonzero((lags > LAG) & (lags % LAG == 0))
    multiples = lags[later] // LAG
    due = predicted_correlations(rho[[start]], multiples)
    errors = jackknife_error(
        without[:, later, None] - predicted_correlations(without[:, [start]], multiples)
    )
    test = ChapmanKolmogorov(LAG, lags[later], due, rho[later, None], errors)
    return bool(test.departs.any())


def simulated(source: Callable[..., Any], scale: float, noise: float, n_runs: int) -> list[float]:
    """Return median time scale, coverage, median share, its coverage, and the tests that depart."""
    lags, found = np.array(LAGS), []
    others = lags != LAG
    for seed in range(n_runs):
        rng = np.random.default_rng(1000 * seed + 7)
        z = np.sqrt(1.0 - noise) * source(rng, scale, ROWS)
        rho, without = curves(z + np.sqrt(noise) * rng.standard_normal(ROWS), lags)
        one = decay(lags[others], rho[others], without[:, others])
        naive = -LAG / np.log(max(rho[LAGS.index(LAG)], 1e-12))
        covered = one.timescale_low <= scale <= one.timescale_high
        found.append([one.timescale, covered, one.noise, naive, departs(rho, without)])
    middle, mean = np.nanmedian(found, axis=0), np.mean(found, axis=0)
    return [middle[0], mean[1], middle[2], middle[3], mean[4]]


def false_time_scales(scale: float, width: int, n_runs: int) -> int:
    """Return the number of runs in which features at lag 100 have a time scale."""
    count = 0
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        rows = np.column_stack([autoregressive(rng, scale, 10_000) for _ in range(width)])
        path = lag_path(SlowSubspace(1, criterion="ratio"), rows, [100], blocks=BLOCKS)
        count += int(np.isfinite(path.timescales).any())
    return count


def main(n_runs: int = RUNS) -> None:
    """Show the tables."""
    warnings.simplefilter("ignore", UserWarning)
    check()
    columns = ["time scale", "noise", "median", "coverage", "noise, median", "at lag 10", "departs"]
    for source in (autoregressive, jumps):
        lines = []
        for scale in SCALES:
            for noise in NOISES:
                values = simulated(source, scale, noise, n_runs)
                lines.append([f"{scale}", f"{noise:g}", *(f"{one:.3g}" for one in values)])
        show(f"{source.__name__}, {n_runs} runs of {ROWS:,} rows", columns, lines)
    lines = []
    for scale in (2, 5, 10, 20):
        counts = [false_time_scales(scale, width, max(n_runs // 10, 1)) for width in (5, 20)]
        lines.append([f"{scale}", *map(str, counts)])
    title = f"time scales reported at lag 100, of {max(n_runs // 10, 1)} runs"
    show(title, ["true time scale", "5 features", "20 features"], lines)
    console.print("A time scale is reported unless selection among the features may explain it.")
