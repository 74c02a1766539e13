"""Translation: what is watched, what is asked about it, and what comes out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._linalg import Float64s, Floats
from eigenstream.processes import ImageWalk, Style, characters
from eigenstream.processes.walk import ViewStates
from papers.base import Effort

#: Side of a view, and the paper's gamma.
SIZE, GAMMA = 28, 4.0
#: Standard deviation of a step of the window in either direction, in pixels.
DRIFTS = (0.5, 1.0, 2.0, 4.0)
#: Digits are shifted by up to so many pixels in either direction.
REACHES = (1, 2, 4)
#: How many directions are learned.
COUNTS = (10, 1)
#: Views watched at each drift, and shifts of each digit in a test.
VIEWS: dict[Effort, int] = {"quick": 10_000, "default": 50_000, "full": 200_000}
STATES: dict[Effort, int] = {"quick": 40, "default": 100, "full": 100}
#: Views read and learned at a time.
CHUNK = 4096
#: The page on which shifted digits are drawn: no view of one reaches beyond it.
CANVAS = SIZE + 2 * max(REACHES) + 4


@dataclass(frozen=True)
class TranslationRecipe:
    """What is watched, how much of it, and at which speeds."""

    name: str = "slow-translation"
    summary: str = "A window that only drifts, digits shifted (left open in [SLOW] section 6)"
    drifts: tuple[float, ...] = DRIFTS
    views: Mapping[Effort, int] = field(default_factory=VIEWS.copy)
    states: Mapping[Effort, int] = field(default_factory=STATES.copy)
    prototypes: int = 500


@dataclass
class Row:
    """What one kind of features gave; every list has an entry a seed."""

    name: str
    #: (ROC area, error of one example a class) for each of REACHES.
    figures: list[tuple[tuple[float, float], ...]] = field(default_factory=list)
    alphas: list[float] = field(default_factory=list)
    #: How much of the directions is the same weight on every pixel, from 0 to 1.
    even: list[float] = field(default_factory=list)

    def column(self, reach: int, which: int) -> list[float]:
        """Return the areas (0) or errors (1) at one of REACHES."""
        at = REACHES.index(reach)
        return [figures[at][which] for figures in self.figures]


@dataclass
class Found:
    """Rows by (drift, space, directions), and pictures of the first seed."""

    drifts: Sequence[float]
    rows: dict[tuple[Any, ...], Row] = field(default_factory=dict)
    filters: dict[float, tuple[Float64s, Float64s]] = field(default_factory=dict)
    watched: dict[float, Floats] = field(default_factory=dict)
    digits: Float64s | None = None

    def row(self, key: tuple[Any, ...], name: str) -> Row:
        """Return the row of that key, made when first asked for."""
        return self.rows.setdefault(key, Row(name))


def shifted_digits(
    reach: float, n_per_class: int, rng: np.random.Generator
) -> tuple[Float64s, NDArray[np.str_]]:
    """Return the digits 0 to 9 at random places in their images, drawn like the views.

    >>> images, labels = shifted_digits(2, 3, np.random.default_rng(0))
    >>> images.shape, "".join(labels[:6])
    ((30, 784), '000111')
    """
    drawn, names = characters(n_per_class=1, style=Style(size=CANVAS, unit_norm=False))
    still, unscaled = np.zeros(n_per_class), np.ones(n_per_class)
    images = []
    for digit in drawn.reshape(-1, CANVAS, CANVAS):
        places = (CANVAS - 1) / 2.0 + rng.uniform(-reach, reach, (n_per_class, 2))
        images.append(ImageWalk(digit, size=SIZE).view(ViewStates(places, still, unscaled)))
    return np.concatenate(images), np.repeat(names, n_per_class)


def even_share(directions: Float64s) -> float:
    """Return how much of orthonormal rows is the same weight on every feature.

    >>> even_share(np.full((1, 4), 0.5)), even_share(np.eye(4)[:2])
    (1.0, 0.25)
    """
    sums = directions.sum(axis=1)
    return float((sums**2).sum() / directions.size)
