"""More than five prototypes, and more than two that share: averages over fixed quasi-random sets.

They are smooth in the parameters, so that adaptive integrators keep their step.
"""

from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from eigenstream.theory.dynamics._gaussian import all_positive
from eigenstream.theory.mixing import Float64s

#: Orthants of so many variables at most are exact (_gaussian).
EXACT = 4

#: Points of the fixed Sobol sets: of random states of six prototypes, chances are right to 6e-5 in
#: the median and 5e-4 at worst (of 30, against 2^15 points), of seven to 2e-4 and 2e-3.
ORTHANT_POINTS = 1 << 10

#: Of a softmax, more where it is steep: averages of four prototypes are right to 2e-4 in the median
#: and 7e-4 at worst (of 10 random states, beta from 1 to 8, against 2^18 points), of five to twice
#: that.
SOFT_POINTS, MOST_SOFT_POINTS = 1 << 11, 1 << 15

TINY = 1e-300


def many_winners(R: Float64s, Q: Float64s, clusters: Any, averages: Any) -> None:
    """Fill in the averages of all clusters, as those of _assignments do."""
    centres, _, variances = clusters
    P, A, products = averages
    for n, v in enumerate(variances):
        P[n], A[n] = winners(centres[n] @ R.T - 0.5 * np.diag(Q), v * Q)
        np.fill_diagonal(products[n], P[n])


def winners(mean: Float64s, covariance: Float64s) -> tuple[Float64s, Float64s]:
    """Return P and A of the fields of one cluster."""
    K = len(mean)
    P, A = np.ones(K), np.zeros((K, K))
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
    """Return the probability that all of several Gaussian variables are positive."""
    if len(mean) <= EXACT:
        return float(all_positive(mean, covariance))
    return separated(mean, covariance, sobol(len(mean) - 1, ORTHANT_POINTS))


def separated(mean: Float64s, covariance: Float64s, u: Float64s) -> float:
    """Return the same by Genz's separation of variables over points (count, variables - 1)."""
    scale = np.sqrt(np.maximum(np.diag(covariance), TINY))
    z = mean / scale
    L = _root(covariance / np.outer(scale, scale))
    chance = np.full(len(u), ndtr(z[0] / L[0, 0]))
    total, drawn = chance.copy(), np.empty((len(mean) - 1, len(u)))
    for i in range(1, len(mean)):
        drawn[i - 1] = ndtri(np.clip(u[:, i - 1] * chance, TINY, 1.0))
        chance = ndtr((z[i] - L[i, :i] @ drawn[:i]) / L[i, i])
        total *= chance
    return float(total.mean())


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


def soft_normals(students: int, beta: float) -> Float64s:
    """Return such a set of standard normals, for the averages of soft assignment."""
    points = SOFT_POINTS
    while points < MOST_SOFT_POINTS and points < SOFT_POINTS * beta**2:
        points *= 2
    return _normals(students, points)


@cache
def _normals(students: int, points: int) -> Float64s:
    return np.asarray(ndtri(sobol(students, points)), np.float64)


def root_of(Q: Float64s) -> Float64s:
    """Return the symmetric root of Q.

    No other is smooth in Q: eigenvectors come with any sign, and where two eigenvalues cross they
    turn; the points would then jump, and an adaptive integrator would take a step for each jump.
    """
    values, vectors = np.linalg.eigh(Q)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T, np.float64)
