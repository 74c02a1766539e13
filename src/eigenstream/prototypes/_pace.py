"""What a map's radius and learning rate may be given as."""

from typing import Any

import numpy as np

from eigenstream._checks import check_number
from eigenstream.schedules import Auto, Schedule, as_schedule

__all__ = ["AUTO_RATES", "auto_radii", "pace"]

#: Learning rates where the number of steps is known, and where it is not.
AUTO_RATES = (0.5, 0.06), (0.5, 0.01)

#: The last radius in so many steps; and of passes, and of streams without an end.
LAST, OPEN_LAST = 0.36, 0.7

#: Units that begin on the plane of the rows are in order: to begin with, this share of the longer
#: side is enough, one unit at least. From anywhere else it takes half of it.
SETTLED, UNSETTLED = 0.1, 0.5

PACES = (
    "'auto', a number, a pair (first, last), a schedule of eigenstream.schedules or a function of "
    "the step number"
)


def auto_radii(side: int, settled: bool, batch: bool) -> list[tuple[float, float]]:
    """Return the first and last radius in so many steps, and where their number is not known.

    The errors that they end with are in docs/prototypes.md.

    >>> auto_radii(20, settled=True, batch=False)
    [(2.0, 0.36), (10.0, 0.7)]
    """
    unknown = max(UNSETTLED * side, OPEN_LAST), OPEN_LAST
    known = max((SETTLED if settled else UNSETTLED) * side, 1.0), LAST
    return [unknown if batch else known, unknown]


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
