"""What squared distances are at least, by a few coordinates of rows and units.

With the columns of Q orthonormal, y = Q^T x and z = Q^T w are shadows of a row and a unit on a few
directions; what is left of each has the lengths r = (|x|^2 - |y|^2)^(1/2) and s, and by
Cauchy-Schwarz

    |x - w|^2 >= |x|^2 + |w|^2 - 2 (<y, z> + r s).

The bound is an inner product of a few numbers, and sharp where units have little left: those of a
map lie along few directions for as long as neighbours learn together. Any directions are good for a
bound; those of most of the units' squares are found by one step of orthogonal iteration.
"""

from typing import Any

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream.kernels.base import njit
from eigenstream.rules.engine import ADDED, add_tile

__all__ = ["DOUBLE", "SINGLE", "Shadows", "affordable", "widths"]

#: Half the distance between 1 and the next number.
SINGLE, DOUBLE = 2.0**-24, 2.0**-53

#: The least number of directions; then twice as many, up to half of all features.
LEAST = 16

#: An exact distance is a sum that goes to memory, and takes a product's time so many times.
DEARER = 12.0


def widths(n_units: int, n_features: int) -> tuple[int, ...]:
    """Return the numbers of directions to be tried, one after the other.

    >>> widths(400, 100), widths(400, 20), widths(20, 784)
    ((16, 32), (), ())
    """
    found, width = [], LEAST
    while width <= min(n_features // 2, n_units // 4):
        found.append(width)
        width *= 2
    return tuple(found)


def affordable(n_units: int, n_features: int, width: int) -> float:
    """Return how many units a row may be compared with: what its bounds take themselves.

    >>> affordable(400, 400, 16)
    4.0
    """
    return width * (n_units / n_features + 2.0) / DEARER


class Shadows:
    """Units by their shadows on ``width`` directions, and what is left of them.

    >>> units = np.diag([3.0, 2.0, 1.0])
    >>> shadows = Shadows(units, (units**2).sum(axis=1), 2)
    >>> rows, columns, offsets, sizes = shadows.bounds(np.array([[0.0, 0.0, 1.0]]), np.ones(1), 1.0)
    >>> (rows @ columns + offsets + sizes).round(1)  # the directions are not quite the first two
    array([[10.,  5.,  0.]], dtype=float32)
    """

    def __init__(self, units: Float64s, squares: Float64s, width: int) -> None:
        K, D = units.shape
        self.axes = _directions(units, float(squares.max()), width)
        # The axes are orthonormal to some D roundings, and so is what is left of the square known.
        self._slack = 8.0 * (D + 8) * DOUBLE
        self._shadows, self._squares = units @ self.axes, squares
        own = np.einsum("kj,kj->k", self._shadows, self._shadows)
        self._left = np.sqrt(np.maximum(squares - own, 0.0) + self._slack * squares)
        self._columns, self._scale = np.empty((width + 1, K), np.float32), 0.0
        self._offsets = np.empty(K, np.float32)
        #: Bounds are too large by no more than this share of |x|^2 + the largest |w|^2: numbers
        #: are rounded, multiplied and added up in single precision, of as many products as there
        #: are, whose sizes add up to twice the sum at most. What is lost below the least numbers
        #: is, of a sum that is scaled to about 1, less than another rounding.
        self.share = 2.0 * (width + 8) * SINGLE + self._slack

    def bounds(self, rows: Float64s, sizes: Float64s, scale: float) -> tuple[Any, Any, Any, Any]:
        """Return factors, columns, offsets and sizes, in single precision.

        ``factors @ columns + offsets + sizes[:, None]`` are bounds of the squared distances, times
        ``scale`` squared. ``sizes`` are the rows' squares.
        """
        if scale != self._scale:
            self._scale = scale
            np.multiply(self._shadows.T, -2.0 * scale, out=self._columns[:-1], casting="same_kind")
            np.multiply(self._left, -2.0 * scale, out=self._columns[-1], casting="same_kind")
            np.multiply(self._squares * scale, scale, out=self._offsets, casting="same_kind")
        factors = np.empty((len(rows), len(self._columns)), np.float32)
        scaled = np.empty(len(rows), np.float32)
        _cast(rows, self.axes, sizes, scale, self._slack, (factors, scaled))
        return factors, self._columns, self._offsets, scaled


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _cast(rows: Any, axes: Any, sizes: Any, scale: float, slack: float, out: Any) -> None:
    q, (factors, scaled) = axes.shape[1], out
    shadows = np.empty((ADDED, q))
    for t in range(rows.shape[0]):
        v = t % ADDED
        if v == 0:
            shadows[:] = 0.0
            b = min(ADDED, rows.shape[0] - t)
            add_tile(shadows[:b], 0, 0, rows[t : t + b], axes, (0, q))
        own = 0.0
        for i in range(q):
            own += shadows[v, i] ** 2
            factors[t, i] = shadows[v, i] * scale
        factors[t, q] = np.sqrt(max(sizes[t] - own, 0.0) + slack * sizes[t]) * scale
        scaled[t] = sizes[t] * scale * scale


def _directions(units: Float64s, largest: float, width: int) -> Float64s:
    """Return orthonormal directions, (D, width), that most of the units' squares lie along."""
    # Some units all over the grid, scaled so that no product overflows.
    some = units[np.arange(width) * len(units) // width] / largest
    return np.ascontiguousarray(np.linalg.qr(units.T @ (units @ some.T))[0])
