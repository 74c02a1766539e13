"""Compiled orthant probabilities: up to four Gaussian variables are all positive, exactly.

One variable is the error function, two are Owen's T. Three and four use Plackett's identity. There
dPr / d rho_1j is a product. One factor is the density of variables 1 and j at their bounds. The
other is the orthant probability of the remaining variables given these two. The integral starts at
rho_1j = 0, where variable 1 is independent. It is a smooth integral over one angle.
"""

from math import erfc
from typing import Any

import numpy as np

from eigenstream.kernels.base import njit

__all__ = ["COMPILE", "all_positive"]

COMPILE: dict[str, Any] = {"cache": True, "error_model": "numpy", "nogil": True}

#: The Gauss-Legendre rule on [0, 1] for Owen's T, exact to rounding.
NODES, WEIGHTS = (
    (values + shift) / 2
    for values, shift in zip(np.polynomial.legendre.leggauss(24), (1, 0), strict=True)
)

#: The same for an interval of Plackett's integral. TAILS give the last two Legendre coefficients of
#: the integrand. The coefficients fall geometrically, so the error of the rule is about the square
#: of the last ones. STRETCH is the square root of the tolerance 1e-13. An interval with larger
#: coefficients is halved.
ANGLES, SHARES = (
    (values + shift) / 2
    for values, shift in zip(np.polynomial.legendre.leggauss(16), (1, 0), strict=True)
)
TAILS = (
    np.polynomial.legendre.legvander(2 * ANGLES - 1, 15)[:, 14:] * SHARES[:, None] * [29, 31]
).T.copy()
STRETCH, HALVINGS = 3e-7, 12

#: The number of standard deviations beyond which probabilities vanish in float64.
FAR = 40.0


@njit(**COMPILE)
def _below(h: float) -> Any:
    """Return Pr(X < h)."""
    return 0.5 * erfc(-h * 0.7071067811865476)


@njit(**COMPILE)
def _owens_t(h: float, a: float) -> Any:
    """Return Owen's T(h, a), an integral over [0, |a|]; |a| > 1 uses its reflection formula."""
    h, slope = abs(h), abs(a)
    left = 0.0
    if slope > 1.0:
        tail, far = erfc(h / np.sqrt(2.0)), erfc(slope * h / np.sqrt(2.0))
        left = 0.25 * (tail + far - tail * far)
        h, slope = slope * h, 1.0 / slope
    total = 0.0
    for i in range(NODES.shape[0]):
        square = 1.0 + (slope * NODES[i]) ** 2
        total += WEIGHTS[i] * np.exp(-0.5 * h * h * square) / square
    total *= slope / (2.0 * np.pi)
    return float(np.copysign(left - total if abs(a) > 1.0 else total, a))


@njit(**COMPILE)
def _two_below(h: float, k: float, rho: float) -> Any:
    """Return Pr(X < h, Y < k) for standard normals of correlation rho, by Owen's T."""
    rho = min(max(rho, -1.0), 1.0)
    if h == 0.0 and k == 0.0:
        return float(0.25 + np.arcsin(rho) / (2.0 * np.pi))
    root = np.sqrt(max((1.0 - rho) * (1.0 + rho), 1e-300))
    chance = 0.25 * (erfc(-h / np.sqrt(2.0)) + erfc(-k / np.sqrt(2.0)))
    for a, b in ((h, k), (k, h)):
        slope = b - rho * a
        chance -= _owens_t(a, slope / (a * root)) if a != 0.0 else 0.25 * np.sign(slope)
    return chance - 0.5 if h * k < 0.0 or (h * k == 0.0 and h + k < 0.0) else chance


@njit(**COMPILE)
def _pull(angle: float, top: float, h: Any, r: Any) -> Any:
    """Return the derivative of the orthant by the angle; correlations of variable 0 are sin/top."""
    n = h.shape[0]
    s, c = np.sin(angle), np.cos(angle)
    total = 0.0
    for j in range(1, n):
        share = r[0, j] / top
        if share == 0.0:
            continue
        a = share * s
        variance = c * c + (1.0 - share) * (1.0 + share) * s * s  # 1 - a^2
        root = np.sqrt(variance)
        gap = (h[0] - a * h[j]) / root
        power = 0.5 * (gap * gap + h[j] * h[j])
        if power > 745.0:
            continue
        k, i = (2 if j == 1 else 1), (2 if j == 3 else 3)
        # Variable k given these two variables at their bounds.
        along = (r[0, k] / top * s - r[j, k] * a) / root
        k_var = max(1.0 - r[j, k] * r[j, k] - along * along, 1e-300)
        z = (h[k] - r[j, k] * h[j] - along * gap) / np.sqrt(k_var)
        if n == 3:
            chance = _below(z)
        else:
            beside = (r[0, i] / top * s - r[j, i] * a) / root
            i_var = max(1.0 - r[j, i] * r[j, i] - beside * beside, 1e-300)
            y = (h[i] - r[j, i] * h[j] - beside * gap) / np.sqrt(i_var)
            both = r[k, i] - r[j, k] * r[j, i] - along * beside
            both /= np.sqrt(k_var) * np.sqrt(i_var)
            chance = _two_below(min(max(z, -FAR), FAR), min(max(y, -FAR), FAR), both)
        total += share * c / root * np.exp(-power) * chance
    return total / (2.0 * np.pi)


@njit(**COMPILE)
def _pulled(h: Any, r: Any) -> Any:
    """Return Plackett's integral: the contribution of the correlations of variable 0."""
    top = 0.0
    for j in range(1, h.shape[0]):
        top = max(top, abs(r[0, j]))
    if top == 0.0:
        return 0.0
    begin, end, halvings = 0.0, np.arcsin(min(top, 1.0)), 0
    ends = np.empty(HALVINGS + 2)  # the ends of the remaining intervals to the right
    waiting, total = 0, 0.0
    widths = np.empty(HALVINGS + 2, np.int64)
    while True:
        middle, first, second = 0.0, 0.0, 0.0
        for i in range(ANGLES.shape[0]):
            value = _pull(begin + (end - begin) * ANGLES[i], top, h, r)
            middle += SHARES[i] * value
            first += TAILS[0, i] * value
            second += TAILS[1, i] * value
        if (end - begin) * max(abs(first), abs(second)) > STRETCH and halvings < HALVINGS:
            halvings += 1
            ends[waiting], widths[waiting] = end, halvings
            waiting += 1
            end = 0.5 * (begin + end)
            continue
        total += (end - begin) * middle
        if waiting == 0:
            return total
        waiting -= 1
        begin, end, halvings = end, ends[waiting], widths[waiting]


@njit(**COMPILE)
def _loosest_first(h: Any, r: Any) -> None:
    """Sort by the largest correlation; the smallest one gives the smoothest integral."""
    most = np.zeros(h.shape[0])
    for i in range(h.shape[0]):
        for j in range(h.shape[0]):
            if j != i:
                most[i] = max(most[i], abs(r[i, j]))
    order = np.argsort(most)
    h[:] = h[order]
    r[:] = r[order][:, order]


@njit(**COMPILE)
def all_positive(mean: Any, covariance: Any) -> Any:
    """Return the probability that up to four Gaussian variables are all positive.

    >>> all_positive(np.zeros(3), np.eye(3))
    0.125
    """
    n = mean.shape[0]
    if n == 0:
        return 1.0
    h, r, scale = np.empty(n), np.empty((n, n)), np.empty(n)
    for i in range(n):
        scale[i] = np.sqrt(max(covariance[i, i], 1e-300))
        h[i] = min(max(mean[i] / scale[i], -FAR), FAR)
    if n == 1:
        return float(_below(h[0]))
    for i in range(n):
        for j in range(n):
            r[i, j] = min(max(covariance[i, j] / (scale[i] * scale[j]), -1.0), 1.0)
    if n == 2:
        return float(_two_below(h[0], h[1], r[0, 1]))
    _loosest_first(h, r)
    added = _pulled(h, r)
    if n == 4:
        rest, between = h[1:], r[1:, 1:]
        _loosest_first(rest, between)
        inner = _below(rest[0]) * _two_below(rest[1], rest[2], between[1, 2])
        inner += _pulled(rest, between)
        return float(added + _below(h[0]) * inner)
    return float(added + _below(h[0]) * _two_below(h[1], h[2], r[1, 2]))
