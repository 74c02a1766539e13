"""Estimates from one long sample: mixing coefficients, and continuity of classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from scipy.stats import t as student

from eigenstream.core.checks import check_finite, check_lags, check_names, check_whole
from eigenstream.core.linalg import brief
from eigenstream.theory.mixing import Float64s, Int64s, MixingProfile, Table

__all__ = ["ClassContinuity", "EstimatedMixing", "class_continuity", "estimate_mixing"]

#: Observations per cell of the joint histogram. The noise floor is
#: then about 1 / sqrt(2 pi CELL) = 0.04; larger cells lower it and lose more dependence.
CELL = 100


@dataclass(frozen=True)
class EstimatedMixing(MixingProfile):
    """Mixing coefficients estimated at a few lags by ``estimate_mixing``.

    The profile at a lag is the value at the largest estimated lag that does not exceed it. It is 1
    before the first lag and constant after the last one.

    Attributes
    ----------
    lags : tuple of int
        The lags of the estimates.
    raw : tuple of float
        The estimates.
    values : tuple of float
        The estimates, raised so that they do not increase with the lag.
    noise_floor : float
        The expected estimate for independent observations.
    n_samples : int
        The number of rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> estimate = estimate_mixing(rng.normal(size=10_000), lags=[1, 5])
    >>> np.round(estimate.raw, 3), round(estimate.noise_floor, 3)
    (array([0.033, 0.032]), 0.032)
    """

    lags: tuple[int, ...]
    raw: tuple[float, ...]
    noise_floor: float
    n_samples: int

    @property
    def values(self) -> tuple[float, ...]:
        """The estimates, each raised to the largest later estimate."""
        return tuple(np.maximum.accumulate(np.array(self.raw)[::-1])[::-1].tolist())

    def _beta(self, lags: Int64s) -> Float64s:
        return np.asarray(Table(self.values, self.lags)(lags))


def estimate_mixing(sequence: ArrayLike, lags: Sequence[int] = range(1, 21)) -> EstimatedMixing:
    """Estimate mixing coefficients from one long stationary sample by histograms [1]_.

    At each lag, the joint histogram of an observation and a later one is compared with the product
    of its marginals. The estimate is half the sum of absolute differences. The cells hold about 100
    observations. The bins of a column hold equal numbers of observations, so its monotone
    transformations do not change the estimate.

    Parameters
    ----------
    sequence : array-like of shape (n,) or (n, n_columns)
        Observations in temporal order.
    lags : sequence of int, default=range(1, 21)
        The lags, in increasing order.

    Returns
    -------
    EstimatedMixing
        The estimates as a mixing profile.

    Notes
    -----
    - The estimate is not an upper bound. Binning loses dependence, and so does a projection of
      vectors to a column. The limit is at most beta.
    - The estimate is never zero. Independent observations give about ``noise_floor``, and
      dependent ones give more. Ignore estimates near it.
    - The floor falls like 1/sqrt(n). The bounds of [2]_ require l beta(a - 1) < delta/2 with many
      blocks l, which no realistic sample can show directly. A profile such as ``Geometric`` that
      extends the estimates is an assumption.
    - With more than two or three columns, the cells hold too few observations.

    References
    ----------
    .. [1] D. J. McDonald, C. R. Shalizi and M. Schervish, "Estimating Beta-Mixing Coefficients via
           Histograms", Electronic Journal of Statistics 9, 2015.
    .. [2] A. Maurer, "Unsupervised Slow Subspace-Learning from Stationary Processes", Algorithmic
           Learning Theory, 2006.

    Examples
    --------
    Two states, with a switch in 10% of the steps. The exact values are 0.4, 0.32 and 0.205:

    >>> switch = np.cumsum(np.random.default_rng(0).random(20_000) < 0.1) % 2
    >>> estimate = estimate_mixing(switch, lags=[1, 2, 4])
    >>> np.round(estimate.raw, 2)
    array([0.4 , 0.32, 0.2 ])
    """
    rows = np.asarray(sequence, dtype=np.float64)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2:
        raise ValueError(f"sequence has shape {rows.shape}. Pass (n,) or (n, n_columns).")
    check_finite(rows, name="sequence")
    asked = check_lags(lags, "lags")
    if not asked or any(late <= early for early, late in pairwise(asked)):
        raise ValueError(f"lags={list(asked)} is invalid. Pass increasing lags, at least one.")
    n_pairs, columns = len(rows) - asked[-1], rows.shape[1]
    n_bins = max(2, int((max(n_pairs, 1) / CELL) ** (0.5 / columns)))
    if n_pairs < n_bins ** (2 * columns):
        raise ValueError(
            f"{len(rows)} rows give {max(n_pairs, 0)} pairs at lag {asked[-1]}, fewer than the "
            f"{n_bins ** (2 * columns)} cells of the histogram. Use more rows or fewer columns."
        )
    # Equal observations share their middle rank, so two states get two bins.
    ranks = (rankdata(rows, axis=0) - 0.5) / len(rows)
    codes = np.floor(ranks * n_bins).astype(np.int64) @ n_bins ** np.arange(columns)
    cells = n_bins**columns
    raw = tuple(_dependence(codes, lag, cells) for lag in asked)
    share = np.bincount(codes, minlength=cells) / codes.size
    # The mean absolute error of a share p from n counts is sqrt(2 p (1 - p) / (pi n)).
    floor = 0.5 * float(np.sqrt(share * (1 - share)).sum() ** 2 * np.sqrt(2 / (np.pi * n_pairs)))
    return EstimatedMixing(asked, raw, floor, len(rows))


def _steps(codes: NDArray[np.int64], gap: int, size: int) -> NDArray[np.int64]:
    """Return how often each of ``size`` codes comes ``gap`` steps before each."""
    pairs = codes[:-gap] * size + codes[gap:]
    return np.bincount(pairs, minlength=size * size).reshape(size, size)


def _dependence(codes: NDArray[np.int64], gap: int, cells: int) -> float:
    """Return the estimate at one lag: half the sum of absolute differences."""
    share = _steps(codes, gap, cells) / (codes.size - gap)
    return 0.5 * float(np.abs(share - np.outer(share.sum(axis=1), share.sum(axis=0))).sum())


#: The least expected number of steps between two cells for a test of this pair. Larger values test
#: fewer pairs.
EXPECTED = 10.0

#: The probability of rejecting continuous classes, over all pairs of cells together.
LEVEL = 0.01


@dataclass(frozen=True)
class ClassContinuity:
    """The result of ``class_continuity``.

    Attributes
    ----------
    cells : tuple of (class, cell)
        The names of the cells, each with its class.
    excess : array of shape (n_cells, n_cells)
        Pr(A now, B next) - Pr(A) Pr(B) for each pair of cells. Continuous classes require values
        of at least 0 inside each class.
    error : array of shape (n_cells, n_cells)
        The standard errors of ``excess``.
    judged : array of shape (n_cells, n_cells)
        True for pairs of one class with enough data.
    worst : float
        The smallest excess of a judged pair, in standard errors.
    pair : (int, int)
        The indices of that pair.
    refuted : bool
        True if ``worst`` is significantly negative. Then the classes are not continuous.
    """

    cells: tuple[tuple[Any, Any], ...]
    excess: Float64s
    error: Float64s
    judged: NDArray[np.bool_]
    worst: float
    pair: tuple[int, int]
    refuted: bool

    __repr__ = brief


def class_continuity(cells: ArrayLike, classes: ArrayLike, *, blocks: int = 20) -> ClassContinuity:
    """Test whether classes are continuous with respect to a process.

    Theorem 5 of [1]_ assumes continuity (Definition 2). For all events A and B inside one class,
    Pr(A now) Pr(B now) <= Pr(A now, B next). A visit to one part of a class must make every part
    of the class more likely at the next step. Long visits to the class are not sufficient.

    Parameters
    ----------
    cells : array-like of shape (n,)
        A fine partition of the observations in temporal order, such as bins or the nearest of some
        prototypes. The test does not see events smaller than a cell.
    classes : array-like of shape (n,)
        The class of each observation.
    blocks : int, default=20
        The number of parts of the sample for the jackknife standard errors. Each part should be
        much longer than the memory of the process.

    Returns
    -------
    ClassContinuity
        Data can refute continuity but cannot prove it.

    References
    ----------
    .. [1] A. Maurer, "Unsupervised Slow Subspace-Learning from Stationary Processes", Algorithmic
           Learning Theory, 2006.

    Examples
    --------
    A walk on a circle with steps of 0.05 of its circumference. Arcs of length 0.1 are continuous,
    because the walk crosses such an arc in a step as often as chance. Arcs of length 0.25 are not:

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
        raise ValueError(f"{n} observations are too few for {blocks} blocks. Use a longer sample.")
    kinds, numbers = zip(*(np.unique(values, return_inverse=True) for values in names), strict=True)
    width = len(kinds[0])
    used, states = np.unique(numbers[1] * width + numbers[0], return_inverse=True)
    size = len(used)
    of_class = used // width
    counts = [_steps(part, 1, size) for part in _stretches(states, blocks)]
    total = np.sum(counts, axis=0)
    excess = _excess(total)
    # The jackknife: the variance of the result if one part is left out.
    leave_one_out = [_excess(total - count) for count in counts]
    error = np.sqrt((blocks - 1) * np.var(leave_one_out, axis=0))
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
    cells_found = tuple((kinds[1][k // width].item(), kinds[0][k % width].item()) for k in used)
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
    """Cut a sequence into parts that share their end points, to lose no step."""
    edges = np.linspace(0, len(states) - 1, blocks + 1).astype(int)
    return [states[a : b + 1] for a, b in pairwise(edges.tolist())]


def _excess(steps: Float64s) -> Float64s:
    """Return Pr(A, B) - Pr(A) Pr(B) from the numbers of steps from A to B."""
    shares = (steps.sum(axis=1) + steps.sum(axis=0)) / (2.0 * steps.sum())
    return np.asarray(steps / steps.sum() - np.outer(shares, shares), np.float64)
