"""Preprocessing steps: standardise, unit norm, delays, products, differences, outliers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import hstack
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    PolynomialFeatures,
    StandardScaler,
)

from eigenstream.core.checks import check_number, check_whole, is_sparse, real_array
from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable
from eigenstream.core.types import Array, Matrix, Piece, Transformer
from eigenstream.rows.chunk import Chunk
from eigenstream.streams.base import StreamError
from eigenstream.streams.preprocessing import Step, Windowed, dense_rows


@storable(learns_first="bool", _n="number", _mean="f8 n", _squares="f8 n")
class Standardize(Step):
    """Standardisation: subtract the mean, and divide by the standard deviation.

    A preparatory pass estimates both, so the stream must be readable twice. Rows of weight zero
    are ignored. A constant feature becomes zero.

    See Also
    --------
    UnitNorm : Scale each row to length 1.

    Examples
    --------
    >>> from eigenstream.streams import open_stream, Standardize
    >>> stream = open_stream(np.array([[1.0], [3.0], [5.0]])).through(
    ...     Standardize()
    ... )
    >>> next(stream.chunks()).rows.ravel()
    array([-1.22474487,  0.        ,  1.22474487])
    """

    def __init__(self) -> None:
        self.learns_first = True
        self._n = 0.0
        #: The mean, and the sum of squares about the mean.
        self._mean = self._squares = np.empty(0)

    def learn(self, rows: Chunk) -> None:
        """Add rows of the preparatory pass."""
        values = dense_rows(rows.of_positive_weight(), self).astype(np.float64, copy=False)
        if len(values) == 0:
            return
        if self._n == 0:
            self._mean = self._squares = np.zeros(values.shape[1])
        n, mean = self._n + len(values), values.mean(axis=0)
        apart = mean - self._mean
        between = apart**2 * (self._n * len(values) / n)
        self._squares = self._squares + ((values - mean) ** 2).sum(axis=0) + between
        self._mean = self._mean + apart * (len(values) / n)
        self._n = float(n)

    def learned(self) -> None:
        """End the preparatory pass."""
        if self._n == 0:
            raise StreamError("every row has missing values. Pass missing='interpolate'.")
        self.learns_first = False

    def push(self, rows: Chunk) -> Chunk:
        """Return standardised rows."""
        values = dense_rows(rows, self, len(self._mean))
        scaled = (values - self._mean) / self._scale()
        if rows.weights is not None:
            scaled = np.where(rows.weights[:, None] > 0, scaled, 0.0)
        return replace(rows, rows=scaled.astype(values.dtype, copy=False))

    def _scale(self) -> NDArray[np.float64]:
        """Return standard deviations, with infinity for features that vary by rounding only."""
        variance = self._squares / self._n
        rounding = (8 * np.finfo(np.float64).eps * np.abs(self._mean)) ** 2
        return np.where(variance > rounding, np.sqrt(variance), np.inf)

    def inverse_transform(self, rows: Array) -> Array:
        """Multiply by the deviation, and add the mean. A constant feature becomes its mean."""
        if self._n == 0:
            return super().inverse_transform(rows)
        scale = self._scale()
        undone = rows * np.where(np.isinf(scale), 0.0, scale) + self._mean
        return np.asarray(undone, rows.dtype)

    def to_sklearn(self, n_features: int) -> Transformer:
        """Return a StandardScaler."""
        if self._n == 0:
            return super().to_sklearn(n_features)
        scaler = StandardScaler()
        scaler.mean_, scaler.scale_ = self._mean.copy(), self._scale()
        scaler.var_, scaler.n_samples_seen_ = self._squares / self._n, int(self._n)
        scaler.n_features_in_ = len(self._mean)
        return scaler


@storable(weights="f8 n")
class Weighting(Step):
    """Multiplication of each feature by a weight.

    ``open_stream(field, weights="coslat")`` adds this step.

    Parameters
    ----------
    weights : array-like of shape (n_features,)
        The weights, which are positive.

    See Also
    --------
    Standardize : Divide each feature by its standard deviation.

    Examples
    --------
    >>> from eigenstream.streams import open_stream, Weighting
    >>> next(
    ...     open_stream(np.array([[3.0, 4.0]]))
    ...     .through(Weighting([2, 0.5]))
    ...     .chunks()
    ... ).rows
    array([[6., 2.]])
    """

    keeps_holes = True

    def __init__(self, weights: ArrayLike) -> None:
        self.weights = real_array(weights, "weights").astype(np.float64)
        if self.weights.ndim != 1 or not (np.isfinite(self.weights) & (self.weights > 0)).all():
            raise ValueError("weights must be positive numbers. Drop features without a weight.")

    def __repr__(self) -> str:
        return f"Weighting({len(self.weights)} weights of mean {self.weights.mean():.6g})"

    def inverse_transform(self, rows: Array) -> Array:
        """Divide by the weights."""
        return np.asarray(rows / self.weights, rows.dtype)

    def to_sklearn(self, n_features: int) -> Transformer:
        """Return a StandardScaler without a mean."""
        if n_features != len(self.weights):
            raise StreamError(f"the rows have {n_features} features, and {self!r}.")
        scaler = StandardScaler(with_mean=False)
        scaler.scale_, scaler.n_features_in_ = 1.0 / self.weights, n_features
        scaler.mean_, scaler.var_, scaler.n_samples_seen_ = None, scaler.scale_**2, 1
        return scaler


@storable()
class UnitNorm(Step):
    """Scaling of each row to length 1. Rows of zeros do not change.

    See Also
    --------
    Standardize : Scale each feature.

    Examples
    --------
    >>> from eigenstream.streams import open_stream, UnitNorm
    >>> next(
    ...     open_stream(np.array([[3.0, 4.0]])).through(UnitNorm()).chunks()
    ... ).rows
    array([[0.6, 0.8]])
    """

    def to_sklearn(self, n_features: int) -> Transformer:
        """Return a Normalizer."""
        return Normalizer().fit(np.zeros((1, n_features)))


@storable(n_delays="int", lag="int")
class LagEmbedding(Windowed):
    """Delay vectors: each row joined with the rows ``lag``, 2 ``lag``, ... before it.

    The first ``lag * (n_delays - 1)`` rows of a sequence have no result. A vector that contains a
    row of weight zero has weight zero.

    Parameters
    ----------
    n_delays : int
        The number of rows in a vector. The newest row comes first.
    lag : int, default=1
        The number of rows between two delays.

    See Also
    --------
    Differences : Subtract an earlier row.

    Examples
    --------
    >>> from eigenstream.streams import open_stream, LagEmbedding
    >>> series = open_stream(np.arange(5.0)).through(LagEmbedding(3))
    >>> next(series.chunks()).rows
    array([[2., 1., 0.],
           [3., 2., 1.],
           [4., 3., 2.]])
    """

    def __init__(self, n_delays: int, lag: int = 1) -> None:
        self.n_delays = check_whole(n_delays, "n_delays")
        self.lag = check_whole(lag, "lag")
        super().__init__(self.lag * (self.n_delays - 1))

    def width(self, n_features: int) -> int:
        """Return ``n_delays * n_features``."""
        return n_features * self.n_delays

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names, with the delay in brackets."""
        later = (f"{name}[-{k * self.lag}]" for k in range(1, self.n_delays) for name in names)
        return (*names, *later)

    @property
    def backs(self) -> Sequence[int]:
        """The delays of the rows of a window, in rows."""
        return range(0, self.lost + 1, self.lag)

    def combined(self, pieces: list[Piece]) -> Matrix:
        """Return the rows joined along the columns."""
        return hstack(pieces, format="csr") if is_sparse(pieces[0]) else np.hstack(pieces)


@storable(lag="int")
class Differences(Windowed):
    """Differences of each row and the row ``lag`` rows before it in its sequence.

    The first ``lag`` rows of a sequence have no result.

    Parameters
    ----------
    lag : int, default=1
        The number of rows between the two.

    See Also
    --------
    LagEmbedding : Join a row with earlier rows.

    Examples
    --------
    >>> from eigenstream.streams import open_stream, Differences
    >>> next(
    ...     open_stream(np.array([1.0, 4.0, 9.0]))
    ...     .through(Differences())
    ...     .chunks()
    ... ).rows
    array([[3.],
           [5.]])
    """

    def __init__(self, lag: int = 1) -> None:
        self.lag = check_whole(lag, "lag")
        super().__init__(self.lag)

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return names such as ``x - x[-1]``."""
        return tuple(f"{name} - {name}[-{self.lag}]" for name in names)

    @property
    def backs(self) -> Sequence[int]:
        """The delays of the rows of a window, in rows."""
        return 0, self.lag

    def combined(self, pieces: list[Piece]) -> Matrix:
        """Return the newer rows minus the older rows."""
        return pieces[0] - pieces[1]


@storable()
class QuadraticExpansion(Step):
    """Quadratic expansion: all features, their squares, and the products of all pairs.

    See Also
    --------
    sklearn.preprocessing.PolynomialFeatures : The equivalent transformer.

    Notes
    -----
    D features become D + D (D + 1) / 2 features.

    Examples
    --------
    >>> from eigenstream.streams import open_stream, QuadraticExpansion
    >>> next(
    ...     open_stream(np.array([[2.0, 3.0]]))
    ...     .through(QuadraticExpansion())
    ...     .chunks()
    ... ).rows
    array([[2., 3., 4., 6., 9.]])
    """

    def width(self, n_features: int) -> int:
        """Return D + D (D + 1) / 2."""
        return n_features + n_features * (n_features + 1) // 2

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of features and products."""
        expansion = self.to_sklearn(len(names))
        return tuple(expansion.get_feature_names_out(np.array(names, object)))

    def to_sklearn(self, n_features: int) -> Transformer:
        """Return PolynomialFeatures of degree 2 without a bias."""
        return PolynomialFeatures(2, include_bias=False).fit(np.zeros((1, n_features)))


#: The limits come from this number of rows. More rows take more memory.
FIRST_ROWS = 10_000

#: The standard deviation of a Gaussian, in units of its median absolute deviation.
OF_GAUSSIAN = 1.4826


@storable(deviations="number", learns_first="bool", _low="f8 n", _high="f8 n", _rows="-")
class OmitOutliers(Step):
    """Weight zero for rows with a value that is many deviations from the median of its column.

    The median, and the deviation as 1.48 times the median absolute deviation, are those of the
    first 10,000 rows, so outliers do not widen the limits. These rows are read in a preparatory
    pass, so the stream must be readable twice. A column in which more than half of the values are
    equal has no limits. New rows are transformed unchanged.

    Parameters
    ----------
    deviations : float, default=20.0
        The largest distance from the median, in deviations.

    See Also
    --------
    Standardize : Divide each feature by its standard deviation.

    Examples
    --------
    >>> from eigenstream.streams import OmitOutliers, open_stream
    >>> rows = np.random.default_rng(0).standard_normal((100, 2))
    >>> rows[40, 1] = 1e4
    >>> chunk = next(open_stream(rows).through(OmitOutliers()).chunks())
    >>> np.flatnonzero(chunk.weights == 0.0)
    array([40])
    """

    #: The first rows, during the preparatory pass.
    _rows: tuple[Float64s, ...] = ()

    def __init__(self, deviations: float = 20.0) -> None:
        self.deviations = check_number(deviations, "deviations", above=0)
        self.learns_first = True
        self._low = self._high = np.empty(0)

    def learn(self, rows: Chunk) -> bool:
        """Add rows of the preparatory pass, and return whether they suffice."""
        values = dense_rows(rows.of_positive_weight(), self)
        missing = FIRST_ROWS - sum(map(len, self._rows))
        self._rows = (*self._rows, np.array(values[:missing], np.float64))
        return len(values) >= missing

    def learned(self) -> None:
        """End the preparatory pass."""
        rows: Float64s = np.concatenate(self._rows)
        self._rows = ()
        if len(rows) == 0:
            raise StreamError("every row has missing values. Pass missing='interpolate'.")
        middle = np.median(rows, axis=0)
        scale = OF_GAUSSIAN * np.median(np.abs(rows - middle), axis=0)
        reach = np.where(scale > 0.0, self.deviations * scale, np.inf)
        self._low, self._high, self.learns_first = middle - reach, middle + reach, False

    def push(self, rows: Chunk) -> Chunk:
        """Return the rows, with weight zero for outliers."""
        values = dense_rows(rows, self, len(self._low))
        inside: Any = ((values >= self._low) & (values <= self._high)).all(axis=1)
        if inside.all():
            return rows
        return replace(rows, weights=np.where(inside, rows.each_weight(), 0.0))

    def inverse_transform(self, rows: Matrix) -> Matrix:
        """Return the rows unchanged."""
        return rows

    def to_sklearn(self, n_features: int) -> Transformer:
        """Return a transformer that does not change the rows."""
        return FunctionTransformer().fit(np.zeros((1, n_features)))
