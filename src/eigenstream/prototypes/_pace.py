"""Learning rates, widths and radii: numbers, pairs (first, last), schedules and functions."""

from dataclasses import replace
from typing import Any

import numpy as np

from eigenstream.core.checks import check_number
from eigenstream.core.linalg import Float64s
from eigenstream.schedules import Auto, Schedule, Steps, as_schedule

__all__ = ["as_pace", "values_of"]

#: A schedule, or the first and the last value.
Pace = Schedule | tuple[float, float]


def as_pace(
    value: Any, name: str, word: str, *, zero: bool = False, most: float | None = None
) -> Pace | None:
    """Return None for ``word``, a schedule, or the pair (first, last) of a number or a pair.

    ``zero`` allows zero as the first value, and ``most`` is the largest value allowed.

    >>> as_pace(2, "radius", "auto"), as_pace("auto", "radius", "auto")
    ((2.0, 2.0), None)
    """
    if isinstance(value, str) and value == word:
        return None
    named = isinstance(value, str | Auto | type)
    if not named and (isinstance(value, Schedule) or callable(value)):
        schedule = as_schedule(value)
        if isinstance(schedule, Steps):
            return replace(schedule, name=name.replace("_", " "))
        return schedule
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        value = (value, value)
    if named or not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(
            f"{name} must be {word!r}, a number, a pair (first, last), a schedule of "
            f"eigenstream.schedules or a function of the step number, got {value!r}."
        )
    ends = {"least": 0.0} if zero else {"above": 0.0}
    first = check_number(value[0], name, **ends, most=most)
    last = check_number(value[1], name, least=0.0, most=most)
    if last > first:
        raise ValueError(f"{name}={value!r} grows. Use a last value of at most {first:g}.")
    return first, last


def values_of(pace: Pace, start: int, n: int, n_steps: int = 0, tau: float = np.inf) -> Float64s:
    """Return the values at ``n`` steps from ``start`` on.

    A pair falls by a constant factor per step, to the last value in ``n_steps``. Without a number
    of steps (0) it falls as ``first / (1 + t / tau)`` to the last value.

    >>> values_of((8.0, 2.0), 0, 4, n_steps=2)
    array([8., 4., 2., 2.])
    >>> values_of((8.0, 2.0), 100, 1, tau=100.0)
    array([4.])
    """
    if isinstance(pace, Schedule):
        return pace.gains(start, n)
    (first, last), steps = pace, np.arange(start, start + n, dtype=np.float64)
    if not n_steps:
        return np.maximum(first / (1.0 + steps / tau), last)
    share = np.minimum(steps / n_steps, 1.0)
    return np.asarray(first * (last / first) ** share if last > 0.0 else first * (1.0 - share))
