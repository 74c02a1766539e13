"""New classes by their embeddings: distances learned from labels, and plain peers.

Of the classes, 60 % are learned from, and up to 20 rows of each other class are tested. Besides
two sets of EIGENSTREAM_DATA, the sets are random features and principal components of images.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import cholesky, inv
from scipy.spatial.distance import pdist
from sklearn.covariance import ledoit_wolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import normalize

from benchmarks._tools import show, stored_data
from benchmarks.defaults import mean_and_error
from benchmarks.families.labels_and_pairs import pooled, some
from eigenstream import ClassSubspace

SEEDS, SIZES, RATE = range(4), (5, 50), 0.01


def embeddings() -> Iterator[tuple[str, Any, Any]]:
    """Yield names, embeddings and labels."""
    for name in ("docstrings_minilm", "orl_faceapi"):
        if stored := stored_data(name):
            yield name, stored["embeddings"].astype(np.float64), stored["labels"]
    if stored := stored_data("letters"):
        rng, names = np.random.default_rng(0), stored["labels"]
        rows = pooled(stored["images"], 1)
        phases = rng.uniform(0.0, 2.0 * np.pi, 256)
        rows = np.cos(0.03 * rows @ rng.standard_normal((rows.shape[1], 256)) + phases)
        lower = np.char.islower(names)
        yield "letters, random Fourier features", rows[lower], names[lower]


def whitened(X: Any, y: Any) -> Any:
    """Return the map that whitens the covariance within classes (WCCN), about the mean."""
    means = {name: X[y == name].mean(axis=0) for name in np.unique(y)}
    covariance = ledoit_wolf(X - np.array([means[name] for name in y]), assume_centered=True)[0]
    columns, mean = cholesky(inv(covariance), lower=True), X.mean(axis=0)
    return lambda rows: (rows - mean) @ columns


def maps(X: Any, y: Any) -> dict[str, Callable[[Any], Any]]:
    """Return the maps after which distances are Euclidean; the default comes first."""
    lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X, y)
    wccn, mean = whitened(X, y), X.mean(axis=0)
    return {
        "ClassSubspace()": ClassSubspace().fit(X, y).transform,
        "normalize=False": ClassSubspace(normalize=False).fit(X, y).transform,
        "raw": np.asarray,
        "cosine": normalize,
        "centred cosine": lambda rows: normalize(rows - mean),
        "LDA + cosine": lambda rows: normalize(lda.transform(rows)),
        "WCCN + cosine": lambda rows: normalize(wccn(rows)),
    }


def measures(features: Any, y: Any) -> dict[str, float]:
    """Return the ROC area, the true-positive rate, recall at 1 and mean average precision."""
    n = len(y)
    first, second = np.triu_indices(n, 1)
    apart, same = pdist(features), y[first] == y[second]
    near, far = np.sort(apart[same]), np.sort(apart[~same])
    sides = [np.searchsorted(far, near, side=side).sum() for side in ("left", "right")]
    square = np.full((n, n), np.inf)
    square[first, second] = square[second, first] = apart
    order = np.argsort(square, axis=1, kind="stable")[:, :-1]
    hits = y[order] == y[:, None]
    precision = np.cumsum(hits, axis=1) / np.arange(1, n)
    return {
        "ROC area": 1.0 - sum(sides) / (2.0 * len(near) * len(far)),
        "recall at 1": float(hits[:, 0].mean()),
        "mean average precision": float(((precision * hits).sum(1) / hits.sum(1)).mean()),
        f"true positives at {RATE:.0%}": float((near < far[int(RATE * len(far))]).mean()),
    }


def main() -> None:
    """Show each measure of each method, and its paired difference from the default."""
    warnings.simplefilter("ignore")
    scores: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name, X, y in embeddings():
        for size in SIZES:
            for seed in SEEDS:
                rng = np.random.default_rng(seed)
                classes = rng.permutation(np.unique(y))
                cut = round(0.6 * len(classes))
                train, test = some(y, classes[:cut], size, rng), some(y, classes[cut:], 20, rng)
                for method, project in maps(X[train], y[train]).items():
                    for measure, value in measures(project(X[test]), y[test]).items():
                        rows = scores.setdefault(measure, {}).setdefault(f"{name}, {size}", {})
                        rows.setdefault(method, []).append(value)
    for measure, sets in scores.items():
        lines = []
        for name, by_method in sets.items():
            own, *peers = by_method.values()
            cells = ["{:.3f} ± {:.3f}".format(*mean_and_error(own))]
            for values in peers:
                gap, error = mean_and_error(np.subtract(values, own))
                cells.append(f"{gap:+.3f} ± {error:.3f}")
            lines.append([name, *cells])
        methods = next(iter(sets.values()))
        show(f"{measure} (peers: minus the default)", ["set, rows a class", *methods], lines)
