"""What a map shows: its quality, its planes, and which rows and classes lie where."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_names, check_weights, check_whole
from eigenstream._linalg import Float64s
from eigenstream._streams import check_labelled, complete_rows, is_stream
from eigenstream.prototypes._nearest import nearest, nearest_units
from eigenstream.prototypes.grids import Grid

__all__ = ["ClassMap", "MapQuality", "MapReading", "trustworthiness"]

NO_ROWS = "there is no row to look at: X is empty, or every weight is zero. Pass other rows."


@dataclass(frozen=True)
class MapQuality:
    """How well a map stands for some rows."""

    n_rows: int
    #: The mean distance of the rows to their nearest units.
    quantization_error: float
    #: The share of rows whose two nearest units are no neighbours on the grid.
    topographic_error: float
    #: The number of rows nearest to each unit, in the shape of the grid.
    hits: Float64s


@dataclass(frozen=True)
class ClassMap:
    """Which classes lie where on a map."""

    classes: NDArray[Any]
    #: The number of rows of each class nearest to each unit, (units, classes).
    counts: Float64s
    shape: tuple[int, ...]

    @property
    def majority(self) -> NDArray[np.int64]:
        """The index in ``classes`` of each unit's most frequent class; -1 without rows."""
        found = np.where(self.counts.sum(axis=1) > 0, self.counts.argmax(axis=1), -1)
        return found.reshape(self.shape)

    @property
    def unit_purity(self) -> Float64s:
        """The share of each unit's rows in its most frequent class; NaN without rows."""
        totals = self.counts.sum(axis=1)
        share = np.full(len(totals), np.nan)
        np.divide(self.counts.max(axis=1), totals, out=share, where=totals > 0)
        return share.reshape(self.shape)

    @property
    def purity(self) -> float:
        """The share of all rows that are of the most frequent class of their unit."""
        return float(self.counts.max(axis=1).sum() / self.counts.sum())


class MapReading:
    """The reading half of a map."""

    _grid: Any
    _rows_to_read: Any
    prototypes_: Float64s
    missing: str
    random_state: Any

    @property
    def grid_(self) -> Grid:
        """The grid: where the units lie, and which are neighbours."""
        check_is_fitted(self)
        grid: Grid = self._grid()
        return grid

    def _as_read(self, stream: Any) -> Any:
        """Return a stream with missing values kept, if they are used here."""
        return stream.keeping_holes() if self.missing == "partial" else stream

    def _two_nearest(self, rows: Any, units: Float64s) -> tuple[NDArray[np.int64], Float64s, Any]:
        """Return the nearest unit of each row, its distance, and the second nearest."""
        found, squares = nearest_units(rows, units, 2)
        return found[0], np.sqrt(squares[0]), found[1]

    def positions(self, X: Any) -> Float64s:
        """Return where rows lie on the map: the places of their nearest units, (n, 2)."""
        return np.asarray(self.grid_.positions[nearest(*self._rows_to_read(X))[0]])

    # ---- quality -----------------------------------------------------------------------------

    def evaluate(self, X: Any, sample_weight: Any = None) -> MapQuality:
        """Return how well the map stands for rows: one pass, in bounded memory.

        Parameters
        ----------
        X : array-like, a stream of ``eigenstream.open_stream``, or an iterator over arrays
        """
        if is_stream(X):
            parts: Iterable[Any] = (complete_rows(one).rows for one in self._as_read(X).chunks())
        else:
            parts = X if hasattr(X, "__next__") else [X]

        def looked_up() -> Iterator[Any]:
            for part in parts:
                if np.shape(part)[:1] != (0,):
                    rows, units = self._rows_to_read(part)
                    given = np.ones(len(rows)) if sample_weight is None else sample_weight
                    yield *self._two_nearest(rows, units), check_weights(given, len(rows))

        return self._quality(looked_up())

    def _quality(self, parts: Iterable[Any]) -> MapQuality:
        """Return the quality of nearest units, distances, second nearest units and weights."""
        grid, n_rows, sums = self.grid_, 0, np.zeros(3)
        hits: Float64s = np.zeros(grid.n_units)
        for first, far, second, weights in parts:
            sums += weights.sum(), weights @ far, weights @ ~grid.adjacent(first, second)
            hits += np.bincount(first, weights, grid.n_units)
            n_rows += len(first)
        if not sums[0]:
            raise ValueError(NO_ROWS)
        _, error, astray = (sums / sums[0]).tolist()
        return MapQuality(n_rows, error, astray, hits.reshape(grid.shape))

    def trustworthiness(self, X: Any, n_neighbors: int = 5, max_rows: int = 2000) -> float:
        """Return whether neighbours on the map are neighbours in the data, 1 at best [VENNA].

        It uses the distances of all pairs of rows; of more than ``max_rows`` a sample is drawn.
        Rows at the same place of the map are its neighbours in any order: the mean over all.
        """
        check_whole(n_neighbors, "n_neighbors")
        rows, units = self._rows_to_read(X)
        if len(rows) > check_whole(max_rows, "max_rows"):
            random = check_random_state(self.random_state)
            rows = rows[np.sort(random.choice(len(rows), max_rows, replace=False))]
        if 2 * n_neighbors >= len(rows):
            raise ValueError(
                f"n_neighbors={n_neighbors} is too large for {len(rows)} rows. Use less than half "
                "of them."
            )
        found = nearest(rows, units)[0]
        return trustworthiness(rows, self.grid_.squared_distances(found)[:, found], n_neighbors)

    # ---- planes ------------------------------------------------------------------------------

    def u_matrix(self) -> Float64s:
        """Return the mean distance of each unit to its neighbours, in the shape of the grid.

        High values are borders between regions of similar units [ULTSCH].
        """
        units, grid = self.prototypes_, self.grid_
        pairs = grid.neighbors()
        far = np.empty(len(pairs))
        for start in range(0, len(pairs), 4096):
            left, right = pairs[start : start + 4096].T
            far[start : start + 4096] = np.linalg.norm(units[left] - units[right], axis=1)
        sums = np.bincount(pairs.ravel(), np.repeat(far, 2), grid.n_units)
        counts = np.bincount(pairs.ravel(), minlength=grid.n_units)
        return np.asarray((sums / np.maximum(counts, 1)).reshape(grid.shape))

    def hits(self, X: Any = None) -> Float64s:
        """Return the number of rows nearest to each unit; without ``X``, of the rows of ``fit``."""
        check_is_fitted(self)
        if X is not None:
            return self.evaluate(X).hits
        found = getattr(self, "_hits", None)
        if found is None:
            raise ValueError("partial_fit keeps no hits. Pass the rows to count, hits(X).")
        return np.array(found.reshape(self.grid_.shape))

    def component_planes(self) -> Float64s:
        """Return the units' values of each feature, of shape ``(n_features, *grid_.shape)``."""
        return np.asarray(self.prototypes_.T.reshape(-1, *self.grid_.shape))

    def class_map(self, X: Any, y: Any = None) -> ClassMap:
        """Return which classes lie where: counts, majorities and purities.

        Parameters
        ----------
        X : array-like, or a stream of ``eigenstream.open_stream``, read in one pass
        y : array-like of shape (n,)
            The class of each row; a stream may have its own labels.

        >>> import numpy as np
        >>> from eigenstream import SelfOrganizingMap
        >>> rows = np.repeat([[0.0], [1.0], [8.0], [9.0]], 5, axis=0)
        >>> som = SelfOrganizingMap(4, random_state=0).fit(rows)
        >>> found = som.class_map(rows, np.repeat(["low", "high"], 10))
        >>> found.purity, found.classes[found.majority[[0, 3]]].tolist()
        (1.0, ['low', 'high'])
        """
        parts: Iterable[Any] = [(X, y)]
        if is_stream(X):
            labelled = self._as_read(X if y is None else X.with_labels(y))
            check_labelled(labelled, self)
            parts = (one for one in map(complete_rows, labelled.chunks()) if len(one.rows))
        counts: dict[Any, Any] = {}
        kinds: list[Any] = []
        for part, labels in parts:
            rows, units = self._rows_to_read(part)
            classes, codes = np.unique(check_names(labels, "y", len(rows)), return_inverse=True)
            found = nearest(rows, units)[0]
            for code, name in enumerate(classes.tolist()):
                more = np.bincount(found[codes == code], minlength=len(units))
                counts[name] = counts.get(name, 0.0) + more
            kinds.append(classes)
        if not kinds:
            raise ValueError(NO_ROWS)
        classes = np.unique(np.concatenate(kinds))
        table = np.stack([counts[name] for name in classes.tolist()], axis=1)
        return ClassMap(classes, np.asarray(table, np.float64), self.grid_.shape)


def trustworthiness(rows: Any, squares: Float64s, k: int) -> float:
    """Return 1 - 2 / (n k (2n - 3k - 1)) sum (rank - k) over false neighbours [VENNA].

    ``squares`` are the squared distances of the projected rows. For rows at equal distances it is
    the mean over all orders: each counts by the share of orders in which it is a neighbour.

    >>> rows = np.arange(8.0)[:, None]
    >>> trustworthiness(rows, (rows - rows.T) ** 2, 2)
    1.0
    """
    n, gaps = len(rows), np.isnan(rows).any()
    distances = pairwise_distances(rows, metric="nan_euclidean") if gaps else cdist(rows, rows)
    np.fill_diagonal(distances, -1.0)
    # The rank of j among the neighbours of i, 1 for the nearest.
    ranks = distances.argsort(axis=1, kind="stable").argsort(axis=1)
    penalties = np.maximum(ranks - k, 0)
    squares = np.array(squares, np.float64)
    np.fill_diagonal(squares, np.inf)
    edge = np.partition(squares, k - 1, axis=1)[:, k - 1 : k]
    inside, tied = squares < edge, squares == edge
    share = (k - inside.sum(axis=1)) / tied.sum(axis=1)
    total = float((penalties * inside).sum() + ((penalties * tied).sum(axis=1) * share).sum())
    return 1.0 - total * 2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0))
