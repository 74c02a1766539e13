"""Averages over one cluster: probabilities to win, densities of ties, and soft shares.

Given a cluster, the fields h_k = J_k.xi - Q_kk/2 are jointly Gaussian. The nearest prototype has
the largest field. The functions take the mean and the covariance of the fields. They return the
probabilities P_k of winning and the densities A_kl of a tie at the top, or the averages <p_k p_l>
of soft shares ([DYN] eq. 2.6).
"""

from functools import cache
from itertools import permutations
from math import ceil

import numpy as np
from scipy.special import expit, ndtr, ndtri, softmax
from scipy.stats import qmc

from eigenstream.theory.dynamics._gaussian import all_positive
from eigenstream.theory.mixing import Float64s

#: The largest number of variables of an exact orthant probability (_gaussian).
EXACT = 4

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

#: The range of sums inside sums. They take twice the step, with the error exp(-2 pi^2) = 3e-9.
COARSE_REACH = 6.5

#: Above this steepness, the sum is over the derivative of the sigmoid, which is zero to rounding
#: beyond +-WIDE.
STEEP, WIDE = 5.0, 37.0

TINY = 1e-300


def winners(mean: Float64s, covariance: Float64s) -> tuple[Float64s, Float64s]:
    """Return P and A, exactly for up to five prototypes."""
    K = len(mean)
    if K == 2:  # the closed form
        (a, c), (_, b) = covariance
        scale = np.sqrt(max(a - 2 * c + b, TINY))
        t = (mean[0] - mean[1]) / scale
        tie = np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi) / scale
        return ndtr([t, -t]), np.array([[0.0, tie], [tie, 0.0]])
    P, A = np.ones(K), np.zeros((K, K))
    for k in range(K):
        others = [j for j in range(K) if j != k]
        apart = covariance[k, others]
        gap = mean[k] - mean[others]
        spread = covariance[k, k] - apart - apart[:, None] + covariance[np.ix_(others, others)]
        P[k] = _orthant(gap, spread)
        for at in range(k, K - 1):
            A[k, others[at]] = A[others[at], k] = _boundary(gap, spread, at)
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
    rest = [i for i in range(len(gap)) if i != at]
    slope = spread[rest, at] / variance
    density = np.exp(-0.5 * gap[at] ** 2 / variance) / np.sqrt(2 * np.pi * variance)
    left = spread[np.ix_(rest, rest)] - variance * np.outer(slope, slope)
    return float(density * _orthant(gap[rest] - slope * gap[at], left))


def _orthant(mean: Float64s, covariance: Float64s) -> float:
    """Return the probability that several Gaussian variables are all positive."""
    if len(mean) <= EXACT:
        return float(all_positive(mean, covariance))
    # Genz's separation of variables. The covariance of prototypes on a line is nearly singular.
    u = sobol(len(mean) - 1, ORTHANT_POINTS)
    scale = np.sqrt(np.maximum(np.diag(covariance), TINY))
    correlation = covariance / np.outer(scale, scale) + 1e-12 * len(mean) * np.eye(len(mean))
    z, L = mean / scale, np.linalg.cholesky(correlation)
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


def _sigmoids(gap: Float64s, scale: float, beta: float, coarse: int) -> tuple[Float64s, Float64s]:
    """Return <p> and <p (1 - p)> of p = 1 / (1 + exp(-beta u)) for normal u with these means.

    The result is exact to rounding. ``coarse`` = 2 uses twice the step and a smaller range, with
    an error of about 1e-8.
    """
    if beta * scale <= STEEP:
        step = FINE * coarse / max(coarse, beta * scale)
        half = ceil((REACH if coarse == 1 else COARSE_REACH) / step)
        z = step * np.arange(-half, half + 1)
        weights = np.exp(-0.5 * z * z)
        p = expit(beta * (gap[:, None] + scale * z))
        return p @ weights / weights.sum(), (p * (1 - p)) @ weights / weights.sum()
    # p is the probability that u exceeds a logistic variable / beta, and p (1 - p) its density.
    places = np.arange(-WIDE, WIDE + FINE, FINE * coarse)
    density = 1 / np.cosh(0.5 * places) ** 2
    density /= density.sum()
    z = (gap[:, None] + places / beta) / scale
    return ndtr(z) @ density, np.exp(-0.5 * z * z) @ density / (np.sqrt(2 * np.pi) * beta * scale)


def soft_pair(mean: Float64s, covariance: Float64s, beta: float) -> Float64s:
    """Return <p p^T> of two prototypes."""
    scale = np.sqrt(max(covariance[0, 0] - 2 * covariance[0, 1] + covariance[1, 1], 0.0))
    (p,), (cross,) = _sigmoids(mean[:1] - mean[1:], float(scale), beta, 1)
    return np.array([[p - cross, cross], [cross, 1 - p - cross]])


def soft_triple(mean: Float64s, covariance: Float64s, beta: float) -> Float64s:
    """Return <p p^T> of three prototypes.

    Given u = h_1 - h_2, prototypes 1 and 2 act as one prototype. Its field is
    h_2 + log(1 + exp(beta u)) / beta. The result is therefore a sum over u of averages for two
    prototypes.
    """
    v = covariance
    u_scale = np.sqrt(max(v[1, 1] - 2 * v[1, 2] + v[2, 2], TINY))
    along = (v[0, 1] - v[0, 2] - v[1, 2] + v[2, 2]) / u_scale  # of h_0 - h_2, with u
    left = np.sqrt(max(v[0, 0] - 2 * v[0, 2] + v[2, 2] - along * along, 0.0))
    step = 2 * FINE / max(2.0, beta * u_scale, beta * abs(along))
    half = ceil(COARSE_REACH / step)
    z = step * np.arange(-half, half + 1)
    weights = np.exp(-0.5 * z * z)
    u = beta * (mean[1] - mean[2] + u_scale * z)
    gap = mean[0] - mean[2] + along * z - np.logaddexp(0, u) / beta
    first, cross = _sigmoids(gap, float(left), beta, 2)
    q, both = expit(u), 1 - first - cross
    each = [first - cross, cross * q, cross * (1 - q), both * q**2, both * q * (1 - q)]
    a, b, c, d, e, f = np.stack([*each, both * (1 - q) ** 2]) @ weights / weights.sum()
    return np.array([[a, b, c], [b, d, e], [c, e, f]])


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
