"""Exact sums of rows in time that subtract means themselves: with gaps, runs or direction."""

from collections.abc import Hashable, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import is_sparse
from eigenstream._linalg import Float64s, rank_update, rounding_of_mean
from eigenstream._namespaces import DeviceArray
from eigenstream._storable import storable
from eigenstream._types import Matrix
from eigenstream.subspace.sums.anchored_sums import AnchoredSums, gapped
from eigenstream.subspace.sums.base import Sums
from eigenstream.subspace.sums.block import Block, Edges, End
from eigenstream.subspace.sums.completion import KEPT_VALUES, Gaussian, Incomplete, Patterns, fitted
from eigenstream.subspace.sums.gaps import (
    GapNoise,
    check_together,
    noise_level,
    repaired,
    repaired_pairs,
    varying,
)
from eigenstream.subspace.sums.operators import MatrixOperator
from eigenstream.subspace.sums.propagator import LaggedCovariances
from eigenstream.subspace.sums.terms import NOTHING, VARIANCE, VELOCITY, Parts, Terms

#: The products of rows and the rows ``lag`` earlier.
CROSSED = "crossed"
#: Rows and the rows ``lag`` later, side by side.
PAIR = "pair"

#: Earlier and later rows have one covariance if sequences have this number of rows on average.
LONG_SEQUENCES = 1000


@storable(
    n_features="int=W",
    gaps="bool",
    parts="dict[AnchoredSums]",
    whole="AnchoredSums | None?",
    incomplete="Incomplete | None?",
    model="-",
    by_sequence="bool",
)
class RowMoments(Sums):
    """Sums of rows and of their velocities about the mean of all rows, or of each sequence.

    With gaps they also contain the products of rows and the rows ``lag`` earlier. For complete rows
    these are the products of the middle of both rows, less a quarter of those of the step.
    """

    sparse, has_mean = False, True
    #: The last covariance of greatest likelihood, and older models' sums, which are pairwise.
    model: Gaussian | None = None
    whole: AnchoredSums | None = None
    incomplete: Incomplete | None = None

    def __init__(
        self, n_features: int, center: bool | str, *, lag: int = 0, gaps: bool = False
    ) -> None:
        self.n_features, self.gaps = n_features, gaps
        self._keep(2 * n_features if lag else n_features, center)
        self.parts = {VARIANCE: AnchoredSums(n_features, center)}
        if lag:
            self.parts[VELOCITY] = AnchoredSums(n_features, False)
        if lag and gaps:
            self.parts[CROSSED] = AnchoredSums(n_features, center)

    def _keep(self, width: int, center: bool | str) -> None:
        """Begin the sums of complete rows or pairs of rows, and the rows with gaps."""
        use = self.gaps and center != "sequences"
        self.model, self.by_sequence = None, center == "sequences"
        self.whole = AnchoredSums(width, center) if use else None
        self.incomplete = Incomplete.none(width) if use else None

    def _add_whole(self, rows: Float64s, weights: Float64s | None, lost: bool) -> None:
        """Add rows, or pairs of rows side by side, to the complete ones or to those with gaps."""
        if self.whole is None:
            return
        self.model = None
        gap_rows = gapped(rows) if lost else np.empty(0, np.intp)
        if len(gap_rows):
            assert self.incomplete is not None
            self.incomplete.add(rows[gap_rows], None if weights is None else weights[gap_rows])
            kept = np.setdiff1d(np.arange(len(rows)), gap_rows)
            rows, weights = rows[kept], None if weights is None else weights[kept]
        self.whole.add(rows, weights, gaps=False)
        if self.incomplete is not None and self.incomplete.kept.size > KEPT_VALUES:
            self.settle()

    def lost_information(self, columns: Float64s) -> Float64s:
        """Return the share of the information along each column that the gaps take.

        It is that about the variance of velocities, if there are any.
        """
        rows = self.incomplete
        if rows is None or self.whole is None or not len(rows):
            return np.zeros(columns.shape[1])
        along = np.vstack([-columns, columns]) if rows.kept.shape[1] > len(columns) else columns
        lost = Patterns(rows.kept, rows.weights).completed(self.completion(), along)[2]
        return np.asarray(lost / (float(self.whole.weight[0, 0]) + rows.weights.sum()))

    def settle(self, model: Gaussian | None = None) -> None:
        """Replace the rows with gaps by their expected products under a covariance."""
        rows = self.incomplete
        if rows is None or self.whole is None or not len(rows):
            return
        model = self.completion() if model is None else model
        u, extra, _ = Patterns(rows.kept, rows.weights).completed(model)
        self.whole.add(u + model.mean, rows.weights, gaps=False)
        self.whole.product += extra
        self.incomplete = Incomplete.none(rows.kept.shape[1])
        self.incomplete.frozen, self.model = True, None

    def completion(self) -> Gaussian:
        """Return the mean and covariance of greatest likelihood of rows, or of pairs of rows."""
        sums, rows = self.whole, self.incomplete
        assert sums is not None
        assert rows is not None
        if self.model is None:
            middle = sums.mean if sums.center else np.zeros(sums.width)
            own = float(sums.weight[0, 0]), middle, sums.covariance()
            mean, start = self._start()
            if not len(rows):
                self.model = Gaussian(middle, own[2])
            else:
                begin = Gaussian(mean, start)
                self.model = fitted(begin, own, rows.kept, rows.weights, center=bool(sums.center))
        return self.model

    def _start(self) -> tuple[Float64s, Float64s]:
        """Return the mean and the covariance before the first step: pairwise, with a ridge."""
        A, mean = varying(self.parts[VARIANCE].covariance(), self.mean), self.mean
        noise = self._noise_of(self.parts[VARIANCE])
        if CROSSED not in self.parts:
            return mean, repaired_pairs(A, noise)
        live = np.diagonal(A) > 0.0
        crossed = np.where(np.outer(live, live), self.crossed(), 0.0)
        joint = np.block([[A, crossed], [crossed, A]])
        return np.r_[mean, mean], repaired_pairs(joint, noise)

    def _noise_of(self, sums: AnchoredSums) -> float:
        """Return the noise of the gaps in pairwise sums of the columns that were seen."""
        seen = np.diagonal(sums.weight) > 0.0
        weight = sums.weight[np.ix_(seen, seen)]
        return noise_level(weight, float(weight.max(initial=0.0)))

    @property
    def completes(self) -> bool:
        """True if there are rows with gaps that the likelihood can use."""
        rows = self.incomplete
        return rows is not None and (len(rows) > 0 or rows.frozen)

    @property
    def _first(self) -> AnchoredSums:
        return next(iter(self.parts.values()))

    def add(self, block: Block, terms: Terms) -> None:
        """Add the terms of a block of one sequence."""
        lost = self.gaps and any(_has_gaps(piece) for piece in block.pieces)
        for sums in self.parts.values() if block.begins else ():
            sums.new_run()
        ends = None if lost or CROSSED not in self.parts else self._ends(block)
        if ends is None:
            for edges in block.edges:
                self._add(block, edges, lost)
        else:
            self._add_complete(block, *ends)

    def _ends(self, block: Block) -> tuple[Float64s, Float64s] | None:
        """Return the rows that differ between the two ends of the velocities, and their signs.

        The earlier ends are the later ones and these rows, added or subtracted. None if the block
        is short, or if it has weights or the variances of both ends.
        """
        variance, crossed = self.parts[VARIANCE].last, self.parts[CROSSED].last
        if not np.array_equal(variance.anchor, crossed.anchor, equal_nan=True):
            return None
        pieces = [np.zeros(piece.shape[0]) for piece in block.pieces if np.ndim(piece) == 2]
        counts: dict[Hashable, int] = dict.fromkeys(self.parts, 0)
        for edges in block.edges:
            counts[edges.part] += edges.n
            if edges.weights is not None:
                return None
            if edges.part == VARIANCE:
                continue
            for (k, where), sign in ((edges.past, 1.0), (edges.now, -1.0)):
                pieces[k][where] += sign
        places = [np.flatnonzero(signs) for signs in pieces]
        n = counts[VELOCITY]
        if counts[VARIANCE] != n or 2 * sum(map(len, places)) >= n:
            return None
        rows = [_dense_rows(block, (k, where)) for k, where in enumerate(places)]
        signs = [pieces[k][where] for k, where in enumerate(places)]
        return np.concatenate(rows).astype(np.float64), np.concatenate(signs)

    def _add_complete(self, block: Block, rows: Float64s, signs: Float64s) -> None:
        """Add complete rows, whose lagged products follow from the products of the other parts."""
        variance, velocity, crossed = self.parts.values()
        squares, steps, first = (
            variance.product.copy(),
            velocity.product.copy(),
            copy(variance.last),
        )
        for edges in block.edges:
            self._add(block, edges, lost=False, crossed=False)
        crossed.last.fix_anchor(variance.last.anchor)
        u = rows - crossed.last.anchor
        # The square of the middle is half of both squares, less a quarter of that of the step.
        crossed.product += variance.product - squares + 0.5 * (u.T * signs) @ u
        crossed.product -= 0.25 * (velocity.product - steps)
        sums = (variance.last.sums - first.sums)[:, :1] + 0.5 * (signs @ u)[:, None]
        crossed.last.add(sums, (variance.last.weight - first.weight)[:1, :1])

    def _add(self, block: Block, edges: Edges, lost: bool, *, crossed: bool = True) -> None:
        now = _dense_rows(block, edges.now)
        if edges.part == VARIANCE:
            self.parts[VARIANCE].add(now, edges.weights, gaps=lost)
            if VELOCITY not in self.parts:
                self._add_whole(now, edges.weights, lost)
            return
        past = _dense_rows(block, edges.past)
        if self.whole is not None:
            self._add_whole(np.hstack([past, now], dtype=np.float64), edges.weights, lost)
        steps = _differences(now, past)
        self.parts[VELOCITY].add(steps, edges.weights, gaps=lost)
        if crossed and CROSSED in self.parts:
            self._add_crossed(now, past, steps, edges.weights)

    def _add_crossed(
        self, now: Matrix, past: Matrix, steps: Float64s, weights: Float64s | None
    ) -> None:
        sums, lost = self.parts[CROSSED], gapped(steps)
        if len(lost):
            w = None if weights is None else weights[lost]
            sums.add_crossed(now[lost], past[lost], w)
            velocities = np.nan_to_num(steps[lost])
            # The products of all steps are subtracted later.
            rank_update(
                sums.product, velocities if w is None else velocities * np.sqrt(w)[:, None], 0.25
            )
            kept = np.setdiff1d(np.arange(len(now)), lost)
            past, steps = past[kept], steps[kept]
            weights = None if weights is None else weights[kept]
        sums.add(past + 0.5 * steps, weights, gaps=False)

    def merge(self, later: "RowMoments") -> None:
        """Add the sums of later rows."""
        for part, sums in self.parts.items():
            sums.merge(later.parts[part])
        if self.whole is not None and self.incomplete is not None:
            assert later.whole is not None
            assert later.incomplete is not None
            self.model = None
            self.whole.merge(later.whole)
            self.incomplete.add(later.incomplete.kept, later.incomplete.weights)
            self.incomplete.frozen |= later.incomplete.frozen

    def forget(self, share: float) -> None:
        """Multiply all sums by a share."""
        for sums in self.parts.values():
            sums.forget(share)
        if self.whole is not None and self.incomplete is not None:
            self.model = None
            self.whole.forget(share)
            self.incomplete.weights = share * self.incomplete.weights

    # ---- results ---------------------------------------------------------------------------

    @property
    def mean(self) -> Float64s:
        """The mean of each column, 0 for columns never seen."""
        first = self._first
        return first.mean[: self.n_features] if first.center else np.zeros(self.n_features)

    @property
    def seen(self) -> NDArray[np.bool_]:
        """True for each column that was present in some row."""
        return np.diagonal(self._first.weight)[: self.n_features] > 0.0

    def check_gaps(self, names: Sequence[object] | None, lag: int) -> None:
        """Raise if the gaps leave too few rows; ``names`` are those of the columns."""
        seen = self.seen
        names = np.flatnonzero(seen).tolist() if names is None else list(np.array(names)[seen])
        for part, apart in ((VARIANCE, 0), (CROSSED, lag)):
            if part in self.parts:
                check_together(self.parts[part].weight[np.ix_(seen, seen)], names, apart)

    def crossed(self) -> Float64s:
        """Return the symmetric part of the covariance of rows and the rows ``lag`` earlier."""
        return self.parts[CROSSED].covariance(less=0.25 * self.parts[VELOCITY].product)

    def operator(self, terms: Terms, held_out: Parts = NOTHING) -> MatrixOperator:
        """Return A and B, positive semidefinite also with gaps."""
        A, B, gaps = self._solved(terms)
        operator = MatrixOperator(A, B, floor=rounding_of_mean(self.mean))
        operator.gaps = gaps if self.gaps else None
        return operator

    def _solved(self, terms: Terms) -> tuple[Float64s, Float64s, GapNoise]:
        """Return A, B and the noise of the gaps."""
        A = self.parts[VARIANCE].covariance()
        B = self.parts[VELOCITY].covariance() if VELOCITY in self.parts else np.zeros_like(A)
        seen = self.seen
        if not self.gaps:
            return A, B, GapNoise(seen)
        inside = np.ix_(seen, seen)
        reward, penalty = terms.totals()
        totals = {VARIANCE: reward, VELOCITY: penalty, CROSSED: penalty}
        weights = {part: sums.weight[inside] for part, sums in self.parts.items()}
        noise = {part: noise_level(weights[part], totals[part]) for part in self.parts}
        crossed, own = A[inside], B[inside]
        if CROSSED in self.parts:
            crossed = self.crossed()[inside]
            # A pair of columns without a common velocity has lagged products only.
            own = np.where(weights[VELOCITY] > 0.0, own, 2.0 * (A[inside] - crossed))
        levels = (noise[VARIANCE], noise.get(VELOCITY, 0.0), noise.get(CROSSED, 0.0))
        some_A, some_B, limit = repaired(A[inside], own, crossed, levels)
        if self.completes:
            C, size = self.completion().covariance, self.n_features
            some_A = (C[:size, :size] + C[-size:, -size:])[inside] / 2.0
            some_B = np.zeros_like(some_A)
            if CROSSED in self.parts:
                both = C[:size, size:]
                some_B = (2.0 * some_A) - (both + both.T)[inside]
            levels = (0.0, *levels[1:])
        A, B = np.zeros_like(A), np.zeros_like(B)
        A[inside], B[inside] = some_A, some_B
        # Columns never seen come last in any order.
        unseen = np.flatnonzero(~seen)
        B[unseen, unseen] = np.abs(B).sum(axis=0).max(initial=0.0) or 1.0
        gap_noise = GapNoise(seen, levels[0], limit if VELOCITY in self.parts else levels[0])
        return A, B, gap_noise


@storable()
class PairMoments(RowMoments):
    """Sums of rows and of the rows ``lag`` later, side by side, which keep the direction of time.

    They are those of ``[past, now - past]``, or with gaps of ``[past, now]``.
    """

    def __init__(self, n_features: int, center: bool | str, *, gaps: bool = False) -> None:
        self.n_features, self.gaps = n_features, gaps
        self._keep(2 * n_features, center)
        self.parts = {PAIR: AnchoredSums(2 * n_features, center)}

    def _start(self) -> tuple[Float64s, Float64s]:
        sums = self._first
        mean = sums.mean if sums.center else np.zeros(2 * self.n_features)
        noise = self._noise_of(sums) / np.sqrt(2.0)
        return mean, repaired_pairs(varying(sums.covariance(), mean), noise)

    def _add(self, block: Block, edges: Edges, lost: bool, *, crossed: bool = True) -> None:
        if edges.part != VELOCITY:
            return
        now, past = (_dense_rows(block, end) for end in (edges.now, edges.past))
        later = now if self.gaps else _differences(now, past)
        away = isinstance(later, DeviceArray)
        rows = later.beside(past) if away else np.hstack([past, later], dtype=np.float64)
        self.parts[PAIR].add(rows, edges.weights, gaps=lost)
        if not away:
            self._add_whole(rows, edges.weights, lost)

    def check_gaps(self, names: Sequence[object] | None, lag: int) -> None:
        """Raise if the gaps leave too few rows; ``names`` are those of the columns."""
        weight, size, seen = self._first.weight, self.n_features, self.seen
        names = np.flatnonzero(seen).tolist() if names is None else list(np.array(names)[seen])
        for apart, weights in ((0, weight[:size, :size]), (lag, weight[:size, size:])):
            check_together(weights[np.ix_(seen, seen)], names, apart)

    def covariances(self, terms: Terms, lag: int) -> tuple[LaggedCovariances, GapNoise]:
        """Return the covariances of earlier and later rows, and the noise of the gaps."""
        sums, size, seen = self._first, self.n_features, self.seen
        both, mean, noise = sums.covariance(), sums.mean, 0.0
        mean = mean if sums.center else np.zeros_like(mean)
        if self.gaps:
            inside = np.ix_(*[np.r_[seen, seen]] * 2)
            # Earlier and later rows have the same gaps, so the noise is that of either half.
            noise = noise_level(sums.weight[inside], terms.totals()[1]) / np.sqrt(2.0)
            if self.completes:
                model = self.completion()
                mean, both[inside] = model.mean, model.covariance[inside]
                both = self._tied(both, terms, lag)
            else:
                both[inside] = repaired_pairs(both[inside], noise)
        gap_noise = GapNoise(seen, 0.0 if self.completes else noise, noise)
        c00, crossed, last = both[:size, :size], both[:size, size:], both[size:, size:]
        if self.gaps:
            means = mean[:size], mean[size:]
            return LaggedCovariances(c00, last, crossed - c00, *means, lag), gap_noise
        c11, mean1 = c00 + crossed + crossed.T + last, mean[:size] + mean[size:]
        return LaggedCovariances(c00, c11, crossed, mean[:size], mean1, lag), gap_noise

    def _tied(self, both: Float64s, terms: Any, lag: int) -> Float64s:
        """Return the covariance with equal variances of earlier and later rows, if they are long.

        In long sequences they are the same rows, but gaps would give their difference an error that
        exceeds slow steps. Short sequences may begin elsewhere than they end.
        """
        size, n_sequences = self.n_features, (terms.n_rows - terms.n_velocities) / lag
        # After pairs of rows there is no current sequence, which would have an age.
        if n_sequences * LONG_SEQUENCES > terms.n_rows or not terms.age:
            return both
        both = both.copy()
        either = (both[:size, :size] + both[size:, size:]) / 2.0
        both[:size, :size] = both[size:, size:] = either
        return both

    def operator(self, terms: Terms, held_out: Parts = NOTHING) -> MatrixOperator:
        """Return C00 and the second moment of the steps."""
        cov, gaps = self.covariances(terms, 1)
        steps = cov.c00 + cov.c11 - cov.c01 - cov.c01.T
        operator = MatrixOperator(cov.c00, steps, floor=rounding_of_mean(self.mean))
        operator.gaps = gaps if self.gaps else None
        return operator


def _dense_rows(block: Block, end: End) -> Matrix:
    """Return the rows at one end of some terms as a dense matrix."""
    rows = block.rows(end)
    return rows.toarray() if is_sparse(rows) else rows


def _differences(now: Matrix, past: Matrix) -> Matrix:
    """Return differences of rows in float64."""
    if isinstance(now, DeviceArray) or isinstance(past, DeviceArray):
        return now - past
    return np.subtract(now, past, dtype=np.float64)


def _has_gaps(piece: Matrix) -> bool:
    """Return whether a piece of a block has NaN."""
    values = piece.data if is_sparse(piece) else piece
    return bool(np.isnan(values.sum()))
