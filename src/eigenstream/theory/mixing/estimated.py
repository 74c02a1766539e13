"""Coefficients estimated from one long sample, by histograms."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from eigenstream._checks import check_finite, check_lags, check_whole
from eigenstream.theory.base import Float64s, Int64s, MixingProfile

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
                f"Only {above} of {lags.size} estimates stand above twice the noise floor "
                f"{self.noise_floor:.3g}; a fit needs 2. Give smaller lags or a longer sample."
            )
        slope, _ = np.polyfit(lags[:above], np.log(values[:above]), 1)
        if slope >= 0:
            raise ValueError("The estimates do not decay over these lags; give larger lags.")
        rho = float(np.exp(slope))
        return float((values[:above] / rho ** lags[:above]).max()), rho


def estimate_mixing(
    sequence: Any,
    lags: Sequence[int] = range(1, 21),
    *,
    order: int = 1,
    n_bins: int | None = None,
) -> EstimatedMixing:
    """Estimate beta at some lags from one long stationary sample, by histograms ([MSS]).

    At each lag the joint histogram of ``order`` consecutive observations and of ``order`` later
    ones (the first of them ``lag`` steps after the last of the former) is compared with the product
    of its marginals: half the sum of absolute differences. Bins hold equal numbers of observations
    (each column cut by rank), so the estimate does not change under increasing maps of a column.
    ``n_bins`` per column defaults to about 100 observations a cell, at least 2 bins.

    What the estimate is not, plainly:

    * No upper bound. Binning and a short ``order`` both lose dependence, so its target is at most
      beta (equal to it only for fine bins and a process that is Markov of this order). Projecting
      vectors to a column or two before calling loses more.
    * Never zero. Noise alone gives about ``noise_floor`` (computed for independent observations;
      dependent ones give more), and estimates near it say nothing.
    * The floor shrinks like 1/sqrt(sample length), while [SLOW] Theorem 2 needs
      l beta(a - 1) < delta/2 with many blocks l: no affordable sample reaches that directly. Use
      ``geometric_fit`` and say that the tail is assumed.
    * Columns times ``order`` beyond two or three: too few observations a cell.

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
    check_whole(order, "order")
    asked = check_lags(lags, "lags")
    if not asked or any(late <= early for early, late in pairwise(asked)):
        raise ValueError("lags must be at least one whole number, strictly growing.")
    n_pairs = len(rows) - asked[-1] - 2 * (order - 1)
    columns = rows.shape[1] * order
    if n_bins is None:
        n_bins = max(2, int((max(n_pairs, 1) / CELL) ** (0.5 / columns)))
    check_whole(n_bins, "n_bins", least=2)
    if n_pairs < n_bins ** (2 * columns):
        raise ValueError(
            f"{len(rows)} rows give {max(n_pairs, 0)} pairs at lag {asked[-1]}, fewer than the "
            f"{n_bins ** (2 * columns)} cells of the joint histogram. Give a longer sample, "
            "smaller lags, fewer bins or columns, or a smaller order."
        )
    codes = _codes(rows, n_bins, order)
    cells = n_bins**columns
    raw = tuple(_dependence(codes, lag + order - 1, cells) for lag in asked)
    share = np.bincount(codes, minlength=cells) / codes.size
    # Mean absolute error of a share p from n counts: sqrt(2 p (1 - p) / (pi n)), summed over cells.
    floor = 0.5 * float(np.sqrt(share * (1 - share)).sum() ** 2 * np.sqrt(2 / (np.pi * n_pairs)))
    return EstimatedMixing(asked, raw, floor, n_bins, len(rows))


def _codes(rows: Float64s, n_bins: int, order: int) -> NDArray[np.int64]:
    """Number the histogram cell of every run of ``order`` rows."""
    cell = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        # Equal observations share their middle rank, so two states get two bins, rare or not.
        rank = (rankdata(column) - 0.5) / len(column)
        cell = cell * n_bins + np.floor(rank * n_bins).astype(np.int64)
    n_cells = n_bins ** rows.shape[1]
    last = len(rows) - order + 1
    code = np.zeros(last, dtype=np.int64)
    for step in range(order):
        code = code * n_cells + cell[step : step + last]
    return code


def _dependence(codes: NDArray[np.int64], gap: int, cells: int) -> float:
    """Half the absolute difference between the joint histogram at a gap and its marginals'."""
    past, future = codes[:-gap], codes[gap:]
    joint = np.bincount(past * cells + future, minlength=cells * cells).reshape(cells, cells)
    share = joint / past.size
    return 0.5 * float(np.abs(share - np.outer(share.sum(axis=1), share.sum(axis=0))).sum())
