"""The rank whose feature is slowest on the other half of the rows.

Fields of few months and many cells have one slow pattern of 45 months. Mixtures have one source of
20 rows among columns of noise, with three rows for each column, or a pair that rotates. Windows of
real recordings are fitted, and their feature is followed in the rest of the recording.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.signal import lfilter

from benchmarks._tools import distances, show, stored_data
from benchmarks.sure import pair
from eigenstream import DynamicSubspace, SlowSubspace
from eigenstream.subspace import autocorrelations

#: Draws of each kind, and their seed; the ranks to compare, where None keeps all directions.
DRAWS, SEED, RANKS = 10, 20261130, (5, 10, 20, 40, 80, 160, None)

#: Months and cells of a field, and the time scales of its patterns in months.
MONTHS, CELLS = 960, (36, 44)
PATTERNS = (45.0, 8.0, 6.0, 5.0, 4.0, 3.0, 3.0, 2.0, 2.0, 2.0, *[1.0] * 10)


def source(rng: Any, n: int, scale: float) -> Any:
    """Return a stationary autoregression of unit variance."""
    factor = np.exp(-1.0 / scale)
    noise = rng.standard_normal(n + 400) * np.sqrt(1.0 - factor**2)
    return lfilter([1.0], [1.0, -factor], noise)[400:]


def field(rng: Any) -> Any:
    """Return months of a field of smooth patterns and noise of each cell."""
    rows = 0.7 * rng.standard_normal((MONTHS, CELLS[0] * CELLS[1]))
    for k, scale in enumerate(PATTERNS):
        pattern = gaussian_filter(rng.standard_normal(CELLS), 5.0, mode="wrap").ravel()
        variance = 0.3 if k == 0 else 1.0 / k
        size = np.sqrt(variance) / pattern.std()
        rows += size * np.outer(source(rng, MONTHS, scale), pattern)
    return rows


def mixture(rng: Any) -> Any:
    """Return rows of a slow source of the variance 4 among columns of unequal noise."""
    width, n = 60, 180
    columns = rng.standard_normal((n, width)) * np.exp(0.3 * rng.standard_normal(width))
    columns[:, 0] = 2.0 * source(rng, n, 20.0)
    return columns @ np.linalg.qr(rng.standard_normal((width, width)))[0]


def rotation(rng: Any) -> Any:
    """Return rows of a rotating pair of the variance 4 among columns of unequal noise."""
    width, n = 60, 180
    columns = pair(rng, n, width, 20.0) * np.exp(0.3 * rng.standard_normal(width))
    columns[:, :2] *= 2.0
    return columns @ np.linalg.qr(rng.standard_normal((width, width)))[0]


def compared(name: str, model: Any, drawn: Any, kind: int, true: float) -> list[list[str]]:
    """Return the time scales at each rank, and those of the rank that holds best."""
    scales, other, held = np.full((3, DRAWS, len(RANKS)), np.nan)
    for k in range(DRAWS):
        rows = drawn(np.random.default_rng((SEED, kind, k)))
        for j, rank in enumerate(RANKS):
            if rank is None or rank < rows.shape[1]:
                test = model.set_params(rank=rank).fit(rows).result_.held_out
                scales[k, j] = -1.0 / np.log(np.clip(test.in_sample[0], 1e-300, 1.0 - 1e-15))
                other[k, j], held[k, j] = test.timescales[0], test.other_half[0]
    best = np.nanargmax(held, axis=1)
    chosen = scales[np.arange(DRAWS), best]
    table = []
    for j, rank in enumerate(RANKS):
        if not np.isnan(held[:, j]).all():
            cells = [f"{np.nanmedian(values[:, j]):.3g}" for values in (scales, other, held)]
            label = "all" if rank is None else str(rank)
            table.append([name, label, *cells, str(int((best == j).sum()))])
    near = int((np.abs(chosen / true - 1.0) < 0.2).sum())
    return [*table, [name, "best", f"{np.median(chosen):.3g}", "", "", f"{near} within 20 %"]]


def windows() -> Iterator[tuple[str, int, Any, Any]]:
    """Yield windows of recordings of the data folder: name, lag, window and the rest."""
    rng = np.random.default_rng(SEED)
    molecule, airports = stored_data("alanine_dipeptide"), stored_data("nyc_weather")
    if molecule is None or airports is None:
        return
    runs = [distances(run) for run in molecule["xyz_pm"].astype(np.float64)]
    for k in rng.permutation(len(runs))[:DRAWS]:
        yield "alanine, 501 x 231", 5, runs[k], runs[:k] + runs[k + 1 :]
    hours = airports["values"].astype(np.float64)
    hours = [np.where(np.isfinite(place), place, np.nanmean(place, axis=0)) for place in hours]
    hours = [place / place.std(axis=0) for place in hours]
    for k in range(DRAWS):
        place, n = hours[k % len(hours)], int(rng.integers(len(hours[0]) - 72))
        yield "weather, 72 x 9", 1, place[n : n + 72], hours[(k + 1) % len(hours)]


def of_windows() -> list[list[str]]:
    """Return the autocorrelations in the rest of the recording, by rank, and of the best rank."""
    found: dict[str, list[Any]] = {}
    for name, lag, rows, rest in windows():
        ranks = [rank for rank in RANKS if rank is None or rank < rows.shape[1]]
        models = [SlowSubspace(1, lag=lag, rank=rank).fit(rows) for rank in ranks]
        held = [model.result_.held_out.other_half[0] for model in models]
        later = [autocorrelations(model, rest, lag)[0] for model in models]
        found.setdefault(name, []).append((ranks, held, later))
    table = []
    for name, each in found.items():
        ranks, held, later = each[0][0], *(np.array([row[k] for row in each]) for k in (1, 2))
        best = np.argmax(held, axis=1)
        for j, rank in enumerate(ranks):
            cells = [f"{values[:, j].mean():.3f}" for values in (held, later)]
            label = "all" if rank is None else str(rank)
            table.append([name, label, *cells, str(int((best == j).sum()))])
        chosen = later[np.arange(len(best)), best]
        table.append([name, "best", "", f"{chosen.mean():.3f}", ""])
    return table


def main() -> None:
    """Print the time scales at each rank, and how often it is the one that holds best."""
    warnings.simplefilter("ignore")
    table = [
        *compared("field, 45", SlowSubspace(1), field, 0, 45.0),
        *compared("mixture, 20", SlowSubspace(1), mixture, 1, 20.0),
        *compared("rotation, 20", DynamicSubspace(2), rotation, 2, 20.0),
    ]
    columns = ["rows, true scale", "rank", "time scale", "corrected", "other half", "best in"]
    show(f"Time scales by rank, medians of {DRAWS} draws", columns, table)
    columns = ["rows", "rank", "other half", "rest of the recording", "best in"]
    show(f"Autocorrelations by rank, means of {DRAWS} windows", columns, of_windows())


if __name__ == "__main__":
    main()
