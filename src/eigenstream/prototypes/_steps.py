"""Steps of competitive learning, one for each row, and their rates, widths and radii."""

from dataclasses import replace
from math import exp
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm

from eigenstream.core.checks import check_number
from eigenstream.core.linalg import Float64s, blas_threads
from eigenstream.kernels.base import njit
from eigenstream.prototypes._nearest import EQUAL, LOOSE, square
from eigenstream.prototypes.grids import CUT
from eigenstream.schedules import Auto, Schedule, Steps, as_schedule

#: A row moves the nearest unit, or all units by distance, by rank, or by position on a grid.
WINNER, SOFT, RANK, MAP = range(4)
RULES = {"winner": WINNER, "soft": SOFT, "rank": RANK}

#: The number of entries of all units below which plain steps are faster. Winners, which move one
#: unit a step, gain less than a factor of two from blocks.
FEW = 2**11

#: The smallest share of a unit that a step keeps, and the scale at which a block ends.
LEAST, SMALL = 1e-30, 1e-100

#: The decorator of functions that only loops call: numba makes no entry from Python.
inner = njit(cache=True, error_model="numpy", fastmath=LOOSE, no_cpython_wrapper=True)

#: The grid argument of rules without a grid.
NO_GRID = (1, 1, False, False, True, 1.0)


def learn(
    W: Float64s,
    X: Float64s,
    kind: int,
    pace: Float64s,
    counts: Float64s,
    *,
    grid: tuple[int, int, bool, bool, bool, float] = NO_GRID,
    keep: float = 1.0,
    block: int | None = None,
) -> tuple[Any, Float64s]:
    """Move units in place by one step for each row, ``w_k += rate h_k (x - w_k)``.

    WINNER has h = 1 for the nearest unit. SOFT has ``exp(-d_k^2 / 2 width^2)``, normalised. RANK
    has ``exp(-r / width)`` for the r-th nearest. MAP has the neighbourhood of the nearest unit on
    the grid, with the width as radius. A row of weight m moves units as far as m equal rows.

    ``pace`` has three rows: the rates, widths and weights of the steps. A negative rate stands for
    1 / count. ``counts`` are the sums of weight times h, except for maps. Each step keeps the share
    ``keep`` of them. ``block`` is the number of steps between matrix products. 0 takes plain steps,
    which missing values (NaN) require and have by default.

    Return the nearest unit of each row before its step, and the squared distance to it.

    >>> W, X, pace = (
    ...     np.array([[0.0], [4.0]]),
    ...     np.array([[1.0], [3.0]]),
    ...     np.array([[0.5], [0], [1]]),
    ... )
    >>> learn(W, X, WINNER, np.tile(pace, 2), np.zeros(2))[0], W.ravel()
    (array([0, 1]), array([0.5, 3.5]))
    """
    (n, D), K = X.shape, len(W)
    X, seen = np.ascontiguousarray(X, np.float64), (np.empty(n, np.int64), np.empty(n))
    plan = kind, grid, keep
    order = np.empty((2, K), np.int64)
    if block is None:
        block = 0 if kind == WINNER or FEW > K * D or np.isnan(X.sum()) else 32 if D < 128 else 64
    # In a block unit k is a combination of itself and rows, scale_k (W_k + sum_j F_jk x_j).
    # Steps need inner products only, and change factors and scales.
    P, F, scale = np.empty((block, K)), np.empty((block, K)), np.empty(K)
    G = np.empty((block, block))
    if block == 0:
        _steps(plan, (P, G, F, scale), order, W, X, np.ascontiguousarray(pace), counts, seen)
        return seen
    start = 0
    with blas_threads(1):
        while start < n:
            here = slice(start, min(start + block, n))
            rows, b, now = X[here], here.stop - start, (seen[0][here], seen[1][here])
            np.matmul(rows, W.T, out=P[:b])
            np.matmul(rows, rows.T, out=G[:b, :b])
            step = pace[:, here].copy()
            taken = _steps(plan, (P[:b], G, F, scale), order, W, rows, step, counts, now)
            dgemm(1.0, rows[:taken].T, F[:taken].T, 1.0, W.T, 0, 1, overwrite_c=1)
            W *= scale[:, None]
            start += taken
    return seen


@njit(cache=True, nogil=True, error_model="numpy", fastmath=LOOSE)
def _steps(
    plan: Any, tables: Any, order: Any, W: Any, X: Any, pace: Any, counts: Any, seen: Any
) -> Any:
    """Take steps, up to the one at which a scale becomes small. Return the number of steps taken.

    With ``tables`` of no rows, the steps change the units themselves, without missing values.
    """
    (P, G, F, scale), (labels, errors), (K, D) = tables, seen, W.shape
    blocked = len(P) > 0
    d, h, squares, added = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    for k in range(K):
        scale[k], added[k], total = 1.0, 0.0, 0.0
        for j in range(D if blocked else 0):
            total += W[k, j] * W[k, j]
        squares[k] = total
    for t in range(len(X)):
        x2, small = 0.0, 0
        if blocked:
            x2, p, f = G[t, t], P[t], F[t]
            if t > 0:
                np.dot(G[t, :t], F[:t], added)
            for k in range(K):
                p[k] = scale[k] * (p[k] + added[k])
                gap = squares[k] - 2.0 * p[k] + x2
                d[k] = 0.0 if gap < 0.0 else gap
        else:
            for k in range(K):
                d[k] = square(X[t], W[k])
        labels[t] = near = _nearest_of(d, x2)
        errors[t] = d[near]
        _shares(plan, order, d, near, pace, t, counts, h)
        if blocked:
            for k in range(K):
                left = 1.0 - h[k] if 1.0 - h[k] > LEAST else LEAST
                squares[k] = left * (left * squares[k] + 2.0 * h[k] * p[k]) + h[k] * h[k] * x2
                scale[k] *= left
                f[k] = h[k] / scale[k]
                small += scale[k] < SMALL
        else:
            for k in range(K):
                if h[k] > 0.0:
                    for j in range(D):
                        gap = X[t, j] - W[k, j]
                        W[k, j] += h[k] * gap if gap == gap else 0.0
        if small > 0:
            return t + 1
    return len(X)


@inner
def _nearest_of(d: Any, x2: float) -> int:
    """Return the place of the least number, or the first one that equals it to rounding."""
    least = 0
    for k in range(1, len(d)):
        if d[k] < d[least] or (d[k] != d[k] and d[least] == d[least]):
            least = k
    limit = d[least] + EQUAL * (d[least] + x2)
    for k in range(least):
        if d[k] <= limit:
            return k
    return least


@inner
def _ranks(d, order, room):
    """Write the places of the numbers in ascending order, equal ones as they stand."""
    K, width = len(d), 1
    for k in range(K):
        order[k] = k
    while width < K:
        for low in range(0, K, 2 * width):
            middle, high = low + width, low + 2 * width
            i, j = low, middle
            for k in range(low, high if high < K else K):
                if i < middle and (j >= high or j >= K or d[order[i]] <= d[order[j]]):
                    room[k] = order[i]
                    i += 1
                else:
                    room[k] = order[j]
                    j += 1
        for k in range(K):
            order[k] = room[k]
        width *= 2


@inner
def _shares(
    plan: Any, order: Any, d: Any, near: int, pace: Any, t: int, counts: Any, h: Any
) -> None:
    """Write the share by which each unit moves to a row at squared distances d."""
    kind, grid, keep = plan
    K = len(d)
    rate, width, weight, total = pace[0, t], pace[1, t], pace[2, t], 0.0
    for k in range(K):
        h[k] = 0.0
    if kind == MAP:
        _influence(grid, near, width, h)
    elif kind == WINNER or width < 1e-100:
        h[near] = 1.0
    elif kind == SOFT:
        for k in range(K):
            z = (d[k] - d[near]) / (2.0 * width * width)
            h[k] = exp(-z) if z < CUT else 0.0
            total += h[k]
        for k in range(K):
            h[k] /= total
    else:
        _ranks(d, order[0], order[1])
        for r in range(K):
            h[order[0, r]] = exp(-r / width) if r <= CUT * width else 0.0
    if kind != MAP:
        for k in range(K):
            counts[k] = keep * counts[k] + weight * h[k]
    for k in range(K):
        if rate >= 0.0:
            h[k] *= rate
        else:
            h[k] *= weight / (counts[k] if counts[k] > 1e-300 else 1e-300)
    if rate >= 0.0 and weight != 1.0:
        for k in range(K):
            h[k] = 1.0 - (1.0 - h[k]) ** weight


@inner
def _influence(grid: Any, near: int, radius: float, h: Any) -> None:
    """Write the influence of a unit on the units of the grid within its reach."""
    R, C, hexagonal, periodic, gaussian, reach = grid
    square = radius * radius
    far, steep = reach * square, -0.5 * gaussian / (square if square > 1e-300 else 1e-300)
    gaps, wide = np.empty((2, C)), np.empty((2, C))  # in rows of the unit's kind, and shifted ones
    for i in range(1 + hexagonal):
        for c in range(C):
            across = abs(c - near % C + i * (0.5 - (near // C & 1)))
            across = C - across if periodic and 2 * across > C else across
            gaps[i, c] = across * across
            wide[i, c] = exp(steep * gaps[i, c]) if gaps[i, c] <= far else 0.0
    for r in range(R):
        up = abs(r - near // C)
        up = R - up if periodic and 2 * up > R else up
        squared, i = (0.75 if hexagonal else 1.0) * up * up, (up & 1) * hexagonal
        if squared <= far:
            tall = exp(steep * squared)
            for c in range(C):
                h[r * C + c] = tall * wide[i, c] if squared + gaps[i, c] <= far else 0.0


#: A schedule, or the first and the last value.
Pace = Schedule | tuple[float, float]


def as_pace(
    value: Any, name: str, word: str, *, zero: bool = False, most: float | None = None
) -> Pace | None:
    """Return None for ``word``, a schedule, or the pair (first, last) of a number or a pair.

    ``zero`` allows zero as the first value, and ``most`` is the largest value allowed.

    >>> as_pace(2, "radius", "auto"), as_pace("auto", "radius", "auto")
    ((2.0, 2.0), None)
    """
    if isinstance(value, str) and value == word:
        return None
    named = isinstance(value, str | Auto | type)
    if not named and (isinstance(value, Schedule) or callable(value)):
        schedule = as_schedule(value)
        if isinstance(schedule, Steps):
            return replace(schedule, name=name.replace("_", " "))
        return schedule
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        value = (value, value)
    if named or not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(
            f"{name} must be {word!r}, a number, a pair (first, last), a schedule of "
            f"eigenstream.schedules or a function of the step number, got {value!r}."
        )
    ends = {"least": 0.0} if zero else {"above": 0.0}
    first = check_number(value[0], name, **ends, most=most)
    last = check_number(value[1], name, least=0.0, most=most)
    if last > first:
        raise ValueError(f"{name}={value!r} grows. Use a last value of at most {first:g}.")
    return first, last


def values_of(pace: Pace, start: int, n: int, n_steps: int = 0, tau: float = np.inf) -> Float64s:
    """Return the values at ``n`` steps from ``start`` on.

    A pair falls by a constant factor per step, to the last value in ``n_steps``. Without a number
    of steps (0) it falls as ``first / (1 + t / tau)`` to the last value.

    >>> values_of((8.0, 2.0), 0, 4, n_steps=2)
    array([8., 4., 2., 2.])
    >>> values_of((8.0, 2.0), 100, 1, tau=100.0)
    array([4.])
    """
    if isinstance(pace, Schedule):
        return pace.gains(start, n)
    (first, last), steps = pace, np.arange(start, start + n, dtype=np.float64)
    if first == last:
        return np.full(n, float(first))
    if not n_steps:
        return np.maximum(first / (1.0 + steps / tau), last)
    share = np.minimum(steps / n_steps, 1.0)
    return np.asarray(first * (last / first) ** share if last > 0.0 else first * (1.0 - share))
