"""The flow compared with NumPy with a QR a step, with matrix products, and with other libraries."""

import os
import subprocess
import sys
import tempfile
from functools import partial
from importlib import import_module
from time import perf_counter, process_time
from typing import Any

import numpy as np
from sklearn.decomposition import IncrementalPCA
from threadpoolctl import threadpool_limits

from benchmarks._tools import race, show
from eigenstream import SlowSubspace
from eigenstream.online import OJA_FLOW, Plan
from eigenstream.processes import ImageWalk, page_image
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
    FlowSums(rows.shape[1], OJA_FLOW, plan).learner().add(Chunk(rows))


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
    few = 400
    for label, learner in published(10, 784).items():
        contestants[f"online_psp {label}"] = partial(feed, learner, rows[:few])
    times = race(contestants, rounds=7, clock=process_time)
    per = {
        name: 1e6 * time / (few if name.startswith("online_psp") else len(rows))
        for name, time in times.items()
    }
    show(
        "4000 rows of 784 columns, one BLAS thread",
        ["", "µs a row", "times the flow"],
        [
            [name, f"{each:.2f}", f"{each / per['flow, d=10, centred']:.1f}"]
            for name, each in per.items()
        ],
    )


def published(d: int, D: int) -> dict[str, Any]:
    """Return the learners of flatironinstitute/online_psp that can be imported."""
    found: dict[str, Any] = {}
    for module, name in (
        ("fast_similarity_matching", "FSM"),
        ("incremental_pca", "IPCA"),
        ("ccipca", "CCIPCA"),
    ):
        try:
            found[name] = getattr(import_module(f"online_psp.{module}"), name)(d, D)
        except ImportError as reason:
            print(f"online_psp {name} is left out: {reason}")
    return found


def feed(learner: Any, rows: np.ndarray) -> None:
    for x in rows:
        learner.fit_next(x)


def first_use() -> None:
    """A process that compiles, and one that finds the cache."""
    code = """
import numpy as np, time
from eigenstream import SlowSubspace
rows = np.random.default_rng(0).standard_normal((300, 20))
start = time.perf_counter()
SlowSubspace(2, alpha=0.3, solver="flow").fit(rows)
print(time.perf_counter() - start)
"""
    seconds = []
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(2):
            out = subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "NUMBA_CACHE_DIR": cache},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            seconds.append(float(out))
    print(
        f"first fit of 300 rows: {seconds[0]:.1f} s in the first process (it compiles), "
        f"{seconds[1]:.2f} s in the second\n"
    )


def paper_run(n: int = 1_000_000) -> None:
    """[SLOW] section 6: 10^6 rotating views of 28 x 28, d = 10, views included."""
    walk = ImageWalk(page_image(random_state=0), random_state=0)
    slow = SlowSubspace(10, alpha=0.2, solver="flow")
    start = perf_counter()
    with threadpool_limits(1):
        for chunk in walk.chunks(n, rows=20_000, dtype=np.float32):
            slow.partial_fit(chunk)
        slow.components_  # noqa: B018
    print(f"10^6 rotating views made and learned in {perf_counter() - start:.1f} s")


def main() -> None:
    against_the_loop()
    against_peers()
    first_use()
    paper_run()
