"""Bounds of squared distances by rows and units of sixteen bits.

A row x and a unit w, multiplied so that the row and the longest unit have the length M, and rounded
to whole numbers X and W, have an inner product that a processor finds exactly and fast. Each of D
numbers is off by 1/2 at most, the vectors by h = D^(1/2) / 2, and so by Cauchy-Schwarz

    |<X, W> - M^2 <x, w> / (|x| |w|)| <= h (2 M + h),

some 2 h / M of it: one part in 4000 for 64 features. That leaves few units which could be nearest.
"""

from typing import Any, NamedTuple

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream.kernels.base import njit
from eigenstream.rules.competitive._scans import EQUAL
from eigenstream.rules.engine import SHORT_LINE, aligned

__all__ = ["DOUBLE", "SINGLE", "WIDEST", "ShortRows", "ShortUnits"]

#: Half the distance between 1 and the next number.
SINGLE, DOUBLE = 2.0**-24, 2.0**-53

#: How long rows and units become: below 2^15, and two of them make less than 2^31 together with
#: what rounding adds to them, for as many features as this.
LONGEST, WIDEST = 32000.0, 2**15

#: Rows with less than this share of the longest unit are bounded without any product.
NOTHING = 2.0**-100


class ShortRows(NamedTuple):
    """Rows of short numbers: squared distances are scales * product + offsets + sizes, or so."""

    factors: Any  # (m, q)
    scales: Any  # (m,)
    sizes: Any  # (m,)
    margins: Any  # (m,): by so much they are too large at most


class ShortUnits:
    """Units as short numbers, from which bounds of squared distances to rows are made.

    >>> units = np.array([[3.0, 4.0], [0.0, 5.0]])
    >>> short = ShortUnits(units, (units**2).sum(axis=1))
    >>> short.columns[:, :4]
    array([[19200, 25600,     0, 32000]], dtype=int16)
    >>> rows = short.rows(np.array([[0.0, 2.0]]), np.array([4.0]), 0.125)
    >>> product = rows.factors.astype(int) @ short.columns[0, 2:4]
    >>> product * rows.scales + rows.sizes + short.offsets[1]
    array([0.140625], dtype=float32)
    >>> 0.125**2 * (5.0 - 2.0) ** 2
    0.140625
    """

    def __init__(self, units: Float64s, squares: Float64s) -> None:
        K, D = units.shape
        self._squares, self._length = squares, float(np.sqrt(squares.max()))
        width = -(-K // SHORT_LINE) * SHORT_LINE
        #: Two features of every unit in a line, with zeros for those that are not there.
        self.columns = aligned((-(-D // 2), 2 * width), np.int16)
        self.columns[:] = 0
        self._off = _pack(units, LONGEST / self._length, self.columns)
        self._scale = 0.0
        #: The squares of the units; infinite ones for those that are not there.
        self.offsets = aligned((width,), np.float32)
        self.offsets[:] = np.inf
        # What is scaled, multiplied and added in single precision is off by eight roundings of
        # terms whose sizes add up to twice |x|^2 + the largest |w|^2; exact squares, by D of them;
        # and units that are equal by the rule must be among those that are looked at.
        self._share = 16.0 * SINGLE + 2.0 * (D + 8) * DOUBLE + 2.0 * EQUAL

    def rows(self, rows: Float64s, sizes: Float64s, root: float) -> ShortRows:
        """Return rows as short numbers, for squared distances times ``root`` squared.

        ``sizes`` are the rows' squares; the largest and the units' are less than 1 by that scale.
        """
        if root != self._scale:
            self._scale = root
            own = self.offsets[: len(self._squares)]
            np.multiply(self._squares * root, root, out=own, casting="same_kind")
        n = len(rows)
        factors = np.empty((n, 2 * len(self.columns)), np.int16)
        made = ShortRows(factors, np.empty(n, np.float32), np.empty(n, np.float32), np.empty(n))
        _shorten(rows, sizes, (root, self._length), (self._off, self._share), made)
        return made


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _rounded(rows: Any, t: int, factor: float, out: Any, to: int) -> float:
    """Write a row times a factor as whole numbers; return how long what is left of it is."""
    left = 0.0
    for j in range(rows.shape[1]):
        long = rows[t, j] * factor
        whole = np.rint(long)
        left += (long - whole) * (long - whole)
        out[to, j] = np.int16(whole)
    return float(np.sqrt(left))


@njit(cache=True, nogil=True, error_model="numpy")
def _pack(units: Any, factor: float, columns: Any) -> float:
    """Write units as columns of pairs of whole numbers; return by how much they are off."""
    off, line = 0.0, np.empty((1, units.shape[1]), np.int16)
    for k in range(units.shape[0]):
        off = max(off, _rounded(units, k, factor, line, 0))
        for j in range(units.shape[1]):
            columns[j // 2, 2 * k + j % 2] = line[0, j]
    return off


@njit(cache=True, nogil=True, error_model="numpy")
def _shorten(rows: Any, sizes: Any, given: Any, known: Any, made: ShortRows) -> None:
    (n, D), (root, longest), (off, share) = rows.shape, given, known
    factors, scales, squares, margins = made
    factors[:, D:] = 0
    for t in range(n):
        length, left = np.sqrt(sizes[t]), 0.0
        if length > NOTHING * longest:
            left = _rounded(rows, t, LONGEST / length, factors, t)
        else:
            factors[t, :] = 0
        both = 2.0 * (root * length) * (root * longest)
        square = root * root * sizes[t]
        scales[t], squares[t] = both / -(LONGEST * LONGEST), square
        # Lengths are rounded, too: some 2^-30 more. And what is lost of rows that have no product,
        # and below the least numbers.
        shift = (left * (LONGEST + off) + off * LONGEST) / (LONGEST * LONGEST) + 2.0**-30
        margins[t] = both * shift + share * (square + (root * longest) ** 2) + 2.0**-98
