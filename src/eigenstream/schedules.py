"""How large a step an online rule takes: learning rates as functions of the number of steps.

A schedule is a frozen description. The step count, and the running mean that ``Auto`` divides by,
are state of the solver that uses it, so that they survive ``partial_fit`` and pickling.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eigenstream._checks import check_number, real_array
from eigenstream._linalg import Float64s
from eigenstream._state import State
from eigenstream._storable import storable

__all__ = ["Auto", "Constant", "Exponential", "Power", "Schedule", "Steps", "Verdict"]


class Verdict(NamedTuple):
    """Whether a schedule meets the stochastic-approximation conditions, and why.

    Its truth value is the answer, not that of a tuple.

    >>> bool(Verdict(False, "the steps do not vanish"))
    False
    """

    holds: bool
    reason: str

    def __bool__(self) -> bool:
        return self.holds


class Schedule(ABC):
    """A learning rate for every step; subclasses are frozen dataclasses with a plain ``repr``."""

    @abstractmethod
    def gains(self, first: int, n: int) -> Float64s:
        """Return the learning rates of the steps ``first .. first + n - 1``, counted from 0."""

    def state(self) -> State:
        """Return its kind and its numbers by name."""
        found = {name: value for name, value in vars(self).items() if value is not None}
        return {"kind": type(self).__name__} | found

    @abstractmethod
    def converges(self) -> Verdict:
        """Say whether eta -> 0, sum eta = inf and sum eta^q < inf for some q > 1, and why.

        These are the conditions of stochastic approximation for Oja's rule: steps that vanish,
        that can still travel any distance, and whose noise adds up to something finite.
        """


@storable(c="number")
@dataclass(frozen=True)
class Constant(Schedule):
    """The same learning rate at every step: for drifting streams, never for a limit.

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
        """Return False: a constant step never settles."""
        return Verdict(False, f"the steps stay at {self.c:g} and do not vanish")


@storable(c0="number", t0="number", p="number")
@dataclass(frozen=True)
class Power(Schedule):
    """``c0 / (t0 + t)^p``; the slow-subspace paper ran with ``Power(100, 10_000)`` [SLOW] sec. 6.

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
        # Whole numbers would overflow to wrong ones; a float becomes infinite, and the rate zero.
        with np.errstate(over="ignore"):
            return float(self.c0) / (self.t0 + np.arange(first, first + n, dtype=float)) ** self.p

    def converges(self) -> Verdict:
        """Return True exactly for p in (0, 1]."""
        if self.p > 1:
            return Verdict(False, f"sum eta is finite for p = {self.p:g} > 1: it stops on the way")
        return Verdict(
            True,
            f"eta falls as t^-{self.p:g}: sum eta diverges, sum eta^q is finite for "
            f"q > {1 / self.p:g}",
        )


@storable(c0="number", tau="number")
@dataclass(frozen=True)
class Exponential(Schedule):
    """``c0 exp(-t / tau)``: anneals in about ``tau`` steps, then stands still.

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
        """Return False: the steps add up to a finite length."""
        length = self.c0 * self.tau
        return Verdict(False, f"sum eta is finite, about {length:g}: it stops on the way")


@storable(c="number", averaging="number | None")
@dataclass(frozen=True)
class Auto(Schedule):
    """Scale-free steps ``eta_t = c / sqrt(t mean_{s <= t} |A_s V_s|^2)``, then an average.

    The mean of the squared steps sets the unit, nearly as in AdaGrad and AdaOja, so that
    multiplying the data by any factor changes nothing but rounding; it is one number for all
    columns, so that the span does not depend on the basis. It has weights s^3 and counts no step
    more than ten running medians, so that neither a poor start nor a single row spoils the rate,
    which is also held where one more step would swing past what it turns away from.

    The steps fall as t^-1/2. That is too slow for the last iterate to settle and right for an
    average: with ``averaging = p`` the solver turns twice as many columns as are asked for, and the
    answer is the top subspace of the average, with weights t^p, of the projectors on those of their
    directions that carry most of T. This takes out the noise that the long steps leave [ADAOJA,
    POLYAK]. ``averaging=None`` gives the last iterate.

    How near to the batch optimum that comes on what data is a table in docs/online.md; the defaults
    are those of the figure in docs/pictures/schedule.png, which ``python -m benchmarks.schedules``
    draws.

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
        """Return ``n`` times ``c``, the numerator: the rule knows the denominator."""
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
    """A schedule given by a function of the step numbers (an int array, from 0 on).

    >>> import numpy as np
    >>> Steps(lambda t: 1 / np.sqrt(100 + t)).gains(0, 1)
    array([0.1])
    """

    function: Callable[[Any], Any]

    def state(self) -> State:
        """Refuse: a function cannot be written down."""
        raise TypeError(
            f"schedule={self.function!r} is a function, which cannot be saved. Use a schedule of "
            "eigenstream.schedules."
        )

    def gains(self, first: int, n: int) -> Float64s:
        """Return what the function gives, refusing rates that are not positive numbers."""
        values = real_array(self.function(np.arange(first, first + n)), "what the schedule gave")
        if values.shape not in ((), (n,)):
            raise ValueError(
                f"the schedule gave learning rates of shape {values.shape} for {n} steps: it must "
                "give one a step number, or one for all."
            )
        gains = np.array(np.broadcast_to(values, (n,)), np.float64)
        bad = np.flatnonzero(~(np.isfinite(gains) & (gains >= 0)))
        if bad.size:
            raise ValueError(
                f"the schedule gave the learning rate {float(gains[bad[0]])!r} at step "
                f"{first + int(bad[0])}; it must give a finite number that is not negative."
            )
        return gains

    def converges(self) -> Verdict:
        """Return False: nothing is known about a function."""
        return Verdict(False, "unknown: a function does not say how it goes on")


def as_schedule(value: Any) -> Schedule:
    """Return the schedule that a user's ``schedule=`` names.

    >>> as_schedule("auto"), as_schedule(Constant(0.1))
    (Auto(c=5.0, averaging=1.5), Constant(c=0.1))
    """
    if isinstance(value, Schedule):
        return value
    if isinstance(value, str) and value == "auto":
        return Auto()
    if isinstance(value, type) and issubclass(value, Schedule):
        raise TypeError(
            f"schedule={value.__name__} is a class, and its rates are not known: give it its "
            f"numbers, as {value.__name__}(...)."
        )
    if callable(value):
        return Steps(value)
    raise TypeError(
        "schedule must be 'auto', a schedule of eigenstream.schedules (Constant, Power, "
        f"Exponential, Auto) or a function of the step number, got {value!r}."
    )


def restored(state: State) -> Schedule:
    """Return the schedule that gave this ``state``.

    >>> restored(Power(100, 10_000).state())
    Power(c0=100, t0=10000, p=1.0)
    """
    kinds: dict[str, Any] = {kind.__name__: kind for kind in (Auto, Constant, Exponential, Power)}
    numbers = {name: np.asarray(value).item() for name, value in state.items() if name != "kind"}
    if state["kind"] == "Auto":  # what is left out was None
        numbers = {"averaging": None} | numbers
    made: Schedule = kinds[str(state["kind"])](**numbers)
    return made
