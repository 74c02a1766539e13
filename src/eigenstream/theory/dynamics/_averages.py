"""Averages over one cluster: probabilities to win, densities of ties, and soft shares.

Given a cluster, the fields h_k = J_k.xi - Q_kk/2 are jointly Gaussian. The nearest prototype has
the largest field. The functions take the mean and the covariance of the fields. They return the
probabilities P_k of winning and the densities A_kl of a tie at the top, or the averages <p_k p_l>
of soft shares ([DYN] eq. 2.6).
"""

from functools import cache
from itertools import permutations
from math import ceil
from typing import Any

import numpy as np
from scipy.special import expit, ndtr, ndtri, owens_t, softmax
from scipy.stats import qmc

from eigenstream.theory.mixing import Float64s

#: Points of the fixed Sobol sets. For six prototypes the error of a probability is 6e-5 in the
#: median and 5e-4 at worst. More points reduce the error and cost more time.
ORTHANT_POINTS = 1 << 10

#: Points for a softmax, from the first number to the second for large beta. For four prototypes the
#: error of an average is 2e-4 in the median and 7e-4 at worst.
SOFT_POINTS, MOST_SOFT_POINTS = 1 << 11, 1 << 15

#: The soft average of two is a sum over +-REACH standard deviations. The poles of the sigmoid have
#: the distance pi / steepness, so steps of FINE / steepness have the error
#: exp(-2 pi^2 / FINE) = 1e-17.
REACH, FINE = 8.5, 0.5

#: Above this steepness, the sum is over the derivative of the sigmoid, which is zero to rounding
#: beyond +-WIDE.
STEEP, WIDE = 5.0, 37.0

TINY = 1e-300


def winners(mean: Float64s, covariance: Float64s) -> tuple[Float64s, Float64s]:
    """Return P and A, exactly for up to three prototypes."""
    K = len(mean)
    P, A = np.ones(K), np.zeros((K, K))
    for k in range(K):
        rivals = [j for j in range(K) if j != k]
        shared = covariance[k, rivals]
        gap = mean[k] - mean[rivals]
        spread = covariance[k, k] - shared - shared[:, None] + covariance[np.ix_(rivals, rivals)]
        P[k] = _orthant(gap, spread)
        for at in range(k, K - 1):
            A[k, rivals[at]] = A[rivals[at], k] = _boundary(gap, spread, at)
    return P, A


def rank_averages(
    mean: Float64s, covariance: Float64s, shares: Float64s
) -> tuple[Float64s, Float64s, Float64s]:
    """Return <p>, <dp_k / dh_l> and <p p^T>, where p_k is the share of the rank of prototype k.

    The sums are over all orders of the fields. Two orders that differ in one exchange of
    successive prototypes share a boundary, the tie of the two.
    """
    K = len(mean)
    p, slopes, products = np.zeros(K), np.zeros((K, K)), np.zeros((K, K))
    for order in permutations(range(K)):
        places = np.array(order)
        share = shares[np.argsort(places)]
        steps = np.eye(K)[places[:-1]] - np.eye(K)[places[1:]]
        gap, spread = steps @ mean, steps @ covariance @ steps.T
        chance = _orthant(gap, spread)
        ties = np.array([_boundary(gap, spread, at) for at in range(K - 1)])
        p += chance * share
        products += chance * np.outer(share, share)
        slopes += np.outer(share, ties @ steps)
    return p, slopes, products


def _boundary(gap: Float64s, spread: Float64s, at: int) -> float:
    """Return the density of variable ``at`` at zero, times the orthant of the others given it."""
    variance = max(spread[at, at], TINY)
    remaining = [i for i in range(len(gap)) if i != at]
    slope = spread[remaining, at] / variance
    density = np.exp(-0.5 * gap[at] ** 2 / variance) / np.sqrt(2 * np.pi * variance)
    left = spread[np.ix_(remaining, remaining)] - variance * np.outer(slope, slope)
    return float(density * _orthant(gap[remaining] - slope * gap[at], left))


def _orthant(mean: Float64s, covariance: Float64s) -> float:
    """Return the probability that several Gaussian variables are all positive."""
    scale = np.sqrt(np.maximum(np.diag(covariance), TINY))
    z, correlation = mean / scale, covariance / np.outer(scale, scale)
    if len(mean) < 2:
        return float(ndtr(z).prod())
    if len(mean) == 2:  # Owen (1956)
        rho, h = np.clip(correlation[0, 1], -1.0, 1.0), np.where(z == 0.0, TINY, z)
        slopes = (h[::-1] - rho * h) / (h * np.sqrt(max((1.0 - rho) * (1.0 + rho), TINY)))
        opposite_signs = 0.5 * ((h[0] < 0.0) != (h[1] < 0.0))
        return float(0.5 * ndtr(h).sum() - owens_t(h, slopes).sum() - opposite_signs)
    # Genz's separation of variables. The covariance of prototypes on a line is nearly singular.
    u = sobol(len(mean) - 1, ORTHANT_POINTS)
    L = np.linalg.cholesky(correlation + 1e-12 * len(mean) * np.eye(len(mean)))
    chance = np.full(len(u), ndtr(z[0] / L[0, 0]))
    total, drawn = chance.copy(), np.empty((len(mean) - 1, len(u)))
    for i in range(1, len(mean)):
        drawn[i - 1] = ndtri(np.clip(u[:, i - 1] * chance, TINY, 1.0))
        chance = ndtr((z[i] - L[i, :i] @ drawn[:i]) / L[i, i])
        total *= chance
    return float(total.mean())


@cache
def sobol(width: int, points: int) -> Float64s:
    """Return a fixed low-discrepancy set in the open unit cube."""
    engine = qmc.Sobol(width, scramble=True, seed=0)
    return np.asarray(np.clip(engine.random(points), 1e-12, 1 - 1e-12), np.float64)


def _sigmoid(gap: float, scale: float, beta: float) -> Any:
    """Return <p> and <p (1 - p)> of p = 1 / (1 + exp(-beta u)) for normal u, exact to rounding."""
    if beta * scale <= STEEP:
        step = FINE / max(1.0, beta * scale)
        half = ceil(REACH / step)
        z = step * np.arange(-half, half + 1)
        weights = np.exp(-0.5 * z * z)
        p = expit(beta * (gap + scale * z))
        return p @ weights / weights.sum(), (p * (1 - p)) @ weights / weights.sum()
    # p is the probability that u exceeds a logistic variable / beta, and p (1 - p) its density.
    places = np.arange(-WIDE, WIDE + FINE, FINE)
    density = 1 / np.cosh(0.5 * places) ** 2
    density /= density.sum()
    z = (gap + places / beta) / scale
    return ndtr(z) @ density, np.exp(-0.5 * z * z) @ density / (np.sqrt(2 * np.pi) * beta * scale)


def soft_pair(mean: Float64s, covariance: Float64s, beta: float) -> Float64s:
    """Return <p p^T> of two prototypes."""
    scale = np.sqrt(max(covariance[0, 0] - 2 * covariance[0, 1] + covariance[1, 1], 0.0))
    p, cross = _sigmoid(mean[0] - mean[1], float(scale), beta)
    return np.array([[p - cross, cross], [cross, 1 - p - cross]])


def soft_several(mean: Float64s, covariance: Float64s, beta: float) -> Float64s:
    """Return <p p^T> of several prototypes by a fixed quasi-random set, smooth in all values."""
    points = SOFT_POINTS
    while points < MOST_SOFT_POINTS and points < SOFT_POINTS * beta**2:
        points *= 2
    # Only the symmetric root is smooth where two eigenvalues cross.
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    p = softmax(beta * (mean + _normals(len(mean), points) @ root), axis=1)
    return np.asarray(p.T @ p / points, np.float64)


@cache
def _normals(width: int, points: int) -> Float64s:
    return np.asarray(ndtri(sobol(width, points)), np.float64)
