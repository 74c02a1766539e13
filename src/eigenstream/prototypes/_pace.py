"""What a map's radius and learning rate may be given as."""

from typing import Any

import numpy as np

from eigenstream._checks import check_number
from eigenstream.learners.prototypes import Ends
from eigenstream.rules.competitive import Grid
from eigenstream.schedules import Auto, Schedule, as_schedule

__all__ = ["auto_radii", "auto_rates", "pace"]

#: The last radius in so many steps; and of passes, and of streams without an end.
LAST, OPEN_LAST = 0.36, 0.7

#: Units that begin on the plane of the rows are in order: to begin with, this share of the longer
#: side is enough, one unit at least. From anywhere else it takes half of it.
SETTLED, UNSETTLED = 0.1, 0.5

PACES = (
    "'auto', a number, a pair (first, last), a schedule of eigenstream.schedules or a function of "
    "the step number"
)


def auto_radii(grid: Grid, init: Any, batch: bool) -> list[Any]:
    """Return the first and last radius in so many steps, and where their number is not known.

    The errors that they end with are in docs/prototypes.md.

    >>> auto_radii(Grid(5, 20), "random", batch=False)
    [(10.0, 0.36), (10.0, 0.7)]
    """
    side = max(grid.rows, grid.columns)
    unknown = max(UNSETTLED * side, OPEN_LAST), OPEN_LAST
    if batch:
        return [unknown, unknown]
    if _settled(init):
        return [Ends(max(SETTLED * side, 1.0), 0.43, less=1.0, more=0.3, harmonic=True), unknown]
    return [(max(UNSETTLED * side, 1.0), LAST), unknown]


def auto_rates(init: Any) -> list[Any]:
    """Return the first and last rate in so many steps, and where their number is not known.

    >>> auto_rates("random")
    [(0.5, 0.06), (0.5, 0.01)]
    """
    return [Ends(0.5, 0.06, more=0.4) if _settled(init) else (0.5, 0.06), (0.5, 0.01)]


def _settled(init: Any) -> bool:
    return isinstance(init, str) and init == "pca"


def pace(name: str, value: Any, auto: Any, most: float | None = None) -> Any:
    """Return what radius or rate go by: a schedule, a pair (first, last), or ``auto``.

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
