"""The sketch: its time and memory, its estimate of the share, and the shares of its ratios.

Letters and faces need the folder EIGENSTREAM_DATA.
"""

import tracemalloc
import warnings
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from sklearn.decomposition import IncrementalPCA

from benchmarks import _streams as streams
from benchmarks._tools import console, race, show, stored_data, stored_images
from benchmarks.shares import fast_channels, turning_walk, walk
from eigenstream import ClassSubspace, Sketch, SlowSubspace, StreamPCA
from eigenstream.subspace import matrices

#: (features, rows).
SHAPES = [(400, 10_000), (784, 5000), (2000, 3000), (5000, 2000)]

#: Streams of five slow sources, by name: (rows, n_components, alpha).
STREAMS: dict[str, tuple[Any, int, float]] = {
    "D=400, n=4000": (lambda: streams.mixed(4000, 0, D=400, noise=1.0), 5, 0.3),
    "D=784, n=8000": (lambda: streams.mixed(8000, 0, D=784, noise=1.0), 5, 0.3),
    "D=784, n=8000, fast sources twice as large": (lambda: streams.mixed(8000, 0, D=784), 5, 0.3),
    "twelve fast channels, D=784, n=10000": (lambda: fast_channels(0), 5, 0.3),
    "walk of views, n=5000": (lambda: walk(5000, 0), 10, 0.2),
    "turning views, n=5000": (lambda: turning_walk(5000, 0), 10, 0.2),
}


def skewed(noise: float) -> Any:
    """Return slow sources whose directions are not orthogonal to those of fast ones."""
    rows, mixing = streams.slow(10_000, 0, D=500, noise=noise)
    return rows @ (mixing + np.random.default_rng(1).standard_normal((500, 500)) / np.sqrt(500))


#: Streams of ratios, by name: (rows, n_components, shrinkage).
RATIOS: dict[str, tuple[Any, int, float]] = {
    "D=500": (lambda: streams.mixed(10_000, 0, D=500, noise=1.0), 5, 1e-3),
    "D=500, slow variance 0.1": (lambda: streams.mixed(10_000, 0, D=500, noise=10**0.5), 5, 1e-4),
    "D=500, slow variance 0.03": (lambda: streams.mixed(10_000, 0, D=500, noise=5.8), 5, 1e-4),
    "D=500, slow variance 0.03, skewed": (lambda: skewed(5.8), 5, 1e-4),
    "walk of views, D=784": (lambda: walk(10_000, 0), 10, 1e-2),
    "D=1000": (lambda: streams.mixed(10_000, 0, D=1000, noise=1.0), 5, 1e-3),
}


def rows_of(D: int, n: int) -> Any:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n, D))
    rows[:, :20] *= np.linspace(4.0, 1.5, 20)
    rows[1:] += 0.6 * rows[:-1]
    return rows


def speed() -> None:
    """Microseconds of one core a row, d = 10."""
    table = []
    for D, n in SHAPES:
        rows = rows_of(D, n)
        runs = {
            "slow": partial(SlowSubspace(10, alpha=0.3, solver="sketch").fit, rows),
            "PCA": partial(StreamPCA(10, solver="sketch").fit, rows),
            "dense": partial(SlowSubspace(10, alpha=0.3, solver="dense").fit, rows),
            "dense PCA": partial(StreamPCA(10, solver="dense").fit, rows),
            "peer": partial(IncrementalPCA(10, batch_size=100).fit, rows),
        }
        times = race(runs, rounds=2, clock=process_time)
        table.append([str(D), *(f"{1e6 * t / n:.1f}" for t in times.values())])
        table[-1].append(f"{times['peer'] / times['PCA']:.1f}")
    columns = ["D", "slow subspace", "PCA", "slow subspace, dense", "PCA, dense"]
    columns += ["IncrementalPCA(100)", "it / PCA"]
    show("Microseconds of one core a row, d=10", columns, table)


def share_of(V: Any, A: Any, B: Any, best: float) -> float:
    """Return the share of the best sum of ratios of A to B that the columns of V reach."""
    return float(np.trace(np.linalg.solve(V.T @ B @ V, V.T @ A @ V))) / best


def estimates() -> None:
    """Print the true and the estimated shares of the optimum, after one and two passes."""
    table = []
    for name, (rows, d, alpha) in STREAMS.items():
        X = rows()
        dense = SlowSubspace(d, alpha=alpha, solver="dense", basis="eigenvalue").fit(X)
        T, best = matrices(dense).matrix((alpha, 1.0 - alpha)), float(dense.eigenvalues_.sum())
        table.append([name])
        for passes in (1, 2):
            model = SlowSubspace(d, alpha=alpha, solver=Sketch(passes=passes), basis="eigenvalue")
            V = model.fit(X).components_
            true = float(np.sum((V @ T) * V)) / best
            # None if the sum of the eigenvalues is negative.
            missed = model._fitted_learner().missed()
            table[-1] += [f"{true:.3f}", "none" if missed is None else f"{1.0 - missed:.3f}"]
    columns = ["", "one pass", "estimated", "two passes", "estimated"]
    show("Share of the optimum of T, and its estimate", columns, table)


def ratios() -> None:
    """Print the shares of the dense ratios after two and three passes."""
    table = []
    for name, (rows, d, shrinkage) in RATIOS.items():
        X = rows()
        dense = SlowSubspace(d, criterion="ratio", shrinkage=shrinkage, solver="dense").fit(X)
        shrunk, best = matrices(dense).shrunk(shrinkage), float(dense.eigenvalues_.sum())
        table.append([name])
        for passes in (2, 3):
            solver = Sketch(passes=passes)
            model = SlowSubspace(d, criterion="ratio", shrinkage=shrinkage, solver=solver).fit(X)
            reached = share_of(model.components_.T, shrunk.reward, shrunk.penalty, best)
            table[-1] += [f"{reached:.3f}", f"{model._fitted_learner().missed():.0%}"]
        pca = StreamPCA(10 * d, solver="dense").fit(X).components_.T
        inside = SlowSubspace(d, criterion="ratio", shrinkage=shrinkage).fit(X @ pca)
        V = pca @ inside.components_.T
        table[-1].append(f"{share_of(V, shrunk.reward, shrunk.penalty, best):.3f}")
    columns = ["", "two passes", "change", "three passes", "change", "PCA to 10 d first"]
    show("Share of the dense ratios, and the change in the last pass", columns, table)


def labelled(D: int, n_classes: int, n: int) -> tuple[Any, Any]:
    """Return rows of a falling spectrum, with class means of the same spectrum, and labels."""
    rng = np.random.default_rng(0)
    scale = (np.arange(1, D + 1) / 10.0 + 1.0) ** -0.5
    labels, means = rng.integers(n_classes, size=n), 0.3 * rng.standard_normal((n_classes, D))
    turn = np.linalg.qr(rng.standard_normal((D, D)))[0]
    return ((rng.standard_normal((n, D)) + means[labels]) * scale) @ turn, labels


def classes() -> None:
    """Print the shares of the dense ratios of classes, d = 10."""
    data = {
        "26 classes, D=400, n=4000": labelled(400, 26, 4000),
        "52 classes, D=600, n=6000": labelled(600, 52, 6000),
        "100 classes, D=800, n=6000": labelled(800, 100, 6000),
    }
    if letters := stored_images("letters"):
        order = np.random.default_rng(0).permutation(len(letters[0]))
        data["letters, 52 classes, D=784"] = letters[0][order], letters[1][order]
        data["letters, sorted by class"] = letters
    if (faces := stored_data("orl_faces")) is not None:
        small = faces["images"].reshape(-1, 28, 4, 23, 4).mean(axis=(2, 4)).reshape(-1, 644)
        data["faces, 40 classes, D=644, n=400"] = small / 255.0, faces["subject"]
    table = []
    for name, (X, y) in data.items():
        values = np.unique(y, return_inverse=True)[1]
        sizes = np.bincount(values)
        means = np.array([X[values == k].mean(axis=0) for k in range(len(sizes))])
        apart, spread = X - means[values], means - X.mean(axis=0)
        between = (spread.T * sizes) @ spread / (len(X) * (1.0 - ((sizes / len(X)) ** 2).sum()))
        within = apart.T @ apart / (len(X) - len(sizes))
        level = float(np.trace(within)) / X.shape[1]
        table.append([name])
        for shrinkage in (0.1, 0.5):
            shrunk = (1.0 - shrinkage) * within + shrinkage * level * np.eye(X.shape[1])
            best = float(eigvalsh(between, shrunk)[-10:].sum())
            for solver in (Sketch(passes=2), Sketch(passes=3), Sketch(5.0, passes=2)):
                model = ClassSubspace(
                    10, shrinkage=shrinkage, mixing=0, scale=False, solver=solver
                ).fit(X, y)
                table[-1].append(f"{share_of(model.components_.T, between, shrunk, best):.3f}")
    columns = [""]
    for shrinkage in (0.1, 0.5):
        columns += [f"shrinkage {shrinkage}, two passes", "three passes", "oversampling 5"]
    show("Share of the dense ratios of classes, d=10", columns, table)


def memory(D: int = 100_000) -> None:
    """The most that learning takes, its chunk of rows aside."""
    rng, peak = np.random.default_rng(0), 0
    sketch = SlowSubspace(10, alpha=0.3, solver="sketch")
    tracemalloc.start()
    for _ in range(20):
        rows = rng.standard_normal((37, D))
        tracemalloc.reset_peak()
        sketch.partial_fit(rows)
        peak = max(peak, tracemalloc.get_traced_memory()[1] - rows.nbytes)
    tracemalloc.stop()
    console.print(f"D={D}, d=10: at most {peak / 8 / D:.0f} vectors of length D")


def main() -> None:
    """Print the tables, and the memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # shares that are small are shown
        estimates()
        ratios()
        classes()
    speed()
    memory()


if __name__ == "__main__":
    main()
