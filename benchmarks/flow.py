"""The flow compared with NumPy with a QR a step, with matrix products, and with other libraries."""

from functools import partial
from time import process_time
from typing import Any

import numpy as np
from sklearn.decomposition import IncrementalPCA

from benchmarks._tools import race, show
from eigenstream.online import Plan
from eigenstream.rows.chunk import Chunk
from eigenstream.schedules import Power
from eigenstream.subspace.solvers.flow import FlowSums

#: (features, components, rows for the flow, rows for the loop)
SHAPES = [(784, 10, 10_000, 400), (784, 50, 6000, 60), (100_000, 10, 640, 8)]
RATE = Power(1, 1000)
SLOW = {"weights": (0.2, 0.8), "lag": 1}


def loop(rows: np.ndarray, V: np.ndarray) -> np.ndarray:
    """The sequential rule as one would write it: a QR after every step."""
    for eta, x in zip(RATE.gains(0, len(rows)), rows, strict=True):
        y = x @ V
        V = np.linalg.qr(V + eta * np.outer(x - V @ y, y))[0]
    return V


def flow(rows: np.ndarray, d: int, **options: Any) -> None:
    """The flow without an estimator."""
    plan = Plan(d, **options)
    FlowSums(rows.shape[1], plan).learner().add(Chunk(rows))


def linear_oja(rows: np.ndarray, w: np.ndarray) -> np.ndarray:
    """One neuron, one Python call a sample: what per-sample libraries do."""
    for eta, x in zip(RATE.gains(0, len(rows)), rows, strict=True):
        y = x @ w
        w = w + eta * y * (x - y * w)
    return w


def products(rows: np.ndarray, V: np.ndarray) -> None:
    """The floor: one product of the rows with the components, and one back."""
    for first in range(0, len(rows), 256):
        block = rows[first : first + 256]
        block.T @ (block @ V)


def against_the_loop() -> None:
    table = []
    for D, d, many, few in SHAPES:
        rows = np.random.default_rng(0).standard_normal((many, D))
        start = np.linalg.qr(rows[:d].T)[0]
        block = max(22, d)
        plan = {"center": False, "learning_rate": RATE, "init": start.T}
        times = race(
            {
                "loop": partial(loop, rows[:few], start),
                "products": partial(products, rows, start),
                "flow": lambda rows=rows, d=d, plan=plan: flow(rows, d, **plan),
                "slow": lambda rows=rows, d=d, plan=plan: flow(rows, d, **plan, **SLOW),
                "default": lambda rows=rows, d=d: flow(rows, d, **SLOW),
            },
            rounds=9,
            clock=process_time,
        )
        per = {name: 1e6 * time / (few if name == "loop" else many) for name, time in times.items()}
        table.append(
            [
                f"D={D} d={d} b={block}",
                f"{per['loop']:.0f}",
                f"{per['loop'] / per['flow']:.0f} x",
                *(
                    text
                    for name in ("flow", "slow", "default")
                    for text in (f"{per[name]:.2f}", f"{per[name] / per['products']:.2f} x")
                ),
            ]
        )
    show(
        "Processor microseconds a row, one BLAS thread (b: rows of a block; floor: X.T @ (X @ V))",
        [
            "",
            "NumPy + QR",
            "faster",
            "PCA",
            "of floor",
            "slow",
            "of floor",
            "slow, auto",
            "of floor",
        ],
        table,
    )


def against_peers() -> None:
    rows = np.random.default_rng(0).standard_normal((4000, 784))
    w = np.ones(784) / 28
    contestants = {
        "flow, d=10, centred": lambda: flow(rows, 10, learning_rate=RATE),
        "flow, d=10, 'auto'": lambda: flow(rows, 10),
        "flow, d=1": lambda: flow(rows, 1, center=False, learning_rate=RATE),
        "IncrementalPCA(10, batch_size=100)": lambda: IncrementalPCA(10, batch_size=100).fit(rows),
        "one linear neuron, a Python call a row": lambda: linear_oja(rows, w),
    }
    times = race(contestants, rounds=7, clock=process_time)
    per = {name: 1e6 * time / len(rows) for name, time in times.items()}
    show(
        "4000 rows of 784 columns, one BLAS thread",
        ["", "µs a row", "times the flow"],
        [
            [name, f"{each:.2f}", f"{each / per['flow, d=10, centred']:.1f}"]
            for name, each in per.items()
        ],
    )


def main() -> None:
    """Show both tables."""
    against_the_loop()
    against_peers()
