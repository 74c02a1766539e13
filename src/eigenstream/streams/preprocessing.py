"""The steps: standardise, unit norm, delay vectors, products of two features, differences."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack
from sklearn.preprocessing import Normalizer, PolynomialFeatures, StandardScaler, normalize

from eigenstream._checks import check_flag, check_whole, is_sparse
from eigenstream._state import State
from eigenstream._storable import storable
from eigenstream.streams._sequences import Part
from eigenstream.streams._steps import Step, Windowed, dense
from eigenstream.streams.base import StreamError

__all__ = ["Differences", "LagEmbedding", "QuadraticExpansion", "Standardize", "UnitNorm"]


@storable(
    running="bool",
    learns_first="bool",
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

    kind = "standardize"

    def __init__(self, running: bool = False) -> None:
        self.running = check_flag(running, "running")
        self.learns_first = not running
        self._n = 0.0
        #: Of the rows minus the first one: their sum and that of their squares, if running; else
        #: their mean and that of the squares about it.
        self._first = self._sum = self._squares = np.empty(0)

    def learn(self, rows: Part) -> None:
        """Add rows of the pass before."""
        values = _heavy(rows, "standardising").astype(np.float64, copy=False)
        if len(values) == 0:
            return
        mean = values.mean(axis=0)
        squares = ((values - mean) ** 2).sum(axis=0)
        if self._n == 0:
            self._n, self._sum, self._squares = float(len(values)), mean, squares
            return
        n = self._n + len(values)
        apart = mean - self._sum
        self._squares = self._squares + squares + apart**2 * (self._n * len(values) / n)
        self._sum = self._sum + apart * (len(values) / n)
        self._n = n

    def learned(self) -> None:
        """End the pass before."""
        if self._n == 0:
            raise StreamError("no row is left to standardise by: all have missing values.")
        self.learns_first = False

    def push(self, rows: Part) -> Part:
        """Return the rows, standardised."""
        values = dense(rows, "standardising")
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

    def _run(self, rows: Part) -> Any:
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
        """Return a StandardScaler; ``running`` scales every row in another way, and is refused."""
        if self.running or self._n == 0:
            return super().to_sklearn(n_features)
        scaler = StandardScaler()
        scale = _scale(self._squares / self._n, self._sum)
        scaler.mean_, scaler.scale_ = self._sum.copy(), scale
        scaler.var_, scaler.n_samples_seen_ = self._squares / self._n, int(self._n)
        scaler.n_features_in_ = len(scale)
        return scaler

    def fresh(self) -> Self:
        """Return the step with what it has learned; running, it begins anew."""
        return type(self)(True) if self.running else type(self).restored(self.state())

    def state(self) -> State:
        """Return the flag, and the moments so far."""
        own = {"running": int(self.running), "learns_first": int(self.learns_first), "n": self._n}
        return own | {"first": self._first, "sum": self._sum, "squares": self._squares}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Self:
        """Return the step that goes on from a ``state``."""
        step = cls(bool(int(state["running"])))
        step.learns_first = bool(int(state["learns_first"]))
        step._n = float(state["n"])
        step._first, step._sum, step._squares = (
            np.array(state[name], np.float64) for name in ("first", "sum", "squares")
        )
        return step


def _heavy(rows: Part, what: str) -> NDArray[Any]:
    """Return the rows that count."""
    values = dense(rows, what)
    return values if rows.weights is None else values[rows.weights > 0]


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

    kind = "unit norm"

    def to_sklearn(self, n_features: int) -> Any:
        """Return a Normalizer."""
        return Normalizer().fit(np.zeros((1, n_features)))

    def push(self, rows: Part) -> Part:
        """Return the rows at length one."""
        return replace(rows, rows=normalize(rows.rows) if len(rows) else rows.rows)

    def state(self) -> State:
        """Return nothing: it has no parameters."""
        return {}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Self:
        """Return the step."""
        return cls()


@storable(n_delays="int", lag="int", reach="int")
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

    kind = "lag embedding"

    def __init__(self, n_delays: int, lag: int = 1) -> None:
        super().__init__()
        self.n_delays = check_whole(n_delays, "n_delays")
        self.lag = check_whole(lag, "lag")
        self.reach = self.lag * (self.n_delays - 1)

    def width(self, n_features: int) -> int:
        """Return as many columns for each delay."""
        return n_features * self.n_delays

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names, marked by how far back."""
        later = (f"{one}[-{k * self.lag}]" for k in range(1, self.n_delays) for one in names)
        return (*names, *later)

    def _made(
        self, rows: Any, weights: NDArray[np.float64], count: int
    ) -> tuple[Any, NDArray[np.float64]]:
        starts = [self.reach - k * self.lag for k in range(self.n_delays)]
        light = np.min([weights[s : s + count] for s in starts], axis=0)
        pieces = [rows[s : s + count] for s in starts]
        return hstack(pieces, format="csr") if is_sparse(rows) else np.hstack(pieces), light

    def state(self) -> State:
        """Return the parameters and the rows in hand."""
        return {"n_delays": self.n_delays, "lag": self.lag, **self._held_state()}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Self:
        """Return the step that goes on from a ``state``."""
        return cls(int(state["n_delays"]), int(state["lag"]))._take_held(state)


@storable(lag="int", reach="int")
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

    kind = "differences"

    def __init__(self, lag: int = 1) -> None:
        super().__init__()
        self.lag = self.reach = check_whole(lag, "lag")

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names, marked."""
        return tuple(f"{one} - {one}[-{self.lag}]" for one in names)

    def _made(
        self, rows: Any, weights: NDArray[np.float64], count: int
    ) -> tuple[Any, NDArray[np.float64]]:
        now, past = slice(self.lag, self.lag + count), slice(0, count)
        light = np.minimum(weights[now], weights[past])
        made = rows[now] - rows[past]
        if not (light > 0).all():
            made = (
                made.multiply(light[:, None] > 0).tocsr()
                if is_sparse(made)
                else np.where(light[:, None] > 0, made, np.zeros((), made.dtype))
            )
        return made, light

    def state(self) -> State:
        """Return the lag and the rows in hand."""
        return {"lag": self.lag, **self._held_state()}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Self:
        """Return the step that goes on from a ``state``."""
        return cls(int(state["lag"]))._take_held(state)


@storable()
class QuadraticExpansion(Step):
    """Every feature, and the products of every two of them and of each with itself.

    Examples
    --------
    >>> from eigenstream.streams import open_stream, QuadraticExpansion
    >>> next(open_stream(np.array([[2.0, 3.0]])).through(QuadraticExpansion()).chunks()).rows
    array([[2., 3., 4., 6., 9.]])
    """

    kind = "quadratic expansion"

    def width(self, n_features: int) -> int:
        """Return D + D (D + 1) / 2."""
        return n_features + n_features * (n_features + 1) // 2

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of features and products."""
        expansion = self._expansion(len(names))
        return tuple(expansion.get_feature_names_out(np.array(names, object)))

    def push(self, rows: Part) -> Part:
        """Return the rows, expanded."""
        width = rows.rows.shape[1]
        if len(rows) == 0:
            return replace(rows, rows=np.empty((0, self.width(width)), rows.rows.dtype))
        return replace(rows, rows=self._expansion(width).transform(rows.rows))

    def to_sklearn(self, n_features: int) -> Any:
        """Return PolynomialFeatures, which know the number of columns and nothing else."""
        return self._expansion(n_features)

    def _expansion(self, n_features: int) -> Any:
        return PolynomialFeatures(2, include_bias=False).fit(np.zeros((1, n_features)))

    def state(self) -> State:
        """Return nothing: it has no parameters."""
        return {}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Self:
        """Return the step."""
        return cls()
