"""The scatter of differences between the members of pairs."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from eigenstream._checks import (
    check_finite,
    check_index_pairs,
    check_weights,
    check_whole,
    is_sparse,
    real_array,
    real_rows,
)
from eigenstream._linalg import Float64s
from eigenstream._state import State, joined, part
from eigenstream.scatters._moment import SecondMoment, block_rows, floating
from eigenstream.scatters.base import Scatter

#: Index pairs taken at a time: their sparse adjacency stays at some tens of MB.
PAIRS_AT_A_TIME = 1 << 20

#: Where more of all index pairs than this are there, dense blocks of the adjacency, multiplied at
#: full speed, are faster than sparse ones, which wait for memory.
DENSE_SHARE = 1 / 30

#: Values in a dense block: 32 MB.
BLOCK_VALUES = 1 << 22


class PairScatter(Scatter):
    """The average of ``(x - x')(x - x')^T`` over pairs: of one sign, if the caller so chooses.

    Pairs come as rows beside each other, or as indices into points. The sum over index pairs is
    ``X^T L X`` with L the Laplacian of the graph whose edges are the pairs ([HPCA] section 6, with
    one point a row), so that its cost goes with the points and not with the pairs.

    Memory: one D x D matrix and O(chunk), or O(points * D) for index pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream.scatters import PairScatter
    >>> points = np.array([[0.0], [1.0], [4.0]])
    >>> PairScatter(1).update_indexed(points, np.array([[0, 1], [1, 2]])).matrix()  # (1 + 9) / 2
    array([[5.]])
    >>> PairScatter(1).update(np.array([[[0.0], [1.0]], [[1.0], [4.0]]])).matrix()
    array([[5.]])
    """

    kind = "pairs"

    def __init__(self, n_features: int) -> None:
        self.n_features = check_whole(n_features, "n_features")
        self._moment = SecondMoment(self.n_features, center=False)
        self._n_rows = 0

    def empty(self) -> Self:
        """Return a scatter that has seen no pair."""
        return type(self)(self.n_features)

    def update(self, pairs: Any, *, sample_weight: Any = None) -> Self:
        """Add pairs, shape (n, 2, n_features), each with a non-negative weight if given."""
        pairs = real_array(pairs, "pairs")
        if pairs.ndim != 3 or pairs.shape[1:] != (2, self.n_features):
            raise ValueError(
                f"pairs must have shape (n, 2, {self.n_features}), got {pairs.shape}: the two "
                "members of a pair lie on the second axis."
            )
        check_finite(pairs.reshape(len(pairs), 2 * self.n_features), name="pairs")
        weights = None if sample_weight is None else check_weights(sample_weight, len(pairs))
        step = block_rows(self.n_features)
        for start in range(0, len(pairs), step):
            part = slice(start, start + step)
            block = floating(pairs[part])
            w = None if weights is None else weights[part]
            self._moment.add(block[:, 0] - block[:, 1], w)
        self._n_rows += len(pairs)
        return self

    def update_indexed(
        self,
        points: Any,
        pairs: Any,
        *,
        sample_weight: Any = None,
        chosen: Any = None,
    ) -> Self:
        """Add the pairs of points with these indices, shape (n, 2), or only the chosen ones.

        ``chosen`` is a mask, for pairs that lie in one array with those of the other sign: it saves
        a copy of them, so that memory goes with the points.
        """
        points = real_rows(points, self.n_features, "points")
        pairs = check_index_pairs(np.asarray(pairs), points.shape[0], "points")
        weights = None if sample_weight is None else check_weights(sample_weight, len(pairs))
        mask = None if chosen is None else np.asarray(chosen)
        if mask is not None and (mask.dtype != bool or mask.shape != (len(pairs),)):
            raise ValueError(
                f"chosen must be a mask, one boolean a pair, {len(pairs)} in all; got shape "
                f"{mask.shape} of dtype {mask.dtype}."
            )
        self.add_checked(points, pairs, weights, mask)
        return self

    def add_checked(
        self,
        points: Any,
        pairs: NDArray[np.intp],
        weights: NDArray[np.float64] | None,
        chosen: NDArray[np.bool_] | None,
    ) -> None:
        """Do what ``update_indexed`` does with what has been checked: once is enough."""
        if len(pairs) <= 2 * points.shape[0]:  # few: their differences are the shortest way
            if chosen is not None:
                pairs, weights = pairs[chosen], None if weights is None else weights[chosen]
            step = block_rows(self.n_features)
            for start in range(0, len(pairs), step):
                part = slice(start, start + step)
                first, second = (floating(points[pairs[part, k]]) for k in (0, 1))
                self._moment.add(first - second, None if weights is None else weights[part])
            self._n_rows += len(pairs)
            return
        mask = np.ones(len(pairs), dtype=bool) if chosen is None else chosen
        n_pairs = int(np.count_nonzero(mask))
        count, weight = n_pairs, float(n_pairs)
        if weights is not None:
            count, weight = int(np.count_nonzero(weights[mask])), float(weights[mask].sum())
        total = _laplacian_product(points, pairs, weights, mask, n_pairs)
        self._moment.add_total(count, weight, np.zeros(self.n_features), np.tril(total))
        self._n_rows += n_pairs

    def merge(self, later: Self) -> Self:
        """Return the scatter of the pairs of both; neither is changed."""
        if later.n_features != self.n_features:
            raise ValueError(
                f"only scatters of one kind merge: {self!r} and {later!r} differ in n_features."
            )
        merged = self.empty()
        merged._moment = self._moment.copy()
        merged._moment.merge(later._moment)
        merged._n_rows = self._n_rows + later._n_rows
        return merged

    def state(self) -> State:
        """Return all that has been learned, and the kind, as arrays, numbers and strings."""
        own = {"kind": self.kind, "n_features": self.n_features, "n_rows": self._n_rows}
        return own | joined(moment=self._moment.state())

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a scatter that goes on from a ``state`` of its kind, to the last bit."""
        scatter = cls(int(state["n_features"]))
        scatter._moment = SecondMoment.restored(part(state, "moment"))
        scatter._n_rows = int(state["n_rows"])
        return scatter

    def matrix(self) -> Float64s:
        """Return the average of the outer products, a symmetric (D, D) float64 array (a copy)."""
        return self._moment.matrix()

    @property
    def mean(self) -> Float64s:
        """Zeros: which member of a pair comes first says nothing, so no mean is taken off."""
        return np.zeros(self.n_features)

    @property
    def count(self) -> int:
        """The number of pairs with a positive weight."""
        return self._moment.totals()[0]

    @property
    def weight(self) -> float:
        """The sum of the weights of the pairs."""
        return self._moment.totals()[1]

    @property
    def rounding(self) -> float:
        """The error of the matrix relative to its largest eigenvalue: what lies below is noise."""
        float64 = self.n_features * float(np.finfo(np.float64).eps)
        return max(self._moment.settled().rounding, float64)

    @property
    def n_rows(self) -> int:
        """The number of pairs seen."""
        return self._n_rows

    def __repr__(self) -> str:
        return f"PairScatter(n_features={self.n_features}, count={self.count})"


def _laplacian_product(
    points: Any,
    pairs: NDArray[np.integer[Any]],
    weights: NDArray[np.float64] | None,
    chosen: NDArray[np.bool_],
    n_pairs: int,
) -> Float64s:
    """Return the sum of w (x - x')(x - x')^T over index pairs, as X^T (deg - W - W^T) X."""
    n = points.shape[0]
    degree, outgoing = np.zeros((2, n))
    # A common shift cancels in differences; about the mean it costs them fewer digits.
    if is_sparse(points):
        rows = points.astype(np.float64)
    else:
        rows = np.ascontiguousarray(points - points.mean(axis=0, dtype=np.float64))
    dense = not is_sparse(points) and n_pairs > DENSE_SHARE * n**2
    neighbours = np.zeros((n, points.shape[1]))
    for start in range(0, len(pairs), PAIRS_AT_A_TIME):
        part = slice(start, start + PAIRS_AT_A_TIME)
        first, second = pairs[part][chosen[part]].T
        w = np.ones(len(first)) if weights is None else weights[part][chosen[part]]
        outgoing += np.bincount(first, weights=w, minlength=n)
        degree += np.bincount(second, weights=w, minlength=n)
        if not dense:
            neighbours += sp.csr_array((w, (first, second)), shape=(n, n)) @ rows
    if dense:
        _dense_neighbours(rows, pairs, weights, chosen, neighbours)
    degree += outgoing
    # One product serves all: X^T (deg / 2 X - W X), and its transpose.
    if is_sparse(rows):  # which stay as they are: the mean is taken off the products
        mean = np.asarray(rows.mean(axis=0)).ravel()
        apart = (sp.diags_array(0.5 * degree) @ rows).toarray()
        apart -= neighbours
        apart += np.outer(outgoing - 0.5 * degree, mean)
        half = rows.T @ apart - np.outer(mean, apart.sum(axis=0))
        return np.asarray(half + half.T)
    half = rows.T @ (0.5 * degree[:, None] * rows - neighbours)
    return np.asarray(half + half.T)


def _dense_neighbours(
    rows: Float64s,
    pairs: NDArray[np.integer[Any]],
    weights: NDArray[np.float64] | None,
    chosen: NDArray[np.bool_],
    out: Float64s,
    block_values: int = BLOCK_VALUES,
) -> None:
    """Write W X, going through all pairs once for each dense block of rows of W."""
    n = len(rows)
    step = max(block_values // n, 1)
    for start in range(0, n, step):
        stop = min(start + step, n)
        mine = np.flatnonzero(chosen & (pairs[:, 0] >= start) & (pairs[:, 0] < stop))
        if len(mine) == 0:
            continue
        places = (pairs[mine, 0] - start) * n + pairs[mine, 1]
        w = None if weights is None else weights[mine]
        block = np.bincount(places, w, (stop - start) * n).reshape(-1, n)
        np.matmul(block.astype(np.float64, copy=False), rows, out=out[start:stop])
