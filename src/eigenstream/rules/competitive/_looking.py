"""Looking at the units that bounds leave over: the compiled loops of the search for the nearest."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigenstream._linalg import Float64s
from eigenstream.kernels.base import njit
from eigenstream.rules.competitive._scans import EQUAL, count_within, first_within, least_of
from eigenstream.rules.competitive._shorts import SINGLE, centred_row
from eigenstream.rules.engine import SHORT_ROWS, short_tile

__all__ = [
    "BoundRoom",
    "Measure",
    "Nearest",
    "PanelTask",
    "ShortTiles",
    "add_up",
    "centred",
    "look",
]


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


class BoundRoom(NamedTuple):
    """Room for bounds of squared distances, of which the bits are looked through."""

    values: Any  # (rows, K)
    bits: Any
    limit: Any  # (rows,): what others are no more than
    limit_bits: Any

    @classmethod
    def of(cls, values: Any) -> "BoundRoom":
        """Return these values, and what else is needed to look through them."""
        limit, whole = np.empty(len(values), values.dtype), f"i{values.itemsize}"
        return cls(values, values.view(whole), limit, limit.view(whole))


class ShortTiles(NamedTuple):
    """Short rows and units, and where the bounds that are made of them go."""

    factors: Any  # (m, q)
    scales: Any  # (m,)
    sizes: Any  # (m,)
    values: Any  # (rows at a time, K)
    columns: Any  # of the units, in lines
    offsets: Any  # (K,)
    at_once: int  # so many units stay in the cache


class Measure(NamedTuple):
    """What bounds of squared distances are in."""

    margins: Any  # (m,): by so much they are too large at most
    scale: float  # what squared distances are multiplied by
    most: int  # how many units may be looked at in all


@njit(cache=True, nogil=True, error_model="numpy")
def look(tiles: ShortTiles, room: BoundRoom, panel: PanelTask, measure: Measure) -> bool:
    """Look at units whose bound is no more than the distance to the best so far.

    Write the nearest units of a panel's rows; False: too many units had to be looked at. Bounds
    that rounding has made negative come first, and are looked at.
    """
    rows, squares, units, gaps, both, who, exact, found = panel
    firsts, seconds, nearest = found
    _, bits, limit, limit_bits = room
    margins, scale, affordable = measure
    factors, scales, sizes, values, columns, offsets, at_once = tiles
    by = scales, sizes, offsets
    (m, K), looked = (rows.shape[0], units.shape[0]), 0
    held = bits.shape[0]
    for t in range(m):
        v = t % held
        if v == 0:
            stop = min(t + held, m)
            # As many units as stay in the cache; none where the bounds are there already.
            for start in range(0, offsets.shape[0], at_once):
                here = start, min(start + at_once, offsets.shape[0])
                for s in range(t, stop, SHORT_ROWS):
                    short_tile(values, s - t, factors, s, columns, by, here)
            # The bounds are too small by a margin at most, too: no unit that is wanted is more than
            # two of them above the least, or the next.
            for s in range(stop - t):
                limit_bits[s] = _next_of(bits, s) if both else least_of(bits, s)
            for s in range(stop - t):
                above = EQUAL * squares[t + s] * scale + 2.0 * margins[t + s]
                # Rounded up, whatever the precision.
                limit[s] = (max(limit[s], 0.0) + above) * (1.0 + 4.0 * SINGLE)
        several, best = count_within(bits, v, limit_bits[v])
        if several == 1:
            looked += 1
            firsts[t], seconds[t] = best, best
            continue
        low, bound, count = np.inf, np.inf, 0
        k = first_within(bits, v, limit_bits[v], 0)
        while k < K:
            value = _square(rows, t, units, k, gaps)
            if value < bound:
                bound = max(low, value) if both else value
                low = min(low, value)
                most = ((bound + EQUAL * squares[t]) * scale + margins[t]) * (1.0 + 4.0 * SINGLE)
                limit[v] = min(limit[v], most)
            who[count], exact[count] = k, value
            count += 1
            k = first_within(bits, v, limit_bits[v], k + 1) if count < several else K
        looked += count
        if looked > affordable:
            return False
        # The nearest is the first of equals, the next is the least of the others.
        one, most = 0, low + EQUAL * (squares[t] + low)
        while one < count - 1 and exact[one] > most:
            one += 1
        after = -1
        for i in range(count):
            if i != one and (after < 0 or exact[i] < exact[after]):
                after = i
        firsts[t], seconds[t] = who[one], who[max(after, 0)]
    # Apart from the search, whose answers a processor cannot foresee, these do not wait for memory.
    for t in range(m):
        nearest[t] = _square(rows, t, units, firsts[t], gaps) * _scaled_up(rows, t, gaps)
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _next_of(bits: Any, row: int) -> int:
    """Return the least number of a row but one, or the only one."""
    best = first_within(bits, row, least_of(bits, row), 0)
    own, bits[row, best] = bits[row, best], np.iinfo(bits.dtype).max
    least = least_of(bits, row)
    bits[row, best] = own
    return int(least if bits.shape[1] > 1 else own)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def centred(rows: Any, centre: Any, out: Any, sizes: Any) -> None:
    """Write rows less the centre, and their squares: NaN where a row lacks a value.

    >>> out, sizes = np.zeros((1, 2)), np.zeros(1)
    >>> centred(np.array([[1.0, 5.0]]), np.array([1.0, 2.0]), out, sizes)
    >>> out.tolist(), sizes.tolist()
    ([[0.0, 3.0]], [9.0])
    """
    for t in range(rows.shape[0]):
        sizes[t] = centred_row(rows, t, centre, out)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _square(rows: Any, t: int, units: Any, k: int, gaps: bool) -> float:
    """Return the squared distance of a row to a unit, of the values that are there."""
    total = 0.0
    if gaps:
        for j in range(rows.shape[1]):
            if not np.isnan(rows[t, j]):
                total += (rows[t, j] - units[k, j]) ** 2
        return total
    for j in range(rows.shape[1]):
        total += (rows[t, j] - units[k, j]) ** 2
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _scaled_up(rows: Any, t: int, gaps: bool) -> float:
    """Return the number of features over those that are there in a row."""
    if not gaps:
        return 1.0
    there = 0
    for j in range(rows.shape[1]):
        there += not np.isnan(rows[t, j])
    return float(rows.shape[1] / max(there, 1))


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
