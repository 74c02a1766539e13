"""The signed terms of one block, as quadratic forms of its rows."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream.kernels.sketch import inner_of_terms, signed_sum, squares_of_terms


@dataclass(frozen=True)
class SketchTerms:
    """A row each, the row before it in time, and their weights.

    Given coordinates C of the block's rows (one row of C for each), A is the sum of the rewarded
    terms w (x - mean)(x - mean)^T, about the mean of all rows so far, and B that of the penalised
    ones, w' v v^T with v = x - past; in the coordinates' basis.

    ``now`` and ``past`` are the terms' places among the rows: slices where the terms lie side by
    side. ``seen`` is the weight of all rows before the block.
    """

    now: Any
    past: Any
    weights: Float64s
    past_weights: Float64s
    reward: float
    penalty: float
    center: bool
    seen: float
    _factors: dict[Any, tuple[Any, ...]] = field(default_factory=dict)

    @cached_property
    def weight(self) -> float:
        """The weight of the rewarded terms."""
        return float(self.weights.sum())

    @cached_property
    def past_weight(self) -> float:
        """The weight of the penalised terms."""
        return float(self.past_weights.sum()) if self.penalty else 0.0

    @property
    def kept(self) -> float:
        """The share that the rows before the block have in the mean of all."""
        return self.seen / (self.seen + self.weight)

    def mean(self, C: Float64s) -> Float64s:
        """Return the mean of the terms' rows."""
        each = (self.weights / self.unit).astype(C.dtype, copy=False)
        return np.asarray(each @ C[self.now] * C.dtype.type(self.unit / self.weight))

    def rewarded(self, C: Float64s) -> tuple[Any, float]:
        """Return A but for a factor, in the precision of C, and the factor, which has any size."""
        rows, factor = self.rewarded_rows(C)
        return rows.T @ rows, factor

    def penalised(self, C: Float64s) -> tuple[Any, float]:
        """Return B likewise."""
        moved, factor = self.penalised_rows(C)
        return moved.T @ moved, factor

    def rewarded_rows(self, C: Float64s) -> tuple[Any, float]:
        """Return rows whose inner products by column are A, but for a factor, and the factor.

        Coordinates count from the mean before the block.
        """
        rows, roots, factor = _weighted(C[self.now], self.weights)
        if self.center:
            # A is sum w (x - m)(x - m)^T + kept weight m m^T, m the mean of the block [CHAN]. With
            # c in place of one m the first sum is larger by weight (m - c)(m - c)^T: that does it.
            away = self.mean(C) * C.dtype.type(1.0 - np.sqrt(self.kept))
            rows = rows - (away if roots is None else roots * away)
        return rows, factor

    def penalised_rows(self, C: Float64s) -> tuple[Any, float]:
        """Return those of B likewise."""
        moved, _, factor = _weighted(C[self.now] - C[self.past], self.past_weights)
        return moved, factor

    @cached_property
    def unit(self) -> float:
        """The largest weight: what ``signed`` is counted in, of any size."""
        return float(self.weights.max(initial=0.0)) or 1.0

    def factors(self, dtype: Any) -> tuple[Any, ...]:
        """Return what ``signed_sum`` takes beside columns of such a precision."""
        if dtype in self._factors:
            return self._factors[dtype]
        gains, losses, share = self.reward / self.unit * self.weights, np.empty(0), 0.0
        if self.penalty:
            losses = self.penalty / self.unit * self.past_weights
        if self.center:
            share = (1.0 - self.kept) / (self.reward * (self.weight / self.unit))
        found = gains.astype(dtype), losses.astype(dtype), dtype.type(share)
        return self._factors.setdefault(dtype, (*self._places, *found))

    @cached_property
    def _places(self) -> tuple[Any, Any]:
        """The places of the terms, and of those pasts that are penalised, one by one."""
        past = self.past if self.penalty else slice(0, 0)
        return _counted(self.now), _counted(past)

    def signed(self, C: Any) -> Any:
        """Return H C / ``unit``, where reward A - penalty B = R^T H R for the block's rows R."""
        return signed_sum(np.ascontiguousarray(C), *self.factors(C.dtype))

    def squares(self, gram: Any) -> tuple[float, float]:
        """Return the sum of the rewarded w |x|^2 and the trace of B, given rows' inner products.

        Of these, the lower triangle is enough.
        """
        found: tuple[float, float] = squares_of_terms(
            gram, *self._places, self.weights, self.past_weights
        )
        return found

    def about(self, whole: float, middle: Float64s) -> tuple[float, float]:
        """Return the traces of A about the block's own mean, and of the step's share in A.

        Given the sum of w |x|^2, and the mean of the terms' rows.
        """
        if not self.center:
            return whole, 0.0
        towards = float(middle @ middle) * self.weight
        return max(whole - towards, 0.0), towards * self.kept

    def inner(self, gram: Any) -> Float64s:
        """Return the inner products of the velocities, or of the rows where nothing is penalised.

        Given those of all the block's rows.
        """
        return np.asarray(inner_of_terms(gram, *self._places))


def _counted(places: Any) -> Any:
    return np.arange(places.start, places.stop) if isinstance(places, slice) else places


def _weighted(rows: Any, weights: Float64s) -> tuple[Any, Any, float]:
    """Return rows times the roots of their weights, the roots (a column), and a common factor.

    No roots where all weights are alike. They are at most 1: weights may have any size that double
    precision has, whatever the rows' is.
    """
    most = float(weights.max(initial=0.0))
    if not len(weights) or weights.min() == most:
        return rows, None, most
    roots = np.sqrt(weights / most)[:, None].astype(rows.dtype, copy=False)
    return rows * roots, roots, most
