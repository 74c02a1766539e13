"""Blocks of terms, which are weighted differences of two rows."""

from collections.abc import Hashable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eigenstream.core.checks import is_sparse
from eigenstream.core.linalg import (
    Float64s,
    rank_update,
    reciprocals,
    row_squares,
    unit_rows,
    weighted_sum,
)
from eigenstream.core.storable import storable
from eigenstream.core.types import Matrix
from eigenstream.rows.chunk import Chunk, Places

#: Terms of one part have a common share in T; see ``Terms.shares``.
Part = Hashable
Shares = Mapping[Part, float]

#: Sparse rows are made dense before centring if their squares exceed this multiple of their
#: variance. Larger values keep more rows sparse and lose more digits.
CANCELS = 16.0

#: Index pairs are summed by a graph Laplacian if there are more than this number per point.
PAIRS_PER_POINT = 2

#: The number of values of a sparse matrix that are made dense at a time.
DENSE_VALUES = 1 << 20

#: One end of some terms: the index of a piece, and its rows (None for a single row).
End = tuple[int, Any]


@dataclass(slots=True)
class Runs:
    """Ascending places, which are long runs of consecutive ones."""

    places: Places
    slices: list[slice]


def negative(part: Part) -> Part:
    """Return the part of the terms whose weights are negative.

    >>> negative("variance")
    'negative variance'
    """
    return f"negative {part}"


class Edges(NamedTuple):
    """Terms of one part: the rows ``now`` minus the rows ``past``, with optional weights."""

    part: Part
    now: End
    past: End
    weights: Float64s | None
    #: The number of terms.
    n: int
    #: True if one of the ends is a sparse matrix.
    sparse: bool
    #: The half of the rows in time that the terms belong to.
    half: int = 0


class Block:
    """Matrices of rows, and the terms that are differences of these rows.

    A piece is a dense or sparse matrix of rows, or a single row such as a mean.
    """

    def __init__(self, n_features: int, *pieces: Matrix) -> None:
        self.n_features = n_features
        self.pieces = list(pieces)
        #: The terms by part.
        self.parts: dict[Part, list[Edges]] = {}
        #: The rows that the terms come from, or None for terms between blocks.
        self.chunk: Chunk | None = None
        #: True if the terms begin a sequence, and the number of rows before the block.
        self.begins, self.first = False, 0
        #: The half of the rows that new terms belong to.
        self.half = 0
        #: The weights and the means of the rows of the block, if they are centred.
        self.own: list[Center] = []

    def row(self, row: Float64s) -> End:
        """Add a single row, and return it as an end of terms."""
        self.pieces.append(row)
        return len(self.pieces) - 1, None

    def add(self, part: Part, now: End, past: End, weights: Float64s | None = None) -> None:
        """Add terms. Those of negative weight are in the part ``negative(part)``."""
        if weights is not None and weights.min(initial=0.0) < 0.0:
            for place, here in ((part, weights >= 0.0), (negative(part), weights < 0.0)):
                self.add(place, part_of(now, here), part_of(past, here), np.abs(weights[here]))
            return
        sparse = bool(is_sparse(self.pieces[now[0]]) or is_sparse(self.pieces[past[0]]))
        where = past[1] if now[1] is None else now[1]
        n = 1 if where is None else len(where.places if isinstance(where, Runs) else where)
        edges = Edges(part, now, past, weights, n, sparse, self.half)
        self.parts.setdefault(part, []).append(edges)

    def add_step(self, part: Part, now: Float64s, past: Float64s, weight: float) -> None:
        """Add the term of a step between two means."""
        part, k, size = part if weight >= 0.0 else negative(part), len(self.pieces), abs(weight)
        self.pieces += [now, past]
        edges = Edges(part, (k, None), (k + 1, None), np.array([size]), 1, False, self.half)
        self.parts.setdefault(part, []).append(edges)

    def of_half(self, half: int) -> "Block":
        """Return the terms of one half of the rows."""
        block = copy(self)
        block.parts = {}
        for group in chain.from_iterable(self.parts.values()):
            if group.half == half:
                block.parts.setdefault(group.part, []).append(group)
        return block

    def with_terms(self, other: "Block") -> "Block":
        """Return a block that also has the terms of another one."""
        joint = Block(self.n_features, *self.pieces, *other.pieces)
        joint.chunk = self.chunk
        for first, block in ((0, self), (len(self.pieces), other)):
            for group in chain.from_iterable(block.parts.values()):
                (i, now), (j, past) = group.now, group.past
                joint.add(group.part, (first + i, now), (first + j, past), group.weights)
        return joint

    def scaled(self, units: Float64s) -> "Block":
        """Return the terms of the rows divided by units; infinite units give zeros."""
        block = copy(self)
        block.pieces = [dense(piece) / units for piece in self.pieces]
        return block

    def vectors(self, part: Part) -> Float64s:
        """Return the differences of a part times the roots of their weights, as a new array."""
        return self.stacked(self.parts[part])

    def stacked(self, edges: list[Edges]) -> Float64s:
        """Return the differences of some terms times the roots of their weights, as a new array."""
        out = np.empty((sum(map(attrgetter("n"), edges)), self.n_features))
        first = 0
        for group in edges:
            here = out[first : first + group.n]
            first += group.n
            (k, places), (j, places_before) = group.now, group.past
            piece, before = self.pieces[k], self.pieces[j]
            dense_rows = isinstance(piece, np.ndarray) and isinstance(before, np.ndarray)
            if isinstance(places, Runs) and dense_rows:  # slices need no copies
                done, past = 0, before
                for i, run in enumerate(places.slices):
                    now, at = piece[run], done
                    done += len(now)
                    if places_before is not None:
                        past = before[places_before.slices[i]]
                    np.subtract(now, past, out=here[at:done], dtype=np.float64)
            else:
                now = piece if places is None else piece[index(places)]
                past = before if places_before is None else before[index(places_before)]
                if is_sparse(now) and is_sparse(past):  # the difference is often sparser
                    here[:] = (now - past).toarray()
                else:
                    now = now.toarray() if hasattr(now, "toarray") else now
                    past = past.toarray() if hasattr(past, "toarray") else past
                    np.subtract(now, past, out=here, dtype=np.float64)
            if group.weights is not None:
                here *= np.sqrt(group.weights)[:, None]
        return out

    def add_moment(self, edges: list[Edges], total: Float64s) -> None:
        """Add the sum of the outer products of some terms to a lower triangle, in place."""
        dense, sparse = [], []
        for group in edges:
            (k, where), (j, _) = group.now, group.past
            in_one_piece = j == k and where is not None
            if in_one_piece and group.n > PAIRS_PER_POINT * self.pieces[k].shape[0]:
                total += np.tril(self._graph_moment(group))
            elif not group.sparse:
                dense.append(group)
            elif not self._add_sparse(group, total):
                sparse.append(group)
        if dense:
            rank_update(total, self.stacked(dense))
        for group in sparse:
            for part in self._in_steps(group):
                rank_update(total, self.stacked([part]))

    def apply(self, columns: Float64s, shares: Shares) -> Float64s:
        """Return T @ columns for the given shares of the parts in T."""
        pieces = [*map(as_rows, self.pieces)]
        products = [np.asarray(piece @ columns) for piece in pieces]
        taken = [np.zeros_like(product) for product in products]
        for group in chain.from_iterable(self.parts.values()):
            (i, now), (j, past) = group.now, group.past
            at, before = (slice(None) if where is None else index(where) for where in (now, past))
            apart = shares.get(group.part, 0.0) * (products[i][at] - products[j][before])
            if group.weights is not None:
                apart *= group.weights[:, None]
            for k, where, signed in ((i, now, apart), (j, past, -apart)):
                if where is None:
                    taken[k] += signed.sum(axis=0)
                elif isinstance(where, Runs):
                    taken[k][index(where)] += signed
                else:  # a row may have several terms
                    np.add.at(taken[k], where, signed)
        total = np.zeros((self.n_features, columns.shape[1]))
        for piece, part in zip(pieces, taken, strict=True):
            total += piece.T @ part
        return total

    def of_terms(self, shares: Shares) -> Float64s:
        """Return the share of each term, as a column."""
        each = [shares.get(part, 0.0) for part in self.parts]
        return np.repeat(each, self.sizes())[:, None]

    def sizes(self) -> Places:
        """Return the number of terms of each part."""
        sizes = [sum(map(attrgetter("n"), groups)) for groups in self.parts.values()]
        return np.array(sizes, np.intp)

    def links(self) -> Any:
        """Return a sparse matrix L. L times the rows of all pieces are the weighted terms."""
        sizes = [as_rows(piece).shape[0] for piece in self.pieces]
        edges = [*chain.from_iterable(self.parts.values())]
        firsts, n_terms = np.cumsum([0, *sizes]), sum(map(attrgetter("n"), edges))
        ends, roots, first = np.empty((n_terms, 2), np.intp), np.ones((n_terms, 1)), 0
        for group in edges:
            here = slice(first, first + group.n)
            first += group.n
            for side, (k, where) in enumerate((group.now, group.past)):
                ends[here, side] = firsts[k] + (0 if where is None else indices(where))
            if group.weights is not None:
                roots[here, 0] = np.sqrt(group.weights)
        values, bounds = (roots * [1.0, -1.0]).ravel(), np.arange(0, 2 * n_terms + 1, 2)
        return sp.csr_array((values, ends.ravel(), bounds), shape=(n_terms, firsts[-1]))

    def diagonal(self, shares: Shares) -> Float64s:
        """Return the diagonal of T."""
        total = np.zeros(self.n_features)
        for group in chain.from_iterable(self.parts.values()):
            for part in self._in_steps(group) if shares.get(group.part, 0.0) else ():
                vectors = self.stacked([part])
                total += shares[group.part] * np.einsum("ij,ij->j", vectors, vectors)
        return total

    # ---- rows of the terms -----------------------------------------------------------------

    def rows(self, end: End) -> Matrix:
        """Return the rows at one end of some terms."""
        piece, where = self.pieces[end[0]], end[1]
        return piece if where is None else piece[index(where)]

    def mean(self, end: End, weights: Float64s | None) -> Float64s:
        """Return the weighted mean of the rows at one end of some terms, in float64."""
        piece, where = self.pieces[end[0]], end[1]
        if weights is None and isinstance(where, Runs) and isinstance(piece, np.ndarray):
            total = np.zeros(self.n_features)
            for run in where.slices:
                total += np.add.reduce(piece[run], axis=0, dtype=np.float64)
            return total / len(where.places)
        return mean_of(self.rows(end), weights)

    def _in_steps(self, edges: Edges) -> Iterator[Edges]:
        """Yield parts of the terms of sparse rows, whose differences are small enough to stack."""
        step = max(DENSE_VALUES // self.n_features, 256)
        for first in range(0, edges.n, step):
            part = slice(first, first + step)
            ends = part_of(edges.now, part), part_of(edges.past, part)
            weights = None if edges.weights is None else edges.weights[part]
            yield Edges(edges.part, *ends, weights, min(step, edges.n - first), edges.sparse)

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
        now, past = indices(edges.now[1]), indices(edges.past[1])
        w = np.ones(len(now)) if w is None else w
        links = sp.csr_array((w, (now, past)), shape=(n, n))
        degree = np.bincount(now, w, n) + np.bincount(past, w, n)
        half = sp.diags_array(degree / 2.0) - links  # of which L is twice the symmetric part
        # Subtracting the mean does not change differences, and loses fewer digits.
        mean = np.asarray(piece.mean(axis=0, dtype=np.float64)).ravel()
        rows = (piece.toarray() if is_sparse(piece) else piece) - mean
        product = rows.T @ (half @ rows)
        return np.asarray(product + product.T)


class TermRows:
    """The terms of a block, times the roots of their weights, as differences of rows.

    Columns are multiplied by each row once, and then differences are taken. Products of float32
    rows are float32, unless ``double``. If there are fewer terms than rows, the terms are the rows.
    """

    def __init__(self, block: Block, closing: Block | None = None, *, double: bool) -> None:
        #: True if there are other terms than the closing ones.
        self.learns = bool(block.parts)
        self.closing = [] if closing is None else [*closing.parts]
        block = block if closing is None else block.with_terms(closing)
        ends = np.cumsum([0, *block.sizes()]).tolist()
        #: The place of the terms of each part.
        self.terms = [*zip(block.parts, map(slice, ends[:-1], ends[1:]), strict=True)]
        self.shares, links = block.of_terms, block.links()
        used, pieces = np.unique(links.indices[links.data != 0.0]), [*map(as_rows, block.pieces)]
        rows: Any = block.stacked([*chain.from_iterable(block.parts.values())])
        self.squares = row_squares(rows)
        if len(rows) <= len(used):
            links = sp.eye_array(len(rows), format="csr")
        elif any(map(is_sparse, pieces)):
            rows = sp.vstack(pieces, format="csr")
        else:
            rows = np.concatenate(pieces, dtype=np.float64)
            if len(used) < len(rows):
                rows, links = rows[used], links[:, used]
            rows -= rows.mean(axis=0)  # differences of small products lose fewer digits
        single = not double and block.chunk is not None and block.chunk.rows.dtype == np.float32
        self.links, self.rows = links, rows.astype(np.float32 if single else np.float64, copy=False)

    def along(self, columns: Float64s) -> Float64s:
        """Return the terms times columns."""
        products = self.rows @ columns.astype(self.rows.dtype, copy=False)
        return np.asarray(self.links @ products, np.float64)

    def combined(self, H: Float64s) -> Float64s:
        """Return ``H^T`` times the terms."""
        coefficients = (self.links.T @ H).astype(self.rows.dtype, copy=False)
        return np.asarray(coefficients.T @ self.rows, np.float64)

    def residual(self, H: Float64s | None, basis: Float64s) -> Float64s:
        """Return ``H^T`` times the terms outside the frame, scaled by the size of what they add.

        If H is None, the rows of the terms are returned, which span the terms.
        """
        if H is not None:
            H = H / np.maximum(np.abs(H).max(axis=0, initial=0.0), 1e-290)
            G = self.combined(H * reciprocals(np.sqrt(self.squares @ H**2)))
        else:
            G = unit_rows(dense(self.rows))
        inside = G @ basis.T
        G -= inside @ basis
        if (np.einsum("ij,ij->i", inside, inside) > np.einsum("ij,ij->i", G, G)).any():
            G -= (G @ basis.T) @ basis  # again, to remove rounding errors
        return G

    def concentration(self, shares: Shares, K: Float64s, basis: Float64s) -> tuple[float, int]:
        """Return the concentration of penalised terms outside the frame, and their number.

        The concentration is the mean square of a term along another term, divided by its mean
        square along all directions. It is k if the terms span a fraction 1 / k of the directions,
        and at least 1.
        """
        penalised = self.shares(shares)[:, 0] < 0.0
        n = int(penalised.sum())
        if n < 2:
            return 1.0, n
        outside = dense(self.links[penalised] @ self.rows) - K[penalised] @ basis
        inner = outside @ outside.T
        size = np.maximum(inner.diagonal(), 1e-290)
        along = ((inner**2).sum(axis=1) / size - size).sum() / (n - 1)
        return float(max((basis.shape[1] - len(basis)) * along / size.sum(), 1.0)), n


@storable(mean="f8 W", weight="number", fixed="bool")
@dataclass
class Center:
    """A running mean, updated chunk by chunk.

    The sum of squares about the final mean is the sum about the mean of each block, plus one term
    for each step between means. Accumulators therefore need not handle means.
    """

    mean: Float64s
    weight: float = 0.0
    #: True for a mean that does not change: zero, or the mean of an earlier pass.
    fixed: bool = False

    def add(
        self, block: Block, part: Part, end: End, weights: Float64s | None, n: int
    ) -> list["Center"]:
        """Add the terms of n rows of a block about the mean, and return that of these rows."""
        total = float(n if weights is None else weights.sum())
        if total == 0.0:
            return []
        if self.fixed:
            self.weight += total
            block.add(part, end, block.row(self.mean), weights)
            return []
        own = Center(block.mean(end, weights), total)
        if n > 1:  # a single row is its own mean
            block.add(part, end, block.row(own.mean), weights)
        self.join(block, part, own)
        return [own]

    def join(self, block: Block, part: Part, later: "Center") -> None:
        """Merge the mean of other rows, and add the term of the step between the means."""
        total = self.weight + later.weight
        if self.weight and later.weight and not self.fixed:
            between = self.weight * later.weight / total
            block.add_step(part, later.mean, self.mean, between)
        if total and not self.fixed:
            self.mean = self.mean + later.weight / total * (later.mean - self.mean)
        self.weight = total


@storable(
    n_sequences="int",
    weight="number",
    mean="f8 w",
    square="f8 w",
    first="f8 w+1 | None",
    last="f8 w+1",
)
class SequenceMeans:
    """The weights and the means of sequences, which merge in order."""

    def __init__(self, width: int) -> None:
        #: The complete sequences: their number, weight, mean, and squares of means about it.
        self.n_sequences, self.weight = 0, 0.0
        self.mean, self.square = np.zeros((2, width))
        #: The weight and the sum of the rows of the first and of the last sequence. Earlier rows
        #: may extend the first one. It is None while there is a single sequence.
        self.first: Float64s | None = None
        self.last = np.zeros(1 + width)

    def add(self, total: Float64s) -> None:
        """Add the weight and the sum of some rows of the last sequence."""
        self.last = self.last + total

    def begin(self) -> None:
        """Begin a sequence."""
        if self.first is None:  # its rows may have no terms yet, which earlier rows can change
            self.first = self.last
        else:
            self.close(self.last)
        self.last = np.zeros_like(self.last)

    def merge(self, later: "SequenceMeans") -> None:
        """Add the means of later sequences, the first of which continues the last one."""
        if later.first is not None:
            self.last = self.last + later.first
            self.begin()
        self._add(later.mean, later.weight, later.square, later.n_sequences)
        self.last = self.last + later.last

    def forget(self, share: float) -> None:
        """Multiply all weights by a share."""
        self.weight, self.square = share * self.weight, share * self.square
        self.first = None if self.first is None else share * self.first
        self.last = share * self.last

    def closed(self) -> "SequenceMeans":
        """Return the means with the first and the last sequence among the complete ones."""
        closed = copy(self)
        for sequence in self.open():
            closed.close(sequence)
        return closed

    @property
    def variance(self) -> Float64s:
        """The variance of the means of the complete sequences."""
        return self.square / (self.weight or 1.0)

    def open(self) -> list[Float64s]:
        """Return the weight and the sum of the first and of the last sequence."""
        return [self.last] if self.first is None else [self.first, self.last]

    def close(self, sequence: Float64s) -> None:
        """Add the mean of a complete sequence."""
        if sequence[0]:
            self._add(sequence[1:] / sequence[0], float(sequence[0]), 0.0, 1)

    def _add(self, mean: Float64s, weight: float, square: Float64s | float, n: int) -> None:
        total, step = self.weight + weight, mean - self.mean
        share = weight / (total or 1.0)
        self.square = self.square + square + self.weight * share * step**2
        self.mean, self.weight = self.mean + share * step, total
        self.n_sequences += n


def dense(rows: Matrix) -> Float64s:
    """Return rows as a dense float64 array on the host."""
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), np.float64)


def as_rows(piece: Matrix) -> Matrix:
    """Return a matrix of rows, also for a single row."""
    return piece if piece.ndim > 1 else piece[None]


def indices(where: Places | Runs) -> Places:
    """Return places as an array."""
    return where.places if isinstance(where, Runs) else where


def index(where: Places | Runs) -> Places | slice:
    """Return places as an index of NumPy: a slice if they are one run."""
    if isinstance(where, Runs) and len(where.slices) == 1:
        return where.slices[0]
    return indices(where)


def part_of(end: End, chosen: slice | NDArray[np.bool_]) -> End:
    """Return some of the rows at one end of terms."""
    return end[0], None if end[1] is None else indices(end[1])[chosen]


def mean_of(rows: Matrix, weights: Float64s | None) -> Float64s:
    """Return the weighted mean of rows, dense or sparse, in float64."""
    if weights is None and isinstance(rows, np.ndarray):
        return np.asarray(np.add.reduce(rows, axis=0, dtype=np.float64) / len(rows))
    if weights is None and not is_sparse(rows):
        return np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()
    # The mean of a sparse matrix of float32 is summed in float32, whatever its dtype.
    weights = np.ones(rows.shape[0]) if weights is None else weights
    share = weights / weights.sum()
    if isinstance(rows, np.ndarray) and rows.dtype == np.float64:
        return np.asarray(weighted_sum(share, rows))
    return np.asarray(share @ rows, np.float64)
