"""How long features are remembered: their autocorrelation at the lag, and what it implies."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream.contrast import Contrast
from eigenstream.scatters import VarianceScatter, VelocityScatter


def autocorrelations(variance: Float64s, velocity: Float64s, noise: Any) -> Float64s:
    """Return ``1 - velocity / (2 variance)`` of each feature, 0 where there is no variance.

    Where the process is stationary, E|v|^2 = 2 (C(0) - C(lag)). Variances up to ``noise`` are none.

    >>> autocorrelations(np.array([1.0, 0.0]), np.array([0.5, 0.0]), 0.0).tolist()
    [0.75, 0.0]
    """
    there = variance > noise
    ratio = np.maximum(velocity, 0.0) / np.where(there, 2.0 * variance, 1.0)
    return np.where(there, np.maximum(1.0 - ratio, -1.0), 0.0)


def of_scatters(contrast: Contrast, columns: Float64s) -> Float64s:
    """Return the autocorrelation along each column, of the rows whose scatters these are."""
    assert contrast.penalty is not None
    reward = contrast.reward
    variance, velocity = (
        np.einsum("ij,ik,kj->j", columns, matrix, columns)
        for matrix in (reward.matrix(), contrast.penalty.matrix())
    )
    noise = reward.rounding * reward.trace() + reward.floor
    return autocorrelations(variance, velocity, noise * (columns**2).sum(axis=0))


def of_features(parts: Iterable[Any], n_features: int, lag: int, center: bool) -> Float64s:
    """Return the autocorrelation of features that come part by part: (rows, weights, begins)."""
    both = VarianceScatter(n_features, lag=lag, center=center), VelocityScatter(n_features, lag=lag)
    for rows, weights, begins in parts:
        for scatter in both:
            scatter.update(rows, sample_weight=weights, new_sequence=begins)
    if both[1].count == 0:
        raise ValueError(
            f"no two rows of these are lag={lag} apart, with values in both: there is nothing to "
            "correlate. Give longer sequences, or a smaller lag."
        )
    return of_scatters(Contrast(*both), np.eye(n_features))


def implied(correlations: Float64s, lag: int) -> Float64s:
    """Return ``-lag / log(rho)``: 0 where rho <= 0, the limit from above; infinite where rho = 1.

    >>> implied(np.array([1.0, np.exp(-0.5), 0.0, -0.3]), 2).tolist()
    [inf, 4.0, 0.0, 0.0]
    """
    scales = np.zeros_like(correlations)
    decays = (correlations > 0.0) & (correlations < 1.0)
    scales[decays] = -lag / np.log(correlations[decays])
    scales[correlations >= 1.0] = np.inf
    return scales
