"""Targets of the neurons, which are classes or numbers, and units with one weight a column."""

from typing import ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from eigenstream.core import checks
from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import storable
from eigenstream.core.types import Array, Constraints, LabelsLike, RowsLike, Values, WeightsLike
from eigenstream.neurons._base import SupervisedNeurons
from eigenstream.rows.prepared import learns_rows, maps_streams


@storable(classes_="names classes")
class Classifying(ClassifierMixin, SupervisedNeurons):  # type: ignore[misc, unused-ignore]
    """Neurons whose targets are classes. The first chunk names all of them.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels, sorted.
    """

    classes_: Array
    #: The target of a unit for rows of other classes than its own, which have the target 1.
    _other_target: ClassVar[float] = -1.0

    @learns_rows
    def partial_fit(
        self,
        X: RowsLike,
        y: LabelsLike = None,
        classes: LabelsLike = None,
        sample_weight: WeightsLike = None,
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

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import Perceptron
        >>> X, y = load_iris(return_X_y=True)
        >>> model = Perceptron()
        >>> for rows in range(0, 50, 10):
        ...     chunk = slice(rows, None, 50)
        ...     model = model.partial_fit(X[chunk], y[chunk], classes=[0, 1, 2])
        >>> model.n_steps_
        15
        """
        return self._learn_rows(X, y, sample_weight, classes)

    @maps_streams
    def predict(self, X: RowsLike) -> Array:
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

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import Perceptron
        >>> X, y = load_iris(return_X_y=True)
        >>> Perceptron(random_state=0).fit(X, y > 0).predict(X[::30])
        array([False, False,  True,  True,  True])
        """
        answers = self._answers(X)
        codes: Array = answers.argmax(axis=1)
        if answers.shape[1] == 1:
            codes = (answers[:, 0] > 0.5 * (self._other_target + 1.0)).astype(np.int64)
        return self.classes_[codes]

    @maps_streams
    def decision_function(self, X: RowsLike) -> Float64s:
        """Return the responses of the units.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.

        Returns
        -------
        array of shape (n,) for two classes, or (n, n_classes)
            The responses. For two classes, positive values stand for the second one.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import Perceptron
        >>> X, y = load_iris(return_X_y=True)
        >>> model = Perceptron(random_state=0).fit(X, y > 0)
        >>> model.decision_function(X[::50]) > 0
        array([False,  True,  True])
        """
        responses = self._answers(X)
        return responses[:, 0] if responses.shape[1] == 1 else responses

    @property
    def _n_units(self) -> int:
        n = len(self.classes_)
        return n if n > 2 else n - 1

    def _note(self, y: LabelsLike) -> None:
        labels = labels_of(y)
        check_classification_targets(labels)
        self.classes_ = np.unique(np.append(vars(self).get("classes_", labels[:0]), labels))

    def _coded(self, y: LabelsLike) -> Float64s:
        """Return 1 for the class of each row, one unit in each column; one unit for two classes."""
        labels, classes = labels_of(y), self.classes_
        if len(classes) < 2:
            raise ValueError(f"{classes} is only one class. Pass at least two.")
        codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        unseen = np.flatnonzero(classes[codes] != labels)
        if unseen.size:
            raise ValueError(
                f"y holds {labels[unseen].tolist()[0]!r} at row {unseen[0]}, which is none of the "
                f"classes {classes.tolist()!r:.100}. Name all classes in the first call, "
                f"partial_fit(X, y, classes=...), or call fit to start again."
            )
        targets = np.where(codes[:, None] == np.arange(len(classes)), 1.0, self._other_target)
        return targets[:, 1:].copy() if len(classes) == 2 else targets


def labels_of(y: LabelsLike) -> Array:
    """Return checked labels as an array.

    >>> labels_of(["a", "b"])
    array(['a', 'b'], dtype='<U1')
    """
    checks.check_unmasked(y, "y")
    # The check of a vector takes as long as a step on a single row.
    labels = y if type(y) is np.ndarray and y.ndim == 1 else column_or_1d(y, warn=True)
    return checks.check_names(labels, "y", len(labels))


@storable(_flat="bool", _targets_="int=targets")
class Regressing(RegressorMixin, SupervisedNeurons):  # type: ignore[misc, unused-ignore]
    """Neurons whose targets are numbers, (rows, targets) or (rows,)."""

    _targets_: int

    @learns_rows
    def partial_fit(
        self, X: RowsLike, y: LabelsLike = None, sample_weight: WeightsLike = None
    ) -> Self:
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

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import AdalineRegressor
        >>> X = np.random.default_rng(0).standard_normal((500, 2))
        >>> model = AdalineRegressor().partial_fit(X, X @ [1.0, 2.0])
        >>> model.n_steps_
        500
        """
        return self._learn_rows(X, y, sample_weight)

    @maps_streams
    def predict(self, X: RowsLike) -> Float64s:
        """Return the responses of the units.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.

        Returns
        -------
        array of shape (n,) or (n, n_targets)
            The responses, in the shape of the targets.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import AdalineRegressor
        >>> X = np.random.default_rng(0).standard_normal((500, 2))
        >>> neuron = AdalineRegressor(random_state=0).fit(X, X @ [1.0, 2.0])
        >>> neuron.predict([[1, 1]]).round(1)
        array([3.])
        """
        answers = self._answers(X)
        return answers[:, 0] if self._flat else answers

    @property
    def _n_units(self) -> int:
        return self._targets_

    def _note(self, y: LabelsLike) -> None:
        targets = checks.real_array(y, "y")
        self._flat, self._targets_ = targets.ndim == 1, int(targets[:1].size)

    def _coded(self, y: LabelsLike) -> Float64s:
        targets = checks.real_array(y, "y").astype(np.float64)
        columns = np.ascontiguousarray(targets.reshape(len(targets), -1))
        checks.check_finite(columns, name="y")
        if targets.ndim > 2 or columns.shape[1] != self._targets_:
            raise ValueError(
                f"y has shape {targets.shape}, and learning began with {self._targets_} targets a "
                "row. Give the same number, or call fit to start again."
            )
        return columns

    def __sklearn_tags__(self) -> Tags:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@storable()
class LinearUnits(SupervisedNeurons):
    """Base of perceptron and Adaline: one unit, or one a class or a target.

    The last input is 1, or 0 without intercept. Its weight is the intercept.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Learn an intercept.
    max_iter : int, default=1000
        The largest number of passes of ``fit``.
    """

    _parameter_constraints: ClassVar[Constraints] = {"fit_intercept": ["boolean"]}

    fit_intercept: bool
    #: The means and deviations of the columns that the fit of an Adaline has standardised, or None.
    _columns: Float64s | None = None

    def _weights(self) -> Float64s:
        """Return a copy of the weights of the rows, one unit in each row, intercepts last."""
        return np.array(self._units)

    def _inputs(self, rows: RowsLike) -> Float64s:
        last = np.full(rows.shape[0], float(self.fit_intercept))
        return np.column_stack([super()._inputs(rows), last])

    def _loaded(self) -> None:
        if self._begun and len(self._weights()) != self._n_units:
            raise ValueError(f"{len(self._weights())} units do not match the targets.")

    def _parts(self) -> tuple[Float64s, Float64s]:
        weights = self._weights()
        return weights[:, :-1], weights[:, -1]

    @property
    def coef_(self) -> Float64s:
        """The weights, one unit in each row. A vector for a single target."""
        return self._predicting()[..., :-1]

    @property
    def intercept_(self) -> Values:
        """The intercepts, one for each unit."""
        return self._predicting()[..., -1]

    def _predicting(self) -> Float64s:
        check_is_fitted(self)
        weights = self._weights()
        return weights[0] if vars(self).get("_flat") else weights

    def _respond(self, rows: Float64s) -> Float64s:
        return rows @ self._weights().T
