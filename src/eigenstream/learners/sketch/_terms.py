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
        rows, factor = _weighted(C[self.now], self.weights)
        if self.center:
            # A is sum w (x - m)(x - m)^T + kept weight m m^T, m the mean of the block [CHAN]. With
            # c in place of one m the first sum is larger by weight (m - c)(m - c)^T: that does it.
            away = self.mean(C) * (1.0 - np.sqrt(self.kept))
            if factor is None:
                rows -= np.multiply.outer(np.sqrt(self.weights), away)
            else:
                rows = rows - away
        return np.asarray(rows.T @ rows) * (1.0 if factor is None else factor)

    def penalised(self, C: Float64s) -> Float64s:
        """Return B."""
        moved, factor = _weighted(C[self.now] - C[self.past], self.past_weights)
        return np.asarray(moved.T @ moved) * (1.0 if factor is None else factor)

    def signed(self, C: Any) -> Any:
        """Return H C, where reward A - penalty B = R^T H R for the block's rows R."""
        rows, gains = C[self.now], (self.reward * self.weights).astype(C.dtype)
        if self.penalty:
            losses = (self.penalty * self.past_weights).astype(C.dtype)
            own = np.zeros(len(C), C.dtype)
            own[self.now] = gains - losses
            own[self.past] -= losses
            out = C * own[:, None]
            out[self.now] += losses[:, None] * C[self.past]
            out[self.past] += losses[:, None] * rows
        else:
            out = np.zeros_like(C)
            out[self.now] = gains[:, None] * rows
        if self.center:
            share = (1.0 - self.kept) / (self.reward * self.weight)
            out[self.now] -= np.multiply.outer(gains, gains @ rows * C.dtype.type(share))
        return out

    def traces(self, gram: Float64s) -> tuple[float, float, float]:
        """Return the traces of A about the block's own mean, of the step's share in A, and of B."""
        size = gram.diagonal()
        within, step = float(self.weights @ size[self.now]), 0.0
        if self.center:
            towards = self.weights @ gram[self.now][:, self.now] @ self.weights / self.weight
            within, step = within - float(towards), float(towards) * self.kept
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


def _weighted(rows: Any, weights: Float64s) -> tuple[Any, float | None]:
    """Return rows times the roots of their weights, or as they are with the one weight of all."""
    if len(weights) and weights.min() == weights.max():
        return rows, float(weights[0])
    return rows * np.sqrt(weights)[:, None], None
