"""The rank of ``SlowSubspace`` whose feature is slowest on the other half of the rows.

Fields of few months and many cells have one slow pattern of 45 months. Mixtures have one source of
20 rows among columns of noise, with three rows for each column.
"""

import warnings
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.signal import lfilter

from benchmarks._tools import show
from eigenstream import SlowSubspace

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


def main() -> None:
    """Print the time scales at each rank, and how often it is the one that holds best."""
    warnings.simplefilter("ignore")
    table = []
    kinds = (("field", field, 45.0), ("mixture", mixture, 20.0))
    for kind, (name, drawn, true) in enumerate(kinds):
        scales, other = np.full((2, DRAWS, len(RANKS)), np.nan)
        held = np.full((DRAWS, len(RANKS)), np.nan)
        for k in range(DRAWS):
            rows = drawn(np.random.default_rng((SEED, kind, k)))
            for j, rank in enumerate(RANKS):
                if rank is not None and rank >= rows.shape[1]:
                    continue
                test = SlowSubspace(1, rank=rank).fit(rows).result_.held_out
                scales[k, j] = -1.0 / np.log(np.clip(test.in_sample[0], 1e-300, 1.0 - 1e-15))
                other[k, j], held[k, j] = test.timescales[0], test.other_half[0]
        best = np.nanargmax(held, axis=1)
        chosen = scales[np.arange(DRAWS), best]
        for j, rank in enumerate(RANKS):
            if np.isnan(held[:, j]).all():
                continue
            cells = [f"{np.median(values[:, j]):.3g}" for values in (scales, other, held)]
            label = "all" if rank is None else str(rank)
            table.append([f"{name}, {true:g}", label, *cells, str(int((best == j).sum()))])
        near = int((np.abs(chosen / true - 1.0) < 0.2).sum())
        middle = f"{np.median(chosen):.3g}"
        table.append([f"{name}, {true:g}", "best", middle, "", "", f"{near} within 20 %"])
    columns = ["rows, true scale", "rank", "time scale", "corrected", "other half", "best in"]
    show(f"Time scales by rank, medians of {DRAWS} draws", columns, table)


if __name__ == "__main__":
    main()
