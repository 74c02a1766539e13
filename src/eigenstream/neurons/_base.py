"""Base of the neurons: parameters, passes over blocks of rows, targets."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from eigenstream.core import checks
from eigenstream.core.checks import is_sparse
from eigenstream.core.documented import COUNT, NOT_NEGATIVE, POSITIVE
from eigenstream.core.history import History
from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import FITTED, storable
from eigenstream.core.types import (
    Constraints,
    LabelsLike,
    Matrix,
    RandomState,
    RowsLike,
    WeightsLike,
)
from eigenstream.online import UnstableStepError
from eigenstream.rows.chunk import Chunk, blocks_of
from eigenstream.rows.door import as_floats, chunk_of, validated
from eigenstream.rows.fit import Fit, fit_of
from eigenstream.rows.guard import Guarded, changes, reads
from eigenstream.rows.prepared import fits_rows
from eigenstream.schedules import Auto, LearningRate, Schedule, as_schedule

#: Numbers in a part of a stream within which rows are shuffled (64 MB). Larger parts mix more rows.
PART = 2**23

#: The constraints of a learning rate.
RATE = [POSITIVE, Schedule, callable]

#: Parameters that only ``fit`` reads. They may change between two chunks.
OF_FIT = ("max_iter", "tol", "shuffle", "n_iter_no_change", "random_state", "early_stopping")

#: Attributes that describe the rows of ``fit``. ``partial_fit`` removes them.
OF_ROWS = (
    *("margin_", "radius_", "mistake_bound_", "separable_", "rate_limit_", "validation_losses_"),
    "explained_variance_ratio_",
)


@storable(**FITTED, _begun="dict", n_iter_="int", converged_="bool", _records="list", _steps="int")
class Neurons(Guarded, ABC):
    """Base of all neurons.

    Parameters
    ----------
    record_every : int, default=None
        Record the weights in ``history_`` every ``record_every`` steps.
    random_state : int, RandomState or None, default=None
        The seed of all random choices.

    Attributes
    ----------
    converged_ : bool
        True if the last pass of ``fit`` met the condition of convergence. After ``partial_fit`` it
        is False, or for a perceptron whether the chunk had no mistake.
    history_ : History
        The recorded weights, and the loss of each pass or chunk if the rule has one.
    n_iter_ : int
        The number of passes, or of chunks after ``partial_fit``.
    n_steps_ : int
        The number of learning steps.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "max_iter": [COUNT],
        "tol": [NOT_NEGATIVE],
        "record_every": [COUNT, None],
        "random_state": ["random_state"],
    }

    #: The number of rows in a step.
    batch_size: int = 1
    learning_rate: LearningRate
    max_iter: int
    record_every: int | None
    random_state: RandomState
    #: The learned units, which have a method ``copy``.
    _units: Any

    #: The parameters at the first row; empty before.
    _begun: Mapping[str, Any] = MappingProxyType({})

    def _start(self) -> None:
        """Check the parameters, and start again."""
        self._validate_params()
        self._begun = {k: v for k, v in self.get_params(deep=False).items() if k not in OF_FIT}
        self._steps, self.n_iter_, self.converged_ = 0, 0, False
        self._records: list[Any] = []

    def _forget(self, *names: str) -> None:
        """Remove attributes."""
        for name in names:
            self.__dict__.pop(name, None)

    @property
    @reads
    def history_(self) -> History:
        """The records of every ``record_every`` steps, and the loss of each pass."""
        check_is_fitted(self)
        return History.of(self._records, vars(self).get("loss_curve_"))

    @property
    def n_steps_(self) -> int:
        """The number of learning steps."""
        check_is_fitted(self)
        return self._steps

    def _start_or_continue(self) -> bool:
        """Prepare for a chunk; return whether it is the first one."""
        if not self._begun:
            self._start()
            return True
        self._check_once(lambda: checks.check_unchanged(self._begun, vars(self)))
        # After an error the old values are unchanged.
        self._units, self._records = self._units.copy(), self._records.copy()
        self._forget(*OF_ROWS)
        self.converged_ = False
        return False

    @abstractmethod
    def _parts(self) -> tuple[Any, ...]:
        """Return copies of what ``history_`` records."""

    def _recorded(self, n_rows: int) -> Iterator[slice]:
        """Yield parts of the rows that end at the steps to record; count and record them."""
        start, size, every = 0, self.batch_size, self.record_every or n_rows
        while start < n_rows:
            stop = min(start + (every - self._steps % every) * size, n_rows)
            yield slice(start, stop)
            self._steps += -(-(stop - start) // size)
            if self.record_every is not None and self._steps % every == 0:
                self._records.append((self._steps, *self._parts()))
            start = stop

    def _check_stable(self, done: int, gains: Float64s, remedy: str = "") -> None:
        """Raise if fewer steps were done than there are learning rates."""
        if done < len(gains):
            remedy = remedy or "Use a smaller learning rate, or learning_rate='auto'."
            remedy += " The call has changed nothing."
            raise UnstableStepError(self._steps + done, float(gains[done]), remedy)

    def __sklearn_is_fitted__(self) -> bool:
        """Return True after the first row."""
        return bool(self._begun)


@storable(rows="f8 n D", targets="f8 n outputs", weights="f8 n", factors="f8 n")
class SupervisedRows(NamedTuple):
    """Checked rows of positive weight, the targets of the units, and the weights."""

    rows: Float64s
    targets: Float64s
    weights: Float64s
    #: The learning rate of each row, relative to that of its step.
    factors: Float64s

    def chosen(self, places: slice | NDArray[np.int64]) -> "SupervisedRows":
        """Return some of the rows."""
        return SupervisedRows(*(values[places] for values in self))


#: Starts a pass over the rows.
Start = Callable[[], Iterable[SupervisedRows]]


@storable(loss_curve_="list[number]")
class SupervisedNeurons(Neurons):
    """Base of the neurons that learn from rows with targets, one row at a time.

    Parameters
    ----------
    shuffle : bool, default=True
        Draw a new order of the rows for each pass of ``fit``.

    Attributes
    ----------
    loss_curve_ : list of float
        The mean loss of each pass or chunk, measured before each step.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "shuffle": ["boolean"],
        "learning_rate": RATE,
        "n_iter_no_change": [COUNT],
    }

    #: The schedule of units without a learning rate, whose rule does not read it.
    learning_rate: LearningRate = 1.0
    shuffle: bool
    loss_curve_: list[float]

    def _schedule(self) -> Schedule:
        """Return the schedule of the learning rate."""
        schedule = as_schedule(self.learning_rate)
        if isinstance(schedule, Auto):
            raise ValueError(
                f"learning_rate={schedule!r} is for Hebbian neurons only. Pass a number, another "
                "schedule, or a function of the step number."
            )
        return schedule

    @property
    @abstractmethod
    def _n_units(self) -> int:
        """The number of outputs."""

    @abstractmethod
    def _note(self, y: LabelsLike) -> None:
        """Check labels or numbers, and set the classes, or the number of targets."""

    @abstractmethod
    def _coded(self, y: LabelsLike) -> Float64s:
        """Return the targets of the units, one in each column."""

    @abstractmethod
    def _new_units(self, random: np.random.RandomState) -> Any:
        """Return units that have learned nothing."""

    @abstractmethod
    def _advance(self, block: SupervisedRows, order: NDArray[np.int64]) -> float:
        """Take the steps of some rows in this order; return the sum of their losses."""

    @abstractmethod
    def _has_converged(self) -> bool:
        """Return True if passes no longer improve."""

    def _conclude(self, start: Start) -> str:
        """Set attributes that describe the rows of ``fit``. Return why it did not converge."""
        return f"the loss is {self.loss_curve_[-1]:.3g}"

    @abstractmethod
    def _respond(self, rows: Float64s) -> Float64s:
        """Return the responses of the units, one in each column."""

    # ---- learning --------------------------------------------------------------------------

    @fits_rows
    def fit(self, X: RowsLike, y: LabelsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Learn from passes over the rows.

        The fit ends when passes no longer improve, or after ``max_iter`` passes.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows. A stream is read in parts of 64 MB, pass by pass, and sparse rows are made
            dense in such parts. Rows are shuffled within a part.
        y : array-like of shape (n,), or (n, n_targets) for regression
            The targets. A stream may have labels itself.
        sample_weight : array-like of shape (n,), default=None
            A row of weight c takes steps c times as long. Rows of weight zero are ignored.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import MultilayerPerceptron
        >>> X, y = load_iris(return_X_y=True)
        >>> model = MultilayerPerceptron(8, random_state=0).fit(X, y)
        >>> model.score(X, y) > 0.9
        True
        """
        self._start()
        fit = fit_of(self, X, y, sample_weight, labelled=True, sparse=True)
        start, random = self._blocks(fit, y), check_random_state(self.random_state)
        self._units = self._new_units(random)
        self.converged_ = self._learn_passes(start, random)
        why = self._conclude(start)
        if not self.converged_:
            checks.warn_user(
                f"{type(self).__name__} did not converge in {self.n_iter_} passes: {why}. Scale "
                "the features to about one, or raise max_iter.",
                ConvergenceWarning,
            )
        fit.end()
        return self

    def _blocks(self, fit: Fit, y: LabelsLike) -> Start:
        """Return a function that starts a pass over the blocks of the rows."""
        size = max(PART // fit.rows.width, 1)
        if fit.array is not None:
            labelled = [self._labelled(fit.array, y, first=True)]
            if not is_sparse(labelled[0].rows):
                size = len(labelled[0])
        else:
            fit.several(f"fit of {type(self).__name__}")
            for chunk in _weighted(fit):
                self._note(chunk.labels)

        def start() -> Iterator[SupervisedRows]:
            coded: Iterable[Chunk] = (
                labelled
                if fit.array is not None
                else (replace(chunk, labels=self._coded(chunk.labels)) for chunk in _weighted(fit))
            )
            return map(self._block, blocks_of(coded, size))

        first = list(islice(start(), 2))
        if not first:
            raise ValueError(
                f"every row of {fit.source!r} lacks a value or a label. Pass complete rows."
            )
        return start if len(first) == 2 else lambda: first

    def _start(self) -> None:
        super()._start()
        self.loss_curve_ = []
        self._forget("classes_", "_targets_", "_flat", "safe_rate_", *OF_ROWS)

    def _learn_passes(self, start: Start, random: np.random.RandomState) -> bool:
        """Learn from at most ``max_iter`` passes. Return True if they converged."""
        order: Any = np.arange(0)
        for _ in range(self.max_iter):
            total = weight = 0.0
            for block in start():
                order = next_order(order, len(block.rows), random if self.shuffle else None)
                total += self._learn(block, order)
                weight += float(block.weights.sum())
            self.n_iter_ += 1
            self.loss_curve_.append(total / weight)
            if self._has_converged():
                return True
        return False

    def _learn(self, block: SupervisedRows, order: NDArray[np.int64]) -> float:
        """Take a step on each ``batch_size`` rows; return the sum of the losses."""
        return sum(self._advance(block, order[part]) for part in self._recorded(len(order)))

    def _learn_rows(
        self, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike, classes: LabelsLike = None
    ) -> Self:
        """Learn from one chunk. A chunk whose weights are all zero changes nothing."""
        if sample_weight is None or np.any(np.asarray(sample_weight)):
            self._continue(X, y, sample_weight, classes)
        return self

    @changes
    def _continue(
        self, X: RowsLike, y: LabelsLike, sample_weight: WeightsLike, classes: Any
    ) -> None:
        """Learn from a chunk of rows."""
        first = self._start_or_continue()
        if isinstance(self, ClassifierMixin):
            _check_partial_fit_first_call(self, classes)
        chunk = chunk_of(self, X, sample_weight, reset=first, sparse=True)
        block = self._block(self._labelled(chunk, y, first=first))
        if first:
            self._units = self._new_units(check_random_state(self.random_state))
        self.loss_curve_ = self.loss_curve_.copy()
        self._learn_chunk(block)
        self.n_iter_ += 1

    def _learn_chunk(self, block: SupervisedRows) -> None:
        """Learn from the rows of a chunk, in their order."""
        total = self._learn(block, np.arange(len(block.rows)))
        self.loss_curve_.append(total / float(block.weights.sum()))

    # ---- checks ----------------------------------------------------------------------------

    def _labelled(self, chunk: Chunk, y: LabelsLike, *, first: bool) -> Chunk:
        """Return the rows of positive weight, with the targets of the units."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Give "
                "one label or number a row, or a stream with open_stream(..., labels=...)."
            )
        if not (isinstance(y, np.ndarray) and y.ndim > 0 and len(y) == len(chunk)):
            check_consistent_length(chunk.rows, y)
        if first and "classes_" not in vars(self):
            self._note(y)
        labelled = replace(chunk, labels=self._coded(y)).of_positive_weight()
        if not len(labelled):
            raise ValueError("sample_weight is zero for every row. Give some rows a weight.")
        return labelled

    def _block(self, chunk: Chunk) -> SupervisedRows:
        """Return what the units learn from."""
        rows, weights = self._inputs(chunk.rows), chunk.each_weight()
        targets = np.ascontiguousarray(chunk.labels, np.float64)
        return SupervisedRows(rows, targets, weights, self._factors(rows, weights))

    def _inputs(self, rows: Matrix) -> Float64s:
        """Return the inputs of the units as float64, contiguous in memory."""
        return np.ascontiguousarray(rows.toarray() if is_sparse(rows) else rows, np.float64)

    def _factors(self, rows: Float64s, weights: Float64s) -> Float64s:
        """Return the learning rates of the rows, relative to those of the steps."""
        return weights

    def _answers(self, X: RowsLike) -> Float64s:
        check_is_fitted(self)
        rows = as_floats(validated(self, X, reset=False))
        if not is_sparse(rows):
            return np.asarray(self._respond(self._inputs(rows)))
        size = max(PART // rows.shape[1], 1)
        starts = range(0, rows.shape[0], size)
        return np.concatenate([self._respond(self._inputs(rows[s : s + size])) for s in starts])

    def __sklearn_tags__(self) -> Tags:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _weighted(fit: Fit) -> Iterator[Chunk]:
    """Yield the rows of positive weight."""
    return (rows for chunk in fit.reading() if len(rows := chunk.of_positive_weight()))


def next_order(order: Any, n_rows: int, random: Any) -> NDArray[np.int64]:
    """Return the order of the next rows, drawn as scikit-learn's neural networks do.

    ``order`` is the last one. Without a random state the rows keep their order.
    """
    places = np.arange(n_rows)
    if random is None:
        return places
    random.shuffle(places)
    return order[places] if len(order) == n_rows else places


def stalled(losses: list[float], tol: float, relative: bool = False) -> int:
    """Return the number of passes since the last one that improved on the best loss by ``tol``.

    >>> stalled([3.0, 1.0, 0.95, 1.2], 0.1)
    2
    """
    best = np.append(np.inf, np.minimum.accumulate(losses)[:-1])
    limit = best * (1.0 - tol) if relative else best - tol
    return len(losses) - 1 - int(np.flatnonzero(~(np.array(losses) > limit))[-1])
