"""Autocorrelations of features from their second moments, and the time scales they imply."""

import numpy as np
from numpy.linalg import eigh

from eigenstream.core.linalg import Float64s


def autocorrelations_of_moments(
    variance: Float64s, velocity: Float64s, noise: Float64s | float
) -> Float64s:
    """Return ``1 - velocity / (2 variance)`` of each feature; 0 where there is no variance.

    For a stationary process, E|v|^2 = 2 (C(0) - C(lag)). Variances up to ``noise`` count as zero.

    >>> autocorrelations_of_moments(
    ...     np.array([1.0, 0.0]), np.array([0.5, 0.0]), 0.0
    ... ).tolist()
    [0.75, 0.0]
    """
    there = variance > noise
    ratio = np.maximum(velocity, 0.0) / np.where(there, 2.0 * variance, 1.0)
    return np.where(there, np.maximum(1.0 - ratio, -1.0), 0.0)


def slowest_first(variance: Float64s, velocity: Float64s, noise: float = 0.0) -> Float64s:
    """Return the columns that turn features into uncorrelated ones, the slowest first.

    ``variance`` and ``velocity`` are the features' second moments. The new features have variance
    1. Directions whose variance is not above ``noise`` come last, with length 1.

    >>> abs(slowest_first(np.diag([4.0, 1.0]), np.diag([4.0, 0.1]))).round(3)
    array([[0. , 0.5],
           [1. , 0. ]])
    """
    values, vectors = eigh(variance)
    rounding = len(values) * float(np.finfo(np.float64).eps)
    varies = values > max(rounding * float(values.max(initial=0.0)), noise)
    white = vectors[:, varies] / np.sqrt(values[varies])
    turn = white @ eigh(white.T @ velocity @ white)[1]
    return np.asarray(np.hstack([turn, vectors[:, ~varies]]), np.float64)


def noise_factors(
    turn: Float64s, variance: Float64s, velocity: Float64s, weights: tuple[float, float]
) -> Float64s:
    """Return the factors of features: below 1 for those that lower the objective.

    Such features are mostly noise. Their factor is their deviation per unit of the rows relative to
    the largest of all features.

    >>> forms = np.diag([4.0, 0.01]), np.diag([0.1, 0.02])
    >>> noise_factors(np.diag([0.5, 10.0]), *forms, (0.2, 0.8)).round(3)
    array([1.  , 0.05])
    """
    reward, penalty = (np.einsum("ij,ij->j", turn, form @ turn) for form in (variance, velocity))
    deviations = 1.0 / np.sqrt((turn**2).sum(axis=0))
    lowers = weights[0] * reward <= weights[1] * penalty
    return np.where(lowers, deviations / deviations.max(initial=0.0), 1.0)


def lagged(turn: Float64s, variance: Float64s, velocity: Float64s) -> Float64s:
    """Return the symmetric covariance of turned features, now and ``lag`` rows later."""
    return np.asarray(turn.T @ (variance - velocity / 2.0) @ turn, np.float64)


def implied(correlations: Float64s, lag: int) -> Float64s:
    """Return ``-lag / log(rho)``: 0 where rho <= 0, infinite where rho = 1.

    >>> implied(np.array([1.0, np.exp(-0.5), 0.0, -0.3]), 2).tolist()
    [inf, 4.0, 0.0, 0.0]
    """
    scales = np.zeros_like(correlations)
    decays = (correlations > 0.0) & (correlations < 1.0)
    scales[decays] = -lag / np.log(correlations[decays])
    scales[correlations >= 1.0] = np.inf
    return scales
