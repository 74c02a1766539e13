"""Learning rates, widths and radii: numbers, pairs (first, last), schedules and functions."""

from typing import Any

import numpy as np

from eigenstream._checks import check_number
from eigenstream._linalg import Float64s
from eigenstream.schedules import Auto, Schedule, as_schedule

__all__ = ["as_pace", "falling", "scheduled"]


def as_pace(
    value: Any, name: str, word: str, *, zero: bool = False, most: float | None = None
) -> Any:
    """Return None for ``word``, a schedule, or the pair (first, last) of a number or a pair.

    ``zero`` allows zero as the first value, and ``most`` is the largest value allowed.

    >>> as_pace(2, "radius", "auto"), as_pace("auto", "radius", "auto")
    ((2.0, 2.0), None)
    """
    if isinstance(value, str) and value == word:
        return None
    named = isinstance(value, str | Auto | type)
    if not named and (isinstance(value, Schedule) or callable(value)):
        return as_schedule(value)
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


def scheduled(schedule: Schedule, name: str, first: int, n: int) -> Float64s:
    """Return the values of a schedule at ``n`` steps; its errors use the parameter's name.

    >>> scheduled(as_schedule(lambda t: -t), "radius", 1, 1)
    Traceback (most recent call last):
        ...
    ValueError: the schedule gave the radius -1.0 at step 1. Return finite numbers >= 0.
    """
    try:
        return schedule.gains(first, n)
    except ValueError as error:
        words = str(error).replace("learning rates", f"values of the {name}")
        raise ValueError(words.replace("learning rate", name)) from None


def falling(ends: Any, steps: Float64s, n_steps: int, tau: float) -> Any:
    """Return the values at some steps: from the first to the last one in ``n_steps``.

    They fall by a constant factor per step. Without a number of steps (0) they fall as
    ``first / (1 + t / tau)`` to the last value.

    >>> falling((8.0, 2.0), np.arange(4.0), 2, 100.0)
    array([8., 4., 2., 2.])
    >>> falling((8.0, 2.0), np.array([0.0, 100.0, 300.0, 999.0]), 0, 100.0)
    array([8., 4., 2., 2.])
    """
    first, last = ends
    if not n_steps:
        return np.maximum(first / (1.0 + steps / tau), last)
    share = np.minimum(steps / n_steps, 1.0)
    return first * (last / first) ** share if last > 0.0 else first * (1.0 - share)
