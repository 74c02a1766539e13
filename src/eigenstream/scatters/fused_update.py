"""Variance and velocity of the same rows in one update: three matrix products instead of four."""

from typing import Any

import numpy as np

from eigenstream._linalg import Floats, lower_product, rank_update, weighted_sum
from eigenstream.scatters._moment import block_rows
from eigenstream.scatters.base import StreamScatter

#: How many blocks of a single scatter make one of pairs: it adds up three D x D results, not one.
BLOCKS = 4

#: Below this many rows two updates are as fast.
LEAST_ROWS = 256


def can_fuse(reward: StreamScatter, penalty: StreamScatter, chunk: Any, weights: Any) -> bool:
    """Tell whether ``fused_update`` can take this chunk for the two scatters."""
    return (
        (reward.kind, penalty.kind) == ("variance", "velocity")
        and reward.lag == penalty.lag
        and weights is None
        and isinstance(chunk, np.ndarray)
        and chunk.dtype in (np.float32, np.float64)
        and chunk.ndim == 2
        and chunk.shape[1] == reward.n_features
        and len(chunk) >= max(LEAST_ROWS, 8 * penalty.lag)
    )


def fused_update(
    variance: StreamScatter,
    velocity: StreamScatter,
    chunk: Floats,
    *,
    new_sequence: bool = False,
    rows: int | None = None,
) -> None:
    """Add a chunk of rows to the variance and to the velocity of the same lag.

    Rows t and t - lag are taken two by two. For such a pair x, y and any centre c

        (x - c)(x - c)^T + (y - c)(y - c)^T = (d d^T + s s^T) / 2,  d = x - y,  s = x + y - 2 c,

    and d is one of the velocities wanted anyway. So half of the velocities are free, and three
    products of half the rows each give what two products of all the rows would. ``rows`` are taken
    at a time; None: as many as fill the cache.

    >>> from eigenstream.scatters import VarianceScatter, VelocityScatter
    >>> variance, velocity = VarianceScatter(1, lag=1), VelocityScatter(1)
    >>> fused_update(variance, velocity, np.arange(300.0)[:, None])
    >>> velocity.matrix(), bool(np.isclose(variance.matrix()[0, 0], np.arange(1.0, 300.0).var()))
    (array([[1.]]), True)
    """
    lag, n = velocity.lag, len(chunk)
    for scatter in (variance, velocity):
        scatter.enter(chunk, None, new_sequence=new_sequence)
    rows = BLOCKS * block_rows(chunk.shape[1]) * 8 // chunk.itemsize if rows is None else rows
    step = max(rows // (2 * lag), 1) * 2 * lag
    # Rows in whole pairs of runs of ``lag`` rows; each scatter adds the few left by itself.
    paired = lag + (n - lag) // (2 * lag) * 2 * lag
    half = min(step, paired - lag) // 2
    width = chunk.shape[1]
    buffers = [np.empty((half, width), chunk.dtype) for _ in range(2)]
    buffers.append(np.zeros((width, width), chunk.dtype, order="F"))
    for start in range(lag, paired, step):
        stop = min(start + step, paired)
        _add_block(variance, velocity, chunk[start - lag : stop], buffers)
    for scatter in (variance, velocity):
        scatter.add_inside(chunk[paired - lag :], None)


def _add_block(
    variance: StreamScatter, velocity: StreamScatter, rows: Floats, buffers: list[Floats]
) -> None:
    """Add the terms of a block led by ``lag`` rows of past: whole pairs of runs of ``lag``."""
    lag, width = velocity.lag, rows.shape[1]
    n = len(rows) - lag
    before = rows[:-lag].reshape(-1, 2, lag, width)[:, 0]
    runs = rows[lag:].reshape(-1, 2, lag, width)
    earlier, later = runs[:, 0], runs[:, 1]
    first, second = (buffer[: n // 2] for buffer in buffers[:2])
    spare = buffers[2]
    shape = earlier.shape
    A, B = variance._moment, velocity._moment
    averaging = np.full(n // 2, 1.0 / n, rows.dtype)

    np.subtract(later, earlier, out=first.reshape(shape))
    velocity_mean = weighted_sum(averaging, first).astype(np.float64)
    shared = lower_product(first, spare=spare)
    B._total += shared
    shared *= 0.5
    A._total += shared

    np.subtract(earlier, before, out=first.reshape(shape))
    velocity_mean += weighted_sum(averaging, first)
    rank_update(B._total, first, spare=spare)
    B.absorb(n, float(n), velocity_mean)

    # Each row is shifted before two are added: float32 would lose small rows in a large sum.
    shift = weighted_sum(np.full(n, 1.0 / n, rows.dtype), rows[lag:])
    if not A.center:
        shift[:] = 0.0
    np.subtract(later, shift, out=second.reshape(shape))
    np.subtract(earlier, shift, out=first.reshape(shape))
    second += first
    rest = weighted_sum(averaging, second).astype(np.float64)
    rank_update(A._total, second, 0.5, spare)
    if A.center:
        rank_update(A._total, rest[None, :], -float(n))
    A.absorb(n, float(n), shift.astype(np.float64) + rest)
    if rows.dtype == np.float32:
        A.note_single_precision()
        B.note_single_precision()
