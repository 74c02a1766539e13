"""Maps of MNIST beside MiniSom's: one pass over 6000 images, from the same plane, by schedule."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._tools import console, show
from eigenstream import SelfOrganizingMap
from eigenstream.schedules import Power

SIDE, IMAGES, SIGMAS = 20, 6000, (10.0, 3.0, 1.5)


def drawn(pixels: Any, seed: int) -> Any:
    """Return images in random order."""
    chosen = np.random.default_rng(seed).permutation(len(pixels))[:IMAGES]
    return pixels[chosen].reshape(IMAGES, -1).astype(np.float64) / 255.0


def theirs(rows: Any, sigma: float, seed: int) -> tuple[float, float]:
    from minisom import MiniSom

    som = MiniSom(SIDE, SIDE, rows.shape[1], sigma=sigma, learning_rate=0.5, random_seed=seed)
    som.pca_weights_init(rows)
    som.train(rows, len(rows))
    return som.quantization_error(rows), som.topographic_error(rows)


def ours(rows: Any, seed: int, **given: Any) -> tuple[float, float]:
    som = SelfOrganizingMap((SIDE, SIDE), max_iter=1, random_state=seed, **given).fit(rows)
    return som.quantization_error_, som.topographic_error_


def main() -> None:
    path = Path(os.environ.get("EIGENSTREAM_DATA", "")) / "mnist.npz"
    if not path.is_file() or not find_spec("minisom"):
        console.print(
            "mnist_maps wants MNIST in EIGENSTREAM_DATA, and MiniSom (the extra 'bench')."
        )
        return
    with np.load(path) as held:
        pixels = held["images"]
    half = IMAGES / 2
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(3):
        rows = drawn(pixels, seed)
        for sigma in SIGMAS:
            found.setdefault(f"MiniSom, sigma {sigma:g}", []).append(theirs(rows, sigma, seed))
        ways: dict[str, dict[str, Any]] = {"SelfOrganizingMap(max_iter=1)": {}}
        for last in (0.7, 0.9):
            given = {"radius": (10.0, last), "learning_rate": (0.5, 0.01)}
            ways[f"radius=(10, {last}), learning_rate=(0.5, 0.01)"] = given
        for sigma in SIGMAS:
            same = {"radius": Power(sigma * half, half), "learning_rate": Power(half / 2, half)}
            ways[f"MiniSom's radius and rate from sigma {sigma:g}"] = same
        for name, given in ways.items():
            found.setdefault(name, []).append(ours(rows, seed, **given))
    table = []
    for name, values in found.items():
        mean, spread = np.mean(values, axis=0), np.std(values, axis=0, ddof=1)
        table.append([name, *(f"{m:.3f} ± {s:.3f}" for m, s in zip(mean, spread, strict=True))])
    show(
        f"{IMAGES} images of MNIST, {SIDE} x {SIDE}, one pass, three draws",
        ["", "quantisation error", "topographic error"],
        table,
    )
