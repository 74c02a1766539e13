"""What a map is read by: how good it is, its planes, and which rows and classes lie where."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_names, check_weights, check_whole
from eigenstream._linalg import Float64s
from eigenstream._streams import check_labelled, complete_rows, is_stream, maps_streams
from eigenstream.prototypes._trust import trustworthiness
from eigenstream.rules.competitive import Grid, nearest_units, unit_squares

__all__ = ["ClassMap", "MapQuality", "MapReading"]

NO_ROWS = "there is no row to look at: X holds none, or all weigh nothing."


@dataclass(frozen=True)
class MapQuality:
    """How well a map stands for some rows."""

    n_rows: int
    #: The mean distance of the rows to their nearest units.
    quantization_error: float
    #: The share of rows whose two nearest units are no neighbours on the grid.
    topographic_error: float
    #: How many rows are nearest to each unit, in the shape of the grid.
    hits: Float64s


@dataclass(frozen=True)
class ClassMap:
    """Which classes lie where on a map."""

    classes: NDArray[Any]
    #: How many rows of each class are nearest to each unit, (units, classes).
    counts: Float64s
    shape: tuple[int, ...]

    @property
    def majority(self) -> NDArray[np.int64]:
        """The place in ``classes`` of each unit's most frequent one; -1 where no row is."""
        found = np.where(self.counts.sum(axis=1) > 0, self.counts.argmax(axis=1), -1)
        return found.reshape(self.shape)

    @property
    def unit_purity(self) -> Float64s:
        """The share of each unit's rows that are of its most frequent class; NaN without rows."""
        totals = self.counts.sum(axis=1)
        share = np.full(len(totals), np.nan)
        np.divide(self.counts.max(axis=1), totals, out=share, where=totals > 0)
        return share.reshape(self.shape)

    @property
    def purity(self) -> float:
        """The share of all rows that are of the most frequent class of their unit."""
        return float(self.counts.max(axis=1).sum() / self.counts.sum())


class MapReading:
    """The reading half of a map; what learns is the other."""

    _grid: Any
    _ahead: Any
    _rows_to_read: Any
    _hits: Float64s | None = None
    prototypes_: Float64s
    missing: str
    random_state: Any

    @property
    def grid_(self) -> Grid:
        """The grid: where the units lie, which are neighbours."""
        check_is_fitted(self)
        grid: Grid = self._grid()
        return grid

    def _as_read(self, stream: Any) -> Any:
        """Return a stream as it is read here: with its holes, where values may be missing."""
        return stream.keeping_holes() if self.missing == "partial" else stream

    # ---- rows on the map -------------------------------------------------------------------

    @maps_streams
    def transform(self, X: Any) -> Any:
        """Return the distance of each row to each unit, in the rows' own precision.

        Of values that are missing, with ``missing="partial"``, as scaled up from the others.
        """
        rows, units = self._rows_to_read(X)
        centre = units.mean(axis=0)
        out = np.empty((len(rows), len(units)), rows.dtype)
        for start in range(0, len(rows), 512):
            part = np.asarray(rows[start : start + 512], np.float64) - centre
            lacking = np.isnan(part)
            squares = unit_squares(part, units - centre)
            squares += (np.where(lacking, 0.0, part) ** 2).sum(axis=1)[:, None]
            squares *= part.shape[1] / np.maximum((~lacking).sum(axis=1), 1)[:, None]
            out[start : start + 512] = np.sqrt(np.maximum(squares, 0.0))
        return out

    def _two_nearest(self, rows: Any, units: Float64s) -> tuple[NDArray[np.int64], Float64s, Any]:
        """Return the nearest unit of each row, how far it is, and the next nearest."""
        centre = units.mean(axis=0)
        first, second, squares = nearest_units(rows, units - centre, centre)
        return first, np.sqrt(squares), second

    def _nearest(self, rows: Any, vectors: Float64s) -> tuple[NDArray[np.int64], Any]:
        return self._two_nearest(rows, vectors)[:2]

    def positions(self, X: Any) -> Float64s:
        """Return where rows lie on the map: their nearest units' places in the plane, (n, 2)."""
        rows, units = self._rows_to_read(X)
        return np.asarray(self.grid_.positions[self._two_nearest(rows, units)[0]])

    # ---- how good it is --------------------------------------------------------------------

    def evaluate(self, X: Any, sample_weight: Any = None) -> MapQuality:
        """Say how well the map stands for rows: in one pass, whose memory does not grow with them.

        Parameters
        ----------
        X : array-like, a stream of ``eigenstream.open_stream``, or an iterator over arrays
        """
        if is_stream(X):
            parts: Iterable[Any] = (complete_rows(one).rows for one in self._as_read(X).chunks())
        elif hasattr(X, "__next__"):
            parts = X
        else:
            parts = [X]
        total = distance = astray = 0.0
        hits: Float64s = np.zeros(self.grid_.n_units)
        n_rows, grid = 0, self.grid_
        for part in parts:
            if np.shape(part)[:1] == (0,):
                continue
            rows, units = self._rows_to_read(part)
            first, far, second = self._two_nearest(rows, units)
            given = np.ones(len(rows)) if sample_weight is None else sample_weight
            weights = check_weights(given, len(rows))
            total += float(weights.sum())
            distance += float(weights @ far)
            astray += float(weights @ ~grid.adjacent(first, second))
            np.add.at(hits, first, weights)
            n_rows += len(rows)
        if not total:
            raise ValueError(NO_ROWS)
        shape = self.grid_.shape
        return MapQuality(n_rows, distance / total, astray / total, hits.reshape(shape))

    def trustworthiness(self, X: Any, n_neighbors: int = 5, max_rows: int = 2000) -> float:
        """Return how far neighbours on the map are neighbours in the data, 1 at best [VENNA].

        It takes the distances of all pairs of rows: of more than ``max_rows`` some are drawn.
        Rows at the same place of the map are its neighbours in any order: the mean over all.
        """
        check_whole(n_neighbors, "n_neighbors")
        rows, _ = self._rows_to_read(X)
        if len(rows) > check_whole(max_rows, "max_rows"):
            random = check_random_state(self.random_state)
            rows = rows[np.sort(random.choice(len(rows), max_rows, replace=False))]
        if 2 * n_neighbors >= len(rows):
            raise ValueError(
                f"n_neighbors={n_neighbors} of {len(rows)} rows are no neighbourhood: use less "
                "than half of them."
            )
        nearest = self._two_nearest(rows, self._ahead().vectors)[0]
        return trustworthiness(rows, self.grid_.squared_distances(nearest)[:, nearest], n_neighbors)

    def _note_quality(self, first: Any, second: Any, far: Any, weights: Any) -> None:
        grid = self._grid()
        weights = np.ones(len(first)) if weights is None else weights
        total = weights.sum()
        self.quantization_error_ = float(weights @ far / total)
        self.topographic_error_ = float(weights @ ~grid.adjacent(first, second) / total)
        self._hits = np.asarray(np.bincount(first, weights, grid.n_units), np.float64)

    def _forget_quality(self) -> None:
        for name in ("labels_", "inertia_", "quantization_error_", "topographic_error_", "_hits"):
            self.__dict__.pop(name, None)

    # ---- planes ----------------------------------------------------------------------------

    def u_matrix(self) -> Float64s:
        """Return the mean distance of each unit to its neighbours, in the shape of the grid.

        High values are borders between regions of similar units [ULTSCH].
        """
        units, grid = self._ahead().vectors, self.grid_
        pairs = grid.neighbors()
        if len(pairs) == 0:
            return np.zeros(grid.shape)
        left, right = pairs.T
        far = np.empty(len(pairs))
        for start in range(0, len(pairs), 4096):
            here = slice(start, start + 4096)
            far[here] = np.linalg.norm(units[left[here]] - units[right[here]], axis=1)
        both = pairs.ravel()
        sums = np.bincount(both, np.repeat(far, 2), grid.n_units)
        return np.asarray((sums / np.bincount(both, minlength=grid.n_units)).reshape(grid.shape))

    def hits(self, X: Any = None) -> Float64s:
        """Return how many rows are nearest to each unit; without ``X``, of the rows of ``fit``."""
        check_is_fitted(self)
        if X is not None:
            return self.evaluate(X).hits
        if self._hits is None:
            raise ValueError("hits of a stream are not kept: pass the rows to count, hits(X).")
        return self._hits.reshape(self.grid_.shape).copy()

    def component_planes(self) -> Float64s:
        """Return each feature's values at the units, (n_features, *shape of the grid)."""
        units = self._ahead().vectors
        return np.asarray(units.T.reshape(-1, *self.grid_.shape))

    def class_map(self, X: Any, y: Any = None) -> ClassMap:
        """Return which classes lie where: counts, majorities and purities.

        Parameters
        ----------
        X : array-like, or a stream of ``eigenstream.open_stream``, read in one pass
        y : array-like of shape (n,)
            The class of each row; a stream may have them itself.

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
        kinds: list[Any] = []
        tallies: dict[Any, Any] = {}
        for part, labels in parts:
            rows, units = self._rows_to_read(part)
            classes, codes = np.unique(check_names(labels, "y", len(rows)), return_inverse=True)
            nearest = self._two_nearest(rows, units)[0]
            for place, name in enumerate(classes.tolist()):
                counts = np.bincount(nearest[codes == place], minlength=self.grid_.n_units)
                tallies[name] = tallies.get(name, 0.0) + counts
            kinds.append(classes)
        if not kinds:
            raise ValueError(NO_ROWS)
        classes = np.unique(np.concatenate(kinds))
        found = np.stack([tallies[name] for name in classes.tolist()], axis=1)
        return ClassMap(classes, np.asarray(found, np.float64), self.grid_.shape)
