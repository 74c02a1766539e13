"""The choice of the "auto" schedule: the share of the optimum by gain and by averaging.

Draws docs/pictures/schedule.png: the share that one pass of the flow captures, against the factor c
of Auto(c), for the last iterate and for averages with weights t^p.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks._tools import show
from eigenstream import Flow, SlowSubspace, StreamPCA
from eigenstream.processes import ImageWalk, page_image
from eigenstream.schedules import Auto
from eigenstream.subspace import matrices

FIGURE = Path(__file__).parents[1] / "docs" / "pictures" / "schedule.png"
FACTORS = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
AVERAGING = [None, 0.0, 1.5, 3.0]


def spiked(m: int = 60_000, D: int = 200) -> np.ndarray:
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((D, 5)))[0]
    spikes = rng.standard_normal((m, 5)) * np.sqrt([5, 4, 3, 2, 1.5])
    return rng.standard_normal((m, D)) + spikes @ basis.T


def slow_mixture(m: int = 60_000, D: int = 100) -> np.ndarray:
    rng = np.random.default_rng(0)
    memory = np.concatenate([np.linspace(0.99, 0.9, 5), np.linspace(0.5, 0, D - 5)])
    rows = rng.standard_normal((m, D))
    for t in range(1, m):
        rows[t] = memory * rows[t - 1] + np.sqrt(1 - memory**2) * rows[t]
    return rows @ np.linalg.qr(rng.standard_normal((D, D)))[0]


def views(m: int = 120_000, **motion: float) -> np.ndarray:
    return ImageWalk(page_image(random_state=0), random_state=0, **motion).take(m, np.float32)


def problems() -> dict:
    return {
        "spiked Gaussian, PCA": (spiked, StreamPCA(5)),
        "slow mixture, alpha 0.3": (slow_mixture, SlowSubspace(5, alpha=0.3, basis="eigenvalue")),
        "rotating views, alpha 0.2": (views, SlowSubspace(10, alpha=0.2, basis="eigenvalue")),
        "scaling views, alpha 0.2": (
            lambda: views(rotation=0.01, scale=1.0),
            SlowSubspace(10, alpha=0.2, basis="eigenvalue"),
        ),
    }


def shares(rows: np.ndarray, estimator: StreamPCA | SlowSubspace) -> np.ndarray:
    """Return the captured share of the batch optimum, for every averaging and factor."""
    alpha = getattr(estimator, "alpha", 1.0)
    exact = estimator.set_params(solver="dense").fit(rows)
    T, best = matrices(exact).matrix((alpha, 1.0 - alpha)), exact.eigenvalues_.sum()
    found = np.empty((len(AVERAGING), len(FACTORS)))
    for i, power in enumerate(AVERAGING):
        for j, c in enumerate(FACTORS):
            V = estimator.set_params(solver=Flow(Auto(c, power))).fit(rows).components_
            found[i, j] = np.trace(V @ T @ V.T) / best
    return found


def main() -> None:
    figure = Figure(figsize=(13, 3.4), layout="constrained")
    axes = figure.subplots(1, 4, sharey=True)
    for axis, (name, (make, estimator)) in zip(axes, problems().items(), strict=True):
        found = shares(make(), estimator)
        labels = ["last iterate" if p is None else f"weights t^{p:g}" for p in AVERAGING]
        for label, row in zip(labels, found, strict=True):
            axis.semilogx(FACTORS, row, "o-", label=label, base=2, markersize=3)
        axis.axvline(Auto().c, color="gray", linewidth=0.8, linestyle=":")
        axis.set(title=name, xlabel="c", ylim=(0.3, 1.02))
        show(
            f"{name}: captured share of the batch optimum",
            ["", *(f"c={c:g}" for c in FACTORS)],
            [
                [label, *(f"{value:.3f}" for value in row)]
                for label, row in zip(labels, found, strict=True)
            ],
        )
    axes[0].set_ylabel("share of the batch optimum")
    axes[0].legend(fontsize=8, loc="lower right")
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=110)
    print(f"wrote {FIGURE.relative_to(FIGURE.parents[2])}")


if __name__ == "__main__":
    main()
