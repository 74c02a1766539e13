"""Covariances of rows and of the rows ``lag`` later, and the propagator between them.

With the covariances C00, C01, C11 and the means m0, m1 of the earlier and the later rows, the best
linear prediction is ``m1 + (x - m0) K`` with ``K = C00^+ C01``. The complex eigenvalues of K give
decay times and periods. All follow from the sums of ``[past, now - past]``, written ``[p, u]``:

    C00 = S_pp,  C01 = S_pp + S_pu,  C11 = S_pp + S_pu + S_up + S_uu,  K - 1 = C00^+ S_pu

so eigenvalues near 1 keep their digits. With gaps, sums of ``[past, now]`` use more of the values.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.linalg import eig, svd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from eigenstream.core.checks import check_finite, check_number, check_whole
from eigenstream.core.linalg import (
    Float64s,
    brief,
    canonical_signs,
    deviations_of,
    principal_directions,
    rounding_of_mean,
    whitener,
)
from eigenstream.core.storable import storable
from eigenstream.core.types import Matrix

Complexes = NDArray[np.complex128]

#: Eigenvalues of C00 and C11 below this share of the largest one count as zero.
RANK_CUT = 1e-12


@storable(
    c00="f8 d d",
    c11="f8 d d",
    step="f8 d d",
    mean0="f8 d",
    mean1="f8 d",
    lag="int",
    weight="number?",
)
@dataclass(frozen=True, eq=False)
class LaggedCovariances:
    """Covariances of rows and of the rows ``lag`` later.

    ``fit`` of ``SlowSubspace`` and ``DynamicSubspace`` takes them in place of rows, so they may
    come from another program. ``of`` makes them from C00, C01 and C11.

    Attributes
    ----------
    c00, c11 : array of shape (n_features, n_features)
        The covariances of the earlier and of the later rows.
    step : array of shape (n_features, n_features)
        The covariance of the earlier rows and the steps to the later ones.
    mean0, mean1 : array of shape (n_features,)
        The means of the earlier and of the later rows.
    lag : int
        The lag in rows.
    weight : float
        The number of pairs of rows, or their weight.
    """

    c00: Float64s
    c11: Float64s
    step: Float64s
    mean0: Float64s
    mean1: Float64s
    lag: int
    weight: float = np.nan

    __repr__ = brief

    @classmethod
    def of(
        cls,
        c00: ArrayLike,
        c01: ArrayLike,
        c11: ArrayLike,
        mean0: ArrayLike,
        mean1: ArrayLike,
        *,
        lag: int,
        weight: float,
    ) -> "LaggedCovariances":
        """Return the covariances with these values, divided by the weight.

        Parameters
        ----------
        c00, c01, c11 : array-like of shape (n_features, n_features)
            The covariances of the earlier rows, of the earlier and the later rows, and of the
            later rows, about their means.
        mean0, mean1 : array-like of shape (n_features,)
            The means of the earlier and of the later rows.
        lag : int
            The lag in rows.
        weight : float
            The number of pairs of rows, or their weight.

        Returns
        -------
        LaggedCovariances
            The covariances.

        Examples
        --------
        >>> from eigenstream import DynamicSubspace
        >>> cov = LaggedCovariances.of(
        ...     [[1.0]], [[0.5]], [[1.0]], [0.0], [0.0], lag=2, weight=100
        ... )
        >>> DynamicSubspace(1, lag=2).fit(cov).timescales_.round(2)
        array([2.89])
        """
        first, crossed, last = (np.atleast_2d(np.asarray(c, np.float64)) for c in (c00, c01, c11))
        means = [np.atleast_1d(np.asarray(mean, np.float64)) for mean in (mean0, mean1)]
        shapes, size = [c.shape for c in (first, crossed, last)], len(means[0])
        if set(shapes) != {(size, size)} or means[1].shape != (size,):
            raise ValueError(
                f"The covariances have shapes {shapes} and the means have lengths "
                f"{list(map(len, means))}. Pass D x D matrices and means of length D."
            )
        for values in (first, crossed, last, *means):
            check_finite(np.atleast_2d(values), name="LaggedCovariances")
        check_number(weight, "weight", above=0)
        lag, weight = check_whole(lag, "lag"), float(weight)
        first, last = (first + first.T) / 2.0, (last + last.T) / 2.0
        return cls(first, last, crossed - first, means[0], means[1], lag, weight)

    @property
    def c01(self) -> Float64s:
        """The covariance of the earlier and the later rows."""
        return self.c00 + self.step

    def along(self, columns: Float64s) -> "LaggedCovariances":
        """Return the covariances of ``rows @ columns``.

        Parameters
        ----------
        columns : array of shape (n_features, n)
            The columns.

        Returns
        -------
        LaggedCovariances
            The covariances.
        """
        c00, c11, step = (
            columns.T @ matrix @ columns for matrix in (self.c00, self.c11, self.step)
        )
        means = self.mean0 @ columns, self.mean1 @ columns
        return LaggedCovariances(c00, c11, step, *means, self.lag, self.weight)


@dataclass(frozen=True, eq=False)
class Modes:
    """Eigenvalues and modes of the propagator, slowest first.

    Attributes
    ----------
    eigenvalues : complex array of shape (n,)
        The factor of each mode in ``lag`` rows. Of a pair, the positive phase comes first.
    functions : complex array of shape (n_features, n)
        Centred rows times this matrix are the amplitudes of the modes.
    modes : complex array of shape (n, n_features)
        Amplitudes times this matrix are the rows that they describe.
    lag : int
        The lag in rows.
    """

    eigenvalues: Complexes
    functions: Complexes
    modes: Complexes
    lag: int

    __repr__ = brief

    @property
    def timescales(self) -> Float64s:
        """The rows in which the amplitude of each mode falls to 1/e."""
        return decay_times(self.eigenvalues, self.lag)

    @property
    def periods(self) -> Float64s:
        """The period of each mode in rows, infinite if it does not oscillate."""
        return periods(self.eigenvalues, self.lag)

    def matched(self, other: "Modes") -> "Modes":
        """Return these modes with the eigenvalues of others, each the nearest to its own one."""
        distances = np.abs(self.eigenvalues[:, None] - other.eigenvalues)
        order = linear_sum_assignment(distances)[1]
        return replace(self, eigenvalues=other.eigenvalues[order])


def decay_times(eigenvalues: Complexes, lag: int) -> Float64s:
    """Return the rows in which amplitudes fall to 1/e: ``-lag / log|eigenvalue|``.

    >>> decay_times(np.array([np.exp(-0.5), 1.0]), 2)
    array([ 4., inf])
    """
    size = np.abs(eigenvalues)
    with np.errstate(divide="ignore"):
        return np.where(size < 1.0, -lag / np.log(np.minimum(size, 1.0)), np.inf)


def periods(eigenvalues: Complexes, lag: int) -> Float64s:
    """Return the periods in rows, infinite for positive eigenvalues.

    The true period must exceed twice the lag.

    >>> periods(np.array([1j, 1.0]), 2)
    array([ 8., inf])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(2.0 * np.pi * lag / np.abs(np.angle(eigenvalues)))


def principal(matrix: Float64s, rank: int | float | None, mean: Float64s) -> Float64s:
    """Return W with ``W^T matrix W = 1`` on the first principal directions.

    ``rank`` is their number, or the smallest share of the variance that they capture. Eigenvalues
    that rounding of the mean can cause count as zero.
    """
    if len(matrix) == 0:
        return matrix
    if rank is None:  # all directions: the units of the columns do not matter
        unit = deviations_of(np.diagonal(matrix), mean, np.inf)
        correlation = matrix / unit / unit[:, None]
        return whitener(correlation, RANK_CUT, rounding_of_mean(mean / unit)) / unit[:, None]
    directions = principal_directions(matrix, rank)[:, ::-1]
    values = (directions * (matrix @ directions)).sum(axis=0)
    varies = values > max(RANK_CUT * values[0], rounding_of_mean(mean))
    return np.asarray(directions[:, varies] / np.sqrt(values[varies]))


def singular(
    cov: LaggedCovariances, n: int | float | None, rank: int | float | None = None
) -> tuple[Float64s, Float64s, Float64s]:
    """Return the VAMP singular values, and the left and right functions as columns.

    ``n`` is their number, their share of the sum of squares, or None for all.
    """
    first, second = (principal(covariance, rank, cov.mean0) for covariance in (cov.c00, cov.c11))
    left, values, right = svd(first.T @ cov.c01 @ second, full_matrices=False)
    if isinstance(n, float):
        kinetic = np.cumsum(values**2)
        n = int(np.searchsorted(kinetic, n * kinetic[-1:].sum())) + 1
    columns = first @ left
    scaled = columns * np.sqrt(np.maximum(np.diagonal(cov.c00), 0.0))[:, None]
    signs = np.where((canonical_signs(scaled) * scaled).sum(axis=0) < 0.0, -1.0, 1.0)
    return values[:n], (columns * signs)[:, :n], (second @ right.T * signs)[:, :n]


def vamp_score(
    cov: LaggedCovariances, left: Float64s, right: Float64s, values: Float64s, r: int | str
) -> float:
    """Return the VAMP-1, VAMP-2 or VAMP-E score of functions, with the constant function.

    ``left`` and ``right`` have the singular ``values`` in the fit.
    """
    c00, c01, c11 = left.T @ cov.c00 @ left, left.T @ cov.c01 @ right, right.T @ cov.c11 @ right
    if r == "E":
        scaled = values[:, None] * c00 * values
        return float(2.0 * values @ np.diagonal(c01) - (scaled * c11).sum()) + 1.0
    crossed = whitener(c00, RANK_CUT).T @ c01 @ whitener(c11, RANK_CUT)
    return float((svd(crossed, compute_uv=False) ** int(r)).sum()) + 1.0


def correlations(cov: LaggedCovariances, left: Float64s, right: Float64s) -> Float64s:
    """Return the correlation of each left function with its right function ``lag`` rows later."""
    forms = (left, cov.c00, left), (right, cov.c11, right), (left, cov.c01, right)
    first, second, crossed = ((a * (c @ b)).sum(axis=0) for a, c, b in forms)
    sizes = np.sqrt(np.maximum(first * second, 0.0))
    return np.asarray(np.where(sizes > 0.0, crossed / np.where(sizes > 0.0, sizes, 1.0), 0.0))


def mode_sizes(cov: LaggedCovariances, columns: Float64s) -> Float64s:
    """Return the sizes of the eigenvalues of the propagator of some features, in descending order.

    >>> one, zero = np.eye(2), np.zeros(2)
    >>> cov = LaggedCovariances.of(
    ...     one, np.diag([0.5, -0.8]), one, zero, zero, lag=1, weight=9
    ... )
    >>> mode_sizes(cov, one).round(12)
    array([0.8, 0.5])
    """
    c00, step = (columns.T @ matrix @ columns for matrix in (cov.c00, cov.step))
    white = principal(c00, None, cov.mean0 @ columns)
    return np.sort(np.abs(1.0 + np.linalg.eigvals(white.T @ step @ white)))[::-1]


def eigenmodes(cov: LaggedCovariances) -> Modes:
    """Return the eigenvalues, functions and modes of ``K = C00^+ C01``."""
    white = principal(cov.c00, None, cov.mean0)
    shifts, right = eig(white.T @ cov.step @ white)
    values = np.asarray(1.0 + shifts, np.complex128)
    order = np.lexsort((-values.imag, -np.abs(values).round(12)))
    # The inverse of all right vectors, so that functions and modes are dual.
    functions = np.asarray(white @ right, np.complex128)
    modes = np.asarray(np.linalg.inv(right) @ (white.T @ cov.c00), np.complex128)
    return Modes(values[order], functions[:, order], modes[order], cov.lag)


def predicted_rows(cov: LaggedCovariances, left: Float64s, rows: Matrix, steps: int) -> Float64s:
    """Return the rows expected ``steps * lag`` rows later, from ``n`` features of present rows.

    ``left`` are the functions of the features, with unit covariance.
    """
    inner = cov.along(left)
    # The affine map z -> shift + z (1 + step) as a matrix, and its power.
    n = left.shape[1]
    move = np.eye(n + 1)
    move[:n, :n] += inner.step
    move[n, :n] = inner.mean1 - inner.mean0
    power = np.linalg.matrix_power(move, steps - 1)
    features = (rows - cov.mean0) @ left
    features = features @ power[:n, :n] + power[n, :n]
    return np.asarray(cov.mean1 + features @ (left.T @ cov.c01))


def koopman_weights(
    cov: LaggedCovariances, rank: int | float | None = None
) -> tuple[Float64s, float]:
    """Return u and c of the stationary weight ``x @ u + c`` of a row, with mean 1.

    The weights satisfy E[w f(x_later)] = E[w f(x)] for linear f. With ``W^T C00 W = 1`` they are
    ``1 + (x - m0) W (1 - W^T C01 W)^-T W^T (m1 - m0)``.
    """
    white = principal(cov.c00, rank, cov.mean0)
    complement = -(white.T @ cov.step @ white).T
    if complement.size and np.linalg.cond(complement) > 1.0 / RANK_CUT:
        raise ValueError(
            "An eigenvalue of the propagator is 1, so no stationary weights exist. Use fewer "
            "directions, such as rank=0.99."
        )
    u = white @ np.linalg.solve(complement, white.T @ (cov.mean1 - cov.mean0))
    return u, float(1.0 - cov.mean0 @ u)
