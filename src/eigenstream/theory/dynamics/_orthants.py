"""Who wins, and how often it is a near thing: the averages that competitive learning needs.

Given a cluster, the fields h_k = J_k.xi - Q_kk/2 are jointly Gaussian, and the nearest prototype is
the one with the largest field. The equations of motion need only the probabilities P_k of winning
and the densities A_kl of a tie at the top, both probabilities of Gaussian orthants.
"""

from functools import cache

import numpy as np
from scipy.special import ndtr, ndtri, owens_t
from scipy.stats import qmc

from eigenstream.theory.base import Float64s

#: Points of the fixed Sobol sets: of random states of four or five prototypes, chances are right to
#: 1e-5 and 4e-5 in the median, to 1e-4 and 4e-4 at worst (of 30, against 2^15 points).
ORTHANT_POINTS = 1 << 10
SOFT_POINTS = 1 << 11

#: The soft average of two prototypes is a sum over +-9 standard deviations. The sigmoid's poles lie
#: pi / steepness off the line, so that steps of FINE / steepness leave exp(-2 pi^2 / FINE) = 1e-17.
REACH, FINE = 9.0, 0.5

TINY = 1e-300


def winners(mean: Float64s, covariance: Float64s) -> tuple[Float64s, Float64s]:
    """Return P and A of the fields of one cluster."""
    K = len(mean)
    P, A = np.ones(K), np.zeros((K, K))
    if K == 1:
        return P, A
    for k in range(K):
        others = [j for j in range(K) if j != k]
        # g_l = h_k - h_l
        gap = mean[k] - mean[others]
        spread = (
            covariance[k, k]
            - covariance[k, others]
            - covariance[k, others][:, None]
            + covariance[np.ix_(others, others)]
        )
        P[k] = orthant(gap, spread)
        for at, j in enumerate(others):
            if j < k:
                continue
            # The rest, given that g_l = 0.
            variance = max(spread[at, at], TINY)
            rest = [i for i in range(K - 1) if i != at]
            slope = spread[rest, at] / variance
            density = np.exp(-0.5 * gap[at] ** 2 / variance) / np.sqrt(2 * np.pi * variance)
            ahead = orthant(
                gap[rest] - slope * gap[at],
                spread[np.ix_(rest, rest)] - variance * np.outer(slope, slope),
            )
            A[k, j] = A[j, k] = density * ahead
    return P, A


def orthant(mean: Float64s, covariance: Float64s) -> float:
    """Return the probability that all of several Gaussian variables are positive.

    Up to two are exact; more by Genz's separation of variables over a fixed Sobol set, which is
    smooth in the parameters, so that adaptive integrators keep their step.
    """
    if len(mean) == 0:
        return 1.0
    scale = np.sqrt(np.maximum(np.diag(covariance), TINY))
    z = mean / scale
    if len(mean) == 1:
        return float(ndtr(z[0]))
    if len(mean) == 2:
        return _quadrant(z[0], z[1], covariance[0, 1] / (scale[0] * scale[1]))
    L = _root(covariance / np.outer(scale, scale))
    u = sobol(len(mean) - 1, ORTHANT_POINTS)
    chance = np.full(len(u), ndtr(z[0] / L[0, 0]))
    total, drawn = chance.copy(), np.empty((len(mean) - 1, len(u)))
    for i in range(1, len(mean)):
        drawn[i - 1] = ndtri(np.clip(u[:, i - 1] * chance, TINY, 1.0))
        chance = ndtr((z[i] - L[i, :i] @ drawn[:i]) / L[i, i])
        total *= chance
    return float(total.mean())


def _quadrant(h: float, k: float, rho: float) -> float:
    """Return Pr(X < h, Y < k) for standard normals of correlation rho, by Owen's T."""
    root = np.sqrt(max((1.0 - rho) * (1.0 + rho), TINY))
    if h == 0.0 and k == 0.0:
        return float(0.25 + np.arcsin(min(max(rho, -1.0), 1.0)) / (2 * np.pi))

    def wing(a: float, b: float) -> float:
        slope = b - rho * a
        if a == 0.0:
            return 0.25 * float(np.sign(slope))
        return float(owens_t(a, slope / (a * root)))

    beyond = 0.5 if h * k < 0 or (h * k == 0 and h + k < 0) else 0.0
    return float(0.5 * (ndtr(h) + ndtr(k)) - wing(h, k) - wing(k, h) - beyond)


def _root(correlation: Float64s) -> Float64s:
    """Return the Cholesky factor; a hair of noise is added where prototypes lie on a line."""
    try:
        return np.asarray(np.linalg.cholesky(correlation), np.float64)
    except np.linalg.LinAlgError:
        nudged = correlation + 1e-12 * len(correlation) * np.eye(len(correlation))
        return np.asarray(np.linalg.cholesky(nudged), np.float64)


@cache
def sobol(width: int, points: int) -> Float64s:
    """Return a fixed low-discrepancy set in the open unit cube."""
    engine = qmc.Sobol(width, scramble=True, seed=0)
    return np.asarray(np.clip(engine.random(points), 1e-12, 1 - 1e-12), np.float64)


def soft_products(mean: Float64s, covariance: Float64s, beta: float) -> Float64s:
    """Return <p_k p_l> of one cluster for p = softmax(beta h).

    Its rows add up to P, and beta times it is A: one matrix says all.
    """
    K = len(mean)
    if K == 1:
        return np.ones((1, 1))
    if K == 2:
        return _soft_pair(mean, covariance, beta)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    h = mean + ndtri(sobol(K, SOFT_POINTS)) @ root.T
    p = np.exp(beta * (h - h.max(axis=1, keepdims=True)))
    p /= p.sum(axis=1, keepdims=True)
    return np.asarray(p.T @ p / len(p), np.float64)


def _soft_pair(mean: Float64s, covariance: Float64s, beta: float) -> Float64s:
    """Average over u = h_1 - h_2 alone, on a grid that resolves the sigmoid."""
    spread = covariance[0, 0] - 2 * covariance[0, 1] + covariance[1, 1]
    steepness = beta * np.sqrt(max(spread, 0.0))
    half = int(np.ceil(REACH * max(1.0, steepness) / FINE))
    z = np.linspace(-REACH, REACH, 2 * half + 1)
    weight = np.exp(-0.5 * z * z)
    weight /= weight.sum()
    p = 0.5 * (1.0 + np.tanh(0.5 * (beta * (mean[0] - mean[1]) + steepness * z)))
    first, both = float(weight @ p), float(weight @ (p * p))
    cross = first - both
    return np.array([[both, cross], [cross, 1.0 - 2.0 * first + both]])
