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
from eigenstream.rules.base import Rule, next_gain
from eigenstream.rules.engine import LINE, sweep_one, sweep_two

__all__ = ["OJA_FLOW"]

#: A step that stretches W by more than the square root of this is no small change of V any more.
STRETCH = 1e12


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _padded(moved: Any, r: int) -> Any:
    """Return a copy of ``moved`` with columns of zeros behind, and room for a step's sums.

    The last step's change of V is not carried out before the next one reads all of V: (factors)
    holds its y in r columns and, in as many again, what the next step multiplies V with;
    (change) what is to be added to V a unit of y, and then the next step's products with V.
    """
    d, width = moved.shape
    wide = -(-width // LINE) * LINE
    table = np.zeros((d, wide))
    for k in range(d):
        for j in range(width):
            table[k, j] = moved[k, j]
    return table, np.zeros((d, 2 * r)), np.zeros((2 * r, wide))


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _read(table: Any, factors: Any, change: Any, slot: int, responses: Any, row: int) -> float:
    """Read <w_k, u> from u's column, free the column for coefficients; return |response|^2."""
    total, r = 0.0, factors.shape[1] // 2
    for k in range(table.shape[0]):
        y = table[k, slot]
        for i in range(r):
            y += factors[k, i] * change[i, slot]
        table[k, slot] = 0.0
        responses[row, k] = y
        total += y * y
    for i in range(r):
        change[i, slot] = 0.0
    return total


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _single(
    moved: Any,
    gram: Any,
    _own: Any,
    signs: Any,
    gains: Any,
    _rates: Any,
    adapt: Any,
    responses: Any,
) -> int:
    """Take steps with one vector each, where everything above is a number.

    One gain for all columns keeps the span free of the basis.
    """
    d, width = moved.shape
    table, factors, change = _padded(moved, 1)
    for t in range(signs.shape[0]):
        c = signs[t, 0]
        k = _read(table, factors, change, d + t, responses, t)
        # |u|^2 = |V^T u|^2 up to rounding when V holds u, as it does at the start.
        g = max(gram[t, t], k)
        eta = next_gain(gains, t, c * c * g * k, max(-c, 0.0) * g, adapt)
        s = eta * eta * c * c * (g - k)
        if not s * k < STRETCH:
            return t
        r = np.sqrt(1.0 + s * k)
        m = -s / (r * (r + 1.0))
        n = eta * c * (1.0 + k * m)
        for i in range(d):
            factors[i, 1] = (m - n) * responses[t, i]
        sweep_one(table, factors, change)
        for i in range(d):
            factors[i, 0] = responses[t, i]
        # The column of the step's own vector holds coefficients from now on, later ones products.
        one, found = change[0], change[1]
        for j in range(d + t):
            one[j] = found[j]
        one[d + t] = n
        one, found, products = one[d + t + 1 :], found[d + t + 1 :], gram[t, t + 1 :]
        for j in range(products.shape[0]):
            one[j] = found[j] + n * products[j]
    factors[:, 1] = 0.0
    sweep_one(table, factors, change)
    for k_ in range(d):
        for j in range(width):
            moved[k_, j] = table[k_, j]
    return int(signs.shape[0])


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _pair(
    moved: Any,
    gram: Any,
    _own: Any,
    signs: Any,
    gains: Any,
    _rates: Any,
    adapt: Any,
    responses: Any,
) -> int:
    """Take steps with two vectors each (rewarded and penalised): the matrices above are 2 x 2."""
    d, width = moved.shape
    table, factors, change = _padded(moved, 2)
    for t in range(signs.shape[0]):
        a, b = 2 * t, 2 * t + 1
        c1, c2 = signs[t, 0], signs[t, 1]
        g11, g12, g22 = gram[a, a], gram[a, b], gram[b, b]
        k11 = _read(table, factors, change, d + a, responses, a)
        k22 = _read(table, factors, change, d + b, responses, b)
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
        for i in range(d):
            x, y = responses[a, i], responses[b, i]
            factors[i, 2] = (m11 - n11) * x + (m21 - n21) * y
            factors[i, 3] = (m12 - n12) * x + (m22 - n22) * y
        sweep_two(table, factors, change)
        for i in range(d):
            factors[i, 0], factors[i, 1] = responses[a, i], responses[b, i]
        # The columns of the step's own vectors hold coefficients from now on, later ones products.
        one, two, with_one, with_two = change[0], change[1], change[2], change[3]
        for j in range(d + a):
            one[j], two[j] = with_one[j], with_two[j]
        one[d + a], one[d + b], two[d + a], two[d + b] = n11, n21, n12, n22
        one, two = one[d + b + 1 :], two[d + b + 1 :]
        with_one, with_two = with_one[d + b + 1 :], with_two[d + b + 1 :]
        of_first, of_second = gram[a, b + 1 :], gram[b, b + 1 :]
        for j in range(of_first.shape[0]):
            x, y = of_first[j], of_second[j]
            one[j] = with_one[j] + (n11 * x + n21 * y)
            two[j] = with_two[j] + (n12 * x + n22 * y)
    factors[:, 2:] = 0.0
    sweep_two(table, factors, change)
    for k in range(d):
        for j in range(width):
            moved[k, j] = table[k, j]
    return int(signs.shape[0])


OJA_FLOW = Rule("oja_flow", _single, orthonormal=True, run_pair=_pair)
