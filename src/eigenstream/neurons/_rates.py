"""Learning rates as users write them."""

from typing import Any

import numpy as np

from eigenstream._checks import check_number
from eigenstream.schedules import Constant

__all__ = ["constant_of"]


def constant_of(schedule: Any) -> Any:
    """Return the schedule that a number stands for; anything else as it is.

    >>> constant_of(0.1)
    Constant(c=0.1)
    """
    if isinstance(schedule, int | float | np.number) and not isinstance(schedule, bool):
        return Constant(check_number(schedule, "schedule", above=0))
    return schedule
