"""What every mixing profile offers, and how profiles combine."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
Float64s = NDArray[np.float64]


class MixingProfile(ABC):
    """How fast a stationary process forgets: ``profile(k)`` is an upper bound of beta(k).

    beta(k) is the expected largest change in the probability of any event ``k`` or more steps
    ahead, once the past is known ([SLOW] Definition 1, [BRADLEY]). It lies in [0, 1] and never
    grows with ``k``. At ``k = 0`` the past and the future share an observation, so beta(0) = 1 for
    every process with a density.

    A profile takes a lag or an array of lags. Profiles combine: ``p + q`` serves two independent
    processes seen together, ``p | q`` lies above both. A new profile defines ``_beta``.

    >>> from eigenstream.theory import Geometric, FiniteMemory
    >>> profile = Geometric(c=1, rho=0.5) + FiniteMemory(3)
    >>> profile(3)
    0.125
    >>> profile([0, 2, 4])
    array([1.    , 1.    , 0.0625])
    """

    @abstractmethod
    def _beta(self, lags: Int64s) -> Float64s:
        """Give beta at one-dimensional, non-negative lags; what exceeds [0, 1] is cut off."""

    @overload
    def __call__(self, lag: int) -> float: ...
    @overload
    def __call__(self, lag: Any) -> Any: ...
    def __call__(self, lag: Any) -> Any:
        """Return beta at one lag (a float) or at an array of lags (an array)."""
        lags = np.asarray(lag)
        if lags.size and not np.issubdtype(lags.dtype, np.integer):
            raise TypeError(f"A lag must be a whole number of steps, got {lag!r}.")
        if lags.size and lags.min() < 0:
            raise ValueError(f"A lag must be at least 0, got {int(lags.min())}.")
        flat = lags.ravel().astype(np.int64)
        beta = np.clip(self._beta(flat), 0.0, 1.0).reshape(lags.shape)
        return float(beta) if beta.ndim == 0 else beta

    def __add__(self, other: "MixingProfile") -> "Sum":
        """Return the profile of two independent processes seen together."""
        return Sum((*_parts(self, Sum), *_parts(other, Sum)))

    def __or__(self, other: "MixingProfile") -> "Maximum":
        """Return the smallest profile above both."""
        return Maximum((*_parts(self, Maximum), *_parts(other, Maximum)))


@dataclass(frozen=True)
class Sum(MixingProfile):
    """The sum of profiles, cut at 1: independent processes seen together.

    For independent processes the coefficients of the joint process are at most the sum of theirs
    ([BRADLEY] Theorem 5.1), and so are those of any function of both, such as a superposition.

    >>> from eigenstream.theory import Geometric
    >>> both = Geometric(0.5, 0.5) + Geometric(0.25, 0.5)
    >>> both
    Geometric(c=0.5, rho=0.5) + Geometric(c=0.25, rho=0.5)
    >>> both(1)
    0.375
    """

    parts: tuple[MixingProfile, ...]

    def __post_init__(self) -> None:
        """Refuse what is no profile."""
        _check_parts(self.parts)

    def _beta(self, lags: Int64s) -> Float64s:
        return np.asarray(np.sum([part(lags) for part in self.parts], axis=0), np.float64)

    def __repr__(self) -> str:
        """Write the parts with plus signs."""
        return " + ".join(_bracketed(part) for part in self.parts)


@dataclass(frozen=True)
class Maximum(MixingProfile):
    """The largest of profiles: for one process of which only one of several profiles is known true.

    >>> from eigenstream.theory import Algebraic, Geometric
    >>> either = Geometric(1, 0.5) | Algebraic(0.5, 1)
    >>> either
    Geometric(c=1, rho=0.5) | Algebraic(c=0.5, r=1)
    >>> either([1, 2, 10])
    array([0.5 , 0.25, 0.05])
    """

    parts: tuple[MixingProfile, ...]

    def __post_init__(self) -> None:
        """Refuse what is no profile."""
        _check_parts(self.parts)

    def _beta(self, lags: Int64s) -> Float64s:
        return np.asarray(np.max([part(lags) for part in self.parts], axis=0), np.float64)

    def __repr__(self) -> str:
        """Write the parts with bars."""
        return " | ".join(_bracketed(part) for part in self.parts)


def _parts(profile: MixingProfile, kind: type[Sum] | type[Maximum]) -> tuple[MixingProfile, ...]:
    """Flatten (p + q) + r into three parts; refuse what is no profile."""
    if isinstance(profile, kind):
        return profile.parts
    check_profile(profile)
    return (profile,)


def _check_parts(parts: tuple[MixingProfile, ...]) -> None:
    if not parts:
        raise ValueError("A combination of profiles needs at least one profile.")
    for part in parts:
        check_profile(part)


def _bracketed(part: MixingProfile) -> str:
    return f"({part!r})" if isinstance(part, Sum | Maximum) else repr(part)


def check_profile(mixing: Any) -> MixingProfile:
    """Return ``mixing`` if it is a profile; else say what to pass.

    >>> check_profile(0.99)
    Traceback (most recent call last):
        ...
    TypeError: mixing must be a profile such as Geometric(1, 0.99), got 0.99.
    """
    if not isinstance(mixing, MixingProfile):
        raise TypeError(f"mixing must be a profile such as Geometric(1, 0.99), got {mixing!r}.")
    return mixing
