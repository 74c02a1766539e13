"""Slow sources, mixed: first-order autoregressions whose every average is known."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenstream._checks import check_finite, check_number, check_whole, real_array
from eigenstream._linalg import Float64s, Floats
from eigenstream.processes.base import (
    BLOCK,
    Process,
    generators,
    one_each,
    random_basis,
    seed_sequence,
)
from eigenstream.theory import MixingProfile, autoregressive_mixing
from eigenstream.theory.base import Int64s


@dataclass(frozen=True)
class SourcesMixing(MixingProfile):
    """The mixing profile of independent Gaussian AR(1) sources seen together.

    The smaller of two bounds: the sum of the sources' exact coefficients, and one from their
    mutual information. The sources are Markov, so beta(k) is the total variation distance between
    the joint law of (s_0, s_k) and the product of its marginals, by Pinsker's inequality at most
    sqrt(I / 2) with I = -1/2 sum_j ln(1 - a_j^(2 k)): the better one when many sources are slow.

    >>> SourcesMixing((0.9, 0.9))([1, 10, 100]).round(4)
    array([0.9112, 0.2391, 0.    ])
    """

    coefficients: tuple[float, ...]

    def _beta(self, lags: Int64s) -> Float64s:
        sums = np.sum([autoregressive_mixing(a)(lags) for a in self.coefficients], axis=0)
        squares = np.power.outer(np.square(self.coefficients), lags)
        with np.errstate(divide="ignore"):  # at lag 0 the past is the future: no bound
            information = -0.5 * np.log1p(-squares).sum(axis=0)
        return np.asarray(np.minimum(sums, np.sqrt(information / 2)), np.float64)


class Autoregressive(Process):
    """Independent AR(1) sources mixed linearly: ``x_t = loadings @ s_t + noise``.

    Source j follows ``s_t = a_j s_{t-1} + e_t``, normal and stationary from the first row on, with
    variance ``variances[j]``.

    Parameters
    ----------
    coefficients : sequence of float
        The a_j, each in (-1, 1), descending: slowest first.
    n_features : int, optional
        How many numbers a row holds; by default, as many as there are sources.
    variances : float or sequence
        The variances of the sources.
    loadings : array (n_features, n_sources), optional
        The linear mixing; random orthonormal columns by default.
    noise : float
        The variance of white noise along every axis, independent at every step.
    random_state : int, generator or None
        None draws a seed once: reading again still gives the same rows.

    Attributes
    ----------
    loadings : array (n_features, n_sources)
    covariance : array (n_features, n_features)
        E[x_t x_t^T], exactly.
    mixing : MixingProfile
        How fast the process forgets, for :mod:`eigenstream.theory`'s bounds.

    Examples
    --------
    The slowest source is found as the top eigenvector of ``alpha A - (1 - alpha) B`` once its
    eigenvalue is the largest:

    >>> process = Autoregressive((0.99, 0.5, 0.0), n_features=4, random_state=0)
    >>> process.take(3).shape
    (3, 4)
    >>> alpha = 0.5
    >>> T = alpha * process.covariance - (1 - alpha) * process.velocity_covariance()
    >>> top = np.linalg.eigh(T)[1][:, -1]
    >>> bool(np.isclose(abs(top @ process.loadings[:, 0]), 1.0))
    True
    """

    def __init__(
        self,
        coefficients: ArrayLike,
        *,
        n_features: int | None = None,
        variances: float | ArrayLike = 1.0,
        loadings: ArrayLike | None = None,
        noise: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.coefficients = real_array(coefficients, "coefficients").astype(np.float64)
        if self.coefficients.ndim != 1 or not self.coefficients.size:
            raise ValueError(
                f"coefficients must be a sequence of numbers, got shape {self.coefficients.shape}."
            )
        if not (np.abs(self.coefficients) < 1).all() or (np.diff(self.coefficients) > 0).any():
            raise ValueError(
                f"coefficients must lie in (-1, 1) and descend, got {self.coefficients}."
            )
        sources = self.coefficients.size
        self.variances = one_each(variances, sources, "variances")
        self.noise = check_number(noise, "noise", least=0)
        self._seed = seed_sequence(random_state)
        if loadings is None:
            self.n_features = check_whole(
                sources if n_features is None else n_features, "n_features", least=sources
            )
            self.loadings = random_basis(self._seed, self.n_features, sources)
        else:
            self.loadings = real_array(loadings, "loadings").astype(np.float64)
            if self.loadings.ndim != 2 or self.loadings.shape[1] != sources:
                raise ValueError(
                    f"loadings must have a column for each of the {sources} sources, "
                    f"got shape {self.loadings.shape}."
                )
            check_finite(self.loadings, name="loadings")
            self.n_features = len(self.loadings)
        self.covariance = self.lagged_covariance(0)
        # Fixed loadings and noise that is new at every step can only make it forget faster.
        self.mixing = SourcesMixing(tuple(self.coefficients.tolist()))

    def lagged_covariance(self, lag: int) -> Float64s:
        """Return E[x_t x_{t-lag}^T], exactly."""
        lag = check_whole(lag, "lag", least=0)
        out: Float64s = (self.loadings * self.variances * self.coefficients**lag) @ self.loadings.T
        if lag == 0:
            out[np.diag_indices(self.n_features)] += self.noise
        return out

    def velocity_covariance(self, lag: int = 1) -> Float64s:
        """Return E[v v^T] for the velocity ``v = x_t - x_{t-lag}``, exactly."""
        lag = check_whole(lag, "lag")
        # Independent sources: the lagged covariance is symmetric.
        return 2.0 * (self.lagged_covariance(0) - self.lagged_covariance(lag))

    def subspace(self, d: int) -> Float64s:
        """Return an orthonormal basis of the span of the d slowest sources' loadings."""
        d = check_whole(d, "d")
        if d > self.coefficients.size:
            raise ValueError(f"there are {self.coefficients.size} sources, fewer than d = {d}.")
        basis: Float64s = np.linalg.qr(self.loadings[:, :d])[0]
        return basis

    def _blocks(self, dtype: np.dtype[Any]) -> Iterator[Floats]:
        drive, spray = generators(self._seed, 2)
        sources = self.coefficients.size
        spread = np.sqrt(self.variances)
        kick = spread * np.sqrt(1.0 - self.coefficients**2)
        state: Float64s | None = None
        while True:
            steps = drive.standard_normal((BLOCK, sources))
            path = np.empty((BLOCK, sources))
            for t in range(BLOCK):
                # The first row is drawn from the stationary law itself.
                state = (
                    spread * steps[0]
                    if state is None
                    else self.coefficients * state + kick * steps[t]
                )
                path[t] = state
            rows = path @ self.loadings.T
            if self.noise:
                rows += sqrt(self.noise) * spray.standard_normal(rows.shape)
            yield rows.astype(dtype)
