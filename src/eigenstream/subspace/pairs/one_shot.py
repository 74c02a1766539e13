"""Classification from one example of each class, with an undecided label."""

from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_finite, check_number
from eigenstream.core.documented import Documented
from eigenstream.core.linalg import Float64s
from eigenstream.core.storable import FITTED, storable
from eigenstream.core.types import Array, LabelsLike, RowsLike
from eigenstream.rows.door import all_rows, labelled_stream, name_columns, validated
from eigenstream.rows.guard import publishes
from eigenstream.rows.prepared import (
    fits_dask,
    forget_source,
    maps_streams,
    note_source,
)
from eigenstream.subspace.pairs.pair_input import checked_labels


@storable(**FITTED, examples_="f8 n D?", classes_="names c?", _codes="i8 n?")
class ThresholdClassifier(ClassifierMixin, Documented):
    """Classifier by the distance to a few examples of each class [1]_.

    ``predict`` returns the class of the nearest example. ``decide`` compares the distance to each
    class with the threshold. After a learned subspace, one example per class may be enough.

    Parameters
    ----------
    threshold : float, optional
        The distance from which on a row does not belong to a class, such as the ``threshold_`` of
        a PairSubspace. By default infinite.
    undecided : label, optional
        The prediction for rows that are not within the threshold of any example, and for ties
        between classes. By default the nearest class is predicted (the first one of a tie).

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels, sorted.
    examples_ : array of shape (n_examples, n_features)
        The examples given to ``fit``.

    References
    ----------
    .. [1] A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", in
       Subspace, Latent Structure and Feature Selection, LNCS 3940, pp. 185-197, Springer, 2006,
       section 2.

    Examples
    --------
    >>> examples, names = [[0.0], [4.0]], ["a", "b"]
    >>> one_shot = ThresholdClassifier(threshold=1.5, undecided="?").fit(
    ...     examples, names
    ... )
    >>> one_shot.predict([[0.5], [2.0], [3.0], [9.0]]).tolist()
    ['a', '?', 'b', '?']
    >>> one_shot.decide([[1.5], [0.5]]).tolist()  # of type a, of type b?
    [[0, -1], [1, -1]]
    """

    def __init__(self, threshold: float | None = None, *, undecided: object = None) -> None:
        self.threshold = threshold
        self.undecided = undecided

    @fits_dask
    @publishes
    def fit(self, X: RowsLike, y: LabelsLike = None) -> Self:
        """Store the examples, one or more rows of each class.

        Parameters
        ----------
        X : array-like of shape (n_examples, n_features)
            The examples.
        y : array-like of shape (n_examples,)
            Their class labels.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream.subspace import ThresholdClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> ThresholdClassifier().fit(X[::50], y[::50]).predict(X[::30])
        array([0, 0, 1, 1, 2])
        """
        self._limit()
        forget_source(self)
        stream = labelled_stream(X, y, self)
        if stream is not None:
            chunk = all_rows(stream, "fit of ThresholdClassifier")
            self.fit(chunk.rows, chunk.labels)
            name_columns(self, stream)
            note_source(self, stream)
            return self
        self.examples_ = self._finite_rows(X, reset=True)
        labels = checked_labels(self, y, len(self.examples_))
        self._check_undecided(labels)
        self.classes_, self._codes = np.unique(labels, return_inverse=True)
        return self

    @maps_streams
    def distances(self, X: RowsLike) -> Float64s:
        """Return the distance of each row to the nearest example of each class.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The rows.

        Returns
        -------
        array of shape (n, n_classes)
            The distances. The order of the columns is that of ``classes_``.
        """
        check_is_fitted(self)
        rows = self._finite_rows(X, reset=False)
        nearest = np.full((len(rows), len(self.classes_)), np.inf)
        step = max((1 << 22) // len(self.examples_), 1)
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            apart = cdist(rows[part], self.examples_)
            for code in range(len(self.classes_)):
                nearest[part, code] = apart[:, self._codes == code].min(axis=1)
        return nearest

    @maps_streams
    def decide(self, X: RowsLike) -> NDArray[np.int64]:
        """Return +1 (member), -1 (not a member) or 0 (at the threshold) for each row and class.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The rows.

        Returns
        -------
        array of shape (n, n_classes)
            +1, -1 or 0. The order of the columns is that of ``classes_``.
        """
        return np.sign(self._limit() - self.distances(X)).astype(np.int64)

    @maps_streams
    def decision_function(self, X: RowsLike) -> Float64s:
        """Return minus the distance to each class, or the difference of the two for two classes.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The rows.

        Returns
        -------
        array of shape (n, n_classes), or (n,) for two classes
            Larger values mean that the class is more likely.
        """
        distances = self.distances(X)
        if len(self.classes_) == 2:
            return np.asarray(distances[:, 0] - distances[:, 1])
        return -distances

    @maps_streams
    def predict(self, X: RowsLike) -> Array:
        """Return the class of the nearest example, or ``undecided``.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The rows.

        Returns
        -------
        array of shape (n,)
            The labels.
        """
        distances = self.distances(X)
        best = distances.argmin(axis=1)
        names = self.classes_[best]
        if self.undecided is None:
            return np.asarray(names)
        smallest = distances.min(axis=1)
        self._check_undecided(self.classes_)
        undecided = (distances == smallest[:, None]).sum(axis=1) > 1
        undecided |= smallest >= self._limit()
        kind = np.result_type(names.dtype, np.asarray(self.undecided).dtype)
        return np.where(undecided, np.asarray(self.undecided, kind), names.astype(kind))

    def _finite_rows(self, X: RowsLike, *, reset: bool) -> Float64s:
        rows = np.asarray(validated(self, X, reset=reset, sparse=False), np.float64)
        check_finite(rows)
        return rows

    def _limit(self) -> float:
        """Return the checked threshold, infinite by default."""
        if self.threshold is None:
            return np.inf
        return float(check_number(self.threshold, "threshold", above=0))

    def _check_undecided(self, labels: Array) -> None:
        """Raise if ``undecided`` and the labels are not both numbers or both text."""
        if self.undecided is None or labels.dtype == object:
            return
        label = np.asarray(self.undecided)
        if label.ndim > 0 or (label.dtype.kind in "biuf") != (labels.dtype.kind in "biuf"):
            kind = "numbers" if labels.dtype.kind in "biuf" else "text"
            raise ValueError(
                f"undecided={self.undecided!r} does not match the labels, which are {kind}. Pass "
                f"{kind}, too."
            )
