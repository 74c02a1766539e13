"""Looking through many numbers for the least: by their bits, many at a time.

Of floating-point numbers that are not negative, the bits as whole numbers have the same order. A
compiler makes vector code of the least of whole numbers; of the others it does not, since one
could be NaN.
"""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.engine import within_lanes

__all__ = ["EQUAL", "first_within", "least_of"]

#: Distances that differ by less than this, relative to the squares they are differences of, are
#: equal: of equal units the first one wins.
EQUAL = 16 * float(np.finfo(np.float64).eps)


@njit(cache=True, nogil=True, error_model="numpy")
def least_of(bits: Any) -> int:
    """Return the least of some whole numbers.

    >>> least_of(np.array([3, 1, 2]))
    1
    """
    least = bits[0]
    for k in range(bits.shape[0]):
        least = min(least, bits[k])
    return int(least)


@njit(cache=True, nogil=True, error_model="numpy")
def first_within(bits: Any, most: Any, start: int) -> int:
    """Return the first place from ``start`` on with at most so much; behind the last if none.

    >>> first_within(np.array([3, 1, 0]), 1, 0)
    1
    """
    k = within_lanes(bits, most, start)
    while k < bits.shape[0] and bits[k] > most:
        k += 1
    return int(k)
