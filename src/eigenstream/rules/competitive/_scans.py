"""Looking through many numbers for the least: by their bits, many at a time.

Of floating-point numbers that are not negative, the bits as whole numbers have the same order. A
compiler makes vector code of the least of whole numbers; of the others it does not, since one
could be NaN. A table and a row are given, since a view of the row would be counted as a reference.
"""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.engine import COUNTED, count_lanes, within_lanes

__all__ = ["EQUAL", "count_within", "first_within", "least_of"]

#: Distances that differ by less than this, relative to the squares they are differences of, are
#: equal: of equal units the first one wins.
EQUAL = 16 * float(np.finfo(np.float64).eps)


@njit(cache=True, nogil=True, error_model="numpy")
def least_of(bits: Any, row: int) -> int:
    """Return the least whole number of a row.

    >>> least_of(np.array([[3, 1, 2]]), 0)
    1
    """
    least = bits[row, 0]
    for k in range(bits.shape[1]):
        least = min(least, bits[row, k])
    return int(least)


@njit(cache=True, nogil=True, error_model="numpy")
def first_within(bits: Any, row: int, most: Any, start: int) -> int:
    """Return the first place from ``start`` on with at most so much; behind the last if none.

    >>> first_within(np.array([[3, 1, 0]]), 0, 1, 0)
    1
    """
    k = within_lanes(bits, row, most, start)
    while k < bits.shape[1] and bits[row, k] > most:
        k += 1
    return int(k)


@njit(cache=True, nogil=True, error_model="numpy")
def count_within(bits: Any, row: int, most: Any) -> tuple[int, int]:
    """Return how many of a row are at most so much, and the place of one of them.

    >>> count_within(np.array([[3, 1, 0]]), 0, 0)
    (1, 2)
    """
    count, place = count_lanes(bits, row, most)
    for k in range(bits.shape[1] // COUNTED * COUNTED, bits.shape[1]):
        if bits[row, k] <= most:
            count, place = count + 1, k
    return count, place
