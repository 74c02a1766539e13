"""Second moments of weighted rows: one triangle, float64, shift-safe, mergeable."""

from copy import deepcopy
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eigenstream._checks import is_sparse
from eigenstream._linalg import Float64s, Floats, mirrored, rank_update, weighted_sum
from eigenstream._state import State

#: Values in one dense block (about 8 MB of float64): large enough for BLAS to run at full speed and
#: small enough that the block's copy, centred or scaled, stays in cache.
BLOCK_VALUES = 1 << 20

#: The error that float32 products leave in a scatter, relative to its largest eigenvalue: blocks
#: are shifted and short, so it is a few units of float32's last place (law 5 allows 1e-5).
FLOAT32_ROUNDING = 1e-6

#: Sparse rows are shifted, which makes them dense, where taking the mean off their squares would
#: leave a smaller share. Such a column has hardly a zero: E[x]^2 is at most E[x^2] times the share
#: of its values that are not zero.
CANCELS = 16.0

#: Fewer rows than this wait until there are enough of them for one BLAS call.
PENDING_ROWS = 64

Weights = NDArray[np.float64]


def block_rows(n_features: int) -> int:
    """Return how many rows make one block."""
    return int(np.clip(BLOCK_VALUES // max(n_features, 1), 256, 8192))


def floating(rows: Any) -> Any:
    """Return rows as float32 or float64: as they are, or converted to float64."""
    if rows.dtype == np.float32 or rows.dtype == np.float64:
        return rows
    return rows.astype(np.float64)


class SecondMoment:
    """The weighted sum of ``(x - c)(x - c)^T`` over rows, about their mean or about zero.

    Centred sums are kept about the mean of the rows seen so far and merged by the pairwise update
    of [CHAN]; the raw sums that cancel when the mean is large are never formed.
    """

    def __init__(self, n_features: int, *, center: bool) -> None:
        self.n_features = n_features
        self.center = center
        self.count = 0
        self.weight = 0.0
        #: The relative error of the products beyond that of float64: eigenvalues below are noise.
        self.rounding = 0.0
        self._mean = np.zeros(n_features)
        self._pending: list[tuple[Floats, Weights | None]] = []

    @cached_property
    def _total(self) -> Float64s:
        # Not before there are rows: what learns without scatters asks an empty one what it is of.
        return np.zeros((self.n_features, self.n_features), order="F")

    def add(self, rows: Any, weights: Weights | None = None) -> None:
        """Add rows, dense (float32 or float64) or sparse, each with a weight if given."""
        if rows.shape[0] == 0:
            return
        if is_sparse(rows):
            self._add_sparse(rows, weights)
            return
        if rows.shape[0] + sum(len(kept) for kept, _ in self._pending) < PENDING_ROWS:
            # Copied: the caller may use the memory of the rows again.
            self._pending.append((rows.copy(), None if weights is None else weights.copy()))
            return
        self._flush()
        self._add_dense(rows, weights)

    def use_up(self, block: Floats, weights: Weights | None = None) -> None:
        """Add a dense block of many float64 rows, whose memory is lost."""
        self._flush()
        self._add_block(block, weights, block)

    def merge(self, other: "SecondMoment") -> None:
        """Add the rows that another moment has seen."""
        self._flush()
        settled = other.settled()
        self.absorb(settled.count, settled.weight, settled._mean, settled._total)
        self.rounding = max(self.rounding, settled.rounding)

    def add_total(self, count: int, weight: float, mean: Float64s, total: Float64s) -> None:
        """Add rows whose own weighted sum of outer products (its lower triangle) is known."""
        self.absorb(count, weight, mean, total)

    def total(self) -> Float64s:
        """Return the lower triangle of the weighted sum of outer products (not a copy)."""
        return self.settled()._total

    def settled(self) -> "SecondMoment":
        """Return a moment with no rows waiting: itself, or a copy. Never changes this one."""
        if not self._pending:
            return self
        copy = deepcopy(self)
        copy._flush()
        return copy

    def mean(self) -> Float64s:
        """Return the weighted mean of the rows (zeros when there are none)."""
        return self.settled()._mean.copy()

    def matrix(self) -> Float64s:
        """Return the weighted average of the outer products (zeros when there are no rows)."""
        moment = self.settled()
        full = mirrored(moment._total)
        if moment.weight > 0:
            full /= moment.weight
        return full

    def trace(self) -> float:
        """Return the trace of ``matrix()`` without forming it."""
        moment = self.settled()
        return float(np.trace(moment._total)) / moment.weight if moment.weight > 0 else 0.0

    def totals(self) -> tuple[int, float]:
        """Return the number of rows with a positive weight, and the sum of the weights."""
        moment = self.settled()
        return moment.count, moment.weight

    def copy(self) -> Self:
        """Return an independent copy."""
        return deepcopy(self)

    def state(self) -> State:
        """Return all that has been learned; rows that wait keep waiting."""
        state = {
            "center": self.center,
            "count": self.count,
            "weight": self.weight,
            "rounding": self.rounding,
            "mean": self._mean.copy(),
            "total": self._total.copy(order="F"),
            "pending": len(self._pending),
        }
        for k, (rows, weights) in enumerate(self._pending):
            state[f"pending_rows_{k}"] = rows.copy()
            if weights is not None:
                state[f"pending_weights_{k}"] = weights.copy()
        return state

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a moment that goes on from a ``state``, to the last bit."""
        mean = np.array(state["mean"], np.float64)
        moment = cls(len(mean), center=bool(state["center"]))
        moment.count, moment.weight = int(state["count"]), float(state["weight"])
        moment.rounding = float(state["rounding"])
        moment._mean = mean
        moment._total = np.array(state["total"], np.float64, order="F")
        for k in range(int(state["pending"])):
            weights = state.get(f"pending_weights_{k}")
            kept = None if weights is None else np.array(weights, np.float64)
            moment._pending.append((np.array(state[f"pending_rows_{k}"]), kept))
        return moment

    def _flush(self) -> None:
        if not self._pending:
            return
        rows = np.concatenate([kept for kept, _ in self._pending])
        weights = None
        if any(w is not None for _, w in self._pending):
            weights = np.concatenate(
                [np.ones(len(kept)) if w is None else w for kept, w in self._pending]
            )
        self._pending = []
        self._add_dense(rows, weights)

    def _add_dense(self, rows: Floats, weights: Weights | None) -> None:
        if rows.dtype == np.float32:
            self.note_single_precision()
        step = block_rows(self.n_features)
        buffer = np.empty((min(step, len(rows)), self.n_features), rows.dtype)
        spare = None
        if rows.dtype == np.float32 and len(rows) > step:
            spare = np.zeros((self.n_features, self.n_features), np.float32, order="F")
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            w = None if weights is None else weights[start : start + step]
            self._add_block(block, w, buffer[: len(block)], spare)

    def _add_block(
        self, block: Floats, weights: Weights | None, buffer: Floats, spare: Floats | None = None
    ) -> None:
        count, total_weight = len(block), float(len(block))
        if weights is not None:
            count, total_weight = int(np.count_nonzero(weights)), float(weights.sum())
            if total_weight == 0.0:
                return
        scale = np.ones(len(block)) if weights is None else weights
        averaging = (scale / total_weight).astype(block.dtype)
        shift = weighted_sum(averaging, block)
        if not self.center:
            if weights is not None:
                block = np.multiply(block, np.sqrt(weights).astype(block.dtype)[:, None], buffer)
            rank_update(self._total, block, spare=spare)
            self.absorb(count, total_weight, shift.astype(np.float64))
            return
        # Shifted by its own mean the block is small numbers, exact even in float32; what rounding
        # left in that mean is taken out afterwards.
        np.subtract(block, shift, out=buffer)
        rest = weighted_sum(averaging, buffer).astype(np.float64)
        if weights is not None:
            buffer *= np.sqrt(weights).astype(block.dtype)[:, None]
        rank_update(self._total, buffer, spare=spare)
        # In double precision it is, as a rule, less than the sum can show: a pass over D x D less.
        shown = np.finfo(np.float64).eps / 16 * float(np.diagonal(self._total).max(initial=0.0))
        if total_weight * float(rest @ rest) > shown:
            rank_update(self._total, rest[None, :], -total_weight)
        self.absorb(count, total_weight, shift.astype(np.float64) + rest)

    def _add_sparse(self, rows: Any, weights: Weights | None) -> None:
        rows = rows.tocsr().astype(np.float64, copy=False)
        count, total_weight, scaled = rows.shape[0], float(rows.shape[0]), rows
        if weights is not None:
            count, total_weight = int(np.count_nonzero(weights)), float(weights.sum())
            if total_weight == 0.0:
                return
            scaled = sp.diags_array(weights) @ rows
        mean = np.asarray(scaled.sum(axis=0)).ravel() / total_weight
        # The data stay sparse; only the D x D result is dense.
        total = np.tril((rows.T @ scaled).toarray())
        if self.center:
            squares = np.diagonal(total)
            left = squares - total_weight * mean**2
            if squares.max(initial=0.0) > CANCELS * left.max(initial=0.0):
                step = block_rows(self.n_features)
                for start in range(0, rows.shape[0], step):
                    part = slice(start, start + step)
                    w = None if weights is None else weights[part]
                    self._add_dense(rows[part].toarray(), w)
                return
        self._total += total
        if self.center:
            rank_update(self._total, mean[None, :], -total_weight)
        self.absorb(count, total_weight, mean)

    def note_single_precision(self) -> None:
        """Remember that float32 products went in."""
        self.rounding = FLOAT32_ROUNDING

    def absorb(
        self, count: int, weight: float, mean: Float64s, total: Float64s | None = None
    ) -> None:
        """Merge in rows of this weight and mean; their own sum is ``total``, or in ours already."""
        if total is not None:
            self._total += total
        self.count += count
        if weight == 0.0:
            return
        delta = mean - self._mean
        if self.center and self.weight > 0:
            between = self.weight * weight / (self.weight + weight)
            rank_update(self._total, delta[None, :], between)
        self.weight += weight
        self._mean += (weight / self.weight) * delta
