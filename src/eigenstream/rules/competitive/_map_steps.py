"""The self-organising map's sequential rule, at the speed of matrix products and as it stands.

The rule [KOHONEN]: with the winner c = argmin_k |x - w_k|, every unit takes the step
w_k += h_k (x - w_k), h_k = rate * influence of c on k.

Over a block of rows x_0 .. x_(b-1) a unit stays a combination of itself and the rows,

    w_k(t) = a_k (base_k w_k(0) + sum_(j < t) f_jk x_j),

so that the block needs the inner products of units and rows, and of rows with each other: two
products of matrices. Between them a step takes <w_k, x_t> out of the products and the factors so
far, finds the winner by |w_k|^2 - 2 <w_k, x_t>, and writes the factors of the units that move:
a_k <- (1 - h_k) a_k, f_tk = h_k / a_k. Nothing is approximated: to rounding, the block's steps are
those of the rule.

With few features the plain rule is quicker, and it is the one that can leave out missing values.
"""

from typing import Any, NamedTuple

import numpy as np

from eigenstream.kernels.base import njit
from eigenstream.rules.competitive._neighborhoods import N_TABLES, Lattice, influence
from eigenstream.rules.competitive._scans import EQUAL, first_within, least_of
from eigenstream.rules.engine import ADDED, add_tile

__all__ = [
    "LOOSE",
    "Room",
    "block_steps",
    "lift_few",
    "plain_steps",
    "renewed",
    "scaled",
]

#: Ranges of units are joined where that makes no more than so many times as many.
JOINED = 6

#: Up to so many units, looking at all of them is quicker than at those that steps reach.
LARGE = 4000

#: Smaller factors are taken into the others, so that none of them overflows.
SMALLEST = 1e-60


class Room(NamedTuple):
    """What a block of steps works in; nothing in it outlives the block but what it returns."""

    factors: Any  # f (b, units)
    scale: Any  # a (units,)
    base: Any  # (units,)
    products: Any  # (b, units): of the rows with the units, as far as these are added up
    gram: Any  # (b, b): of the rows
    distances: Any  # (units,)
    shares: Any  # (units,): zero between steps
    runs: Any  # (b, 2 * rows, 2)
    counts: Any  # (b,): how many runs
    tables: Any  # (N_TABLES, ...)
    turned: Any  # (n_features, b): the rows as columns

    @classmethod
    def of(cls, lattice: Lattice, size: int, n_features: int = 0) -> "Room":
        """Return room for blocks of up to ``size`` steps."""
        units = lattice.rows * lattice.columns
        return cls(
            np.zeros((size, units)),
            np.ones(units),
            np.ones(units),
            np.zeros((size, units)),
            np.zeros((size, size)),
            np.empty(units),
            np.zeros(units),
            np.zeros((size, 2 * lattice.rows, 2), np.int64),
            np.zeros(size, np.int64),
            np.zeros((N_TABLES, max(lattice.rows, lattice.columns) + 1)),
            np.zeros((n_features, size)),
        )


#: Sums may be reordered, so that they go in parallel; NaN and infinity keep their meaning.
LOOSE = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, error_model="numpy", fastmath=LOOSE)
def block_steps(
    lattice: Lattice, room: Room, squares: Any, pace: Any, winners: Any, nearest: Any
) -> int:
    """Take the steps of a block, whose products and Gram matrix are in ``room``.

    ``squares`` are the units' |w|^2, kept up to date; ``pace`` (3, b) are rates, radii and
    the rows' weights. ``winners`` and ``nearest`` (b,) are filled with the winners and the squared
    distances to them, before the step. The factors of the block are left in ``room``; how many of
    them are not zero is returned.
    """
    moves, bound = 0, 1.0  # below which no scale can be yet
    reached = done = 0  # of the block's steps so far: their runs' units; those in the products
    units = squares.shape[0]
    a, f, distances, counts = room.scale, room.factors, room.distances, room.counts
    bits, least = distances.view(np.int64).reshape(1, units), np.empty(1)
    least_bits = least.view(np.int64)
    a[:] = 1.0
    room.base[:] = 1.0
    for t in range(winners.shape[0]):
        if t % ADDED == 0:
            # The steps so far go into a few rows' products at once, zero where one does not reach;
            # but on large maps looking for what they reach costs less.
            done = t if units * t <= LARGE * t + 8 * reached else 0
            if done:
                add_tile(room.products, t, 0, room.gram, f[:t], (0, units))
        products = room.products[t]
        _add_factors(room, done, t, products)
        own = room.gram[t, t]
        for k in range(units):
            distances[k] = max(squares[k] - 2.0 * a[k] * products[k] + own, 0.0)
        least_bits[0] = least_of(bits, 0)
        nearest[t] = least[0]
        least[0] += EQUAL * (own + least[0])
        winner = first_within(bits, 0, least_bits[0], 0)
        winners[t] = winner
        count = influence(
            lattice, winner, pace[0, t], pace[1, t], room.shares, room.runs[t], room.tables
        )
        if pace[2, t] != 1.0:
            _weigh(room.shares, room.runs[t], count, pace[2, t])
        for i in range(count):
            moves += _moved(room.shares[room.runs[t, i, 0] : room.runs[t, i, 1]])
        count = _joined(room.runs[t], count)
        counts[t] = count
        bound *= (1.0 - pace[0, t]) ** pace[2, t]
        if room.runs[t, 0, 0] > 0 or room.runs[t, 0, 1] < units:
            f[t, :] = 0.0
        for i in range(count):
            start, stop = room.runs[t, i, 0], room.runs[t, i, 1]
            reached += stop - start
            _move(room, t, squares, start, stop, bound < SMALLEST)
            room.shares[start:stop] = 0.0
    return moves


@njit(cache=True, nogil=True, error_model="numpy")
def _moved(shares: Any) -> int:
    """Return how many shares are not zero: whole rows of a grid are written with zeros."""
    count = 0
    for k in range(shares.shape[0]):
        count += shares[k] != 0.0
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def _joined(runs: Any, count: int) -> int:
    """Join runs that lie close to one, which the loops are quicker with; return how many are left.

    The shares between them are zero.
    """
    moved = 0
    for i in range(count):
        moved += runs[i, 1] - runs[i, 0]
    if runs[count - 1, 1] - runs[0, 0] > JOINED * moved:
        return count
    runs[0, 1] = runs[count - 1, 1]
    return 1


@njit(cache=True, nogil=True, error_model="numpy", fastmath=LOOSE)
def _add_factors(room: Room, first: int, t: int, products: Any) -> None:
    """Add sum_j f_jk <x_j, x_t> of the steps from the first to t to each unit's product."""
    for j in range(first, t):
        g = room.gram[t, j]
        for i in range(room.counts[j]):
            start, stop = room.runs[j, i, 0], room.runs[j, i, 1]
            some, own = products[start:stop], room.factors[j, start:stop]
            for k in range(stop - start):
                some[k] += g * own[k]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=LOOSE)
def _move(room: Room, t: int, squares: Any, start: int, stop: int, small: bool) -> None:
    """Move a run of units towards row t, by their shares: norms, scales and factors.

    Scales may have become too small to divide by only where it says ``small``.
    """
    # Slices, whose indices begin at 0, are what the compiler makes vector code of.
    a, products, squares = room.scale[start:stop], room.products[t, start:stop], squares[start:stop]
    shares, factors, own = room.shares[start:stop], room.factors[t, start:stop], room.gram[t, t]
    for k in range(stop - start):
        h = shares[k]
        s = 1.0 - h
        # |s w + h x|^2
        squares[k] = s * (s * squares[k] + 2.0 * h * a[k] * products[k]) + h * h * own
        a[k] *= s
        factors[k] = h / a[k]
    if small and a.min() < SMALLEST:
        for k in range(stop - start):
            if a[k] < SMALLEST:
                room.base[start + k] *= a[k]
                for j in range(t):
                    room.factors[j, start + k] *= a[k]
                for j in range(t + 1, room.products.shape[0]):
                    room.products[j, start + k] *= a[k]
                a[k] = 1.0
                factors[k] = shares[k]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=LOOSE)
def scaled(units: Any, room: Room, steps: int) -> None:
    """Scale the units and the factors of the rows that come on top of them, as the steps did."""
    for k in range(units.shape[0]):
        line, by = units[k], room.scale[k] * room.base[k]
        if by != 1.0:
            for i in range(line.shape[0]):
                line[i] *= by
    for j in range(steps):
        own = room.factors[j]
        for k in range(own.shape[0]):
            own[k] *= room.scale[k]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=LOOSE)
def lift_few(units: Any, room: Room, rows: Any) -> None:
    """Scale the units and add the rows with their factors, most of which are zero."""
    D = units.shape[1]
    for k in range(units.shape[0]):
        by = room.scale[k] * room.base[k]
        if by != 1.0:
            line = units[k]
            for i in range(D):
                line[i] *= by
    for j in range(rows.shape[0]):
        row = rows[j]
        for m in range(room.counts[j]):
            for k in range(room.runs[j, m, 0], room.runs[j, m, 1]):
                factor = room.factors[j, k] * room.scale[k]
                if factor != 0.0:
                    line = units[k]
                    for i in range(D):
                        line[i] += factor * row[i]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=LOOSE)
def renewed(units: Any, squares: Any) -> None:
    """Write |w|^2 of each unit: rounding of the steps does not add up over blocks."""
    for k in range(units.shape[0]):
        line, total = units[k], 0.0
        for i in range(line.shape[0]):
            total += line[i] * line[i]
        squares[k] = total


@njit(cache=True, nogil=True, error_model="numpy")
def _weigh(shares: Any, runs: Any, count: int, weight: float) -> None:
    """Let each unit that moves go as far as ``weight`` steps would."""
    for i in range(count):
        for k in range(runs[i, 0], runs[i, 1]):
            shares[k] = 1.0 - (1.0 - shares[k]) ** weight


@njit(cache=True, nogil=True, error_model="numpy")
def plain_steps(
    lattice: Lattice, columns: Any, rows: Any, room: Room, pace: Any, winners: Any, nearest: Any
) -> None:
    """Take the rule's steps one by one on units that lie as ``columns`` (D, units).

    What a row lacks (NaN) is left out of its distances and of the steps [KOHONEN, section 3.3];
    the squared distances are then scaled up by the share of features that are there.

    >>> from eigenstream.rules.competitive._grids import Grid
    >>> lattice = Lattice.of(Grid(1, 3), "bubble")
    >>> columns, pace = np.array([[0.0, 1.0, 2.0]]), np.array([[0.5], [0.0], [1.0]])
    >>> winners, nearest = np.zeros(1, np.int64), np.zeros(1)
    >>> rows = np.array([[2.5]])
    >>> plain_steps(lattice, columns, rows, Room.of(lattice, 1), pace, winners, nearest)
    >>> columns.tolist(), winners.tolist(), nearest.tolist()
    ([[0.0, 1.0, 2.25]], [2], [0.25])
    """
    D, units = columns.shape
    distances, shares = room.distances, room.shares
    bits = distances.view(np.int64).reshape(1, units)
    for t in range(rows.shape[0]):
        distances[:] = 0.0
        there = 0
        for i in range(D):
            x, line = rows[t, i], columns[i]
            if np.isnan(x):
                continue
            there += 1
            for k in range(units):
                gap = x - line[k]
                distances[k] += gap * gap
        winner = first_within(bits, 0, least_of(bits, 0), 0)
        winners[t], nearest[t] = winner, distances[winner] * (D / max(there, 1))
        count = influence(
            lattice, winner, pace[0, t], pace[1, t], shares, room.runs[0], room.tables
        )
        if pace[2, t] != 1.0:
            _weigh(shares, room.runs[0], count, pace[2, t])
        count = _joined(room.runs[0], count)
        for i in range(D):
            x, line = rows[t, i], columns[i]
            if np.isnan(x):
                continue
            for j in range(count):
                start, stop = room.runs[0, j, 0], room.runs[0, j, 1]
                some, share = line[start:stop], shares[start:stop]
                for k in range(stop - start):
                    some[k] += share[k] * (x - some[k])
        shares[:] = 0.0
