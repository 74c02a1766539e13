"""Linear maps between raw distance and discriminant analysis.

``shrinkage`` replaces a share of the covariance within classes by a multiple of the identity, and
``mixing`` a share of the covariance between classes by that within:

    shrinkage=1, mixing=1   Euclidean distance
    shrinkage=0, mixing=1   Mahalanobis distance within classes (RCA)
    mixing=0                weighted discriminants (LDA)

One eigendecomposition of the covariance within classes serves all shrinkages.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh, qr, svd

from eigenstream.core.linalg import (
    Eigenpairs,
    Float64s,
    canonical,
    deviations_of,
    power_of_two,
    rounding_of_mean,
)

#: Variances between classes below this share of the variance within count as this share.
SMALLEST_RATIO = 1e-12


@dataclass(frozen=True)
class Scatters:
    """The covariances within and between classes, along the rows of a basis or in all directions.

    ``between`` is a matrix, or rows R with the covariance R^T R.
    """

    within: Float64s
    between: Float64s
    #: The number of features of the rows, which may exceed the number of directions.
    n_features: int
    #: The largest eigenvalue within classes that rounding can cause.
    floor: float = 0.0
    #: True if ``between`` contains rows.
    factored: bool = False
    #: The trace within in all directions, or None if it is that of ``within``.
    trace: float | None = None

    def scaled(self, scale: Float64s | None, mean: Float64s) -> "Scatters":
        """Return the covariances of features with a mean, divided by ``scale``."""
        if scale is None:
            return self
        within, between = self.within / scale / scale[:, None], self.between / scale
        if not self.factored:
            between = between / scale[:, None]
        floor = rounding_of_mean(mean / scale)
        return Scatters(within, between, self.n_features, floor, self.factored)

    def deviations(self, mean: Float64s) -> Float64s:
        """Return the deviation of each feature within classes, and 1 for constant features."""
        return deviations_of(np.diagonal(self.within), mean)


@dataclass(frozen=True)
class Discriminants:
    """Directions of positive variance between classes, in coordinates whitened within classes.

    ``variances`` are descending, and ``mean`` is the mean variance over all features.
    """

    variances: Float64s
    vectors: Float64s
    mean: float
    #: The factors that whiten, along the eigenvectors within classes.
    scales: Float64s

    def weights(self, mixing: Any) -> tuple[Float64s, Any]:
        """Return the squared weights of the discriminants, and of all other directions.

        For Gaussian classes with variance 1 within and v between, the logarithm of the likelihood
        ratio of "same" and "different" weighs the squared difference of two rows by v / (1 + v).
        """
        rest = mixing * self.mean
        mixed = (1.0 - mixing) * self.variances + rest
        return mixed / (1.0 + mixed), rest / (1.0 + rest)


class Axes:
    """The eigenvectors of the covariance within classes."""

    def __init__(self, scatters: Scatters) -> None:
        self.scatters = scatters
        unit = power_of_two(float(np.abs(scatters.within).max(initial=0.0)))
        values, vectors = eigh(scatters.within / unit, check_finite=False, driver="evd")
        self.values, self.vectors = np.maximum(values, 0.0) * unit, vectors
        if self.values[-1] <= scatters.floor:  # rounding errors of equal rows
            self.values = np.zeros_like(values)
        #: The variance by which shrinkage replaces the variances.
        trace = float(self.values.sum()) if scatters.trace is None else scatters.trace
        self.level = trace / scatters.n_features
        self.between = scatters.between @ vectors
        #: True if ``between`` has fewer rows than columns: rows R with the covariance R^T R.
        self.factored = scatters.factored and len(self.between) < len(vectors)
        if not self.factored:
            self.between = (self.between if scatters.factored else vectors).T @ self.between

    def scales(self, shrinkage: float) -> Float64s:
        """Return the factors that whiten the shrunk covariance, along the eigenvectors.

        Without shrinkage, directions of no variance have the factor 0.
        """
        shrunk = (1.0 - shrinkage) * self.values + shrinkage * self.level
        rounding = len(shrunk) * float(np.finfo(np.float64).eps) * float(self.values[-1])
        inside = shrunk > (max(rounding, self.scatters.floor) if shrinkage == 0.0 else 0.0)
        return np.divide(1.0, np.sqrt(shrunk), out=np.zeros(len(shrunk)), where=inside)

    def discriminants(self, shrinkage: float) -> Discriminants:
        """Return the directions of positive variance between classes."""
        scales = self.scales(shrinkage)
        if self.factored:
            _, roots, right = svd(self.between * scales, full_matrices=False)
            values, vectors = roots**2, right.T
        else:
            values, vectors = eigh(self.between * scales * scales[:, None], driver="evd")
            values, vectors = values[::-1], vectors[:, ::-1]
        n = max(int((values > 1e-9 * np.abs(values).max(initial=0.0)).sum()), 1)
        mean = max(float(values.sum()) / self.scatters.n_features, SMALLEST_RATIO)
        variances = np.maximum(values[:n], SMALLEST_RATIO)
        return Discriminants(variances, vectors[:, :n], mean, scales)

    def covariance(self, mapped: Float64s) -> Float64s:
        """Return the covariance of all rows after a map, whose columns are the eigenvectors."""
        rows = mapped @ self.between.T
        between = rows @ (rows if self.factored else mapped).T
        return np.asarray((mapped * self.values) @ mapped.T + between)


def components_of(
    axes: Axes,
    discriminants: Discriminants,
    mixing: float,
    n_components: int | None,
    energy: float | None = 1.0,
) -> Eigenpairs:
    """Return the components as columns, with the variances of the rows after the map.

    Euclidean distances after the map are the learned distances. The components are principal axes
    of the mapped rows. With mixing and ``n_components=None``, ``energy`` is the share of the mean
    squared distance to keep, or None for all directions.
    """
    scales = discriminants.scales
    weights, rest = discriminants.weights(mixing)
    if mixing == 0.0:
        first = slice(0, n_components)
        mapped = (discriminants.vectors[:, first] * np.sqrt(weights[first])).T * scales
    else:
        root = (
            discriminants.vectors * (np.sqrt(weights) - np.sqrt(rest))
        ) @ discriminants.vectors.T
        root[np.diag_indices(len(root))] += np.sqrt(rest)
        mapped = root * scales
    values, turn = eigh(axes.covariance(mapped), driver="evd")
    values, turn = np.maximum(values[::-1], 0.0), turn[:, ::-1]
    if mixing > 0.0 and n_components is None and energy is not None:
        least = energy * float(values.sum()) * (1.0 - 1e-12)
        n_components = int(np.searchsorted(np.cumsum(values), least)) + 1
    columns = axes.vectors @ (mapped.T @ turn[:, :n_components])
    flat = values[:n_components] <= len(values) * np.finfo(np.float64).eps * values[0]
    if flat.any():  # any rotation of directions without variance would serve: take a triangular map
        columns[:, flat] = qr(columns[:, flat].T, mode="r")[0].T
    return canonical(values[:n_components], columns)
