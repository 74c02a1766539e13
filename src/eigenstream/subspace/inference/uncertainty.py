"""Error bars of subspaces from one pass: the jackknife over blocks of rows, pairs or classes."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from scipy.linalg import eigh
from scipy.stats import t as student

from eigenstream.core.checks import check_whole, warn_user
from eigenstream.core.device import on_host
from eigenstream.core.linalg import Float64s, brief
from eigenstream.core.storable import storable
from eigenstream.core.types import BlockCount, Estimator, Parameters
from eigenstream.evaluation.sums import without_each
from eigenstream.rows.chunk import Chunk
from eigenstream.subspace.inference.decays import jackknife_error, of_learner, resolved
from eigenstream.subspace.solvers.base import MATRIX, MERGE, Need
from eigenstream.subspace.sums.learner import Learner

if TYPE_CHECKING:
    from eigenstream.rows.fit import Fit
    from eigenstream.subspace.estimators.base import SubspaceEstimator

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
    timescales: Estimate | None
    angles: Float64s
    subspace_angles: Float64s
    overlaps: Float64s
    warning: str | None
    estimator: Estimator = None
    periods: Estimate | None = None
    loadings: Estimate | None = None

    def __repr__(self) -> str:
        kind, rows = type(self.estimator).__name__, self.estimator._block_word
        lines = [f"{kind}: {self.n_blocks} blocks of {self.block_size:,.4g} {rows}, 95 % intervals"]
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
Model = TypeVar("Model", bound="SubspaceEstimator")
Begin = Callable[[int], tuple[Learner, ...]]
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


def fit_blocks(
    estimators: list[Model],
    fit: "Fit",
    begin: Begin,
    n_blocks: int | str,
    n_rows: int | None,
    cut: BlockCut = parts_in_time,
    *,
    shorter: bool = False,
) -> tuple[list[Model], list[RowBlock]]:
    """Return estimators that have learned all rows, and the learners of their blocks.

    With ``shorter``, estimators whose lag leaves velocities for less than half of the rows are left
    out, except the first.
    """
    parts = cut(fit.learning(), begin, n_blocks, n_rows)
    whole = merged_blocks(parts).learners
    if shorter:
        seen: list[Any] = [model.ahead().terms for model in whole]
        enough = max(1, sum(2 * terms.n_velocities >= terms.n_rows for terms in seen))
        estimators, whole = estimators[:enough], whole[:enough]
    feature_map: Any = fit.map
    for model in estimators:
        model._map, model._skipped = feature_map, fit.skipped
    fitted = [
        model._with_learner(learner) for model, learner in zip(estimators, whole, strict=True)
    ]
    for model, learner in zip(fitted, whole, strict=True):
        model._check_enough(learner.ahead())
    return fitted, parts


# ---- the jackknife -------------------------------------------------------------------------


def check_blocks(blocks: BlockCount) -> int:
    """Return the number of blocks."""
    return check_whole(blocks, "blocks", least=2)


def learners_of(estimator: "SubspaceEstimator", width: int, call: str) -> Learner:
    """Return a learner whose exact sums can be merged, or raise for other solvers."""
    learner: Learner = estimator._begin(width, None, Need(call, MERGE), Need(call, MATRIX))
    if learner.forgetting:
        raise ValueError(
            f"solver={estimator.solver!r} forgets earlier rows, so blocks are not alike. Use "
            "solver='dense' for error bars."
        )
    if learner.halves is not None:
        learner.halve(turning=False)  # whole blocks take turns when they are merged
    return learner


def held_parameters(fitted: "SubspaceEstimator") -> Parameters:
    """Return the parameters that a fit has estimated, as numbers, except the automatic alpha.

    Each set of rows has its own threshold of alpha. A fixed one may leave the last component
    without a positive eigenvalue.
    """
    fixed: Parameters = {"n_components": fitted.n_components_}
    for name in ("alpha", "eta", "shrinkage", "mixing"):
        if name == "alpha" and getattr(fitted, "alpha", None) == "auto":
            continue
        if getattr(fitted, f"{name}_", None) is not None:
            fixed[name] = getattr(fitted, f"{name}_")
    if getattr(fitted, "scale", False) == "auto":
        fixed["scale"] = False if fitted.scale_ is None else "within"
    if getattr(fitted, "normalize", False) == "auto":
        result: Any = fitted.result_
        fixed["normalize"] = result.normalize
    return fixed


def left_out(fitted: Model, parts: list[RowBlock]) -> Iterator[Model]:
    """Yield the estimator without each block, with ``held_parameters`` of the whole fit."""
    fixed = copy(fitted).set_params(**held_parameters(fitted))
    for part in parts:
        part.learners[0].sample = None  # only the choice of eta needs it
    for before, after in without_each(parts, merged_blocks):
        rest = merged_blocks([model for model in (before, after) if model is not None], gap=True)
        with warnings.catch_warnings():  # the whole fit has warned
            warnings.simplefilter("ignore", UserWarning)
            model = fixed._with_learner(rest.learners[0])
            model._solved()
        yield model


def warned(error_bars: Uncertainty) -> Uncertainty:
    """Return error bars after the warning if their blocks are too short."""
    if error_bars.warning is not None:
        warn_user(error_bars.warning)
    return error_bars


def _mean_size(fitted: "SubspaceEstimator", parts: list[RowBlock]) -> float:
    return float(np.mean([fitted._block_size(part.learners[0]) for part in parts]))


def jackknife(
    fitted: "SubspaceEstimator", parts: list[RowBlock], place: int = 0, *, independent: bool = False
) -> Uncertainty:
    """Return the error bars of a fitted estimator from the learners of its blocks.

    There is no warning about short blocks if they are ``independent``.
    """
    parts = [RowBlock(part.learners[place : place + 1], part.begins) for part in parts]
    if len(parts) < 2:
        raise ValueError("All rows are in one block. Pass more rows, sequences or classes.")
    size = _mean_size(fitted, parts)
    expect(fitted, parts)
    learners = [part.learners[0] for part in parts]
    least = 0.0 if independent else fitted._least_block(learners, size)
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
    wider = _inflation(fitted)
    others = list(left_out(fitted, parts))
    d = min(each.n_components_ for each in (fitted, *others))
    values = {
        name: np.array(
            [np.atleast_1d(on_host(getattr(each, name)))[:d] for each in (fitted, *others)]
        )
        for name in ("eigenvalues_", "_timescales")
        if hasattr(fitted, name)
    }
    objectives = np.array([[model._solved().objective] for model in (fitted, *others)])
    # Variances and ratios are positive, differences of variances are not.
    positive = (fitted._solved().weights or (1.0, 0.0))[1] == 0.0
    scales = periods = None
    if hasattr(fitted, "periods_"):
        matched = fitted._matched(others)
        scales, periods = (
            _estimate(
                np.array([getattr(each, name) for each in matched]), positive=True, wider=wider
            )
            for name in ("timescales", "periods")
        )
    elif "_timescales" in values:
        columns = fitted._columns[:, :d]
        errors = jackknife_error(np.array([of_learner(each._known(), columns) for each in others]))
        result: Any = fitted._solved()
        rho = result.autocorrelations[:d]
        known = resolved(rho, errors, len(columns), len(others))
        scales = _estimate(
            np.where(known, values["_timescales"], np.nan), positive=True, wider=wider[:d]
        )
    return Uncertainty(
        len(parts),
        size,
        _estimate(values["eigenvalues_"], positive=positive, wider=wider[:d]),
        _estimate(objectives, positive=positive, wider=wider.max(initial=1.0)),
        scales,
        *_angles(fitted, others, d),
        short,
        fitted,
        periods,
        _loadings(fitted, others, d),
    )


def expect(fitted: "SubspaceEstimator", parts: list[RowBlock], place: int = 0) -> None:
    """Replace the rows with gaps of blocks by their expected products under the whole fit."""
    sums: Any = fitted._known().ahead().sums
    if getattr(sums, "has_gaps", False):
        covariance = sums.completion().covariance
        for part in parts:
            part.learners[place].expect(covariance)


def _inflation(fitted: "SubspaceEstimator") -> Float64s:
    """Return the factor of the error of each component that the gaps cause.

    Expected products under the whole fit pull each block towards it, by the share of the
    information that the gaps take.
    """
    columns, sums = fitted._columns, fitted._known().ahead().sums
    if not getattr(sums, "has_gaps", False):
        return np.ones(columns.shape[1])
    modes: Any = fitted
    if hasattr(fitted, "periods_"):
        columns = np.real(fitted._vectors @ modes._modes().functions)
    return np.asarray(1.0 / np.maximum(1.0 - sums.lost_information(columns), LEAST_INFORMATION))


def _loadings(
    fitted: "SubspaceEstimator", others: list["SubspaceEstimator"], d: int
) -> Estimate | None:
    """Return the error bars of components, each turned to the side of the fitted one."""
    if not hasattr(fitted, "components_"):
        return None
    whole = on_host(fitted.components_)[:d]
    vectors = [on_host(other.components_)[:d] for other in others]
    signs = [np.where(np.nansum(rows * whole, axis=1) < 0.0, -1.0, 1.0) for rows in vectors]
    turned = [rows * sign[:, None] for rows, sign in zip(vectors, signs, strict=True)]
    return _estimate(np.array([whole, *turned]))


def _estimate(
    values: Float64s, *, positive: bool = False, wider: Float64s | float = 1.0
) -> Estimate:
    """Return the estimate of the first values from those without each block.

    Errors are multiplied by ``wider``.

    Intervals of positive values are symmetric on a logarithmic scale.
    """
    n = len(values) - 1
    times = student.ppf(0.5 + CONFIDENCE / 2.0, n - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt((n - 1) * values[1:].var(axis=0))
        away = times * (np.sqrt((n - 1) * np.log(values[1:]).var(axis=0)) if positive else spread)
        spread, away = wider * spread, wider * away
        low, high = values[0] - away, values[0] + away
        if positive:
            low, high = values[0] * np.exp(-away), values[0] * np.exp(away)
    shown = (np.where(np.isfinite(away), bars, np.nan) for bars in (spread, low, high))
    return Estimate(values[0], *shown)


def _angles(
    fitted: "SubspaceEstimator", others: list["SubspaceEstimator"], d: int
) -> tuple[Float64s, Float64s, Float64s]:
    """Return the angles of the components and of their spans, and their overlaps."""
    metric, whole = fitted._metric(), fitted._vectors[:, :d]
    own = whole.T @ metric @ whole
    sines, spans, cosines = np.zeros(d), np.zeros(d), np.zeros((d, d))
    for model in others:
        vectors = model._vectors[:, :d]
        mixed, theirs = whole.T @ metric @ vectors, vectors.T @ metric @ vectors
        cosine = mixed / np.sqrt(np.outer(np.diagonal(own), np.diagonal(theirs)))
        cosines += cosine**2
        sines += np.maximum(1.0 - np.diagonal(cosine) ** 2, 0.0)
        for n in range(1, d + 1):
            inside = mixed[:n, :n].T @ np.linalg.solve(own[:n, :n], mixed[:n, :n])
            least = eigh(inside, theirs[:n, :n], eigvals_only=True)[0]
            spans[n - 1] += max(1.0 - float(least), 0.0)
    share = (len(others) - 1) / len(others)
    angles = [np.arcsin(np.sqrt(np.minimum(share * model, 1.0))) for model in (sines, spans)]
    overlaps = np.sqrt(np.minimum(share * cosines, 1.0))
    np.fill_diagonal(overlaps, np.cos(angles[0]))
    return angles[0], angles[1], overlaps
