"""Compiled: who wins, how often it is a near thing, and the same for soft assignment.

Given a cluster, the fields h_k = J_k.xi - Q_kk/2 are jointly Gaussian, and the nearest prototype is
the one with the largest field. Each function here fills in, a row a cluster, the probabilities P_k
of winning, the densities A_kl of a tie at the top and the averages <p_k p_l> ([DYN] eq. 2.6).
"""

from math import erfc
from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.theory.dynamics._gaussian import COMPILE, all_positive

__all__ = ["pair_winners", "several_winners", "soft_pair", "soft_several", "soft_triple"]

#: The soft average of two is a sum over +-REACH standard deviations. The sigmoid's poles lie
#: pi / steepness off the line, so that steps of FINE / steepness leave exp(-2 pi^2 / FINE) = 1e-17.
REACH, FINE = 8.5, 0.5

#: Sums inside sums take twice the step: exp(-2 pi^2 / 1) = 3e-9, and what is 2e-10 in reach.
COARSE_REACH = 6.5

#: A steeper sigmoid is its derivative, of width 1, times what is smooth on that scale; it is
#: nothing to rounding beyond +-WIDE, and the same steps of FINE are as good.
STEEP, WIDE = 5.0, 37.0
PLACES = np.arange(-WIDE, WIDE + FINE, FINE)
DENSITY = 0.25 * FINE / np.cosh(0.5 * PLACES) ** 2


@njit(**COMPILE)
def _fields(R: Any, Q: Any, centres: Any, n: int, h: Any) -> None:
    """Fill in the means of the fields in cluster n."""
    for k in range(R.shape[0]):
        h[k] = -0.5 * Q[k, k]
        for m in range(R.shape[1]):
            h[k] += centres[n, m] * R[k, m]


@njit(**COMPILE)
def pair_winners(R: Any, Q: Any, clusters: Any, averages: Any) -> None:
    """Fill in the averages of two prototypes, winner takes all: the closed form."""
    centres, _, variances = clusters
    P, A, products = averages
    theta = 0.5 * (Q[0, 0] - Q[1, 1])
    distance = max(Q[0, 0] - 2.0 * Q[0, 1] + Q[1, 1], 1e-300)
    for n in range(centres.shape[0]):
        gap = -theta
        for m in range(centres.shape[1]):
            gap += centres[n, m] * (R[0, m] - R[1, m])
        scale = np.sqrt(variances[n] * distance)
        t = gap / scale
        P[n, 0] = products[n, 0, 0] = 0.5 * erfc(-t / np.sqrt(2.0))
        P[n, 1] = products[n, 1, 1] = 0.5 * erfc(t / np.sqrt(2.0))
        A[n, 0, 1] = A[n, 1, 0] = np.exp(-0.5 * t * t) / (np.sqrt(2.0 * np.pi) * scale)


@njit(**COMPILE)
def several_winners(R: Any, Q: Any, clusters: Any, averages: Any) -> None:
    """Fill in the averages of one to five prototypes, winner takes all: exact orthants."""
    centres, _, variances = clusters
    P, A, products = averages
    K = R.shape[0]
    h, gap, spread = np.empty(K), np.empty(K - 1), np.empty((K - 1, K - 1))
    left = max(K - 2, 0)
    ahead, free = np.empty(left), np.empty((left, left))
    others, rest = np.empty(K - 1, np.int64), np.empty(left, np.int64)
    for n in range(centres.shape[0]):
        v = variances[n]
        _fields(R, Q, centres, n, h)
        for k in range(K):
            for at in range(K - 1):
                others[at] = at if at < k else at + 1
            for a in range(K - 1):
                i = others[a]
                gap[a] = h[k] - h[i]
                for b in range(K - 1):
                    j = others[b]
                    spread[a, b] = v * (Q[k, k] - Q[k, i] - Q[k, j] + Q[i, j])
            P[n, k] = products[n, k, k] = all_positive(gap, spread)
            for at in range(k, K - 1):
                # The density of a tie with a later prototype, and the rest given that tie.
                variance = max(spread[at, at], 1e-300)
                for a in range(K - 2):
                    rest[a] = a if a < at else a + 1
                for a in range(K - 2):
                    i = rest[a]
                    ahead[a] = gap[i] - spread[i, at] / variance * gap[at]
                    for b in range(K - 2):
                        j = rest[b]
                        free[a, b] = spread[i, j] - spread[i, at] / variance * spread[j, at]
                tie = np.exp(-0.5 * gap[at] ** 2 / variance) / np.sqrt(2.0 * np.pi * variance)
                if tie > 0.0:
                    tie *= all_positive(ahead, free)
                A[n, k, others[at]] = A[n, others[at], k] = tie


@njit(**COMPILE)
def _sigmoid(x: float) -> Any:
    """Return 1 / (1 + exp(-x)), of any x."""
    small = np.exp(-abs(x))
    return 1.0 / (1.0 + small) if x >= 0.0 else small / (1.0 + small)


@njit(**COMPILE)
def _sigmoid_averages(gap: float, scale: float, beta: float, coarse: int) -> Any:
    """Return <p> and <p (1 - p)> of p = 1 / (1 + exp(-beta u)) for a normal u.

    To rounding; with ``coarse`` = 2, twice the step and less reach, to about 1e-8.
    """
    first, cross, total = 0.0, 0.0, 0.0
    steepness = beta * scale
    if steepness <= STEEP:
        step = FINE * coarse / max(1.0 * coarse, steepness)
        half = int(np.ceil((REACH if coarse == 1 else COARSE_REACH) / step))
        for i in range(-half, half + 1):
            z = i * step
            weight = np.exp(-0.5 * z * z)
            p = _sigmoid(beta * (gap + scale * z))
            total += weight
            first += weight * p
            cross += weight * p * (1.0 - p)
        return first / total, cross / total
    # p is the chance that u is above a logistic variable / beta, and p (1 - p) its density.
    out = 0 if coarse == 1 else PLACES.shape[0] // 5
    for i in range(out, PLACES.shape[0] - out, coarse):
        z = (gap + PLACES[i] / beta) / scale
        total += DENSITY[i]
        first += DENSITY[i] * 0.5 * erfc(-z / np.sqrt(2.0))
        cross += DENSITY[i] * np.exp(-0.5 * z * z)
    return first / total, cross / (total * np.sqrt(2.0 * np.pi) * steepness)


@njit(**COMPILE)
def soft_pair(R: Any, Q: Any, clusters: Any, beta: float, averages: Any) -> None:
    """Fill in the averages of two prototypes that share each example."""
    centres, _, variances = clusters
    P, A, products = averages
    h = np.empty(2)
    for n in range(centres.shape[0]):
        _fields(R, Q, centres, n, h)
        scale = np.sqrt(max(variances[n] * (Q[0, 0] - 2.0 * Q[0, 1] + Q[1, 1]), 0.0))
        first, cross = _sigmoid_averages(h[0] - h[1], scale, beta, 1)
        P[n, 0], P[n, 1] = first, 1.0 - first
        products[n, 0, 0], products[n, 1, 1] = first - cross, 1.0 - first - cross
        products[n, 0, 1] = products[n, 1, 0] = cross
        A[n, 0, 1] = A[n, 1, 0] = beta * cross


@njit(**COMPILE)
def soft_triple(R: Any, Q: Any, clusters: Any, beta: float, averages: Any) -> None:
    """Fill in the averages of three prototypes that share each example.

    Given u = h_1 - h_2, the others count as one of field h_2 + log(1 + exp(beta u)) / beta, with
    which prototype 0 shares as one of two does: a sum over u of the sums for two.
    """
    centres, _, variances = clusters
    P, A, products = averages
    h = np.empty(3)
    for n in range(centres.shape[0]):
        _fields(R, Q, centres, n, h)
        v, found = variances[n], products[n]
        u_scale = np.sqrt(max(v * (Q[1, 1] - 2.0 * Q[1, 2] + Q[2, 2]), 1e-300))
        along = v * (Q[0, 1] - Q[0, 2] - Q[1, 2] + Q[2, 2]) / u_scale  # of h_0 - h_2, with u
        left = np.sqrt(max(v * (Q[0, 0] - 2.0 * Q[0, 2] + Q[2, 2]) - along * along, 0.0))
        step = 2.0 * FINE / max(2.0, beta * u_scale, beta * abs(along))
        half = int(np.ceil(COARSE_REACH / step))
        total = 0.0
        found[:] = 0.0
        for i in range(-half, half + 1):
            z = i * step
            weight = np.exp(-0.5 * z * z)
            u = beta * (h[1] - h[2] + u_scale * z)
            together = max(u, 0.0) + np.log1p(np.exp(-abs(u)))
            gap = h[0] - h[2] + along * z - together / beta
            first, cross = _sigmoid_averages(gap, left, beta, 2)
            q, both = _sigmoid(u), 1.0 - first - cross
            total += weight
            found[0, 0] += weight * (first - cross)
            found[0, 1] += weight * cross * q
            found[0, 2] += weight * cross * (1.0 - q)
            found[1, 1] += weight * both * q * q
            found[1, 2] += weight * both * q * (1.0 - q)
            found[2, 2] += weight * both * (1.0 - q) * (1.0 - q)
        for k in range(3):
            for j in range(k, 3):
                found[k, j] /= total
                found[j, k] = found[k, j]
        for k in range(3):
            P[n, k] = found[k].sum()
            for j in range(3):
                A[n, k, j] = beta * found[k, j] if j != k else 0.0


@njit(**COMPILE)
def soft_several(R: Any, Q: Any, clusters: Any, rule: Any, averages: Any) -> None:
    """Fill in the averages of any prototypes that share each example.

    ``rule`` is (beta, normals): the points of a fixed quasi-random set, (points, K). They meet the
    same root of Q for all clusters.
    """
    centres, _, variances = clusters
    beta, normals, root = rule
    P, A, products = averages
    K = R.shape[0]
    points = normals.shape[0]
    moved = normals @ root  # (points, K)
    h, p = np.empty(K), np.empty(K)
    for n in range(centres.shape[0]):
        _fields(R, Q, centres, n, h)
        sd = np.sqrt(variances[n])
        products[n] = 0.0
        for t in range(points):
            most = -np.inf
            for k in range(K):
                p[k] = beta * (h[k] + sd * moved[t, k])
                most = max(most, p[k])
            total = 0.0
            for k in range(K):
                p[k] = np.exp(p[k] - most)
                total += p[k]
            for k in range(K):
                p[k] /= total
                for j in range(k + 1):
                    products[n, k, j] += p[k] * p[j]
        for k in range(K):
            for j in range(k + 1):
                products[n, j, k] = products[n, k, j] = products[n, k, j] / points
        for k in range(K):
            P[n, k] = 0.0
            for j in range(K):
                P[n, k] += products[n, k, j]
                A[n, k, j] = beta * products[n, k, j] if j != k else 0.0
