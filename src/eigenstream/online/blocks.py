"""Blocks of steps: a sequential rule at the speed of matrix products.

A Hebbian rule sees an input vector u only through its inner products with the weights. It changes
the weights by multiples of u and of the weights themselves. Over a block of inputs the weights stay
in the span of themselves and the block. The engine forms the inner products of a block at once,
takes the steps in order on short tables, and updates the weights by one matrix product.
The result is that of the sequential rule, to rounding.
"""

from functools import cache
from math import hypot, sqrt
from typing import Any

import numpy as np

from eigenstream.kernels.base import njit, types
from eigenstream.online.rules import inner, loops, zeros

__all__ = ["advance_loop", "automatic", "mean_shares", "next_rate", "pointer"]

#: Penalised terms let the errors of an orthonormal frame grow by exp(strain). The frame is made
#: orthonormal again at this strain. A larger value costs digits, a smaller one time.
STRAIN = 2.0

#: The weights explode if the square of their responses exceeds that of the rows by EXPLODED, or a
#: step the weights by STRETCH.
EXPLODED, STRETCH = 1e18, 1e6

#: The numbers of the automatic learning rate, see ``next_rate``.
MEAN, FACTOR, KEEP, MEDIAN, COUNT = range(5)

#: The changes of the running median, and the root of the largest step in running medians.
UP, DOWN, TEN = sqrt(1.05), sqrt(1.0 / 1.05), sqrt(10.0)

TABLE, LINE, WHOLE = types.float64[:, ::1], types.float64[::1], types.int64[::1]
STEP = types.void(TABLE, TABLE, TABLE, TABLE, LINE, LINE)


def automatic(factor: float, keep: float) -> Any:
    """Return the numbers of the automatic learning rate; factor 0 is for given rates."""
    return np.array([0.0, factor, keep, 0.0, 0.0])


@inner
def _multiply(left, right, out):
    np.dot(left, right, out)


@inner
def _multiply_transposed(left, right, out):
    np.dot(left, right.T, out)


@inner
def _inputs(table, now, past, shares, shift, turned, out):
    """Turn a table that is linear in rows into that of the input vectors, and last of the mean.

    The first vector of step t is row now[t] less the mean of the rows before. The second is row
    now[t] less row past[t]. Row i is row i + ``shift`` of the table. ``turned`` writes columns.
    """
    r, last = 1 + (len(past) > 0), len(out) - 1
    if turned:
        last = out.shape[1] - 1
    for j in range(table.shape[1]):
        mean = 0.0
        for i in range(last + 1):
            t = i // r
            if i == last:
                gap = mean
            elif i % r == 1:
                gap = table[now[t] + shift, j] - table[past[t] + shift, j]
            else:
                gap = table[now[t] + shift, j] - mean
                mean += shares[t] * gap
            if turned:
                out[j, i] = gap
            else:
                out[i, j] = gap


@inner
def _rule_tables(inner, own, half, gram, r, renew, W, U):
    """Write what the rule takes for its weights W and for its input vectors U.

    In W the first columns are coefficients of the weights on the frame. The column of an input
    vector holds the inner products with it up to its own step, and the coefficients on it from then
    on. ``inner`` holds those of the frame, from row ``own`` on. With ``renew`` a Newton-Schulz step
    makes an orthonormal frame of it.
    """
    d, slots = len(W), len(U)
    before, products = zeros(d, d), zeros(d, slots + 1)
    for k in range(d):
        before[k, k] = 1.0
        for j in range(d if renew else 0):
            before[k, j] = 1.5 * before[k, j] - 0.5 * inner[own + k, own + j]
    _multiply(before, half[own : own + d], products)
    for k in range(d):
        for j in range(d):
            W[k, j] = before[k, j]
        for j in range(slots):
            W[k, d + j] = products[k, j]
    for i in range(slots):
        U[i, d + i] = 1.0
        for j in range(i // r * r + r, slots):
            U[i, d + j] = gram[i, j]


@inner
def next_rate(rate, strength, penalty, adapt):
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
        adapt[MEDIAN] *= UP if strength > adapt[MEDIAN] else DOWN
    share = 4.0 / (adapt[COUNT] + 3.0)
    most = TEN * adapt[MEDIAN]
    counted = most if most < strength else strength
    adapt[MEAN] = hypot(sqrt(1.0 - share) * adapt[MEAN], sqrt(share) * counted)
    size = sqrt(adapt[COUNT]) * adapt[MEAN] / adapt[FACTOR]
    size = strength if strength > size else size
    return 1.0 / (penalty if penalty > size else size)


@inner
def _largest(table):
    """Return the largest number on the diagonal, or NaN."""
    most = table[0, 0]
    for i in range(1, len(table)):
        if most == most and not table[i, i] <= most:
            most = table[i, i]
    return most


@inner
def _strength(gram, responses, signs):
    """Return |A V| by the inner products of the input vectors and of their responses."""
    g, y, total = _largest(gram), _largest(responses), 0.0
    if g <= 0.0 or y <= 0.0:
        return 0.0
    for i in range(len(signs)):
        for j in range(len(signs)):
            total += signs[i] * signs[j] * (gram[i, j] / g) * (responses[i, j] / y)
    return sqrt(g) * sqrt(y) * sqrt(0.0 if total < 0.0 else total)


@inner
def _take_steps(step, W, U, Y, gram, limit, signs, rates, adapt):
    """Take the steps of a block in order. Return how many were sound."""
    d, (steps, r) = len(W), signs.shape
    G, responses, eta = zeros(r, r), zeros(r, r), zeros(r, d)[0]
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
            load = -signs[t, i] * G[i, i]
            penalty = load if load > penalty else penalty
        strength = _strength(G, responses, signs[t])
        rates[t] = next_rate(rates[t], strength, penalty, adapt)
        if not sound or rates[t] * strength >= STRETCH:
            return t
        for k in range(d):
            eta[k] = rates[t]
        step(W, U[at : at + r], Y[at : at + r], G, signs[t], eta)
    total = 0.0
    for k in range(d):
        for j in range(W.shape[1]):
            total += W[k, j]
    return steps if total - total == 0.0 else steps - 1


@inner
def _products(z, w, frame, rows, first, last, mean, begin):
    """Write the frame, the rows less the mean, and zeros, to z; return the inner products.

    Those of rows of z before ``begin`` are left out.
    """
    d, n, height = len(frame) - 1, last - first, len(z)
    for i in range(height - w):
        for j in range(len(mean)):
            if i < d:
                z[w + i, j] = frame[i, j]
            else:
                z[w + i, j] = rows[first + i - d, j] - mean[j] if i < d + n else 0.0
    out, part = zeros(height, height), zeros(height - begin, height)
    _multiply_transposed(z[begin:], z, part)
    for i in range(height - begin):
        for k in range(height):
            out[begin + i, k] = part[i, k]
            out[k, begin + i] = part[i, k]
    return out


@inner
def _lift(W, now, past, shares, shift, z, frame):
    """Write the new weights, and last the change of the mean, to the frame."""
    d, r, height = len(W), 1 + (len(past) > 0), len(z)
    slots = r * len(now)
    unit, inputs, lift = zeros(height, height), zeros(slots + 1, height), zeros(d + 1, height)
    for i in range(height):
        unit[i, i] = 1.0
    _inputs(unit, now, past, shares, shift, len(unit) == 0, inputs)
    own = zeros(d, slots)
    for k in range(d):
        for i in range(slots):
            own[k, i] = W[k, d + i]
    _multiply(own, inputs[:slots], lift[:d])
    for j in range(height):
        lift[d, j] = inputs[slots, j]
        for k in range(d if j < d else 0):
            lift[k, j] = W[k, j]
    _multiply(lift, z, frame)


def _advance(step, size, z, frame, watched, mean, adapt, rows, terms, out):
    """Take all steps, in blocks of ``size``; return the step that failed, or -1.

    ``z`` is room for the vectors of a block. The frame
    holds the weights and, in its last row, the change of the mean. ``terms`` are, for each step,
    the rows of its vectors, its share in the mean, the vectors' signed weights and the learning
    rate, which is replaced by the one used. ``out`` receives the responses of the weights and of
    the watched vectors, and the squared lengths of the input vectors. A block with a bad step
    changes nothing.
    """
    now, past, shares, signs, rates = terms
    Y, seen, squares = out
    w, d, (total, r) = len(watched), len(frame) - 1, signs.shape
    for i in range(w):
        for j in range(len(mean)):
            z[i, j] = watched[i, j]
    strain, changed = STRAIN, zeros(r, len(adapt))[0]
    for start in range(0, total, size):
        stop = start + size if start + size < total else total
        renew = strain >= STRAIN
        strain = 0.25 + (0.0 if renew else strain)  # rounding alone renews after 8 blocks
        first, last = past[start] if r == 2 else now[start], now[stop - 1] + 1
        height = (w + d + (last - first) + 3) // 4 * 4
        here, there, part = now[start:stop], past[start:stop], shares[start:stop]
        inner = _products(z[:height], w, frame, rows, first, last, mean, w if renew else w + d)
        shift, slots = w + d - first, r * (stop - start)
        half, gram = zeros(height, slots + 1), zeros(slots + 1, slots + 1)
        turned = total > 0  # not a constant, for which numba would compile a second time
        _inputs(inner, here, there, part, shift, turned, half)
        _inputs(half, here, there, part, shift, not turned, gram)
        width = (d + slots + 15) // 16 * 16  # whole registers
        W, U = zeros(d, width), zeros(slots, width)
        _rule_tables(inner, w, half, gram, r, renew, W, U)
        y, c, eta = Y[r * start : r * stop], signs[start:stop], rates[start:stop]
        for i in range(len(adapt)):
            changed[i] = adapt[i]
        done = _take_steps(step, W, U, y, gram, EXPLODED * _largest(inner), c, eta, changed)
        if done < stop - start:
            return start + done
        _lift(W, here, there, part, shift - w, z[w:height], frame)
        for j in range(len(mean)):
            mean[j] += frame[d, j]
        for i in range(len(adapt)):
            adapt[i] = changed[i]
        for i in range(slots):
            for j in range(w):
                seen[r * start + i, j] = half[j, i]
            squares[r * start + i] = gram[i, i]
            load = -c[i // r, i % r]
            for k in range(d if load > 0.0 else 0):
                strain += eta[i // r] * load * (y[i, k] * y[i, k])
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
    step = types.FunctionType(STEP)
    terms, out = group((WHOLE, WHOLE, LINE, TABLE, LINE)), group((TABLE, TABLE, LINE))
    loop = njit(cache=True, error_model="numpy", nogil=True, no_cfunc_wrapper=True)(_advance)
    loop.compile(types.intp(step, types.intp, TABLE, TABLE, TABLE, LINE, LINE, rows, terms, out))
    (compiled,) = loop.overloads.values()
    return compiled.entry_point  # the dispatcher would look at the types for 0.2 ms a call


def mean_shares(weights: Any, total: float, keep: float) -> Any:
    """Return each row's share in the running mean when it comes, and the total weights after it.

    The weight of what was seen before shrinks by the factor ``keep`` at each row.

    >>> mean_shares(np.ones(3), 1.0, 1.0)
    (array([0.5       , 0.33333333, 0.25      ]), array([2., 3., 4.]))
    """
    shares, totals = np.zeros(len(weights)), np.empty(len(weights))
    _shares(np.ascontiguousarray(weights, np.float64), float(total), float(keep), shares, totals)
    return shares, totals


@loops
def _shares(weights, total, keep, shares, totals):
    for t in range(len(weights)):
        total *= keep
        if weights[t] > 0.0:
            shares[t] = weights[t] / (total + weights[t])
        total += weights[t]
        totals[t] = total
