"""Hashes of rows of bits, one pass over memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream.kernels.base import njit


@njit(cache=True, nogil=True)
def row_hashes(bits: NDArray[Any], multipliers: NDArray[Any], out: NDArray[Any]) -> None:
    """Write the sum over each row of its bits, high ones folded in, times the multipliers.

    The low bits of round floating-point numbers are zeros: without the fold only the high bits of
    the sum would differ. Minus zero counts as zero.
    """
    half, minus_zero = np.uint64(32), np.uint64(1) << np.uint64(63)
    for i in range(bits.shape[0]):
        total = np.uint64(0)
        for j in range(bits.shape[1]):
            b = bits[i, j]
            if b == minus_zero:
                b = np.uint64(0)
            total += (b ^ (b >> half)) * multipliers[j]
        out[i] = total
