"""Preprocessing steps: standardise, unit norm, delay vectors, products, differences."""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import hstack
from sklearn.preprocessing import Normalizer, PolynomialFeatures, StandardScaler

from eigenstream._checks import check_finite, check_whole, is_sparse, real_array
from eigenstream._storable import storable
from eigenstream._types import Array, Estimator, Matrix, Piece, Transformer
from eigenstream.streams.base import Chunk, StreamError, float_type, native_floats, stacked, zeroed


class Step:
    """Base class of preprocessing steps, whose results do not depend on the chunks.

    A subclass that maps each row separately implements ``to_sklearn``. Any other subclass
    implements ``push``.

    See Also
    --------
    Stream.through : Apply steps to a stream.

    Examples
    --------
    >>> from eigenstream.streams import UnitNorm
    >>> UnitNorm().push(Chunk(np.array([[3.0, 4.0]]))).rows
    array([[0.6, 0.8]])
    """

    #: True if the step must read the whole stream in an earlier pass.
    learns_first: bool = False

    #: The number of rows at the start of each sequence without a result.
    lost: int = 0

    #: True if the result for a row depends on the rows before it.
    remembers: bool = False

    #: True if a missing value makes only its own result missing.
    keeps_holes: bool = False

    def width(self, n_features: int) -> int:
        """Return the number of output columns for ``n_features`` input columns."""
        return n_features

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the output columns, given those of the input columns."""
        return names

    def learn(self, rows: Chunk) -> bool | None:
        """Learn from the next rows of the preparatory pass, and return True if they suffice."""

    def learned(self) -> None:
        """End the preparatory pass."""

    def push(self, rows: Chunk) -> Chunk:
        """Return the result for the next rows, which may be empty."""
        width = rows.rows.shape[1]
        if len(rows) == 0:
            return replace(rows, rows=np.empty((0, self.width(width)), rows.rows.dtype))
        return replace(rows, rows=self.to_sklearn(width).transform(rows.rows))

    def __repr__(self) -> str:
        names = signature(type(self)).parameters
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({values})"

    def to_sklearn(self, n_features: int) -> Transformer:
        """Return the equivalent scikit-learn transformer.

        Parameters
        ----------
        n_features : int
            The number of input columns.

        Returns
        -------
        transformer
            A fitted transformer.
        """
        advice = "Call to_sklearn(preprocessing=False) and preprocess by a stream."
        raise StreamError(f"{self!r} has no equivalent in scikit-learn. {advice}")

    def inverse_transform(self, rows: Array) -> Array:
        """Return the rows that the step maps to ``rows``; raise if it has no inverse.

        Parameters
        ----------
        rows : array of shape (n, n_outputs)
            Results of the step.

        Returns
        -------
        array of shape (n, n_features)
            The rows before the step.
        """
        raise StreamError(f"{self!r} cannot be undone. Learn without this step.")

    def fresh(self) -> Self:
        """Return a copy for another stream, with the fitted parameters and no stored rows."""
        return copy(self)


def dense_rows(rows: Chunk, what: str) -> Array:
    """Return dense rows, or raise an error if they are sparse."""
    if is_sparse(rows.rows):
        raise StreamError(f"{rows.source} is sparse, and {what} would fill it. Pass dense rows.")
    values: Array = rows.rows
    return values


@storable(lost="int", _rows="float rows D | csr_array | None", _weights="f8 rows", _starts="bool")
class Windowed(Step):
    """A step that uses the ``lost`` rows before each row of a sequence, and stores these rows."""

    remembers = True

    def __init__(self, lost: int) -> None:
        self.lost = lost
        self._rows: Any = None
        self._weights = np.empty(0)
        #: True until the first row of the sequence has been returned.
        self._starts = True

    def fresh(self) -> Self:
        """Return a copy without stored rows."""
        twin = copy(self)
        Windowed.__init__(twin, self.lost)
        return twin

    def push(self, rows: Chunk) -> Chunk:
        """Return the windows that end in the new rows.

        A window that contains a row of weight zero is zero and has weight zero.
        """
        if rows.new_sequence or self._rows is None:
            self._rows, self._weights, self._starts = rows.rows[:0], np.empty(0), True
        new = np.ones(len(rows)) if rows.weights is None else rows.weights
        stored, weights = stacked([self._rows, rows.rows]), np.concatenate([self._weights, new])
        count = max(len(weights) - self.lost, 0)
        self._rows, self._weights = stored[count:].copy(), weights[count:].copy()
        starts = [self.lost - back for back in self.backs]
        light = np.min([weights[start : start + count] for start in starts], axis=0)
        windows = self.combined([stored[start : start + count] for start in starts])
        if not (light > 0).all():
            windows = zeroed(windows, light > 0)
        begins = self._starts and count > 0
        self._starts = self._starts and not begins
        return replace(
            rows.between(len(rows) - count, len(rows)),
            rows=windows,
            weights=None if (light == 1).all() else light,
            new_sequence=begins,
        )

    @property
    def backs(self) -> Sequence[int]:
        """The delays of the rows of a window, in rows."""
        raise NotImplementedError

    def combined(self, pieces: list[Piece]) -> Matrix:
        """Return the windows, given the rows at each delay."""
        raise NotImplementedError


@storable(steps="tuple[Step]")
class Preprocessing:
    """A sequence of preprocessing steps.

    Parameters
    ----------
    steps : iterable of Step, default=()
        The steps, in order.

    Attributes
    ----------
    steps : tuple of Step
        The steps, in order.
    lost : int
        The number of rows at the start of each sequence without a result.
    remembers : bool
        True if the result for a row depends on the rows before it.

    See Also
    --------
    Stream.through : Apply steps to a stream.

    Examples
    --------
    >>> from eigenstream.streams import Differences, Preprocessing, UnitNorm
    >>> both = Preprocessing([Differences(), UnitNorm()])
    >>> both.transform(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 5.0]]))
    array([[0.6, 0.8],
           [0. , 1. ]])
    """

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self.steps = tuple(steps)
        for step in self.steps:
            if not isinstance(step, Step):
                raise TypeError(f"{step!r} is not a preprocessing step. Pass one like UnitNorm().")

    def __repr__(self) -> str:
        return f"Preprocessing([{', '.join(map(repr, self.steps))}])"

    @property
    def remembers(self) -> bool:
        """True if the result for a row depends on the rows before it."""
        return any(step.remembers for step in self.steps)

    @property
    def keeps_holes(self) -> bool:
        """True if a missing value makes only its own result missing, in all steps."""
        return all(step.keeps_holes for step in self.steps)

    @property
    def lost(self) -> int:
        """The number of rows at the start of each sequence without a result."""
        return sum(step.lost for step in self.steps)

    def widths(self, n_features: int) -> list[int]:
        """Return the width of the rows before the first step and after each step.

        Parameters
        ----------
        n_features : int
            The number of input columns.

        Returns
        -------
        list of int
            One more number than there are steps.
        """
        widths = [n_features]
        for step in self.steps:
            widths.append(step.width(widths[-1]))
        return widths

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the output columns, given those of the input columns."""
        for step in self.steps:
            names = step.names(names)
        return names

    def push(self, rows: Chunk) -> Chunk:
        """Return the result of all steps for the next rows."""
        for step in self.steps:
            rows = step.push(rows)
        return rows

    def transform(self, rows: Matrix) -> Matrix:
        """Return the result for one complete sequence, by the fitted steps.

        Parameters
        ----------
        rows : array-like of shape (n, n_features)
            The rows of one sequence.

        Returns
        -------
        array of shape (m, n_outputs)
            The results. Steps that look back return fewer rows.
        """
        if any(step.learns_first for step in self.steps):
            raise StreamError("a step is not fitted. Read a stream through it first.")
        checked = rows if is_sparse(rows) else real_array(rows, "rows")
        if checked.ndim != 2:
            raise StreamError(f"rows has shape {checked.shape}. Pass shape (n_rows, n_features).")
        if not self.keeps_holes:
            check_finite(checked, name="rows")
        floats = native_floats(checked, float_type([checked.dtype]), "rows")
        return self.fresh().push(Chunk(floats, None, True)).rows

    def inverse_transform(self, rows: Matrix) -> Matrix:
        """Undo the steps, the last one first. A step without an inverse raises an error.

        Parameters
        ----------
        rows : array of shape (n, n_outputs)
            Results of the last step.

        Returns
        -------
        array of shape (n, n_features)
            The rows before the first step.
        """
        for step in self.steps[::-1]:
            rows = step.inverse_transform(rows)
        return rows

    def fresh(self) -> "Preprocessing":
        """Return copies for another stream, with the fitted parameters and no stored rows."""
        return Preprocessing(step.fresh() for step in self.steps)

    def to_sklearn(self, n_features: int) -> list[tuple[str, Transformer]]:
        """Return named scikit-learn transformers for a pipeline.

        Steps that use other rows, such as delays, raise an error.

        Parameters
        ----------
        n_features : int
            The number of output columns of the last step.

        Returns
        -------
        list of (str, transformer)
            The steps of the pipeline.
        """
        widths = next(
            chain for d in range(1, n_features + 1) if (chain := self.widths(d))[-1] == n_features
        )
        return [
            (f"step{k}", step.to_sklearn(width))
            for k, (step, width) in enumerate(zip(self.steps, widths, strict=False))
        ]


def preprocessing_of(model: Estimator) -> Preprocessing:
    """Return the preprocessing steps of the stream that an estimator learned from.

    Parameters
    ----------
    model : fitted estimator
        The estimator.

    Returns
    -------
    Preprocessing
        Without steps if the stream had none, or if the estimator learned from an array.

    See Also
    --------
    Stream.prepared : Apply the steps of an estimator to a stream.

    Examples
    --------
    >>> from eigenstream import StreamPCA
    >>> preprocessing_of(StreamPCA(1).fit(np.eye(3)))
    Preprocessing([])
    """
    if not hasattr(model, "fit"):
        raise TypeError(f"model is a {type(model).__name__}. Pass a fitted estimator.")
    steps: Preprocessing = getattr(model, "preprocessing_", None) or Preprocessing()
    return steps


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
        values = dense_rows(rows, "standardising").astype(np.float64, copy=False)
        values = values if rows.weights is None else values[rows.weights > 0]
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
        values = dense_rows(rows, "standardising")
        if len(values) == 0:
            return rows
        if values.shape[1] != len(self._mean):
            widths = f"{values.shape[1]} columns, and Standardize has learned {len(self._mean)}"
            raise StreamError(f"{rows.source} has {widths}. Pass the same columns.")
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
