"""New classes by their embeddings: distances learned from labels or pairs, and plain peers.

Of the classes, 60 % are learned from, and up to 20 rows of each other class are tested. The sets
of EIGENSTREAM_DATA that exist are used. One more set is random Fourier features of images.

- docstrings_minilm: first paragraphs of docstrings of Python packages. A class is a package.
- orl_faceapi: the ORL faces by a face network. A class is a person.
- debian_minilm: descriptions of 60 Debian packages for each of 48 sections, by ``apt-cache``.
- fortunes_minilm: 60 quotations on each of 36 topics, from the Debian package fortunes.
- voices_resemblyzer: 30 quotations spoken by each of 101 voice variants of espeak-ng.
- languages_resemblyzer_raw: 30 quotations spoken in each of 129 languages of espeak-ng.

Texts are cut at 160 characters. Their embeddings are means over the tokens of all-MiniLM-L6-v2,
not normalized. Speech is embedded from 1.6 s by the LSTM of Resemblyzer, with unit rows for
voices, and for languages the raw output of its last layer.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import cholesky, eigh, inv
from scipy.spatial.distance import pdist
from sklearn.covariance import ledoit_wolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from benchmarks._tools import console, show, stored_data
from benchmarks.defaults import mean_and_error
from benchmarks.families.labels_and_pairs import pooled, some
from eigenstream import ClassSubspace, PairSubspace, sample_pairs

SEEDS, SIZES, N_PAIRS, RATE = range(4), (5, 50), (500, 5_000, 50_000), 0.01

#: The sets that chose the rule, and those that only confirm it.
SETS = (
    "docstrings_minilm",
    "orl_faceapi",
    "debian_minilm",
    "fortunes_minilm",
    "voices_resemblyzer",
    "languages_resemblyzer_raw",
)

#: The options of the estimators that are compared; the default comes first.
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "low false positives": {"selection": "low false positives"},
    "normalize=False": {"normalize": False},
}

#: The head of the rows of a table.
COLUMN = "set, rows a class or pairs"

#: The distances of all pairs of rows, as those of ``pdist``.
Distances = Callable[[Any], Any]


def embeddings() -> Iterator[tuple[str, Any, Any]]:
    """Yield names, embeddings and labels."""
    for name in SETS:
        if stored := stored_data(name):
            yield name, stored["embeddings"].astype(np.float64), stored["labels"]
    if stored := stored_data("letters"):
        rng, names = np.random.default_rng(0), stored["labels"]
        rows = pooled(stored["images"], 1)
        phases = rng.uniform(0.0, 2.0 * np.pi, 256)
        rows = np.cos(0.03 * rows @ rng.standard_normal((rows.shape[1], 256)) + phases)
        lower = np.char.islower(names)
        yield "letters, random Fourier features", rows[lower], names[lower]


def whitened(X: Any, covariance: Any) -> Any:
    """Return the map that whitens a covariance within classes, about the mean."""
    columns, mean = cholesky(inv(covariance), lower=True), X.mean(axis=0)
    return lambda rows: (rows - mean) @ columns


def plda(X: Any, y: Any) -> Distances:
    """Return minus the log-likelihood ratio of the two-covariance model, on unit rows."""
    mean, (names, codes) = X.mean(axis=0), np.unique(y, return_inverse=True)
    rows = normalize(X - mean)
    means = np.array([rows[codes == k].mean(axis=0) for k in range(len(names))])
    within, _ = ledoit_wolf(rows - means[codes], assume_centered=True)
    v, columns = eigh(np.cov(means.T), within)
    v = np.maximum(v, 0.0)
    own, cross = (v / (1.0 + v)) ** 2 * (1.0 + v) / (1.0 + 2.0 * v), v / (1.0 + 2.0 * v)

    def distances(test: Any) -> Any:
        Z = normalize(test - mean) @ columns
        squares, (first, second) = Z**2 @ own, np.triu_indices(len(Z), 1)
        return squares[first] + squares[second] - 2.0 * ((Z * cross) @ Z.T)[first, second]

    return distances


def weighted_differences(X: Any, index: Any, signs: Any) -> Distances:
    """Return logistic regression on the absolute differences of pairs."""
    rows = X / X.std(axis=0).mean()
    differences = np.abs(rows[index[:, 0]] - rows[index[:, 1]])
    weights = -LogisticRegression(C=0.1, max_iter=200).fit(differences, signs).coef_[0]
    return lambda test: np.concatenate(
        [np.abs(test[k + 1 :] - test[k]) @ weights for k in range(len(test) - 1)]
    )


def adapter(X: Any, y: Any, steps: int = 300, width: int = 64) -> Any:
    """Return a linear map before the cosine, trained with a contrastive loss (InfoNCE, Adam)."""
    rng, mean, places = np.random.default_rng(0), X.mean(axis=0), {}
    rows = (X - mean) / np.linalg.norm(X - mean, axis=1).mean()
    for name in np.unique(y):
        places[name] = np.flatnonzero(y == name)
    names = [name for name in places if len(places[name]) > 1]
    A, first, second = np.eye(X.shape[1]), 0.0, 0.0
    for step in range(1, steps + 1):
        chosen = rng.permutation(len(names))[:width]
        pairs = np.array([rng.choice(places[names[k]], 2, replace=False) for k in chosen]).T
        inputs = [rows[part] for part in pairs]
        mapped = [part @ A for part in inputs]
        norms = [np.linalg.norm(part, axis=1, keepdims=True) for part in mapped]
        units = [part / norm for part, norm in zip(mapped, norms, strict=True)]
        logits = units[0] @ units[1].T / 0.1
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        slope = (shares / shares.sum(axis=1, keepdims=True) - np.eye(len(chosen))) / 0.1
        gradient = np.zeros_like(A)
        for k, gradient_of_unit in enumerate((slope @ units[1], slope.T @ units[0])):
            across = (
                gradient_of_unit
                - (gradient_of_unit * units[k]).sum(axis=1, keepdims=True) * units[k]
            )
            gradient += inputs[k].T @ (across / norms[k]) / len(chosen)
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        rate = 1e-3 * np.sqrt(1.0 - 0.999**step) / (1.0 - 0.9**step)
        A -= rate * first / (np.sqrt(second) + 1e-8)
    return lambda test: normalize((test - mean) @ A)


def of_labels(X: Any, y: Any) -> dict[str, Distances]:
    """Return the distances learned from labels; the default comes first."""
    lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X, y)
    means = {name: X[y == name].mean(axis=0) for name in np.unique(y)}
    within = ledoit_wolf(X - np.array([means[name] for name in y]), assume_centered=True)[0]
    wccn = whitened(X, within)
    maps = {
        **{name: ClassSubspace(**option).fit(X, y).transform for name, option in OPTIONS.items()},
        **plain(X),
        "LDA + cosine": lambda rows: normalize(lda.transform(rows)),
        "RCA": wccn,
        "WCCN + cosine": lambda rows: normalize(wccn(rows)),
        "contrastive adapter": adapter(X, y),
    }
    return distances_after(maps) | {"PLDA": plda(X, y)}


def of_pairs(X: Any, y: Any, n_pairs: int, seed: int) -> dict[str, Distances]:
    """Return the distances learned from random pairs; the default comes first."""
    index, signs = sample_pairs(y, n_pairs, random_state=seed)
    alike = index[signs > 0]
    rca = whitened(X, ledoit_wolf(X[alike[:, 0]] - X[alike[:, 1]], assume_centered=True)[0])
    maps = {
        **{
            name: PairSubspace(preprocessor=X, **option).fit(index, signs).transform
            for name, option in OPTIONS.items()
        },
        **plain(X),
        "RCA": rca,
        "WCCN + cosine": lambda rows: normalize(rca(rows)),
    }
    return distances_after(maps) | {"logistic |x - y|": weighted_differences(X, index, signs)}


def plain(X: Any) -> dict[str, Distances]:
    """Return the maps that use no labels."""
    mean = X.mean(axis=0)
    return {
        "raw": np.asarray,
        "cosine": normalize,
        "centred cosine": lambda rows: normalize(rows - mean),
    }


def distances_after(maps: dict[str, Any]) -> dict[str, Distances]:
    """Return the Euclidean distances after each map."""
    return {
        name: lambda rows, project=project: pdist(project(rows)) for name, project in maps.items()
    }


def measures(distances: Any, y: Any) -> dict[str, float]:
    """Return the ROC area, the true-positive rate, recall at 1 and mean average precision.

    ``apart`` are the distances of all pairs of rows.
    """
    n = len(y)
    first, second = np.triu_indices(n, 1)
    same = y[first] == y[second]
    near, far = np.sort(distances[same]), np.sort(distances[~same])
    sides = [np.searchsorted(far, near, side=side).sum() for side in ("left", "right")]
    square = np.full((n, n), np.inf)
    square[first, second] = square[second, first] = distances
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
        for size in (*SIZES, *N_PAIRS):
            console.print(f"{name}, {size} ...")
            for seed in SEEDS:
                rng = np.random.default_rng(seed)
                classes = rng.permutation(np.unique(y))
                cut, each = round(0.6 * len(classes)), min(size, max(SIZES))
                train, test = some(y, classes[:cut], each, rng), some(y, classes[cut:], 20, rng)
                X_train, y_train, of_rows = X[train], y[train], size in SIZES
                learned = (
                    of_labels(X_train, y_train)
                    if of_rows
                    else of_pairs(X_train, y_train, size, seed)
                )
                for method, distances in learned.items():
                    for measure, value in measures(distances(X[test]), y[test]).items():
                        cell = f"{measure} from {'labels' if of_rows else 'pairs'}"
                        by_method = scores.setdefault(cell, {}).setdefault(f"{name}, {size}", {})
                        by_method.setdefault(method, []).append(value)
    behind = []
    for measure, sets in scores.items():
        lines = []
        for name, by_method in sets.items():
            default, *peers = by_method.values()
            cells = ["{:.3f} ± {:.3f}".format(*mean_and_error(default))]
            for method, values in zip([*by_method][1:], peers, strict=True):
                gap, error = mean_and_error(np.subtract(values, default))
                cells.append(f"{gap:+.3f} ± {error:.3f}")
                if gap > 2.0 * error and method not in OPTIONS:
                    behind.append([measure, name, method, cells[-1]])
            lines.append([name, *cells])
        methods = next(iter(sets.values()))
        show(f"{measure} (peers: minus the default)", [COLUMN, *methods], lines)
    columns = ["measure", COLUMN, "peer", "peer minus default"]
    show("Peers that are better by more than 2 standard errors", columns, behind)
