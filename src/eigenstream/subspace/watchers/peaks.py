"""Rows of huge size in time, and the sums without them."""

import warnings
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
from scipy.linalg import orth

from eigenstream.core.linalg import Float64s, principal_angles, reciprocals
from eigenstream.core.storable import storable
from eigenstream.rows.chunk import Places
from eigenstream.rows.fit import Fit
from eigenstream.subspace.sums.block import Block, Edges, End, indices
from eigenstream.subspace.sums.completion import positive_part
from eigenstream.subspace.sums.learner import Learner, Watcher
from eigenstream.subspace.sums.operators import MatrixOperator
from eigenstream.subspace.sums.terms import (
    NOTHING,
    VARIANCE,
    VELOCITY,
    Parts,
    Sums,
    Terms,
    TimeTerms,
)

#: Blocks that hold this share of a column's sum of squares are searched. Smaller values take more
#: time.
SHARE = 1 / 4

#: A block is searched if the square of a value is this multiple of the mean of its column, and this
#: share of the sum. Smaller numbers take more time.
LEAST_SQUARE, LEAST_VALUE = 32.0, 1 / 100

#: Columns are compared in rows of about this number of values.
LONG_ROW = 512

#: The number of rows that are noted in a block, and in all.
N_PEAKS, MOST_PEAKS = 8, 64

#: Blocks of fewer rows are not searched.
LEAST_BLOCK = 256

#: Warn if rows of huge size turn the subspace by more than this angle, in radians, in fits of at
#: least this number of rows. Rows of fewer, or smaller angles, occur by chance.
MOST_TURNED, LEAST_ROWS = 0.3, 1000

#: Rows are of huge size if they hold this share of the variance of some direction, and are longer
#: than other rows by this factor. Smaller factors name rare but ordinary rows, such as digits.
HUGE, LONGER = 0.25, 8.0


@dataclass(frozen=True)
class Peak:
    """A row whose squares are a large share of those of its block.

    ``squares`` are about the mean of the block, times the weight. ``size`` is the length of the
    centred row in units of the median row of the block.
    """

    row: int
    values: Float64s
    weight: float
    share: float
    squares: Float64s
    size: float


@dataclass(frozen=True)
class Velocity:
    """A velocity, times the root of its weight, and the numbers of its two rows."""

    now: int
    past: int
    values: Float64s
    weight: float


@dataclass(frozen=True)
class OperatorSums(Sums):
    """Sums that have been solved: their operator and its diagonal."""

    result: MatrixOperator
    diagonal: Float64s

    def variances(self, terms: Terms) -> Float64s:
        """Return the diagonal of A."""
        return self.diagonal

    def operator(self, terms: Terms, held_out: Parts = NOTHING) -> MatrixOperator:
        """Return the operator."""
        return self.result


@storable(peaks="-", steps="-", squares="-")
class Peaks(Watcher):
    """The largest rows of some blocks, and the velocities of these rows.

    The sums without these rows show whether they decide the answer. Files do not store the rows.
    """

    pairs, of_exact_sums = False, True

    def __init__(self) -> None:
        self.peaks: list[Peak] = []
        #: The velocities of these rows.
        self.steps: list[Velocity] = []
        #: The sums of squares after the last block that was searched.
        self.squares: Float64s | float = 0.0

    def _loaded(self) -> None:
        Peaks.__init__(self)

    def see(self, block: Block, learner: Learner) -> None:
        """Note the largest rows of a block if its sums of squares are large."""
        edges = block.parts.get(VARIANCE, [])
        # Steps between means have a single row. Only NumPy arrays are searched.
        groups = []
        for group in edges:
            if group.now[1] is not None and isinstance(block.pieces[group.now[0]], np.ndarray):
                groups.append(group)
        n = sum(map(attrgetter("n"), edges))
        if groups and n >= LEAST_BLOCK:
            after = learner.squares(VARIANCE)
            added, self.squares = after - self.squares, after
            if self.peaks:
                noted = np.sum([peak.squares for peak in self.peaks], axis=0)
                after = np.maximum(after - noted, added)
            large = added > SHARE * after
            least = max(LEAST_VALUE, LEAST_SQUARE / n) * added
            if large.any() and (large & (_highest(block, groups) >= least)).any():
                self._search(block, groups, added, after)
        if self.peaks:
            self.note_steps(block, block.parts.get(VELOCITY, []), block.first)

    def merged(self, later: "Peaks", crossing: Block, learner: Learner) -> "Peaks":
        """Return the rows of both."""
        merged, n_rows = copy(self), crossing.first
        merged.note_steps(crossing, crossing.parts.get(VELOCITY, []), n_rows)
        merged.steps = merged.steps + [
            replace(step, now=step.now + n_rows, past=step.past + n_rows) for step in later.steps
        ]
        merged.select(merged.peaks + [replace(peak, row=peak.row + n_rows) for peak in later.peaks])
        merged.squares = learner.squares(VARIANCE)
        return merged

    def warnings(self, model: Any, learner: Learner, fit: Fit | None) -> Iterator[str]:
        """Yield a warning if the subspace is another one without a few rows of huge size."""
        if not self.peaks or learner.n_rows < LEAST_ROWS:
            return
        terms: Any = learner.terms
        variances = learner.sums.variances(terms)
        if self._ordinary(variances, terms):
            return
        others = copy(learner)
        others.sums = self.without(learner, variances)
        with warnings.catch_warnings():  # the whole fit has warned
            warnings.simplefilter("ignore")
            columns = [model._solve(each).columns for each in (learner, others)]
        turned = principal_angles(*columns)[0]
        shares = self.shares(others.sums.result, terms, orth(np.hstack(columns)))
        huge = {
            peak.row: peak.size
            for peak, share in zip(self.peaks, shares, strict=True)
            if share > HUGE / 4 and peak.size > LONGER
        }
        if turned > MOST_TURNED and shares.max() > HUGE and huge:
            yield (
                f"row(s) {', '.join(map(str, sorted(huge)))} of huge size turn the subspace by "
                f"{np.degrees(turned):.0f} degrees. They are at least {min(huge.values()):.0f} "
                "times as long as the median row, after centring."
            )

    def _search(self, block: Block, groups: list[Edges], added: Float64s, after: Float64s) -> None:
        """Note the largest rows of a block.

        ``added`` and ``after`` are the sums of squares of the block and of all rows.
        """
        units = reciprocals(added)
        for group in groups:
            squares = block.stacked([group]) ** 2
            shares = squares @ units
            rows, numbers = block.rows(group.now), _row_numbers(block, group.now, block.first)
            sizes = _sizes(squares, reciprocals(after))
            for i in np.argsort(-shares)[:N_PEAKS]:
                weight = 1.0 if group.weights is None else float(group.weights[i])
                values = np.array(rows[i], np.float64)
                of_row = values, weight, float(shares[i]), squares[i].copy(), float(sizes[i])
                self.peaks.append(Peak(int(numbers[i]), *of_row))
        self.select(self.peaks)

    def note_steps(self, block: Block, edges: list[Edges], n_rows: int) -> None:
        """Note the velocities of the noted rows in a block that follows ``n_rows`` rows."""
        rows = np.array([peak.row for peak in self.peaks], np.intp)
        for group in edges if len(rows) else ():
            now, past = (_row_numbers(block, end, n_rows) for end in (group.now, group.past))
            if rows.max() < past[0] or group.now[1] is None or group.sparse:
                continue
            theirs = np.flatnonzero(np.isin(now, rows) | np.isin(past, rows))
            if len(theirs):
                steps = block.stacked([group])[theirs]
                weights = np.ones(len(now)) if group.weights is None else group.weights
                parts = now[theirs].tolist(), past[theirs].tolist(), steps, weights[theirs].tolist()
                self.steps = [*self.steps, *map(Velocity, *parts)]

    def _ordinary(self, variances: Float64s, terms: TimeTerms) -> bool:
        """Return whether all noted rows are of ordinary size, by the variances of the columns."""
        total = terms.totals()[0]
        shares = self._weighted_rows(terms) ** 2 @ reciprocals(total * variances)
        # The squares of an ordinary row are about those of a mean row.
        least = HUGE / N_PEAKS + 2.0 * len(variances) / terms.n_terms
        return bool(shares.max() < least or total <= sum(peak.weight for peak in self.peaks))

    def without(self, learner: Learner, variances: Float64s) -> OperatorSums:
        """Return A and B without the noted rows."""
        terms: Any = learner.terms
        operator = learner.thin_operator()
        (reward, penalty), basis = terms.totals(), operator.basis
        weights, rows = np.array([peak.weight for peak in self.peaks]), self._weighted_rows(terms)
        rest = reward - weights.sum()
        if not terms.center.fixed:  # the mean moves
            rows = np.vstack([rows, np.sqrt(weights) @ rows / np.sqrt(rest)])
        diagonal = np.maximum(reward * variances - (rows**2).sum(axis=0), 0.0) / rest
        steps = np.reshape([step.values for step in self.steps], (-1, rows.shape[1]))
        if basis is not None:
            rows, steps = rows @ basis.T, steps @ basis.T
        A = (reward * operator.reward - rows.T @ rows) / rest
        B = penalty * operator.penalty - steps.T @ steps
        of_one = penalty / max(terms.n_velocities, 1)
        B /= max(penalty - sum(step.weight for step in self.steps), of_one) or 1.0
        sides = positive_part(A), positive_part(B)
        result = MatrixOperator(*sides, basis=basis, floor=operator.floor)
        return OperatorSums(result, diagonal)

    def shares(self, rest: MatrixOperator, terms: TimeTerms, columns: Float64s) -> Float64s:
        """Return the largest share of the variance that each noted row has in a span of columns.

        ``rest`` is the operator without these rows. The shares are in units of the variance
        that it has in the same direction.
        """
        rows = self._weighted_rows(terms) @ columns
        values, vectors = np.linalg.eigh(rest.forms(columns)[0])
        least = values[-1] * np.finfo(np.float64).eps * len(rest.reward)
        kept = values > max(least, rest.floor)
        rows = rows @ (vectors[:, kept] / np.sqrt(values[kept] * terms.totals()[0]))
        return np.asarray((rows**2).sum(axis=1))

    def select(self, peaks: list[Peak]) -> None:
        """Continue with the largest peaks."""
        self.peaks = sorted(peaks, key=lambda peak: -peak.share)[:MOST_PEAKS]
        rows = {peak.row for peak in self.peaks}
        self.steps = [step for step in self.steps if not rows.isdisjoint((step.now, step.past))]

    def _weighted_rows(self, terms: TimeTerms) -> Float64s:
        """Return the centred rows times the roots of their weights."""
        return np.array([np.sqrt(peak.weight) * (peak.values - terms.mean) for peak in self.peaks])


def _highest(block: Block, groups: list[Edges]) -> Float64s:
    """Return a bound on the squares of the differences of rows to a single row, by columns.

    It is the largest of all rows of a piece, which has those of all terms, times the largest
    weight.
    """
    high, low = _extremes(block.pieces[groups[0].now[0]])
    highest = np.zeros(len(high))
    for group in groups:
        past = block.pieces[group.past[0]]
        weight = 1.0 if group.weights is None else float(group.weights.max())
        highest = np.maximum(highest, weight * np.maximum(high - past, past - low) ** 2)
    return highest


def _extremes(rows: Float64s) -> tuple[Float64s, Float64s]:
    """Return the largest and the smallest value of each column."""
    n, width = rows.shape
    step = min(max(LONG_ROW // width, 1), n)
    cut = n - n % step
    long, rest = rows[:cut].reshape(-1, step * width), rows[cut:]
    high = long.max(axis=0).reshape(-1, width).max(axis=0)
    low = long.min(axis=0).reshape(-1, width).min(axis=0)
    if len(rest):
        high, low = np.maximum(high, rest.max(axis=0)), np.minimum(low, rest.min(axis=0))
    return high.astype(np.float64), low.astype(np.float64)


def _sizes(squares: Float64s, units: Float64s) -> Float64s:
    """Return the length of each centred row, in units of the median row.

    It is the larger of the lengths in the units of the data and in units of the columns.
    """
    lengths = np.sqrt(np.stack([squares.sum(axis=1), squares @ units]))
    medians = [np.median(each[each > 0.0]) if each.any() else 1.0 for each in lengths]
    return np.asarray((lengths / np.reshape(medians, (2, 1))).max(axis=0))


def _row_numbers(block: Block, end: End, n_rows: int) -> Places:
    """Return the numbers of the rows at one end of some terms; an earlier piece ends before."""
    k, where = end
    size = int(block.pieces[k].shape[0])
    return indices(where) + n_rows - k * size
