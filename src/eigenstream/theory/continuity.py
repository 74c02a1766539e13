"""Classes that are continuous with respect to a process ([SLOW] Definition 2), on data."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from eigenstream._checks import check_names, check_whole
from eigenstream.theory.base import Float64s

#: A pair of cells is judged where so many steps between them are expected, were steps independent.
EXPECTED = 10.0

#: The chance that continuous classes are called not continuous, over all pairs of cells together.
LEVEL = 0.01


@dataclass(frozen=True)
class ClassContinuity:
    """What a sample says of [SLOW] Definition 2; made by ``class_continuity``.

    ``excess`` is Pr(A now, B next) - Pr(A) Pr(B) for the cells A (rows) and B (columns), which must
    not be negative where both are of one class; ``error`` its standard error. ``cells`` are the
    names, each with its class. ``judged`` marks the pairs of one class with data enough.
    """

    cells: tuple[tuple[Any, Any], ...]
    excess: Float64s
    error: Float64s
    judged: NDArray[np.bool_]
    #: The smallest excess of a judged pair in standard errors, and the pair.
    worst: float
    pair: tuple[int, int]
    #: Whether that is too small to be chance: then the classes are not continuous.
    refuted: bool

    def __str__(self) -> str:
        """Say it in one line."""
        (kind, first), (_, second) = (self.cells[k] for k in self.pair)
        text = (
            f"class {kind!r}, from cell {first!r} to cell {second!r}: Pr(both) - Pr Pr = "
            f"{self.excess[self.pair]:.3g} +- {self.error[self.pair]:.2g}"
        )
        return f"{'not continuous' if self.refuted else 'not refuted'}; at worst {text}"


def class_continuity(cells: Any, classes: Any, *, blocks: int = 20) -> ClassContinuity:
    """Check on data whether classes are continuous with respect to a process.

    [SLOW] Definition 2, which Theorem 5 assumes: for all events A and B inside one class,
    Pr(A now) Pr(B now) <= Pr(A now, B next). Being in the class at all must make every part of it
    more likely at the next step. That a class lasts long does not suffice: it must be mixed well
    inside, from one step to the next, or be small.

    Parameters
    ----------
    cells : array-like of shape (n,)
        A fine partition of what can be observed, such as bins or the nearest of some prototypes,
        for each observation in time order. Events smaller than a cell are not looked at.
    classes : array-like of shape (n,)
    blocks : int
        The standard errors are those of a jackknife over so many stretches of the sample, each of
        which should be much longer than the memory of the process.

    Returns
    -------
    ClassContinuity
        Data can refute the definition and never prove it.

    Examples
    --------
    A walk on a circle, with steps of 0.05 of its circumference. Arcs of 0.1 are continuous, for the
    walk is as likely as chance to cross one in a step; arcs of 0.25 last longer, and are not:

    >>> import numpy as np
    >>> from eigenstream.theory import class_continuity
    >>> rng = np.random.default_rng(0)
    >>> place = np.cumsum(0.05 * rng.standard_normal(200_000)) % 1
    >>> cells = np.floor(place * 40)
    >>> class_continuity(cells, np.floor(place * 10)).refuted
    False
    >>> class_continuity(cells, np.floor(place * 4)).refuted
    True
    """
    n = np.shape(cells)[0] if np.ndim(cells) == 1 else 0
    names = check_names(cells, "cells", n), check_names(classes, "classes", n)
    blocks = check_whole(blocks, "blocks", least=2)
    if n <= blocks:
        raise ValueError(f"{n} observations are too few for {blocks} blocks; give a longer sample.")
    found, numbers = zip(*(np.unique(values, return_inverse=True) for values in names), strict=True)
    width = len(found[0])
    used, states = np.unique(numbers[1] * width + numbers[0], return_inverse=True)
    size = len(used)
    of_class = used // width
    counts = [
        np.bincount(part[:-1] * size + part[1:], minlength=size * size).reshape(size, size)
        for part in _stretches(states, blocks)
    ]
    total = np.sum(counts, axis=0)
    excess = _excess(total)
    # The jackknife: how much the result moves when a stretch is left out.
    others = [_excess(total - count) for count in counts]
    error = np.sqrt((blocks - 1) * np.var(others, axis=0))
    chance = total.sum(axis=1) + total.sum(axis=0)
    expected = np.outer(chance, chance) / (4.0 * total.sum())
    judged = (of_class[:, None] == of_class) & (expected >= EXPECTED)
    if not judged.any():
        raise ValueError(
            f"no two cells of one class are seen often enough ({EXPECTED:g} steps expected): use "
            "fewer cells or a longer sample."
        )
    ratio = np.full_like(excess, np.inf)
    np.divide(excess, error, out=ratio, where=judged & (error > 0))
    first, second = np.unravel_index(int(ratio.argmin()), ratio.shape)
    worst = float(ratio[first, second])
    cells_found = tuple((found[1][k // width].item(), found[0][k % width].item()) for k in used)
    return ClassContinuity(
        cells_found,
        excess,
        error,
        judged,
        worst,
        (int(first), int(second)),
        bool(worst < student.ppf(LEVEL / int(judged.sum()), blocks - 1)),
    )


def _stretches(states: NDArray[np.intp], blocks: int) -> list[NDArray[np.intp]]:
    """Cut a sequence into stretches that share their ends, so that no step is lost."""
    edges = np.linspace(0, len(states) - 1, blocks + 1).astype(int)
    return [states[a : b + 1] for a, b in pairwise(edges.tolist())]


def _excess(steps: Any) -> Float64s:
    """Return Pr(A, B) - Pr(A) Pr(B) from the numbers of steps from A to B."""
    shares = (steps.sum(axis=1) + steps.sum(axis=0)) / (2.0 * steps.sum())
    return np.asarray(steps / steps.sum() - np.outer(shares, shares), np.float64)
