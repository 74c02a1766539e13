"""Mixing profiles: formulas, tables and exact coefficients of Markov chains."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenstream.core.checks import check_number, check_numbers, check_whole

__all__ = [
    "Algebraic",
    "FiniteMemory",
    "Geometric",
    "Independent",
    "MarkovMixing",
    "MixingProfile",
    "Table",
    "markov_mixing",
]

Int64s = NDArray[np.int64]
Float64s = NDArray[np.float64]


class MixingProfile(ABC):
    """An upper bound of the mixing coefficients beta(k) of a stationary process.

    beta(k) measures the dependence over k steps ([1]_, [2]_ Definition 1). It is the expected
    largest change in the probability of any event k or more steps ahead, once the past is known.
    It lies in [0, 1] and does not increase with k. beta(0) is 1 for every process with a density,
    because past and future share an observation.

    Call a profile with one lag or with an array of lags. A new profile defines ``_beta``.

    References
    ----------
    .. [1] R. C. Bradley, "Basic Properties of Strong Mixing Conditions. A Survey and Some Open
           Questions", Probability Surveys 2, 2005.
    .. [2] A. Maurer, "Unsupervised Slow Subspace-Learning from Stationary Processes", Algorithmic
           Learning Theory, 2006.

    Examples
    --------
    >>> from eigenstream.theory import Geometric
    >>> profile = Geometric(c=1, rho=0.5)
    >>> profile(3)
    0.125
    >>> profile([0, 2, 4])
    array([1.    , 0.25  , 0.0625])
    """

    @abstractmethod
    def _beta(self, lags: Int64s) -> Float64s:
        """Return beta at non-negative lags (1-D); the caller clips values to [0, 1]."""

    def __call__(self, lag: ArrayLike) -> Any:
        """Return beta at one lag (a float) or at an array of lags (an array)."""
        lags = np.asarray(lag)
        if lags.size and not np.issubdtype(lags.dtype, np.integer):
            raise TypeError(f"lag={lag!r} is not an integer. Pass whole numbers of steps.")
        if lags.size and lags.min() < 0:
            raise ValueError(f"lag={int(lags.min())} is negative. Use lags of at least 0.")
        flat = lags.ravel().astype(np.int64)
        beta = np.clip(self._beta(flat), 0.0, 1.0).reshape(lags.shape)
        return float(beta) if beta.ndim == 0 else beta


def check_profile(mixing: object) -> MixingProfile:
    """Return ``mixing`` if it is a profile, else raise TypeError.

    >>> check_profile(0.99)
    Traceback (most recent call last):
        ...
    TypeError: mixing=0.99 is not a profile. Pass a profile such as Geometric(1, 0.99).
    """
    if not isinstance(mixing, MixingProfile):
        raise TypeError(
            f"mixing={mixing!r} is not a profile. Pass a profile such as Geometric(1, 0.99)."
        )
    return mixing


@dataclass(frozen=True)
class Independent(MixingProfile):
    """Independent observations: beta(k) = 0 for k >= 1.

    Examples
    --------
    >>> Independent()([0, 1, 2])
    array([1., 0., 0.])
    """

    def _beta(self, lags: Int64s) -> Float64s:
        return np.where(lags >= 1, 0.0, 1.0)


@dataclass(frozen=True)
class FiniteMemory(MixingProfile):
    """A finite mixing time: observations ``a0`` or more steps apart are independent.

    beta(k) = 0 for k >= a0. Below a0 the profile is 1, as assumed after [1]_ Theorem 2. A moving
    average of q + 1 independent inputs has a0 = q + 1.

    Parameters
    ----------
    a0 : int
        The mixing time in steps.

    References
    ----------
    .. [1] A. Maurer, "Unsupervised Slow Subspace-Learning from Stationary Processes", Algorithmic
           Learning Theory, 2006.

    Examples
    --------
    >>> FiniteMemory(3)([2, 3])
    array([1., 0.])
    """

    a0: int

    def __post_init__(self) -> None:
        """Check the number."""
        check_whole(self.a0, "a0")

    def _beta(self, lags: Int64s) -> Float64s:
        return np.where(lags >= self.a0, 0.0, 1.0)


@dataclass(frozen=True)
class Geometric(MixingProfile):
    """Geometric decay: beta(k) <= c rho^k for k >= 1.

    Every aperiodic finite Markov chain has such a profile. A Gaussian first-order autoregression
    has one with c = 1 and rho = its coefficient.

    Parameters
    ----------
    c : float
        The factor, positive.
    rho : float
        The decay per step, in (0, 1).

    Examples
    --------
    >>> Geometric(c=1, rho=0.5)([1, 2, 3])
    array([0.5  , 0.25 , 0.125])
    """

    c: float
    rho: float

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_number(self.c, "c", above=0)
        check_number(self.rho, "rho", above=0, below=1)

    def _beta(self, lags: Int64s) -> Float64s:
        beta = self.c * np.power(float(self.rho), lags.astype(np.float64))
        return np.where(lags >= 1, beta, 1.0)


@dataclass(frozen=True)
class Algebraic(MixingProfile):
    """Algebraic decay, a long memory: beta(k) <= c k^(-r) for k >= 1.

    Parameters
    ----------
    c : float
        The factor, positive.
    r : float
        The exponent, positive.

    Examples
    --------
    >>> Algebraic(c=1, r=2)([1, 2, 10])
    array([1.  , 0.25, 0.01])
    """

    c: float
    r: float

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_number(self.c, "c", above=0)
        check_number(self.r, "r", above=0)

    def _beta(self, lags: Int64s) -> Float64s:
        beta = self.c * np.power(np.maximum(lags, 1).astype(np.float64), -float(self.r))
        return np.where(lags >= 1, beta, 1.0)


@dataclass(frozen=True)
class Table(MixingProfile):
    """A table of values: ``values[i]`` from ``lags[i]`` to the next lag.

    The profile is 1 before the first lag and constant after the last one.

    Parameters
    ----------
    values : sequence of float
        Numbers in [0, 1] that do not increase.
    lags : sequence of int, default=None
        Increasing lags. By default the values are beta(0), beta(1) and so on.

    Examples
    --------
    >>> Table([1, 0.5, 0.1])([0, 1, 2, 50])
    array([1. , 0.5, 0.1, 0.1])
    >>> Table([0.2, 0.0], lags=[10, 100])([9, 10, 99, 100])
    array([1. , 0.2, 0.2, 0. ])
    >>> Table([0.2, 0.3])
    Traceback (most recent call last):
        ...
    ValueError: values=[0.2, 0.3] is no profile. Pass numbers in [0, 1] that do not increase.
    """

    values: Sequence[float]
    lags: Sequence[int] | None = None

    def __post_init__(self) -> None:
        """Check the values and lags."""
        values = check_numbers(self.values, "values")
        if values.min() < 0 or values.max() > 1 or (np.diff(values) > 0).any():
            raise ValueError(
                f"values={values.tolist()} is no profile. "
                "Pass numbers in [0, 1] that do not increase."
            )
        lags = range(values.size) if self.lags is None else self.lags
        lags = tuple(check_whole(lag, "lags", least=0) for lag in lags)
        if len(lags) != values.size or (np.diff(lags) <= 0).any():
            raise ValueError(f"lags={lags} is invalid. Pass one lag for each value, increasing.")
        object.__setattr__(self, "values", tuple(values.tolist()))
        object.__setattr__(self, "lags", lags)

    def _beta(self, lags: Int64s) -> Float64s:
        values = np.array([1.0, *self.values])
        return values[np.searchsorted(np.array(self.lags), lags, side="right")]


#: The largest error of a row sum of a transition matrix. Rows within it are rescaled to sum 1.
ROW_SUM_TOLERANCE = 1e-8


@dataclass(frozen=True, repr=False, eq=False)
class MarkovMixing(MixingProfile):
    """The exact profile of a stationary finite Markov chain, from ``markov_mixing``.

    Attributes
    ----------
    transition : array of shape (n_states, n_states)
        The transition probabilities.
    stationary : array of shape (n_states,)
        The stationary probabilities.

    Examples
    --------
    >>> markov_mixing([[0.9, 0.1], [0.1, 0.9]]).stationary
    array([0.5, 0.5])
    """

    transition: Float64s
    stationary: Float64s

    def _beta(self, lags: Int64s) -> Float64s:
        distinct, where = np.unique(lags, return_inverse=True)
        # P^k - 1 pi = (P - 1 pi)^k for k >= 1. Powers of the deviation have no cancellation.
        power = self.transition - self.stationary
        deviations = [
            np.linalg.matrix_power(power, k) - (k == 0) * self.stationary for k in distinct.tolist()
        ]
        variation = 0.5 * np.abs(deviations).sum(axis=2)  # of each start, from the stationary law
        return np.asarray((variation @ self.stationary)[where], np.float64)

    def __repr__(self) -> str:
        """Return a short text with the number of states."""
        return f"MarkovMixing({self.stationary.size} states)"


def markov_mixing(transition: ArrayLike) -> MarkovMixing:
    """Return the exact profile of a stationary Markov chain.

    Parameters
    ----------
    transition : array-like of shape (n_states, n_states)
        Transition probabilities with one closed class of states, which makes the stationary law
        unique.

    Returns
    -------
    MarkovMixing
        It also bounds the coefficients of every sequence of features of the states. beta of a
        periodic chain does not fall to zero.

    Notes
    -----
    beta(k) = sum_i pi_i |P^k(i, .) - pi|_TV: the total variation distance from the stationary law
    pi, averaged over pi ([1]_, [2]_ section 3). Two states that switch with probabilities p and q
    have beta(k) = 2 p q / (p + q)^2 |1 - p - q|^k.

    References
    ----------
    .. [1] Yu. A. Davydov, "Mixing Conditions for Markov Chains", Theory of Probability and Its
           Applications 18, 1973.
    .. [2] R. C. Bradley, "Basic Properties of Strong Mixing Conditions. A Survey and Some Open
           Questions", Probability Surveys 2, 2005.

    Examples
    --------
    >>> profile = markov_mixing([[0.9, 0.1], [0.1, 0.9]])
    >>> profile
    MarkovMixing(2 states)
    >>> profile([0, 1, 2])
    array([0.5 , 0.4 , 0.32])
    """
    matrix = np.asarray(transition, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(f"transition has shape {matrix.shape}. Pass a square matrix.")
    sums = matrix.sum(axis=1)
    bad = np.flatnonzero(~((np.abs(sums - 1) <= ROW_SUM_TOLERANCE) & (matrix >= 0).all(axis=1)))
    if bad.size:
        raise ValueError(
            f"Row {bad[0]} of the transition matrix is {matrix[bad[0]]}. "
            "Pass probabilities of 0 or more that sum to 1 in each row."
        )
    matrix = matrix / sums[:, None]
    # pi P = pi and sum pi = 1. More than one closed class leaves the system without full rank.
    system = np.vstack([matrix.T - np.eye(len(matrix)), np.ones(len(matrix))])
    right = np.append(np.zeros(len(matrix)), 1.0)
    weights, _, rank, _ = np.linalg.lstsq(system, right, rcond=None)
    if rank < len(matrix):
        raise ValueError(
            "The chain has several closed classes, so its stationary law is not unique. "
            "Pass the block of one class."
        )
    weights = np.maximum(weights, 0.0)
    return MarkovMixing(matrix, weights / weights.sum())
