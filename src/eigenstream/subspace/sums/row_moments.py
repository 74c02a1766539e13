"""Exact sums of rows in time that subtract means themselves: of sequences, or with a direction."""

from copy import copy
from typing import Self

import numpy as np

from eigenstream.core.checks import is_sparse
from eigenstream.core.linalg import Float64s, rounding_of_mean
from eigenstream.core.storable import storable
from eigenstream.core.types import Matrix
from eigenstream.subspace.sums.anchored_sums import AnchoredSums
from eigenstream.subspace.sums.base import Sums
from eigenstream.subspace.sums.block import Block, Edges, End
from eigenstream.subspace.sums.operators import MatrixOperator
from eigenstream.subspace.sums.propagator import LaggedCovariances
from eigenstream.subspace.sums.terms import NOTHING, VARIANCE, VELOCITY, Parts, Terms

#: Rows and their steps to the rows ``lag`` later, side by side.
PAIR = "pair"


@storable(n_features="int=W", gaps="bool?", parts="dict[AnchoredSums]", by_sequence="bool")
class RowMoments(Sums):
    """Sums of complete rows and of their velocities about the mean of each sequence."""

    sparse, has_mean = False, True

    def __init__(self, n_features: int, center: bool | str, *, lag: int = 0) -> None:
        self.n_features, self.by_sequence = n_features, center == "sequences"
        self.parts = {VARIANCE: AnchoredSums(n_features, center)}
        if lag:
            self.parts[VELOCITY] = AnchoredSums(n_features, False)

    def _loaded(self) -> None:
        if self.__dict__.pop("gaps", False):
            raise ValueError(
                "The model was saved by a version that learned rows with gaps from pairs of "
                "columns. Fit it again."
            )

    @property
    def _first(self) -> AnchoredSums:
        return next(iter(self.parts.values()))

    def add(self, block: Block, terms: Terms) -> None:
        """Add the terms of a block of one sequence."""
        for sums in self.parts.values() if block.begins else ():
            sums.new_run()
        for edges in block.edges:
            self._add(block, edges)

    def _add(self, block: Block, edges: Edges) -> None:
        rows = _dense_rows(block, edges.now)
        if edges.part == VELOCITY:
            rows = _differences(rows, _dense_rows(block, edges.past))
        self.parts[str(edges.part)].add(rows, edges.weights, gaps=False)

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
        first = self._first
        return first.mean[: self.n_features] if first.center else np.zeros(self.n_features)

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

    def __init__(self, n_features: int, center: bool | str) -> None:
        self.n_features, self.by_sequence = n_features, center == "sequences"
        self.parts = {PAIR: AnchoredSums(2 * n_features, center)}

    def _add(self, block: Block, edges: Edges) -> None:
        if edges.part != VELOCITY:
            return
        now, past = (_dense_rows(block, end) for end in (edges.now, edges.past))
        rows = np.hstack([past, _differences(now, past)], dtype=np.float64)
        self.parts[PAIR].add(rows, edges.weights, gaps=False)

    def covariances(self, lag: int) -> LaggedCovariances:
        """Return the covariances and means of earlier and later rows."""
        sums, size = self._first, self.n_features
        covariance, weight = sums.covariance(), float(sums.weight[0, 0])
        mean = sums.mean if sums.center else np.zeros(2 * size)
        c00, step, last = (
            covariance[:size, :size],
            covariance[:size, size:],
            covariance[size:, size:],
        )
        means = mean[:size], mean[:size] + mean[size:]
        return LaggedCovariances(c00, c00 + step + step.T + last, step, *means, lag, weight)

    def take_covariances(self, cov: LaggedCovariances) -> None:
        """Set the sums to those with these covariances."""
        sums = self.parts[PAIR]
        steps = cov.c00 + cov.c11 - cov.c01 - cov.c01.T
        covariance = np.block([[cov.c00, cov.step], [cov.step.T, steps]])
        sums.product = np.asfortranarray(np.tril(cov.weight * covariance))
        mean = np.r_[cov.mean0, cov.mean1 - cov.mean0]
        sums.last.fix_anchor(mean)
        sums.last.add(np.zeros((len(mean), 1)), np.full((1, 1), cov.weight))

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
