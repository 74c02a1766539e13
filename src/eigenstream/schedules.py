"""Learning rates of online rules as functions of the step number.

A schedule is a frozen description. The solver that uses it keeps the step count and the running
mean that ``Auto`` divides by. Both therefore survive ``partial_fit`` and pickling.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from eigenstream.core.checks import check_number, real_array
from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable

__all__ = ["Auto", "Constant", "Exponential", "Power", "Schedule", "Steps", "Verdict"]


class Verdict(NamedTuple):
    """Result of ``converges``. It is true if the conditions for convergence hold.

    Attributes
    ----------
    holds : bool
        True if the conditions hold.
    reason : str
        The reason, for messages.

    Examples
    --------
    >>> bool(Verdict(False, "the steps do not vanish"))
    False
    """

    holds: bool
    reason: str

    def __bool__(self) -> bool:
        return self.holds


class Schedule(ABC):
    """Base of the learning-rate schedules: a learning rate for every step."""

    @abstractmethod
    def gains(self, first: int, n: int) -> Float64s:
        """Return the learning rates of consecutive steps.

        Parameters
        ----------
        first : int
            The number of the first step, counted from 0.
        n : int
            The number of steps.

        Returns
        -------
        array of shape (n,)
            The learning rates.
        """

    @abstractmethod
    def converges(self) -> Verdict:
        """Check that eta -> 0, sum eta = inf and sum eta^q < inf for some q > 1.

        These are the conditions of stochastic approximation for Oja's rule. The steps vanish, they
        can cover any distance, and their total noise is finite.
        """


@storable(c="number")
@dataclass(frozen=True)
class Constant(Schedule):
    """The same learning rate at every step, for streams that drift.

    Parameters
    ----------
    c : float
        The learning rate.

    Examples
    --------
    >>> Constant(0.01).converges()
    Verdict(holds=False, reason='the steps stay at 0.01 and do not vanish')
    """

    c: float

    def __post_init__(self) -> None:
        check_number(self.c, "c", above=0)

    def gains(self, first: int, n: int) -> Float64s:
        """Return ``n`` times the constant."""
        return np.full(n, float(self.c))

    def converges(self) -> Verdict:
        """Return False: constant steps do not converge."""
        return Verdict(False, f"the steps stay at {self.c:g} and do not vanish")


@storable(c0="number", t0="number", p="number")
@dataclass(frozen=True)
class Power(Schedule):
    """Learning rates ``c0 / (t0 + t)^p`` that fall with the step number t.

    Maurer uses ``Power(100, 10_000)`` ([1]_ section 6).

    Parameters
    ----------
    c0 : float
        The numerator. Larger values learn faster and less stably.
    t0 : float
        The number of steps before the rates begin to fall.
    p : float, default=1.0
        The power, above 0. Convergence needs at most 1.

    References
    ----------
    .. [1] A. Maurer, "Unsupervised Slow Subspace-Learning from Stationary Processes", Algorithmic
           Learning Theory, 2006.

    Examples
    --------
    >>> Power(100, 10_000).gains(0, 2)
    array([0.01    , 0.009999])
    >>> bool(Power(100, 10_000).converges()), bool(Power(1, 1, p=2).converges())
    (True, False)
    """

    c0: float
    t0: float
    p: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.c0, "c0", above=0)
        check_number(self.t0, "t0", above=0)
        check_number(self.p, "p", above=0)

    def gains(self, first: int, n: int) -> Float64s:
        """Return ``c0 / (t0 + t)^p`` for ``n`` steps from ``first`` on."""
        # Integers would wrap around. Floats overflow to infinity, which gives the rate 0.
        with np.errstate(over="ignore"):
            return float(self.c0) / (self.t0 + np.arange(first, first + n, dtype=float)) ** self.p

    def converges(self) -> Verdict:
        """Return True exactly for p in (0, 1]."""
        if self.p > 1:
            return Verdict(False, f"sum eta is finite for p = {self.p:g} > 1")
        return Verdict(
            True,
            f"eta falls as t^-{self.p:g}: sum eta diverges, sum eta^q is finite for "
            f"q > {1 / self.p:g}",
        )


@storable(c0="number", tau="number")
@dataclass(frozen=True)
class Exponential(Schedule):
    """Learning rates ``c0 exp(-t / tau)``, which vanish after some multiples of ``tau`` steps.

    Parameters
    ----------
    c0 : float
        The first learning rate.
    tau : float
        The number of steps in which the rate falls by the factor e.

    Examples
    --------
    >>> Exponential(0.1, 1000).gains(1000, 1)
    array([0.03678794])
    >>> bool(Exponential(0.1, 1000).converges())
    False
    """

    c0: float
    tau: float

    def __post_init__(self) -> None:
        check_number(self.c0, "c0", above=0)
        check_number(self.tau, "tau", above=0)

    def gains(self, first: int, n: int) -> Float64s:
        """Return ``c0 exp(-t / tau)`` for ``n`` steps from ``first`` on."""
        return np.asarray(self.c0 * np.exp(-np.arange(first, first + n) / self.tau), np.float64)

    def converges(self) -> Verdict:
        """Return False: the sum of the steps is finite."""
        return Verdict(False, f"sum eta is finite, about {self.c0 * self.tau:g}")


@storable(c="number", averaging="number | None")
@dataclass(frozen=True)
class Auto(Schedule):
    """Learning rates that adapt to the scale of the data, and an average of the iterates.

    The rate of step t is ``c / sqrt(t m_t)``, where m_t is the mean squared length of the steps so
    far. It is nearly that of AdaGrad and AdaOja [1]_. Multiplying the data by a factor changes only
    rounding. All columns have the same rate, so the span does not depend on the basis.

    Parameters
    ----------
    c : float, default=5.0
        The numerator. Larger values learn faster and less stably.
    averaging : float or None, default=1.5
        The power p of the weights t^p of the average. None returns the last iterate.

    Notes
    -----
    The mean m_t has weights s^3, and no step counts more than ten running medians. A poor start or
    a single row therefore has little effect. The rate is smaller if a longer step would overshoot.

    The rates fall as t^-1/2. The last iterate does not converge at these rates, but an average does
    [2]_. The solver learns more columns than ``n_components``. From each averaged frame it selects
    the directions with the largest part of T. The answer is the top subspace of the mean of their
    projectors.

    References
    ----------
    .. [1] A. Henriksen and R. Ward, "AdaOja: Adaptive Learning Rates for Streaming PCA", 2019.
    .. [2] B. T. Polyak and A. B. Juditsky, "Acceleration of Stochastic Approximation by Averaging",
           SIAM Journal on Control and Optimization 30, 1992.

    Examples
    --------
    >>> Auto()
    Auto(c=5.0, averaging=1.5)
    """

    c: float = 5.0
    averaging: float | None = 1.5

    def __post_init__(self) -> None:
        check_number(self.c, "c", above=0)
        if self.averaging is not None:
            check_number(self.averaging, "averaging", least=0)

    def gains(self, first: int, n: int) -> Float64s:
        """Return ``n`` times the numerator ``c``. The rule computes the denominator."""
        return np.full(n, float(self.c))

    def converges(self) -> Verdict:
        """Return True: the steps fall as t^-1/2 while the data keep their scale."""
        return Verdict(
            True,
            "eta falls as t^-0.5 while the data keep their scale: sum eta diverges, "
            "sum eta^q is finite for q > 2",
        )


@dataclass(frozen=True)
class Steps(Schedule):
    """A schedule given by a function of the step number.

    Parameters
    ----------
    function : function of an array of int
        Returns the learning rates of steps with these numbers, counted from 0.
    name : str, default="learning rate"
        The name of the values in errors.

    Examples
    --------
    >>> import numpy as np
    >>> Steps(lambda t: 1 / np.sqrt(100 + t)).gains(0, 1)
    array([0.1])
    """

    function: Callable[[Any], Any]
    name: str = "learning rate"

    def gains(self, first: int, n: int) -> Float64s:
        """Return the values of the function. Negative, infinite and NaN rates raise an error."""
        values = real_array(self.function(np.arange(first, first + n)), f"the {self.name}")
        if values.shape not in ((), (n,)):
            raise ValueError(
                f"the schedule gave values of the {self.name} of shape {values.shape} for {n} "
                "steps. Return one for each step number, or one number."
            )
        gains = np.array(np.broadcast_to(values, (n,)), np.float64)
        bad = np.flatnonzero(~(np.isfinite(gains) & (gains >= 0)))
        if bad.size:
            raise ValueError(
                f"the schedule gave the {self.name} {float(gains[bad[0]])!r} at step "
                f"{first + int(bad[0])}. Return finite numbers >= 0."
            )
        return gains

    def converges(self) -> Verdict:
        """Return False: the limit of a function is unknown."""
        return Verdict(False, "unknown: the schedule is a function")


#: A learning rate: a number, "auto", a schedule or a function of the step number.
LearningRate: TypeAlias = float | str | Schedule | Callable[[int], float]


def as_schedule(value: object, name: str = "learning_rate") -> Schedule:
    """Return the schedule that a parameter stands for; errors use its name.

    >>> as_schedule("auto"), as_schedule(0.1)
    (Auto(c=5.0, averaging=1.5), Constant(c=0.1))
    """
    if isinstance(value, Schedule):
        return value
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return Constant(check_number(value, name, above=0))
    if isinstance(value, str) and value == "auto":
        return Auto()
    if callable(value) and not isinstance(value, type):
        return Steps(value)
    raise TypeError(
        f"{name} must be a number, 'auto', a schedule of eigenstream.schedules (Constant, Power, "
        f"Exponential, Auto) or a function of the step number, got {value!r}."
    )
