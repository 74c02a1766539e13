"""The estimated share of a sketch, compared with the true one, on random wide data.

Factor models have 3 to 8 factors in 460 to 600 columns of unequal noise. Streams have 5 slow
autoregressive sources, and fast ones in the remaining 325 to 475 directions. The table compares the
share that is missed: 1 minus the share of the optimum.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import online
from benchmarks._tools import show
from eigenstream import Sketch, SlowSubspace, StreamPCA
from eigenstream.subspace import estimated_share, matrices

#: The number of runs of each kind.
N_RUNS = 20


def factors(seed: int) -> tuple[Any, Any]:
    """Return a model and rows of a factor model."""
    rng = np.random.default_rng([13, seed])
    n_columns, d = int(rng.integers(460, 601)), int(rng.integers(3, 9))
    n = int(rng.integers(1000, 4001))
    loadings = rng.standard_normal((d, n_columns)) * rng.uniform(0.06, 0.3, (d, 1))
    noise = rng.standard_normal((n, n_columns)) * rng.uniform(0.5, 1.5, n_columns)
    return StreamPCA(d), rng.standard_normal((n, d)) @ loadings + noise


def autoregressions(seed: int) -> tuple[Any, Any]:
    """Return a model and rows of slow sources among fast ones."""
    rng = np.random.default_rng([17, seed])
    n_columns, n = int(rng.integers(330, 481)), int(rng.integers(2000, 5001))
    noise = float(rng.uniform(0.5, 1.2))
    rows = online.mixed(n, 1000 + seed, D=n_columns, noise=noise)
    return SlowSubspace(5, alpha=0.3, basis="eigenvalue"), rows


def missed(model: Any, rows: Any, passes: int, best: float, T: Any) -> tuple[float, float]:
    """Return the true and the estimated share that a sketch misses."""
    V = np.linalg.qr(model.set_params(solver=Sketch(passes=passes)).fit(rows).components_.T)[0]
    true = 1.0 - float(np.sum((V.T @ T) * V.T)) / best
    try:
        return true, 1.0 - estimated_share(model)
    except ValueError:  # the sum of the eigenvalues is not positive
        return true, np.nan


def main() -> None:
    """Show quantiles of the estimated over the true share, and how often it is lower."""
    warnings.simplefilter("ignore")
    table = []
    kinds: dict[str, Callable[[int], tuple[Any, Any]]] = {
        "factor models": factors,
        "autoregressive streams": autoregressions,
    }
    for name, make in kinds.items():
        runs = []
        for seed in range(N_RUNS):
            model, rows = make(seed)
            operator = matrices(model.set_params(solver="dense").fit(rows))
            T = operator.matrix((1.0, 0.0) if name[0] == "f" else (0.3, 0.7))
            best = float(np.linalg.eigvalsh(T)[-model.n_components :].sum())
            runs.append([missed(model, rows, passes, best, T) for passes in (1, 2)])
        for k, passes in enumerate(("one pass", "two passes")):
            true, estimated = np.array(runs)[:, k].T
            known = np.isfinite(estimated) & (true > 1e-6)
            ratios = estimated[known] / true[known]
            quantiles = [f"{q:.2f}" for q in np.quantile(ratios, (0.0, 0.25, 0.5, 0.75, 1.0))]
            below = f"{(ratios < 1.0).sum()} of {len(ratios)}"
            table.append([f"{name}, {passes}", f"{np.median(true):.5f}", *quantiles, below])
    columns = ["", "missed", "least", "quarter", "median", "three quarters", "most", "below 1"]
    show("Estimated share missed over the true one", columns, table)
