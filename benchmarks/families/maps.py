"""Maps of about 5 sqrt(n) units, compared with MiniSom: 70 % of at most 2,100 rows, three seeds."""

import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from benchmarks._tools import console, stored_data, stored_images
from benchmarks.defaults import Trial
from eigenstream import SelfOrganizingMap
from eigenstream.prototypes.grids import Grid

SEEDS = range(3)
MOST_ROWS, MOST_HELD_OUT, SHARE = 3000, 600, 0.7

#: The measures, and whether larger values are better.
MEASURES = {
    "combined error of Kaski and Lagus / error of k-means": False,
    "topographic error": False,
    "quantisation error / error of k-means": False,
    "accuracy of the majority class of the nearest unit": True,
}


def standardised(rows: Any) -> Any:
    """Return rows with features of mean 0 and deviation 1."""
    spread = rows.std(axis=0)
    return (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def data_sets() -> Iterator[tuple[str, Any, Any]]:
    """Yield names, rows and classes. The classes are None if there are none."""
    for name in ("iris", "wine", "breast_cancer"):
        rows, classes = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield name, standardised(rows), classes
    rows, classes = datasets.load_digits(return_X_y=True)
    yield "digits", rows / 16, classes
    yield "blobs", *datasets.make_blobs(3000, 50, centers=10, random_state=0)
    yield "swiss roll", datasets.make_swiss_roll(3000, random_state=0)[0], None
    if weather := stored_data("nyc_weather"):
        hours = weather["values"][0].astype(float)
        yield "weather", standardised(hours[np.isfinite(hours).all(axis=1)]), None
    for name, n_components in (("letters", 40), ("mnist", 60)):
        if stored := stored_images(name):
            yield name, PCA(n_components, random_state=0).fit_transform(stored[0]), stored[1]


def minisom(sigma: float) -> Callable[[Any, int, int], Any]:
    """Return a function that trains MiniSom from the plane of its principal components."""

    def train(rows: Any, side: int, seed: int) -> Any:
        from minisom import MiniSom

        som = MiniSom(side, side, rows.shape[1], sigma=sigma, random_seed=seed)
        som.pca_weights_init(rows)
        som.train(rows, 10 * len(rows), random_order=True)
        return som.get_weights().reshape(side * side, -1)

    return train


def ours(last: float | None) -> Callable[[Any, int, int], Any]:
    """Return a function that trains a map with a last radius, by default the automatic radius."""

    def train(rows: Any, side: int, seed: int) -> Any:
        radius = (max(side / 10, 1.0), last) if last else "auto"
        som = SelfOrganizingMap((side, side), radius=radius, random_state=seed)
        return som.fit(rows).prototypes_

    return train


def quality(units: Any, side: int, rows: Any) -> tuple[float, float, float]:
    """Return the combined, the topographic and the quantisation error.

    The combined error adds, to the distance of a row to its nearest unit, the length of the
    shortest path over neighbours from there to its second nearest unit.
    """
    distances, grid = cdist(rows, units), Grid(side, side)
    first, second = distances.argsort(axis=1)[:, :2].T
    error = distances[np.arange(len(rows)), first]
    pairs = grid.neighbors()
    lengths = np.linalg.norm(units[pairs[:, 0]] - units[pairs[:, 1]], axis=1) + 1e-12
    graph = csr_array((lengths, pairs.T), shape=(grid.n_units, grid.n_units))
    starts, places = np.unique(first, return_inverse=True)
    paths = dijkstra(graph, directed=False, indices=starts)[places, second]
    folded = 1.0 - grid.adjacent(first, second).mean()
    return float((error + paths).mean()), float(folded), float(error.mean())


def accuracy(units: Any, rows: Any, classes: Any, new: Any, new_classes: Any) -> float:
    """Return the share of new rows in the majority class of their nearest unit with rows."""
    names, codes = np.unique(classes, return_inverse=True)
    counts = np.zeros((len(units), len(names)))
    np.add.at(counts, (cdist(rows, units).argmin(axis=1), codes), 1)
    used = np.flatnonzero(counts.sum(axis=1))
    nearest = used[cdist(new, units[used]).argmin(axis=1)]
    return float((names[counts[nearest].argmax(axis=1)] == new_classes).mean())


def trials() -> Iterator[Trial]:
    """Yield the errors on held-out rows."""
    variants = {f"last radius {last:g}": ours(last) for last in (0.43, 1.0)}
    makers = {"SelfOrganizingMap()": ours(None), **variants}
    if find_spec("minisom"):
        makers |= {f"MiniSom, sigma={sigma:g}": minisom(sigma) for sigma in (1.0, 1.5, 3.0)}
    else:
        console.print("MiniSom is not installed: pip install minisom, or the extra 'bench'.")
    for data, rows, classes in data_sets():
        scores = {measure: {name: [] for name in makers} for measure in MEASURES}
        for seed in SEEDS:
            order = np.random.default_rng(seed).permutation(len(rows))[:MOST_ROWS]
            cut = int(SHARE * len(order))
            known, new = order[:cut], order[cut:][:MOST_HELD_OUT]
            side = round((5 * len(known) ** 0.5) ** 0.5)
            k = min(side * side, len(known))
            means = KMeans(k, n_init=1, random_state=seed).fit(rows[known]).cluster_centers_
            floor = float(cdist(rows[new], means).min(axis=1).mean())
            for name, train in makers.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    units = train(rows[known], side, seed)
                combined, folded, error = quality(units, side, rows[new])
                values = [combined / floor, folded, error / floor]
                if classes is not None:
                    parts = rows[known], classes[known], rows[new], classes[new]
                    values.append(accuracy(units, *parts))
                for measure, value in zip(MEASURES, values, strict=False):
                    scores[measure][name].append(value)
        for measure, larger_is_better in MEASURES.items():
            if scores[measure]["SelfOrganizingMap()"]:
                yield Trial(measure, data, scores[measure], larger_is_better, tuple(variants))
