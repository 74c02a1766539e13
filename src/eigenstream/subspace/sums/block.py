"""Blocks of terms, which are weighted differences of two rows."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from eigenstream._checks import is_sparse
from eigenstream._linalg import Float64s, rank_update, weighted_sum
from eigenstream._namespaces import DeviceArray
from eigenstream._types import Matrix, Values
from eigenstream.rows.chunk import Chunk, Places

#: Terms of one part have a common share in T; see ``Terms.shares``.
Part = Hashable
Shares = Mapping[Part, float]

#: Sparse rows are made dense before centring if their squares exceed this multiple of their
#: variance. Larger values keep more rows sparse and lose more digits.
CANCELS = 16.0

#: Index pairs are summed by a graph Laplacian if there are more than this number per point.
PAIRS_PER_POINT = 2

#: Columns are compared in rows of about this number of values.
LONG_ROW = 512

#: The number of values of a sparse matrix that are made dense at a time.
DENSE_VALUES = 1 << 20

#: One end of some terms: the index of a piece, and its rows (None for a single row).
End = tuple[int, Any]


def negative(part: Part) -> Part:
    """Return the part of the terms whose weights are negative.

    >>> negative("variance")
    'negative variance'
    """
    return f"negative {part}"


@dataclass(frozen=True)
class Edges:
    """Terms of one part: the rows ``now`` minus the rows ``past``, with optional weights."""

    part: Part
    now: End
    past: End
    weights: Float64s | None = None


class Block:
    """Matrices of rows, and the terms that are differences of these rows.

    A piece is a dense or sparse matrix of rows, or a single row such as a mean.
    """

    def __init__(self, n_features: int, *pieces: Matrix) -> None:
        self.n_features = n_features
        self.pieces = list(pieces)
        self.edges: list[Edges] = []
        #: The rows that the terms come from, or None for terms between blocks.
        self.chunk: Chunk | None = None
        #: True if the terms begin a sequence, and the number of rows before the block.
        self.begins, self.first = False, 0
        #: The running mean of the rows of the block alone, if they are centred.
        self.own: Any = None

    def row(self, row: Float64s) -> End:
        """Add a single row, and return it as an end of terms."""
        self.pieces.append(row)
        return len(self.pieces) - 1, None

    def add(self, part: Part, now: End, past: End, weights: Float64s | float | None = None) -> None:
        """Add terms. Those of negative weight are in the part ``negative(part)``."""
        if isinstance(weights, int | float | np.number):
            weights = np.array([weights], np.float64)
        if weights is None or weights.min(initial=0.0) >= 0.0:
            self.edges.append(Edges(part, now, past, weights))
            return
        for place, here in ((part, weights >= 0.0), (negative(part), weights < 0.0)):
            ends = [
                (k, where if where is None else indices(where, self.pieces[k].shape[0])[here])
                for k, where in (now, past)
            ]
            self.edges.append(Edges(place, ends[0], ends[1], np.abs(weights[here])))

    def by_part(self) -> dict[Part, list[Edges]]:
        """Return the terms of each part."""
        parts: dict[Part, list[Edges]] = {}
        for edges in self.edges:
            parts.setdefault(edges.part, []).append(edges)
        return parts

    def vectors(self, part: Part) -> Float64s:
        """Return the differences of a part times the roots of their weights, as a new array."""
        return self._stacked(self.by_part()[part])

    def count(self, edges: list[Edges]) -> int:
        """Return the number of some terms."""
        return sum(map(self._length, edges))

    def rows_of(self, edges: Edges) -> bool:
        """Return whether some terms are dense rows, and not a step between means."""
        return edges.now[1] is not None and not self._is_sparse(edges)

    def highest(self, edges: Edges) -> Float64s:
        """Return the largest size of the differences of rows to a single row, by column."""
        rows, past = self.rows(edges.now), self.rows(edges.past)
        if isinstance(rows, DeviceArray):
            return np.asarray(rows.highest(past), np.float64)
        n, width = rows.shape
        step = max(LONG_ROW // width, 1)
        cut = n - n % step
        long = rows[:cut].reshape(-1, step * width)
        parts = [part for part in (long, rows[cut:]) if len(part)]
        high = np.concatenate([part.max(axis=0).reshape(-1, width) for part in parts]).max(axis=0)
        low = np.concatenate([part.min(axis=0).reshape(-1, width) for part in parts]).min(axis=0)
        return np.asarray(np.maximum(high - past, past - low), np.float64)

    def weighted(self, edges: Edges) -> Float64s:
        """Return the differences of some terms times the roots of their weights."""
        return self._stacked([edges])

    def add_moment(self, edges: list[Edges], total: Float64s) -> None:
        """Add the sum of the outer products of some terms to a lower triangle, in place."""
        rest = []
        for group in edges:
            if self._in_one_piece(group) and self._length(group) > self._many(group):
                total += np.tril(self._graph_moment(group))
            elif not (self._is_sparse(group) and self._add_sparse(group, total)):
                rest.append(group)
        if not any(map(self._is_sparse, rest)):
            rank_update(total, self._stacked(rest))
            return
        for dense in self._in_steps(rest):
            rank_update(total, self._stacked(dense))

    def on_device(self, edges: Edges) -> bool:
        """Return whether rows of some terms are on a device."""
        return any(isinstance(self.pieces[k], DeviceArray) for k, _ in (edges.now, edges.past))

    def plus_products(self, edges: Edges, total: Values) -> Values:
        """Return a total plus the outer products of some terms, on the device of their rows."""
        apart = self.rows(edges.now) - self.rows(edges.past)
        if edges.weights is not None:
            apart = apart * np.sqrt(edges.weights)[:, None]
        return apart.plus_products(total)

    def apply(self, columns: Float64s, shares: Shares) -> Float64s:
        """Return T @ columns for the given shares of the parts in T."""
        products = [np.asarray(piece @ columns) for piece in self.pieces]
        taken: list[Any] = [None] * len(products)
        for group in self.edges:
            share = shares.get(group.part, 0.0)
            if share == 0.0:
                continue
            (i, now), (j, past) = group.now, group.past
            apart = _at(products[i], now) - _at(products[j], past)
            apart = np.atleast_2d(apart) * share
            if group.weights is not None:
                apart *= group.weights[:, None]
            for k, where, sign in ((i, now, 1.0), (j, past, -1.0)):
                if taken[k] is None:
                    taken[k] = np.zeros_like(products[k])
                if where is None:
                    taken[k] += sign * apart.sum(axis=0)
                elif isinstance(where, slice):
                    taken[k][where] += sign * apart
                else:
                    np.add.at(taken[k], where, sign * apart)
        result = np.zeros((self.n_features, columns.shape[1]))
        for piece, coefficients in zip(self.pieces, taken, strict=True):
            if coefficients is not None and coefficients.ndim == 1:
                result += np.outer(piece, coefficients)
            elif coefficients is not None:
                result += piece.T @ coefficients
        return result

    def trace(self, shares: Shares) -> float:
        """Return the trace of T."""
        squares = {part: float((self.vectors(part) ** 2).sum()) for part in self.by_part()}
        return sum(shares.get(part, 0.0) * square for part, square in squares.items())

    # ---- rows of the terms -----------------------------------------------------------------

    def _length(self, edges: Edges) -> int:
        return max(self._size(edges.now), self._size(edges.past))

    def _size(self, end: End) -> int:
        k, where = end
        if where is None:
            return 1
        if isinstance(where, slice):
            return len(range(*where.indices(self.pieces[k].shape[0])))
        return len(where)

    def _is_sparse(self, edges: Edges) -> bool:
        now, past = self.pieces[edges.now[0]], self.pieces[edges.past[0]]
        return bool(is_sparse(now) or is_sparse(past))

    def _in_one_piece(self, edges: Edges) -> bool:
        return edges.now[0] == edges.past[0] and edges.now[1] is not None

    def _many(self, edges: Edges) -> int:
        return PAIRS_PER_POINT * int(self.pieces[edges.now[0]].shape[0])

    def rows(self, end: End) -> Matrix:
        """Return the rows at one end of some terms."""
        return _at(self.pieces[end[0]], end[1])

    def _in_steps(self, edges: list[Edges]) -> Iterator[list[Edges]]:
        """Yield terms to stack together: all terms of dense rows, then parts of sparse ones."""
        if dense := [group for group in edges if not self._is_sparse(group)]:
            yield dense
        step = max(DENSE_VALUES // self.n_features, 256)
        for group in edges:
            for first in range(0, self._length(group) if self._is_sparse(group) else 0, step):
                part = slice(first, first + step)
                ends = [
                    (k, where if where is None else indices(where, self.pieces[k].shape[0])[part])
                    for k, where in (group.now, group.past)
                ]
                weights = None if group.weights is None else group.weights[part]
                yield [Edges(group.part, ends[0], ends[1], weights)]

    def _stacked(self, edges: list[Edges]) -> Float64s:
        out = np.empty((sum(map(self._length, edges)), self.n_features))
        first = 0
        for group in edges:
            last = first + self._length(group)
            self._write(group, out[first:last])
            first = last
        return out

    def _write(self, edges: Edges, out: Float64s) -> None:
        now, past = self.rows(edges.now), self.rows(edges.past)
        if is_sparse(now) and is_sparse(past):  # the difference is often sparser than the rows
            out[:] = (now - past).toarray()
        else:
            now = now.toarray() if hasattr(now, "toarray") else now
            past = past.toarray() if hasattr(past, "toarray") else past
            np.subtract(now, past, out=out, dtype=np.float64)
        if edges.weights is not None:
            out *= np.sqrt(edges.weights)[:, None]

    # ---- sums that need no dense differences -----------------------------------------------

    def _add_sparse(self, edges: Edges, total: Float64s) -> bool:
        """Add terms of sparse rows by sparse products; return False if digits would be lost."""
        now, past = self.rows(edges.now), self.rows(edges.past)
        root = None if edges.weights is None else sp.diags_array(np.sqrt(edges.weights))
        if is_sparse(now) and is_sparse(past):
            apart = now - past if root is None else root @ (now - past)
            total += np.tril((apart.T @ apart).toarray())
            return True
        if not is_sparse(now) or np.ndim(past) != 1:
            return False
        weighted = now.astype(np.float64) if root is None else root @ now.astype(np.float64)
        sums = np.asarray((weighted if root is None else root @ weighted).sum(axis=0)).ravel()
        weight = float(now.shape[0] if edges.weights is None else edges.weights.sum())
        product = (weighted.T @ weighted).toarray()
        squares = np.diagonal(product).copy()
        crossed = np.outer(sums, past)
        product -= crossed + crossed.T - weight * np.outer(past, past)
        if squares.max(initial=0.0) > CANCELS * np.diagonal(product).max(initial=0.0):
            return False
        total += np.tril(product)
        return True

    def _graph_moment(self, edges: Edges) -> Float64s:
        """Return ``X^T L X``, where L is the Laplacian of the graph with the terms as edges."""
        piece = self.pieces[edges.now[0]]
        n, w = piece.shape[0], edges.weights
        now, past = (indices(end[1], n) for end in (edges.now, edges.past))
        w = np.ones(len(now)) if w is None else w
        links = sp.csr_array((w, (now, past)), shape=(n, n))
        degree = np.bincount(now, w, n) + np.bincount(past, w, n)
        laplacian = sp.diags_array(degree) - links - links.T
        # Subtracting the mean does not change differences, and loses fewer digits.
        mean = np.asarray(piece.mean(axis=0, dtype=np.float64)).ravel()
        rows = (piece.toarray() if is_sparse(piece) else piece) - mean
        return np.asarray(rows.T @ (laplacian @ rows))


def _at(rows: Matrix, where: Places | slice | None) -> Matrix:
    return rows if where is None else rows[where]


def dense(rows: Matrix) -> Float64s:
    """Return rows as a dense float64 array."""
    return np.asarray(rows.toarray() if is_sparse(rows) else rows, np.float64)


def indices(where: Places | slice, n: int) -> Places:
    """Return the numbers of the rows that a slice or an array chooses of ``n`` rows."""
    return np.arange(n)[where] if isinstance(where, slice) else where


def mean_of(rows: Matrix, weights: Float64s | None) -> Float64s:
    """Return the weighted mean of rows, dense or sparse, in float64."""
    if isinstance(rows, DeviceArray):
        return np.asarray(rows.mean(weights), np.float64)
    if weights is None:
        return np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()
    share = weights / weights.sum()
    if is_sparse(rows) or rows.dtype != np.float64:
        return np.asarray(rows.T @ share, np.float64)
    return np.asarray(weighted_sum(share, rows))
