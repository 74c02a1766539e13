"""Decisions, thresholds and risks from a learned distance between pairs."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Hashable
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist, pdist
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_choice, check_number, warn_user
from eigenstream.core.linalg import Float64s, row_squares, unit_rows
from eigenstream.core.types import Array, LabelsLike, Matrix, PairsLike, RowsLike
from eigenstream.evaluation import pair_risk
from eigenstream.evaluation.base import (
    PairCounts,
    counts_of_classes,
    counts_of_pairs,
    distances_of,
    roc_area,
)
from eigenstream.evaluation.pair_risk import rate_interval
from eigenstream.rows.chunk import Places
from eigenstream.rows.door import all_rows, is_stream, labelled_stream
from eigenstream.rows.guard import Guarded, reads
from eigenstream.rows.prepared import prepared, without_steps
from eigenstream.subspace.pairs import pair_input as _pair_input
from eigenstream.subspace.pairs.risks import TrainingPairs, TrainingRows
from eigenstream.theory import RiskBound

#: A relative error of the false-positive rate above which calibration warns.
UNSURE_RATE = 0.5

#: The number of rows of a single class, and of learned rows, whose pairs ``score`` counts. More
#: take time and memory.
MOST_COMPARED = 2000

#: The strategies of ``calibrate_threshold``.
STRATEGIES = ("balanced", "accuracy", "f_beta", "max_tpr", "max_tnr")


class PairDecisions(Guarded):
    """Distances of pairs after a learned map, and decisions by a threshold.

    ``threshold_`` minimises the balanced risk on the training pairs, unless
    ``calibrate_threshold`` sets another one.
    """

    missing: str
    preprocessor: RowsLike = None

    #: All training pairs of a fit after projection, or None if a sample stands for them.
    _trained: TrainingPairs | None = None
    #: The training pairs or rows of a sample, once they are projected: reading sets no attribute.
    _sampled: list[TrainingPairs | TrainingRows]
    #: The threshold of calibrate_threshold.
    _calibrated: float | None = None
    #: The index pairs of the last fit, and the rows that they refer to.
    _learned_pairs: tuple[Places, object] | None = None

    @abstractmethod
    def transform(self, X: RowsLike) -> Matrix:
        """Map rows to the space in which distances are taken."""

    @abstractmethod
    def _affine(self) -> tuple[Float64s, Float64s | float, bool]:
        """Return the matrix and the mean of the map, and True if mapped rows have norm 1."""

    @abstractmethod
    def _training(self) -> TrainingPairs | TrainingRows:
        """Return the training pairs (or rows) after projection, or a sample of them."""

    @abstractmethod
    def _unit(self) -> float:
        """Return an upper bound on the distance within a training pair."""

    @abstractmethod
    def _risk_bound(self, margin: float, delta: float, diameter: float | None) -> RiskBound:
        """Return a bound on the risk on new pairs."""

    @reads
    def _counts(self) -> PairCounts:
        """Return the counts of the training pairs."""
        check_is_fitted(self)
        return self._training().counts

    # ---- distances -------------------------------------------------------------------------

    def pair_distance(self, pairs: PairsLike, *, preprocessor: RowsLike = None) -> Float64s:
        """Return the learned distance |P(x - x')| of each pair.

        Parameters
        ----------
        pairs : array of shape (n, 2, n_features), or index pairs (n, 2) with a ``preprocessor``
            The two rows of each pair, or their row numbers.
        preprocessor : array of shape (m, n_features), optional
            The rows that index pairs refer to. By default those of the estimator.

        Returns
        -------
        array of shape (n,)
            The distances.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import ClassSubspace
        >>> X, y = load_iris(return_X_y=True)
        >>> model = ClassSubspace().fit(X, y)
        >>> near, far = model.pair_distance([[0, 1], [0, 100]], preprocessor=X)
        >>> bool(near < far)
        True
        """
        check_is_fitted(self)
        points = self.preprocessor if preprocessor is None else preprocessor
        if points is None:
            pairs = prepared(self, pairs)
        else:
            points = prepared(self, points)
        width = self.n_features_in_
        chunk = _pair_input.checked_pairs(pairs, None, points, n_features=width)
        return distances_after(without_steps(self), chunk.rows, chunk.pairs)

    def get_mahalanobis_matrix(self) -> Float64s:
        """Return the matrix M of the learned distance, as metric-learn does.

        ``pair_distance`` of x and x' is the root of ``(x - x') @ M @ (x - x')``. With ``features``
        or preprocessing steps, x and x' are the rows after these. Cosine distance has no matrix.

        Returns
        -------
        array of shape (n_features, n_features)
            A positive semidefinite matrix of rank n_components.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import ClassSubspace
        >>> X, y = load_iris(return_X_y=True)
        >>> metric = ClassSubspace(normalize=False).fit(X, y)
        >>> M, apart = metric.get_mahalanobis_matrix(), X[0] - X[1]
        >>> distance = metric.pair_distance(X[None, :2])
        >>> np.allclose(np.sqrt(apart @ M @ apart), distance)
        True
        """
        columns, _, cosine = self._affine()
        if cosine:
            raise ValueError("Cosine distance has no matrix. Fit with normalize=False.")
        return np.asarray(columns @ columns.T, np.float64)

    def get_metric(self) -> Callable[..., float]:
        """Return the learned distance as a function of two rows, as metric-learn does.

        scikit-learn and SciPy take it as ``metric``. It does not change if the estimator learns.

        Returns
        -------
        callable
            ``metric(x, x', squared=False)`` is the distance of two rows of shape (n_features,).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> from eigenstream import ClassSubspace
        >>> X, y = load_iris(return_X_y=True)
        >>> metric = ClassSubspace().fit(X, y).get_metric()
        >>> knn = KNeighborsClassifier(metric=metric).fit(X[::2], y[::2])
        >>> knn.score(X[1::2], y[1::2])
        0.96
        """
        columns, mean, cosine = self._affine()

        def metric(first: ArrayLike, second: ArrayLike, squared: bool = False) -> float:
            rows = np.array([np.ravel(first), np.ravel(second)], np.float64)
            features = (rows - mean) @ columns
            difference = np.subtract(*(unit_rows(features) if cosine else features))
            square = float(difference @ difference)
            return square if squared else float(np.sqrt(square))

        return metric

    # ---- thresholds and risks ----------------------------------------------------------------

    @property
    def threshold_(self) -> float:
        """The distance below which a pair is predicted to be of the same class."""
        if self._calibrated is None:
            return pair_risk.risk_curve(self._counts()).threshold
        return self._calibrated

    def calibrate_threshold(
        self,
        X: RowsLike,
        y: LabelsLike,
        *,
        strategy: str = "balanced",
        min_rate: float = 0.0,
        beta: float = 1.0,
        false_positive_rate: float | None = None,
        preprocessor: RowsLike = None,
    ) -> Self:
        """Set ``threshold_`` from labelled rows or from pairs, preferably held-out ones.

        ``eigenstream.subspace.false_positive_interval`` returns the rate to expect for new classes.
        A warning is raised if its relative error exceeds 0.5, which takes about 30 classes at a
        rate of 0.01, or if the classes were learned from.

        Parameters
        ----------
        X : array of shape (n, n_features), pairs of shape (n, 2, n_features), or index pairs (n, 2)
            Rows, or a stream of rows, stand for all their pairs. Index pairs need a
            ``preprocessor``.
        y : array of shape (n,)
            Class labels of rows. +1 for pairs of the same class, -1 for pairs of different ones.
        strategy : {"balanced", "accuracy", "f_beta", "max_tpr", "max_tnr"}, default="balanced"
            Take the threshold of the least balanced risk, or of the largest accuracy, F-beta
            score, or rate of true positive or of true negative pairs. A pair of the same class is
            positive.
        min_rate : float in [0, 1], default=0.0
            For "max_tpr" the least rate of true negative pairs, for "max_tnr" that of true
            positive pairs.
        beta : float, default=1.0
            The weight of the recall in the F-beta score.
        false_positive_rate : float in [0, 1), optional
            Take the largest threshold at which at most this share of the different pairs is
            predicted to be of the same class. The strategy is then ignored.
        preprocessor : array of shape (m, n_features), optional
            As in ``pair_distance``.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from eigenstream import ClassSubspace
        >>> X, y = load_digits(return_X_y=True)
        >>> model = ClassSubspace().fit(X[y < 5], y[y < 5])
        >>> model = model.calibrate_threshold(X[y > 4], y[y > 4])
        >>> round(model.threshold_, 1)
        8.8
        """
        rate = false_positive_rate
        check_choice(strategy, "strategy", STRATEGIES)
        check_number(min_rate, "min_rate", least=0, most=1)
        check_number(beta, "beta", least=0)
        counts, labelled = self._measured(X, y, preprocessor, both_kinds=rate is None)
        if rate is None and strategy == "balanced":
            threshold = pair_risk.risk_curve(counts).threshold
        elif rate is None:
            threshold = pair_risk.best_threshold(counts, strategy, min_rate, beta)
        else:
            rate = check_number(rate, "false_positive_rate", least=0, below=1)
            threshold = pair_risk.rate_threshold(counts, rate)
            if labelled is not None:
                self._check_rate(*labelled, threshold)
        self._calibrated = threshold
        return self

    def _check_rate(self, Z: Float64s, names: Array, codes: Places, threshold: float) -> None:
        """Warn if the false-positive rate at a threshold may be wrong for new classes."""
        rate = rate_interval(Z, codes, threshold)
        learned = self._learned_classes().intersection(names.tolist())
        if learned:
            warn_user(
                f"{len(learned)} of {rate.n_classes} classes were learned from, so new classes "
                "have a higher false-positive rate. Calibrate with rows of other classes."
            )
        if rate.log_error > UNSURE_RATE:
            low, high = rate.interval
            warn_user(
                f"New classes may have a false-positive rate from {low:.2g} to {high:.2g}, since "
                f"it is estimated from {rate.n_classes} classes. Use rows of more classes."
            )

    def _learned_classes(self) -> set[Hashable]:
        """Return the names of the classes that were learned from, if they are known."""
        return set()

    def score(self, X: RowsLike, y: LabelsLike = None) -> float:
        """Return the ROC area of the distance as a detector of pairs of the same class.

        Parameters
        ----------
        X : array of shape (n, n_features), pairs of shape (n, 2, n_features), or index pairs (n, 2)
            Rows, or a stream of rows, stand for all their pairs.
        y : array of shape (n,)
            Class labels of rows. +1 for pairs of the same class, -1 for pairs of different ones.
            A stream may have its own labels. Rows of a single class, as in folds of sorted rows,
            are also paired with the rows that ``ClassSubspace`` learned from.

        Returns
        -------
        float
            The area, in [0, 1]. Chance gives 0.5.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import ClassSubspace
        >>> X, y = load_iris(return_X_y=True)
        >>> round(ClassSubspace().fit(X[::2], y[::2]).score(X[1::2], y[1::2]), 2)
        0.97
        """
        return roc_area(self._measured(X, y, learned=True)[0])

    def _measured(
        self,
        X: RowsLike,
        y: LabelsLike,
        preprocessor: RowsLike = None,
        *,
        both_kinds: bool = True,
        learned: bool = False,
    ) -> tuple[PairCounts, tuple[Float64s, Array, Places] | None]:
        """Return the counted distances of pairs, and the features and classes of labelled rows.

        With ``learned``, rows that imply one kind of pair only are paired with learned rows, too.
        """
        check_is_fitted(self)
        points = self.preprocessor if preprocessor is None else preprocessor
        labelled, model = None, self
        if is_stream(X):
            chunk = all_rows(labelled_stream(prepared(self, X), y, self), "score")
            X, y, model = chunk.rows, chunk.labels, without_steps(self)
        if points is not None:
            X = _pair_input.rows_of_numbers(X, points)
        indexed = points is not None and np.shape(X)[1] == 2 and np.asarray(X).dtype.kind in "iu"
        if np.ndim(X) == 2 and not indexed:
            labels = _pair_input.checked_labels(self, y, np.shape(X)[0])
            names, codes = np.unique(labels, return_inverse=True)
            Z, codes = np.asarray(model.transform(X), np.float64), codes.astype(np.intp)
            counts, labelled = counts_of_classes(Z, codes, np.zeros_like(codes)), (Z, names, codes)
            trained = self._training() if learned and 0.0 in counts.totals else None
            if isinstance(trained, TrainingRows):
                counts = _counts_with(Z, labels, trained)
        else:
            distances = model.pair_distance(X, preprocessor=points)
            counts = counts_of_pairs(distances, _pair_input.checked_signs(y, len(distances)))
            if np.ndim(X) == 2 and points is self.preprocessor:
                self._check_shared_rows(X)
        n_same, n_different = counts.totals
        if n_different == 0.0 or (both_kinds and n_same == 0.0):
            kind = "different classes" if n_different == 0.0 else "the same class"
            raise ValueError(f"y implies no pair of {kind}. Pass rows or pairs of both kinds.")
        return counts, labelled

    def _check_shared_rows(self, pairs: PairsLike) -> None:
        """Warn if index pairs share rows with the different ones that were learned from."""
        if self._learned_pairs is None or self._learned_pairs[1] is not self.preprocessor:
            return
        learned, index = self._learned_pairs[0], np.asarray(pairs)
        shared = np.isin(index, learned).any(axis=1)
        codes, learned_codes = (np.sort(pair, axis=1) @ [1 << 32, 1] for pair in (index, learned))
        if shared.any() and not np.isin(codes, learned_codes).all():
            warn_user(
                f"{shared.sum()} of {len(index)} pairs share a row with pairs that were learned "
                "from, so they are not held out. Split the rows, or their people, with GroupKFold."
            )


def distances_after(model: PairDecisions, rows: Matrix, pairs: Places | None) -> Float64s:
    """Return the distances of index pairs of rows, or of two rows side by side, after a map."""
    with warnings.catch_warnings():
        # Pairs have no column names, even if the training rows had some.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        if pairs is not None:
            used, index = np.unique(pairs, return_inverse=True)
            mapped, index = model.transform(rows[used]), index.reshape(-1, 2)
            return distances_of(np.asarray(mapped, np.float64), index)
        sides = rows.reshape(len(rows), 2, -1)
        first, second = (np.asarray(model.transform(sides[:, k]), np.float64) for k in (0, 1))
        return np.sqrt(row_squares(first - second))


def _counts_with(Z: Float64s, labels: Array, learned: TrainingRows) -> PairCounts:
    """Return the counted pairs of mapped rows, and of these with learned rows.

    Beyond MOST_COMPARED rows of each kind, every k-th row is used.
    """
    chosen, others = (slice(None, None, len(rows) // MOST_COMPARED + 1) for rows in (Z, learned.Z))
    Z, labels = Z[chosen], labels[chosen]
    first, second = np.triu_indices(len(Z), 1)
    same = [labels[first] == labels[second], (labels[:, None] == learned.labels[others]).ravel()]
    distances = [pdist(Z), cdist(Z, learned.Z[others]).ravel()]
    counts = [np.ones(len(first)), np.tile(learned.weights[others], len(Z))]
    return counts_of_pairs(
        np.concatenate(distances), np.where(np.concatenate(same), 1, -1), np.concatenate(counts)
    )


def signs_below(distances: Float64s, threshold: float) -> NDArray[np.int64]:
    """Return +1 for distances below a threshold, else -1."""
    return np.where(distances < threshold, 1, -1).astype(np.int64)


class FitsPairs(PairDecisions):
    """The scikit-learn methods of a classifier, for estimators that are fitted to pairs."""

    # scikit-learn's metadata routing has no part in the data themselves.
    __metadata_request__decision_function: ClassVar = {"pairs": UNUSED}
    __metadata_request__predict: ClassVar = {"pairs": UNUSED}

    def decision_function(self, pairs: PairsLike) -> Float64s:
        """Return minus the distance of each pair, which is larger for positive pairs.

        Parameters
        ----------
        pairs : array of shape (n, 2, n_features), or index pairs of shape (n, 2)
            The pairs. Index pairs need a ``preprocessor``.

        Returns
        -------
        array of shape (n,)
            The score of each pair, at most 0.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import PairSubspace
        >>> X, y = load_iris(return_X_y=True)
        >>> pairs = np.random.default_rng(0).choice(150, (400, 2))
        >>> signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
        >>> model = PairSubspace(2, preprocessor=X).fit(pairs, signs)
        >>> near, far = model.decision_function([[0, 1], [0, 100]])
        >>> bool(near > far)
        True
        """
        return -self.pair_distance(pairs)

    def predict(self, pairs: PairsLike) -> NDArray[np.int64]:
        """Return +1 (same class) for distances below ``threshold_``, else -1.

        Parameters
        ----------
        pairs : array of shape (n, 2, n_features), or index pairs of shape (n, 2)
            The pairs. Index pairs need a ``preprocessor``.

        Returns
        -------
        array of shape (n,)
            +1 or -1 for each pair.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import PairSubspace
        >>> X, y = load_iris(return_X_y=True)
        >>> pairs = np.random.default_rng(0).choice(150, (400, 2))
        >>> signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
        >>> model = PairSubspace(2, preprocessor=X).fit(pairs, signs)
        >>> model.predict([[0, 1], [0, 100]])
        array([ 1, -1])
        """
        return signs_below(self.pair_distance(pairs), self.threshold_)
