"""The signed terms of one block, as quadratic forms of its rows."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenstream._linalg import Float64s


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
        return np.asarray(self.weights @ C[self.now] / self.weight)

    def rewarded(self, C: Float64s) -> Float64s:
        """Return A; coordinates count from the mean before the block."""
        rows, roots, factor = _weighted(C[self.now], self.weights)
        if self.center:
            # A is sum w (x - m)(x - m)^T + kept weight m m^T, m the mean of the block [CHAN]. With
            # c in place of one m the first sum is larger by weight (m - c)(m - c)^T: that does it.
            away = (self.mean(C) * (1.0 - np.sqrt(self.kept))).astype(C.dtype, copy=False)
            rows = rows - (away if roots is None else roots * away)
        return np.asarray(rows.T @ rows, np.float64) * factor

    def penalised(self, C: Float64s) -> Float64s:
        """Return B."""
        moved, _, factor = _weighted(C[self.now] - C[self.past], self.past_weights)
        return np.asarray(moved.T @ moved, np.float64) * factor

    def signed(self, C: Any) -> Any:
        """Return H C, where reward A - penalty B = R^T H R for the block's rows R."""
        dtype, rows, out = C.dtype, C[self.now], np.zeros_like(C)
        gains, losses = (w.astype(dtype) for w in self._factors)
        if self.penalty:
            out[self.now] = (gains - losses) * rows
            if len(losses) == 1 and isinstance(self.now, slice):
                lost = losses * C
                before, after = lost[self.past], lost[self.now]
            else:
                before, after = losses * C[self.past], losses * rows
            out[self.now] += before
            out[self.past] += after
            out[self.past] -= before
        else:
            out[self.now] = gains * rows
        if self.center:
            weights = self.weights.astype(dtype)
            out[self.now] -= gains * (weights @ rows * dtype.type((1 - self.kept) / self.weight))
        return out

    @cached_property
    def _factors(self) -> tuple[Float64s, Float64s]:
        """What rewards and penalties are weighed with: a column, of one number if all are alike."""
        each = self.reward * self.weights[:, None], self.penalty * self.past_weights[:, None]
        gains, losses = (w[:1] if len(w) and w.min() == w.max() else w for w in each)
        return gains, losses

    def traces(self, gram: Float64s) -> tuple[float, float, float]:
        """Return the traces of A about the block's own mean, of the step's share in A, and of B."""
        size = gram.diagonal()
        within, step = float(self.weights @ size[self.now]), 0.0
        if self.center:
            most = float(self.weights.max())  # of any size, which single precision does not hold
            each = (self.weights / most).astype(gram.dtype, copy=False)
            towards = float(each @ gram[self.now][:, self.now] @ each) * most * (most / self.weight)
            within, step = max(within - towards, 0.0), towards * self.kept
        if not self.penalty:
            return within, step, 0.0
        across = gram[self.now][:, self.past].diagonal()
        moved = size[self.now] + size[self.past] - 2.0 * across
        return within, step, float(self.past_weights @ np.maximum(moved, 0.0))

    def differences(self, C: Float64s) -> Float64s:
        """Return C with each term's row less its past, the other rows as they are."""
        if not self.penalty:
            return C
        out = C.copy()
        out[self.now] -= C[self.past]
        return out

    def transposed_differences(self, C: Float64s) -> Float64s:
        """Return L^T C, where ``differences`` returns L C."""
        if not self.penalty:
            return C
        out = C.copy()
        out[self.past] -= C[self.now]
        return out

    def sums(self, C: Float64s) -> Float64s:
        """Return what ``differences`` turns into C."""
        if not self.penalty:
            return C
        m, k = C.shape
        if isinstance(self.past, slice):  # runs of a fixed step: add along each
            lag = self.now.start
            steps = -(-m // lag)
            out = np.zeros((steps * lag, k))
            out[:m] = C
            return np.cumsum(out.reshape(steps, lag, k), axis=0).reshape(steps * lag, k)[:m]
        out, before = C.copy(), np.full(m, -1)
        before[self.now] = self.past
        while True:  # each holds the sum back to the row before its own: twice as far every time
            later = np.flatnonzero(before >= 0)
            if not len(later):
                return out
            out[later] += out[before[later]]
            before[later] = before[before[later]]


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
