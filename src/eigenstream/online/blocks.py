"""Blocks of steps: a sequential rule at the speed of matrix products.

A Hebbian rule sees an input vector u only through its inner products with the weights. It changes
the weights by multiples of u and of the weights themselves. Over a block of inputs the weights stay
in the span of themselves and the block. The engine forms the inner products of a block at once,
takes the steps in order on short tables, and updates the weights by one matrix product.
The result is that of the sequential rule, to rounding.
"""

from functools import cache
from typing import Any

import numpy as np

from eigenstream.kernels.base import njit, types
from eigenstream.online.rules import loops

__all__ = ["advance_loop", "automatic", "mean_shares", "pointer"]

#: Penalised terms let the errors of an orthonormal frame grow by exp(strain). The frame is made
#: orthonormal again at this strain. A larger value costs digits, a smaller one time.
STRAIN = 2.0

#: The weights explode if the square of their responses exceeds that of the rows by EXPLODED, or a
#: step the weights by STRETCH.
EXPLODED, STRETCH = 1e18, 1e6

#: The numbers of the automatic learning rate, see ``_next_rate``.
MEAN, FACTOR, KEEP, MEDIAN, COUNT = range(5)

TABLE, LINE, WHOLE = types.float64[:, ::1], types.float64[::1], types.int64[::1]
STEP = types.void(TABLE, TABLE, TABLE, TABLE, LINE, LINE)


def automatic(factor: float, keep: float) -> Any:
    """Return the numbers of the automatic learning rate; factor 0 is for given rates."""
    return np.array([0.0, factor, keep, 0.0, 0.0])


@loops
def _fill_inputs(z, first, frame, rows, mean):
    """Write the frame, the rows less the mean, and zeros, from row ``first`` on."""
    d, n = len(frame), len(rows)
    for i in range(len(z) - first):
        out = z[first + i]
        for j in range(len(out)):
            if i < d:
                out[j] = frame[i, j]
            else:
                out[j] = rows[i - d, j] - mean[j] if i < d + n else 0.0


@njit(cache=True, error_model="numpy")
def _products(z, first):
    """Return the inner products of the rows, without those of rows before ``first``."""
    out = np.zeros((len(z), len(z)))
    part = np.dot(z[first:], z.T)
    for i in range(len(z) - first):
        for k in range(len(z)):
            out[first + i, k] = part[i, k]
            out[k, first + i] = part[i, k]
    return out


@loops
def _inputs(table, now, past, shares, shift):
    """Turn a table that is linear in rows into that of the input vectors, and last of the mean.

    The first vector of step t is row now[t] less the mean of the rows before. The second is row
    now[t] less row past[t]. Row i is row i + ``shift`` of the table.
    """
    r, width = 1 + (len(past) > 0), table.shape[1]
    out = np.zeros((r * len(now) + 1, width))
    mean = out[r * len(now)]
    for t in range(len(now)):
        row, first = table[now[t] + shift], out[r * t]
        for j in range(width):
            first[j] = row[j] - mean[j]
            mean[j] += shares[t] * first[j]
        if r == 2:
            before, second = table[past[t] + shift], out[r * t + 1]
            for j in range(width):
                second[j] = row[j] - before[j]
    return out


@loops
def _rule_tables(inner, half, gram, r, orthonormal, norms):
    """Return what the rule takes for its weights W and for its input vectors U.

    In W the first columns are coefficients of the weights on the frame. The column of an input
    vector holds the inner products with it up to its own step, and the coefficients on it from then
    on. With ``norms`` the last columns are the inner products of the weights. ``inner`` are those
    of the frame, of which a Newton-Schulz step makes an ``orthonormal`` frame.
    """
    d, slots, before = len(inner), len(gram) - 1, np.eye(len(inner))
    if orthonormal:
        for k in range(d):
            for j in range(d):
                before[k, j] = 1.5 * before[k, j] - 0.5 * inner[k, j]
    width = (d + slots + (d if norms else 0) + 15) // 16 * 16  # whole registers
    W, U = np.zeros((d, width)), np.zeros((slots, width))
    products = np.empty((d, slots + 1))
    np.dot(before, half, products)
    for k in range(d):
        for j in range(d + slots):
            W[k, j] = before[k, j] if j < d else products[k, j - d]
        for j in range(d if norms else 0):
            W[k, width - d + j] = inner[k, j]
    for i in range(slots):
        U[i, d + i] = 1.0
        for j in range(i // r * r + r, slots):
            U[i, d + j] = gram[i, j]
    return W, U


@loops
def _lift(W, inputs):
    """Return the new weights' coefficients on the frame and the rows, and last the mean's."""
    d, slots, height = len(W), len(inputs) - 1, inputs.shape[1]
    lift = np.zeros((d + 1, height))
    np.dot(W[:, d : d + slots].copy(), inputs[:slots], lift[:d])
    for j in range(height):
        lift[d, j] = inputs[slots, j]
        for k in range(d if j < d else 0):
            lift[k, j] = W[k, j]
    return lift


@loops
def _next_rate(rate, strength, penalty, adapt):
    """Return the schedule's rate, or factor / sqrt(t mean |A V|^2) where ``adapt`` has a factor.

    The mean has weights t^3, because the first steps saw another V. No step counts more than ten
    running medians. The rate is at most 1 / |A V|, a turn of 45 degrees, and 1 / ``penalty``, the
    penalised eigenvalue of A. Longer steps overshoot. ``strength`` is |A V|. The mean and the
    median are stored as roots, because squares of small and large rows overflow.
    """
    if adapt[FACTOR] == 0.0 or strength <= 0.0:
        return rate if adapt[FACTOR] == 0.0 else 0.0
    adapt[COUNT] = adapt[KEEP] * adapt[COUNT] + 1.0
    if adapt[MEDIAN] == 0.0:
        adapt[MEDIAN] = strength
    else:
        adapt[MEDIAN] *= np.sqrt(1.05) if strength > adapt[MEDIAN] else np.sqrt(1.0 / 1.05)
    share = 4.0 / (adapt[COUNT] + 3.0)
    counted = min(strength, np.sqrt(10.0) * adapt[MEDIAN])
    adapt[MEAN] = np.hypot(np.sqrt(1.0 - share) * adapt[MEAN], np.sqrt(share) * counted)
    size = np.sqrt(adapt[COUNT]) * adapt[MEAN] / adapt[FACTOR]
    return 1.0 / max(size, strength, penalty)


@loops
def _strength(gram, responses, signs):
    """Return |A V| by the inner products of the input vectors and of their responses."""
    g, y, total = np.max(np.diag(gram)), np.max(np.diag(responses)), 0.0
    if g <= 0.0 or y <= 0.0:
        return 0.0
    for i in range(len(signs)):
        for j in range(len(signs)):
            total += signs[i] * signs[j] * (gram[i, j] / g) * (responses[i, j] / y)
    return np.sqrt(g) * np.sqrt(y) * np.sqrt(max(total, 0.0))


@loops
def _take_steps(step, W, U, Y, gram, limit, signs, rates, units, adapt):
    """Take the steps of a block in order. Return how many were sound."""
    d, (steps, r) = len(W), signs.shape
    G, responses, eta = np.empty((r, r)), np.empty((r, r)), np.empty(d)
    for t in range(steps):
        penalty, at, sound = 0.0, r * t, True
        for i in range(at, at + r):
            for k in range(d):
                Y[i, k] = W[k, d + i]
                W[k, d + i] = 0.0  # from inner products with u to coefficients on u
        for i in range(r):
            for j in range(r):
                inner = 0.0
                for k in range(d):
                    inner += Y[at + i, k] * Y[at + j, k]
                sound = sound and inner < np.inf and inner <= limit
                G[i, j], responses[i, j] = gram[at + i, at + j], inner
            penalty = max(penalty, -signs[t, i] * G[i, i])
        strength = _strength(G, responses, signs[t])
        rates[t] = _next_rate(rates[t], strength, penalty, adapt)
        if not sound or rates[t] * strength >= STRETCH:
            return t
        for k in range(d):
            eta[k] = rates[t] * units[k]
        step(W, U[at : at + r], Y[at : at + r], G, signs[t], eta)
    return steps if np.isfinite(np.sum(W)) else steps - 1


def _advance(step, kind, size, z, frame, watched, mean, adapt, units, rows, terms, out):
    """Take all steps, in blocks of ``size``; return the step that failed, or -1.

    ``kind`` has the two flags of a ``Rule``; ``z`` is room for the vectors of a block. The frame
    holds the weights and, in its last row, the change of the mean. ``terms`` are, for each step,
    the rows of its vectors, its share in the mean, the vectors' signed weights and the learning
    rate, which is replaced by the one used. ``out`` receives the responses of the weights and of
    the watched vectors, and the squared lengths of the input vectors. A block with a bad step
    changes nothing.
    """
    orthonormal, norms = kind
    now, past, shares, signs, rates = terms
    Y, seen, squares = out
    w, d, (total, r) = len(watched), len(frame) - 1, signs.shape
    begin = past if r == 2 else now
    z[:w] = watched
    strain = STRAIN
    for start in range(0, total, size):
        stop = min(start + size, total)
        renew = norms or (orthonormal and strain >= STRAIN)
        strain = 0.25 + (0.0 if renew else strain)  # rounding alone renews after 8 blocks
        block = rows[begin[start] : now[stop - 1] + 1]
        height = (w + d + len(block) + 3) // 4 * 4
        _fill_inputs(z[:height], w, frame[:d], block, mean)
        inner = _products(z[:height], w if renew else w + d)
        here, there, part = now[start:stop], past[start:stop], shares[start:stop]
        shift = w + d - begin[start]
        half = _inputs(inner, here, there, part, shift).T.copy()
        gram = _inputs(half, here, there, part, shift)
        own = inner[w : w + d, w : w + d]
        W, U = _rule_tables(own, half[w : w + d], gram, r, renew and orthonormal, norms)
        y, c, eta = Y[r * start : r * stop], signs[start:stop], rates[start:stop]
        changed = adapt.copy()
        limit = EXPLODED * np.max(np.diag(inner))
        done = _take_steps(step, W, U, y, gram, limit, c, eta, units, changed)
        if done < stop - start:
            return start + done
        inputs = _inputs(np.eye(height - w), here, there, part, shift - w)
        np.dot(_lift(W, inputs), z[w:height], frame)
        mean += frame[d]
        adapt[:] = changed
        for i in range(len(y)):
            seen[r * start + i] = half[:w, i]
            squares[r * start + i] = gram[i, i]
            for k in range(d):
                strain += eta[i // r] * max(-c[i // r, i % r], 0.0) * y[i, k] ** 2
    return -1


@cache
def pointer(step: Any) -> Any:
    """Return a step as a function pointer: numba would look for it at every call, for 0.3 ms."""
    return types.CompileResultWAP(step.get_compile_result(STEP))


@cache
def advance_loop() -> Any:
    """Return the loop over blocks, which is compiled once for all rules."""
    rows = types.Array(types.float64, 2, "C", readonly=True)
    group: Any = types.Tuple
    step, kind = types.FunctionType(STEP), group((types.boolean, types.boolean))
    terms, out = group((WHOLE, WHOLE, LINE, TABLE, LINE)), group((TABLE, TABLE, LINE))
    loop = njit(cache=True, error_model="numpy", nogil=True)(_advance)
    loop.compile(
        types.intp(step, kind, types.intp, TABLE, TABLE, TABLE, LINE, LINE, LINE, rows, terms, out)
    )
    loop.disable_compile()  # rules are passed as function pointers, not compiled in
    return loop


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def mean_shares(weights: Any, total: float, keep: float) -> Any:
    """Return each row's share in the running mean when it comes, and the total weights after it.

    The weight of what was seen before shrinks by the factor ``keep`` at each row.

    >>> mean_shares(np.ones(3), 1.0, 1.0)
    (array([0.5       , 0.33333333, 0.25      ]), array([2., 3., 4.]))
    """
    shares = np.zeros(weights.shape[0])
    totals = np.empty(weights.shape[0])
    for t in range(weights.shape[0]):
        total *= keep
        if weights[t] > 0.0:
            shares[t] = weights[t] / (total + weights[t])
        total += weights[t]
        totals[t] = total
    return shares, totals
