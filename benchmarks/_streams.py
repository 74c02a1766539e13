"""Easy and difficult streams, and the least share of the optimum that one pass of the flow reaches.

Cases on real data need the folder EIGENSTREAM_DATA.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks._tools import distances, stored_data, stored_images
from eigenstream import Flow, SlowSubspace, StreamPCA

SEEDS = (0, 1, 2)


def slow(n: int, seed: int, *, D: int = 50, noise: float = 2.0, tails: bool = False) -> Any:
    """Return five slow sources among fast ones that are ``noise`` times as large, unmixed."""
    rng = np.random.default_rng(seed)
    memory = np.r_[0.99, 0.98, 0.97, 0.96, 0.95, rng.uniform(-0.3, 0.3, D - 5)]
    rows = rng.standard_t(2, (n, D)) if tails else rng.standard_normal((n, D))
    rows *= np.sqrt(1.0 - memory**2)
    for t in range(1, n):
        rows[t] += memory * rows[t - 1]
    return rows * np.r_[np.ones(5), np.full(D - 5, noise)], orthogonal(D, rng)


def orthogonal(D: int, rng: np.random.Generator) -> Any:
    return np.linalg.qr(rng.standard_normal((D, D)))[0]


def mixed(n: int, seed: int, **more: Any) -> Any:
    rows, mixing = slow(n, seed, **more)
    return rows @ mixing


def scaled(n: int, seed: int, factor: float, first: int, **more: Any) -> Any:
    """Return the stream with its first rows times a factor."""
    rows = mixed(n, seed, **more)
    rows[:first] *= factor
    return rows


def outlier(seed: int) -> Any:
    rows = mixed(20_000, seed)
    rows[100] *= 30.0
    return rows


def fast_channel(seed: int) -> Any:
    rows, mixing = slow(20_000, seed)
    rows[:, 7] *= 30.0
    return rows @ mixing


def repeated(seed: int) -> Any:
    rows = mixed(20_000, seed)
    return np.concatenate([np.repeat(rows[:1], 500, axis=0), rows])


def alanine(runs: int, seed: int) -> Any:
    """Return the distances of the heavy atoms in some runs of a molecule's trajectory."""
    stored = stored_data("alanine_dipeptide")
    assert stored is not None
    chosen = np.random.default_rng(seed).permutation(len(stored["xyz_pm"]))[:runs]
    return list(distances(stored["xyz_pm"][chosen][:, :, stored["elements"] != "H"] / 1000.0))


def digits(n: int, seed: int) -> Any:
    stored = stored_images("mnist")
    assert stored is not None
    return stored[0][np.random.default_rng(seed).permutation(len(stored[0]))[:n]]


@dataclass(frozen=True)
class Case:
    """A stream, made from a seed, what is sought in it, and what is promised of the worst seed."""

    name: str
    rows: Callable[[int], Any]
    least: float
    d: int = 5
    alpha: float = 0.3
    file: str | None = None  # of real data


MNIST = {"d": 50, "alpha": 1.0, "file": "mnist"}
ALANINE = {"d": 2, "alpha": 0.5, "file": "alanine_dipeptide"}
CASES = [
    Case("D=50, d=5, noise 2, n=1000", lambda k: mixed(1000, k), 0.0),
    Case("n=2000", lambda k: mixed(2000, k), 0.95),
    Case("n=4000", lambda k: mixed(4000, k), 0.98),
    Case("n=20000", lambda k: mixed(20_000, k), 0.997),
    Case("times 1e6", lambda k: 1e6 * mixed(20_000, k), 0.997),
    Case("times 1e-6", lambda k: 1e-6 * mixed(20_000, k), 0.997),
    Case("plus 1e3", lambda k: 1e3 + mixed(20_000, k), 0.997),
    Case("500 copies of row 0 first", repeated, 0.997),
    Case("first tenth at 1e-6", lambda k: scaled(20_000, k, 1e-6, 2000), 0.997),
    Case("first tenth at 1e3", lambda k: scaled(20_000, k, 1e3, 2000), 0.95),
    Case("row 100 times 30", outlier, 0.75),
    Case("t(2) tails", lambda k: mixed(20_000, k, tails=True), 0.95),
    Case("one fast channel times 30", fast_channel, 0.75),
    Case("D=784, d=5, noise 1, n=20000", lambda k: mixed(20_000, k, D=784, noise=1.0), 0.95),
    Case("D=300, d=5, noise 2, n=10000", lambda k: mixed(10_000, k, D=300), 0.8),
    Case("alanine, 3 runs", lambda k: alanine(3, k), 0.75, **ALANINE),
    Case("alanine, 10 runs", lambda k: alanine(10, k), 0.95, **ALANINE),
    Case("MNIST, 10000 rows", lambda k: digits(10_000, k), 0.998, **MNIST),
    Case("MNIST, 500 rows", lambda k: digits(500, k), 0.97, **MNIST),
]


def best_of(rows: Any, alpha: float, d: int) -> tuple[Any, float]:
    """Return the stream's own T, and the sum of its top eigenvalues, in plain NumPy."""
    runs = rows if isinstance(rows, list) else [rows]
    lag = int(alpha < 1.0)
    now = np.concatenate([run[lag:] for run in runs])
    now = now - now.mean(axis=0)
    T = alpha * now.T @ now / len(now)
    if lag:
        velocity = np.concatenate([np.diff(run, axis=0) for run in runs])
        T -= (1.0 - alpha) * velocity.T @ velocity / len(velocity)
    return T, float(np.linalg.eigvalsh(T)[-d:].sum())


def share(case: Case, seed: int) -> float:
    """Return what one pass captures of a case's optimum."""
    rows = case.rows(seed)
    T, best = best_of(rows, case.alpha, case.d)
    options = {"solver": Flow(random_state=seed)}
    if case.alpha == 1.0:
        estimator = StreamPCA(case.d, **options)
    else:
        estimator = SlowSubspace(case.d, alpha=case.alpha, basis="eigenvalue", **options)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "after .* steps the average")
        V = estimator.fit(rows).components_
    return float(np.trace(V @ T @ V.T)) / best
