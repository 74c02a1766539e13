"""Classification from one example of each class, with the right to say nothing."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from eigenstream._checks import check_finite, check_number, check_unmasked, unmasked
from eigenstream._linalg import Float64s
from eigenstream._refusals import refuse_unread, unchanged_on_error
from eigenstream._storable import FITTED, storable
from eigenstream._streams import fits_streams, maps_streams


@storable(**FITTED, examples_="f8 n D?", classes_="names c?", _codes="i8 n?")
class ThresholdClassifier(ClassifierMixin, BaseEstimator):
    """Decide by the distance to the examples of each class ([HPCA] section 2).

    Of one example (x, y) alone, a row is of type y if it is nearer than the threshold, not of type
    y if it is farther, and undecided at exactly the threshold. With an example of each class, a row
    takes the class of the nearest example. Behind a learned subspace one example of a class may be
    enough.

    Parameters
    ----------
    threshold : float, optional
        Such as the ``threshold_`` of a PairSubspace; by default nothing is too far.
    undecided : label, optional
        What ``predict`` says of rows that no class decides for: those nearer than the threshold to
        no example, or as near to another class's. By default the nearest class is said anyway
        (of several as near, the first).

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    examples_ : array of shape (n_examples, n_features)

    Examples
    --------
    >>> examples, names = [[0.0], [4.0]], ["a", "b"]
    >>> one_shot = ThresholdClassifier(threshold=1.5, undecided="?").fit(examples, names)
    >>> one_shot.predict([[0.5], [2.0], [3.0], [9.0]]).tolist()
    ['a', '?', 'b', '?']
    >>> one_shot.decide([[1.5], [0.5]]).tolist()  # of type a, of type b?
    [[0, -1], [1, -1]]
    """

    def __init__(self, threshold: float | None = None, *, undecided: Any = None) -> None:
        self.threshold = threshold
        self.undecided = undecided

    @fits_streams
    def fit(self, X: Any, y: Any) -> Self:
        """Remember the examples: one row of each class, or more.

        Parameters
        ----------
        X : array-like of shape (n_examples, n_features)
        y : array-like of shape (n_examples,)
        """
        with unchanged_on_error(self):
            self._limit()
            refuse_unread(X)
            check_unmasked(y, "y")
            rows, labels = validate_data(self, unmasked(X), y, dtype=np.float64)
            check_classification_targets(labels)
            check_finite(rows)
            self._check_undecided(labels)
            self.examples_ = rows
            self.classes_, self._codes = np.unique(labels, return_inverse=True)
        return self

    @maps_streams
    def distances(self, X: Any) -> Float64s:
        """Return the distance of each row to the nearest example of each class."""
        check_is_fitted(self)
        refuse_unread(X)
        rows = validate_data(self, unmasked(X), reset=False, dtype=np.float64)
        check_finite(rows)
        nearest = np.full((len(rows), len(self.classes_)), np.inf)
        step = max((1 << 22) // len(self.examples_), 1)
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            apart = cdist(rows[part], self.examples_)
            for code in range(len(self.classes_)):
                nearest[part, code] = apart[:, self._codes == code].min(axis=1)
        return nearest

    @maps_streams
    def decide(self, X: Any) -> NDArray[np.int64]:
        """Return for each row and class +1 (of the class), -1 (not), or 0 (undecided)."""
        return np.sign(self._limit() - self.distances(X)).astype(np.int64)

    @maps_streams
    def decision_function(self, X: Any) -> Float64s:
        """Return minus the distance to each class; for two classes, the second's lead."""
        distances = self.distances(X)
        if len(self.classes_) == 2:
            return np.asarray(distances[:, 0] - distances[:, 1])
        return -distances

    @maps_streams
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the nearest example, or ``undecided``."""
        distances = self.distances(X)
        best = distances.argmin(axis=1)
        names = self.classes_[best]
        if self.undecided is None:
            return np.asarray(names)
        smallest = distances.min(axis=1)
        self._check_undecided(self.classes_)
        open_ = (distances == smallest[:, None]).sum(axis=1) > 1
        open_ |= smallest >= self._limit()
        kind = np.result_type(names.dtype, np.asarray(self.undecided).dtype)
        return np.where(open_, np.asarray(self.undecided, kind), names.astype(kind))

    def _limit(self) -> float:
        """Return the distance from which on a row is too far."""
        if self.threshold is None:
            return np.inf
        return float(check_number(self.threshold, "threshold", above=0))

    def _check_undecided(self, labels: NDArray[Any]) -> None:
        """Refuse a label that would turn the others into another kind, such as numbers to text."""
        if self.undecided is None or labels.dtype == object:
            return
        own = np.asarray(self.undecided)
        if own.ndim > 0 or (own.dtype.kind in "biuf") != (labels.dtype.kind in "biuf"):
            kind = "numbers" if labels.dtype.kind in "biuf" else "text"
            remedy = "a number, such as -1" if kind == "numbers" else "text, such as '?'"
            raise ValueError(
                f"undecided={self.undecided!r} cannot stand among labels that are {kind}: use "
                f"{remedy}."
            )
