"""What a map's radius and learning rate may be given as."""

from typing import Any

import numpy as np

from eigenstream._checks import check_number
from eigenstream.schedules import Auto, Schedule, as_schedule

__all__ = ["pace"]

PACES = (
    "'auto', a number, a pair (first, last), a schedule of eigenstream.schedules or a function of "
    "the step number"
)


def pace(name: str, value: Any, auto: tuple[float, float], most: float | None = None) -> Any:
    """Return what radius or rate go by: a schedule, or a pair (first, last).

    With ``most`` it is a rate, whose first value is above zero; a radius may be zero.

    >>> pace("radius", 2, (5.0, 0.5)), pace("radius", "auto", (5.0, 0.5))
    ((2.0, 2.0), (5.0, 0.5))
    """
    if isinstance(value, str) and value == "auto":
        return auto
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        value = (value, value)
    if isinstance(value, tuple | list) and len(value) == 2:
        ends = {"least": 0.0} if most is None else {"above": 0.0, "most": most}
        first = check_number(value[0], name, **ends)
        last = check_number(value[1], name, least=0.0, most=most)
        if last > first:
            raise ValueError(
                f"{name}={value!r} grows: a map takes shape while it falls. Use "
                f"{name}=({last:g}, {first:g}), or a constant."
            )
        return (first, last)
    if isinstance(value, str | Auto) or not (isinstance(value, Schedule) or callable(value)):
        raise TypeError(f"{name} must be {PACES}, got {value!r}.")
    return as_schedule(value)
