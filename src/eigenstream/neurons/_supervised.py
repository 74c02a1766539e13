"""What the neurons with a teacher share: rows and targets checked, passes, history."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from eigenstream._checks import (
    check_finite,
    check_names,
    check_unchanged,
    check_unmasked,
    check_weights,
    check_whole,
    real_array,
)
from eigenstream._linalg import Float64s
from eigenstream._refusals import unchanged_on_error
from eigenstream._rows import validated_rows
from eigenstream._storable import FITTED, storable
from eigenstream._streams import fits_streams
from eigenstream.neurons._rates import constant_of
from eigenstream.schedules import Auto, Schedule, as_schedule

__all__ = ["Classifying", "Regressing", "SupervisedNeurons", "orders", "plain", "rates_of"]


#: What concerns ``fit`` alone, so that it may change between two chunks.
OF_FIT = (
    *("max_iter", "tol", "shuffle", "n_iter_no_change", "random_state"),
    *("early_stopping", "validation_fraction"),
)


@storable(
    **FITTED,
    _begun="dict",
    n_iter_="int",
    converged_="bool",
    history_="list?",
    loss_curve_="list[number]?",
)
class SupervisedNeurons(BaseEstimator):
    """Base of the neurons that learn from rows with targets, one example after the other."""

    history_every: int | None
    random_state: Any
    #: The parameters that learning began with; none before.
    _begun: Mapping[str, Any] = MappingProxyType({})

    def _check(self) -> None:
        """Refuse parameters that make no sense."""
        raise NotImplementedError

    def _passes(self, rows: Float64s, targets: Any, weights: Float64s) -> None:
        """Learn from all rows, pass by pass."""
        raise NotImplementedError

    def _chunk(self, rows: Float64s, targets: Any, weights: Float64s, first: bool) -> None:
        """Learn from a chunk that follows those before it."""
        raise NotImplementedError

    def _note_parameters(self) -> None:
        """Check the parameters and remember those that learning begins with."""
        self._check()
        given = self.get_params(deep=False)
        self._begun = {k: v for k, v in given.items() if k not in OF_FIT}

    def _begin(self) -> bool:
        """Do so before a first chunk, and see that nothing changed before others; say which."""
        if not self.__sklearn_is_fitted__():
            self._note_parameters()
            return True
        self._check()
        check_unchanged(self._begun, vars(self))
        return False

    def _loaded(self) -> None:
        """Check what was read from a file."""
        self._check()
        if self._begun:
            classes = getattr(self, "classes_", None)
            targets = getattr(self, "_targets_", None) if classes is None else len(classes)
            n_units = targets if classes is None or targets != 2 else 1
            if classes is not None and len(classes) < 2:
                raise ValueError("there are no two classes.")
            if self._sizes() != (self.n_features_in_, n_units):
                raise ValueError(f"{self._sizes()} inputs and outputs do not fit to the data.")

    def _sizes(self) -> tuple[int, int]:
        """Return the numbers of inputs and of outputs."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether there is anything to read."""
        return bool(self._begun)

    def _rows(self, X: Any, *, reset: bool) -> Float64s:
        """Return rows as they are learned: float64, one behind the other in memory."""
        rows = validated_rows(self, X, reset=reset)
        check_finite(rows)
        return np.ascontiguousarray(rows, np.float64)

    def _needed(self, y: Any, what: str) -> None:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give "
                f"one {what} a row, or of a stream their column, open_stream(..., labels=...)."
            )

    @staticmethod
    def _as_many(values: Any, n_rows: int) -> None:
        if len(values) != n_rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows "
                f"and y has {len(values)}."
            )

    @staticmethod
    def _weights(sample_weight: Any, n_rows: int) -> Float64s:
        if sample_weight is None:
            return np.ones(n_rows)
        weights = check_weights(sample_weight, n_rows)
        if not weights.any():
            raise ValueError(
                "sample_weight is zero for every row, so that there is nothing to learn from. Give "
                "some rows a weight, or leave it out."
            )
        return np.array(weights)

    def _check_history(self) -> None:
        if self.history_every is not None:
            check_whole(self.history_every, "history_every")

    def _stretches(self, done: int, steps: int) -> Iterator[tuple[int, int]]:
        """Cut ``steps`` more steps where the history is due; as (from, to), counted from 0."""
        every, at = self.history_every or steps, 0
        while at < steps:
            end = min(at + every - (done + at) % every, steps) if self.history_every else steps
            yield at, end
            at = end


@storable(classes_="names classes")
class Classifying(ClassifierMixin, SupervisedNeurons):  # type: ignore[misc, unused-ignore]
    """Labels as codes; classes fixed when learning begins."""

    classes_: NDArray[Any]

    @fits_streams
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from passes over the rows until these teach no more, or ``max_iter`` passes.

        Parameters
        ----------
        X : array-like of shape (n, D), or a stream of ``eigenstream.open_stream``
        y : array-like of shape (n,)
            Labels of two classes or more; a stream may have them itself.
        sample_weight : array-like of shape (n,), optional
            A row of weight c takes steps c times as long; one of weight zero teaches nothing.
        """
        with unchanged_on_error(self):
            self._note_parameters()
            rows, codes, weights = self._first(X, y, sample_weight)
            self._passes(rows, self._targets(codes), weights)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Continue with one pass over a chunk, in its order; any chunking gives the same.

        ``classes`` names all labels that will ever come, in the first call. A chunk whose rows all
        weigh zero changes nothing.
        """
        if sample_weight is not None and not np.any(sample_weight):
            return self
        with unchanged_on_error(self):
            first = self._begin()
            rows, codes, weights = self._next(X, y, classes, sample_weight, first)
            self._chunk(rows, self._targets(codes), weights, first)
        return self

    def _targets(self, codes: Any) -> Any:
        """Return what the units are to answer."""
        raise NotImplementedError

    def _first(self, X: Any, y: Any, sample_weight: Any) -> tuple[Float64s, Any, Float64s]:
        """Return the rows of a fit, their codes and weights; the labels are the classes."""
        rows = self._rows(X, reset=True)
        labels = self._labels(y, len(rows), new=True)
        weights = self._weights(sample_weight, len(rows))
        return rows, self._first_codes(labels, weights), weights

    def _next(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool
    ) -> tuple[Float64s, Any, Float64s]:
        """Return the rows of a chunk, their codes and weights."""
        rows = self._rows(X, reset=first)
        labels = self._labels(y, len(rows), new=first)
        self._stream_classes(classes, first)
        codes = self._codes(labels, self.classes_)
        return rows, codes, self._weights(sample_weight, len(rows))

    def _labels(self, y: Any, n_rows: int, *, new: bool) -> NDArray[Any]:
        self._needed(y, "class label")
        if type(y) is np.ndarray and y.ndim == 1:
            labels = y
        else:
            check_unmasked(y, "y")
            labels = column_or_1d(y, warn=True)
        if labels.dtype.kind == "f":
            check_finite(labels[:, None], name="y")
        self._as_many(labels, n_rows)
        labels = check_names(labels, "y", len(labels))
        # Whole numbers and text are labels always; later ones are compared with the classes.
        if labels.dtype.kind not in "biuUS" and new:
            check_classification_targets(labels)
        return np.asarray(labels)

    def _codes(self, labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
        """Return the places of the labels among the classes, refusing unknown ones."""
        if (labels.dtype.kind in "US") != (classes.dtype.kind in "US"):
            raise ValueError(
                f"y holds {plain(labels[0])!r}, and the classes are such as {plain(classes[0])!r}: "
                "text and numbers name different classes. Use one kind throughout."
            )
        codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        unseen = np.flatnonzero(classes[codes] != labels)
        if unseen.size:
            stranger = plain(labels[unseen[0]])
            raise ValueError(
                f"y holds {stranger!r} at row {unseen[0]}, which is none of the classes that "
                f"learning began with ({', '.join(map(repr, classes[:5].tolist()))}"
                f"{', ...' if len(classes) > 5 else ''}). Name all classes in the first call, "
                "partial_fit(X, y, classes=...), or call fit to start anew."
            )
        return codes.astype(np.int64)

    def _first_codes(self, labels: NDArray[Any], weights: Float64s) -> NDArray[np.int64]:
        """Find the classes in the labels; refuse what names fewer than two."""
        found = np.unique(labels)
        taught = np.unique(labels[weights > 0])
        if len(taught) < 2:
            raise ValueError(
                f"y names one class only ({plain(taught[0])!r}), and a classifier needs rows of at "
                "least two classes."
            )
        self.classes_ = found
        return self._codes(labels, found)

    def _stream_classes(self, classes: Any, first: bool) -> None:
        """Take the classes that the first call of ``partial_fit`` names, or check later ones."""
        if classes is None:
            if first:
                raise ValueError(
                    "classes must be passed on the first call to partial_fit: all labels that will "
                    "ever come, such as np.unique(y)."
                )
            return
        named = np.unique(check_names(classes, "classes", np.size(classes)))
        if not first:
            if not np.array_equal(named, self.classes_):
                raise ValueError(
                    f"classes={named.tolist()!r} comes too late: learning began with "
                    f"{self.classes_.tolist()!r}. Leave it out, or call fit to start anew."
                )
        elif len(named) < 2:
            raise ValueError(
                f"classes names one class only ({plain(named[0])!r}), and a classifier needs two "
                "or more."
            )
        else:
            self.classes_ = named


@storable(_flat="bool", _targets_="int=targets")
class Regressing(RegressorMixin, SupervisedNeurons):  # type: ignore[misc, unused-ignore]
    """Targets as numbers, (rows, targets); of one dimension if they came so."""

    _targets_: int

    @fits_streams
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from passes over the rows until these teach no more, or ``max_iter`` passes.

        Parameters
        ----------
        X : array-like of shape (n, D), or a stream of ``eigenstream.open_stream``
        y : array-like of shape (n,) or (n, targets)
            A stream may have targets itself, one a row.
        sample_weight : array-like of shape (n,), optional
            A row of weight c takes steps c times as long; one of weight zero teaches nothing.
        """
        with unchanged_on_error(self):
            self._note_parameters()
            self._passes(*self._first(X, y, sample_weight))
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Continue with one pass over a chunk, in its order; any chunking gives the same.

        A chunk whose rows all weigh zero changes nothing.
        """
        if sample_weight is not None and not np.any(sample_weight):
            return self
        with unchanged_on_error(self):
            first = self._begin()
            self._chunk(*self._next(X, y, sample_weight, first), first)
        return self

    def _first(self, X: Any, y: Any, sample_weight: Any) -> tuple[Float64s, Float64s, Float64s]:
        """Return the rows of a fit or a first chunk, their targets and weights."""
        rows = self._rows(X, reset=True)
        self._flat = real_array(y, "y").ndim == 1 if y is not None else True
        targets = self._numbers(y, len(rows))
        self._targets_ = targets.shape[1]
        return rows, targets, self._weights(sample_weight, len(rows))

    def _next(
        self, X: Any, y: Any, sample_weight: Any, first: bool
    ) -> tuple[Float64s, Float64s, Float64s]:
        """Return the rows of a chunk, their targets and weights."""
        if first:
            return self._first(X, y, sample_weight)
        rows = self._rows(X, reset=False)
        targets = self._numbers(y, len(rows))
        if targets.shape[1] != self._targets_:
            raise ValueError(
                f"y has {targets.shape[1]} targets a row, and {self._targets_} were learned. Give "
                "as many, or call fit to start anew."
            )
        return rows, targets, self._weights(sample_weight, len(rows))

    def _shaped(self, found: Any) -> Any:
        """Return answers, one column a target, in the shape that the targets had."""
        return found[:, 0] if self._flat else found

    def _numbers(self, y: Any, n_rows: int) -> Float64s:
        """Return the targets of a regression, (rows, targets)."""
        self._needed(y, "number")
        values = real_array(y, "y").astype(np.float64)
        if values.ndim not in (1, 2):
            raise ValueError(f"y must have one or two dimensions, got shape {values.shape}.")
        values = values.reshape(len(values), -1)
        check_finite(values, name="y")
        self._as_many(values, n_rows)
        return np.ascontiguousarray(values)

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def plain(label: Any) -> Any:
    """Return a label as Python writes it.

    >>> plain(np.int64(3))
    3
    """
    return label.item() if isinstance(label, np.generic) else label


#: What says how long steps are.
RATES = (
    "a number, a schedule of eigenstream.schedules (Constant, Power, Exponential) or a function of "
    "the step number"
)


def rates_of(schedule: Any) -> Schedule:
    """Return the schedule that a number, a schedule or a function stands for.

    >>> rates_of(0.1)
    Constant(c=0.1)
    """
    if isinstance(schedule, Auto) or (isinstance(schedule, str) and schedule == "auto"):
        raise ValueError(
            f"schedule={schedule!r} goes by the responses of Hebbian units. Give {RATES}."
        )
    schedule = constant_of(schedule)
    if not isinstance(schedule, Schedule | type) and not callable(schedule):
        raise TypeError(f"schedule must be {RATES}, got {schedule!r}.")
    return as_schedule(schedule)


def orders(n_rows: int, shuffled: bool, random: Any) -> Iterator[NDArray[np.int64]]:
    """Yield the order of the rows in each pass; drawn as scikit-learn's neural networks do.

    >>> next(orders(3, False, None))
    array([0, 1, 2])
    """
    order = np.arange(n_rows)
    while True:
        if shuffled:
            places = np.arange(n_rows)
            random.shuffle(places)
            order = order[places]
        yield order
