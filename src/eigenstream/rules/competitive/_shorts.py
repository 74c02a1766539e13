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
from eigenstream.rules.engine import SHORT_LINE, aligned, in_lines

__all__ = [
    "DOUBLE",
    "SINGLE",
    "WIDEST",
    "ShortBounds",
    "ShortRows",
    "ShortUnits",
    "centred_row",
    "shortened",
]

#: Half the distance between 1 and the next number.
SINGLE, DOUBLE = 2.0**-24, 2.0**-53

#: How long rows and units become: below 2^15, and two of them make less than 2^31 together with
#: what rounding adds to them, for as many features as this.
LONGEST, WIDEST = 32000.0, 2**15

#: Rows shorter than this are bounded without any product, those of units that are not.
NOTHING = 2.0**-500


class ShortRows(NamedTuple):
    """Rows of short numbers, and what rounding has left of them."""

    factors: Any  # (m, q)
    lefts: Any  # (m,): how long it is

    @classmethod
    def room(cls, n_rows: int, n_features: int) -> "ShortRows":
        """Return room for so many."""
        return cls(np.zeros((n_rows, n_features + n_features % 2), np.int16), np.empty(n_rows))

    def first(self, n_rows: int) -> "ShortRows":
        """Return the first so many."""
        return ShortRows(self.factors[:n_rows], self.lefts[:n_rows])


class ShortBounds(NamedTuple):
    """What makes bounds of squared distances: scales * product + offsets + sizes."""

    scales: Any  # (m,)
    sizes: Any  # (m,)
    margins: Any  # (m,): by so much they are off at most


class ShortUnits:
    """Units as short numbers, from which bounds of squared distances to rows are made.

    >>> units = np.array([[3.0, 4.0], [0.0, 5.0]])
    >>> short = ShortUnits(units, (units**2).sum(axis=1))
    >>> short.columns[:, :4]
    array([[19200, 25600,     0, 32000]], dtype=int16)
    >>> rows, held, sizes = ShortRows.room(1, 2), np.empty((1, 2)), np.empty(1)
    >>> shortened(np.array([[1.0, 3.0]]), np.ones(2), held, sizes, rows)
    >>> rows.factors, sizes
    (array([[    0, 32000]], dtype=int16), array([4.]))
    >>> scales, squares, _ = short.bounds(rows, sizes, 0.125)
    >>> product = rows.factors.astype(int) @ short.columns[0, 2:4]
    >>> (product * scales + squares + short.offsets[1]).round(6)
    array([0.140625])
    >>> 0.125**2 * (5.0 - 2.0) ** 2
    0.140625
    """

    def __init__(self, units: Float64s, squares: Float64s) -> None:
        K, D = units.shape
        self._squares, self._length = squares, float(np.sqrt(squares.max()))
        width = -(-K // SHORT_LINE) * SHORT_LINE
        shorts = np.zeros((width, D + D % 2), np.int16)
        self._off = _shorten_units(units, LONGEST / self._length, shorts)
        #: As ``short_tile`` reads them, with zeros for units that are not there.
        self.columns = in_lines(shorts)
        self._scale = 0.0
        #: The squares of the units; infinite ones for those that are not there.
        self.offsets = aligned((width,), np.float32)
        self.offsets[:] = np.inf
        # What is scaled, multiplied and added in single precision is off by eight roundings of
        # terms whose sizes add up to twice |x|^2 + the largest |w|^2; exact squares, by D of them;
        # and units that are equal by the rule must be among those that are looked at.
        self._share = 16.0 * SINGLE + 2.0 * (D + 8) * DOUBLE + 2.0 * EQUAL

    def bounds(self, rows: ShortRows, sizes: Float64s, root: float) -> ShortBounds:
        """Return what makes bounds of squared distances, times ``root`` squared.

        ``sizes`` are the rows' squares; the largest and the units' are less than 1 by that scale.
        """
        if root != self._scale:
            self._scale = root
            own = self.offsets[: len(self._squares)]
            np.multiply(self._squares * root, root, out=own, casting="same_kind")
        n = len(sizes)
        made = ShortBounds(np.empty(n, np.float32), np.empty(n, np.float32), np.empty(n))
        _bound(sizes, rows.lefts, (root, self._length), (self._off, self._share), made)
        return made


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _rounded(rows: Any, t: int, factor: float, out: Any, to: int) -> float:
    """Write a row times a factor as whole numbers; return how long what is left of it is."""
    left = 0.0
    for j in range(rows.shape[1]):
        long = rows[t, j] * factor
        whole = np.rint(long)
        left += (long - whole) * (long - whole)
        out[to, j] = np.int16(np.int32(whole))
    return float(np.sqrt(left))


@njit(cache=True, nogil=True, error_model="numpy")
def _shorten_units(units: Any, factor: float, shorts: Any) -> float:
    """Write units as short numbers; return by how much they are off at most."""
    off = 0.0
    for k in range(units.shape[0]):
        off = max(off, _rounded(units, k, factor, shorts, k))
    return off


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def centred_row(rows: Any, t: int, centre: Any, out: Any) -> float:
    """Write a row less the centre; return its square.

    >>> out = np.zeros((1, 2))
    >>> centred_row(np.array([[1.0, 5.0]]), 0, np.array([1.0, 2.0]), out), out.tolist()
    (9.0, [[0.0, 3.0]])
    """
    total = 0.0
    for j in range(centre.shape[0]):
        out[t, j] = rows[t, j] - centre[j]
        total += out[t, j] * out[t, j]
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def shortened(rows: Any, centre: Any, out: Any, sizes: Any, short: ShortRows) -> None:
    """Write rows less the centre, their squares (NaN where values are missing), and them as shorts.

    >>> held, sizes, short = np.empty((1, 2)), np.empty(1), ShortRows.room(1, 2)
    >>> shortened(np.array([[1.0, np.nan]]), np.zeros(2), held, sizes, short)
    >>> sizes, short.factors
    (array([nan]), array([[0, 0]], dtype=int16))
    """
    factors, lefts = short
    for t in range(rows.shape[0]):
        sizes[t], lefts[t] = centred_row(rows, t, centre, out), 0.0
        length = np.sqrt(sizes[t])
        if NOTHING < length < np.inf:
            lefts[t] = _rounded(out, t, LONGEST / length, factors, t)
        else:
            factors[t, :] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def _bound(sizes: Any, lefts: Any, given: Any, known: Any, made: ShortBounds) -> None:
    (root, longest), (off, share), (scales, squares, margins) = given, known, made
    for t in range(sizes.shape[0]):
        both = 2.0 * (root * np.sqrt(sizes[t])) * (root * longest)
        square = root * root * sizes[t]
        scales[t], squares[t] = both / -(LONGEST * LONGEST), square
        # Lengths are rounded, too: some 2^-30 more. And what is lost of rows that have no product,
        # and below the least numbers.
        shift = (lefts[t] * (LONGEST + off) + off * LONGEST) / (LONGEST * LONGEST) + 2.0**-30
        margins[t] = both * shift + share * (square + (root * longest) ** 2) + 2.0**-98
