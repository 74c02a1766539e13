"""Learning from pairs compared with one BLAS product of the same data, and with SciPy's eigh."""

import resource
import sys
import tracemalloc
from time import perf_counter

import numpy as np
from scipy.linalg import blas, eigh
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from benchmarks._tools import race, show
from eigenstream import ClassSubspace, Kernel, PairSubspace, RBFNetwork
from eigenstream.evaluation import balanced_risk, pair_roc
from eigenstream.processes.characters import letter_set
from eigenstream.subspace.pairs.family import ETAS
from eigenstream.subspace.solvers.kernels import KernelMap, median_square

COMPONENTS, FOLDS = 20, 5


def labelled_rows(n: int, n_features: int, n_classes: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Rows about class means."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, n)
    rows = rng.standard_normal((n, n_features))
    rows += rng.standard_normal((n_classes, n_features))[labels]
    return rows, labels


def linear() -> None:
    """All pairs of 60000 rows."""
    rows, labels = labelled_rows(60_000, 784)
    matrix = np.cov(rows[:2000].T)
    subset = (784 - COMPONENTS, 783)
    best = race(
        {
            "one dsyrk": lambda: blas.dsyrk(1.0, rows.T, lower=1),
            "eigensolve": lambda: eigh(matrix, subset_by_index=subset),
            "ClassSubspace": lambda: ClassSubspace(COMPONENTS, criterion="difference", eta=1.0).fit(
                rows, labels
            ),
        }
    )
    floor = best["one dsyrk"] + best["eigensolve"]
    show(
        "ClassSubspace, 60000 x 784, 1.8e9 pairs (floor: one dsyrk + eigensolve)",
        ["", "seconds", "times the floor"],
        [[name, f"{t:.2f}", f"{t / floor:.2f}"] for name, t in best.items()],
    )


def choice() -> None:
    """A choice of eta: five folds at twelve weights, all eigenpairs exact."""
    rows, labels = labelled_rows(6000, 784)
    matrix = np.cov(rows[:2000].T)
    subset = (784 - COMPONENTS, 783)
    best = race(
        {
            "one eigensolve": lambda: eigh(matrix, subset_by_index=subset),
            "eta = 1": lambda: ClassSubspace(COMPONENTS, criterion="difference", eta=1.0).fit(
                rows, labels
            ),
            "eta = 'auto'": lambda: ClassSubspace(COMPONENTS, criterion="difference").fit(
                rows, labels
            ),
        }
    )
    floor = FOLDS * len(ETAS) * best["one eigensolve"]
    show(
        f"ClassSubspace, 6000 x 784 (floor: {FOLDS} folds x {len(ETAS)} weights, one solve each)",
        ["", "seconds", "times the floor"],
        [[name, f"{t:.2f}", f"{t / floor:.2f}"] for name, t in best.items()],
    )


def landmarks() -> None:
    """1000 landmarks: the map is one product in D and one in p, the scatter one syrk in p."""
    rows, labels = labelled_rows(60_000, 784)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    prototypes = np.ascontiguousarray(rows[:1000])
    square = np.random.default_rng(0).standard_normal((1000, 1000))

    def floor() -> None:
        for start in range(0, len(rows), 2000):
            part = rows[start : start + 2000]
            mapped = np.exp(part @ prototypes.T) @ square
            blas.dsyrk(1.0, mapped.T, lower=1)

    network = RBFNetwork(1000, gamma=1.0, random_state=0)
    best = race(
        {
            "two products and a syrk": floor,
            "ClassSubspace": lambda: ClassSubspace(
                COMPONENTS, criterion="difference", eta=1.0, features=network
            ).fit(rows, labels),
        },
        rounds=2,
    )
    tracemalloc.start()
    ClassSubspace(COMPONENTS, criterion="difference", eta=1.0, features=network).fit(rows, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    base = best["two products and a syrk"]
    show(
        f"1000 landmarks, 60000 rows; beyond the data {peak / 2**30:.2f} GB",
        ["", "seconds", "times the floor"],
        [[name, f"{t:.2f}", f"{t / base:.2f}"] for name, t in best.items()],
    )


def index_pairs() -> None:
    """Ten million pairs over ten thousand points."""
    rows, labels = labelled_rows(10_000, 784)
    rng = np.random.default_rng(0)
    table = []
    for n in (10**5, 10**6, 10**7):
        pairs = rng.integers(0, len(rows), (n, 2))
        y = np.where(labels[pairs[:, 0]] == labels[pairs[:, 1]], 1, -1)
        best = race(
            {
                eta: lambda p=pairs, s=y, e=eta: PairSubspace(
                    10, criterion="difference", eta=e, preprocessor=rows
                ).fit(p, s)
                for eta in (1.0, "auto")
            },
            rounds=1,
        )
        tracemalloc.start()
        PairSubspace(10, criterion="difference", eta=1.0, preprocessor=rows).fit(pairs, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        seconds = [f"{best[eta]:.2f}" for eta in (1.0, "auto")]
        table.append([f"{n:,}", *seconds, f"{peak / rows.nbytes:.1f}"])
    show(
        "PairSubspace, index pairs over 10000 x 784 points",
        ["pairs", "seconds", "eta='auto'", "memory / that of the points"],
        table,
    )


def kernel(n: int = 4160) -> None:
    """The exact kernel compared with an eigensolve: the factor of the Gram matrix, and a fit."""
    X, y = letter_set("both", -(-n // 20), random_state=0)
    X, y = X[:n], y[:n]
    gamma = 0.5 / median_square(X)
    best = race(
        {
            "Gram, factor": lambda: KernelMap(gamma).fit(X),
            "ClassSubspace": lambda: ClassSubspace(
                COMPONENTS, criterion="difference", eta=1.0, solver=Kernel("rbf", gamma)
            ).fit(X, y),
            "Gram, scipy.linalg.eigh": lambda: eigh(rbf_kernel(X, gamma=gamma)),
        },
        rounds=1,
    )
    whole = best["Gram, scipy.linalg.eigh"]
    show(
        f"Exact kernel, {len(X)} rows",
        ["", "seconds", "of eigh"],
        [[name, f"{t:.2f}", f"{t / whole:.2f}"] for name, t in best.items()],
    )


def large_kernel() -> None:
    """Ten thousand rows in the exact kernel's space."""
    rows, labels = labelled_rows(10_000, 50, 20)
    start = perf_counter()
    with threadpool_limits(1):
        ClassSubspace(COMPONENTS, criterion="difference", eta=1.0, solver=Kernel("rbf")).fit(
            rows, labels
        )
    seconds = perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
    show(
        "Exact kernel, 10000 rows (the process's largest memory so far, all told)",
        ["seconds", "GB"],
        [[f"{seconds:.1f}", f"{peak / 2**30:.2f}"]],
    )


def risks() -> None:
    """All pairs of ten thousand rows, every threshold."""
    Z, labels = labelled_rows(10_000, 24)
    best = race(
        {
            "risk": lambda: balanced_risk(Z, labels),
            "ROC with its interval": lambda: pair_roc(Z, labels),
        },
        rounds=2,
    )
    table = []
    for name, run in (("risk", balanced_risk), ("ROC with its interval", pair_roc)):
        tracemalloc.start()
        run(Z, labels)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        table.append([name, f"{best[name]:.2f}", f"{peak / 2**20:.0f}"])
    show("All 5e7 pairs of 10000 x 24 features", ["", "seconds", "MB"], table)


def main() -> None:
    """Print every table."""
    large_kernel()  # first, while the process is small
    linear()
    choice()
    landmarks()
    index_pairs()
    kernel()
    risks()


if __name__ == "__main__":
    main()
