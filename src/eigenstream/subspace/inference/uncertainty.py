"""Error bars of subspaces from one pass: the jackknife over blocks of rows, pairs or classes."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import ceil
from typing import NamedTuple, cast

import numpy as np
from scipy.linalg import eigh
from scipy.stats import t as student

from eigenstream.core.checks import check_whole, warn_user
from eigenstream.core.linalg import Float64s, brief
from eigenstream.core.storable import storable
from eigenstream.core.types import BlockCount, Estimator
from eigenstream.evaluation.sums import without_each
from eigenstream.rows.chunk import Chunk
from eigenstream.subspace.estimators.results import (
    Answered,
    Answers,
    DynamicResult,
    SlowResult,
    answered,
)
from eigenstream.subspace.inference.decays import jackknife_error, of_learner, resolved
from eigenstream.subspace.sums.gap_moments import GapMoments
from eigenstream.subspace.sums.learner import Learner

#: The probability that an interval covers the true value.
CONFIDENCE = 0.95

#: Errors are reliable if blocks have at least this number of time scales.
LEAST_TIMESCALES = 10

#: Short blocks are joined until this number remains. Fewer blocks make the intervals wider.
LEAST_BLOCKS = 5

#: The first block length for streams of unknown length, in rows. It doubles as the stream grows.
#: Longer first blocks leave fewer blocks of short streams.
FIRST_BLOCK = 64

#: Intervals of rows with gaps assume that at least this share of the information is left. Smaller
#: values make them wider.
LEAST_INFORMATION = 0.05

#: Printed components.
MOST_LINES = 7


#: The forms of estimates: values of components, or vectors.
ESTIMATES = "f8 d | f8 d W"


@storable(value=ESTIMATES, error=ESTIMATES, low=ESTIMATES, high=ESTIMATES)
@dataclass(frozen=True, eq=False)
class Estimate:
    """Values with standard errors and 95 % intervals.

    Attributes
    ----------
    value, error, low, high : array of shape (n,) or (n, n_features)
        The estimates, their standard errors and the ends of their intervals. NaN where they are not
        known.
    """

    value: Float64s
    error: Float64s
    low: Float64s
    high: Float64s

    __repr__ = brief


@storable(
    estimator="-",
    n_blocks="int",
    block_size="number",
    eigenvalues="Estimate",
    objective="Estimate",
    timescales="Estimate | None",
    angles="f8 d",
    subspace_angles="f8 d",
    overlaps="f8 d d",
    warning="str | None",
    units="str?",
    periods="Estimate | None?",
    loadings="Estimate | None?",
)
@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Error bars of a subspace, from the jackknife over blocks.

    Attributes
    ----------
    n_blocks : int
        The number of blocks.
    block_size : float
        The mean number of rows, pairs or classes in a block.
    units : str
        "rows", "pairs" or "classes".
    eigenvalues, objective : Estimate
        The eigenvalues, and their sum (one value).
    timescales : Estimate or None
        The time scales of slow features, in rows. NaN if the selection among the features may
        explain the autocorrelation: use a shorter lag.
    angles : array of shape (n_components,)
        The root mean square angle between each component and its true value, in radians. Angles
        between slow features measure correlations: a right angle is a correlation of 0.
    subspace_angles : array of shape (n_components,)
        The same for the span of the first 1, 2, ... components: the largest principal angle.
    overlaps : array of shape (n_components, n_components)
        The root mean square cosine of the error of component i with component j. A large entry
        shows that two components are not distinguishable.
    warning : str or None
        The warning that was raised if blocks are too short.
    periods : Estimate or None
        The periods of the modes of a ``DynamicSubspace``, in rows, as ``timescales`` are their
        decay times.
    loadings : Estimate or None
        The entries of ``components_``. None with kernels. Turns of a component towards others of a
        similar eigenvalue make them wide: see ``overlaps``.
    estimator : fitted estimator
        The estimator that has learned from all blocks.
    """

    n_blocks: int
    block_size: float
    eigenvalues: Estimate
    objective: Estimate
    angles: Float64s
    subspace_angles: Float64s
    overlaps: Float64s
    warning: str | None
    units: str = "rows"
    estimator: Estimator = None
    timescales: Estimate | None = None
    periods: Estimate | None = None
    loadings: Estimate | None = None

    def __repr__(self) -> str:
        kind, size = type(self.estimator).__name__, f"{self.block_size:,.4g} {self.units}"
        lines = [f"{kind}: {self.n_blocks} blocks of {size}, 95 % intervals"]
        shown = {"eigenvalue": self.eigenvalues}
        if self.timescales is not None:
            shown["time scale"] = self.timescales
        if self.periods is not None:
            shown["period"] = self.periods
        lines.append("    " + "".join(f"{name:>30}" for name in shown) + "  angle")
        angles = np.degrees(self.angles)
        for k in range(min(len(angles), MOST_LINES)):
            cells = (
                f"{column.value[k]:.4g} [{column.low[k]:.4g}, {column.high[k]:.4g}]"
                for column in shown.values()
            )
            texts = "".join(f" {cell:>29}" for cell in cells)
            lines.append(f"{k + 1:4}{texts} {angles[k]:5.1f}°")
        if len(angles) > MOST_LINES:
            lines.append(f"  ... and {len(angles) - MOST_LINES} more")
        return "\n".join(lines)


# ---- blocks --------------------------------------------------------------------------------


class RowBlock(NamedTuple):
    """Learners of the same consecutive rows; ``begins`` if the first row begins a sequence."""

    learners: tuple[Learner, ...]
    begins: bool = False


def merged_blocks(parts: Sequence[RowBlock], *, gap: bool = False) -> RowBlock:
    """Return a part of all rows of consecutive parts, which do not change.

    With a gap, no velocity joins two parts.
    """
    if len(parts) == 1:
        return parts[0]
    learners = tuple(learner.copied() for learner in parts[0].learners)
    for part in parts[1:]:
        for own, later in zip(learners, part.learners, strict=True):
            own.absorb(later, new_sequence=gap or part.begins)
    return RowBlock(learners, parts[0].begins)


#: A function of the number of features that returns empty learners.
Begin = Callable[[int], tuple[Learner, ...]]
#: A function that returns an estimator with the parameters of a fit and other sums.
Solve = Callable[[Learner], Answers]
#: A function that returns the learners of blocks, such as ``parts_in_time``.
BlockCut = Callable[..., list["RowBlock"]]


def parts_in_time(
    chunks: Iterable[Chunk], begin: Begin, n_blocks: int, n_rows: int | None
) -> list[RowBlock]:
    """Return the learners of consecutive blocks of rows or pairs, of equal length.

    If ``n_rows`` is None, there are between ``n_blocks`` and ``2 * n_blocks`` of them: whenever
    the latter are full, neighbours are merged. A short last block joins the block before it.
    """
    size = FIRST_BLOCK if n_rows is None else n_rows / n_blocks
    parts: list[RowBlock] = []
    seen = end = 0  # the number of rows so far, and that at which the last block is full
    for chunk in chunks:
        first = 0
        while first < len(chunk):
            if seen == end:
                if n_rows is None and len(parts) == 2 * n_blocks:
                    pairs = zip(parts[::2], parts[1::2], strict=True)
                    parts, size = [merged_blocks(pair) for pair in pairs], 2 * size
                begins = bool((chunk.starts == first).any())
                parts.append(RowBlock(begin(chunk.rows.shape[1]), begins))
                end = ceil(size * len(parts) - 1e-6)
            last = min(len(chunk), first + end - seen)
            for learner in parts[-1].learners:
                learner.add(chunk[first:last])
            seen, first = seen + last - first, last
    if len(parts) > 1 and end - seen > size / 2:
        parts[-2:] = [merged_blocks(parts[-2:])]
    return parts


def parts_of_sequences(
    chunks: Iterable[Chunk], begin: Begin, n_blocks: int | str, n_rows: int | None
) -> list[RowBlock]:
    """Return the learners of separate sequences."""
    parts: list[RowBlock] = []
    for chunk in chunks:
        for first, last in pairwise(np.unique([0, *chunk.starts, len(chunk)]).tolist()):
            if not parts or first in chunk.starts:
                parts.append(RowBlock(begin(chunk.rows.shape[1]), begins=True))
            for learner in parts[-1].learners:
                learner.add(chunk[first:last])
    return parts


def parts_of_classes(
    chunks: Iterable[Chunk], begin: Begin, n_blocks: int, n_rows: int | None
) -> list[RowBlock]:
    """Return the learners of blocks of classes, which take turns in the order of appearance."""
    parts: list[RowBlock] = []
    places: dict[tuple[object, ...], int] = {}
    for chunk in chunks:
        assert chunk.labels is not None
        targets = [tuple(np.atleast_1d(label).tolist()) for label in chunk.labels]
        of_row = np.array([places.setdefault(label, len(places)) for label in targets]) % n_blocks
        for k in np.unique(of_row):
            while len(parts) <= k:
                parts.append(RowBlock(begin(chunk.rows.shape[1])))
            parts[k].learners[0].add(chunk.chosen(np.flatnonzero(of_row == k)))
    return parts


def for_blocks(*learners: Learner) -> tuple[Learner, ...]:
    """Return empty learners as those of a block."""
    for learner in learners:
        if learner.forgetting:
            raise ValueError(
                "This solver forgets earlier rows, so blocks are not alike. Use solver='dense' "
                "for error bars."
            )
        if learner.halves is not None:
            learner.halve(alternating=False)  # merged blocks alternate
    return learners


# ---- the jackknife -------------------------------------------------------------------------


def check_blocks(blocks: BlockCount) -> int:
    """Return the number of blocks."""
    return check_whole(blocks, "blocks", least=2)


def warned(error_bars: Uncertainty) -> Uncertainty:
    """Return error bars after the warning if their blocks are too short."""
    if error_bars.warning is not None:
        warn_user(error_bars.warning)
    return error_bars


def jackknife(
    fitted: Answered, solve: Solve, parts: list[RowBlock], place: int = 0, *, independent: bool
) -> Uncertainty:
    """Return the error bars of an answer from the learners of its blocks.

    ``solve`` returns an estimator of other sums with the same parameters. There is no warning about
    short blocks if they are ``independent``.
    """
    learners = [part.learners[place] for part in parts]
    parts = [
        RowBlock((learner,), part.begins) for learner, part in zip(learners, parts, strict=True)
    ]
    if len(parts) < 2:
        raise ValueError("All rows are in one block. Pass more rows, sequences or classes.")
    size = _mean_size(fitted, parts)
    expect(fitted, parts)
    least = 0.0
    if fitted.units == "rows" and not independent:
        least = LEAST_TIMESCALES * _slowest(fitted, [part.learners[0] for part in parts], size)
    if size < least and len(parts) >= 2 * LEAST_BLOCKS:
        n = max(len(parts) // ceil(least / size), LEAST_BLOCKS)
        edges = np.linspace(0, len(parts), n + 1).astype(int).tolist()
        parts = [merged_blocks(parts[first:last]) for first, last in pairwise(edges)]
        size = _mean_size(fitted, parts)
    short = None
    if size < least:
        short = (
            f"Blocks of {size:.3g} rows are shorter than ten time scales of the slowest feature, "
            f"which has about {least / LEAST_TIMESCALES:.2g} rows. The errors are too small. Use "
            "more rows or fewer blocks."
        )
    with warnings.catch_warnings():  # the fit to all rows has warned
        warnings.simplefilter("ignore", UserWarning)
        others = [answered(solve(rest.learners[0])) for rest in blocks_without_each(parts)]
    answers = [fitted, *others]
    d = min(len(answer.result.pairs.values) for answer in answers)
    inflation = _inflation(fitted)
    # Variances and ratios are positive, differences of variances are not.
    positive = (fitted.result.weights or (1.0, 0.0))[1] == 0.0
    eigenvalues = [answer.result.pairs.values[:d] for answer in answers]
    objectives = [np.array([answer.result.objective]) for answer in answers]
    timescales, periods = _scales(fitted, others, d, inflation)
    return Uncertainty(
        len(parts),
        size,
        _estimate(eigenvalues, positive=positive, inflation=inflation[:d]),
        _estimate(objectives, positive=positive, inflation=inflation.max(initial=1.0)),
        *_angles(fitted, others, d),
        short,
        fitted.units,
        timescales=timescales,
        periods=periods,
        loadings=_loadings([answer.components for answer in answers], d),
    )


def blocks_without_each(parts: Sequence[RowBlock]) -> Iterator[RowBlock]:
    """Yield the merge of all blocks but one. No velocity crosses the block left out."""
    for before, after in without_each(parts, merged_blocks):
        yield merged_blocks([block for block in (before, after) if block is not None], gap=True)


def expect(fitted: Answered, parts: list[RowBlock], place: int = 0) -> None:
    """Replace the rows with gaps of blocks by their expected products under the fit to all rows."""
    sums = fitted.learner.sums
    if isinstance(sums, GapMoments) and sums.has_gaps:
        covariance = sums.completion().covariance
        for part in parts:
            part.learners[place].expect(covariance)


def _mean_size(fitted: Answered, parts: list[RowBlock]) -> float:
    return float(np.mean([fitted.n_units(part.learners[0]) for part in parts]))


def _slowest(fitted: Answered, learners: list[Learner], size: float) -> float:
    """Return the time scale of the slowest feature, also by the means of the blocks."""
    operator, result = fitted.operator(), fitted.result
    variances = operator.moments(result.vectors)[0]
    means = np.array([learner.mean for learner in learners]) @ result.unscaled(result.vectors)
    # The variance of block means is 2 * (time scale) / size, if blocks are long.
    varies = variances > operator.floor
    ratios = means.var(axis=0, ddof=1)[varies] / variances[varies]
    scales = fitted.timescales
    finite = np.zeros(0) if scales is None else scales[np.isfinite(scales)]
    return max(float(ratios.max(initial=0.0)) * size / 2.0, float(finite.max(initial=0.0)))


def _inflation(fitted: Answered) -> Float64s:
    """Return the factor of the error of each component that the gaps cause.

    Expected products under the fit to all rows pull each block towards it, by the share of the
    information that the gaps take.
    """
    result, sums = fitted.result, fitted.learner.sums
    columns = result.columns
    if not (isinstance(sums, GapMoments) and sums.has_gaps):
        return np.ones(columns.shape[1])
    if isinstance(result, DynamicResult):
        columns = np.real(result.vectors @ result.modes.functions)
    return np.asarray(1.0 / np.maximum(1.0 - sums.lost_information(columns), LEAST_INFORMATION))


def _scales(
    fitted: Answered, others: list[Answered], d: int, inflation: Float64s
) -> tuple[Estimate | None, Estimate | None]:
    """Return the error bars of time scales and of periods, None for features without them."""
    estimate = partial(_estimate, positive=True, inflation=inflation)
    if isinstance(fitted.result, DynamicResult):
        own = fitted.result.modes
        modes = [own, *(own.matched(cast(DynamicResult, each.result).modes) for each in others)]
        return estimate([each.timescales for each in modes]), estimate([x.periods for x in modes])
    if not isinstance(fitted.result, SlowResult):
        return None, None
    scales = np.array([cast(Float64s, each.timescales)[:d] for each in (fitted, *others)])
    columns = fitted.result.columns[:, :d]
    errors = jackknife_error(np.array([of_learner(each.learner, columns) for each in others]))
    rho = fitted.result.autocorrelations[:d]
    clear = resolved(rho, errors, len(columns), len(others))
    return estimate(np.where(clear, scales, np.nan), inflation=inflation[:d]), None


def _loadings(components: list[Float64s | None], d: int) -> Estimate | None:
    """Return the error bars of components, each turned to the side of the first ones."""
    rows = [vectors[:d] for vectors in components if vectors is not None]
    if not rows:
        return None
    signs = [np.where(np.nansum(each * rows[0], axis=1) < 0.0, -1.0, 1.0) for each in rows]
    return _estimate([each * sign[:, None] for each, sign in zip(rows, signs, strict=True)])


def _estimate(
    answers: Sequence[Float64s] | Float64s,
    *,
    positive: bool = False,
    inflation: Float64s | float = 1.0,
) -> Estimate:
    """Return the estimate of the first values from those without each block.

    Errors are multiplied by ``inflation``. Intervals of positive values are symmetric on a
    logarithmic scale.
    """
    values = np.asarray(answers)
    times = student.ppf(0.5 + CONFIDENCE / 2.0, len(values) - 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = inflation * jackknife_error(values[1:])
        half_width = times * error
        low, high = values[0] - half_width, values[0] + half_width
        if positive:
            half_width = times * inflation * jackknife_error(np.log(values[1:]))
            low, high = values[0] * np.exp(-half_width), values[0] * np.exp(half_width)
    bars = (np.where(np.isfinite(half_width), bar, np.nan) for bar in (error, low, high))
    return Estimate(values[0], *bars)


def _angles(
    fitted: Answered, others: list[Answered], d: int
) -> tuple[Float64s, Float64s, Float64s]:
    """Return the angles of the components and of their spans, and their overlaps."""
    own, inner_products = fitted.result.vectors[:, :d], fitted.inner_products()
    sines, spans, cosines = np.zeros(d), np.zeros(d), np.zeros((d, d))
    for answer in others:
        joint = inner_products(np.hstack([own, answer.result.vectors[:, :d]]))
        products, mixed, theirs = joint[:d, :d], joint[:d, d:], joint[d:, d:]
        cosine = mixed / np.sqrt(np.outer(np.diagonal(products), np.diagonal(theirs)))
        cosines += cosine**2
        sines += np.maximum(1.0 - np.diagonal(cosine) ** 2, 0.0)
        for n in range(1, d + 1):
            inside = mixed[:n, :n].T @ np.linalg.solve(products[:n, :n], mixed[:n, :n])
            least = eigh(inside, theirs[:n, :n], eigvals_only=True)[0]
            spans[n - 1] += max(1.0 - float(least), 0.0)
    share = (len(others) - 1) / len(others)
    angles, span_angles = (np.arcsin(np.sqrt(np.minimum(share * x, 1.0))) for x in (sines, spans))
    overlaps = np.sqrt(np.minimum(share * cosines, 1.0))
    np.fill_diagonal(overlaps, np.cos(angles))
    return angles, span_angles, overlaps
