"""Results of a map: its quality, its planes, and the positions of rows and classes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_names, check_weights, check_whole
from eigenstream.core.linalg import Float64s, brief
from eigenstream.core.types import Array, LabelsLike, Matrix, RowsLike, WeightsLike
from eigenstream.prototypes._nearest import nearest, nearest_units
from eigenstream.prototypes.base import NO_ROWS, PrototypeEstimator
from eigenstream.prototypes.grids import Grid
from eigenstream.rows.chunk import Chunk
from eigenstream.rows.door import labelled_stream
from eigenstream.rows.prepared import reads_rows

#: The smallest variance of the Gaussians of ``score``: a smaller one would overflow.
LEAST_VARIANCE = 1e-100


@dataclass(frozen=True)
class MapQuality:
    """The quality of a map for given rows.

    Attributes
    ----------
    n_rows : int
        The number of rows.
    quantization_error : float
        The mean distance of the rows to their nearest units.
    topographic_error : float
        The share of rows whose two nearest units are not neighbours on the grid.
    distortion : float
        The mean squared distance of the rows to their nearest units.
    hits : array in the shape of the grid
        The number of rows nearest to each unit.
    """

    n_rows: int
    quantization_error: float
    topographic_error: float
    distortion: float
    hits: Float64s

    __repr__ = brief


@dataclass(frozen=True)
class ClassMap:
    """The number of rows of each class at each unit of a map.

    Attributes
    ----------
    classes : array of shape (n_classes,)
        The class labels, sorted.
    counts : array of shape (n_units, n_classes)
        The number of rows of each class nearest to each unit.
    shape : tuple of int
        The shape of the grid.
    labels : array in the shape of the grid
        The most frequent class of each unit, of type object; None without rows.
    majority : array in the shape of the grid
        The index in ``classes`` of the most frequent class of each unit; -1 without rows.
    unit_purity : array in the shape of the grid
        The share of the most frequent class in the rows of each unit; NaN without rows.
    purity : float
        The share of all rows that belong to the most frequent class of their unit.
    """

    classes: Array
    counts: Float64s
    shape: tuple[int, ...]

    __repr__ = brief

    @property
    def majority(self) -> NDArray[np.int64]:
        """The index in ``classes`` of each unit's most frequent class; -1 without rows."""
        numbers = np.where(self.counts.sum(axis=1) > 0, self.counts.argmax(axis=1), -1)
        return numbers.reshape(self.shape)

    @property
    def labels(self) -> Array:
        """The most frequent class of each unit; None without rows."""
        labels: Array = self.classes[self.counts.argmax(axis=1)].astype(object)
        labels[self.counts.sum(axis=1) == 0] = None
        return labels.reshape(self.shape)

    @property
    def unit_purity(self) -> Float64s:
        """The share of each unit's rows in its most frequent class; NaN without rows."""
        totals = self.counts.sum(axis=1)
        shares = self.counts.max(axis=1) / np.where(totals > 0, totals, np.nan)
        return np.asarray(shares.reshape(self.shape))

    @property
    def purity(self) -> float:
        """The share of all rows that are of the most frequent class of their unit."""
        return float(self.counts.max(axis=1).sum() / self.counts.sum())


class Quality:
    """The sums of errors and hits of the units of a map."""

    stopped = False

    def __init__(self, units: Float64s, grid: Grid) -> None:
        self.units, self.grid, self.n_rows = units, grid, 0
        #: The sums of the weights, distances, steps off the grid, and squared distances.
        self.sums, self.hits = np.zeros(4), np.zeros(grid.n_units)

    def add(self, chunk: Chunk) -> None:
        """Add the rows of positive weight."""
        chunk = chunk.of_positive_weight()
        self.see(*self.nearest(chunk.rows), chunk.each_weight())

    def nearest(self, rows: Matrix) -> tuple[NDArray[np.int64], Float64s, NDArray[np.int64]]:
        """Return the nearest unit of each row, its distance, and the second nearest."""
        labels, squares = nearest_units(rows, self.units, 2)
        return labels[0], np.sqrt(squares[0]), labels[1]

    def see(
        self, first: NDArray[np.int64], far: Float64s, second: NDArray[np.int64], weights: Float64s
    ) -> None:
        """Add rows by their nearest units."""
        astray = weights @ ~self.grid.adjacent(first, second)
        self.sums += weights.sum(), weights @ far, astray, weights @ far**2
        self.hits += np.bincount(first, weights, self.grid.n_units)
        self.n_rows += len(first)

    def absorb(self, later: "Quality", **_: object) -> None:
        """Add the sums of later rows."""
        self.sums, self.hits = self.sums + later.sums, self.hits + later.hits
        self.n_rows += later.n_rows

    def result(self) -> MapQuality:
        """Return the means."""
        if not self.sums[0]:
            raise ValueError(NO_ROWS)
        _, error, astray, distortion = (self.sums / self.sums[0]).tolist()
        hits = self.hits.reshape(self.grid.shape)
        return MapQuality(self.n_rows, error, astray, distortion, hits)


class MapReading(PrototypeEstimator):
    """The methods of a map that read its results."""

    #: The mean squared distance of the rows of ``fit``, and their number at each unit.
    _distortion: float | None = None
    _hits: Float64s | None = None

    @property
    def grid_(self) -> Grid:
        """The grid of the units."""
        check_is_fitted(self)
        grid: Grid = self._units.grid
        return grid

    def _quality(self) -> Quality:
        """Return empty sums of the quality."""
        return Quality(self._points, self.grid_)

    # ---- quality -----------------------------------------------------------------------------

    @reads_rows
    def evaluate(self, X: RowsLike, sample_weight: WeightsLike = None) -> MapQuality:
        """Return the quality of the map for given rows, in one pass and bounded memory.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights of the rows. All are 1 by default.

        Returns
        -------
        MapQuality
            The errors, and the number of rows nearest to each unit.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import SelfOrganizingMap
        >>> X, y = load_iris(return_X_y=True)
        >>> som = SelfOrganizingMap((4, 5), random_state=0).fit(X)
        >>> round(som.evaluate(X).quantization_error, 1)
        0.4
        """
        quality = self._quality()
        for chunk in self._rows(X, sample_weight, reset=False).chunks():
            quality.add(replace(chunk, rows=self._divided(chunk.rows)))
        return quality.result()

    @reads_rows
    def trustworthiness(self, X: RowsLike, n_neighbors: int = 5, max_rows: int = 2000) -> float:
        """Return a measure of whether neighbours on the map are neighbours in the data.

        It is 1 if all of them are [1]_. For rows at the same unit it is the mean over their orders.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The rows.
        n_neighbors : int, default=5
            The number of neighbours of each row.
        max_rows : int, default=2000
            The largest number of rows. From more rows a sample is drawn. The time grows with its
            square.

        Returns
        -------
        float
            The trustworthiness, in [0, 1].

        References
        ----------
        .. [1] J. Venna and S. Kaski, "Neighborhood Preservation in Nonlinear Projection Methods: An
               Experimental Study", International Conference on Artificial Neural Networks, 2001.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import SelfOrganizingMap
        >>> X, y = load_iris(return_X_y=True)
        >>> som = SelfOrganizingMap((4, 5), random_state=0).fit(X)
        >>> bool(som.trustworthiness(X) > 0.9)
        True
        """
        check_whole(n_neighbors, "n_neighbors")
        rows, units = self._rows_to_read(X)
        if len(rows) > check_whole(max_rows, "max_rows"):
            random = check_random_state(self.random_state)
            rows = rows[np.sort(random.choice(len(rows), max_rows, replace=False))]
        if 2 * n_neighbors >= len(rows):
            raise ValueError(
                f"n_neighbors={n_neighbors} is too large for {len(rows)} rows. Use less than "
                f"{len(rows) / 2:g}."
            )
        labels = nearest(rows, units)[0]
        return trustworthiness(rows, self.grid_.squared_distances(labels)[:, labels], n_neighbors)

    @reads_rows
    def score(self, X: RowsLike, y: LabelsLike = None, sample_weight: WeightsLike = None) -> float:
        """Return the mean log-likelihood of the rows in a mixture of Gaussians at the units.

        The variance is the mean squared distance of the rows of ``fit`` to their nearest units, for
        each column. A map with too many units has a small variance and a low score for new rows.
        ``GridSearchCV`` can thus compare shapes.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The rows.
        y : None
            Ignored. It exists for compatibility with scikit-learn.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights of the rows. All are 1 by default.

        Returns
        -------
        float
            The score. Larger is better.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import SelfOrganizingMap
        >>> X = load_iris().data
        >>> som = SelfOrganizingMap((4, 5), random_state=0).fit(X[::2])
        >>> round(som.score(X[1::2]))
        -3
        """
        rows, units = self._rows_to_read(X)
        weights = check_weights(sample_weight, len(rows))
        if not weights.any():
            raise ValueError(NO_ROWS)
        K, D = units.shape
        distortion = self.error_ if self._distortion is None else self._distortion
        variance = max(distortion / D, LEAST_VARIANCE)
        logs = logsumexp(self._squares(rows, units) / (-2.0 * variance), axis=1)
        size = np.log(K) + D / 2 * np.log(2.0 * np.pi * variance)
        return float(np.average(logs, weights=weights) - size)

    # ---- planes ------------------------------------------------------------------------------

    def u_matrix(self) -> Float64s:
        """Return the mean distance of each unit to its neighbours on the grid.

        Large values are borders between regions of similar units [1]_.

        Returns
        -------
        array in the shape of the grid
            The mean distances.

        References
        ----------
        .. [1] A. Ultsch and H. P. Siemon, "Kohonen's Self Organizing Feature Maps for Exploratory
               Data Analysis", International Neural Network Conference, 1990.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import SelfOrganizingMap
        >>> X, y = load_iris(return_X_y=True)
        >>> som = SelfOrganizingMap((4, 5), random_state=0).fit(X)
        >>> som.u_matrix().shape
        (4, 5)
        """
        units, grid = self._points, self.grid_
        pairs = grid.neighbors()
        left, right = pairs.T
        far = np.linalg.norm(units[left] - units[right], axis=1)
        sums = np.bincount(pairs.ravel(), np.repeat(far, 2), grid.n_units)
        counts = np.bincount(pairs.ravel(), minlength=grid.n_units)
        return np.asarray((sums / np.maximum(counts, 1)).reshape(grid.shape))

    def hits(self, X: RowsLike = None) -> Float64s:
        """Return the number of rows nearest to each unit.

        Parameters
        ----------
        X : array-like of shape (n, n_features) or a stream, default=None
            The rows. By default those of ``fit``.

        Returns
        -------
        array in the shape of the grid
            The numbers of rows.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import SelfOrganizingMap
        >>> X, y = load_iris(return_X_y=True)
        >>> som = SelfOrganizingMap((4, 5), random_state=0).fit(X)
        >>> som.hits().sum()
        np.float64(150.0)
        """
        check_is_fitted(self)
        if X is not None:
            return self.evaluate(X).hits
        if self._hits is None:
            raise ValueError("partial_fit does not store hits. Pass the rows: hits(X).")
        return np.array(self._hits.reshape(self.grid_.shape))

    def component_planes(self) -> Float64s:
        """Return the values of each feature at the units.

        Returns
        -------
        array of shape (n_features, ...)
            The planes, each in the shape of the grid.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import SelfOrganizingMap
        >>> X, y = load_iris(return_X_y=True)
        >>> som = SelfOrganizingMap((4, 5), random_state=0).fit(X)
        >>> som.component_planes().shape
        (4, 4, 5)
        """
        return np.asarray(self.prototypes_.T.reshape(-1, *self.grid_.shape))

    @reads_rows
    def class_map(self, X: RowsLike, y: LabelsLike = None) -> ClassMap:
        """Return the number of rows of each class at each unit.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows. A stream is read once.
        y : array-like of shape (n,), default=None
            The class of each row. A stream may have its own labels.

        Returns
        -------
        ClassMap
            Counts, majorities and purities.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import SelfOrganizingMap
        >>> rows = np.repeat([[0.0], [1.0], [8.0], [9.0]], 5, axis=0)
        >>> som = SelfOrganizingMap(4, random_state=0).fit(rows)
        >>> table = som.class_map(rows, np.repeat(["low", "high"], 10))
        >>> table.purity, table.labels[[0, 3]].tolist()
        (1.0, ['low', 'high'])
        """
        stream = labelled_stream(X, y, self)
        if y is None and stream is None:
            raise ValueError("class_map needs the class of each row. Pass y, or a labelled stream.")
        parts: Iterable[Any] = [(X, y)]
        if stream is not None:
            chunks = self._rows(stream, reset=False).chunks()
            weighted = (chunk.of_positive_weight() for chunk in chunks)
            parts = ((chunk.rows, chunk.labels) for chunk in weighted if len(chunk))
        places, names = [], []
        for part, labels in parts:
            rows, units = self._rows_to_read(part)
            names.append(check_names(labels, "y", len(rows)))
            places.append(nearest(rows, units)[0])
        if not names:
            raise ValueError(NO_ROWS)
        classes, codes = np.unique(np.concatenate(names), return_inverse=True)
        counts = np.zeros((self.grid_.n_units, len(classes)))
        np.add.at(counts, (np.concatenate(places), codes), 1.0)
        return ClassMap(classes, counts, self.grid_.shape)


def trustworthiness(rows: Matrix, squares: Float64s, k: int) -> float:
    """Return 1 - 2 / (n k (2n - 3k - 1)) sum (rank - k) over false neighbours.

    ``squares`` are the squared distances of the projected rows. For rows at equal distances the
    result is the mean over their orders.

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
