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
        eta = next_gain(gains, t, c * c * g * k, adapt)
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
    first, second = np.empty(width), np.empty(width)
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
        eta = next_gain(gains, t, max(strength, 0.0), adapt)
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
        one[:] = 0.0
        two[:] = 0.0
        _gather(moved, responses, a, 1.0, one)
        _gather(moved, responses, b, 1.0, two)
        for j in range(width):
            first[j] = (m11 - n11) * one[j] + (m21 - n21) * two[j]
            second[j] = (m12 - n12) * one[j] + (m22 - n22) * two[j]
        add_input(first, n11, gram, d + a, d)
        add_input(first, n21, gram, d + b, d)
        add_input(second, n12, gram, d + a, d)
        add_input(second, n22, gram, d + b, d)
        # add_input also wrote <u_1, u_2> into u_2's column, which is a coefficient by now.
        first[d + b] = n21
        second[d + b] = n22
        _spread_pair(moved, responses, a, first, second)
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
