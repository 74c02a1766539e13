"""Soft assignment: every prototype moves by its share in a mixture of Gaussians.

With ``p_k = exp(-d_k / 2 s^2) / sum_j exp(-d_j / 2 s^2)`` a step climbs the likelihood of the row
under equal Gaussians of width s about the prototypes ([DYN] section 2.1).
"""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.competitive.base import NEGLIGIBLE, Competition

__all__ = ["SOFT"]


@njit(cache=True, error_model="numpy")
def soft(fields: Any, nearest: int, numbers: Any, ground: Any, who: Any, shares: Any) -> int:
    """Assign the row by responsibilities at the width ``numbers[0]``; the nearest alone at 0."""
    variance = numbers[0] * numbers[0]
    count, total = 0, 0.0
    for k in range(fields.shape[0]):
        behind = fields[nearest] - fields[k]
        if k == nearest or behind < NEGLIGIBLE * variance:
            p = np.exp(-behind / variance) if k != nearest else 1.0
            who[count], shares[count] = k, p
            count += 1
            total += p
    for i in range(count):
        shares[i] /= total
    return count


SOFT = Competition("soft", soft)
