"""The table of golden cases: small seeded calls of the public API, with tolerances."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ANSWERS = Path(__file__).with_name("answers.json")


@dataclass(frozen=True)
class Case:
    """A call that returns a number, an array, or a tuple of them."""

    call: Callable[[], Any]
    #: Allowed difference, relative to the largest entry of each array.
    tolerance: float
    #: Set if the answer is a quality: it may be better than the stored one, and worse by this.
    allowance: float | None = None

    def answer(self) -> list[list[float]]:
        """Return the arrays, flat, with 13 digits."""
        with warnings.catch_warnings(action="ignore"):
            found = self.call()
        arrays = found if isinstance(found, tuple) else (found,)
        return [
            [float(f"{x:.13g}") for x in np.asarray(one, dtype=float).ravel()] for one in arrays
        ]


CASES: dict[str, Case] = {}


def add(name: str, call: Callable[[], Any], tolerance: float = 1e-8) -> None:
    """Enter a case whose digits must stay."""
    CASES[name] = Case(call, tolerance)


def quality(name: str, call: Callable[[], Any], allowance: float) -> None:
    """Enter a case whose answer is a quality, larger is better."""
    CASES[name] = Case(call, 0.0, allowance)


def fields(value: Any, *names: str) -> tuple[Any, ...]:
    """Return attributes of an estimator or of a result."""
    return tuple(getattr(value, name) for name in names)


def subspace(model: Any) -> tuple[Any, ...]:
    """Return what a subspace estimator found, without what is free in it.

    Vectors have free signs. Those of one eigenvalue can be turned into each other, which rounding
    decides: only the length of a probe in their span is fixed.
    """
    C, values = model.components_, model.eigenvalues_
    probes = np.random.default_rng(5).standard_normal((C.shape[1], 2))
    equal = np.abs(values[:, None] - values) <= 1e-9 * np.abs(values).max(initial=0.0)
    return values, np.sqrt(equal @ (C @ probes) ** 2), model.result_.objective
