"""Distances from labels and from pairs, compared with raw distance, discriminants and PairMetric.

Half of the classes is held out; of wine and cancer, half of the rows. The ROC area is that of all
pairs of held-out rows. Pairs are 1000 random index pairs, half of them of the same class.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks._tools import console, stored_data
from benchmarks.defaults import Trial
from eigenstream import ClassSubspace, PairMetric, PairSubspace, sample_pairs
from eigenstream.evaluation import pair_roc

SEEDS = range(4)
N_PAIRS = 1000

#: The data sets on which PairMetric takes seconds rather than minutes.
METRIC = ("letters", "digits", "wine")

#: Rows and classes to learn from, and held-out rows and classes.
Split = tuple[Any, Any, Any, Any]


def some(y: Any, classes: Any, most: int, rng: Any) -> Any:
    """Return the places of up to ``most`` random rows of each class."""
    return np.concatenate([rng.permutation(np.flatnonzero(y == c))[:most] for c in classes])


def of_classes(X: Any, y: Any, learned: int, held_out: int, seed: int) -> Split:
    """Hold out half of the classes."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(np.unique(y))
    old, new = names[: len(names) // 2], names[len(names) // 2 :]
    train, test = some(y, old, learned, rng), some(y, new, held_out, rng)
    return X[train], y[train], X[test], y[test]


def of_rows(X: Any, y: Any, seed: int) -> Split:
    """Hold out half of the rows of each class."""
    rng = np.random.default_rng(seed)
    train = np.concatenate([some(y, [c], (y == c).sum() // 2, rng) for c in np.unique(y)])
    test = np.setdiff1d(np.arange(len(y)), train)
    return X[train], y[train], X[test], y[test]


def nuisance(seed: int) -> Split:
    """Return 60 classes that differ in 6 of 200 directions; 40 others have more noise."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(60), 10)
    Z = 0.3 * rng.standard_normal((600, 200))
    Z[:, 6:46] *= 10.0
    Z[:, :6] += 0.8 * rng.standard_normal((60, 6))[y]
    X = Z @ np.linalg.qr(rng.standard_normal((200, 200)))[0]
    return X[y < 30], y[y < 30], X[y >= 30], y[y >= 30]


def pooled(images: Any, size: int) -> Any:
    """Return images with the means of ``size`` x ``size`` pixels as columns."""
    n, height, width = images.shape[0], images.shape[1] // size, images.shape[2] // size
    cells = images[:, : height * size, : width * size].reshape(n, height, size, width, size)
    return cells.mean(axis=(2, 4)).reshape(n, -1) / 255.0


def data_sets() -> Iterator[tuple[str, Callable[[int], Split]]]:
    """Yield names and functions that draw a split."""
    for name in ("wine", "breast_cancer"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield name, lambda seed, X=X, y=y: of_rows(X, y, seed)
    X, y = datasets.load_digits(return_X_y=True)
    yield "digits", lambda seed, X=X, y=y: of_classes(X, y, 200, 100, seed)
    yield "nuisance", nuisance
    for name, labels, size, learned, held_out in (
        ("letters", "labels", 2, 40, 30),
        ("mnist", "labels", 2, 200, 100),
        ("orl_faces", "subject", 4, 10, 10),
    ):
        if stored := stored_data(name):
            X, y = pooled(stored["images"], size), stored[labels]
            yield (
                name,
                lambda seed, X=X, y=y, n=learned, m=held_out: of_classes(X, y, n, m, seed),
            )


def areas(split: Split, maps: dict[str, Any]) -> dict[str, float]:
    """Return the ROC area of each map of the held-out rows."""
    rows, classes = split[2:]
    return {name: pair_roc(project(rows), classes).area for name, project in maps.items()}


def trials() -> Iterator[Trial]:
    """Yield the areas of maps from labels and of maps from pairs."""
    for name, draw in data_sets():
        console.print(f"labels and pairs: {name} ...")
        labels, pairs = [], []
        for seed in SEEDS:
            X, y, *_ = split = draw(seed)
            lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X, y)
            peers = {"raw": np.asarray, "LDA": lda.transform}
            labels.append(
                areas(split, {"ClassSubspace()": ClassSubspace().fit(X, y).transform} | peers)
            )
            index, signs = sample_pairs(y, N_PAIRS, random_state=seed)
            learners = {"PairSubspace()": PairSubspace(preprocessor=X)}
            if name in METRIC:
                learners["PairMetric()"] = PairMetric(preprocessor=X)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # PairMetric may stop early
                maps = {k: one.fit(index, signs).transform for k, one in learners.items()}
            own = maps.pop("PairSubspace()")
            pairs.append(areas(split, {"PairSubspace()": own} | peers | maps))
        for measure, found, variants in (
            ("ROC area from labels", labels, ()),
            ("ROC area from 1000 pairs", pairs, ("LDA",)),
        ):
            scores = {key: [one[key] for one in found] for key in found[0]}
            yield Trial(measure, name, scores, variants=variants)
