"""Features of rows with gaps: missing values predicted from the row, and from its neighbours.

The error is the mean squared difference to the feature of the complete rows, over all rows and in
units of its variance. It is the mean over the slow features and over the runs.
"""

import warnings

import numpy as np

from benchmarks._tools import show
from benchmarks.gaps import mixed, problem, punched
from eigenstream import SlowSubspace
from eigenstream.subspace import filled

N_RUNS = 10

#: The share of missing values, and the length of bursts.
GAPS = ((0.05, 1), (0.2, 1), (0.2, 60))

#: The rows of a seed, by name.
ROWS = {
    "4 columns": lambda seed: mixed(np.random.default_rng([11, seed]), 4),
    "40 columns, sampled signals": lambda seed: problem(100 + seed, smooth=False)[0],
    "40 columns, smooth signals": lambda seed: problem(100 + seed, smooth=True)[0],
}


def errors(complete: np.ndarray, rows: np.ndarray) -> list[float]:
    """Return the errors of features of the rows, and of filled rows."""
    slow = SlowSubspace(2, criterion="ratio", missing="available").fit(rows)
    features = slow.transform(complete)
    found = []
    for X in (rows, filled(slow, rows)):
        squares = (slow.transform(X) - features) ** 2 / features.var(axis=0)
        found.append(float(np.nanmean(squares)))
    return found


def main() -> None:
    """Show the errors, with their standard errors over the runs."""
    warnings.simplefilter("ignore")
    table = []
    for name, make in ROWS.items():
        for share, burst in GAPS:
            runs = []
            for seed in range(N_RUNS):
                complete = make(seed)
                runs.append(errors(complete, punched(complete, share, burst, seed)))
            spread = np.std(runs, axis=0, ddof=1) / np.sqrt(N_RUNS)
            kind = f" in bursts of {burst} rows" if burst > 1 else ""
            cells = zip(np.mean(runs, axis=0), spread, strict=True)
            texts = [f"{mean:.4f} ± {error:.4f}" for mean, error in cells]
            table.append([f"{name}, {share:.0%}{kind}", *texts])
    show("Squared error of two slow features", ["missing", "own row", "filled"], table)
