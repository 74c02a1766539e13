"""What a learning rate or a width may be: a number, a schedule, a function of the step number."""

from typing import Any

import numpy as np

from eigenstream._checks import check_number
from eigenstream.schedules import Auto, Constant, Schedule, as_schedule

SCHEDULES = (
    "a number, a schedule of eigenstream.schedules (Constant, Power, Exponential) or a function of "
    "the step number"
)


def schedule_of(value: Any, name: str, word: str, most: float | None = None) -> Schedule:
    """Return the schedule that a parameter stands for."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return Constant(check_number(value, name, above=0, most=most))
    if isinstance(value, str | Auto | type):
        raise ValueError(f"{name} must be {word!r}, {SCHEDULES}, got {value!r}.")
    if not isinstance(value, Schedule) and not callable(value):
        raise TypeError(f"{name} must be {word!r}, {SCHEDULES}, got {value!r}.")
    return as_schedule(value)
