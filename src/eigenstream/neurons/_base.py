"""Base of the neurons: parameters, passes over blocks of rows, targets."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import _check_partial_fit_first_call, check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from eigenstream import _checks as checks
from eigenstream._documented import documented_by
from eigenstream._history import History
from eigenstream._linalg import Float64s
from eigenstream._prepared import learns_rows, maps_streams
from eigenstream._rows import validated_rows
from eigenstream._storable import FITTED, storable
from eigenstream._streams import Course, fits_streams_by, labelled_stream
from eigenstream.online import UnstableStepError
from eigenstream.rows.guard import Guarded, changing, publishes, reads
from eigenstream.schedules import Auto, as_schedule

COUNT = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")

#: Parameters that only ``fit`` reads. They may change between two chunks.
OF_FIT = "max_iter", "tol", "shuffle", "n_iter_no_change", "random_state"

#: Attributes that describe the rows of ``fit``. ``partial_fit`` removes them.
OF_ROWS = "margin_", "radius_", "mistake_bound_", "separable_", "rate_limit_"


#: The entries of "Parameters" and "Attributes" sections that several neurons share, by name.
ENTRIES = {
    "center": """\
center : bool, default=True
    Subtract from each row the mean of the rows before it.""",
    "fit_intercept": """\
fit_intercept : bool, default=True
    Learn an intercept.""",
    "init": """\
init : "random", "data" or array of shape (n_components, n_features), default="random"
    The initial weights: random directions, the first rows, or given weights.""",
    "learning_rate_of_adaline": """\
learning_rate : number, schedule or function of the step, default=0.1
    The learning rate lr.""",
    "activation": """\
activation : {"tanh", "logistic", "relu"}, default="tanh"
    The activation function phi of the hidden units.""",
    "batch_size": """\
batch_size : int, default=1
    The number of rows in a step. ``partial_fit`` keeps the rows after the last whole batch for the
    next chunk. Until then, predictions use them as a smaller batch.""",
    "hidden_layer_sizes": """\
hidden_layer_sizes : int or tuple of int, default=(32,)
    The number of units of each hidden layer.""",
    "learning_rate": """\
learning_rate : number, schedule or function of the step, default=0.01
    The learning rate lr.""",
    "max_iter": """\
max_iter : int, default=200
    The largest number of passes of ``fit``.""",
    "momentum": """\
momentum : float, default=0.0
    The share of the previous step that is added to a step, in Nesterov's form.""",
    "n_iter_no_change": """\
n_iter_no_change : int, default=10
    ``fit`` ends after more than this number of consecutive passes without progress.""",
    "tol": """\
tol : float, default=1e-4
    A pass makes progress if it improves the best loss by this amount.""",
    "coefs_": """\
coefs_ : list of arrays of shape (n_inputs, n_units)
    The weights from each layer to the next.""",
    "intercepts_": """\
intercepts_ : list of arrays of shape (n_units,)
    The intercepts of each layer after the first.""",
    "loss_": """\
loss_ : float
    The last entry of ``loss_curve_``.""",
    "n_layers_": """\
n_layers_ : int
    The number of layers, with the inputs.""",
    "n_outputs_": """\
n_outputs_ : int
    The number of units of the last layer.""",
    "max_iter_of_hebbian": """\
max_iter : int, default=10
    The largest number of passes of ``fit``.""",
    "max_iter_of_linear": """\
max_iter : int, default=1000
    The largest number of passes of ``fit``.""",
    "n_iter_no_change_of_adaline": """\
n_iter_no_change : int, default=5
    ``fit`` ends after this number of passes without progress.""",
    "random_state": """\
random_state : int, RandomState or None, default=None
    The seed of all random choices.""",
    "record_every": """\
record_every : int, default=None
    Record the weights in ``history_`` every ``record_every`` steps.""",
    "rule_of_adaline": """\
rule : {"nlms", "lms"}, default="nlms"
    "nlms" is normalised least mean squares, w += lr e x / |x|^2. It is stable for rates below 2. A
    step with rate 1 makes the error of its row zero. |x|^2 includes the 1 of the intercept. "lms"
    is w += lr e x.""",
    "shuffle": """\
shuffle : bool, default=True
    Draw a new order of the rows for each pass of ``fit``.""",
    "tol_of_adaline": """\
tol : float, default=1e-3
    A pass makes progress if it lowers the mean squared error by more than this share.""",
    "tol_of_hebbian": """\
tol : float, default=1e-2
    ``fit`` ends if a pass changes the weights by at most this share of their norm.""",
    "classes_": """\
classes_ : array of shape (n_classes,)
    The class labels, sorted.""",
    "converged_": """\
converged_ : bool
    True if the last pass, or chunk, met the condition of convergence.""",
    "history_": """\
history_ : History
    The recorded weights, and the loss of each pass or chunk if the rule has one.""",
    "loss_curve_": """\
loss_curve_ : list of float
    The mean loss of each pass or chunk, measured before each step.""",
    "mean_": """\
mean_ : array of shape (n_features,)
    The mean that is subtracted from each row. Zeros with ``center=False``.""",
    "n_iter_": """\
n_iter_ : int
    The number of passes, or of chunks after ``partial_fit``.""",
    "n_steps_": """\
n_steps_ : int
    The number of learning steps.""",
    "rate_limit_": """\
rate_limit_ : float
    2 / the largest eigenvalue of the mean of x x^T over the rows of ``fit``. With "nlms", of the
    mean of x x^T / |x|^2. Larger constant rates make the mean weight diverge.""",
    "safe_rate_": """\
safe_rate_ : float
    2 / the largest |x|^2, or 2 with "nlms". Up to this rate, no step increases the distance to
    weights that fit its row.""",
}

documented = documented_by(ENTRIES)


@storable(**FITTED, _begun="dict", n_iter_="int", converged_="bool", _records="list")
class Neurons(Guarded, ABC):
    """Base of all neurons."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_iter": [COUNT],
        "tol": [NOT_NEGATIVE],
        "record_every": [COUNT, None],
        "random_state": ["random_state"],
    }

    max_iter: int
    record_every: int | None
    random_state: Any

    #: The parameters at the first row; empty before.
    _begun: Mapping[str, Any] = MappingProxyType({})

    def _check(self) -> None:
        """Check the parameters."""
        self._validate_params()

    def _start(self) -> None:
        """Check the parameters, and start again."""
        self._check()
        given = self.get_params(deep=False)
        self._begun = {k: v for k, v in given.items() if k not in OF_FIT}
        self.n_iter_, self.converged_ = 0, False
        self._records: list[Any] = []

    @property
    @reads
    def history_(self) -> History:
        """The records of every ``record_every`` steps, and the loss of each pass."""
        check_is_fitted(self)
        return History.of(self._records, self._losses())

    def _losses(self) -> list[float] | None:
        """Return the loss of each pass, or None if the rule has no loss."""
        return None

    def _start_or_continue(self) -> bool:
        """Prepare for a chunk; return whether it is the first one."""
        first = not self._begun
        if first:
            self._start()
        else:
            self._check_once(lambda: checks.check_unchanged(self._begun, vars(self)))
        return first

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """Return finite rows."""
        rows = validated_rows(self, X, reset=reset)
        checks.check_finite(rows)
        return rows

    def __sklearn_is_fitted__(self) -> bool:
        """Return True after the first row."""
        return bool(self._begun)


@storable(rows="f8 n D", targets="f8 n outputs", weights="f8 n", factors="f8 n", whole="bool")
class Block(NamedTuple):
    """Checked rows of positive weight, the targets of the units, and the weights."""

    rows: Float64s
    targets: Float64s
    weights: Float64s
    #: The learning rate of each row, relative to that of its step.
    factors: Float64s
    #: True if the rows are all rows of a fit.
    whole: bool = False

    def chosen(self, places: Any) -> "Block":
        """Return some of the rows.

        >>> Block(np.eye(2), np.ones((2, 1)), np.ones(2), np.ones(2)).chosen(
        ...     [1]
        ... ).rows
        array([[0., 1.]])
        """
        return Block(*(one[places] for one in self[:4]))


#: Starts a pass over the rows.
Start = Callable[[], Iterable[Block]]


@storable(_steps="int", loss_curve_="list[number]")
class SupervisedNeurons(Neurons):
    """Base of the neurons that learn from rows with targets, one row at a time."""

    _parameter_constraints: ClassVar[dict[str, Any]] = Neurons._parameter_constraints | {
        "shuffle": ["boolean"],
        "learning_rate": "no_validation",
        "n_iter_no_change": [COUNT],
    }

    shuffle: bool
    #: The number of rows in a step.
    batch_size: int = 1

    loss_curve_: list[float]
    _units: Any

    @abstractmethod
    def _new_units(self, random: Any) -> Any:
        """Return units that have learned nothing."""

    @abstractmethod
    def _learn(self, start: Start, random: Any) -> None:
        """Learn from passes over the rows, and warn if they do not converge."""

    @abstractmethod
    def _advance(self, block: Block, order: Any) -> float:
        """Take the steps of some rows in this order; return the sum of their losses."""

    @abstractmethod
    def _parts(self) -> tuple[Any, Any]:
        """Return copies of the weights and of the intercepts."""

    @abstractmethod
    def _sizes(self) -> tuple[int, int]:
        """Return the numbers of inputs and of outputs."""

    @abstractmethod
    def _respond(self, rows: Float64s) -> Float64s:
        """Return the responses of the units, one in each column."""

    @property
    @abstractmethod
    def _n_units(self) -> int:
        """The number of outputs."""

    @abstractmethod
    def _note_targets(self, y: Any) -> None:
        """Set the classes, or the number of targets."""

    @abstractmethod
    def _targets(self, y: Any) -> Float64s:
        """Return the targets of the units, one in each column."""

    # ---- learning --------------------------------------------------------------------------

    @publishes
    @fits_streams_by("_fit_stream")
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from passes over the rows.

        The fit ends when passes no longer improve, or after ``max_iter`` passes.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows. A stream is read in parts of 64 MB, pass by pass. Rows are shuffled within a
            part.
        y : array-like of shape (n,), or (n, n_targets) for regression
            The targets. A stream may have labels itself.
        sample_weight : array-like of shape (n,), default=None
            A row of weight c takes steps c times as long. Rows of weight zero are ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._start()
        block = self._checked(X, y, sample_weight, first=True)._replace(whole=True)
        self._fit(lambda: [block])
        return self

    def _fit_stream(self, course: Course) -> None:
        """Learn from a stream part by part, or as from an array if one part holds all rows."""
        course.keep_nothing(f"fit of {type(self).__name__} makes several passes")
        made, passes = course.learned, course.passes()
        labelled_stream(course.stream, None, made)
        first = list(islice(passes.parts(), 2))
        if len(first) == 1:
            made.fit(*first[0])
            return
        made._start()
        made._rows(first[0].rows, reset=True)
        for part in passes:
            made._note_targets(part.labels)
        made._fit(lambda: (made._checked(*part) for part in passes.parts()))

    def _fit(self, start: Start) -> None:
        random = check_random_state(self.random_state)
        self._units = self._new_units(random)
        self._learn(start, random)

    def _start(self) -> None:
        super()._start()
        self._steps, self.loss_curve_ = 0, []
        self._forget("classes_", "_targets_", "_flat", "safe_rate_", *OF_ROWS)

    def _forget(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)

    def _passes(self, start: Start, random: Any, settled: Callable[[], bool]) -> bool:
        """Learn from at most ``max_iter`` passes. Return True if they converged."""
        order: Any = np.arange(0)
        for _ in range(self.max_iter):
            total = weight = 0.0
            for block in start():
                order = next_order(order, len(block.rows), random if self.shuffle else None)
                total += self._show(block, order)
                weight += float(block.weights.sum())
            self.n_iter_ += 1
            self.loss_curve_.append(total / weight)
            if settled():
                return True
        return False

    def _show(self, block: Block, order: Any) -> float:
        """Take a step on each ``batch_size`` rows; return the sum of the losses."""
        total, size = 0.0, self.batch_size
        while len(order):
            every = self.record_every or len(order)
            stop = (every - self._steps % every) * size
            here, order = order[:stop], order[stop:]
            total += self._advance(block, here)
            self._steps += -(-len(here) // size)
            if self.record_every is not None and self._steps % every == 0:
                self._records.append((self._steps, *self._parts()))
        return total

    def _continue(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        """Learn from one chunk. It changes nothing if all weights are zero."""
        if sample_weight is not None and not np.any(sample_weight):
            return self
        with changing(self) as model:
            first = model._start_or_continue()
            if isinstance(model, Classifying):
                _check_partial_fit_first_call(model, classes)
            block = model._checked(X, y, sample_weight, first=first)
            if first:
                model._units = model._new_units(check_random_state(model.random_state))
            else:  # after an error the old values are unchanged
                model._units, model._records = model._units.copy(), model._records.copy()
                model.loss_curve_ = model.loss_curve_.copy()
            model._forget(*OF_ROWS)
            model.converged_ = False
            model._chunk(block)
            model.n_iter_ += 1
        return self

    def _chunk(self, block: Block) -> None:
        """Learn from the rows of a chunk, in their order."""
        total = self._show(block, np.arange(len(block.rows)))
        self.loss_curve_.append(total / float(block.weights.sum()))

    def _losses(self) -> list[float]:
        return self.loss_curve_

    def _gains(self, n: int) -> Float64s:
        """Return the learning rates of the next steps."""
        return as_schedule(vars(self)["learning_rate"]).gains(self._steps, n)

    def _check_stable(self, done: int, gains: Float64s, remedy: str) -> None:
        """Raise if fewer steps were done than there are learning rates."""
        if done < len(gains):
            remedy += " The call has changed nothing."
            raise UnstableStepError(self._steps + done, float(gains[done]), remedy)

    # ---- checks ----------------------------------------------------------------------------

    def _check(self) -> None:
        super()._check()
        rate = vars(self).get("learning_rate", 0.1)
        if isinstance(as_schedule(rate), Auto):
            raise ValueError(
                f"learning_rate={rate!r} is for Hebbian neurons only. Pass a number, another "
                "schedule, or a function of the step number."
            )

    def _checked(self, X: Any, y: Any, sample_weight: Any = None, *, first: bool = False) -> Block:
        """Return the rows of positive weight, with the targets of the units."""
        rows = self._rows(X, reset=first)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Give "
                "one label or number a row, or a stream with open_stream(..., labels=...)."
            )
        check_consistent_length(rows, y)
        if first and not hasattr(self, "classes_"):
            self._note_targets(y)
        targets, weights = self._targets(y), np.ones(len(rows))
        if sample_weight is not None:
            weights = checks.check_weights(sample_weight, len(rows))
            counted = np.flatnonzero(weights)
            if not len(counted):
                raise ValueError("sample_weight is zero for every row. Give some rows a weight.")
            rows, targets, weights = rows[counted], targets[counted], weights[counted]
        return Block(rows, targets, weights, self._factors(rows, weights))

    def _rows(self, X: Any, *, reset: bool) -> Float64s:
        """Return the inputs of the units as float64, contiguous in memory."""
        return np.ascontiguousarray(super()._rows(X, reset=reset), np.float64)

    def _factors(self, rows: Float64s, weights: Float64s) -> Float64s:
        """Return the learning rates of the rows, relative to those of the steps."""
        return weights

    def _answers(self, X: Any) -> Float64s:
        check_is_fitted(self)
        return np.asarray(self._respond(self._rows(X, reset=False)))

    def _loaded(self) -> None:
        """Check values from a file."""
        self._check()
        if self._begun and self._sizes() != (self.n_features_in_, self._n_units):
            raise ValueError(f"{self._sizes()} inputs and outputs do not match the data.")


@storable(classes_="names classes")
class Classifying(ClassifierMixin, SupervisedNeurons):  # type: ignore[misc, unused-ignore]
    """Neurons whose targets are classes. The first chunk names all of them."""

    classes_: NDArray[Any]
    #: A single unit answers with the second class above this response.
    _threshold: ClassVar[float] = 0.0

    @learns_rows
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from one pass over a chunk of rows, in their order.

        The result does not depend on the chunking.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The rows.
        y : array-like of shape (n,)
            The class of each row.
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream. The first call needs them.
        sample_weight : array-like of shape (n,), default=None
            A row of weight c takes steps c times as long. Rows of weight zero are ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._continue(X, y, sample_weight, classes)

    @maps_streams
    def predict(self, X: Any) -> Any:
        """Return the class of the unit with the largest response.

        Two classes have one unit, whose sign decides.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.

        Returns
        -------
        array of shape (n,)
            The classes.
        """
        answers = self._answers(X)
        return self.classes_[self._winners(answers)]

    def _winners(self, answers: Float64s) -> NDArray[np.int64]:
        """Return the indices of the classes with the largest responses."""
        if answers.shape[1] == 1:
            return (answers[:, 0] > self._threshold).astype(np.int64)
        return np.asarray(answers.argmax(axis=1), np.int64)

    @property
    def _n_units(self) -> int:
        n = len(self.classes_)
        return n if n > 2 else n - 1

    def _labels(self, y: Any) -> NDArray[Any]:
        checks.check_unmasked(y, "y")
        labels = column_or_1d(y, warn=True)
        return checks.check_names(labels, "y", len(labels))

    def _note_targets(self, y: Any) -> None:
        labels = self._labels(y)
        check_classification_targets(labels)
        self.classes_ = np.unique(np.append(vars(self).get("classes_", labels[:0]), labels))

    def _targets(self, y: Any) -> Float64s:
        """Return 1 for the class of each row and 0 for others, in one column for two classes."""
        labels, classes = self._labels(y), self.classes_
        if len(classes) < 2:
            raise ValueError(f"{classes} is only one class. Pass at least two.")
        codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        unseen = np.flatnonzero(classes[codes] != labels)
        if unseen.size:
            raise ValueError(
                f"y holds {labels[unseen].tolist()[0]!r} at row {unseen[0]}, which is none of the "
                f"classes {classes.tolist()!r:.100}. Name all classes in the first call, "
                "partial_fit(X, y, classes=...), or call fit to start again."
            )
        found = np.asarray(codes[:, None] == np.arange(len(classes)), np.float64)
        return found[:, 1:].copy() if len(classes) == 2 else found


@storable(_flat="bool", _targets_="int=targets")
class Regressing(RegressorMixin, SupervisedNeurons):  # type: ignore[misc, unused-ignore]
    """Neurons whose targets are numbers, (rows, targets) or (rows,)."""

    _targets_: int

    @learns_rows
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one pass over a chunk of rows, in their order.

        The result does not depend on the chunking.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The rows.
        y : array-like of shape (n,) or (n, n_targets)
            The targets.
        sample_weight : array-like of shape (n,), default=None
            A row of weight c takes steps c times as long. Rows of weight zero are ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._continue(X, y, sample_weight)

    @maps_streams
    def predict(self, X: Any) -> Float64s:
        """Return the responses of the units.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.

        Returns
        -------
        array of shape (n,) or (n, n_targets)
            The responses, in the shape of the targets.
        """
        found = self._answers(X)
        return found[:, 0] if self._flat else found

    @property
    def _n_units(self) -> int:
        return self._targets_

    def _note_targets(self, y: Any) -> None:
        given = checks.real_array(y, "y")
        self._flat, self._targets_ = given.ndim == 1, int(given[:1].size)

    def _targets(self, y: Any) -> Float64s:
        given = checks.real_array(y, "y").astype(np.float64)
        targets = np.ascontiguousarray(given.reshape(len(given), -1))
        checks.check_finite(targets, name="y")
        if given.ndim > 2 or targets.shape[1] != self._targets_:
            raise ValueError(
                f"y has shape {given.shape}, and learning began with {self._targets_} targets a "
                "row. Give the same number, or call fit to start again."
            )
        return targets

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def next_order(order: Any, n_rows: int, random: Any) -> NDArray[np.int64]:
    """Return the order of the next rows, drawn as scikit-learn's neural networks do.

    ``order`` is the last one. Without a random state the rows keep their order.

    >>> next_order(np.arange(0), 3, None)
    array([0, 1, 2])
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


def target_spread(start: Start) -> tuple[Float64s, float]:
    """Return the mean of the targets, and their mean squared distance from it.

    >>> y = np.array([[1.0], [3.0]])
    >>> target_spread(lambda: [Block(np.eye(2), y, np.ones(2), np.ones(2))])
    (array([2.]), 1.0)
    """
    total = sum(float(block.weights.sum()) for block in start())
    mean = np.asarray(sum(block.weights @ block.targets for block in start())) / total
    squares = sum(block.weights @ (block.targets - mean) ** 2 for block in start())
    return mean, float(np.sum(squares)) / total
