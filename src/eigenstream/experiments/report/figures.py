"""Figures over the repetitions, as tables write them."""

from collections.abc import Sequence

import numpy as np

#: A space at which narrow screens do not break the line.
NARROW = "\N{NO-BREAK SPACE}"


def spread(values: Sequence[float]) -> float | None:
    """Return the standard deviation over seeds; None for a single one."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None
