"""Looking at the units that bounds leave over: the compiled loops of the search for the nearest."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigenstream._linalg import Float64s
from eigenstream.kernels.base import njit
from eigenstream.rules.competitive._scans import EQUAL, first_within, least_of
from eigenstream.rules.competitive._shadows import SINGLE
from eigenstream.rules.engine import ADDED, add_tile

__all__ = ["Measure", "Nearest", "PanelBounds", "PanelTask", "add_up", "centred", "look"]


class Nearest(NamedTuple):
    """The nearest unit of each row, the one after it, and the squared distance to the first."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    squares: Float64s


class PanelTask(NamedTuple):
    """A panel, and room in which its units are looked at."""

    rows: Any  # (m, D)
    sizes: Any  # (m,): |x|^2
    units: Any  # (K, D)
    gaps: bool  # whether rows lack values
    both: bool  # whether the next nearest are wanted, too
    who: Any  # (K,)
    exact: Any  # (K,)
    found: Any  # Nearest


class PanelBounds(NamedTuple):
    """Bounds of squared distances, as products of matrices: factors @ columns + offsets + sizes."""

    factors: Any  # (m, q)
    columns: Any  # (q, K)
    offsets: Any  # (K,)
    sizes: Any  # (m,)
    values: Any  # (m, K), or (ADDED, K) where products are tiles
    limit: Any  # (1,): room for a number of the same kind
    bits: Any  # of the values
    limit_bits: Any
    tiled: bool


class Measure(NamedTuple):
    """What bounds of squared distances are in."""

    margins: Any  # (m,): by so much they are too large at most
    scale: float  # what squared distances are multiplied by
    most: int  # how many units may be looked at in all


@njit(cache=True, nogil=True, error_model="numpy")
def look(products: PanelBounds, measure: Measure, task: PanelTask) -> bool:
    """Look at units whose bound is no more than the distance to the best so far.

    Write the nearest units of a panel's rows; False: too many units had to be looked at. Bounds
    that rounding has made negative come first, and are looked at.
    """
    factors, columns, offsets, sizes, values, limit, bits, limit_bits, tiled = products
    rows, squares, units, gaps, both, who, exact, found = task
    (m, K), looked = (rows.shape[0], units.shape[0]), 0
    for t in range(m):
        v = t
        if tiled:
            v = t % ADDED
            if v == 0:
                b = min(ADDED, m - t)
                for i in range(b):
                    line, size = values[i], sizes[t + i]
                    for k in range(K):
                        line[k] = offsets[k] + size
                add_tile(values[:b], 0, 0, factors[t : t + b], columns, (0, K))
        else:
            line, size = values[v], sizes[t]
            for k in range(K):
                line[k] += offsets[k] + size
        own, row = bits[v], rows[t]
        slack, margin, scale = EQUAL * squares[t], measure.margins[t], measure.scale
        best = first_within(own, least_of(own), 0)
        first = _square(row, units[best], gaps)
        low, bound, other, second = first, first, -1, first
        if both and K > 1:
            held, own[best] = own[best], np.iinfo(bits.dtype).max
            other = first_within(own, least_of(own), 0)
            own[best] = held
            second = _square(row, units[other], gaps)
            low, bound = min(first, second), max(first, second)
        # Rounded up, whatever the precision.
        limit[0] = ((bound + slack) * scale + margin) * (1.0 + 4.0 * SINGLE)
        k, count = first_within(own, limit_bits[0], 0), 0
        while k < K:
            if k == best:
                value = first
            elif k == other:
                value = second
            else:
                value = _square(row, units[k], gaps)
                if value < bound:
                    bound = max(low, value) if both else value
                    low = min(low, value)
                    limit[0] = ((bound + slack) * scale + margin) * (1.0 + 4.0 * SINGLE)
            who[count], exact[count] = k, value
            count += 1
            k = first_within(own, limit_bits[0], k + 1)
        looked += count
        if looked > measure.most:
            return False
        # The nearest is the first of equals, the next is the least of the others.
        one, most = 0, low + EQUAL * (squares[t] + low)
        while one < count - 1 and exact[one] > most:
            one += 1
        after = -1
        for i in range(count):
            if i != one and (after < 0 or exact[i] < exact[after]):
                after = i
        found.first[t], found.second[t] = who[one], who[max(after, 0)]
        found.squares[t] = exact[one] * (_scaled_up(row) if gaps else 1.0)
    return True


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def centred(rows: Any, centre: Any, out: Any, sizes: Any) -> None:
    """Write rows less the centre, and their squares: NaN where a row lacks a value.

    >>> out, sizes = np.zeros((1, 2)), np.zeros(1)
    >>> centred(np.array([[1.0, 5.0]]), np.array([1.0, 2.0]), out, sizes)
    >>> out.tolist(), sizes.tolist()
    ([[0.0, 3.0]], [9.0])
    """
    for t in range(rows.shape[0]):
        row, line, total = rows[t], out[t], 0.0
        for j in range(centre.shape[0]):
            line[j] = row[j] - centre[j]
            total += line[j] * line[j]
        sizes[t] = total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _square(row: Any, unit: Any, gaps: bool) -> float:
    """Return the squared distance of a row to a unit, of the values that are there."""
    total = 0.0
    if gaps:
        for j in range(row.shape[0]):
            if not np.isnan(row[j]):
                total += (row[j] - unit[j]) ** 2
        return total
    for j in range(row.shape[0]):
        total += (row[j] - unit[j]) ** 2
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _scaled_up(row: Any) -> float:
    """Return the number of features over those that are there."""
    there = 0
    for j in range(row.shape[0]):
        there += not np.isnan(row[j])
    return float(row.shape[0] / max(there, 1))


@njit(cache=True, nogil=True, error_model="numpy")
def add_up(places: Any, weights: Any, rows: Any, sums: Any) -> None:
    """Add each row, times its weight, to the sum at its place.

    >>> sums = np.zeros((2, 1))
    >>> add_up(np.array([1, 1]), np.array([1.0, 2.0]), np.array([[1.0], [10.0]]), sums)
    >>> sums.tolist()
    [[0.0], [21.0]]
    """
    for t in range(rows.shape[0]):
        line, weight, row = sums[places[t]], weights[t], rows[t]
        for j in range(row.shape[0]):
            line[j] += weight * row[j]
