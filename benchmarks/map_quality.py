"""Errors of maps compared with MiniSom, for equal rows and steps: digits, MNIST, letters."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks._tools import console, show, stored_images
from eigenstream import SelfOrganizingMap
from eigenstream.schedules import Power

SIDE, SEEDS = 20, range(3)
#: The data, the rows that are drawn of them, the passes over these, and the widths of MiniSom's.
SETS = (
    ("digits", 1797, 10, (1.5,)),
    ("digits", 1797, 1, (1.5,)),
    ("mnist", 6000, 1, (1.5, 3.0, 10.0)),
    ("letters", 6240, 1, (1.5,)),
    ("mnist", 6000, 10, (1.5,)),
    ("letters", 6240, 10, (1.5,)),
)


def images(name: str) -> Any:
    """Return images as rows from 0 to 1; None where there are none."""
    if name == "digits":
        return load_digits(return_X_y=True)[0] / 16.0
    stored = stored_images(name)
    return None if stored is None else stored[0]


def theirs(rows: Any, steps: int, seed: int, sigma: float, plane: bool) -> tuple[float, float]:
    """Train MiniSom, from its plane of the components or as it is by default."""
    from minisom import MiniSom

    som = MiniSom(SIDE, SIDE, rows.shape[1], sigma=sigma, learning_rate=0.5, random_seed=seed)
    if plane:
        som.pca_weights_init(rows)
    som.train(rows, steps, random_order=True)
    # Read as ours are: MiniSom's topographic error of a rectangular grid counts the same eight
    # neighbours, but looks at a row at a time.
    units = som.get_weights().reshape(SIDE * SIDE, -1)
    return read(SelfOrganizingMap((SIDE, SIDE), init=units, radius=0.0), rows)


def read(som: SelfOrganizingMap, rows: Any) -> tuple[float, float]:
    """Return the errors of a map that has not moved yet."""
    som.set_params(learning_rate=1e-300).partial_fit(rows[:1])
    found = som.evaluate(rows)
    return found.quantization_error, found.topographic_error


def ours(rows: Any, passes: int, seed: int, **given: Any) -> tuple[float, float]:
    """Train a map of ours."""
    som = SelfOrganizingMap((SIDE, SIDE), max_iter=passes, random_state=seed, **given).fit(rows)
    return som.quantization_error_, som.topographic_error_


def contestants(
    passes: int, steps: int, sigmas: tuple[float, ...]
) -> Iterator[tuple[str, Callable[[Any, int], Any]]]:
    """Yield maps by name, as functions of rows and seed."""
    half = steps / 2
    if find_spec("minisom"):
        yield "MiniSom()", lambda rows, seed: theirs(rows, steps, seed, 1.0, False)
        for sigma in sigmas:
            yield (
                f"MiniSom(sigma={sigma:g}), initialised by the components",
                lambda rows, seed, sigma=sigma: theirs(rows, steps, seed, sigma, True),
            )
    yield "SelfOrganizingMap()", lambda rows, seed: ours(rows, passes, seed)
    yield (
        "radius=(2, 0.43)",
        lambda rows, seed: ours(rows, passes, seed, radius=(2.0, 0.43)),
    )
    yield (
        "radius=(10, 0.7), learning_rate=(0.5, 0.01)",
        lambda rows, seed: ours(rows, passes, seed, radius=(10, 0.7), learning_rate=(0.5, 0.01)),
    )
    for sigma in (1.0, *sigmas):
        falling = {"radius": Power(sigma * half, half), "learning_rate": Power(half / 2, half)}
        yield (
            f"radius and rate of MiniSom(sigma={sigma:g})",
            lambda rows, seed, falling=falling: ours(rows, passes, seed, **falling),
        )


def main() -> None:
    if not find_spec("minisom"):
        console.print("MiniSom is not installed: pip install minisom, or the extra 'bench'.")
    for name, n, passes, sigmas in SETS:
        data = images(name)
        if data is None:
            continue
        draws = [np.random.default_rng(seed).permutation(data)[:n] for seed in SEEDS]
        table = []
        for title, train in contestants(passes, passes * n, sigmas):
            found = np.array([train(rows, seed) for seed, rows in zip(SEEDS, draws, strict=True)])
            both = zip(found.mean(axis=0), found.std(axis=0, ddof=1), strict=True)
            table.append([title, *(f"{mean:.3f} ± {spread:.3f}" for mean, spread in both)])
        show(
            f"{name}: {n} rows, {passes} pass(es), mean and deviation of three seeds",
            ["", "quantisation error", "topographic error"],
            table,
        )
