"""R^2 of known slow sources from rows with gaps: skipping, available values and interpolation.

Sources of time scales 40, 20 and 12 rows are mixed with 37 sources of 0.3 to 1.1 rows. Smooth
signals have 5 times these time scales, and each value is the mean of 8 rows.
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


def main() -> None:
    """Show the mean R^2 over the seeds."""
    warnings.simplefilter("ignore")
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
