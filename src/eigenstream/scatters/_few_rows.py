"""The rows of one class: few of them as they are, many as a moment."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eigenstream._checks import is_sparse
from eigenstream._linalg import Float64s
from eigenstream._state import State, joined, part
from eigenstream.scatters._moment import SecondMoment, Weights, floating

#: Rows as they came, and a weight each.
Piece = tuple[Any, Weights | None]

#: What sparse rows are made of.
SPARSE_PARTS = ("data", "indices", "indptr")


class ClassRows:
    """What is kept of a class, in the less memory: its rows, or a D x D matrix.

    A symmetric matrix holds as many different numbers as D / 2 rows do: a class of fewer rows is
    kept as these, so that many small classes take no more memory than their rows. The answers are
    the same, to rounding.
    """

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self.pieces: list[Piece] = []
        #: The moment, from the row on with which it takes less memory.
        self.moment: SecondMoment | None = None

    @property
    def n_kept(self) -> int:
        """The number of rows that are kept as they are."""
        return sum(int(rows.shape[0]) for rows, _ in self.pieces)

    def takes(self, n_more: int) -> bool:
        """Tell whether so many more rows are to be kept as they are."""
        return self.moment is None and self.n_kept + n_more <= most_rows(self.n_features)

    def add(self, rows: Any, weights: Weights | None) -> None:
        """Add rows, whose memory is the class's from now on."""
        if rows.shape[0] == 0:
            return
        if not self.takes(rows.shape[0]):
            self.to_moment().add(floating(rows), weights)
            return
        self.pieces.append((rows, weights))
        # As in a binary counter: n single rows are copied log n times, into log n pieces.
        while len(self.pieces) > 1 and _alike(*self.pieces[-2:]):
            later, earlier = self.pieces.pop(), self.pieces.pop()
            self.pieces.append(_joined(earlier, later))

    def to_moment(self) -> SecondMoment:
        """Return the moment, made from the rows kept if there is none yet."""
        if self.moment is None:
            self.moment = SecondMoment(self.n_features, center=True)
            for rows, weights in self.pieces:
                self.moment.add(floating(rows), weights)
            self.pieces = []
        return self.moment

    def merge(self, other: "ClassRows") -> None:
        """Add the rows that another class has; it is left as it is."""
        if other.moment is not None:
            self.to_moment().merge(other.moment)
        for rows, weights in other.pieces:
            self.add(rows, weights)

    def copy(self) -> "ClassRows":
        """Return an independent copy; rows kept are never written to, and shared."""
        copy = ClassRows(self.n_features)
        copy.pieces = list(self.pieces)
        copy.moment = None if self.moment is None else self.moment.copy()
        return copy

    def state(self) -> State:
        """Return all that is kept."""
        state: State = {"n_features": self.n_features, "pieces": len(self.pieces)}
        if self.moment is not None:
            return state | joined(moment=self.moment.state())
        for k, (rows, weights) in enumerate(self.pieces):
            if is_sparse(rows):
                parts = {name: getattr(rows, name).copy() for name in SPARSE_PARTS}
                state |= joined(**{f"sparse_{k}": parts})
            else:
                state[f"rows_{k}"] = rows.copy()
            if weights is not None:
                state[f"weights_{k}"] = weights.copy()
        return state

    @classmethod
    def restored(cls, state: State) -> "ClassRows":
        """Return a class that goes on from a ``state``, to the last bit."""
        found = cls(int(state["n_features"]))
        moment = part(state, "moment")
        if moment:
            found.moment = SecondMoment.restored(moment)
        for k in range(int(state["pieces"])):
            sparse, weights = part(state, f"sparse_{k}"), state.get(f"weights_{k}")
            if sparse:
                parts = tuple(np.array(sparse[name]) for name in SPARSE_PARTS)
                rows: Any = sp.csr_array(parts, (len(parts[-1]) - 1, found.n_features))
            else:
                rows = np.array(state[f"rows_{k}"])
            kept = None if weights is None else np.array(weights, np.float64)
            found.pieces.append((rows, kept))
        return found

    def read(self) -> "ClassSums":
        """Return count, weight and mean, and the rows about it or the sum of their products."""
        if self.moment is not None:
            moment = self.moment.settled()
            count, weight = moment.totals()
            return ClassSums(count, weight, moment.mean(), None, moment.total(), moment.rounding)
        rows = np.concatenate(
            [_dense(rows) for rows, _ in self.pieces] or [np.empty((0, self.n_features))]
        )
        w = np.concatenate(
            [np.ones(rows.shape[0]) if w is None else w for rows, w in self.pieces] or [np.empty(0)]
        )
        rows, w = rows[w > 0], w[w > 0]
        weight = float(w.sum())
        if weight == 0.0:
            return ClassSums(0, 0.0, np.zeros(self.n_features), rows, None, 0.0)
        # Shifted by a row, the mean is of small numbers; what rounding left in it is taken out.
        mean = rows[0].copy()
        rows -= mean
        for _ in range(2):
            rest = (w / weight) @ rows
            rows -= rest
            mean += rest
        rows *= np.sqrt(w)[:, None]
        return ClassSums(len(rows), weight, mean, rows, None, 0.0)

    def weight(self) -> float:
        """Return the sum of the weights."""
        if self.moment is not None:
            return self.moment.totals()[1]
        return sum(float(rows.shape[0] if w is None else w.sum()) for rows, w in self.pieces)


@dataclass(frozen=True)
class ClassSums:
    """Count, weight and mean of a class, and its centred rows or the sum of their products."""

    count: int
    weight: float
    mean: Float64s
    #: Scaled by the roots of the weights; None where there is a total.
    rows: Float64s | None
    #: The lower triangle.
    total: Float64s | None
    rounding: float

    def squares(self) -> float:
        """Return the weighted sum of the rows' squared distances from the mean."""
        if self.total is not None:
            return float(np.trace(self.total))
        assert self.rows is not None
        return float(np.einsum("ij,ij->", self.rows, self.rows))


def most_rows(n_features: int) -> int:
    """Return how many rows of a class are kept as they are at most.

    >>> most_rows(784)
    392
    """
    return n_features // 2


def state_bytes(sizes: NDArray[np.integer[Any]], n_features: int) -> float:
    """Return what classes of these sizes take."""
    few = np.where(sizes <= most_rows(n_features), sizes, n_features)
    return 8.0 * n_features * float(few.sum())


def stacked(parts: Iterator[Float64s], n_rows: int) -> Iterator[Float64s]:
    """Return blocks of so many rows or more, joined from smaller ones."""
    waiting: list[Float64s] = []
    for some in parts:
        waiting.append(some)
        if sum(map(len, waiting)) >= n_rows:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


def _dense(rows: Any) -> Float64s:
    return np.asarray(rows.toarray() if is_sparse(rows) else rows, np.float64)


def _alike(earlier: Piece, later: Piece) -> bool:
    """Tell whether two pieces are of one kind, and the later one as long."""
    (before, _), (after, _) = earlier, later
    kinds = [(is_sparse(rows), rows.dtype) for rows in (before, after)]
    return kinds[0] == kinds[1] and before.shape[0] <= after.shape[0]


def _joined(earlier: Piece, later: Piece) -> Piece:
    pieces = (earlier, later)
    stack: Any = sp.vstack if is_sparse(earlier[0]) else np.concatenate
    rows = stack([rows for rows, _ in pieces])
    if all(weights is None for _, weights in pieces):
        return rows, None
    return rows, np.concatenate([np.ones(rows.shape[0]) if w is None else w for rows, w in pieces])
