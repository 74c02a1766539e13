"""The rates of the test of slow features on the other half of the rows, by simulation.

Features of white noise should have no time scale. Features of real sources should keep theirs. Time
scales that are three times too long should be doubted: NaN, or a warning with a corrected scale.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.signal import lfilter

from benchmarks._tools import console, rate_and_error, show
from eigenstream import DynamicSubspace, SlowSubspace

#: Draws of each kind, and their seed: no draw of this seed has chosen the rule.
DRAWS, SEED = 60, 20261129

#: The numbers of columns, of rows for each column, and the lags.
COLUMNS, PER_COLUMN, LAGS = (40, 160), (0.6, 1.5, 3, 5, 10, 30, 100), (1, 10)

#: The least number of rows of the first table, and the numbers of rows and columns of the second.
LEAST_ROWS, FEW_ROWS, FEW_COLUMNS = 96, (30, 50, 100), 10

#: The time scales of two sources among columns of noise, in rows, and the period of a pair.
SOURCES = ((20.0, 10.0), (5.0, 5.0), (50.0, 20.0))
PERIOD = 12

MODELS = {
    "difference": SlowSubspace(2),
    "ratio": SlowSubspace(2, criterion="ratio"),
    "dynamic": DynamicSubspace(2),
}

#: A time scale within this factor of the true one is right, and beyond the other one inflated.
RIGHT, INFLATED = 2.0, 3.0


def noise(rng: Any, n: int, width: int) -> Any:
    """Return white noise."""
    return rng.standard_normal((n, width))


def mixing(rng: Any, width: int) -> Any:
    """Return a matrix that mixes sources to columns of different variances."""
    turn = np.linalg.qr(rng.standard_normal((width, width)))[0]
    return turn * np.exp(0.3 * rng.standard_normal(width))


def sources(rng: Any, n: int, width: int, scales: tuple[float, ...]) -> tuple[Any, Any]:
    """Return sources of unit variance, of which the first are slow, and their factors."""
    factors = np.zeros(width)
    factors[: len(scales)] = np.exp(-1.0 / np.array(scales))
    found = rng.standard_normal((n, width))
    found[1:] *= np.sqrt(1.0 - factors**2)
    for k in range(len(scales)):
        found[:, k] = lfilter([1.0], [1.0, -factors[k]], found[:, k])
    return found, factors


def pair(rng: Any, n: int, width: int, scale: float) -> Any:
    """Return sources of unit variance, of which two rotate and decay."""
    found = rng.standard_normal((n, width))
    factor = np.exp(-1.0 / scale + 2j * np.pi / PERIOD)
    both = (found[:, 0] + 1j * found[:, 1]) * np.sqrt(1.0 - abs(factor) ** 2)
    turned = lfilter([1.0], [1.0, -factor], np.r_[0.0, both])[1:]
    found[:, 0], found[:, 1] = turned.real, turned.imag
    return found


def tested(model: Any, rows: Any) -> tuple[Any, Any, Any]:
    """Return the in-sample time scales, the corrected ones, and where they may be chance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test = model.fit(rows).result_.held_out
    scales = -test.lag / np.log(np.clip(test.in_sample, 1e-300, 1.0 - 1e-15))
    return scales, test.timescales, test.chance


def draws(name: str, lag: int, width: int, n: int) -> Iterator[tuple[str, Any, Any, Any, Any]]:
    """Yield the kind of rows, in-sample, corrected and true time scales, and what may be chance."""
    model = MODELS[name].set_params(lag=lag)
    for k in range(DRAWS):
        rng = np.random.default_rng((SEED, k, lag, width, n, len(name)))
        scales, others, chance = tested(model, noise(rng, n, width))
        yield "noise", scales, others, np.full(len(scales), np.nan), chance
        mixed, slow = mixing(rng, width), SOURCES[k % len(SOURCES)]
        if name == "dynamic":
            scales, others, chance = tested(model, pair(rng, n, width, slow[0]) @ mixed.T)
            yield "real", scales, others, np.full(len(scales), slow[0]), chance
            continue
        found, factors = sources(rng, n, width, slow)
        scales, others, chance = tested(model, found @ mixed.T)
        inside = mixed.T @ model.components_.T
        rho = (factors[:, None] ** lag * inside**2).sum(axis=0) / (inside**2).sum(axis=0)
        yield "real", scales, others, -lag / np.log(np.maximum(rho, 1e-300)), chance


def rates(name: str, lag: int, shapes: list[tuple[int, int]]) -> list[str]:
    """Return the rates of each kind over several numbers of rows and columns."""
    counts: dict[str, list[bool]] = {"noise": [], "right": [], "inflated": [], "others": []}
    for n, width in shapes:
        for kind, scales, others, true, chance in draws(name, lag, width, n):
            if kind == "noise":
                counts["noise"] += chance.tolist()
                continue
            clear = np.exp(-lag / np.maximum(true, 1e-300)) > 0.5
            right = clear & (scales < RIGHT * true) & (scales > true / RIGHT)
            inflated = (scales > INFLATED * true) & (scales > 1.0)
            counts["right"] += chance[right].tolist()
            counts["inflated"] += (chance | ~(2.0 * others > scales))[inflated].tolist()
            counts["others"] += ((others > INFLATED * true) & (others > 1.0))[~chance].tolist()
    return [cell(float(np.mean(found or [np.nan])), len(found)) for found in counts.values()]


def cell(rate: float, n: int) -> str:
    """Return a rate with its standard error."""
    if n < 20:
        return "few"
    return rate_and_error(rate, n)


def main() -> None:
    """Print the rates by criterion, lag and number of rows for each column, or of rows."""
    table, few = [], []
    for name in MODELS:
        for n in FEW_ROWS:
            few.append([name, str(n), *rates(name, 1, [(n, FEW_COLUMNS)])])
        for lag in LAGS:
            for ratio in PER_COLUMN:
                shapes = [(round(ratio * width), width) for width in COLUMNS]
                shapes = [shape for shape in shapes if shape[0] >= max(12 * lag, LEAST_ROWS)]
                if shapes:
                    table.append([name, str(lag), str(ratio), *rates(name, lag, shapes)])
                    console.print(" ".join(table[-1]))
    columns = [
        "noise: no time scale",
        "right: no time scale",
        "3 times too long: doubted",
        "on other rows: 3 times too long",
    ]
    show("Features that a fit doubts", ["criterion", "lag", "rows per column", *columns], table)
    show(f"{FEW_COLUMNS} columns, few rows", ["criterion", "rows", *columns], few)


if __name__ == "__main__":
    main()
