"""How long features are remembered: their autocorrelation at the lag, and what it implies."""

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream.contrast import Contrast


def autocorrelations(contrast: Contrast, columns: Float64s, noise: Float64s) -> Float64s:
    """Return ``1 - velocity / (2 variance)`` along each column, 0 where there is no variance.

    Where the process is stationary, E|v|^2 = 2 (C(0) - C(lag)). Variances up to ``noise`` are none.
    """
    assert contrast.penalty is not None
    reward, penalty = contrast.reward.matrix(), contrast.penalty.matrix()
    variance = np.einsum("ij,ik,kj->j", columns, reward, columns)
    velocity = np.einsum("ij,ik,kj->j", columns, penalty, columns)
    there = variance > noise
    ratio = np.maximum(velocity, 0.0) / np.where(there, 2.0 * variance, 1.0)
    return np.where(there, np.maximum(1.0 - ratio, -1.0), 0.0)


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
