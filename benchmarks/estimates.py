"""The estimated share of a sketch, compared with the true one, and the share of a flow.

Factor models have 3 to 8 factors in 460 to 600 columns of unequal noise. Streams have 5 slow
autoregressive sources, and fast ones in the remaining 325 to 475 directions. Flat spectra are those
of white noise in 460 to 800 columns. The table compares the share that is missed: 1 minus the share
of the optimum.

A flow has no estimate. The second table counts flows of less than 0.99 of the optimum by how far
their subspace moved in the second half of the rows.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import _streams as streams
from benchmarks._tools import show
from eigenstream import Sketch, SlowSubspace, StreamPCA
from eigenstream.processes import Autoregressive
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
    rows = streams.mixed(n, 1000 + seed, D=n_columns, noise=noise)
    return SlowSubspace(5, alpha=0.3, basis="eigenvalue"), rows


def flat(seed: int) -> tuple[Any, Any]:
    """Return a model and rows of white noise."""
    rng = np.random.default_rng([23, seed])
    shape = int(rng.integers(1500, 4001)), int(rng.integers(460, 801))
    return StreamPCA(int(rng.integers(1, 11))), rng.standard_normal(shape)


def missed(model: Any, rows: Any, passes: int, best: float, T: Any) -> tuple[float, float]:
    """Return the true and the estimated share that a sketch misses."""
    V = np.linalg.qr(model.set_params(solver=Sketch(passes=passes)).fit(rows).components_.T)[0]
    true = 1.0 - float(np.sum((V.T @ T) * V.T)) / best
    try:
        return true, 1.0 - estimated_share(model)
    except ValueError:  # the sum of the eigenvalues is not positive
        return true, np.nan


def flows(seed: int) -> Iterator[tuple[str, float, float]]:
    """Yield the kind of a flow, the share that it missed, and how far it moved in the second half.

    The move is 1 minus the mean squared cosine between both subspaces.
    """
    for width in (30, 200):
        for n in (500, 2000, 10_000):
            rng = np.random.default_rng([19, seed, width, n])
            noise = rng.standard_normal((n, width))
            factors = rng.standard_normal((n, 3)) @ rng.standard_normal((3, width))
            slow = Autoregressive([0.97, 0.9, 0.8] + [0.0] * (width - 3), random_state=rng)
            kinds = {
                "decaying variances": (StreamPCA(3), noise * 0.9 ** np.arange(width)),
                "near variances": (StreamPCA(3), noise * np.r_[1.5, 1.4, 1.3, np.ones(width - 3)]),
                "3 factors": (StreamPCA(3), factors + 1.5 * noise),
                "3 slow sources": (SlowSubspace(3, alpha=0.3, basis="eigenvalue"), slow.take(n)),
            }
            for kind, (model, rows) in kinds.items():
                exact = model.fit(rows)
                weights = (1.0, 0.0) if isinstance(model, StreamPCA) else (0.3, 0.7)
                T, best = matrices(exact).matrix(weights), float(exact.eigenvalues_.sum())
                model.set_params(solver="flow").fit(rows[: n // 2])
                before = np.linalg.qr(model.components_.T)[0]
                after = np.linalg.qr(model.partial_fit(rows[n // 2 :]).components_.T)[0]
                move = 1.0 - float(((before.T @ after) ** 2).sum()) / 3.0
                yield kind, 1.0 - float(np.sum((after.T @ T) * after.T)) / best, move


def of_flows() -> list[list[str]]:
    """Return how many flows moved by more than each bound, of those below 0.99 and of others."""
    runs = [run for seed in range(N_RUNS // 4) for run in flows(seed)]
    table = []
    for kind in dict.fromkeys(run[0] for run in runs):
        missed, moves = np.array([run[1:] for run in runs if run[0] == kind]).T
        for bound in (0.05, 0.1, 0.2):
            counts = [
                f"{(moves[rows] > bound).sum()} of {rows.sum()}"
                for rows in (missed > 0.01, missed <= 0.01)
            ]
            table.append([kind, str(bound), *counts])
    return table


def main() -> None:
    """Show quantiles of the estimated over the true share, and how often it is lower."""
    warnings.simplefilter("ignore")
    table = []
    kinds: dict[str, Callable[[int], tuple[Any, Any]]] = {
        "factor models": factors,
        "autoregressive streams": autoregressions,
        "flat spectra": flat,
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
    columns = ["", "bound of the move", "moved more, below 0.99", "moved more, above 0.99"]
    show("Flows that moved in the second half of the rows", columns, of_flows())
