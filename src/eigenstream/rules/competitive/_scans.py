"""Looking through many numbers for the least: by their bits, many at a time.

Of floating-point numbers that are not negative, the bits as whole numbers have the same order. A
compiler makes vector code of the least of whole numbers; of the others it does not, since one
could be NaN.
"""

from typing import Any

import numpy as np

from eigenstream.kernels.base import njit

__all__ = [
    "EQUAL",
    "STRETCH",
    "first_within",
    "least_by_stretches",
    "least_of",
    "next_by_stretches",
]

#: Distances that differ by less than this, relative to the squares they are differences of, are
#: equal: of equal units the first one wins.
EQUAL = 16 * float(np.finfo(np.float64).eps)

#: So many numbers are looked at before there is a question.
STRETCH = 64


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
def first_within(bits: Any, most: int, start: int) -> int:
    """Return the first place from ``start`` on with at most so much; behind the last if none.

    >>> first_within(np.array([3, 1, 0]), 1, 0)
    1
    """
    k, n = start, bits.shape[0]
    while k + STRETCH <= n:
        found, some = 0, bits[k : k + STRETCH]
        for i in range(STRETCH):
            found += some[i] <= most
        if found:
            break
        k += STRETCH
    while k < n and bits[k] > most:
        k += 1
    return k


@njit(cache=True, nogil=True, error_model="numpy")
def least_by_stretches(bits: Any, lows: Any) -> int:
    """Return the first place of the least number; ``lows`` become the least of each stretch.

    >>> lows = np.empty(1, np.int64)
    >>> least_by_stretches(np.array([3, 1, 2]), lows), lows
    (1, array([1]))
    """
    where = 0
    for s in range(lows.shape[0]):
        lows[s] = least_of(bits[s * STRETCH : s * STRETCH + STRETCH])
        if lows[s] < lows[where]:
            where = s
    k = where * STRETCH
    while bits[k] != lows[where]:
        k += 1
    return int(k)


@njit(cache=True, nogil=True, error_model="numpy")
def next_by_stretches(bits: Any, lows: Any, best: int) -> int:
    """Return a place of the least number but for the one at ``best``, of two at least.

    ``lows`` are what ``least_by_stretches`` has left, and become those without ``best``.

    >>> bits, lows = np.array([3, 1, 2]), np.array([1])
    >>> next_by_stretches(bits, lows, 1), lows
    (2, array([2]))
    """
    s, n = best // STRETCH, bits.shape[0]
    start, stop = s * STRETCH, min(s * STRETCH + STRETCH, n)
    other = start if start != best else start + 1
    for k in range(start, stop):
        if k != best and bits[k] < bits[other]:
            other = k
    if other < stop:
        lows[s] = bits[other]
    where = s if other < stop else -1
    for i in range(lows.shape[0]):
        if i != s and (where < 0 or lows[i] < lows[where]):
            where = i
    if where == s:
        return int(other)
    k = where * STRETCH
    while bits[k] != lows[where]:
        k += 1
    return int(k)
