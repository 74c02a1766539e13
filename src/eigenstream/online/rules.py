"""Hebbian rules: compiled functions that take one learning step.

A rule is a function ``step(W, U, Y, G, c, eta)`` that changes W, one weight vector a row, in place.
U holds the one or two input vectors of the step. Y = U W' and G = U U' are their inner products.
c has their signed weights. eta has a learning rate for each unit. A step treats all columns
of (W, U) alike: it is the textbook's rule on long vectors, and serves the engine on short tables.
"""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from eigenstream.kernels.base import njit

__all__ = ["OJA_FLOW", "RULES", "Rule", "UnstableStepError", "inner", "loops", "zeros"]

#: The decorator of the compiled loops of the rules and of the engine.
loops = njit(cache=True, error_model="numpy", fastmath={"contract"})

#: The decorator of functions that only loops call: numba makes no entry from Python or C.
inner = njit(
    cache=True,
    error_model="numpy",
    fastmath={"contract"},
    no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
)


class UnstableStepError(ArithmeticError):
    """Error of a learning step that gives infinite or exploding numbers.

    The weights are those before the unstable block.

    Parameters
    ----------
    step : int
        The number of the step, counted from 0.
    gain : float
        The learning rate.
    remedy : str, default=""
        The last sentence of the message.

    Examples
    --------
    >>> from eigenstream import OjaNeuron
    >>> OjaNeuron(form="linear", learning_rate=100.0).fit(np.eye(3))
    Traceback (most recent call last):
        ...
    eigenstream.online.rules.UnstableStepError: ...
    """

    #: True if the learner keeps the result of earlier steps.
    keeps = False
    #: The weights before the unstable block are valid, so ``partial_fit`` keeps them.
    valid = True

    def __init__(self, step: int, gain: float, remedy: str = "") -> None:
        self.step, self.gain, self.remedy = step, gain, remedy
        cause = f"the learning rate {gain:.3g} makes step {step} unstable: the weights explode."
        if not gain > 0.0:  # the automatic rate of an infinite square
            cause = f"the numbers of step {step} are too large to be squared: scale the data down."
        elif not remedy:
            cause += " Use a smaller learning rate or learning_rate='auto', or scale the data down."
        super().__init__(f"{cause} {remedy or 'The weights after the last good block are kept.'}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments, so that the error crosses process borders."""
        return type(self), (self.step, self.gain, self.remedy)


@inner
def zeros(n, m):
    """Return a table of zeros: numba compiles each call of ``np.zeros`` again."""
    return np.zeros((n, m))


@inner
def _combine(y, rows, out):
    """Write y @ rows to ``out``, four rows at a time: one product is too little work for BLAS."""
    for j in range(len(out)):
        out[j] = 0.0
    four = len(y) // 4 * 4
    for k in range(0, four, 4):
        a, b, c, d = y[k], y[k + 1], y[k + 2], y[k + 3]
        p, q, r, s = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        for j in range(len(out)):
            out[j] += a * p[j] + b * q[j] + c * r[j] + d * s[j]
    for k in range(four, len(y)):
        p = rows[k]
        for j in range(len(out)):
            out[j] += y[k] * p[j]


@loops
def _oja_flow(W, U, Y, G, c, eta):
    """Take the step W += eta Y'C (U - Y W), C = diag(c), and make the rows orthonormal again.

    This is the Oja-Karhunen flow ([SLOW] eq. 6). The span does not depend on how the rows are made
    orthonormal. The symmetric way, (W W')^(-1/2) W, changes W by a matrix of rank 1 or 2, the
    number of input vectors. With K = Y Y', S = eta^2 C (G - K) C and R = (I + S K)^(1/2),

        W += Y' (N' U + (M - N)' Y W),   M = -(R (R + I))^(-1) S,   N = eta C (I + K M).
    """
    d, last = len(W), len(U) - 1
    two = float(last)  # with one input vector, all terms of the second are zero
    c1, c2 = eta[0] * c[0], two * eta[0] * c[last]
    g11, g12, g22 = G[0, 0], two * G[0, last], two * G[last, last]
    k11 = k12 = k22 = 0.0
    for k in range(d):
        k11 += Y[0, k] * Y[0, k]
        k12 += two * Y[0, k] * Y[last, k]
        k22 += two * Y[last, k] * Y[last, k]
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
    m21, m22 = (b21 * s11 - b11 * s12) / det, (b21 * s12 - b11 * s22) / det
    n11, n12 = c1 * (1.0 + k11 * m11 + k12 * m21), c1 * (k11 * m12 + k12 * m22)
    n21, n22 = c2 * (k12 * m11 + k22 * m21), c2 * (1.0 + k12 * m12 + k22 * m22)
    change = zeros(last + 1, W.shape[1])
    p, q, u, v = change[0], change[last], U[0], U[last]
    for i in range(last + 1):
        _combine(Y[i], W, change[i])
    for j in range(len(u)):
        if last == 0:
            p[j] = n11 * u[j] + (m11 - n11) * p[j]
        else:
            a, b = p[j], q[j]
            p[j] = n11 * u[j] + n21 * v[j] + (m11 - n11) * a + (m21 - n21) * b
            q[j] = n12 * u[j] + n22 * v[j] + (m12 - n12) * a + (m22 - n22) * b
    for k in range(d):
        w, a, b = W[k], Y[0, k], two * Y[last, k]
        for j in range(len(w)):
            w[j] += a * p[j] + b * q[j]


class Rule(NamedTuple):
    """A rule by which one observation changes the weights.

    Attributes
    ----------
    name : str
        The name of the rule.
    step : compiled function
        The step.
    """

    name: str
    step: Any

    def __reduce__(self) -> str:
        """Pickle and copy by the name of the constant, not by the compiled function."""
        return self.name.upper()


OJA_FLOW = Rule("oja_flow", _oja_flow)

#: The rules by name.
RULES = {OJA_FLOW.name: OJA_FLOW}
