"""The monoid that everything rests on: an average of outer products over a stretch of time."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import check_flag, check_whole, weighed_rows
from eigenstream._linalg import Float64s, rounding_of_mean
from eigenstream._state import State, joined, part
from eigenstream.scatters._moment import SecondMoment, block_rows, floating
from eigenstream.scatters._sequence_ends import SequenceEnds

__all__ = ["Scatter", "SequenceEnds", "merge"]

S = TypeVar("S", bound="Scatter")


class Scatter(ABC):
    """The average of ``u u^T`` over some vectors ``u``: what every scatter can tell.

    Scatters of one kind form a monoid under ``merge``: associative and exact, with ``empty()`` as
    the identity.
    """

    n_features: int

    #: What is averaged, in one word: the name of the kind in a saved state.
    kind: ClassVar[str] = ""

    @abstractmethod
    def empty(self) -> Self:
        """Return a scatter of the same kind that has seen nothing: the identity of ``merge``."""

    @abstractmethod
    def update(self, *data: Any, **how: Any) -> Self:
        """Add data; return the scatter itself."""

    @abstractmethod
    def merge(self, *later: Any, **how: Any) -> Self:
        """Return the scatter of what this one and then the other one saw; neither is changed."""

    @abstractmethod
    def matrix(self) -> Float64s:
        """Return the average of the outer products, a symmetric (D, D) float64 array (a copy)."""

    @abstractmethod
    def state(self) -> State:
        """Return all that has been learned, and the kind, as arrays, numbers and strings."""

    @classmethod
    @abstractmethod
    def restored(cls, state: State) -> Self:
        """Return a scatter that goes on from a ``state`` of its kind, to the last bit."""

    def trace(self) -> float:
        """Return the trace of ``matrix()``."""
        return float(np.trace(self.matrix()))

    def feature_squares(self) -> Float64s:
        """Return the mean square of every feature: what scaled contrasts divide by the root of."""
        return np.diagonal(self.matrix()).copy()

    @property
    @abstractmethod
    def mean(self) -> Float64s:
        """The weighted mean of the averaged vectors."""

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of terms with a positive weight."""

    @property
    @abstractmethod
    def weight(self) -> float:
        """The sum of the weights of the terms."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """The error of the matrix relative to its largest eigenvalue: what lies below is noise."""

    @property
    def floor(self) -> float:
        """How large eigenvalues can be from rounding of the mean alone, as for constant rows."""
        return 0.0

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of rows (or pairs) seen, those without a term included."""

    @property
    def sequence_rows(self) -> int:
        """The number of rows of the running sequence; none where time says nothing."""
        return 0


class StreamScatter(Scatter):
    """The average of ``u u^T`` over the vectors ``u`` that a stretch of rows gives rise to.

    A scatter of rows x_0 .. x_m holds one term for every row that has a past, ``lag`` rows back in
    the same sequence. Beside the sum it carries its first and last ``lag`` rows, so that two
    stretches that are adjacent in time merge to exactly the scatter of the whole.

    Memory: one D x D matrix and O(chunk); never more with the length of the stream.
    """

    def __init__(self, n_features: int, *, lag: int, center: bool) -> None:
        self.n_features = check_whole(n_features, "n_features")
        self.lag = check_whole(lag, "lag", least=0)
        self.center = bool(center)
        self._moment = SecondMoment(self.n_features, center=self.center)
        self._ends = SequenceEnds.empty(self.n_features, self.lag)

    @abstractmethod
    def _terms(self, now: Any, past: Any) -> Any:
        """Return the vectors to average, given rows and the rows ``lag`` before them."""

    @abstractmethod
    def _term_weights(
        self, now: NDArray[np.float64], past: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the weights of the terms, given the weights of rows and of their pasts."""

    def update(self, chunk: Any, *, sample_weight: Any = None, new_sequence: bool = False) -> Self:
        """Add a chunk of rows that follows the rows seen so far; return the scatter itself.

        Parameters
        ----------
        chunk : array or scipy.sparse matrix of shape (n, n_features)
            float32 rows are multiplied in float32 and summed in float64; other numbers are taken
            as float64, block by block.
        sample_weight : array of shape (n,), optional
            Non-negative weights.
        new_sequence : bool
            The chunk starts a new sequence: none of its rows has a past in what came before.
        """
        check_flag(new_sequence, "new_sequence")
        rows, weights = weighed_rows(chunk, sample_weight, self.n_features)
        self.add_checked(rows, weights, new_sequence=new_sequence)
        return self

    def add_checked(
        self, chunk: Any, weights: NDArray[np.float64] | None, *, new_sequence: bool
    ) -> None:
        """Do what ``update`` does with rows and weights that have been checked: once is enough."""
        self.enter(chunk, weights, new_sequence=new_sequence)
        self.add_inside(chunk, weights)

    def enter(self, chunk: Any, weights: NDArray[np.float64] | None, *, new_sequence: bool) -> None:
        """Add the terms whose pasts lie before the chunk; take the chunk's ends as the border."""
        later = SequenceEnds.of(chunk, weights, self.lag)
        if not new_sequence:
            self._add_crossing(later)
        self._ends = self._ends.join(later, new_sequence=new_sequence)

    def add_inside(self, chunk: Any, weights: NDArray[np.float64] | None) -> None:
        """Add the terms whose rows and pasts both lie in the chunk, block by block."""
        n = chunk.shape[0]
        step = block_rows(self.n_features) if isinstance(chunk, np.ndarray) else max(n, 1)
        for start in range(self.lag, n, step):
            stop = min(start + step, n)
            now, past = slice(start, stop), slice(start - self.lag, stop - self.lag)
            w = None if weights is None else self._term_weights(weights[now], weights[past])
            self._moment.add(self._terms(floating(chunk[now]), floating(chunk[past])), w)

    def merge(self, later: Self, *, new_sequence: bool = False) -> Self:
        """Return the scatter of this stretch followed by a later one; neither is changed."""
        check_flag(new_sequence, "new_sequence")
        self._check_same_kind(later)
        merged = self.empty()
        merged._moment = self._moment.copy()
        merged._ends = self._ends
        if not new_sequence:
            merged._add_crossing(later._ends)
        merged._moment.merge(later._moment)
        merged._ends = self._ends.join(later._ends, new_sequence=new_sequence)
        return merged

    def state(self) -> State:
        """Return all that has been learned, and the kind, as arrays, numbers and strings."""
        parts = joined(moment=self._moment.state(), ends=self._ends.state())
        return {"kind": self.kind, "n_features": self.n_features} | parts

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a scatter that goes on from a ``state`` of its kind, to the last bit."""
        scatter = cls.__new__(cls)
        scatter._moment = SecondMoment.restored(part(state, "moment"))
        scatter._ends = SequenceEnds.restored(part(state, "ends"))
        scatter.n_features = int(state["n_features"])
        scatter.lag, scatter.center = scatter._ends.lag, scatter._moment.center
        return scatter

    def matrix(self) -> Float64s:
        """Return the average of the outer products, a symmetric (D, D) float64 array (a copy)."""
        return self._moment.matrix()

    def trace(self) -> float:
        """Return the trace of ``matrix()``."""
        return self._moment.trace()

    @property
    def mean(self) -> Float64s:
        """The weighted mean of the averaged vectors."""
        return self._moment.mean()

    @property
    def count(self) -> int:
        """The number of terms with a positive weight."""
        return self._moment.totals()[0]

    @property
    def weight(self) -> float:
        """The sum of the weights of the terms."""
        return self._moment.totals()[1]

    @property
    def rounding(self) -> float:
        """The error of the matrix relative to its largest eigenvalue: what lies below is noise."""
        # Of the eigensolver, which grows with D, and of the sums before it.
        float64 = (self.n_features + 100) * float(np.finfo(np.float64).eps)
        return max(self._moment.settled().rounding, float64)

    @property
    def floor(self) -> float:
        """How large eigenvalues can be from rounding of the mean alone, as for constant rows."""
        if not self.center:
            return 0.0
        dtype = np.float32 if self._moment.settled().rounding else np.float64
        return rounding_of_mean(self.mean, dtype)

    @property
    def n_rows(self) -> int:
        """The number of rows seen, those without a past included."""
        return self._ends.n_rows

    @property
    def sequence_rows(self) -> int:
        """The number of rows of the running sequence seen so far."""
        return self._ends.last_rows

    def _add_crossing(self, later: SequenceEnds) -> None:
        """Add the terms whose rows lie in ``later`` and whose pasts lie in what came before."""
        now, past = self._ends.crossing(later)
        if len(now):
            weights = self._term_weights(now.weights, past.weights)
            plain = bool((weights == 1.0).all())
            terms = self._terms(floating(now.rows), floating(past.rows))
            self._moment.add(terms, None if plain else weights)

    def _check_same_kind(self, other: "StreamScatter") -> None:
        def kind(scatter: StreamScatter) -> tuple[Any, ...]:
            return type(scatter).__name__, scatter.n_features, scatter.lag, scatter.center

        if kind(self) != kind(other):
            raise ValueError(
                f"only scatters of one kind merge: {self!r} and {other!r} differ in type, "
                "n_features, lag or center."
            )

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(n_features={self.n_features}, lag={self.lag}, "
            f"center={self.center}, count={self.count})"
        )


def merge(left: S, right: S, **how: Any) -> S:
    """Return the scatter of two parts of the data, ``right`` after ``left``; neither is changed.

    For scatters of streams ``new_sequence=True`` says that ``right`` does not follow in time.

    >>> import numpy as np
    >>> from eigenstream.scatters import VelocityScatter, merge
    >>> rows = np.array([[0.0], [1.0], [3.0]])
    >>> left = VelocityScatter(1).update(rows[:2])
    >>> right = VelocityScatter(1).update(rows[2:])
    >>> merge(left, right).matrix()  # velocities 1 and 2
    array([[2.5]])
    >>> merge(left, right, new_sequence=True).matrix()  # no velocity across the gap
    array([[1.]])
    """
    return left.merge(right, **how)
