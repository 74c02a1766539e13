"""Overlaps of prototypes with directions and with each other, kept every so many steps.

When J_k moves by a (y - J_k), R = J B^T and Q = J J^T change in their row k by what that does to
inner products, of which the step has all but those of y with B ([DYN] section 2). Where records
are far apart and steps are taken on the rows, each is computed when it is due.
"""

from typing import Any, NamedTuple

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream.kernels.base import njit

__all__ = ["NOT_RECORDED", "Overlaps", "follow", "keep", "meet", "meet_row"]

#: Where fewer than one prototype in so many moves, their rows of Q are changed one by one.
FEW = 4


class Overlaps(NamedTuple):
    """What is kept every so many steps, of prototypes that are known about a mean.

    ``Q``, ``R`` and what is kept are written. The row at hand is x = y - mean.
    """

    every: int  # steps between two that are kept; 0: none
    follows: bool  # whether steps change them; else they are computed when they are due
    Q: Any  # (K, K): <J_k, J_l>
    R: Any  # (K, m): <J_k, B_i>
    diagonal: Any  # (K,): |J_k|^2
    directions: Any  # (m + 1, D): B, and the mean
    onto: Any  # (m + 1,): <mean, B_i>, and |mean|^2
    inner: Any  # (b, m + 1): <y, B_i>, and |y|^2, of the rows of a block, or of the row at hand
    kept_Q: Any  # (r, K, K)
    kept_R: Any  # (r, K, m)
    count: Any  # (1,): how many are kept

    @classmethod
    def room(
        cls,
        every: int,
        follows: bool,
        now: tuple[Float64s, Float64s, Float64s],
        directions: Float64s,
        most: int,
    ) -> "Overlaps":
        """Return room for so many records of what follows ``now``: Q, R and Q's diagonal.

        >>> now = np.eye(2), np.ones((2, 3)), np.ones(2)
        >>> made = Overlaps.room(1, True, now, np.eye(4), 5)
        >>> made.kept_Q.shape, made.kept_R.shape
        ((5, 2, 2), (5, 2, 3))
        """
        K, m = now[1].shape
        onto, inner = directions @ directions[-1], np.empty((1, m + 1))
        kept = np.empty((most, K, K)), np.empty((most, K, m))
        return cls(every, follows, *now, directions, onto, inner, *kept, np.zeros(1, np.int64))

    def of(self, block: Float64s, gram: Float64s) -> "Overlaps":
        """Return these with the inner products of a block of rows."""
        if self.every == 0:
            return self
        inner = block @ self.directions.T
        inner[:, -1] = inner[:, -1] * 2.0 + np.diagonal(gram)
        inner += self.onto
        return self._replace(inner=inner)


#: No records.
NOT_RECORDED = Overlaps.room(
    0, False, (np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0)), np.zeros((1, 0)), 0
)


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _dot(x: Any, y: Any) -> float:
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j] * y[j]
    return total


@njit(cache=True, error_model="numpy")
def meet_row(overlaps: Overlaps, row: Any) -> float:
    """Write the inner products of a row about the mean; return |y|^2."""
    inner, onto, last = overlaps.inner[0], overlaps.onto, overlaps.directions.shape[0] - 1
    for i in range(last + 1):
        inner[i] = _dot(overlaps.directions[i], row) + onto[i]
    # |x + mean|^2 = |x|^2 + 2 <x, mean> + |mean|^2
    inner[last] = _dot(row, row) + 2.0 * inner[last] - onto[last]
    return float(inner[last])


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def meet(
    overlaps: Overlaps, fields: Any, shift: float, size: float, alive: int, products: Any
) -> None:
    """Write <J_k, y>, from ``shift - 2 fields = |y - J_k|^2`` and ``size = |y|^2``."""
    for k in range(products.shape[0]):
        products[k] = fields[k] + 0.5 * (overlaps.diagonal[k] + size - shift) if k < alive else 0.0


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def follow(overlaps: Overlaps, products: Any, size: float, moved: Any, rates: Any, t: int) -> None:
    """Let overlaps follow J_k += a_k (y - J_k) of those that have ``moved``.

    ``products`` are <J_k, y> and ``size`` is |y|^2. ``rates`` of those that stay are zero, and
    become so for all.
    """
    Q, diagonal, last = overlaps.Q, overlaps.diagonal, overlaps.R.shape[1]
    K = Q.shape[0]
    if FEW * moved.shape[0] < K or K == 1:
        for k in moved:
            a = rates[k]
            left, line = 1.0 - a, Q[k]
            diagonal[k] = left * left * diagonal[k] + 2.0 * a * left * products[k] + a * a * size
            for j in range(K):
                line[j] = left * line[j] + a * products[j]
            line[k] = diagonal[k]
            for j in range(K):
                Q[j, k] = line[j]
            products[k] = left * products[k] + a * size
    else:
        for k in range(K):
            products[k] = (1.0 - rates[k]) * products[k] + 0.5 * rates[k] * size
        for k in range(K):
            a, mine, line = rates[k], products[k], Q[k]
            for j in range(k + 1):
                old = (1.0 - a) * (1.0 - rates[j]) * line[j]
                line[j] = old + a * products[j] + rates[j] * mine
            for j in range(k):
                Q[j, k] = line[j]
            diagonal[k] = line[k]
    for k in moved:
        a, line, inner = rates[k], overlaps.R[k], overlaps.inner[t]
        for i in range(last):
            line[i] = (1.0 - a) * line[i] + a * inner[i]
        rates[k] = 0.0


@njit(cache=True, error_model="numpy")
def keep(overlaps: Overlaps, alive: int, vectors: Any) -> None:
    """Write what the overlaps are now among those kept, once all prototypes are there."""
    K, m = overlaps.kept_R.shape[1:]
    if alive < K:
        return
    at, Q, R = overlaps.count[0], overlaps.Q, overlaps.R
    if not overlaps.follows:
        mean, onto = overlaps.directions[m], overlaps.onto
        for k in range(K):
            overlaps.diagonal[k] = _dot(vectors[k], mean)
        for k in range(K):
            for i in range(m):
                R[k, i] = _dot(vectors[k], overlaps.directions[i]) + onto[i]
            for j in range(k + 1):
                both = overlaps.diagonal[k] + overlaps.diagonal[j] + onto[m]
                Q[k, j] = _dot(vectors[k], vectors[j]) + both
                Q[j, k] = Q[k, j]
    overlaps.kept_Q[at] = Q
    overlaps.kept_R[at] = R
    overlaps.count[0] += 1
