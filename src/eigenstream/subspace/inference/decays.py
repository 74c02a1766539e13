"""The decay of features over several lags: time scales, noise shares and tests of a single rate."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from eigenstream.core.linalg import Float64s
from eigenstream.subspace.inference.held_out import autocorrelations_of_moments
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.sums.operators import MatrixOperator

#: A lag is used while its autocorrelation exceeds this multiple of its standard error.
SURE = 3.0

#: Residuals of the exponential beyond this multiple of their standard error reject a lag.
MISFIT = 3.0

#: Autocorrelations below this value are not used, because the selection of features biases them.
LEAST_CORRELATION = 0.05

#: A departure from a single rate has this size, and this multiple of its standard error.
LEAST_DEPARTURE, SURE_DEPARTURE = 0.05, 4.0

#: Two-sided 95 % intervals.
QUANTILE = 0.975


@dataclass(frozen=True)
class Decay:
    """An exponential ``(1 - noise) * exp(-lag / timescale)`` through autocorrelations.

    Attributes
    ----------
    timescale, timescale_low, timescale_high : float
        The time scale and its 95 % interval, in the unit of the path. NaN if fewer than two lags
        have an autocorrelation that differs clearly from 0.
    noise, noise_error : float
        The share of the variance that decays before the first lag in use, and its standard error.
    first, last : int
        The first and the last lag in use, in rows. Shorter lags are left out if faster decays make
        them depart from the exponential.
    straight : bool
        True if the exponential fits the lags in use.
    """

    timescale: float
    timescale_low: float
    timescale_high: float
    noise: float
    noise_error: float
    first: int
    last: int
    straight: bool

    @property
    def reliable(self) -> bool:
        """True if an exponential fits, and its share of noise is not clearly negative.

        Smooth and oscillating features do not decay by an exponential.
        """
        return self.straight and self.noise >= -2.0 * self.noise_error


#: The decay of a feature without two usable lags.
NAN = float("nan")
UNKNOWN = Decay(NAN, NAN, NAN, NAN, NAN, 0, 0, False)


@dataclass(frozen=True, eq=False)
class ChapmanKolmogorov:
    """Autocorrelations at multiples of a lag, as predicted from the lag and as measured.

    Attributes
    ----------
    lag : int
        The lag, in rows.
    lags : array of shape (n,)
        Its multiples, in rows.
    predicted, measured, errors : array of shape (n, n_components)
        The autocorrelation at the lag to the power of the multiple, the measured autocorrelation,
        and the standard error of their difference.
    """

    lag: int
    lags: NDArray[np.int64]
    predicted: Float64s
    measured: Float64s
    errors: Float64s

    @property
    def departs(self) -> NDArray[np.bool_]:
        """True for each feature whose autocorrelation departs clearly from the prediction."""
        gaps = np.abs(self.measured - self.predicted)
        clear = (gaps > LEAST_DEPARTURE) & (gaps > SURE_DEPARTURE * self.errors)
        return np.asarray(clear.any(axis=0))

    @property
    def warning(self) -> str | None:
        """The warning for the first feature that departs, or None."""
        if not self.departs.any():
            return None
        k = int(self.departs.argmax())
        gaps = np.abs(self.measured - self.predicted)[:, k]
        place = int((gaps - SURE_DEPARTURE * self.errors[:, k]).argmax())
        return (
            f"feature {k + 1} has an autocorrelation of {self.measured[place, k]:.2f} at lag "
            f"{self.lags[place]}, and lag={self.lag} predicts {self.predicted[place, k]:.2f}. It "
            "has noise or several rates: use a longer lag."
        )

    def __repr__(self) -> str:
        lines = [f"     lag  autocorrelation, and as lag {self.lag} predicts it, of each feature"]
        for lag, *row in zip(self.lags.tolist(), self.measured, self.predicted, strict=True):
            cells = (
                f" {real:9.3f} ({predicted:.3f})" for real, predicted in zip(*row, strict=True)
            )
            lines.append(f"{lag:8}" + "".join(cells))
        return "\n".join(lines)


def of_learner(learner: Learner, columns: Float64s) -> Float64s:
    """Return the autocorrelation along each column."""
    return of_operator(learner.thin_operator(), columns)


def of_operator(operator: MatrixOperator, columns: Float64s) -> Float64s:
    """Return the autocorrelation along each column, from A and B."""
    variance, velocity = operator.moments(columns)
    noise = operator.rounding * operator.trace + operator.floor
    return autocorrelations_of_moments(variance, velocity, noise * (columns**2).sum(axis=0))


def jackknife_error(values: Float64s) -> Float64s:
    """Return the standard errors of estimates from their values without each block."""
    return np.asarray(np.sqrt((len(values) - 1) * values.var(axis=0)))


def resolved(
    correlations: Float64s, errors: Float64s, n_features: int, n_blocks: int
) -> NDArray[np.bool_]:
    """Return True for autocorrelations that selection among ``n_features`` does not explain.

    Without any autocorrelation, the largest one of D directions is near ``sqrt(2 D / n)``. The
    standard error of each is near ``1 / sqrt(n)``, the smallest of ``errors`` along the last axis.
    Features of rare events have larger errors.

    >>> resolved(np.array([0.07, 0.5]), np.array([0.01, 0.05]), 20, 20)
    array([False,  True])
    """
    chance = np.sqrt(2.0 * n_features) * errors.min(axis=-1, initial=np.inf, keepdims=True)
    least = student.ppf(QUANTILE, n_blocks - 1) * errors + chance
    return np.asarray(correlations > np.maximum(least, LEAST_CORRELATION))


def decay(lags: NDArray[np.int64], rho: Float64s, without: Float64s, dt: float = 1.0) -> Decay:
    """Fit the exponential decay of one feature by a weighted line through the logarithms.

    ``without`` has the autocorrelations without each block, of shape (n_blocks, n_lags). The
    leading lags with clear autocorrelations are used. The shortest ones are dropped until the
    exponential fits.

    >>> lags = np.array([1, 2, 5, 10])
    >>> exact = 0.7 * np.exp(-lags / 20)
    >>> blocks = exact + 1e-6 * np.random.default_rng(0).normal(size=(20, 4))
    >>> fitted = decay(lags, exact, blocks)
    >>> round(fitted.timescale, 1), round(fitted.noise, 2)
    (20.0, 0.3)
    """
    usable = rho > np.maximum(SURE * jackknife_error(without), LEAST_CORRELATION)
    n = len(usable) if usable.all() else int(usable.argmin())
    if n < 2 or (without[:, :n] <= 0.0).any():
        return UNKNOWN
    times = np.asarray(lags * dt, np.float64)
    logs = np.log(np.vstack([rho[:n], without[:, :n]]))
    errors = np.maximum(jackknife_error(logs[1:]), np.finfo(np.float64).eps)
    straight, first = False, 0
    for first in range(max(n - 2, 1)):
        used = slice(first, n)
        intercepts, slopes = _lines(times[used], logs[:, used], errors[used] ** -2.0)
        residuals = logs[:, used] - intercepts[:, None] - slopes[:, None] * times[used]
        spread = jackknife_error(residuals[1:])
        straight = bool((np.abs(residuals[0]) <= MISFIT * spread + 1e-9).all())
        if straight:
            break
    margin = float(student.ppf(QUANTILE, len(without) - 1) * jackknife_error(slopes[1:]))
    rate, noise = -float(slopes[0]), 1.0 - np.exp(intercepts)
    scale, low, high = (
        1.0 / speed if speed > 0.0 else np.inf for speed in (rate, rate + margin, rate - margin)
    )
    share, error = float(noise[0]), float(jackknife_error(noise[1:]))
    return Decay(scale, low, high, share, error, int(lags[first]), int(lags[n - 1]), straight)


def _lines(times: Float64s, logs: Float64s, weights: Float64s) -> tuple[Float64s, Float64s]:
    """Return the intercept and the slope of a weighted straight line through each row of logs."""
    share = weights / weights.sum()
    middle, means = share @ times, logs @ share
    centred = times - middle
    slopes = (logs - means[:, None]) @ (share * centred) / (share @ centred**2)
    return means - slopes * middle, slopes


def predicted_correlations(rho: Float64s, multiples: NDArray[np.int64]) -> Float64s:
    """Return autocorrelations to the power of each multiple, along a new axis before the last.

    A negative autocorrelation predicts 0.

    >>> predicted_correlations(np.array([0.5, -0.1]), np.array([2, 3]))
    array([[0.25 , 0.   ],
           [0.125, 0.   ]])
    """
    return np.asarray(np.maximum(rho, 0.0)[..., None, :] ** multiples[:, None])
