"""The coverage of the 95 % intervals, by simulation.

The same sums as in the library are computed for many runs at once. ``check`` compares them.
"""

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.signal import lfilter
from scipy.stats import t as student

from benchmarks._tools import console, show
from eigenstream import SlowSubspace, StreamPCA

#: Runs in all, and runs that are computed at once.
RUNS, BATCH = 1000, 50

#: The slowest of three time scales in rows, and the lengths of blocks in units of it.
TIMESCALES = (2.0, 10.0, 50.0)
LENGTHS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50)

#: The variances of the sources, from slow to fast, and their speeds relative to the slowest one.
VARIANCES, SPEEDS = np.array([3.0, 2.0, 1.0]), np.array([1.0, 2.0, 4.0])

ALPHA = 0.5


def runs(rng: Any, timescale: float, n: int) -> Any:
    """Return stationary autoregressions, shape (BATCH, n, 3)."""
    a = np.exp(-SPEEDS / timescale)
    noise = rng.standard_normal((BATCH, n, len(a)))
    noise[:, 1:] *= np.sqrt(1.0 - a**2)
    found = [lfilter([1.0], [1.0, -one], noise[:, :, j], axis=1) for j, one in enumerate(a)]
    return np.stack(found, axis=-1) * np.sqrt(VARIANCES)


def scatters(rows: Any, lag: int, n_blocks: int) -> tuple[Any, Any]:
    """Return A and B of all rows and without each block, shape (BATCH, n_blocks + 1, D, D)."""
    n = rows.shape[1]
    edges = np.ceil(np.arange(n_blocks + 1) * n / n_blocks - 1e-6).astype(int)
    cuts = np.unique(np.concatenate([[0, lag], edges, edges + lag]))
    cuts = cuts[cuts < n]
    steps = np.zeros_like(rows)
    if lag:
        steps[:, lag:] = rows[:, lag:] - rows[:, :-lag]
    parts = [np.split(one, cuts[1:], axis=1) for one in (rows, steps)]
    squares, velocities = (
        np.stack([np.swapaxes(part, 1, 2) @ part for part in some], axis=1) for some in parts
    )
    sums = np.stack([part.sum(axis=1) for part in parts[0]], axis=1)
    # A row has terms if the row before it by the lag is in the same part of the rows.
    kept = np.tile(cuts >= lag, (n_blocks + 1, 1))
    for k, (first, last) in enumerate(pairwise(edges)):
        kept[k + 1] &= (cuts < first) | (cuts >= last + lag)
    counts = (kept @ np.diff(np.append(cuts, n)))[:, None]
    means = np.einsum("ks,rsi->rki", kept, sums) / counts
    A, B = (
        np.einsum("ks,rsij->rkij", kept, one) / counts[..., None] for one in (squares, velocities)
    )
    return A - np.einsum("rki,rkj->rkij", means, means), B


def values_of(A: Any, B: Any) -> dict[str, Any]:
    """Return the eigenvalues and time scales at lag 1, in descending order."""
    inverse = np.linalg.inv(np.linalg.cholesky(A))
    velocity = np.linalg.eigvalsh(inverse @ B @ np.swapaxes(inverse, -1, -2))
    rho = np.clip(1.0 - velocity / 2.0, 1e-300, 1.0 - 1e-16)
    return {
        "time scales": -1.0 / np.log(rho),
        "slow eigenvalues": np.linalg.eigvalsh(ALPHA * A - (1.0 - ALPHA) * B)[..., ::-1],
        "variances": np.linalg.eigvalsh(A)[..., ::-1],
    }


def covered(name: str, values: Any, truth: Any) -> Any:
    """Return for each run and value whether its interval contains the true value."""
    if name != "slow eigenvalues":
        values, truth = np.log(values), np.log(truth)
    n_blocks = values.shape[1] - 1
    errors = np.sqrt((n_blocks - 1) * values[:, 1:].var(axis=1))
    return np.abs(values[:, 0] - truth) <= student.ppf(0.975, n_blocks - 1) * errors


def coverage(timescale: float, length: float, n_blocks: int, n_runs: int) -> dict[str, Any]:
    """Return the share of intervals that contain the true value, for the three sources."""
    rng = np.random.default_rng(round(1000 * timescale * length + n_blocks))
    A = np.diag(VARIANCES)
    truth = values_of(A, 2.0 * A * (1.0 - np.exp(-SPEEDS / timescale)))
    hits: dict[str, list[Any]] = {name: [] for name in truth}
    for _ in range(n_runs // BATCH):
        rows = runs(rng, timescale, round(n_blocks * length * timescale))
        for name, values in values_of(*scatters(rows, 1, n_blocks)).items():
            hits[name].append(covered(name, values, truth[name]))
    return {name: 100.0 * np.concatenate(found).mean(axis=0) for name, found in hits.items()}


def joined_coverage(timescale: float, n_scales: int, n_runs: int) -> dict[str, Any]:
    """Return the coverage of the library, which joins short blocks, and its numbers of blocks.

    Time scales that the library does not report are left out.
    """
    rng = np.random.default_rng(round(1000 * timescale * n_scales))
    A = np.diag(VARIANCES)
    truth = values_of(A, 2.0 * A * (1.0 - np.exp(-SPEEDS / timescale)))
    hits: dict[str, list[Any]] = {name: [] for name in (*truth, "blocks")}
    for _ in range(n_runs // BATCH):
        for rows in runs(rng, timescale, round(n_scales * timescale)):
            slow, pca = (
                SlowSubspace(3, alpha=ALPHA).uncertainty(rows),
                StreamPCA(3).uncertainty(rows),
            )
            found = (slow.timescales, slow.eigenvalues, pca.eigenvalues)
            for name, one in zip(truth, found, strict=True):
                inside = (one.low <= truth[name]) & (truth[name] <= one.high)
                hits[name].append(np.where(np.isnan(one.low), np.nan, inside))
            hits["blocks"].append(slow.n_blocks)
    return {name: np.nanmean(one, axis=0) for name, one in hits.items()}


# ---- the tables --------------------------------------------------------------------------------


def check() -> float:
    """Return the largest relative difference from the library, in two runs."""
    rows = runs(np.random.default_rng(0), 10.0, 4000)
    worst = 0.0
    for one, slow, pca in zip(
        rows[:2],
        values_of(*scatters(rows[:2], 1, 20))["time scales"],
        values_of(*scatters(rows[:2], 0, 20))["variances"],
        strict=True,
    ):
        for model, values, name in (
            (SlowSubspace(3, alpha=ALPHA), slow, "timescales"),
            (StreamPCA(3), pca, "eigenvalues"),
        ):
            found = getattr(model.uncertainty(one), name)
            error = np.sqrt(19.0 * values[1:].var(axis=0))
            worst = max(worst, np.abs(found.error / error - 1.0).max())
    return float(worst)


def main(n_runs: int = RUNS) -> None:
    """Print the coverage for each length of blocks and number of blocks."""
    console.print(f"largest difference from the library: {check():.1e}")
    names = ("time scales", "slow eigenvalues", "variances")
    table = []
    for length in LENGTHS:
        cells = [str(length)]
        for timescale in TIMESCALES:
            found = coverage(timescale, length, 20, n_runs)
            cells += [" ".join(f"{one:.0f}" for one in found[name]) for name in names]
        table.append(cells)
    columns = [f"{name}, {scale:g}" for scale in TIMESCALES for name in names]
    show("Coverage in per cent, 20 blocks", ["length / time scale", *columns], table)
    table = []
    for n_blocks in (3, 5, 10, 20, 40):
        found = coverage(10.0, 20, n_blocks, n_runs)
        cells = [" ".join(f"{one:.0f}" for one in found[name]) for name in names]
        table.append([str(n_blocks), *cells])
    show("Coverage in per cent, blocks of 20 time scales", ["blocks", *names], table)
    table = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # short recordings
        for n_scales in (20, 40, 60, 100, 200, 400):
            cells = [str(n_scales)]
            for timescale in TIMESCALES:
                found = joined_coverage(timescale, n_scales, n_runs)
                cells += [" ".join(f"{100 * one:.0f}" for one in found[name]) for name in names]
                cells.append(f"{found['blocks']:.0f}")
            table.append(cells)
    columns = [f"{name}, {scale:g}" for scale in TIMESCALES for name in (*names, "blocks")]
    show(
        "Coverage of the library, which joins short blocks",
        ["length / time scale", *columns],
        table,
    )


if __name__ == "__main__":
    main()
