"""Sums of rows with gaps, or of rows and the rows ``lag`` later side by side.

Complete rows are added to a product about the mean of their sequence. Rows with gaps are stored up
to a number of values, and the covariance of greatest likelihood is computed when a result is read.
"""

from collections.abc import Sequence
from copy import deepcopy

import numpy as np
from numpy.typing import NDArray

from eigenstream.core.linalg import Float64s, mirrored, rank_update, rounding_of_mean
from eigenstream.core.storable import storable
from eigenstream.subspace.sums.block import Block, Edges, dense
from eigenstream.subspace.sums.completion import (
    CompleteSums,
    Gaussian,
    IncompleteRows,
    Indices,
    check_together,
    expected_means,
    fitted,
)
from eigenstream.subspace.sums.operators import MatrixOperator
from eigenstream.subspace.sums.propagator import LaggedCovariances
from eigenstream.subspace.sums.terms import NOTHING, VARIANCE, VELOCITY, Parts, Sums, Terms

#: Rows with gaps are stored up to this number of values (64 MB). Then the earlier half is replaced
#: by its expected products. Larger values take more memory, and are nearer to the likelihood.
STORED_VALUES = 1 << 23

#: The lost information is the mean over about this number of rows. More take more time.
LOST_ROWS = 2000

#: Weights below this share of the total count as zero.
ROUNDING = 1e-9

EVERY = slice(None)

#: The attributes of ``GapMoments`` that are added when sums are merged.
ADDED = ("replaced", "together", "end_rows", "closed", "closed_mean", "closed_steps")


@storable(
    n_features="int=W",
    lag="int",
    center="any",
    earlier_share="number",
    by_sequence="bool",
    weights="f8 r",
    means="f8 r c",
    product="f8 c c",
    stored="f8 n m",
    n_stored="int",
    replaced="number",
    together="f8 c c",
    end_rows="f8 d d",
    closed="number",
    closed_mean="f8 c",
    closed_steps="f8 d d",
    model="-",
    incomplete="-",
    expects="-",
)
class GapMoments(Sums):
    """Sums of rows with gaps. With a lag, a row is a pair ``[past, now]``.

    Parameters
    ----------
    n_features : int
        The number of columns of the rows.
    center : bool or "sequences"
        Subtract one mean, nothing, or the mean of each sequence.
    lag : int, default=0
        The number of rows between both rows of a pair. 0 stands for single rows.
    earlier_share : float, default=0.0
        The share of the earlier rows of pairs in the variances and the mean.
    """

    sparse, has_mean = False, True
    #: The covariance of greatest likelihood, once it was read, and the rows that it completes.
    model: Gaussian | None = None
    incomplete: IncompleteRows | None = None
    #: True if expected products are those under the covariance of more rows than these.
    expects = False

    def __init__(
        self, n_features: int, center: bool | str, *, lag: int = 0, earlier_share: float = 0.0
    ) -> None:
        self.n_features, self.center, self.lag = n_features, center, lag
        self.earlier_share, self.by_sequence = earlier_share, center == "sequences"
        width = 2 * n_features if lag else n_features
        #: The weight and the mean of the complete rows of each sequence.
        self.weights, self.means = np.zeros(1), np.zeros((1, width))
        #: The lower triangle of the product of complete rows about the means of their sequences.
        self.product = np.zeros((width, width), order="F")
        #: Rows with gaps, and in two further columns their weights and the numbers of their
        #: sequences. The array is longer than the number of stored rows, so it seldom grows.
        self.stored, self.n_stored = np.empty((0, width + 2)), 0
        #: The weight of the rows with gaps that were replaced by their expected products. For each
        #: pair of columns, the negative weight of the replaced rows that lacked either column.
        self.replaced, self.together = 0.0, np.zeros((width, width))
        #: The replaced rows in the difference of the products of earlier and of later rows.
        self.end_rows = np.zeros((n_features, n_features))
        #: The weight of sequences that no rows will follow, and the sum of their means by weight.
        #: Then the weighted squares of the differences between the means of later and earlier rows.
        self.closed, self.closed_mean = 0.0, np.zeros(width)
        self.closed_steps = np.zeros((n_features, n_features))

    # ---- adding ----------------------------------------------------------------------------

    def add(self, block: Block, terms: Terms) -> None:
        """Add the terms of a block of one sequence."""
        if block.begins and self.by_sequence:
            self.weights = np.append(self.weights, 0.0)
            self.means = np.vstack([self.means, np.zeros_like(self.means[:1])])
            if self.means.size > STORED_VALUES:
                self._close()
        part = VELOCITY if self.lag else VARIANCE
        parts = block.parts.get(part, [])
        # Velocities across the border of two chunks come last in a block, but first in time.
        for edges in sorted(parts, key=lambda edges: edges.past[0] == 0):
            self._add(block, edges)

    def _add(self, block: Block, edges: Edges) -> None:
        rows = dense(block.rows(edges.now))
        if self.lag:
            rows = np.hstack([dense(block.rows(edges.past)), rows])
        weights = np.ones(len(rows)) if edges.weights is None else edges.weights
        used = (weights > 0.0) & np.isfinite(rows).any(axis=1)
        if not used.all():
            rows, weights = rows[used], weights[used]
        lost = gapped(rows)
        most = max(STORED_VALUES // rows.shape[1], 2)
        first = 0
        while len(lost) >= most - self.n_stored:
            last = int(lost[most - self.n_stored - 1]) + 1
            self._add_rows(rows[first:last], weights[first:last], lost[lost < last] - first)
            self._replace(most // 2)
            lost, first = lost[lost >= last], last
        self._add_rows(rows[first:], weights[first:], lost - first)

    def _add_rows(self, rows: Float64s, weights: Float64s, lost: Indices) -> None:
        """Add rows to the last sequence. Those in ``lost`` have gaps."""
        self.model = self.incomplete = None
        if len(lost):
            sequences = np.full(len(lost), len(self.weights) - 1.0)
            self._store(np.column_stack([rows[lost], weights[lost], sequences]))
            rows, weights = np.delete(rows, lost, axis=0), np.delete(weights, lost)
        if not len(rows):
            return
        total = float(weights.sum())
        mean = np.zeros(rows.shape[1])
        if self.center:
            # The first row is subtracted so that constant columns have no rounding.
            mean, rows = rows[0], rows - rows[0]
            step = weights @ rows / total
            mean, rows = mean + step, rows - step
        rank_update(self.product, rows * np.sqrt(weights)[:, None])
        self._join(-1, total, mean)

    def _store(self, rows: Float64s) -> None:
        """Store rows with gaps, with their weights and sequences."""
        n = self.n_stored + len(rows)
        if n > len(self.stored):
            larger = np.full((n + n // 4, rows.shape[1]), np.nan)
            larger[: self.n_stored] = self.stored[: self.n_stored]
            self.stored = larger
        self.stored[self.n_stored : n] = rows
        self.n_stored = n

    @property
    def rows(self) -> Float64s:
        """The stored rows with gaps."""
        return self.stored[: self.n_stored, :-2]

    @property
    def row_weights(self) -> Float64s:
        """The weights of the stored rows."""
        return self.stored[: self.n_stored, -2]

    @property
    def row_sequences(self) -> Indices:
        """The numbers of the sequences of the stored rows."""
        return self.stored[: self.n_stored, -1].astype(np.intp)

    def _join(self, sequence: int, weight: float, mean: Float64s) -> None:
        """Add the mean of further rows of a sequence, whose product is about it."""
        total = self.weights[sequence] + weight
        self.weights, self.means = self.weights.copy(), self.means.copy()
        if total > 0.0:
            step = mean - self.means[sequence]
            between = self.weights[sequence] * weight / total
            rank_update(self.product, step[None], between)
            self.means[sequence] += weight / total * step
        self.weights[sequence] = total

    def merge(self, later: "GapMoments") -> None:
        """Add the sums of later rows, whose first sequence continues the last one."""
        self.model = self.incomplete = None
        last = len(self.weights) - 1
        self.product += later.product
        self._join(last, float(later.weights[0]), later.means[0])
        self.weights = np.concatenate([self.weights, later.weights[1:]])
        self.means = np.concatenate([self.means, later.means[1:]])
        rows = later.stored[: later.n_stored].copy()
        rows[:, -1] += last
        self._store(rows)
        for name in ADDED:
            setattr(self, name, getattr(self, name) + getattr(later, name))
        most = max(STORED_VALUES // self.rows.shape[1], 2)
        while self.n_stored >= most:
            self._replace(most // 2)

    def forget(self, share: float) -> None:
        """Multiply all weights by a share."""
        self.model = self.incomplete = None
        self.stored = self.stored.copy()
        self.stored[:, -2] *= share
        for name in ("weights", "product", *ADDED):
            setattr(self, name, share * getattr(self, name))
        self.product = np.asfortranarray(self.product)

    # ---- likelihood ------------------------------------------------------------------------

    @property
    def has_gaps(self) -> bool:
        """True if some rows have gaps."""
        return self.n_stored > 0 or self.replaced > 0.0

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.weights.sum() + self.row_weights.sum()) + self.closed

    def _complete(self) -> CompleteSums:
        return CompleteSums(self.weights, self.means, mirrored(self.product), self.closed)

    def _incomplete(self, chosen: slice = EVERY) -> IncompleteRows:
        """Return the stored rows, or some of them."""
        if chosen == EVERY and self.incomplete is not None:
            return self.incomplete
        rows, weights = self.rows[chosen], self.row_weights[chosen]
        incomplete = IncompleteRows(rows, weights, self.row_sequences[chosen], self._seen)
        if chosen == EVERY:
            self.incomplete = incomplete
        return incomplete

    @property
    def _seen(self) -> NDArray[np.bool_]:
        """True for each column of pairs that was present in some row."""
        summed = float(self.weights.sum()) + self.closed
        seen: NDArray[np.bool_] = np.diagonal(self.together) + summed > ROUNDING * summed
        return seen | np.isfinite(self.rows).any(axis=0)

    def completion(self) -> Gaussian:
        """Return the means and the covariance of greatest likelihood."""
        if self.model is None:
            complete = self._complete()
            if self.n_stored:
                self.model = fitted(
                    complete,
                    self._incomplete(),
                    center=bool(self.center),
                    from_complete=self.replaced > 0.0,
                )
            else:
                total = max(self.total, np.finfo(np.float64).tiny)
                self.model = Gaussian(complete.means, complete.product / total)
        return self.model

    def expected(self, covariance: Float64s) -> "GapMoments":
        """Return sums with the expected products of all rows with gaps, under a covariance.

        The means are those of these rows.
        """
        sums = deepcopy(self)
        sums.expects = True
        if self.n_stored:
            model = Gaussian(self.means, covariance)
            if self.center:
                model = expected_means(model, self._complete(), self._incomplete())
            sums._replace(self.n_stored, model)
        return sums

    def _replace(self, n_rows: int, model: Gaussian | None = None) -> None:
        """Replace the first rows with gaps by their expected products under a model."""
        model = self.completion() if model is None else model
        rows = self._incomplete(slice(n_rows))
        u, extra, _ = rows.completed(model)
        self.model = self.incomplete = None
        w = rows.weights
        present = np.isfinite(self.rows[:n_rows]).astype(np.float64)
        self.together += (w[:, None] * present).T @ present - w.sum()
        self.replaced += float(w.sum())
        for sequence in np.unique(rows.sequences):
            chosen = rows.sequences == sequence
            total = float(w[chosen].sum())
            shift = w[chosen] @ u[chosen] / total if self.center else np.zeros(u.shape[1])
            apart = (u[chosen] - shift) * np.sqrt(w[chosen])[:, None]
            rank_update(self.product, apart)
            self._join(
                int(sequence), total, model.means[sequence] + shift if self.center else shift
            )
        self.product += np.tril(extra)
        if self.lag:
            size = self.n_features
            second = (u.T * w) @ u + extra
            alone = self._alone(model, rows)[1]
            self.end_rows += alone - second[:size, :size] + second[size:, size:]
        self.stored = self.stored[n_rows : self.n_stored]
        self.n_stored -= n_rows
        self._close()

    def _close(self) -> None:
        """Add up the means of sequences that neither further rows nor stored ones continue."""
        if not self.by_sequence:
            return
        last = min([len(self.weights) - 1, *self.row_sequences[:1].tolist()])
        if last <= 1:
            return
        weights, means = self.weights[1:last], self.means[1:last]
        self.closed += float(weights.sum())
        self.closed_mean = self.closed_mean + weights @ means
        if self.lag:
            steps = means[:, self.n_features :] - means[:, : self.n_features]
            self.closed_steps = self.closed_steps + (steps.T * weights) @ steps
        rest = np.r_[0, last : len(self.weights)]
        self.weights, self.means = self.weights[rest], self.means[rest]
        self.stored = self.stored.copy()
        self.stored[:, -1] = np.maximum(self.stored[:, -1] - (last - 1), 0.0)

    def lost_information(self, columns: Float64s) -> Float64s:
        """Return the share of the information along each column that the gaps take.

        With a lag, it is the information about the variance of velocities.
        """
        if not self.n_stored:
            return np.zeros(columns.shape[1])
        along = np.vstack([-columns, columns]) if self.lag else columns
        rows = self._incomplete(slice(None, None, max(self.n_stored // LOST_ROWS, 1)))
        lost = rows.completed(self.completion(), along)[2] / rows.weights.sum()
        share = (self.row_weights.sum() + self.replaced) / self.total
        return np.asarray(lost * share)

    # ---- results ---------------------------------------------------------------------------

    @property
    def weight(self) -> Float64s:
        """The weight of the rows in which each pair of columns is present."""
        present = np.isfinite(self.rows).astype(np.float64)
        weight = (self.row_weights[:, None] * present).T @ present
        return np.asarray(weight + self.together + float(self.weights.sum()) + self.closed)

    @property
    def seen(self) -> NDArray[np.bool_]:
        """True for each column that was present in some row."""
        seen = self._seen
        return seen[: self.n_features] | seen[-self.n_features :]

    def check_gaps(self, names: Sequence[object] | None, lag: int) -> None:
        """Raise if two columns are never present together; ``names`` are those of the columns."""
        if not self.has_gaps:
            return
        weight, size, seen = self.weight, self.n_features, self.seen
        names = np.flatnonzero(seen).tolist() if names is None else list(np.array(names)[seen])
        replaced = (np.diagonal(self.together) + self.replaced)[-size:][seen]
        late = np.flatnonzero(replaced <= ROUNDING * self.replaced)
        if self.replaced and len(late) and not self.expects:
            raise ValueError(
                f"Column {names[late[0]]!r} has values only after the covariance of many rows with "
                "gaps was fixed. Pass rows with values of it first, or leave it out."
            )
        inside = np.ix_(seen, seen)
        check_together(weight[-size:, -size:][inside], names)
        if self.lag:
            check_together(weight[:size, size:][inside], names, lag)

    @property
    def mean(self) -> Float64s:
        """The mean of each column, 0 for columns never seen."""
        if not self.center:
            return np.zeros(self.n_features)
        model = self.completion()
        weights = self.weights + self._incomplete().totals(len(self.weights))
        total = max(self.total, np.finfo(np.float64).tiny)
        mean = (weights @ model.means + self.closed_mean) / total
        size, share = self.n_features, self.earlier_share
        return np.asarray(share * mean[:size] + (1.0 - share) * mean[-size:])

    def _alone(self, model: Gaussian, rows: IncompleteRows) -> tuple[Float64s, Float64s]:
        """Return the differences of sums and of products of the earlier and the later rows.

        Each row is completed from its own values, about the middle of both means. A row therefore
        gives the same as the earlier and as the later row of a pair, and cancels.
        """
        size = self.n_features
        C = model.covariance
        middle = Gaussian(
            (model.means[:, :size] + model.means[:, size:]) / 2.0,
            (C[:size, :size] + C[size:, size:]) / 2.0,
        )
        values = np.where(rows.present, rows.rows, np.nan)
        weights = np.r_[rows.weights, -rows.weights]
        sequences = np.r_[rows.sequences, rows.sequences]
        both_rows = np.vstack([values[:, :size], values[:, size:]])
        single = IncompleteRows(both_rows, weights, sequences, np.ones(size, bool))
        u, extra, _ = single.completed(middle)
        weighted = weights[:, None] * u
        n, sums = len(rows.weights), np.zeros((len(model.means), size))
        np.add.at(sums, rows.sequences, weighted[:n] + weighted[n:])
        return sums, weighted.T @ u + extra

    def covariances(self, lag: int) -> LaggedCovariances:
        """Return the covariances and means of rows and of the rows ``lag`` later."""
        return self._tied()[0]

    def _tied(self) -> tuple[LaggedCovariances, Float64s]:
        """Return the covariances of pairs, and the square of the steps between their means.

        Most rows are the earlier row of one pair and the later row of another. Their covariances
        differ by the first and the last rows of the sequences only. The likelihood of pairs does
        not know this: the gaps would add an error to the difference.
        """
        model, size = self.completion(), self.n_features
        C = model.covariance
        c00, c11, c01 = C[:size, :size], C[size:, size:], C[:size, size:]
        complete, rows = self._complete(), self._incomplete()
        middle = (model.means[:, :size] + model.means[:, size:]) / 2.0
        sums, alone = self._alone(model, rows)
        sums_of_pairs, second = complete.about(np.hstack([middle, middle]))
        total = max(self.total, np.finfo(np.float64).tiny)
        ends = (second[:size, :size] - second[size:, size:] + alone + self.end_rows) / total
        sums += sums_of_pairs[:, :size] - sums_of_pairs[:, size:]
        weights = self.weights + rows.totals(len(self.weights))
        # Earlier less later means of each sequence, about no mean without center.
        steps = sums / np.where(weights > 0.0, weights, 1.0)[:, None] * bool(self.center)
        squares = ((steps.T * weights) @ steps + self.closed_steps) / total
        step = weights @ steps
        if self.closed:
            step = step + self.closed_mean[:size] - self.closed_mean[size:]
        mean = weights @ middle + (self.closed_mean[:size] + self.closed_mean[size:]) / 2.0
        mean, step = mean / total, step / total
        average = (c00 + c11) / 2.0
        c00, c11 = average + ends / 2.0, average - ends / 2.0
        means = mean + step / 2.0, mean - step / 2.0
        return LaggedCovariances(c00, c11, c01 - c00, *means, self.lag, float(total)), squares

    def operator(self, terms: Terms, held_out: Parts = NOTHING) -> MatrixOperator:
        """Return A and B."""
        if self.lag:
            cov, between = self._tied()
            share = self.earlier_share
            A = share * cov.c00 + (1.0 - share) * cov.c11 + share * (1.0 - share) * between
            B = cov.c00 + cov.c11 - cov.c01 - cov.c01.T + between
        else:
            A = self.completion().covariance.copy()
            B = np.zeros_like(A)
        # Columns never seen come last in any order.
        unseen = np.flatnonzero(~self.seen)
        B[unseen, unseen] = np.abs(B).sum(axis=0).max(initial=0.0) or 1.0
        return MatrixOperator(A, B, floor=rounding_of_mean(self.mean))


def gapped(rows: Float64s) -> Indices:
    """Return the indices of the rows with NaN.

    >>> gapped(np.array([[1.0, 2.0], [np.nan, 1.0]])).tolist()
    [1]
    """
    # The sum of a row with NaN is NaN, which is cheaper to test than each value.
    return np.flatnonzero(np.isnan(rows @ np.ones(rows.shape[1])))
