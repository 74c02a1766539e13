"""Time of dense fits of arrays on a device, relative to NumPy and to the device's own routines.

    python -m benchmarks device --namespace torch --device cuda --rows 500000 --columns 4096

The device's own routines are one float64 product of the centred rows and one ``eigh``. The first
run of each is not timed, because it compiles kernels.
"""

import argparse
import os
from functools import partial
from typing import Any

import numpy as np
import sklearn
from sklearn.base import clone

from benchmarks._tools import race, show
from eigenstream import SlowSubspace, StreamPCA
from eigenstream.core.device import DeviceArray, on_host


def on_device(rows: Any, namespace: str, device: str) -> Any:
    """Return rows as an array of a namespace."""
    if namespace == "torch":
        import torch

        return torch.asarray(rows, device=device)
    if namespace == "cupy":
        import cupy

        return cupy.asarray(rows)
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax.device_put(rows, jax.devices(device)[0])


def fit(estimator: Any, X: Any) -> Any:
    """Return the eigenvalues of a fit on the host, which waits for the device."""
    return on_host(clone(estimator).fit(X).eigenvalues_)


def own_routines(X: Any) -> Any:
    """Return all eigenvalues of the covariance by the routines of the namespace."""
    rows = DeviceArray(X).astype()
    centred = rows - rows.mean()
    matrix = centred.values.T @ centred.values / len(rows)
    return on_host(rows.xp.linalg.eigh(matrix)[0])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks device")
    parser.add_argument("--namespace", default="jax", choices=["torch", "cupy", "jax"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=512)
    options, _ = parser.parse_known_args()
    os.environ.setdefault("SCIPY_ARRAY_API", "1")  # scikit-learn requires it
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((options.rows, options.columns), np.float32)
    rows *= np.linspace(3.0, 0.5, options.columns, dtype=np.float32)
    table, threads = [], os.cpu_count() or 1
    with sklearn.config_context(array_api_dispatch=True):
        X = on_device(rows, options.namespace, options.device)
        for estimator in (StreamPCA(10), SlowSubspace(10, alpha=0.9)):
            estimator.set_params(solver="dense")
            contestants = {
                "device": partial(fit, estimator, X),
                "NumPy": partial(fit, estimator, rows),
                "own": partial(own_routines, X),
            }
            found = {name: run() for name, run in contestants.items()}
            error = np.abs(found["device"] / found["NumPy"] - 1.0).max()
            seconds = race(contestants, threads=threads)
            ratios = [seconds[name] / seconds["device"] for name in ("NumPy", "own")]
            cells = [f"{seconds['device']:.3f}", *(f"{ratio:.2f}" for ratio in ratios)]
            table.append([type(estimator).__name__, *cells, f"{error:.0e}"])
    show(
        f"{options.rows} x {options.columns} float32, {options.namespace} on {options.device}",
        ["estimator", "fit, s", "speed / NumPy", "speed / own routines", "error"],
        table,
    )
