"""Hashes of rows of bits, one pass over memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream.kernels.base import njit


@njit(cache=True, nogil=True)
def row_hashes(bits: NDArray[Any], multipliers: NDArray[Any], cut: int, out: NDArray[Any]) -> None:
    """Write the sum over each row of its bits, high ones folded in, times the multipliers.

    The low bits of round floating-point numbers are zeros: without the fold only the high bits of
    the sum would differ. Minus zero counts as zero. The lowest ``cut`` bits are rounded away.
    """
    one = np.uint64(1)
    half_step = (one << np.uint64(cut)) >> one if cut else np.uint64(0)
    mask = ~((one << np.uint64(cut)) - one)
    half, minus_zero = np.uint64(32), np.uint64(1) << np.uint64(63)
    for i in range(bits.shape[0]):
        total = np.uint64(0)
        for j in range(bits.shape[1]):
            b = (bits[i, j] + half_step) & mask  # a carry goes into the exponent, as it should
            if b == minus_zero:
                b = np.uint64(0)
            total += (b ^ (b >> half)) * multipliers[j]
        out[i] = total
