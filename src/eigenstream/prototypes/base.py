"""Base of the estimators with prototypes: steps, passes and results."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_finite, check_unchanged, offered_if, real_array
from eigenstream.core.documented import documented_by, words
from eigenstream.core.history import History
from eigenstream.core.linalg import Float64s, blas_threads
from eigenstream.core.storable import FITTED, check_form, storable
from eigenstream.core.types import (
    Checkpoint,
    Constraints,
    LabelsLike,
    Matrix,
    Parameters,
    RandomState,
    RowsLike,
    WeightsLike,
)
from eigenstream.prototypes._nearest import nearest
from eigenstream.prototypes._quantiser import Quantiser
from eigenstream.prototypes._steps import learn
from eigenstream.prototypes._sums import Shares, Tally
from eigenstream.rows.chunk import Chunk
from eigenstream.rows.door import chunk_of
from eigenstream.rows.fit import KEEPING, Fit, Resumption, fit_of, keeper_of
from eigenstream.rows.guard import Guarded, changing, publishes, reading, reads, twin
from eigenstream.rows.prepared import fits_dask, learns_rows
from eigenstream.rows.rows import Rows, RowsInMemory

NO_ROWS_LEFT = "Every row has weight zero or a missing value. Pass other rows."

#: Parameters that may change between two calls of partial_fit.
OF_FIT = ("max_iter", "tol", "missing", "random_state")

#: Numbers in the rows of one call of the compiled loop, 4 MiB. More exceed the cache.
STRETCH = 2**19


Method = TypeVar("Method", bound=Callable[..., Any])

#: The rates and the widths of steps.
Paces = tuple[Float64s, Float64s]


def _learns_in_steps(self: "PrototypeEstimator") -> None:
    """Raise if the estimator learns in batches."""
    if self._by_passes():
        raise AttributeError(
            "Batch training needs all rows in each pass, so partial_fit is not available. Use fit, "
            "or sequential training."
        )


def reads_placed(method: Method) -> Method:
    """Let a property read the estimator, or a copy that has learned the buffered rows."""

    @wraps(method)
    def read(self: "PrototypeEstimator") -> object:
        check_is_fitted(self)
        with reading(self):
            return method(self._placed_model())

    return cast(Method, read)


@storable(
    **FITTED,
    _begun="dict",
    _n_skipped="int?",
    _seed="int",
    _mean="f8 D",
    _vectors="f8 vectors D",
    _counts="f8 vectors",
    _last_wins="i8 vectors",
    _steps="int",
    _error="number",
    _weight="number",
    _placed="bool",
    _waiting="list[tuple]",
    _pass_ends="list[tuple]?",
    labels_="i8 rows?",
    _chunk="-",
    _placed_state="-",
    inertia_="number?",
    n_iter_="int?",
)
class PrototypeEstimator(
    Quantiser, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Guarded, ABC
):
    """Base of the estimators whose prototypes compete for rows.

    A fixed mean of the first rows is subtracted from all rows. Inner products thus lose no
    precision if the data have a large offset.
    """

    missing: str
    random_state: RandomState

    #: The parameters at the first row; empty before.
    _begun: Mapping[str, Any] = MappingProxyType({})
    _n_skipped: int = 0
    #: Attributes that describe the rows of ``fit`` or of the last chunk.
    _of_rows: ClassVar[tuple[str, ...]] = (
        *("labels_", "inertia_", "_pass_ends", "_chunk", "_placed_state"),
    )

    # ---- the differences between the estimators ----------------------------------------------

    _parameter_constraints: ClassVar[Constraints] = {
        "missing": [words("raise", "skip")],
        "random_state": ["random_state"],
    }

    def _check_parameters(self) -> None:
        """Check the parameters."""
        self._validate_params()

    @abstractmethod
    def _n_first(self) -> int:
        """Return the number of first rows from which the initial prototypes are chosen."""

    @abstractmethod
    def _place(self, rows: Float64s, weights: Float64s) -> bool:
        """Choose the initial prototypes. Return True if that has learned the rows."""

    @abstractmethod
    def _pace(self, first: int, n: int) -> Paces:
        """Return the rates and widths of ``n`` steps. Negative rates mean 1 / count."""

    @abstractmethod
    def _rule(self) -> tuple[int, Parameters]:
        """Return the rule of ``learn`` and its further arguments."""

    @abstractmethod
    def _by_passes(self) -> bool:
        """Return True if learning happens at the end of each pass."""

    @abstractmethod
    def _passes(self) -> int:
        """Return the number of passes that ``fit`` makes."""

    @abstractmethod
    def _prepare(self, fit: Fit) -> None:
        """Begin a fit, and for batches choose the initial prototypes."""

    @abstractmethod
    def _batch_pass(self, fit: Fit, turn: int) -> bool:
        """Learn from all rows at once. Return True if the prototypes have settled."""

    @abstractmethod
    def _conclude(self, fit: Fit) -> None:
        """Set the attributes that describe the rows of the fit."""

    # ---- fit ---------------------------------------------------------------------------------

    @fits_dask
    @documented_by(KEEPING)
    @publishes
    def fit(
        self,
        X: RowsLike,
        y: LabelsLike = None,
        sample_weight: WeightsLike = None,
        *,
        checkpoint: Checkpoint = None,
        every: int | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from passes over the rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows. The steps of a stream are taken in its order.
        y : None
            Ignored. It exists for compatibility with scikit-learn.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights of the rows. All are 1 by default.
        <checkpoint, every, resume>

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import CompetitiveLearning
        >>> X = load_iris().data
        >>> CompetitiveLearning(3, random_state=0).fit(X).prototypes_.shape
        (3, 4)
        """
        keeper = keeper_of(checkpoint, every, resume)
        self._check_parameters()
        self._forget_fit()
        fit = fit_of(self, X, None, sample_weight, keeper)
        resumption = fit.take_up()
        if resumption is None or not resumption.complete:
            self._learn_all(fit, resumption)
            fit.end()
        return self

    def _learn_all(self, fit: Fit, resumption: Resumption | None = None) -> None:
        """Learn from the passes of ``fit``."""
        fit.whole = self._by_passes()
        if fit.whole or self._passes() > 1:
            fit.several(f"fit of {type(self).__name__}")
        if resumption is None:
            self._n_skipped = 0
            self._prepare(fit)
        fit.skipped.n_rows = self._n_skipped
        for turn in range(fit.turn, self._passes()):
            self.n_iter_ = turn + 1
            settled = (self._batch_pass if fit.whole else self._sequential_pass)(fit, turn)
            self._n_skipped = fit.skipped.n_rows
            if not self.__sklearn_is_fitted__():
                raise ValueError(NO_ROWS_LEFT)
            self._note_pass()
            if settled:
                break
        self._conclude(fit)

    def _sequential_pass(self, fit: Fit, turn: int) -> bool:
        """Take a step for each row."""
        for chunk in fit.learning(turn):
            self._n_skipped = fit.skipped.n_rows
            self._add(chunk)
        return False

    # ---- learning ----------------------------------------------------------------------------

    def _begin(self, n_features: int) -> None:
        """Start again with the current parameters."""
        self._forget_fit()
        self._begun = {k: v for k, v in self.get_params(deep=False).items() if k not in OF_FIT}
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._mean = np.zeros(n_features)
        self._set_prototypes(np.zeros((0, n_features)))
        self._steps, self._error, self._weight = 0, 0.0, 0.0
        self._placed = False
        self._waiting: list[tuple[Float64s, Float64s]] = []
        #: The sums of the squared distances and of the weights up to the end of each pass of fit.
        self._pass_ends: list[tuple[float, float]] = []

    def _set_prototypes(self, vectors: Float64s, count: float = 0.0) -> None:
        """Set all prototypes, relative to the mean, each with the same count."""
        self._vectors = np.ascontiguousarray(vectors, np.float64)
        self._counts = np.full(len(vectors), count)
        self._last_wins = np.full(len(vectors), -1)

    def _add(self, chunk: Chunk) -> None:
        """Learn from rows that follow the previous ones."""
        chunk = chunk.of_positive_weight()
        rows, weights = chunk.rows, chunk.each_weight()
        if len(rows) == 0:
            return
        # Reject rates above 1 before anything is learned with them.
        paces = self._pace(self._n_seen, len(rows))
        if not paces[0].max() <= 1.0:
            bad = int(np.flatnonzero(~(paces[0] <= 1.0))[0])
            raise ValueError(
                f"The learning rate is {paces[0][bad]:.6g} at step {self._n_seen + bad}. Use "
                "rates of at most 1."
            )
        self._guard.mark()
        if not self._placed:
            lacking = self._n_first() - self._n_seen
            self._waiting.append((np.array(rows[:lacking], np.float64), weights[:lacking]))
            if len(rows) < lacking:
                return
            self._learn(*self._place_waiting())
            rows, weights = rows[lacking:], weights[lacking:]
            paces = self._pace(self._steps, len(rows))
        self._learn(rows, weights, paces)

    @property
    def _n_seen(self) -> int:
        """The number of rows that were learned or are buffered."""
        return self._steps + sum(len(rows) for rows, _ in self._waiting)

    def _place_waiting(self) -> tuple[Float64s, Float64s]:
        """Choose the initial prototypes from the buffered rows. Return the rows not yet learned."""
        rows, weights = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
        self._waiting = []
        learned = len(rows) if self._place(rows, weights) else 0
        return rows[learned:], weights[learned:]

    def _learn(self, rows: Matrix, weights: Float64s, paces: Paces | None = None) -> None:
        """Take the steps of rows, in blocks that fit into memory and end at pauses."""
        most, start = max(STRETCH // rows.shape[1], 1), 0
        rates, widths = self._pace(self._steps, len(rows)) if paces is None else paces
        (kind, options), pace = self._rule(), np.stack([rates, widths, weights])
        with blas_threads(1):
            while start < len(rows):
                stop = min(start + min(most, self._until_pause()), len(rows))
                chunk = np.subtract(rows[start:stop], self._mean, dtype=np.float64, order="C")
                steps = self._vectors, chunk, kind, pace[:, start:stop], self._counts
                labels, squares = learn(*steps, **options)
                if self.missing == "partial":
                    squares *= chunk.shape[1] / np.maximum((~np.isnan(chunk)).sum(axis=1), 1)
                self._steps += stop - start
                self._note(chunk, weights[start:stop], labels, squares)
                self._pause()
                start = stop

    def _until_pause(self) -> int:
        """Return the number of steps until the next ``_pause``."""
        return STRETCH

    def _pause(self) -> None:
        """Reseed or record, if required after this number of steps."""

    def _note(
        self, rows: Float64s, weights: Float64s, labels: LabelsLike, squares: Float64s
    ) -> None:
        """Add the errors and wins of rows that were just learned."""
        self._error += float(weights @ squares)
        self._weight += float(weights.sum())
        self._last_wins[labels] = np.arange(self._steps - len(rows), self._steps)

    @offered_if(_learns_in_steps)
    @learns_rows
    def partial_fit(
        self, X: RowsLike, y: LabelsLike = None, sample_weight: WeightsLike = None
    ) -> Self:
        """Learn from a chunk of rows, in their order.

        The result does not depend on the chunking. ``labels_`` are then those of the chunk. Other
        attributes that describe the rows of ``fit`` are removed.

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
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import CompetitiveLearning
        >>> X = load_iris().data
        >>> model = CompetitiveLearning(3, random_state=0).partial_fit(X[::2])
        >>> model.partial_fit(X[1::2]).n_steps_
        150
        """
        with changing(self) as model:
            model._continue(X, sample_weight)
        return self

    def _continue(self, X: RowsLike, sample_weight: WeightsLike) -> None:
        self._check_once(self._check_step)
        first = not self._begun
        chunk = self._scaled(chunk_of(self, X, sample_weight, reset=first))
        self._n_skipped += chunk.skipped.n_rows
        if first:
            self._begin(chunk.rows.shape[1])
        self._add(chunk)
        self._forget_fit()
        self._chunk = np.array(chunk.rows)

    def _check_step(self) -> None:
        """Check the parameters, which must not change while learning continues."""
        self._check_parameters()
        if self._begun:
            check_unchanged(self._begun, vars(self))

    def _forget_fit(self) -> None:
        """Remove attributes that describe the rows of ``fit``."""
        for name in self._of_rows:
            self.__dict__.pop(name, None)

    # ---- passes ------------------------------------------------------------------------------

    def _note_pass(self) -> None:
        """Note the sums at the end of a pass, if it has learned rows."""
        error, weight = self._pass_ends[-1] if self._pass_ends else (0.0, 0.0)
        if self._by_passes():  # whose sums are those of one pass
            self._pass_ends = [*self._pass_ends, (error + self._error, weight + self._weight)]
        elif self._weight > weight:
            self._pass_ends = [*self._pass_ends, (self._error, self._weight)]

    def _place_among(self, fit: Fit, n: int) -> None:
        """Choose the initial prototypes from the first rows."""
        self._waiting, lacking = [], n
        for chunk in fit.reading():
            first = chunk.of_positive_weight()[:lacking]
            self._waiting.append((np.array(first.rows, np.float64), first.each_weight()))
            lacking -= len(first)
            if lacking == 0:
                break
        if lacking == n:
            raise ValueError(NO_ROWS_LEFT)
        self._place_waiting()

    def _tally(self, shares: Shares | None = None) -> Tally:
        """Return empty sums of a pass."""
        return Tally(self._vectors, self._mean, shares, self.missing == "partial")

    def _take(self, tally: Tally, steps: int = 0) -> tuple[Float64s, Any]:
        """Take over the errors, counts and wins of a pass after ``steps`` steps.

        Return the sums about the mean, and the weights of the values that are present.
        """
        self._counts, self._error, self._weight = tally.counts, tally.error, tally.weight
        self._steps = steps + tally.n_rows
        self._last_wins = np.where(tally.wins < 0, -1, steps + tally.wins)
        return tally.sums - tally.heights * self._mean, tally.heights

    def _loaded(self) -> None:
        """Check values from a file, because compiled loops do not check indices."""
        if not self._begun:
            return
        self._check_parameters()
        for pair in self._waiting:
            sizes = {"D": len(self._mean)}
            for form, values in zip(("f8 n D", "f8 n"), pair, strict=True):
                check_form(form, values, sizes, "a buffered chunk")
        if self._placed and not self._can_hold(len(self._vectors)):
            raise ValueError(f"{self!r:.200} cannot have {len(self._vectors)} prototypes.")

    @abstractmethod
    def _can_hold(self, n: int) -> bool:
        """Return whether the estimator can have ``n`` prototypes."""

    # ---- reading -----------------------------------------------------------------------------

    def _placed_model(self) -> Self:
        """Return this estimator, or a copy that has learned the buffered rows."""
        if self._placed:
            return self
        own, placed = self.__dict__, twin(self)
        if "_placed_state" in own:
            placed.__dict__.update(own["_placed_state"])
            return placed
        placed._learn(*placed._place_waiting())
        own["_placed_state"] = {k: v for k, v in vars(placed).items() if v is not own.get(k)}
        return placed

    @property
    @reads_placed
    def prototypes_(self) -> Float64s:
        """The prototypes, one in each row."""
        return np.asarray(self._vectors + self._mean)

    @property
    @reads_placed
    def labels_(self) -> NDArray[np.int64]:
        """The nearest prototype of each row of ``fit``, or of the last chunk."""
        own = self.__dict__
        if "labels_" not in own and "_chunk" not in own:
            raise AttributeError("labels_ are not stored for a stream or in a file. Use predict.")
        if "labels_" not in own:
            own["labels_"] = nearest(self._chunk - self._mean, self._vectors)[0]
        labels: NDArray[np.int64] = own["labels_"]
        return labels

    @property
    @reads_placed
    def counts_(self) -> Float64s:
        """The number of rows that each prototype has learned, by weights and shares."""
        return self._counts.copy()

    @property
    @reads
    def n_steps_(self) -> int:
        """The number of learning steps, one for each row of positive weight in each pass."""
        check_is_fitted(self)
        return self._n_seen

    @property
    @reads
    def n_samples_skipped_(self) -> int:
        """The number of rows left out because of missing values."""
        check_is_fitted(self)
        return self._n_skipped

    @property
    @reads_placed
    def error_(self) -> float:
        """The mean squared distance of rows to their nearest prototype before each step."""
        return self._error / self._weight

    @property
    @reads_placed
    def history_(self) -> History:
        """The loss of each pass of ``fit``, and the recorded prototypes.

        The loss is the mean squared distance of the rows to their nearest prototype before each
        step. ``partial_fit`` removes it.
        """
        ends = vars(self).get("_pass_ends")
        if ends == []:  # all rows of ``fit`` still wait
            ends = [(self._error, self._weight)]
        sums = np.diff(np.reshape(ends or [], (-1, 2)), axis=0, prepend=0.0)
        return History.of(vars(self).get("_records", []), (sums[:, 0] / sums[:, 1]).tolist())

    @property
    @reads_placed
    def _n_features_out(self) -> int:
        return len(self._vectors)

    # ---- rows --------------------------------------------------------------------------------

    def _rows(self, X: RowsLike, sample_weight: WeightsLike = None, *, reset: bool) -> Rows:
        """Return the rows of an array, also for a fit on workers."""
        return RowsInMemory(chunk_of(self, X, sample_weight, reset=reset), X)

    def _scaled(self, chunk: Chunk) -> Chunk:
        """Return rows in the units of the prototypes."""
        return chunk

    def __sklearn_is_fitted__(self) -> bool:
        """Return True after the first row."""
        return bool(self._begun) and self._n_seen + len(self._vectors) > 0

    def __sklearn_tags__(self) -> Tags:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.allow_nan = self.missing == "partial"
        return tags


def vectors_of(
    value: ArrayLike | None, name: str, n: int | None, n_features: int | None
) -> Float64s:
    """Return the vectors of a parameter as an array; None allows any size.

    >>> vectors_of([[1, 2]], "init", 1, None)
    array([[1., 2.]])
    """
    vectors = real_array(value, name).astype(np.float64)
    shape = vectors.shape
    if len(shape) != 2 or shape != (n or shape[0], n_features or shape[1]):
        expected = f"({n or 'm'}, {n_features or 'n_features'})"
        raise ValueError(f"{name} must have shape {expected}, got {shape}.")
    check_finite(vectors, name=name)
    return vectors
