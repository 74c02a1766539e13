"""What a competitive rule is, and the two loops that take its steps.

One step of all these rules is ``J_k += a_k (x - J_k)`` ([DYN] eq. 2.2): a prototype moves towards
the row, by a rate a_k that depends on which prototypes are nearest. On a block of rows the loop
sees inner products only: a prototype's row of ``moved`` holds those with the rows to come, and its
coefficients of the rows that are gone; a move scales it and adds a row of the Gram matrix. Where
rows are short and prototypes few, moving the prototypes themselves is quicker.
"""

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream.kernels.base import njit
from eigenstream.rules.competitive._overlaps import (
    NOT_RECORDED,
    Overlaps,
    follow,
    keep,
    meet,
    meet_row,
)

__all__ = ["Competition", "Competitors", "RowSteps", "Seen"]

#: A row this near to its nearest prototype, relative to the squares of both, is the same again.
SAME = 1e-12

#: Shares of exp(-z) beyond it are zero: they move nothing that a float64 could tell, and further
#: down arithmetic on denormal numbers is slow.
NEGLIGIBLE = 34.0


class Competitors(NamedTuple):
    """Prototypes and what each has won; all arrays are updated in place.

    Prototypes from ``alive`` on are not there yet: each becomes the next row that is none of those
    there are.
    """

    vectors: Any  # (K, D)
    squares: Any  # (K,): |J_k|^2
    counts: Any  # (K,): sum of weights times shares, less what was forgotten
    latest: Any  # (K,): the last step in which it was the nearest; -1 before
    alive: Any  # (1,)

    @classmethod
    def zeros(cls, n_prototypes: int, n_features: int) -> "Competitors":
        """Return prototypes none of which is there yet.

        >>> Competitors.zeros(2, 3).alive
        array([0])
        """
        return cls(
            np.zeros((n_prototypes, n_features)),
            np.zeros(n_prototypes),
            np.zeros(n_prototypes),
            np.full(n_prototypes, -1, np.int64),
            np.zeros(1, np.int64),
        )

    def copy(self) -> "Competitors":
        """Return prototypes that move without these."""
        return Competitors(*(one.copy() for one in self))


class RowSteps(NamedTuple):
    """What the steps of some rows go by."""

    first: int  # the number of the first of these steps
    weights: Any  # (n,): how often each row counts; above zero
    gains: Any  # (n,): learning rates; or empty: 1 / count
    keep: float  # the share of the counts that is kept a step
    numbers: Any  # (n, m): what the rule reads at each step, such as a width
    ground: Any  # (.., ..): what it reads at all of them, such as places on a map
    overlaps: Overlaps = NOT_RECORDED  # of the prototypes, where they are recorded

    def between(self, start: int, stop: int) -> "RowSteps":
        """Return the steps from ``start`` to ``stop``."""
        return self._replace(
            first=self.first + start,
            weights=self.weights[start:stop],
            gains=self.gains[start:stop],
            numbers=self.numbers[start:stop],
        )


class Seen(NamedTuple):
    """What each row met when it came: its nearest prototype, and the squared distance to it."""

    nearest: Any  # (n,)
    errors: Any  # (n,)


class Competition:
    """A competitive rule: who moves, and by which share of the learning rate.

    ``assign(fields, nearest, numbers, ground, who, shares) -> count`` is compiled. The fields are
    ``<J_k, x> - |J_k|^2 / 2``, but for a term that all share: half the squared distances differ as
    they do, the larger the nearer, and -inf where no prototype is yet. It writes who moves into the
    first entries of ``who`` and by which shares, between 0 and 1, into those of ``shares``.
    """

    def __init__(self, name: str, assign: Callable[..., int]) -> None:
        self.name = name
        self.assign = assign

    def __repr__(self) -> str:
        return f"Competition({self.name!r})"

    def advance(
        self, them: Competitors, rows: Float64s, steps: RowSteps, seen: Seen, size: int
    ) -> None:
        """Take the steps of the rows, in blocks of ``size``; one by one where that is 0.

        >>> from eigenstream.rules.competitive import WINNER
        >>> them = Competitors.zeros(1, 2)
        >>> rows = np.array([[0.0, 2.0], [2.0, 0.0]])
        >>> steps = RowSteps(0, np.ones(2), np.zeros(0), 1.0, np.zeros((2, 0)), np.zeros((0, 0)))
        >>> WINNER.advance(them, rows, steps, Seen(np.zeros(2, np.int64), np.zeros(2)), 2)
        >>> them.vectors
        array([[1., 1.]])
        """
        on_rows, on_products, _ = _loops(self.assign)
        if size == 0:
            on_rows(them, rows, steps, seen)
            return
        for start in range(0, len(rows), size):
            stop = min(start + size, len(rows))
            block = rows[start:stop]
            moved = them.vectors @ block.T
            now = Seen(seen.nearest[start:stop], seen.errors[start:stop])
            scales = np.ones(len(moved))
            gram = block @ block.T
            here = steps.between(start, stop)
            if here.overlaps.every:
                here = here._replace(overlaps=here.overlaps.of(block, gram))
            count = on_products(moved, gram, scales, them, here, now)
            if 4 * count < moved.size:
                _add_few(them.vectors, scales, moved, block)
            else:
                np.multiply(them.vectors, scales[:, None], out=them.vectors)
                np.add(them.vectors, moved @ block, out=them.vectors)
            np.einsum("kj,kj->k", them.vectors, them.vectors, out=them.squares)

    def shares(self, fields: Float64s, numbers: Float64s, ground: Any) -> Float64s:
        """Return the share of each prototype (column) in each row, at the same numbers for all.

        >>> from eigenstream.rules.competitive import WINNER
        >>> WINNER.shares(np.array([[-2.0, -1.0]]), np.zeros(0), np.zeros((0, 0)))
        array([[0., 1.]])
        """
        out = np.zeros(fields.shape)
        _loops(self.assign)[2](fields, numbers, ground, out)
        return out


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _add_few(vectors: Any, scales: Any, coefficients: Any, rows: Any) -> None:
    """Replace the vectors by scales * vectors + coefficients @ rows, most of which are zero."""
    for k in range(vectors.shape[0]):
        line = vectors[k]
        if scales[k] != 1.0:
            for j in range(line.shape[0]):
                line[j] *= scales[k]
        for t in range(rows.shape[0]):
            c = coefficients[k, t]
            if c != 0.0:
                row = rows[t]
                for j in range(line.shape[0]):
                    line[j] += c * row[j]


@njit(cache=True, error_model="numpy")
def _nearest(fields: Any, alive: int) -> int:
    """Return the place of the largest field; the first of equals."""
    best = 0
    for k in range(1, alive):
        if fields[k] > fields[best]:
            best = k
    return best


@njit(cache=True, error_model="numpy")
def _rate(counts: Any, k: int, share: float, steps: RowSteps, t: int) -> float:
    """Count a win; return the rate of the move: 1 / count, or the schedule's.

    A row of weight w moves its prototype as far as w rows one after the other would.
    """
    won = steps.weights[t] * share
    counts[k] += won
    if steps.gains.shape[0] == 0:
        return float(won / counts[k])
    rate = steps.gains[t] * share
    if steps.weights[t] != 1.0:
        rate = 1.0 - (1.0 - rate) ** steps.weights[t]
    return float(rate)


@njit(cache=True, error_model="numpy")
def _forget(counts: Any, keep: float) -> None:
    if keep < 1.0:
        for k in range(counts.shape[0]):
            counts[k] *= keep


def _on_products(
    moved: Any, gram: Any, scales: Any, them: Competitors, steps: RowSteps, seen: Seen
) -> int:
    """Take the steps of a block on its inner products; return how many moves there were.

    ``moved`` (K, b) comes with <J_k, x_t> and goes with coefficients; ``scales`` become the shares
    of the old vectors. The name ``assign`` is filled in by ``_loops``.
    """
    n_prototypes, n_rows = moved.shape
    fields, shares = np.empty(n_prototypes), np.empty(n_prototypes)
    who = np.empty(n_prototypes, np.int64)
    squares, alive = them.squares, them.alive
    overlaps, products, rates = steps.overlaps, np.empty(n_prototypes), np.zeros(n_prototypes)
    follows, last, whole = overlaps.follows, overlaps.R.shape[1], 0.0
    moves = 0
    for t in range(n_rows):
        for k in range(n_prototypes):
            fields[k] = moved[k, t] - 0.5 * squares[k] if k < alive[0] else -np.inf
            moved[k, t] = 0.0
        _forget(them.counts, steps.keep)
        size = gram[t, t]
        near = _nearest(fields, alive[0])
        error = max(size - 2.0 * fields[near], 0.0)
        born = alive[0] < n_prototypes and error > SAME * (size + squares[near])
        if born:
            near, error, count = alive[0], 0.0, 1
            who[0], shares[0], fields[near] = near, 1.0, 0.0
            alive[0] += 1
        else:
            count = assign(  # type: ignore[name-defined]  # noqa: F821
                fields, near, steps.numbers[t], steps.ground, who, shares
            )
        seen.nearest[t], seen.errors[t] = near, error
        them.latest[near] = steps.first + t
        if follows:
            whole = overlaps.inner[t, last]
            meet(overlaps, fields, size, whole, alive[0], products)
        for i in range(count):
            k = who[i]
            a = _rate(them.counts, k, shares[i], steps, t)
            if born:
                a = 1.0
            rates[k] = a
            left = 1.0 - a
            product = fields[k] + 0.5 * squares[k]
            squares[k] = left * left * squares[k] + 2.0 * a * left * product + a * a * size
            scales[k] *= left
            line, inner = moved[k], gram[t]
            for j in range(t):
                line[j] *= left
            line[t] = a
            for j in range(t + 1, n_rows):
                line[j] = left * line[j] + a * inner[j]
        moves += count
        if follows:
            follow(overlaps, products, whole, who[:count], rates, t)
            if (steps.first + t + 1) % overlaps.every == 0:
                keep(overlaps, alive[0], them.vectors)
    return moves


def _on_rows(them: Competitors, rows: Any, steps: RowSteps, seen: Seen) -> None:
    """Take the steps on the vectors themselves; see ``_on_products``."""
    vectors, alive = them.vectors, them.alive
    n_prototypes, n_features = vectors.shape
    fields, shares = np.empty(n_prototypes), np.empty(n_prototypes)
    who = np.empty(n_prototypes, np.int64)
    overlaps, products, rates = steps.overlaps, np.empty(n_prototypes), np.zeros(n_prototypes)
    follows, whole = overlaps.follows, 0.0
    for t in range(rows.shape[0]):
        row = rows[t]
        for k in range(n_prototypes):
            fields[k] = -np.inf
        for k in range(alive[0]):
            total = 0.0
            for j in range(n_features):
                total += (row[j] - vectors[k, j]) ** 2
            fields[k] = -0.5 * total
        _forget(them.counts, steps.keep)
        near = _nearest(fields, alive[0])
        error = -2.0 * fields[near]
        born = alive[0] == 0
        if 0 < alive[0] < n_prototypes:
            size = 0.0
            for j in range(n_features):
                size += row[j] ** 2 + vectors[near, j] ** 2
            born = error > SAME * size
        if born:
            near, error, count = alive[0], 0.0, 1
            who[0], shares[0], fields[near] = near, 1.0, 0.0
            alive[0] += 1
        else:
            count = assign(  # type: ignore[name-defined]  # noqa: F821
                fields, near, steps.numbers[t], steps.ground, who, shares
            )
        seen.nearest[t], seen.errors[t] = near, error
        them.latest[near] = steps.first + t
        if follows:
            whole = meet_row(overlaps, row)
            meet(overlaps, fields, 0.0, whole, alive[0], products)
        for i in range(count):
            k = who[i]
            a = _rate(them.counts, k, shares[i], steps, t)
            if born:
                a = 1.0
            rates[k] = a
            line = vectors[k]
            for j in range(n_features):
                line[j] = (1.0 - a) * line[j] + a * row[j]
        if follows:
            follow(overlaps, products, whole, who[:count], rates, 0)
        if overlaps.every > 0 and (steps.first + t + 1) % overlaps.every == 0:
            keep(overlaps, alive[0], vectors)


def _all_shares(fields: Any, numbers: Any, ground: Any, out: Any) -> None:
    """Write the shares of each row into ``out``, which comes with zeros."""
    n_prototypes = fields.shape[1]
    who, shares = np.empty(n_prototypes, np.int64), np.empty(n_prototypes)
    for t in range(fields.shape[0]):
        near = _nearest(fields[t], n_prototypes)
        count = assign(  # type: ignore[name-defined]  # noqa: F821
            fields[t], near, numbers, ground, who, shares
        )
        for i in range(count):
            out[t, who[i]] = shares[i]


@cache
def _loops(assign: Any) -> tuple[Callable[..., None], Callable[..., int], Callable[..., None]]:
    """Return the loops with a rule's ``assign`` in their middle, each compiled as one.

    numba caches no function that is handed another, so each rule gets a copy of the code in which
    the name ``assign`` means its own, cached under a name of its own.
    """
    compiled: list[Any] = []
    for template, options in (
        (_on_rows, {"reassoc", "contract"}),
        (_on_products, {"contract"}),
        (_all_shares, {"contract"}),
    ):
        name = f"{assign.__name__}{template.__name__}"
        filled = FunctionType(template.__code__, {**globals(), "assign": assign}, name)
        filled.__qualname__, filled.__module__ = name, __name__
        compiled.append(njit(cache=True, error_model="numpy", nogil=True, fastmath=options)(filled))
    return compiled[0], compiled[1], compiled[2]
