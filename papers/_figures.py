"""Figures over the repetitions, as tables write them."""

from collections.abc import Sequence

import numpy as np

#: A space at which narrow screens do not break the line.
NARROW = "\N{NO-BREAK SPACE}"


def spread(values: Sequence[float]) -> float | None:
    """Return the standard deviation over seeds; None for a single one."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def mean_with_spread(values: Sequence[float]) -> str:
    """Write the mean with the standard deviation; of a single value, the value.

    >>> mean_with_spread([0.25]), mean_with_spread([0.1, 0.3]).replace(NARROW, " ")
    ('0.250', '0.200 ± 0.141')
    """
    sd = spread(values)
    return f"{np.mean(values):.3f}" + ("" if sd is None else f" ±{NARROW}{sd:.3f}")
