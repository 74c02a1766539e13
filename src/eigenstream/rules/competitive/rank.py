"""Neural gas: prototypes move by their rank among the nearest [MARTINETZ]."""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.competitive.base import NEGLIGIBLE, Competition

__all__ = ["RANK"]


@njit(cache=True, error_model="numpy")
def rank(fields: Any, nearest: int, numbers: Any, ground: Any, who: Any, shares: Any) -> int:
    """Assign exp(-r / reach) to the r-th nearest, counted from 0; the nearest alone at reach 0."""
    reach, there = numbers[0], 0
    for k in range(fields.shape[0]):
        there += 1 if fields[k] > -np.inf else 0
    who[0], shares[0] = nearest, 1.0
    if reach * NEGLIGIBLE < 1.0:
        return 1
    order = np.argsort(-fields)
    # The first of equals is the nearest; it comes first, too.
    at = 0
    while order[at] != nearest:
        at += 1
    while at > 0:
        order[at] = order[at - 1]
        at -= 1
    count = 1
    while count < there and count < NEGLIGIBLE * reach:
        who[count], shares[count] = order[count], np.exp(-count / reach)
        count += 1
    return count


RANK = Competition("rank", rank)
