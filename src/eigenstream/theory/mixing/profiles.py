"""Mixing profiles given by a formula or a table, and their text form for the command line."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from eigenstream._checks import check_number, check_whole
from eigenstream.theory.base import Float64s, Int64s, Maximum, MixingProfile, Sum


@dataclass(frozen=True)
class Independent(MixingProfile):
    """Independent observations: beta(k) = 0 for k >= 1.

    >>> Independent()([0, 1, 2])
    array([1., 0., 0.])
    """

    def _beta(self, lags: Int64s) -> Float64s:
        return np.where(lags >= 1, 0.0, 1.0)


@dataclass(frozen=True)
class FiniteMemory(MixingProfile):
    """A mixing time: observations ``a0`` or more steps apart are independent.

    beta(k) = 0 for k >= a0 and nothing is assumed before (the reading that follows [SLOW]
    Theorem 2). A moving average of q + 1 independent inputs has a0 = q + 1.

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
    """beta(k) <= c rho^k for k >= 1, as aperiodic finite Markov chains have for some c and rho.

    For a Gaussian first-order autoregression c = 1 and rho = its coefficient is a profile (the
    exact one is ``autoregressive_mixing``).

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
    """beta(k) <= c k^(-r) for k >= 1: long memory that fades like a power.

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
    """Known values: ``values[i]`` from lag ``lags[i]`` on, until the next lag listed.

    Without ``lags`` the values are beta(0), beta(1), and so on. Before the first lag nothing is
    assumed (1); after the last lag the last value stays, which is safe since beta never grows.

    >>> Table([1, 0.5, 0.1])([0, 1, 2, 50])
    array([1. , 0.5, 0.1, 0.1])
    >>> Table([0.2, 0.0], lags=[10, 100])([9, 10, 99, 100])
    array([1. , 0.2, 0.2, 0. ])
    >>> Table([0.2, 0.3])
    Traceback (most recent call last):
        ...
    ValueError: values must not grow, but values[1] = 0.3 follows 0.2. beta is non-increasing: \
give each value the largest of those after it.
    """

    values: Sequence[float]
    lags: Sequence[int] | None = None
    _values: Float64s = field(init=False, repr=False, compare=False)
    _lags: Int64s = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the values and lags."""
        values = np.asarray(self.values, dtype=np.float64)
        if values.ndim != 1 or values.size == 0:
            raise ValueError(f"values must be a list of numbers, got shape {values.shape}.")
        for i, value in enumerate(values):
            check_number(float(value), f"values[{i}]", least=0, most=1)
        rises = np.flatnonzero(np.diff(values) > 0)
        if rises.size:
            i = int(rises[0]) + 1
            raise ValueError(
                f"values must not grow, but values[{i}] = {values[i]:g} follows {values[i - 1]:g}. "
                "beta is non-increasing: give each value the largest of those after it."
            )
        lags = np.asarray(range(values.size) if self.lags is None else self.lags)
        if lags.shape != values.shape or not np.issubdtype(lags.dtype, np.integer):
            raise ValueError(f"lags must be {values.size} whole numbers, one a value.")
        if lags[0] < 0 or (np.diff(lags) <= 0).any():
            raise ValueError("lags must grow strictly, from 0 or more.")
        object.__setattr__(self, "values", tuple(values.tolist()))
        object.__setattr__(self, "lags", None if self.lags is None else tuple(lags.tolist()))
        object.__setattr__(self, "_values", np.concatenate([[1.0], values]))
        object.__setattr__(self, "_lags", lags.astype(np.int64))

    def _beta(self, lags: Int64s) -> Float64s:
        return self._values[np.searchsorted(self._lags, lags, side="right")]


#: What may be written on a command line: name, profile, the names of its numbers.
_FORMS: dict[str, tuple[type[MixingProfile], tuple[str, ...]]] = {
    "independent": (Independent, ()),
    "finite": (FiniteMemory, ("a0",)),
    "geometric": (Geometric, ("c", "rho")),
    "algebraic": (Algebraic, ("c", "r")),
    "table": (Table, ("beta(0)", "beta(1)", "...")),
}


def from_text(text: str) -> MixingProfile:
    """Read a profile written in words, as on the command line.

    The forms are ``independent``, ``finite:a0``, ``geometric:c,rho``, ``algebraic:c,r`` and
    ``table:beta(0),beta(1),...``; ``+`` adds profiles and ``|`` takes their maximum (``+`` binds
    closer).

    >>> from_text("geometric:1,0.99")
    Geometric(c=1.0, rho=0.99)
    >>> from_text("finite:10 + algebraic:2,3")
    FiniteMemory(a0=10) + Algebraic(c=2.0, r=3.0)
    >>> from_text("geometric:1")
    Traceback (most recent call last):
        ...
    ValueError: mixing 'geometric:1': write geometric:c,rho (2 numbers, got 1).
    """
    alternatives = []
    for alternative in text.split("|"):
        # A plus before a letter joins profiles; elsewhere it belongs to a number such as 1e+3.
        terms = [_term(term.strip()) for term in re.split(r"\+(?=\s*[A-Za-z])", alternative)]
        alternatives.append(terms[0] if len(terms) == 1 else Sum(tuple(terms)))
    return alternatives[0] if len(alternatives) == 1 else Maximum(tuple(alternatives))


def _term(text: str) -> MixingProfile:
    name, _, rest = text.partition(":")
    if name not in _FORMS:
        forms = ", ".join(_form(known) for known in _FORMS)
        raise ValueError(f"mixing {text!r}: no profile of that name; write one of {forms}.")
    kind, wanted = _FORMS[name]
    words = [word.strip() for word in rest.split(",")] if rest else []
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise ValueError(f"mixing {text!r}: write {_form(name)} with plain numbers.") from None
    try:
        if kind is Table:
            return Table(numbers)
        if len(numbers) != len(wanted):
            count = f"{len(wanted)} number{'' if len(wanted) == 1 else 's'}, got {len(numbers)}"
            raise ValueError(f"write {_form(name)} ({count}).")
        if kind is FiniteMemory:
            return FiniteMemory(_whole(numbers[0]))
        return kind(*numbers)
    except (TypeError, ValueError) as error:
        raise ValueError(f"mixing {text!r}: {error}") from None


def _form(name: str) -> str:
    wanted = _FORMS[name][1]
    return f"{name}:{','.join(wanted)}" if wanted else name


def _whole(number: float) -> int:
    if not number.is_integer():
        raise ValueError(f"a0 must be a whole number of steps, got {number:g}.")
    return int(number)
