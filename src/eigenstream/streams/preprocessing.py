"""Steps of preprocessing: standardise, unit norm, delay vectors, products, differences."""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack
from sklearn.preprocessing import Normalizer, PolynomialFeatures, StandardScaler

from eigenstream._checks import check_finite, check_flag, check_whole, is_sparse, real_array
from eigenstream._storable import storable
from eigenstream.streams.base import Chunk, StreamError, as_floats, float_type, stacked, zeroed


class Step:
    """One step of preprocessing: rows in, rows out, in any chunks with the same result.

    A step that takes every row alone has a ``to_sklearn``, and the others a ``push``.

    >>> from eigenstream.streams import UnitNorm
    >>> UnitNorm().push(Chunk(np.array([[3.0, 4.0]]))).rows
    array([[0.6, 0.8]])
    """

    #: Whether it has to see the whole stream before the pass that counts.
    learns_first: bool = False

    #: How many rows of every sequence are used up, and whether rows depend on rows before them.
    lost: int = 0
    remembers: bool = False

    def width(self, n_features: int) -> int:
        """Return the number of columns that come out."""
        return n_features

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the columns that come out."""
        return names

    def learn(self, rows: Chunk) -> None:
        """Learn from rows of the pass before."""

    def learned(self) -> None:
        """End the pass before."""

    def push(self, rows: Chunk) -> Chunk:
        """Return the result for the next rows, which may have no row."""
        width = rows.rows.shape[1]
        if len(rows) == 0:
            return replace(rows, rows=np.empty((0, self.width(width)), rows.rows.dtype))
        return replace(rows, rows=self.to_sklearn(width).transform(rows.rows))

    def __repr__(self) -> str:
        given = signature(type(self)).parameters
        told = ", ".join(f"{name}={getattr(self, name)!r}" for name in given)
        return f"{type(self).__name__}({told})"

    def to_sklearn(self, n_features: int) -> Any:
        """Return the scikit-learn transformer that does the same to every row of this width."""
        raise StreamError(
            f"{self!r} has no form in scikit-learn, which transforms every row alone. Prepare the "
            "rows by a stream, and export the estimator behind it: to_sklearn()."
        )

    def fresh(self) -> Self:
        """Return the step for another stream: with its parameters and what it has learned."""
        return copy(self)


def _dense(rows: Chunk, what: str) -> NDArray[Any]:
    """Return dense rows; raise if they are sparse."""
    if is_sparse(rows.rows):
        raise StreamError(
            f"{rows.source} is sparse, and {what} would fill it. Make it dense first."
        )
    found: NDArray[Any] = rows.rows
    return found


@storable(lost="int", _rows="float rows D | csr_array | None", _weights="f8 rows", _starts="bool")
class Windowed(Step):
    """A step that looks ``lost`` rows back within the sequence, and holds these rows."""

    remembers = True

    def __init__(self, lost: int) -> None:
        self.lost = lost
        self._rows: Any = None
        self._weights = np.empty(0)
        #: Whether the first row of the sequence is still to come.
        self._starts = True

    def fresh(self) -> Self:
        """Return the step without the rows it holds."""
        made = copy(self)
        Windowed.__init__(made, self.lost)
        return made

    def extended(self, rows: Chunk) -> tuple[Any, NDArray[np.float64]]:
        """Return the next rows behind the ``lost`` rows before them, and all weights."""
        if rows.new_sequence or self._rows is None:
            self._rows, self._weights, self._starts = rows.rows[:0], np.empty(0), True
        new = np.ones(len(rows)) if rows.weights is None else rows.weights
        found, weights = stacked([self._rows, rows.rows]), np.concatenate([self._weights, new])
        first = max(len(weights) - self.lost, 0)
        self._rows, self._weights = found[first:].copy(), weights[first:].copy()
        return found, weights

    def push(self, rows: Chunk) -> Chunk:
        """Return the windows that end in the new rows; those with a row of weight zero are zero."""
        found, weights = self.extended(rows)
        count = max(len(weights) - self.lost, 0)
        starts = [self.lost - back for back in self.backs]
        light = np.min([weights[start : start + count] for start in starts], axis=0)
        made = self.combined([found[start : start + count] for start in starts])
        if not (light > 0).all():
            made = zeroed(made, light > 0)
        new = self._starts and count > 0
        self._starts = self._starts and not new
        return replace(
            rows.between(len(rows) - count, len(rows)),
            rows=made,
            weights=None if (light == 1).all() else light,
            new_sequence=new,
        )

    @property
    def backs(self) -> Sequence[int]:
        """The numbers of rows by which the rows of a window lie back."""
        raise NotImplementedError

    def combined(self, pieces: list[Any]) -> Any:
        """Return the windows, given the rows that lie back by each of the numbers."""
        raise NotImplementedError


@storable(steps="tuple[Step]")
class Preprocessing:
    """Steps one after the other.

    Parameters
    ----------
    steps : iterable of steps

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
                raise TypeError(
                    f"a step of preprocessing is due, such as UnitNorm(); got {step!r}."
                )

    def __repr__(self) -> str:
        return f"Preprocessing([{', '.join(map(repr, self.steps))}])"

    @property
    def remembers(self) -> bool:
        """Whether the result for a row depends on the rows before it."""
        return any(step.remembers for step in self.steps)

    @property
    def lost(self) -> int:
        """How many rows of every sequence are used up by all steps."""
        return sum(step.lost for step in self.steps)

    def widths(self, n_features: int) -> list[int]:
        """Return the width before and after every step."""
        widths = [n_features]
        for step in self.steps:
            widths.append(step.width(widths[-1]))
        return widths

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the columns that come out."""
        for step in self.steps:
            names = step.names(names)
        return names

    def push(self, rows: Chunk) -> Chunk:
        """Return the result of all steps for the next rows."""
        for step in self.steps:
            rows = step.push(rows)
        return rows

    def transform(self, rows: Any) -> Any:
        """Return the result for one whole sequence, by what has been learned."""
        if any(step.learns_first for step in self.steps):
            raise StreamError("a step has still to learn: read a stream through it first.")
        checked = rows if is_sparse(rows) else real_array(rows, "rows")
        if checked.ndim != 2:
            raise StreamError(f"rows must have shape (n, n_features), got {checked.shape}.")
        check_finite(checked, name="rows")
        floats = as_floats(checked, float_type([checked.dtype]), "rows")
        return self.fresh().push(Chunk(floats, None, True)).rows

    def fresh(self) -> "Preprocessing":
        """Return the steps for another stream: with what they have learned, and no rows in hand."""
        return Preprocessing(step.fresh() for step in self.steps)

    def to_sklearn(self, n_features: int) -> list[tuple[str, Any]]:
        """Return scikit-learn transformers that do the same, each with a name, for a pipeline.

        ``n_features`` is the width of what comes out. Steps that look at other rows, such as
        delays, raise an error.
        """
        widths = next(
            found for d in range(1, n_features + 1) if (found := self.widths(d))[-1] == n_features
        )
        return [
            (f"step{k}", step.to_sklearn(width))
            for k, (step, width) in enumerate(zip(self.steps, widths, strict=False))
        ]


def preprocessing_of(model: Any) -> Preprocessing:
    """Return the steps behind which an estimator has learned; none, where it knows of none.

    >>> from eigenstream import StreamPCA
    >>> preprocessing_of(StreamPCA(1).fit(np.eye(3)))
    Preprocessing([])
    """
    if not hasattr(model, "fit"):
        raise TypeError(f"an estimator or a Preprocessing is due, got a {type(model).__name__}.")
    found: Preprocessing = getattr(model, "preprocessing_", None) or Preprocessing()
    return found


@storable(
    running="bool",
    learns_first="bool",
    remembers="bool",
    _n="number",
    _first="f8 first",
    _sum="f8 n",
    _squares="f8 n",
)
class Standardize(Step):
    """Every feature minus its mean, divided by its standard deviation.

    By default a pass before the first one finds both, so that the stream must be readable twice.
    ``running=True`` needs no such pass: each row is scaled by the rows up to it and itself. A
    feature that does not vary becomes zero. Rows that weigh nothing count for nothing.

    Parameters
    ----------
    running : bool

    Examples
    --------
    >>> from eigenstream.streams import open_stream, Standardize
    >>> stream = open_stream(np.array([[1.0], [3.0], [5.0]])).through(Standardize())
    >>> next(stream.chunks()).rows.ravel()
    array([-1.22474487,  0.        ,  1.22474487])
    """

    def __init__(self, running: bool = False) -> None:
        self.running = check_flag(running, "running")
        self.learns_first, self.remembers = not running, running
        self._n = 0.0
        #: Of the rows minus the first one: their sum and that of their squares, if running; else
        #: their mean and that of the squares about it.
        self._first = self._sum = self._squares = np.empty(0)

    def learn(self, rows: Chunk) -> None:
        """Add rows of the pass before."""
        values = _dense(rows, "standardising").astype(np.float64, copy=False)
        values = values if rows.weights is None else values[rows.weights > 0]
        if len(values) == 0:
            return
        if self._n == 0:
            self._sum = self._squares = np.zeros(values.shape[1])
        n, mean = self._n + len(values), values.mean(axis=0)
        apart = mean - self._sum
        between = apart**2 * (self._n * len(values) / n)
        self._squares = self._squares + ((values - mean) ** 2).sum(axis=0) + between
        self._sum = self._sum + apart * (len(values) / n)
        self._n = float(n)

    def learned(self) -> None:
        """End the pass before."""
        if self._n == 0:
            raise StreamError("no row is left to standardise by: all have missing values.")
        self.learns_first = False

    def push(self, rows: Chunk) -> Chunk:
        """Return the rows, standardised."""
        values = _dense(rows, "standardising")
        if len(values) == 0:
            return rows
        if self._n and values.shape[1] != len(self._sum):
            raise StreamError(
                f"{rows.source} has {values.shape[1]} columns here, and Standardize has learned "
                f"{len(self._sum)}."
            )
        if self.running:
            made = self._run(rows)
        else:
            made = (values - self._sum) / _scale(self._squares / self._n, self._sum)
        if rows.weights is not None:
            made = np.where(rows.weights[:, None] > 0, made, 0.0)
        return replace(rows, rows=made.astype(values.dtype, copy=False))

    def _run(self, rows: Chunk) -> Any:
        values: Any = rows.rows.astype(np.float64, copy=False)
        counts = np.ones(len(values)) if rows.weights is None else (rows.weights > 0) * 1.0
        if self._n == 0:
            if not counts.any():
                return np.zeros_like(values)
            self._first = values[np.argmax(counts)].copy()
            self._sum, self._squares = np.zeros((2, values.shape[1]))
        apart = (values - self._first) * counts[:, None]
        # Sums row after row, so that any chunking gives the same digits.
        n = np.cumsum(np.concatenate([[self._n], counts]))[1:]
        sums = np.cumsum(np.concatenate([self._sum[None], apart]), axis=0)[1:]
        squares = np.cumsum(np.concatenate([self._squares[None], apart**2]), axis=0)[1:]
        self._n, self._sum, self._squares = float(n[-1]), sums[-1].copy(), squares[-1].copy()
        mean = sums / np.maximum(n, 1.0)[:, None]
        variance = np.maximum(squares / np.maximum(n, 1.0)[:, None] - mean**2, 0.0)
        return (apart - mean) / _scale(variance, mean)

    def to_sklearn(self, n_features: int) -> Any:
        """Return a StandardScaler; raise for ``running``, which scales every row differently."""
        if self.running or self._n == 0:
            return super().to_sklearn(n_features)
        scaler = StandardScaler()
        scale = _scale(self._squares / self._n, self._sum)
        scaler.mean_, scaler.scale_ = self._sum.copy(), scale
        scaler.var_, scaler.n_samples_seen_ = self._squares / self._n, int(self._n)
        scaler.n_features_in_ = len(scale)
        return scaler

    def fresh(self) -> Self:
        """Return the step with what it has learned; running, it begins again."""
        return type(self)(True) if self.running else copy(self)


def _scale(variance: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return standard deviations, and infinity for what varies by rounding only."""
    rounding = (8 * np.finfo(np.float64).eps * np.abs(mean)) ** 2
    return np.where(variance > rounding, np.sqrt(variance), np.inf)


@storable()
class UnitNorm(Step):
    """Every row divided by its length; rows of zeros stay so.

    Examples
    --------
    >>> from eigenstream.streams import open_stream, UnitNorm
    >>> next(open_stream(np.array([[3.0, 4.0]])).through(UnitNorm()).chunks()).rows
    array([[0.6, 0.8]])
    """

    def to_sklearn(self, n_features: int) -> Any:
        """Return a Normalizer."""
        return Normalizer().fit(np.zeros((1, n_features)))


@storable(n_delays="int", lag="int")
class LagEmbedding(Windowed):
    """Delay vectors: every row beside the rows ``lag``, 2 ``lag``, ... before it.

    The first ``lag * (n_delays - 1)`` rows of a sequence have no such past, and are left out. A
    vector that holds a row without weight has none.

    Parameters
    ----------
    n_delays : int
        How many rows make a vector, the newest first.
    lag : int
        How many rows they are apart.

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
        """Return as many columns for each delay."""
        return n_features * self.n_delays

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names, marked by how far back."""
        later = (f"{one}[-{k * self.lag}]" for k in range(1, self.n_delays) for one in names)
        return (*names, *later)

    @property
    def backs(self) -> Sequence[int]:
        """The numbers of rows by which the rows of a window lie back."""
        return range(0, self.lost + 1, self.lag)

    def combined(self, pieces: list[Any]) -> Any:
        """Return the rows side by side."""
        return hstack(pieces, format="csr") if is_sparse(pieces[0]) else np.hstack(pieces)


@storable(lag="int")
class Differences(Windowed):
    """Every row minus the row ``lag`` before it in its sequence.

    Parameters
    ----------
    lag : int

    Examples
    --------
    >>> from eigenstream.streams import open_stream, Differences
    >>> next(open_stream(np.array([1.0, 4.0, 9.0])).through(Differences()).chunks()).rows
    array([[3.],
           [5.]])
    """

    def __init__(self, lag: int = 1) -> None:
        self.lag = check_whole(lag, "lag")
        super().__init__(self.lag)

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names, marked."""
        return tuple(f"{one} - {one}[-{self.lag}]" for one in names)

    @property
    def backs(self) -> Sequence[int]:
        """The numbers of rows by which the rows of a window lie back."""
        return 0, self.lag

    def combined(self, pieces: list[Any]) -> Any:
        """Return the newer rows minus the older ones."""
        return pieces[0] - pieces[1]


@storable()
class QuadraticExpansion(Step):
    """Every feature, and the products of every two of them and of each with itself.

    Examples
    --------
    >>> from eigenstream.streams import open_stream, QuadraticExpansion
    >>> next(open_stream(np.array([[2.0, 3.0]])).through(QuadraticExpansion()).chunks()).rows
    array([[2., 3., 4., 6., 9.]])
    """

    def width(self, n_features: int) -> int:
        """Return D + D (D + 1) / 2."""
        return n_features + n_features * (n_features + 1) // 2

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of features and products."""
        expansion = self.to_sklearn(len(names))
        return tuple(expansion.get_feature_names_out(np.array(names, object)))

    def to_sklearn(self, n_features: int) -> Any:
        """Return PolynomialFeatures, which know the number of columns and nothing else."""
        return PolynomialFeatures(2, include_bias=False).fit(np.zeros((1, n_features)))
