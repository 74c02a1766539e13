"""Independent Gaussian rows: mixtures and spiked covariances."""

from collections.abc import Iterator
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from eigenstream.core.checks import (
    check_finite,
    check_number,
    check_numbers,
    check_whole,
    real_array,
)
from eigenstream.core.linalg import Floats
from eigenstream.core.types import DType, RandomState
from eigenstream.processes.base import BLOCK, Process, generators, random_basis, seed_sequence


class GaussianMixture(Process):
    """Rows from a mixture of isotropic normal laws.

    Parameters
    ----------
    means : array-like of shape (k, n_features)
        The centres.
    spread : float, default=1.0
        The standard deviation of each component along every axis.
    random_state : int, generator or None, default=None
        The seed. None draws one seed; every reading gives the same rows.

    Attributes
    ----------
    means : array of shape (k, n_features)
        The centres. All components have the same probability.
    mean : array of shape (n_features,)
        The mean of a row.
    covariance : array of shape (n_features, n_features)
        The covariance of a row, exactly.

    Examples
    --------
    >>> process = GaussianMixture([[0.0, 0.0], [4.0, 0.0]], random_state=0)
    >>> process.take(3).shape
    (3, 2)
    >>> process.mean, process.covariance
    (array([2., 0.]), array([[5., 0.], [0., 1.]]))
    """

    def __init__(
        self, means: ArrayLike, *, spread: float = 1.0, random_state: RandomState = None
    ) -> None:
        self.means = real_array(means, "means").astype(np.float64)
        if self.means.ndim != 2 or not self.means.size:
            raise ValueError(f"means has shape {self.means.shape}. Pass (k, n_features).")
        check_finite(self.means, name="means")
        k, self.n_features = self.means.shape
        self.spread = check_number(spread, "spread", least=0)
        self.mean = self.means.mean(axis=0)
        gaps = self.means - self.mean
        self.covariance = gaps.T @ gaps / k + self.spread**2 * np.eye(self.n_features)
        self._seed = seed_sequence(random_state)

    def _blocks(self, dtype: DType) -> Iterator[Floats]:
        choose, spray = generators(self._seed, 2)
        while True:
            centres = self.means[choose.integers(len(self.means), size=BLOCK)]
            noise = spray.standard_normal((BLOCK, self.n_features))
            yield (centres + self.spread * noise).astype(dtype)


class SpikedGaussian(Process):
    """Rows of white noise with larger variance along a few random directions.

    Parameters
    ----------
    n_features : int
        The number of columns.
    spikes : sequence of float, default=(5.0, 4.0, 3.0, 2.0, 1.0)
        The variances of the directions in addition to the noise, in descending order.
    noise : float, default=1.0
        The variance of the noise along every axis.
    random_state : int, generator or None, default=None
        The seed. None draws one seed; every reading gives the same rows.

    Attributes
    ----------
    subspace : array of shape (n_features, d)
        The spiked directions as orthonormal columns.
    covariance : array of shape (n_features, n_features)
        ``subspace @ diag(spikes) @ subspace.T + noise * I``, exactly.

    Examples
    --------
    >>> process = SpikedGaussian(6, (4.0, 2.0), random_state=0)
    >>> process.take(3).shape, process.subspace.shape
    ((3, 6), (6, 2))
    >>> np.linalg.eigvalsh(process.covariance).round(9)
    array([1., 1., 1., 1., 3., 5.])
    """

    def __init__(
        self,
        n_features: int,
        spikes: ArrayLike = (5.0, 4.0, 3.0, 2.0, 1.0),
        *,
        noise: float = 1.0,
        random_state: RandomState = None,
    ) -> None:
        self.n_features = check_whole(n_features, "n_features")
        self.spikes = check_numbers(spikes, "spikes", above=0)
        if self.spikes.size > self.n_features or (np.diff(self.spikes) > 0).any():
            most = f"at most {self.n_features} descending variances"
            raise ValueError(f"spikes={self.spikes} is invalid. Pass {most}.")
        self.noise = check_number(noise, "noise", least=0)
        self._seed = seed_sequence(random_state)
        self.subspace = random_basis(self._seed, self.n_features, self.spikes.size)
        self.covariance = (self.subspace * self.spikes) @ self.subspace.T
        self.covariance[np.diag_indices(self.n_features)] += self.noise

    def _blocks(self, dtype: DType) -> Iterator[Floats]:
        signal, spray = generators(self._seed, 2)
        lift = (self.subspace * np.sqrt(self.spikes)).T
        while True:
            rows = sqrt(self.noise) * spray.standard_normal((BLOCK, self.n_features))
            rows += signal.standard_normal((BLOCK, self.spikes.size)) @ lift
            yield rows.astype(dtype)
