"""Blocks of steps: a sequential rule at the speed of matrix products.

A Hebbian rule sees an input vector u only through its inner products with the weights. It changes
the weights by multiples of u and of the weights themselves. Over a block of inputs the weights stay
in the span of themselves and the block. The engine forms the inner products of a block at once,
takes the steps in order on short tables, and updates the weights by one matrix product.
The result is that of the sequential rule, to rounding.
"""

from functools import cache
from itertools import accumulate
from math import hypot, sqrt
from typing import Any

import numpy as np

from eigenstream.kernels.base import njit, types

#: The decorator of functions that only loops call: numba makes no entry from Python.
_inner = njit(cache=True, error_model="numpy", fastmath={"contract"}, no_cpython_wrapper=True)

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


def automatic(factor: float, keep: float) -> Any:
    """Return the numbers of the automatic learning rate; factor 0 is for given rates."""
    return np.array([0.0, factor, keep, 0.0, 0.0])


@_inner
def _zeros(n, m):
    """Return a table of zeros: numba compiles each call of ``np.zeros`` again."""
    return np.zeros((n, m))


@_inner
def _inputs(table, now, past, shares, start, stop, shift, out):
    """Turn a table that is linear in rows into columns of the input vectors, and last of the mean.

    The first vector of step t is row now[t] less the mean of the rows before. The second is row
    now[t] less row past[t]. Row i is row i + ``shift`` of the table.
    """
    for j in range(len(out)):
        mean, i = 0.0, 0
        for t in range(start, stop):
            row = table[now[t] + shift, j]
            out[j, i] = row - mean
            mean += shares[t] * out[j, i]
            i += 1
            if len(past) > 0:
                out[j, i] = row - table[past[t] + shift, j]
                i += 1
        out[j, i] = mean


@_inner
def _rule_tables(inner, own, half, gram, r, renew, W, U):
    """Write what the rule takes for its weights W and for its input vectors U.

    In W the first columns are coefficients of the weights on the frame. The column of an input
    vector holds the inner products with it up to its own step, and the coefficients on it from then
    on. ``half`` holds those of the frame, from row ``own`` on. With ``renew`` a Newton-Schulz step
    by the inner products ``inner`` makes an orthonormal frame of it.
    """
    d, slots = len(W), len(U)
    before, products = _zeros(d, d), _zeros(d, slots + 1)
    for k in range(d):
        before[k, k] = 1.0
        for j in range(d if renew else 0):
            before[k, j] = 1.5 * before[k, j] - 0.5 * inner[k, own + j]
    np.dot(before, half[own : own + d], products)
    for k in range(d):
        for j in range(d):
            W[k, j] = before[k, j]
        for j in range(slots):
            W[k, d + j] = products[k, j]
    for i in range(slots):
        U[i, d + i] = 1.0
        for j in range(i // r * r + r, slots):
            U[i, d + j] = gram[i, j]


@_inner
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


@_inner
def _flow_factors(c1, c2, g11, g12, g22, k11, k12, k22):
    """Return the factors N and M of a step of the Oja-Karhunen flow ([SLOW] eq. 6).

    The step W += eta Y'C (U - Y W), C = diag(c), makes the rows of W orthonormal again. The span
    does not depend on how. The symmetric way, (W W')^(-1/2) W, changes W by a matrix of rank 2, the
    number of input vectors. With G = U U', K = Y Y', S = eta^2 C (G - K) C and R = (I + S K)^(1/2),

        W += Y' (N' (U - Y W) + M Y W),   M = -(R (R + I))^(-1) S,   N = eta C (I + K M).

    M is symmetric. ``c1`` and ``c2`` are the elements of eta C.
    """
    # S is positive semidefinite up to rounding: keep it so. The square of eta may overflow.
    s11 = c1 * (c1 * (g11 - k11)) if g11 > k11 else 0.0
    s22 = c2 * (c2 * (g22 - k22)) if g22 > k22 else 0.0
    s12, most = c1 * (c2 * (g12 - k12)), sqrt(s11) * sqrt(s22)
    s12 = most if s12 > most else -most if s12 < -most else s12
    # B = I + S K, R = (B + det^(1/2) I) / (tr B + 2 det^(1/2))^(1/2), and R (R + I) = B + R.
    b11, b12 = 1.0 + s11 * k11 + s12 * k12, s11 * k12 + s12 * k22
    b21, b22 = s12 * k11 + s22 * k12, 1.0 + s12 * k12 + s22 * k22
    det = b11 * b22 - b12 * b21
    det = sqrt(det) if det > 1.0 else 1.0
    root = sqrt(b11 + b22 + 2.0 * det)
    b11, b12 = b11 + (b11 + det) / root, b12 + b12 / root
    b21, b22 = b21 + b21 / root, b22 + (b22 + det) / root
    det = b11 * b22 - b12 * b21
    m11, m12 = (b12 * s12 - b22 * s11) / det, (b12 * s22 - b22 * s12) / det
    m22 = (b21 * s12 - b11 * s22) / det
    n11, n12 = c1 * (1.0 + k11 * m11 + k12 * m12), c1 * (k11 * m12 + k12 * m22)
    n21, n22 = c2 * (k12 * m11 + k22 * m12), c2 * (1.0 + k12 * m12 + k22 * m22)
    return n11, n12, n21, n22, m11, m12, m22


@_inner
def _take_steps(W, U, Y, gram, limit, signs, rates, start, adapt):
    """Take the steps of a block in order. Return how many were sound."""
    (d, width), r = W.shape, signs.shape[1]
    two = r - 1.0  # with one input vector, all terms of the second are zero
    change = _zeros(r + 1, width)
    p, q = change[0], change[r]
    for t in range(len(U) // r):
        i, j = r * t, r * t + r - 1
        c1, c2 = signs[start + t, 0], two * signs[start + t, r - 1]
        g11, g12, g22 = gram[i, i], two * gram[i, j], two * gram[j, j]
        k11 = k12 = k22 = 0.0
        for m in range(width):
            p[m] = q[m] = 0.0
        for k in range(d):
            a, b = W[k, d + i], two * W[k, d + j]
            W[k, d + i] = W[k, d + j] = 0.0  # from inner products with u to coefficients on u
            Y[r * start + j, k] = b
            Y[r * start + i, k] = a
            k11, k12, k22 = k11 + a * a, k12 + a * b, k22 + b * b
            for m in range(width):
                p[m] += a * W[k, m]
                q[m] += b * W[k, m]
        g, y = g11 if g11 > g22 else g22, k11 if k11 > k22 else k22
        strength = penalty = 0.0
        if g > 0.0 and y > 0.0:
            cross = 2.0 * c1 * c2 * (g12 / g) * (k12 / y)
            total = c1 * c1 * (g11 / g) * (k11 / y) + cross + c2 * c2 * (g22 / g) * (k22 / y)
            strength = sqrt(g) * sqrt(y) * sqrt(total) if total > 0.0 else 0.0
        penalty = -c1 * g11 if -c1 * g11 > penalty else penalty
        penalty = -c2 * g22 if -c2 * g22 > penalty else penalty
        eta = rates[start + t] = next_rate(rates[start + t], strength, penalty, adapt)
        if not (y < np.inf and y <= limit and eta * strength < STRETCH):
            return t
        n11, n12, n21, n22, m11, m12, m22 = _flow_factors(
            eta * c1, eta * c2, g11, g12, g22, k11, k12, k22
        )
        for m in range(width):
            a, b, u, v = p[m], q[m], U[i, m], U[j, m]
            p[m] = n11 * (u - a) + n21 * (v - b) + m11 * a + m12 * b
            q[m] = n12 * (u - a) + n22 * (v - b) + m12 * a + m22 * b
        for k in range(d):
            a, b = Y[r * start + i, k], two * Y[r * start + j, k]
            for m in range(width):
                W[k, m] += a * p[m] + b * q[m]
    total = 0.0
    for k in range(d):
        for m in range(width):
            total += W[k, m]
    return len(U) // r if total - total == 0.0 else len(U) // r - 1


@_inner
def _lift(W, now, past, shares, start, stop, shift, lift):
    """Write the coefficients of the new weights, and last of the change of the mean, on the frame.

    The loop over the steps is that of ``_inputs``, backwards.
    """
    d, r = len(W), 1 + (len(past) > 0)
    for k in range(d + 1):
        mean = 1.0 if k == d else 0.0
        for j in range(d if k < d else 0):
            lift[k, j] = W[k, j]
        for t in range(stop - 1, start - 1, -1):
            gap = shares[t] * mean
            if k < d:
                gap += W[k, d + r * (t - start)]
            mean -= gap
            if r == 2 and k < d:
                gap += W[k, d + r * (t - start) + 1]
                lift[k, past[t] + shift] -= W[k, d + r * (t - start) + 1]
            lift[k, now[t] + shift] += gap


def _advance(size, z, frame, watched, mean, adapt, rows, terms, out):
    """Take all steps, in blocks of ``size``; return the step that failed, or -1.

    ``z`` is room for the vectors of a block. The frame holds the weights and, in its last row, the
    change of the mean. ``terms`` are, for each step, the rows of its vectors, its share in the
    mean, the vectors' signed weights and the learning rate, which is replaced by the one used.
    ``out`` receives the responses of the weights and of the watched vectors, and the squared
    lengths of the input vectors. A block with a bad step changes nothing.
    """
    now, past, shares, signs, rates = terms
    Y, seen, squares = out
    w, d, (total, r) = len(watched), len(frame) - 1, signs.shape
    for i in range(w):
        for j in range(len(mean)):
            z[i, j] = watched[i, j]
    strain, changed = STRAIN, _zeros(r, len(adapt))[0]
    for start in range(0, total, size):
        stop = start + size if start + size < total else total
        renew = strain >= STRAIN
        strain = 0.25 + (0.0 if renew else strain)  # rounding alone renews after 8 blocks
        first, last = past[start] if r == 2 else now[start], now[stop - 1] + 1
        height, begin = (w + d + (last - first) + 3) // 4 * 4, w if renew else w + d
        for i in range(height - w):
            for j in range(len(mean)):
                if i < d:
                    z[w + i, j] = frame[i, j]
                else:
                    row = first + i - d
                    z[w + i, j] = rows[row, j] - mean[j] if row < last else 0.0
        inner = _zeros(height - begin, height)
        np.dot(z[begin:height], z[:height].T, inner)
        shift, slots, longest = w + d - first, r * (stop - start), 0.0
        half, gram = _zeros(height, slots + 1), _zeros(slots + 1, slots + 1)
        _inputs(inner, now, past, shares, start, stop, shift - begin, half)
        _inputs(half, now, past, shares, start, stop, shift, gram)
        width = (d + slots + 15) // 16 * 16  # whole registers
        W, U = _zeros(d, width), _zeros(slots, width)
        _rule_tables(inner, w, half, gram, r, renew, W, U)
        for i in range(len(inner)):
            if longest == longest and not inner[i, begin + i] <= longest:
                longest = inner[i, begin + i]
        for i in range(len(adapt)):
            changed[i] = adapt[i]
        done = _take_steps(W, U, Y, gram, EXPLODED * longest, signs, rates, start, changed)
        if done < stop - start:
            return start + done
        lift = _zeros(d + 1, height - w)
        _lift(W, now, past, shares, start, stop, shift - w, lift)
        np.dot(lift, z[w:height], frame)
        for j in range(len(mean)):
            mean[j] += frame[d, j]
        for i in range(len(adapt)):
            adapt[i] = changed[i]
        for i in range(slots):
            at = r * start + i
            for j in range(w):
                seen[at, j] = half[j, i]
            squares[at] = gram[i, i]
            load = -signs[start + i // r, i % r]
            for k in range(d if load > 0.0 else 0):
                strain += rates[start + i // r] * load * (Y[at, k] * Y[at, k])
    return -1


@cache
def advance_loop() -> Any:
    """Return the compiled loop over blocks."""
    rows = types.Array(types.float64, 2, "C", readonly=True)
    group: Any = types.Tuple
    terms, out = group((WHOLE, WHOLE, LINE, TABLE, LINE)), group((TABLE, TABLE, LINE))
    loop = njit(cache=True, error_model="numpy", nogil=True)(_advance)
    loop.compile(types.intp(types.intp, TABLE, TABLE, TABLE, LINE, LINE, rows, terms, out))
    (compiled,) = loop.overloads.values()
    return compiled.entry_point  # the dispatcher would look at the types for 0.2 ms a call


def mean_shares(weights: Any, total: float, keep: float) -> Any:
    """Return each row's share in the running mean when it comes, and the total weights after it.

    The weight of what was seen before shrinks by the factor ``keep`` at each row.

    >>> mean_shares(np.ones(3), 1.0, 1.0)
    (array([0.5       , 0.33333333, 0.25      ]), array([2., 3., 4.]))
    """
    totals = np.cumsum(np.append(total, weights))[1:]
    if keep < 1.0:
        add = accumulate(weights.tolist(), lambda past, weight: keep * past + weight, initial=total)
        totals = np.array(list(add))[1:]
    return weights / totals, totals
