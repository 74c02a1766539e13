"""The Oja-Karhunen flow with orthonormalisation, for any signed contrast ([SLOW] eq. 6).

One step is W = V + eta (I - V V^T) A V with A = sum_j c_j u_j u_j^T, then V = W orthonormalised.
The span does not depend on how one orthonormalises, so V = W (W^T W)^(-1/2), which is closed form:
with y_j = V^T u_j, K = (<y_i, y_j>), G = (<u_i, u_j>), C = diag(c),

    S = eta^2 C (G - K) C,   R = (I + S K)^(1/2),   M = -(R (R + I))^(-1) S,   N = eta C (I + K M)
    V <- V + sum_ij [ V y_i (M - N)_ij + u_i N_ij ] y_j^T

so that a step changes V by a matrix of rank r, the number of vectors in A: no QR.
"""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.base import Rule, add_input, next_gain, read_responses

__all__ = ["OJA_FLOW"]

#: A step that stretches W by more than the square root of this is no small change of V any more.
STRETCH = 1e12


@njit(cache=True, error_model="numpy", fastmath={"contract"})  # type: ignore[untyped-decorator, unused-ignore]
def _gather(moved: Any, responses: Any, row: int, factor: float, change: Any) -> None:
    """Add ``factor * sum_k y_k moved_k`` to ``change``; four rows at a time save memory traffic."""
    d, width = moved.shape
    whole = d - d % 4
    for k in range(0, whole, 4):
        f0 = factor * responses[row, k]
        f1 = factor * responses[row, k + 1]
        f2 = factor * responses[row, k + 2]
        f3 = factor * responses[row, k + 3]
        for j in range(width):
            change[j] += (f0 * moved[k, j] + f1 * moved[k + 1, j]) + (
                f2 * moved[k + 2, j] + f3 * moved[k + 3, j]
            )
    for k in range(whole, d):
        f0 = factor * responses[row, k]
        for j in range(width):
            change[j] += f0 * moved[k, j]


@njit(cache=True, error_model="numpy", fastmath={"contract"})  # type: ignore[untyped-decorator, unused-ignore]
def _spread(moved: Any, responses: Any, row: int, change: Any) -> None:
    """Add ``y_k * change`` to row k."""
    for k in range(moved.shape[0]):
        y = responses[row, k]
        for j in range(moved.shape[1]):
            moved[k, j] += y * change[j]


@njit(cache=True, error_model="numpy", fastmath={"contract"})  # type: ignore[untyped-decorator, unused-ignore]
def _gather_pair(moved: Any, responses: Any, row: int, one: Any, two: Any) -> None:
    """Write ``sum_k y_k moved_k`` for both vectors of a step, in one pass over ``moved``."""
    d, width = moved.shape
    whole = d - d % 4
    one[:] = 0.0
    two[:] = 0.0
    for k in range(0, whole, 4):
        m0, m1, m2, m3 = moved[k], moved[k + 1], moved[k + 2], moved[k + 3]
        f0, f1 = responses[row, k], responses[row, k + 1]
        f2, f3 = responses[row, k + 2], responses[row, k + 3]
        g0, g1 = responses[row + 1, k], responses[row + 1, k + 1]
        g2, g3 = responses[row + 1, k + 2], responses[row + 1, k + 3]
        for j in range(width):
            one[j] += (f0 * m0[j] + f1 * m1[j]) + (f2 * m2[j] + f3 * m3[j])
            two[j] += (g0 * m0[j] + g1 * m1[j]) + (g2 * m2[j] + g3 * m3[j])
    for k in range(whole, d):
        for j in range(width):
            one[j] += responses[row, k] * moved[k, j]
            two[j] += responses[row + 1, k] * moved[k, j]


@njit(cache=True, error_model="numpy", fastmath={"contract"})  # type: ignore[untyped-decorator, unused-ignore]
def _combine_pair(one: Any, two: Any, old: Any, new: Any, gram: Any, step: int) -> None:
    """Replace V y_1, V y_2 by what is added to V, one for each y: ``old`` of them, ``new`` inputs.

    ``old``, ``new``: two matrices of 2 x 2 numbers, row by row.
    """
    p11, p12, p21, p22 = old
    n11, n12, n21, n22 = new
    width = one.shape[0]
    slots = gram.shape[0]
    for j in range(width):
        x, y = one[j], two[j]
        one[j] = p11 * x + p21 * y
        two[j] = p12 * x + p22 * y
    # The columns of the step's own vectors hold coefficients from now on, later ones products.
    a, head = 2 * step, width - slots
    one[head + a], one[head + a + 1] = n11, n21
    two[head + a], two[head + a + 1] = n12, n22
    with_first, with_second = gram[a, a + 2 :], gram[a + 1, a + 2 :]
    later_one, later_two = one[head + a + 2 :], two[head + a + 2 :]
    for j in range(slots - a - 2):
        x, y = with_first[j], with_second[j]
        later_one[j] += n11 * x + n21 * y
        later_two[j] += n12 * x + n22 * y


@njit(cache=True, error_model="numpy", fastmath={"contract"})  # type: ignore[untyped-decorator, unused-ignore]
def _spread_pair(moved: Any, responses: Any, row: int, first: Any, second: Any) -> None:
    """Add ``y1_k * first + y2_k * second`` to row k."""
    for k in range(moved.shape[0]):
        y1, y2 = responses[row, k], responses[row + 1, k]
        for j in range(moved.shape[1]):
            moved[k, j] += y1 * first[j] + y2 * second[j]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _single(moved: Any, gram: Any, signs: Any, gains: Any, adapt: Any, responses: Any) -> int:
    """Take steps with one vector each, where everything above is a number."""
    d, width = moved.shape
    change = np.empty(width)
    for t in range(signs.shape[0]):
        c = signs[t, 0]
        k = read_responses(moved, d + t, responses, t)
        # |u|^2 = |V^T u|^2 up to rounding when V holds u, as it does at the start.
        g = max(gram[t, t], k)
        eta = next_gain(gains, t, c * c * g * k, max(-c, 0.0) * g, adapt)
        s = eta * eta * c * c * (g - k)
        if not s * k < STRETCH:
            return t
        r = np.sqrt(1.0 + s * k)
        m = -s / (r * (r + 1.0))
        n = eta * c * (1.0 + k * m)
        change[:] = 0.0
        _gather(moved, responses, t, m - n, change)
        add_input(change, n, gram, d + t, d)
        _spread(moved, responses, t, change)
    return int(signs.shape[0])


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _pair(moved: Any, gram: Any, signs: Any, gains: Any, adapt: Any, responses: Any) -> int:
    """Take steps with two vectors each (rewarded and penalised): the matrices above are 2 x 2."""
    d, width = moved.shape
    one, two = np.empty(width), np.empty(width)
    for t in range(signs.shape[0]):
        a, b = 2 * t, 2 * t + 1
        c1, c2 = signs[t, 0], signs[t, 1]
        g11, g12, g22 = gram[a, a], gram[a, b], gram[b, b]
        k11 = read_responses(moved, d + a, responses, a)
        k22 = read_responses(moved, d + b, responses, b)
        k12 = 0.0
        for i in range(d):
            k12 += responses[a, i] * responses[b, i]
        # |A V|_F^2 = tr(C G C K)
        strength = c1 * c1 * g11 * k11 + 2.0 * c1 * c2 * g12 * k12 + c2 * c2 * g22 * k22
        penalty = max(max(-c1, 0.0) * g11, max(-c2, 0.0) * g22)
        eta = next_gain(gains, t, max(strength, 0.0), penalty, adapt)
        # G - K is positive semidefinite up to rounding: keep S so.
        s11 = eta * eta * c1 * c1 * max(g11 - k11, 0.0)
        s22 = eta * eta * c2 * c2 * max(g22 - k22, 0.0)
        most = np.sqrt(s11 * s22)
        s12 = min(max(eta * eta * c1 * c2 * (g12 - k12), -most), most)
        if not s11 * k11 + s22 * k22 < STRETCH:
            return t
        # B = I + S K, then R = B^(1/2) = (B + det^(1/2) I) / (tr + 2 det^(1/2))^(1/2); det B >= 1
        # because S and K are positive semidefinite.
        b11 = 1.0 + s11 * k11 + s12 * k12
        b12 = s11 * k12 + s12 * k22
        b21 = s12 * k11 + s22 * k12
        b22 = 1.0 + s12 * k12 + s22 * k22
        det = np.sqrt(max(b11 * b22 - b12 * b21, 1.0))
        root = np.sqrt(b11 + b22 + 2.0 * det)
        # R (R + I) = B + R
        b11 += (b11 + det) / root
        b22 += (b22 + det) / root
        b12 += b12 / root
        b21 += b21 / root
        det = b11 * b22 - b12 * b21
        m11 = (b12 * s12 - b22 * s11) / det
        m12 = (b12 * s22 - b22 * s12) / det
        m21 = (b21 * s11 - b11 * s12) / det
        m22 = (b21 * s12 - b11 * s22) / det
        n11 = eta * c1 * (1.0 + k11 * m11 + k12 * m21)
        n12 = eta * c1 * (k11 * m12 + k12 * m22)
        n21 = eta * c2 * (k12 * m11 + k22 * m21)
        n22 = eta * c2 * (1.0 + k12 * m12 + k22 * m22)
        _gather_pair(moved, responses, a, one, two)
        old = (m11 - n11, m12 - n12, m21 - n21, m22 - n22)
        _combine_pair(one, two, old, (n11, n12, n21, n22), gram, t)
        _spread_pair(moved, responses, a, one, two)
    return int(signs.shape[0])


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _run(
    moved: Any,
    gram: Any,
    own: Any,
    signs: Any,
    gains: Any,
    rates: Any,
    adapt: Any,
    responses: Any,
) -> int:
    """Take steps of the flow; one gain for all columns keeps the span free of the basis."""
    if signs.shape[1] == 1:
        return int(_single(moved, gram, signs, gains, adapt, responses))
    return int(_pair(moved, gram, signs, gains, adapt, responses))


OJA_FLOW = Rule("oja_flow", _run, orthonormal=True)
