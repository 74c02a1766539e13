"""Rows with gaps: known slow sources, and the coverage of the intervals of time scales.

Sources of time scales 40, 20 and 12 rows are mixed with 37 sources of 0.3 to 1.1 rows. Smooth
signals have 5 times these time scales, and each value is the mean of 8 rows.

Intervals are those of the time scales 100 and 20 in 20,000 rows. The mixing matrix has singular
values from 1 to .1.
"""

import warnings

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.signal import lfilter

from benchmarks._tools import show
from eigenstream import SlowSubspace, open_stream

#: The share of missing values, and the length of bursts.
GAPS = ((0.0, 1), (0.05, 1), (0.2, 1), (0.4, 1), (0.2, 60), (0.4, 60))
SEEDS, N_ROWS, N_COLUMNS, LAG = 3, 3000, 40, 5

#: The number of columns and of runs, the share of missing values, and the length of bursts. A
#: length of 0 stands for half of the values of the first column.
COVERED = ((4, 50, 0.1, 1), (4, 50, 0.3, 1), (4, 100, 0.2, 60), (4, 50, 0.5, 0), (10, 20, 0.1, 1))


def problem(seed: int, smooth: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and their three slow sources."""
    rng = np.random.default_rng(seed)
    fast = rng.uniform(0.3, 1.1, N_COLUMNS - 3)
    scales = np.r_[40.0, 20.0, 12.0, fast] * (5.0 if smooth else 1.0)
    decays = np.exp(-1.0 / scales)
    noise = rng.standard_normal((N_ROWS, N_COLUMNS)) * np.sqrt(1.0 - decays**2)
    columns = [lfilter([1.0], [1.0, -c], noise[:, k]) for k, c in enumerate(decays)]
    sources = np.column_stack(columns)
    if smooth:
        sources = uniform_filter1d(sources, 8, axis=0)
    mixing = rng.standard_normal((N_COLUMNS, N_COLUMNS)) / np.sqrt(N_COLUMNS)
    return sources @ mixing, sources[:, :3]


def punched(rows: np.ndarray, share: float, burst: int, seed: int) -> np.ndarray:
    """Return a copy with missing values, scattered or in bursts of each column."""
    rng, made = np.random.default_rng(seed), rows.copy()
    for column in range(rows.shape[1]):
        n = round(share * len(rows) / burst)
        for start in rng.choice(len(rows) - burst, n, replace=burst > 1):
            made[start : start + burst, column] = np.nan
    return made


def mixed(rng: np.random.Generator, n_columns: int) -> np.ndarray:
    """Return rows of sources of time scales 100, 20, 5 and 1, mixed."""
    decays = np.exp(-1.0 / np.r_[100.0, 20.0, 5.0, np.ones(n_columns - 3)])
    noise = rng.standard_normal((20_000, n_columns))
    noise[1:] *= np.sqrt(1.0 - decays**2)
    sources = np.column_stack(
        [lfilter([1.0], [1.0, -c], noise[:, k]) for k, c in enumerate(decays)]
    )
    left, _, right = np.linalg.svd(rng.standard_normal((n_columns, n_columns)))
    return sources @ (left * np.geomspace(1.0, 0.1, n_columns)) @ right


def intervals(n_columns: int, share: float, burst: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the time scales relative to the complete rows', and whether intervals cover."""
    rows = mixed(np.random.default_rng([7, seed]), n_columns)
    slow = SlowSubspace(2, criterion="ratio")
    complete = slow.fit(rows).timescales_
    if burst:
        rows = punched(rows, share, burst, seed)
    else:
        rows[np.random.default_rng(seed).random(len(rows)) < share, 0] = np.nan
    bars = slow.set_params(missing="available").uncertainty(rows).timescales
    truth = np.array([100.0, 20.0])
    return slow.fit(rows).timescales_ / complete, (bars.low <= truth) & (truth <= bars.high)


def explained(features: np.ndarray, sources: np.ndarray) -> float:
    """Return the share of the variance of the sources that the features explain."""
    both = np.column_stack([features, np.ones(len(features))])
    rest = sources - both @ np.linalg.lstsq(both, sources, rcond=None)[0]
    return float(1.0 - (rest**2).sum() / ((sources - sources.mean(axis=0)) ** 2).sum())


def result(rows: np.ndarray, complete: np.ndarray, sources: np.ndarray, way: str) -> float:
    """Return the R^2 of a fit, evaluated on the complete rows; NaN for a fit that raises."""
    slow = SlowSubspace(3, lag=LAG, criterion="ratio", missing="raise")
    try:
        if way == "interpolate":
            slow.fit(open_stream(rows, missing="interpolate"))
        else:
            slow.set_params(missing=way).fit(rows)
    except ValueError:
        return np.nan
    return explained(slow.transform(complete), sources)


def text(score: float) -> str:
    """Return a score, or that the fit raises."""
    return "raises" if np.isnan(score) else f"{score:.2f}"


def coverage() -> None:
    """Show the ratios to time scales of complete rows, and the coverage of intervals."""
    table = []
    for n_columns, n_runs, share, burst in COVERED:
        runs = [intervals(n_columns, share, burst, seed) for seed in range(n_runs)]
        ratios, covered = (np.array(values) for values in zip(*runs, strict=True))
        cells = []
        for k in range(2):
            middle, spread = np.median(ratios[:, k]), np.sqrt((np.log(ratios[:, k]) ** 2).mean())
            rate = covered[:, k].mean()
            error = np.sqrt((rate * (1.0 - rate) + 1.0 / (4 * n_runs)) / n_runs)
            cells += [f"{middle:.3f}", f"{spread:.3f}", f"{rate:.2f} ± {error:.2f}"]
        kind = {0: " of one column", 1: ""}.get(burst, f" in bursts of {burst} rows")
        table.append([f"{n_columns} columns, {share:.0%}{kind}", str(n_runs), *cells])
    names = [f"{name}, {scale}" for scale in (100, 20) for name in ("ratio", "spread", "covered")]
    show("Time scales 100 and 20 from rows with gaps", ["missing", "runs", *names], table)


def main() -> None:
    """Show the coverage, and the mean R^2 over the seeds."""
    warnings.simplefilter("ignore")
    coverage()
    for smooth in (False, True):
        table = []
        for share, burst in GAPS:
            scores = np.zeros((SEEDS, 3))
            for seed in range(SEEDS):
                complete, sources = problem(seed, smooth)
                rows = punched(complete, share, burst, seed)
                for k, way in enumerate(("skip", "available", "interpolate")):
                    scores[seed, k] = result(rows, complete, sources, way)
            name = f"{share:.0%}" + (f" in bursts of {burst} rows" if burst > 1 else "")
            table.append([name, *map(text, scores.mean(axis=0))])
        title = "smooth signals" if smooth else "sampled signals"
        show(
            f"R^2 of three slow sources, {title}",
            ["missing", "skip", "available", "interpolate"],
            table,
        )
