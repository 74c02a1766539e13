"""What one long sample says: mixing coefficients, and whether classes are continuous."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from scipy.stats import t as student

from eigenstream._checks import check_finite, check_lags, check_names, check_whole
from eigenstream.theory.mixing import Float64s, Int64s, MixingProfile

__all__ = ["ClassContinuity", "EstimatedMixing", "class_continuity", "estimate_mixing"]

#: The automatic number of bins leaves this many observations to a cell of the joint histogram, for
#: which the noise floor is about 1 / sqrt(2 pi CELL) = 0.04.
CELL = 100


@dataclass(frozen=True)
class EstimatedMixing(MixingProfile):
    """Coefficients estimated at a few lags; made by ``estimate_mixing``, which says their limits.

    ``raw`` are the estimates, ``values`` the same made non-increasing from the right, which is what
    the profile returns (the value at the last lag at or below the one asked, 1 before the first,
    the last one after the end). ``noise_floor`` is what independent observations would give.

    >>> rng = np.random.default_rng(0)
    >>> estimate = estimate_mixing(rng.normal(size=10_000), lags=[1, 5])
    >>> max(estimate.raw) < 2 * estimate.noise_floor
    True
    """

    lags: tuple[int, ...]
    raw: tuple[float, ...]
    noise_floor: float
    n_bins: int
    n_samples: int

    @property
    def values(self) -> tuple[float, ...]:
        """The estimates, each raised to the largest of those after it."""
        return tuple(np.maximum.accumulate(np.array(self.raw)[::-1])[::-1].tolist())

    def _beta(self, lags: Int64s) -> Float64s:
        values = np.array([1.0, *self.values])
        return values[np.searchsorted(np.array(self.lags), lags, side="right")]

    def geometric_fit(self) -> tuple[float, float]:
        """Return (c, rho) of a geometric profile through the estimates above the noise.

        Least squares of log beta on the lag, over the leading lags whose estimate is above twice
        the noise floor; then ``c`` is raised until no such estimate lies above. This EXTRAPOLATES:
        that the decay goes on geometrically is an assumption which no finite sample can check.

        >>> rng = np.random.default_rng(0)
        >>> x = np.zeros(40_000)
        >>> for t in range(1, x.size):
        ...     x[t] = 0.8 * x[t - 1] + rng.normal()
        >>> c, rho = estimate_mixing(x, lags=range(1, 6)).geometric_fit()
        >>> 0.7 < rho < 0.9
        True
        """
        lags = np.array(self.lags, dtype=np.float64)
        values = np.array(self.values)
        above = int((values > 2 * self.noise_floor).sum())  # a leading run: values never grow
        if above < 2:
            raise ValueError(
                f"{above} of {lags.size} estimates exceed twice the noise floor, and a fit needs "
                "2. Use smaller lags or a longer sample."
            )
        slope, _ = np.polyfit(lags[:above], np.log(values[:above]), 1)
        if slope >= 0:
            raise ValueError("The estimates do not decay over these lags; give larger lags.")
        rho = float(np.exp(slope))
        return float((values[:above] / rho ** lags[:above]).max()), rho


def estimate_mixing(
    sequence: Any, lags: Sequence[int] = range(1, 21), *, n_bins: int | None = None
) -> EstimatedMixing:
    """Estimate beta at some lags from one long stationary sample, by histograms ([MSS]).

    At each lag the joint histogram of an observation and a later one is compared with the product
    of its marginals: half the sum of absolute differences. Bins hold equal numbers of observations
    (each column cut by rank), so the estimate does not change under increasing maps of a column.
    ``n_bins`` per column defaults to about 100 observations a cell, at least 2 bins.

    What the estimate is not, plainly:

    * No upper bound. Binning loses dependence, so its target is at most beta (equal to it only for
      fine bins and a Markov process). Projecting vectors to a column or two before loses more.
    * Never zero. Noise alone gives about ``noise_floor`` (computed for independent observations;
      dependent ones give more), and estimates near it say nothing.
    * The floor shrinks like 1/sqrt(sample length), while [SLOW] Theorem 2 needs
      l beta(a - 1) < delta/2 with many blocks l: no affordable sample reaches that directly. Use
      ``geometric_fit`` and say that the tail is assumed.
    * More than two or three columns: too few observations a cell.

    >>> switch = np.cumsum(np.random.default_rng(0).random(20_000) < 0.1) % 2   # two states
    >>> estimate = estimate_mixing(switch, lags=[1, 2, 4])
    >>> bool(np.allclose(estimate.raw, 0.5 * 0.8 ** np.array([1, 2, 4]), atol=0.02))
    True
    """
    rows = np.asarray(sequence, dtype=np.float64)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2:
        raise ValueError(f"sequence must be (m,) or (m, columns), got shape {rows.shape}.")
    check_finite(rows, name="sequence")
    asked = check_lags(lags, "lags")
    if not asked or any(late <= early for early, late in pairwise(asked)):
        raise ValueError("lags must be at least one whole number, strictly growing.")
    n_pairs, columns = len(rows) - asked[-1], rows.shape[1]
    if n_bins is None:
        n_bins = max(2, int((max(n_pairs, 1) / CELL) ** (0.5 / columns)))
    check_whole(n_bins, "n_bins", least=2)
    if n_pairs < n_bins ** (2 * columns):
        raise ValueError(
            f"{len(rows)} rows give {max(n_pairs, 0)} pairs at lag {asked[-1]}, fewer than the "
            f"{n_bins ** (2 * columns)} cells of the histogram. Use more rows or fewer bins."
        )
    # Equal observations share their middle rank, so two states get two bins, rare or not.
    ranks = (rankdata(rows, axis=0) - 0.5) / len(rows)
    codes = np.floor(ranks * n_bins).astype(np.int64) @ n_bins ** np.arange(columns)
    cells = n_bins**columns
    raw = tuple(_dependence(codes, lag, cells) for lag in asked)
    share = np.bincount(codes, minlength=cells) / codes.size
    # Mean absolute error of a share p from n counts: sqrt(2 p (1 - p) / (pi n)), summed over cells.
    floor = 0.5 * float(np.sqrt(share * (1 - share)).sum() ** 2 * np.sqrt(2 / (np.pi * n_pairs)))
    return EstimatedMixing(asked, raw, floor, n_bins, len(rows))


def _dependence(codes: NDArray[np.int64], gap: int, cells: int) -> float:
    """Half the absolute difference between the joint histogram at a gap and its marginals'."""
    past, future = codes[:-gap], codes[gap:]
    joint = np.bincount(past * cells + future, minlength=cells * cells).reshape(cells, cells)
    share = joint / past.size
    return 0.5 * float(np.abs(share - np.outer(share.sum(axis=1), share.sum(axis=0))).sum())


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
            f"No two cells of one class have {EXPECTED:g} expected steps. "
            "Use fewer cells or a longer sample."
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
