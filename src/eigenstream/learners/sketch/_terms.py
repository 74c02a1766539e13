"""The signed terms of one block, as quadratic forms of its rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

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

    @property
    def weight(self) -> float:
        """The weight of the rewarded terms."""
        return float(self.weights.sum())

    @property
    def past_weight(self) -> float:
        """The weight of the penalised terms."""
        return float(self.past_weights.sum()) if self.penalty else 0.0

    @property
    def step_weight(self) -> float:
        """How much the square of (mean of the block - mean before it) counts in A [CHAN]."""
        return self.seen * self.weight / (self.seen + self.weight)

    def mean(self, C: Float64s) -> Float64s:
        """Return the mean of the terms' rows."""
        return np.asarray(self.weights @ C[self.now] / self.weight)

    def rewarded(self, C: Float64s) -> Float64s:
        """Return A; coordinates count from the mean before the block."""
        rows = C[self.now]
        if not self.center:
            rows = rows * np.sqrt(self.weights)[:, None]
            return np.asarray(rows.T @ rows)
        mean = self.mean(C)
        out = np.empty((len(rows) + 1, C.shape[1]))
        np.subtract(rows, mean, out=out[:-1])
        out[:-1] *= np.sqrt(self.weights)[:, None]
        np.multiply(mean, np.sqrt(self.step_weight), out=out[-1])
        return np.asarray(out.T @ out)

    def penalised(self, C: Float64s) -> Float64s:
        """Return B."""
        moved = C[self.now] - C[self.past]
        moved *= np.sqrt(self.past_weights)[:, None]
        return np.asarray(moved.T @ moved)

    def signed(self, C: Float64s) -> Float64s:
        """Return H C, where reward A - penalty B = R^T H R for the block's rows R."""
        out, rows = np.zeros_like(C), C[self.now]
        if self.center:
            kept = self.seen / (self.seen + self.weight)
            here = rows - self.mean(C) * (1.0 - kept)
            here *= (self.reward * self.weights)[:, None]
        else:
            here = rows * (self.reward * self.weights)[:, None]
        if self.penalty:
            moved = rows - C[self.past]
            moved *= (self.penalty * self.past_weights)[:, None]
            here -= moved
            out[self.past] += moved
        out[self.now] += here
        return out

    def traces(self, gram: Float64s) -> tuple[float, float, float]:
        """Return the traces of A about the block's own mean, of the step's share in A, and of B."""
        size = gram.diagonal()
        within, step = float(self.weights @ size[self.now]), 0.0
        if self.center:
            towards = self.weights @ gram[self.now][:, self.now] @ self.weights / self.weight
            within, step = within - float(towards), float(towards) * self.step_weight / self.weight
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
        forward = np.eye(m)
        forward[self.now, self.past] = -1.0
        return np.asarray(lapack.dtrtrs(forward, C, lower=1, unitdiag=1)[0])
