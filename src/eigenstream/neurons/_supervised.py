"""The base of neurons that learn from rows with targets."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from eigenstream._checks import (
    check_finite,
    check_flag,
    check_names,
    check_number,
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
from eigenstream.schedules import Auto, Schedule, as_schedule

__all__ = ["Classifying", "Regressing", "SupervisedNeurons", "orders", "plain", "rates_of"]

#: Parameters that only ``fit`` reads. They may change between two chunks.
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

    max_iter: int
    shuffle: bool
    history_every: int | None
    random_state: Any
    history_: list[Any]
    #: The parameters that learning began with; none before.
    _begun: Mapping[str, Any] = MappingProxyType({})

    def _check(self) -> None:
        """Check the parameters."""
        check_whole(self.max_iter, "max_iter")
        check_flag(self.shuffle, "shuffle")
        if self.history_every is not None:
            check_whole(self.history_every, "history_every")
        given = self.get_params(deep=False)
        if "schedule" in given:
            rates_of(given["schedule"])
            check_number(given["tol"], "tol", least=0)
            check_whole(given["n_iter_no_change"], "n_iter_no_change")

    def _read_targets(self, y: Any, weights: Float64s, first: bool) -> Any:
        """Return the targets of the units; ``classes_`` are known except in a first ``fit``."""
        raise NotImplementedError

    def _passes(self, rows: Float64s, targets: Any, weights: Float64s) -> None:
        """Learn from all rows, pass by pass."""
        raise NotImplementedError

    def _chunk(self, rows: Float64s, targets: Any, weights: Float64s, first: bool) -> None:
        """Learn from a chunk that follows those before it."""
        raise NotImplementedError

    def _sizes(self) -> tuple[int, int]:
        """Return the numbers of inputs and of outputs."""
        raise NotImplementedError

    @fits_streams
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from passes over the rows until they no longer improve, or ``max_iter`` passes.

        Parameters
        ----------
        X : array-like of shape (n, D), or a stream of ``eigenstream.open_stream``
        y : array-like of shape (n,), or (n, targets) for numbers
            A stream may have labels or targets itself.
        sample_weight : array-like of shape (n,), optional
            A row of weight c takes steps c times as long. Rows of weight zero are ignored.
        """
        with unchanged_on_error(self):
            self._check()
            self._note_parameters()
            self._passes(*self._checked(X, y, sample_weight, first=True))
        return self

    def _continue(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        """Learn from one chunk; rows that all weigh zero change nothing."""
        if sample_weight is not None and not np.any(sample_weight):
            return self
        with unchanged_on_error(self):
            self._check()
            first = not self.__sklearn_is_fitted__()
            if first:
                self._note_parameters()
            else:
                check_unchanged(self._begun, vars(self))
            if isinstance(self, Classifying):
                self._name_classes(classes, first)
            self._chunk(*self._checked(X, y, sample_weight, first), first)
        return self

    def _note_parameters(self) -> None:
        given = self.get_params(deep=False)
        self._begun = {k: v for k, v in given.items() if k not in OF_FIT}
        if isinstance(self, Classifying):
            self.__dict__.pop("classes_", None)

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, first: bool
    ) -> tuple[Float64s, Any, Float64s]:
        """Return the rows, the targets and the weights."""
        rows = self._rows(X, reset=first)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Give "
                "one label or number a row, or a stream with open_stream(..., labels=...)."
            )
        n = len(rows)
        weights = np.ones(n) if sample_weight is None else check_weights(sample_weight, n).copy()
        if not weights.any():
            raise ValueError("sample_weight is zero for every row. Give some rows a weight.")
        return rows, self._read_targets(y, weights, first), weights

    def _rows(self, X: Any, *, reset: bool) -> Float64s:
        """Return the rows as float64, contiguous in memory."""
        rows = validated_rows(self, X, reset=reset)
        check_finite(rows)
        return np.ascontiguousarray(rows, np.float64)

    def _loaded(self) -> None:
        """Check values that were read from a file."""
        self._check()
        if self._begun:
            classes = getattr(self, "classes_", None)
            n_units = getattr(self, "_targets_", 0) if classes is None else len(classes)
            if classes is not None and n_units < 3:
                n_units -= 1
            if n_units < 1 or self._sizes() != (self.n_features_in_, n_units):
                raise ValueError(f"{self._sizes()} inputs and outputs do not fit to the data.")

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether there is anything to read."""
        return bool(self._begun)

    def _begin_history(self, first: bool) -> None:
        """Start a list, or copy it: after an error the old one is unchanged."""
        if self.history_every is not None:
            self.history_ = [] if first else list(self.history_)

    def _record(self, steps: int, weights: Callable[[], tuple[Any, Any]]) -> None:
        if self.history_every is not None and steps % self.history_every == 0:
            self.history_.append((steps, *weights()))

    def _stretches(self, done: int, steps: int) -> Iterator[tuple[int, int]]:
        """Cut ``steps`` more steps where the history is recorded; as (from, to), from 0."""
        every, at = self.history_every or done + steps, 0
        while at < steps:
            end = min(at + every - (done + at) % every, steps)
            yield at, end
            at = end


@storable(classes_="names classes")
class Classifying(ClassifierMixin, SupervisedNeurons):  # type: ignore[misc, unused-ignore]
    """Neurons whose targets are classes, fixed when learning begins."""

    classes_: NDArray[Any]

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Continue with one pass over a chunk, in its order; any chunking gives the same.

        The first call needs ``classes``, all labels that will ever come. A chunk whose rows all
        weigh zero changes nothing.
        """
        return self._continue(X, y, sample_weight, classes)

    def _targets(self, codes: Any) -> Any:
        """Return the targets of the units."""
        raise NotImplementedError

    def _one_column_a_unit(self, codes: Any) -> Float64s:
        """Return 1 for a row's own class and 0 for others; of two classes, one column."""
        if len(self.classes_) == 2:
            return np.asarray(codes == 1, np.float64)[:, None]
        return np.asarray(codes[:, None] == np.arange(len(self.classes_)), np.float64)

    def _read_targets(self, y: Any, weights: Float64s, first: bool) -> Any:
        check_unmasked(y, "y")
        labels = column_or_1d(y, warn=True)
        check_consistent_length(weights, labels)
        if labels.dtype.kind == "f":
            check_finite(labels[:, None], name="y")
        labels = check_names(labels, "y", len(labels))
        if first and labels.dtype.kind not in "biuUS":
            check_classification_targets(labels)
        if not hasattr(self, "classes_"):
            if len(np.unique(labels[weights > 0])) < 2:
                raise ValueError("y names one class only. Give rows of at least two classes.")
            self.classes_ = np.unique(labels)
        return self._targets(self._codes(labels))

    def _codes(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Return the places of the labels among the classes."""
        classes = self.classes_
        if (labels.dtype.kind in "US") != (classes.dtype.kind in "US"):
            raise ValueError(
                f"y holds {plain(labels[0])!r}, and the classes are such as {plain(classes[0])!r}: "
                "text and numbers name different classes. Use one kind throughout."
            )
        codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        unseen = np.flatnonzero(classes[codes] != labels)
        if unseen.size:
            raise ValueError(
                f"y holds {plain(labels[unseen[0]])!r} at row {unseen[0]}, which is none of the "
                f"classes {classes.tolist()!r:.100}. Name all classes in the first call, "
                "partial_fit(X, y, classes=...), or call fit to start again."
            )
        return codes.astype(np.int64)

    def _name_classes(self, classes: Any, first: bool) -> None:
        """Take the classes that the first ``partial_fit`` names, or compare later ones."""
        if classes is None and not first:
            return
        if classes is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit: all labels that will "
                "ever come, such as np.unique(y)."
            )
        named = np.unique(check_names(classes, "classes", np.size(classes)))
        if len(named) < 2:
            raise ValueError("classes names one class only. Name at least two.")
        if first:
            self.classes_ = named
        elif not np.array_equal(named, self.classes_):
            raise ValueError(
                f"classes={named.tolist()!r} comes too late: learning began with "
                f"{self.classes_.tolist()!r}. Leave it out, or call fit to start again."
            )


@storable(_flat="bool", _targets_="int=targets")
class Regressing(RegressorMixin, SupervisedNeurons):  # type: ignore[misc, unused-ignore]
    """Neurons whose targets are numbers, (rows, targets) or (rows,)."""

    _targets_: int

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Continue with one pass over a chunk, in its order; any chunking gives the same.

        A chunk whose rows all weigh zero changes nothing.
        """
        return self._continue(X, y, sample_weight)

    def _read_targets(self, y: Any, weights: Float64s, first: bool) -> Float64s:
        values = real_array(y, "y").astype(np.float64)
        if values.ndim not in (1, 2):
            raise ValueError(f"y must have one or two dimensions, got shape {values.shape}.")
        check_consistent_length(weights, values)
        targets = np.ascontiguousarray(values.reshape(len(values), -1))
        check_finite(targets, name="y")
        if first:
            self._flat, self._targets_ = values.ndim == 1, targets.shape[1]
        elif targets.shape[1] != self._targets_:
            raise ValueError(
                f"y has {targets.shape[1]} targets a row instead of {self._targets_}. Give "
                f"{self._targets_}, or call fit to start again."
            )
        return targets

    def _shaped(self, found: Float64s) -> Float64s:
        """Return answers, one column a target, in the shape that the targets had."""
        return found[:, 0] if self._flat else found

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


def rates_of(schedule: Any) -> Schedule:
    """Return the schedule that a number, a schedule or a function stands for.

    >>> rates_of(0.1)
    Constant(c=0.1)
    """
    found = as_schedule(schedule)
    if isinstance(found, Auto):
        raise ValueError(
            f"schedule={schedule!r} depends on the responses of Hebbian units. Give a number, "
            "another schedule of eigenstream.schedules or a function of the step number."
        )
    return found


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
