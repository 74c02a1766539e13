"""Mixtures of first-order autoregressions with known covariances."""

from collections.abc import Iterator
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenstream.core.checks import check_number, check_numbers, check_whole
from eigenstream.core.linalg import Float64s, Floats
from eigenstream.core.types import DType, RandomState
from eigenstream.processes.base import BLOCK, Process, generators, random_basis, seed_sequence


class Autoregressive(Process):
    """Independent AR(1) sources mixed linearly: ``x_t = loadings @ s_t + noise``.

    Source j follows ``s_t = a_j s_{t-1} + e_t``. It is normal and stationary with the variance
    ``variances[j]``.

    Parameters
    ----------
    coefficients : sequence of float
        The a_j in (-1, 1), in descending order.
    n_features : int, default=None
        The number of columns. By default, the number of sources.
    variances : float or sequence, default=1.0
        The variances of the sources.
    noise : float, default=0.0
        The variance of white noise along every axis, independent at every step.
    random_state : int, generator or None, default=None
        The seed. None draws one seed; every reading gives the same rows.

    Attributes
    ----------
    loadings : array of shape (n_features, n_sources)
        The linear mixing: random orthonormal columns.
    covariance : array of shape (n_features, n_features)
        The exact E[x_t x_t^T].

    Examples
    --------
    The slowest source is the top eigenvector of ``alpha A - (1 - alpha) B`` if alpha is large
    enough:

    >>> process = Autoregressive((0.99, 0.5, 0.0), n_features=4, random_state=0)
    >>> process.take(3).shape
    (3, 4)
    >>> alpha = 0.5
    >>> T = (
    ...     alpha * process.covariance
    ...     - (1 - alpha) * process.velocity_covariance()
    ... )
    >>> top = np.linalg.eigh(T)[1][:, -1]
    >>> round(float(abs(top @ process.loadings[:, 0])), 6)
    1.0
    """

    def __init__(
        self,
        coefficients: ArrayLike,
        *,
        n_features: int | None = None,
        variances: float | ArrayLike = 1.0,
        noise: float = 0.0,
        random_state: RandomState = None,
    ) -> None:
        self.coefficients = check_numbers(coefficients, "coefficients")
        if (np.abs(self.coefficients) >= 1).any() or (np.diff(self.coefficients) > 0).any():
            shown = f"coefficients={self.coefficients}"
            raise ValueError(f"{shown} is invalid. Pass descending values in (-1, 1).")
        sources = self.coefficients.size
        self.variances = check_numbers(variances, "variances", count=sources, least=0)
        self.noise = check_number(noise, "noise", least=0)
        self._seed = seed_sequence(random_state)
        self.n_features = check_whole(
            sources if n_features is None else n_features, "n_features", least=sources
        )
        self.loadings = random_basis(self._seed, self.n_features, sources)
        self.covariance = self.lagged_covariance(0)

    def lagged_covariance(self, lag: int) -> Float64s:
        """Return E[x_t x_{t-lag}^T], exactly.

        Parameters
        ----------
        lag : int
            The lag in rows.

        Returns
        -------
        array of shape (n_features, n_features)
            The matrix.
        """
        lag = check_whole(lag, "lag", least=0)
        out: Float64s = (self.loadings * self.variances * self.coefficients**lag) @ self.loadings.T
        if lag == 0:
            out[np.diag_indices(self.n_features)] += self.noise
        return out

    def velocity_covariance(self, lag: int = 1) -> Float64s:
        """Return E[v v^T] for the velocity ``v = x_t - x_{t-lag}``, exactly.

        Parameters
        ----------
        lag : int, default=1
            The lag in rows.

        Returns
        -------
        array of shape (n_features, n_features)
            The matrix.
        """
        lag = check_whole(lag, "lag")
        # Independent sources: the lagged covariance is symmetric.
        return 2.0 * (self.lagged_covariance(0) - self.lagged_covariance(lag))

    def _blocks(self, dtype: DType) -> Iterator[Floats]:
        drive, spray = generators(self._seed, 2)
        sources = self.coefficients.size
        spread = np.sqrt(self.variances)
        kick = spread * np.sqrt(1.0 - self.coefficients**2)
        state: Any = None
        while True:
            steps = drive.standard_normal((BLOCK, sources))
            path = kick * steps
            # The first row is drawn from the stationary law.
            path[0] = spread * steps[0] if state is None else self.coefficients * state + path[0]
            for t in range(1, BLOCK):
                path[t] += self.coefficients * path[t - 1]
            state = path[-1]
            rows = path @ self.loadings.T
            if self.noise:
                rows += sqrt(self.noise) * spray.standard_normal(rows.shape)
            yield rows.astype(dtype)
