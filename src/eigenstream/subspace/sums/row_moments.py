"""Exact sums of rows in time that subtract means themselves: of sequences, or with a direction."""

from copy import copy
from itertools import chain
from typing import Self

import numpy as np

from eigenstream.core.checks import is_sparse
from eigenstream.core.linalg import Float64s, mirrored, rank_update, rounding_of_mean
from eigenstream.core.storable import storable
from eigenstream.core.types import Matrix
from eigenstream.subspace.sums.block import Block, Edges, End, SequenceMeans, mean_of
from eigenstream.subspace.sums.operators import MatrixOperator
from eigenstream.subspace.sums.propagator import LaggedCovariances
from eigenstream.subspace.sums.terms import NOTHING, VARIANCE, VELOCITY, Parts, Sums, Terms

#: Rows and their steps to the rows ``lag`` later, side by side.
PAIR = "pair"


@storable(center="any", product="f8 w w", means="SequenceMeans")
class CentredSums:
    """Sums of rows about one mean, about the mean of each sequence, or about zero.

    They merge in order. ``center`` is True, "sequences" or False.
    """

    def __init__(self, width: int, center: bool | str = True) -> None:
        self.center = center
        #: The lower triangle of the product about the means.
        self.product: Float64s = np.zeros((width, width), order="F")
        self.means = SequenceMeans(width)

    def add(self, rows: Matrix, weights: Float64s | None = None) -> None:
        """Add rows to the last sequence."""
        if weights is not None and not (weights > 0.0).all():
            rows, weights = rows[weights > 0.0], weights[weights > 0.0]
        if len(rows) == 0:
            return
        mean = mean_of(rows, weights) if self.center else np.zeros(rows.shape[1])
        centred = np.subtract(rows, mean, dtype=np.float64)
        if weights is not None:
            centred *= np.sqrt(weights)[:, None]
        rank_update(self.product, centred)
        weight = float(len(rows) if weights is None else weights.sum())
        self._add_step(mean, weight)
        self.means.add(np.append(weight, weight * mean))

    def _add_step(self, mean: Float64s, weight: float) -> None:
        """Add the term of the step from the mean of the last sequence to that of more rows."""
        before = float(self.means.last[0])
        if self.center and before:
            step = mean - self.means.last[1:] / before
            rank_update(self.product, step[None], before * weight / (before + weight))

    def begin_sequence(self) -> None:
        """Begin a sequence."""
        if self.center == "sequences":
            self.means.begin()

    def copied(self) -> "CentredSums":
        """Return a copy, which may change without changing these sums."""
        copied = copy(self)
        copied.product, copied.means = self.product.copy(order="F"), copy(self.means)
        return copied

    def merge(self, later: "CentredSums") -> None:
        """Add the sums of later rows, whose first sequence continues the last one."""
        self.product += later.product
        first = later.means.open()[0]
        if first[0]:
            self._add_step(first[1:] / first[0], float(first[0]))
        self.means.merge(later.means)

    def forget(self, share: float) -> None:
        """Multiply all weights by a share."""
        self.product *= share
        self.means.forget(share)

    @property
    def weight(self) -> float:
        """The weight of all rows."""
        return self.means.closed().weight

    @property
    def mean(self) -> Float64s:
        """The mean of the rows, or zeros without ``center``."""
        return self.means.closed().mean

    def covariance(self) -> Float64s:
        """Return the covariance about the means."""
        return mirrored(self.product) / (self.weight or 1.0)


@storable(n_features="int=W", parts="dict[CentredSums]", by_sequence="bool")
class RowMoments(Sums):
    """Sums of complete rows and of their velocities about the mean of each sequence."""

    sparse, has_mean = False, True
    #: The part that all sums of the class have.
    rows_part = VARIANCE

    def __init__(self, n_features: int, center: bool | str, *, lag: int = 0) -> None:
        self.n_features, self.by_sequence = n_features, center == "sequences"
        self.parts = {VARIANCE: CentredSums(n_features, center)}
        if lag:
            self.parts[VELOCITY] = CentredSums(n_features, False)

    def _loaded(self) -> None:
        if self.rows_part not in self.parts:
            raise ValueError(f"the sums have no part {self.rows_part!r}.")

    @property
    def _first(self) -> CentredSums:
        return next(iter(self.parts.values()))

    def add(self, block: Block, terms: Terms) -> None:
        """Add the terms of a block of one sequence."""
        for sums in self.parts.values() if block.begins else ():
            sums.begin_sequence()
        for edges in chain.from_iterable(block.parts.values()):
            self._add(block, edges)

    def _add(self, block: Block, edges: Edges) -> None:
        rows = _dense_rows(block, edges.now)
        if edges.part == VELOCITY:
            rows = _differences(rows, _dense_rows(block, edges.past))
        self.parts[str(edges.part)].add(rows, edges.weights)

    def copied(self) -> Self:
        """Return a copy, which may change without changing these sums."""
        copied = copy(self)
        copied.parts = {part: sums.copied() for part, sums in self.parts.items()}
        return copied

    def merge(self, later: "RowMoments") -> None:
        """Add the sums of later rows."""
        for part, sums in self.parts.items():
            sums.merge(later.parts[part])

    def forget(self, share: float) -> None:
        """Multiply all sums by a share."""
        for sums in self.parts.values():
            sums.forget(share)

    # ---- results ---------------------------------------------------------------------------

    @property
    def mean(self) -> Float64s:
        """The mean of each column."""
        return self._first.mean[: self.n_features]

    def operator(self, terms: Terms, held_out: Parts = NOTHING) -> MatrixOperator:
        """Return A and B."""
        A = self.parts[VARIANCE].covariance()
        B = self.parts[VELOCITY].covariance() if VELOCITY in self.parts else np.zeros_like(A)
        return MatrixOperator(A, B, floor=rounding_of_mean(self.mean))


@storable()
class PairMoments(RowMoments):
    """Sums of rows and of their steps to the rows ``lag`` later, ``[past, now - past]``.

    They keep the direction of time.
    """

    rows_part = PAIR

    def __init__(self, n_features: int, center: bool | str) -> None:
        self.n_features, self.by_sequence = n_features, center == "sequences"
        self.parts = {PAIR: CentredSums(2 * n_features, center)}

    def _add(self, block: Block, edges: Edges) -> None:
        if edges.part != VELOCITY:
            return
        now, past = (_dense_rows(block, end) for end in (edges.now, edges.past))
        rows = np.hstack([past, _differences(now, past)], dtype=np.float64)
        self.parts[PAIR].add(rows, edges.weights)

    def covariances(self, lag: int) -> LaggedCovariances:
        """Return the covariances and means of earlier and later rows."""
        sums, size = self._first, self.n_features
        covariance, mean = sums.covariance(), sums.mean
        c00, step = covariance[:size, :size], covariance[:size, size:]
        c11 = c00 + step + step.T + covariance[size:, size:]
        means = mean[:size], mean[:size] + mean[size:]
        return LaggedCovariances(c00, c11, step, *means, lag, sums.weight)

    def take_covariances(self, cov: LaggedCovariances) -> None:
        """Set the sums to those with these covariances."""
        sums = self.parts[PAIR]
        steps = cov.c00 + cov.c11 - cov.c01 - cov.c01.T
        covariance = np.block([[cov.c00, cov.step], [cov.step.T, steps]])
        sums.product = np.asfortranarray(np.tril(cov.weight * covariance))
        sums.means.add(cov.weight * np.r_[1.0, cov.mean0, cov.mean1 - cov.mean0])

    def operator(self, terms: Terms, held_out: Parts = NOTHING) -> MatrixOperator:
        """Return C00 and the second moment of the steps."""
        cov = self.covariances(1)
        steps = cov.c00 + cov.c11 - cov.c01 - cov.c01.T
        return MatrixOperator(cov.c00, steps, floor=rounding_of_mean(self.mean))


def _dense_rows(block: Block, end: End) -> Matrix:
    """Return the rows at one end of some terms as a dense matrix."""
    rows = block.rows(end)
    return rows.toarray() if is_sparse(rows) else rows


def _differences(now: Matrix, past: Matrix) -> Matrix:
    """Return differences of rows in float64."""
    return np.subtract(now, past, dtype=np.float64)
