"""How far a map's step reaches: what share of it the units around the winner take.

A unit at distance d on the grid takes ``rate * h`` of the way to the row: Gaussian, with
h = exp(-d^2 / (2 radius^2)) [KOHONEN]; bubble, h = 1 up to the radius; and cut Gaussian, which is
the one inside the other. At radius 0 the winner moves alone.
"""

from typing import Any, NamedTuple

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.competitive._grids import Grid

__all__ = ["NEIGHBORHOODS", "N_TABLES", "Lattice", "influence", "spread"]

#: exp(-z) beyond this is less than rounding makes of 1, and near the smallest numbers it would be
#: slow to compute with.
CUT = 34.0

#: A Gaussian that nearly reaches all units is not cut, which is quicker: up to so many times its
#: squared reach it is no denormal number, nor is its square.
WIDER = 4.0

#: Whole rows of the grid are taken where that is no more than so many times what is reached.
BAND = 6.0

#: How far each reaches, in units of the squared radius, and whether all inside count alike.
NEIGHBORHOODS = {
    "gaussian": (2.0 * CUT, False),
    "bubble": (1.0, True),
    "cut-gaussian": (1.0, False),
}


class Lattice(NamedTuple):
    """A grid and a neighbourhood as the compiled loops take them.

    >>> Lattice.of(Grid(2, 3), "bubble").reach
    1.0
    """

    rows: int
    columns: int
    shift: float  # of every second row
    row_square: float
    periodic: bool
    reach: float  # squared, in units of the squared radius
    flat: bool

    @classmethod
    def of(cls, grid: Grid, neighborhood: str) -> "Lattice":
        """Return both in one."""
        reach, flat = NEIGHBORHOODS[neighborhood]
        shift = 0.5 if grid.hexagonal else 0.0
        return cls(
            grid.rows, grid.columns, shift, grid.row_square, bool(grid.periodic), reach, flat
        )


def spread(grid: Grid, neighborhood: str, radius: float, values: Any) -> Any:
    """Return sum_c h_kc values_c for each unit k: what is at the units, spread over the grid.

    The Gaussian of a sum of squares is a product of Gaussians: values are spread along the rows of
    the grid, and then between them. It is cut along each direction, where it is less than rounding.

    >>> spread(Grid(1, 4), "bubble", 1.0, np.array([[0.0], [0.0], [0.0], [1.0]])).ravel()
    array([0., 0., 1., 1.])
    """
    reach, flat = NEIGHBORHOODS[neighborhood]
    far, flat = reach * radius * radius, flat or radius == 0.0
    up, across = grid.squared_distances_along()
    # What overflows lies beyond.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        tall, wide = (np.exp(-0.5 * (np.sqrt(one) / radius) ** 2) for one in (up, across))
    if reach > 1.0 and not flat:
        tall[(up > far)], wide[across > far] = 0.0, 0.0
        return _spread_along(grid, tall, wide, values)
    out, C = np.empty_like(values), grid.columns
    for r in range(grid.rows):
        kind = grid.shifts(r)
        squares = across[kind].swapaxes(0, 1) + up[r][:, None]  # (C, rows, C)
        shares = ((squares == 0.0) | (squares <= far)).astype(np.float64)
        if not flat:
            shares *= wide[kind].swapaxes(0, 1) * tall[r][:, None]
        out[r * C : r * C + C] = shares.reshape(C, -1) @ values
    return out


def _spread_along(grid: Grid, tall: Any, wide: Any, values: Any) -> Any:
    """Return values spread by ``wide`` along rows that lie alike, or not, and by ``tall`` between.

    Of a hexagonal grid, one row in two is shifted against a row.
    """
    R, C, D = grid.rows, grid.columns, values.shape[1]
    lines = values.reshape(R, C, D)
    if not grid.hexagonal:
        along = np.matmul(wide[0], lines).reshape(R, C * D)
        return (tall @ along).reshape(R * C, D)
    out = np.empty((R, C * D))
    for kind, own in enumerate((slice(0, None, 2), slice(1, None, 2))):
        other = slice(1 - kind, None, 2)
        # Seen from rows that are not shifted, the others lie to the right; from these, to the left.
        alike = np.matmul(wide[0], lines[own]).reshape(-1, C * D)
        beside = np.matmul(wide[1 + kind], lines[other]).reshape(-1, C * D)
        out[own] = tall[own, own] @ alike + tall[own, other] @ beside
    return out.reshape(R * C, D)


#: The rows of ``tables``: the Gaussian at whole distances, at those plus 1/2, between rows of the
#: grid; and along a row, of the winner's kind and shifted against it.
WHOLE, HALF, BETWEEN, ALONG = range(4)
N_TABLES = 5


@njit(cache=True, nogil=True, error_model="numpy")
def influence(
    lattice: Lattice,
    winner: int,
    rate: float,
    radius: float,
    shares: Any,
    runs: Any,
    tables: Any,
) -> int:
    """Write each unit's share of a step into ``shares`` (n_units,); return how many runs there are.

    ``runs`` (2 * rows, 2) are the ranges [start, stop) of units that move; the shares of others
    stay what they are. ``tables`` (N_TABLES, max(rows, columns) + 1) are room for the Gaussians
    along the two directions: their product is the Gaussian, so that a step takes a few dozen
    exponentials.

    >>> grid, shares = Grid(1, 5), np.zeros(5)
    >>> room = np.zeros((2, 2), np.int64), np.zeros((N_TABLES, 6))
    >>> influence(Lattice.of(grid, "bubble"), 1, 0.5, 1.0, shares, *room), shares.tolist()
    (1, [0.5, 0.5, 0.5, 0.0, 0.0])
    """
    C = lattice.columns
    r_w, c_w = winner // C, winner % C
    reach = lattice.reach * radius * radius
    if reach < 1.0:  # no two units are nearer to each other
        shares[winner] = rate
        runs[0, 0], runs[0, 1] = winner, winner + 1
        return 1
    span = 0.5 if lattice.shift else 0.0
    longest = lattice.row_square * (lattice.rows - 1) ** 2 + (C - 1 + span) ** 2
    if lattice.reach > 1.0 and reach < longest <= WIDER * reach:
        reach = longest
    if not lattice.flat:
        _tabulate(lattice, 0.5 / (radius * radius), reach, winner, tables)
    if lattice.flat:
        if reach >= longest:
            runs[0, 0], runs[0, 1] = 0, lattice.rows * C  # nothing to look for
            shares[:] = rate
            return 1
    elif reach >= longest or (
        lattice.reach > 1.0 and not lattice.periodic and BAND * 2.0 * np.sqrt(reach) >= C
    ):
        _band(lattice, winner, rate, reach, shares, runs, tables)
        return 1
    found = 0
    for r in range(lattice.rows):
        dr = abs(r - r_w)
        if lattice.periodic:
            dr = min(dr, lattice.rows - dr)
        left = reach - lattice.row_square * dr * dr
        if left < 0.0:
            continue
        off = lattice.shift * (r % 2 - r_w % 2)
        low, high = _span(left, off)
        row = r * C
        if not lattice.periodic:
            start, stop = max(c_w + low, 0), min(c_w + high, C - 1) + 1
            if start < stop:
                found = _append(runs, found, row + start, row + stop)
        elif high - low + 1 >= C:
            start, stop = 0, C
            found = _append(runs, found, row, row + C)
        elif low <= high:
            start, stop = (c_w + low) % C, (c_w + high) % C + 1
            if start < stop:
                found = _append(runs, found, row + start, row + stop)
            else:
                found = _append(runs, found, row, row + stop)
                found = _append(runs, found, row + start, row + C)
        if not lattice.flat and low <= high:
            up, along = rate * tables[BETWEEN, dr], tables[ALONG + (1 if off != 0.0 else 0)]
            if start < stop:
                _times(up, along[start:stop], shares[row + start : row + stop])
            elif lattice.periodic:  # where the range wraps, it is two
                _times(up, along[:stop], shares[row : row + stop])
                _times(up, along[start:C], shares[row + start : row + C])
    if lattice.flat:
        for i in range(found):
            shares[runs[i, 0] : runs[i, 1]] = rate
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def _band(
    lattice: Lattice,
    winner: int,
    rate: float,
    reach: float,
    shares: Any,
    runs: Any,
    tables: Any,
) -> None:
    """Write the shares of whole rows of the grid, as far as a Gaussian reaches; see ``influence``.

    Along each direction it is cut: in the corners it is less than rounding.
    """
    C, r_w = lattice.columns, winner // lattice.columns
    first, last = lattice.rows, 0
    for r in range(lattice.rows):
        dr = abs(r - r_w)
        if lattice.periodic:
            dr = min(dr, lattice.rows - dr)
        if lattice.row_square * dr * dr <= reach:
            # Beside rows of the winner's kind there are those that are shifted against it.
            along = tables[ALONG + (dr & 1 if lattice.shift != 0.0 else 0)]
            _times(rate * tables[BETWEEN, dr], along[:C], shares[r * C : r * C + C])
            first, last = min(first, r), r
    runs[0, 0], runs[0, 1] = first * C, last * C + C


@njit(cache=True, nogil=True, error_model="numpy")
def _span(square: float, off: float) -> tuple[int, int]:
    """Return the least and the largest whole o with (o + off)^2 <= square; none if they cross."""
    low, high = int(np.ceil(-np.sqrt(square) - off)), int(np.floor(np.sqrt(square) - off))
    # The root was rounded.
    while (high + 1 + off) ** 2 <= square:
        high += 1
    while high >= low and (high + off) ** 2 > square:
        high -= 1
    while (low - 1 + off) ** 2 <= square:
        low -= 1
    while high >= low and (low + off) ** 2 > square:
        low += 1
    return low, high


@njit(cache=True, nogil=True, error_model="numpy")
def _tabulate(lattice: Lattice, sharpness: float, reach: float, winner: int, tables: Any) -> None:
    """Tabulate the Gaussian between rows and along them, as far as it reaches."""
    C, c_w = lattice.columns, winner % lattice.columns
    longest = max(lattice.rows, C)
    far = min(int(np.sqrt(reach)) + 1, longest)
    for m in range(far + 1):
        tables[WHOLE, m] = np.exp(-sharpness * m * m) if m * m <= reach else 0.0
    _lay_along(lattice, c_w, 0.0, tables[WHOLE], tables[ALONG], far)
    if lattice.shift == 0.0:
        tables[BETWEEN, : far + 1] = tables[WHOLE, : far + 1]
        return
    for m in range(far + 1):
        tables[HALF, m] = np.exp(-sharpness * (m + 0.5) ** 2) if (m + 0.5) ** 2 <= reach else 0.0
    far_up = min(int(np.sqrt(reach / lattice.row_square)) + 1, longest)
    for m in range(far_up + 1):
        tables[BETWEEN, m] = np.exp(-sharpness * lattice.row_square * m * m)
    # Seen from the winner's row, the others lie to the right of it or to the left.
    off = lattice.shift if winner // C % 2 == 0 else -lattice.shift
    _lay_along(lattice, c_w, off, tables[HALF], tables[ALONG + 1], far)


@njit(cache=True, nogil=True, error_model="numpy")
def _lay_along(lattice: Lattice, c_w: int, off: float, table: Any, line: Any, far: int) -> None:
    """Write the Gaussian of each column's distance to the winner's into ``line``."""
    C = lattice.columns
    for c in range(C):
        across = abs(c - c_w + off)
        if lattice.periodic:
            across = min(across, C - across)
        line[c] = table[min(int(across), far)]


@njit(cache=True, nogil=True, error_model="numpy")
def _times(factor: float, values: Any, out: Any) -> None:
    for k in range(out.shape[0]):
        out[k] = factor * values[k]


@njit(cache=True, nogil=True, error_model="numpy")
def _append(runs: Any, found: int, start: int, stop: int) -> int:
    """Append a range, or lengthen the last one; return how many there are now."""
    if found > 0 and runs[found - 1, 1] == start:
        runs[found - 1, 1] = stop
        return found
    runs[found, 0], runs[found, 1] = start, stop
    return found + 1
