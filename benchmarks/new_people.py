"""Coverage of the interval of the false-positive rate, for thresholds set on a few letters.

12 letters are learned from. Of the others, a few set the threshold at a rate of 0.01, and 20 test
it. The stored images of letters are read from EIGENSTREAM_DATA.
"""

import warnings

import numpy as np
from scipy.spatial.distance import cdist

from benchmarks._tools import show, stored_data
from benchmarks.families.labels_and_pairs import pooled
from eigenstream import ClassSubspace
from eigenstream.subspace import false_positive_interval

DRAWS, MODELS, RATE = 60, 10, 0.01
LEARNED, NEW, ROWS = 12, 20, 20


def main() -> None:
    """Show the realised rates, the coverage and the errors for each number of letters."""
    stored = stored_data("letters")
    if stored is None:
        return
    X, y = pooled(stored["images"], 2), stored["labels"]
    rng, results = np.random.default_rng(0), {n: [] for n in (4, 8, 13, 20)}
    warnings.simplefilter("ignore")  # a few letters give uncertain rates
    for draw in range(DRAWS):
        if draw % (DRAWS // MODELS) == 0:
            letters = rng.permutation(np.unique(y))
            train = np.flatnonzero(np.isin(y, letters[:LEARNED]))[::4]
            model = ClassSubspace().fit(X[train], y[train])
        others = rng.permutation(letters[LEARNED:])
        places = [np.flatnonzero(y == letter)[:ROWS] for letter in others]
        new = np.concatenate(places[-NEW:])
        features, names = model.transform(X[new]), y[new]
        apart = cdist(features, features)[names[:, None] != names]
        for n, rows in results.items():
            known = np.concatenate(places[:n])
            judge = model.calibrate_threshold(X[known], y[known], false_positive_rate=RATE)
            interval = false_positive_interval(judge, X[known], y[known])
            low, high = interval.predicted(NEW)
            realised = float((apart < judge.threshold_).mean())
            rows.append((realised, low <= realised <= high, interval.log_error))
    table = []
    for n, rows in results.items():
        realised, inside, errors = np.array(rows).T
        low, high = np.quantile(realised, [0.05, 0.95])
        table.append(
            [str(n), f"{low:.4f} to {high:.4f}", f"{inside.mean():.2f}", f"{np.median(errors):.2f}"]
        )
    show(
        f"Letters that set a threshold at a rate of {RATE:g}, tested on {NEW} others",
        ["letters", "realised rate (5 to 95 %)", "intervals that contain it", "relative error"],
        table,
    )
