"""A block of steps, compiled: what the engine does before, around and after a rule's loop.

The weights are kept as W = M F: ``mixing`` M (d, d), and a ``frame`` F of d long vectors. A block
turns them into M' F + B R with its rows R. Instead of lifting both terms, M' is kept and the frame
becomes F + (M'^(-1) B) R: half of the lift, whose cost then no longer grows as d^2.

Plain loops throughout, where array expressions would read better: they compile ten times faster.
"""

from collections.abc import Callable
from concurrent.futures import Executor
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.base import KEEP
from eigenstream.rules.engine._centering import input_products, mean_coefficients, row_coefficients
from eigenstream.rules.engine._columns import add_products, shared, update_vectors
from eigenstream.rules.engine._products import ZERO, add_rows, products
from eigenstream.rules.engine._running_sums import add_moment, add_sums
from eigenstream.rules.engine._tuples import BlockRows, Frame, Makeup, Terms, Totals, Update

__all__ = ["blocks_of", "shared_blocks_of"]

#: A mixing this near to the identity (in the spectral norm) is kept: it has a condition number of
#: at most 7, so that rounding grows no further than that.
NEAR = 0.75

#: A penalised term makes the frame V^T V = I unstable: a departure grows by exp(strain). It is
#: corrected before it has grown tenfold.
LIMIT = 2.0

#: Rows that are eliminated together.
PANEL = 5

#: Where ``drift`` has the blocks and the strain since the last renewal.
BLOCKS, STRAIN = 0, 1

#: A renewal is due after so many blocks: float32 drifts by 1e-7 a lift.
SINGLE_BLOCKS, DOUBLE_BLOCKS = 8, 64


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _times(left: Any, right: Any) -> Any:
    """Return the product of two small matrices."""
    out = np.zeros((left.shape[0], right.shape[1]))
    add_rows(out, left, right, ZERO, ZERO, right.shape[1])
    return out


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _solve(mixing: Any, right: Any) -> None:
    """Replace ``right`` by mixing^(-1) right; near the identity no pivots need be sought.

    Elimination takes PANEL rows at a time: what these do to the others is one product.
    """
    left, d, width = mixing.copy(), right.shape[0], right.shape[1]
    for first in range(0, d, PANEL):
        stop = min(first + PANEL, d)
        factors = np.empty((d - stop, stop - first))
        for k in range(first, stop):
            inverse = 1.0 / left[k, k]
            for i in range(k + 1, stop):
                factor = left[i, k] * inverse
                for j in range(k + 1, d):
                    left[i, j] -= factor * left[k, j]
                for j in range(width):
                    right[i, j] -= factor * right[k, j]
            for i in range(stop, d):
                factor = left[i, k] * inverse
                for j in range(k + 1, stop):
                    left[i, j] -= factor * left[k, j]
                factors[i - stop, k - first] = -factor
        add_rows(left[stop:], factors, left[first:stop], ZERO, stop, d)
        add_rows(right[stop:], factors, right[first:stop], ZERO, ZERO, width)
    for first in range((d - 1) // PANEL * PANEL, -1, -PANEL):
        stop = min(first + PANEL, d)
        for k in range(stop - 1, first - 1, -1):
            for i in range(k + 1, stop):
                factor = left[k, i]
                for j in range(width):
                    right[k, j] -= factor * right[i, j]
            for j in range(width):
                right[k, j] /= left[k, k]
        factors = np.empty((first, stop - first))
        for k in range(first):
            for i in range(first, stop):
                factors[k, i - first] = -left[k, i]
        add_rows(right[:first], factors, right[first:stop], ZERO, ZERO, width)


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _layout(now: Any, past: Any, picks: Any, here: Any, there: Any) -> Any:
    """Lay out a block's rows: which ones, and where its terms and their pasts are among them.

    Return how many, and whether they lie side by side, and so stay; otherwise the pasts follow
    the terms.
    """
    steps, paired = now.shape[0], past.shape[0] > 0
    first = past[0] if paired else now[0]
    lag = now[0] - first
    tight = 0 <= lag <= steps
    for t in range(1, steps):
        tight = tight and now[t] == now[t - 1] + 1 and (not paired or past[t] == past[t - 1] + 1)
    n = steps
    if paired:
        n += lag if tight else steps
    for i in range(n):
        if tight:
            picks[i] = first + i
        elif i < steps:
            picks[i] = now[i]
        else:
            picks[i] = past[i - steps]
    for t in range(steps):
        here[t] = lag + t if tight else t
        if paired:
            there[t] = t if tight else steps + t
    return n, tight


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _begin(both: Any, mixing: Any, makeup: Makeup) -> Any:
    """Return what a rule starts from, and what the watched vectors see: (moved, gram, seen).

    ``both``: the inner products of the rows with the vectors, then with each other.
    """
    n, d = both.shape[0], mixing.shape[0]
    head = both.shape[1] - n
    watched = head - d
    if makeup.past.shape[0] or makeup.shares.shape[0]:
        cross, gram = input_products(both, head, makeup)
    else:
        cross, gram = both, np.empty((n, n))
        for i in range(n):
            for j in range(n):
                gram[i, j] = both[i, head + j]
    slots = gram.shape[0]
    seen, inner = np.empty((slots, watched)), np.empty((d, slots))
    for i in range(slots):
        for k in range(watched):
            seen[i, k] = cross[i, k]
        for k in range(d):
            inner[k, i] = cross[i, watched + k]
    moved = np.zeros((d, d + slots))
    for k in range(d):
        for j in range(d):
            moved[k, j] = mixing[k, j]
    add_rows(moved, mixing, inner, d, ZERO, slots)
    return moved, gram, seen


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _renewed(gram: Any, mixing: Any, own: Any, orthonormal: bool) -> Any:
    """Return the mixing and the weights' inner products, without the rounding of many blocks.

    ``gram``: the inner products of the frame.
    """
    d = gram.shape[0]
    gram = _times(_times(mixing, gram), mixing.T.copy())
    if not orthonormal:
        return mixing, gram
    # One Newton-Schulz step to the nearest orthonormal basis: the same span, no rotation, and it
    # rides on the lift.
    for k in range(d):
        for j in range(d):
            gram[k, j] *= -0.5
        gram[k, k] += 1.5
    return _times(gram, mixing), own


@njit(cache=True, error_model="numpy", fastmath={"reassoc"})  # type: ignore[untyped-decorator, unused-ignore]
def _strain(responses: Any, signs: Any, gains: Any, moved: Any) -> float:
    """Return sum eta max(-c, 0) |V^T u|^2: how far a departure from V^T V = I grows, as exponent.

    Rewarded vectors (c > 0) make it shrink. It is not finite if anything in ``moved`` is not.
    """
    total = 0.0
    for k in range(moved.shape[0]):
        for j in range(moved.shape[1]):
            total += 0.0 * moved[k, j]
    r = signs.shape[1]
    for t in range(signs.shape[0]):
        for i in range(r):
            square = 0.0
            for k in range(responses.shape[1]):
                square += responses[r * t + i, k] ** 2
            total += gains[t] * max(-signs[t, i], 0.0) * square
    return float(total)


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _part(table: Any, first: int, last: int) -> Any:
    """Return a copy of some columns."""
    out = np.empty((table.shape[0], last - first))
    for k in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[k, j] = table[k, first + j]
    return out


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _settle(mixing: Any, moved: Any, coefficients: Any, fold: bool) -> bool:
    """Decide whether the frame is turned by the first part of ``moved``, or that is kept apart.

    ``mixing`` becomes what is kept, and ``coefficients`` those of the rows in the frame.
    """
    d = mixing.shape[0]
    far, most_in_row, most_in_column = 0.0, 0.0, 0.0
    for k in range(d):
        in_row, in_column = 0.0, 0.0
        for j in range(d):
            same = 1.0 if j == k else 0.0
            far += (moved[k, j] - same) ** 2
            in_row += abs(moved[k, j] - same)
            in_column += abs(moved[j, k] - same)
            mixing[k, j] = moved[k, j]
        most_in_row, most_in_column = max(most_in_row, in_row), max(most_in_column, in_column)
    # Two bounds of the squared spectral norm of the departure from the identity.
    far = min(far, most_in_row * most_in_column)
    turned = far > 0.0 and (fold or far > NEAR**2)
    if turned:
        for k in range(d):
            for j in range(d):
                mixing[k, j] = 1.0 if j == k else 0.0
    elif far > 0.0:
        _solve(mixing, coefficients)
    return turned


def _blocks(
    frame: Frame,
    terms: Terms,
    totals: Totals,
    rates: Any,
    buffer: Any,
    size: int,
    orthonormal: bool,
) -> Any:
    """Take the steps in blocks of ``size``; return the step that failed, or -1.

    ``frame`` holds the weights, ``terms`` which rows make the steps and how they weigh, ``totals``
    what is summed up along the way: all are brought up to date by whole blocks, and a bad step
    undoes its block. ``rates`` has one factor a unit, ``buffer`` room for rows that are not used
    as they lie; ``orthonormal`` says whether the rule keeps the weights so. ``run`` is not a
    parameter but filled in by ``blocks_of``, and by ``shared_blocks_of``, which has the work on the
    columns done by several threads.
    """
    vectors, mixing, own, drift = frame
    mean, moment, seen_moment, sums, adapt = totals
    n_steps, width, d = terms.now.shape[0], vectors.shape[1], mixing.shape[0]
    watched = vectors.shape[0] - d
    centred = terms.shares.shape[0] > 0
    single = vectors.itemsize == 4
    every = SINGLE_BLOCKS if single else DOUBLE_BLOCKS
    extra = 1 if centred and single else 0
    long = vectors[watched:]
    shift = np.zeros(width, vectors.dtype)
    for start in range(0, n_steps, size):
        stop = min(start + size, n_steps)
        steps = stop - start
        # Slices of an empty array are empty: no pasts, or no centring.
        past, shares = terms.past[start:stop], terms.shares[start:stop]
        places = np.empty(4 * steps, np.int64)
        here, there = places[:steps], places[steps : steps + past.shape[0]]
        picks = places[2 * steps :]
        n, tight = _layout(terms.now[start:stop], past, picks, here, there)
        picks = picks[:n]
        fetched = centred or not tight
        rows = buffer[: n + extra] if fetched else terms.rows[picks[0] : picks[0] + n]
        fresh = centred and shares[0] == 1.0
        block = BlockRows(terms.rows, picks, fetched, fresh, mean, shift, rows)
        both = np.zeros((rows.shape[0], vectors.shape[0] + rows.shape[0]))
        add_products(vectors, block, both, ZERO, width)
        makeup = Makeup(here, there, shares, n if extra else -1)
        fold = drift[BLOCKS] >= every or drift[STRAIN] > LIMIT
        mix, inner = mixing, own.copy()
        if fold and (orthonormal or own.size > 0):
            gram = np.zeros((d, d))
            products(long[:0], long, gram, ZERO, width)
            mix, inner = _renewed(gram, mixing, own, orthonormal)
        moved, gram, seen = _begin(both, mix, makeup)
        responses = np.empty((gram.shape[0], d))
        gains, running = terms.gains[start:stop].copy(), adapt.copy()
        signs = terms.signs[start:stop]
        done = run(  # type: ignore[name-defined]  # noqa: F821
            moved, gram, inner, signs, gains, rates, running, responses
        )
        if done < steps:
            terms.gains[start + done] = gains[done]
            return start + done
        strain = _strain(responses, signs, gains, moved)
        if not np.isfinite(strain):  # the last step did it
            return stop - 1
        if centred or past.shape[0] > 0:
            coefficients = row_coefficients(moved, n + extra, makeup)
        else:
            coefficients = _part(moved, d, moved.shape[1])
        turned = _settle(mixing, moved, coefficients, fold)
        after = np.empty((1, 0))
        if centred:
            after = mean_coefficients(makeup, n + extra)
        turning = _part(moved, ZERO, d)
        dtype = vectors.dtype
        update = Update(
            turned, turning.astype(dtype), coefficients.astype(dtype), after.astype(dtype)
        )
        update_vectors(update, block, long, ZERO, width)
        add_sums(sums, signs, gram, terms.weights[start:stop], adapt[KEEP])
        add_moment(moment, responses, signs, adapt[KEEP] ** steps)
        if watched > 0:
            add_moment(seen_moment, seen, signs, adapt[KEEP] ** steps)
        for i in range(own.shape[0]):
            for j in range(own.shape[1]):
                own[i, j] = inner[i, j]
        for i in range(adapt.shape[0]):
            adapt[i] = running[i]
        for t in range(steps):
            terms.gains[start + t] = gains[t]
        if fold:
            drift[BLOCKS], drift[STRAIN] = 0.0, 0.0
        drift[BLOCKS] += 1.0
        drift[STRAIN] += strain
    return -1


@cache
def blocks_of(run: Any) -> Callable[..., int]:
    """Return the loop over blocks with a rule's own loop in its middle, compiled as one.

    A template: numba caches no function that is handed another, so each loop gets a copy of the
    code above in which the name ``run`` means that loop, cached under a name of its own.
    """
    name = f"{run.__module__.rpartition('.')[2]}{run.__name__}_blocks"
    filled = FunctionType(_blocks.__code__, {**globals(), "run": run}, name)
    filled.__qualname__, filled.__module__ = name, __name__
    compile_ = njit(cache=True, error_model="numpy", nogil=True)
    compiled: Callable[..., int] = compile_(filled)
    return compiled


def shared_blocks_of(run: Any, pool: Executor, threads: int) -> Callable[..., int]:
    """Return the same loop for very long rows, whose columns are shared among threads.

    It is left to Python: what that takes a block is nothing beside such rows.
    """
    names: dict[str, Callable[..., None]] = {
        "add_products": add_products,
        "products": products,
        "update_vectors": update_vectors,
    }
    spread = {name: shared(function, pool, threads) for name, function in names.items()}
    return FunctionType(_blocks.__code__, {**globals(), **spread, "run": run})
