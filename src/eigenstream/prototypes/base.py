"""Base of the estimators with prototypes: steps, passes, nearest prototypes and results."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics.pairwise import nan_euclidean_distances
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_unchanged, check_weights, offered_if
from eigenstream.core.documented import Transforming, documented_by, words
from eigenstream.core.history import History
from eigenstream.core.linalg import Float64s, row_squares
from eigenstream.core.storable import FITTED, storable
from eigenstream.core.types import (
    Array,
    Checkpoint,
    Constraints,
    LabelsLike,
    Matrix,
    RandomState,
    RowsLike,
    Values,
    WeightsLike,
)
from eigenstream.prototypes._competition import Competition, Division
from eigenstream.prototypes._nearest import nearest
from eigenstream.rows.chunk import Chunk, checked_chunk
from eigenstream.rows.door import admitted, as_floats, chunk_of, validated
from eigenstream.rows.fit import KEEPING, Fit, Resumption, fit_of, keeper_of
from eigenstream.rows.guard import Guarded, changes, guard_of, reads
from eigenstream.rows.prepared import fits_rows, learns_rows, maps_back, maps_streams, reads_rows
from eigenstream.rows.rows import Rows

NO_ROWS = "X is empty, or every weight is zero. Pass other rows."
NO_ROWS_LEFT = "Every row has weight zero or a missing value. Pass other rows."

#: Parameters that may change between two calls of partial_fit.
OF_FIT = ("max_iter", "tol", "missing", "random_state")


def _learns_in_steps(self: "PrototypeEstimator") -> None:
    """Raise if the estimator learns in batches."""
    if self._by_passes():
        raise AttributeError(
            "Batch training needs all rows in each pass, so partial_fit is not available. Use fit, "
            "or sequential training."
        )


@storable(
    **FITTED,
    _begun="dict",
    _n_skipped="int?",
    _pass_ends="list[tuple]?",
    labels_="i8 rows?",
    inertia_="number?",
    n_iter_="int?",
)
class PrototypeEstimator(Transforming, Guarded, ABC):
    """Base of the estimators whose prototypes compete for rows."""

    missing: str
    random_state: RandomState

    #: The parameters at the first row; empty before.
    _begun: Mapping[str, Any] = MappingProxyType({})
    _n_skipped: int = 0
    #: The learner of the prototypes.
    _units: Any
    #: The sums of the squared distances and of the weights up to the end of each pass of fit.
    _pass_ends: list[tuple[float, float]]
    #: The divisors of the columns, or None.
    _deviations: Float64s | None = None
    #: Attributes that describe the rows of ``fit``.
    _of_rows: ClassVar[tuple[str, ...]] = ("labels_", "inertia_", "_pass_ends")

    _parameter_constraints: ClassVar[Constraints] = {
        "missing": [words("raise", "skip")],
        "random_state": ["random_state"],
    }

    @abstractmethod
    def _new_units(self, n_features: int, seed: int, n_rows: int) -> Competition:
        """Return prototypes that have learned nothing. ``n_rows`` is 0 if it is unknown."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Check the parameters."""

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
    def _batch_pass(self, fit: Fit, pass_number: int) -> bool:
        """Learn from all rows at once. Return True if the prototypes have settled."""

    @abstractmethod
    def _conclude(self, fit: Fit) -> None:
        """Set the attributes that describe the rows of the fit."""

    # ---- fit ---------------------------------------------------------------------------------

    @fits_rows
    @documented_by(KEEPING)
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
        fit.at_end = self._by_passes()
        if fit.at_end or self._passes() > 1:
            fit.several(f"fit of {type(self).__name__}")
        if resumption is None:
            self._n_skipped = 0
            self._prepare(fit)
        elif self._deviations is not None:
            fit.map = Division(self._deviations)
        fit.skipped.n_rows, units = self._n_skipped, self._units
        for pass_number in range(fit.pass_number, self._passes()):
            self.n_iter_ = pass_number + 1
            converged = fit.at_end and self._batch_pass(fit, pass_number)
            for chunk in () if fit.at_end else fit.learning(pass_number):
                self._n_skipped = fit.skipped.n_rows
                units.add(chunk)
            self._n_skipped = fit.skipped.n_rows
            if not units.n_seen:
                raise ValueError(NO_ROWS_LEFT)
            if units.weight > 0.0:
                # The sums of a batch are those of one pass.
                of_earlier = fit.at_end and pass_number > 0
                error, weight = self._pass_ends[-1] if of_earlier else (0.0, 0.0)
                ends = error + units.error, weight + units.weight
                self._pass_ends = [*self._pass_ends, ends]
            if converged:
                break
        self._conclude(fit)

    # ---- learning ----------------------------------------------------------------------------

    def _begin(self, n_features: int, n_rows: int = 0) -> None:
        """Start again with the current parameters."""
        self._forget_fit()
        self._begun = {k: v for k, v in self.get_params(deep=False).items() if k not in OF_FIT}
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._units = self._new_units(n_features, seed, n_rows)
        self._pass_ends = []

    @offered_if(_learns_in_steps)
    @learns_rows
    def partial_fit(
        self, X: RowsLike, y: LabelsLike = None, sample_weight: WeightsLike = None
    ) -> Self:
        """Learn from a chunk of rows, in their order.

        The result does not depend on the chunking. Attributes that describe the rows of ``fit`` are
        removed.

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
        self._continue(X, sample_weight)
        return self

    @changes
    def _continue(self, X: RowsLike, sample_weight: WeightsLike) -> None:
        self._check_once(self._check_step)
        first = not self._begun
        chunk = chunk_of(self, X, sample_weight, reset=first)
        chunk = replace(chunk, rows=self._divided(chunk.rows))
        self._n_skipped += chunk.skipped.n_rows
        if first:
            self._begin(chunk.rows.shape[1])
        chunk = chunk.of_positive_weight()
        if len(chunk):
            paces = self._units.checked_paces(len(chunk))
            guard_of(self).mark()
            self._units.add(chunk, paces)
        self._forget_fit()

    def _check_step(self) -> None:
        """Check the parameters, which must not change while learning continues."""
        self._check_parameters()
        if self._begun:
            check_unchanged(self._begun, vars(self))

    def _forget_fit(self) -> None:
        """Remove attributes that describe the rows of ``fit``."""
        for name in self._of_rows:
            self.__dict__.pop(name, None)

    def _place_among(self, fit: Fit, n: int) -> None:
        """Choose the initial prototypes from the first rows."""
        units, lacking = self._units, n
        for chunk in fit.reading():
            first = chunk.of_positive_weight()[:lacking]
            units.waiting.append((np.array(first.rows, np.float64), first.each_weight()))
            lacking -= len(first)
            if lacking == 0:
                break
        if lacking == n:
            raise ValueError(NO_ROWS_LEFT)
        units.place_waiting()

    def _loaded(self) -> None:
        """Check values from a file."""
        if self._begun:
            self._check_parameters()
            self._units.resume({name: vars(self)[name] for name in self._begun})

    # ---- reading -----------------------------------------------------------------------------

    @property
    def _ready(self) -> Any:
        """The learner, or a copy that has learned the rows that wait."""
        check_is_fitted(self)
        return self._units.with_all_rows()

    @property
    @reads
    def _points(self) -> Float64s:
        """The prototypes, divided by the deviations."""
        units = self._ready
        return np.asarray(units.vectors + units.mean)

    @property
    @reads
    def prototypes_(self) -> Float64s:
        """The prototypes, one in each row, in the units of the data."""
        points = self._points
        return points if self._deviations is None else points * self._deviations

    @property
    @reads
    def counts_(self) -> Float64s:
        """The number of rows that each prototype has learned, by weights and shares."""
        return np.array(self._ready.counts)

    @property
    @reads
    def n_steps_(self) -> int:
        """The number of learning steps, one for each row of positive weight in each pass."""
        check_is_fitted(self)
        return int(self._units.n_seen)

    @property
    @reads
    def n_samples_skipped_(self) -> int:
        """The number of rows left out because of missing values."""
        check_is_fitted(self)
        return self._n_skipped

    @property
    @reads
    def error_(self) -> float:
        """The mean squared distance of rows to their nearest prototype before each step."""
        units = self._ready
        return float(units.error / units.weight)

    @property
    @reads
    def history_(self) -> History:
        """The loss of each pass of ``fit``, and the recorded prototypes.

        The loss is the mean squared distance of the rows to their nearest prototype before each
        step. ``partial_fit`` removes it.
        """
        units, ends = self._ready, vars(self).get("_pass_ends")
        if ends == []:  # all rows of ``fit`` still wait
            ends = [(units.error, units.weight)]
        sums = np.diff(np.reshape(ends or [], (-1, 2)), axis=0, prepend=0.0)
        return History.of(units.records, (sums[:, 0] / sums[:, 1]).tolist())

    @property
    @reads
    def _n_features_out(self) -> int:
        return len(self._ready.vectors)

    @property
    def bits_per_vector_(self) -> float:
        """The number of bits of a prototype's number, which ``quantise`` returns."""
        return float(np.log2(self._n_features_out))

    @maps_streams
    def predict(self, X: RowsLike) -> NDArray[np.int64]:
        """Return the number of the nearest prototype of each row.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.

        Returns
        -------
        array of shape (n,)
            The numbers of the prototypes.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import SelfOrganizingMap
        >>> X, y = load_iris(return_X_y=True)
        >>> som = SelfOrganizingMap((4, 5), random_state=0).fit(X)
        >>> som.predict(X).shape
        (150,)
        """
        labels: NDArray[np.int64] = nearest(*self._rows_to_read(X))[0]
        return labels

    @maps_streams
    def transform(self, X: RowsLike) -> Values:
        """Return the distance of each row to each prototype.

        If a row lacks values, its distances are scaled up from the values that are present.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.

        Returns
        -------
        array of shape (n, n_prototypes)
            The distances, in the dtype of the rows.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import SelfOrganizingMap
        >>> X, y = load_iris(return_X_y=True)
        >>> som = SelfOrganizingMap((4, 5), random_state=0).fit(X)
        >>> som.transform(X).shape
        (150, 20)
        """
        rows, vectors = self._rows_to_read(X)
        return np.sqrt(self._squares(rows, vectors)).astype(rows.dtype)

    def _squares(self, rows: Matrix, vectors: Float64s) -> Float64s:
        """Return the squared distance of each row to each prototype."""
        centre = vectors.mean(axis=0)
        rows, vectors = rows - centre, vectors - centre
        if self.missing == "partial":
            return np.asarray(nan_euclidean_distances(rows, vectors, squared=True))
        # Twenty times as fast as euclidean_distances for one row.
        squares = row_squares(rows)[:, None] + row_squares(vectors) - 2.0 * (rows @ vectors.T)
        return np.asarray(np.maximum(squares, 0.0, out=squares))

    @reads_rows
    def score(self, X: RowsLike, y: LabelsLike = None, sample_weight: WeightsLike = None) -> float:
        """Return minus the sum of the squared distances of rows to their nearest prototypes.

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
        float
            The score. Larger is better.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import CompetitiveLearning
        >>> X = load_iris().data
        >>> round(CompetitiveLearning(3, random_state=0).fit(X[::2]).score(X[1::2]))
        -41
        """
        rows, vectors = self._rows_to_read(X)
        weights = check_weights(sample_weight, len(rows))
        return -float(weights @ nearest(rows, vectors)[1])

    @maps_streams
    def quantise(self, X: RowsLike) -> Array:
        """Return the number of the nearest prototype of each row as a code.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.

        Returns
        -------
        array of shape (n,)
            The codes, of the smallest unsigned integer type that holds them.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import CompetitiveLearning
        >>> rows = np.array([[0.0], [1.0], [5.0], [6.0]])
        >>> book = CompetitiveLearning(2, init=[[0.0], [5.0]]).fit(rows)
        >>> codes = book.quantise(rows)
        >>> codes, book.reconstruct(codes).ravel(), book.bits_per_vector_
        (array([0, 0, 1, 1], dtype=uint8), array([0.33..., 5.33...]), 1.0)
        """
        rows, vectors = self._rows_to_read(X)
        labels = nearest(rows, vectors)[0]
        return np.asarray(labels, np.min_scalar_type(len(vectors) - 1))

    @maps_back
    def reconstruct(self, codes: ArrayLike) -> Float64s:
        """Return the prototypes of given codes, which approximate the quantised rows.

        Parameters
        ----------
        codes : array-like of int, shape (n,)
            The result of ``quantise``. A DataArray gives fields, after the steps of the model.

        Returns
        -------
        array of shape (n, n_features)
            The prototypes.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import SelfOrganizingMap
        >>> X, y = load_iris(return_X_y=True)
        >>> som = SelfOrganizingMap((4, 5), random_state=0).fit(X)
        >>> som.reconstruct(som.predict(X)).shape
        (150, 4)
        """
        vectors, numbers = self.prototypes_, np.asarray(codes)
        valid = numbers.dtype.kind in "iu" and np.isin(numbers, np.arange(len(vectors))).all()
        if numbers.ndim != 1 or not valid:
            raise ValueError(
                f"codes must be a vector of whole numbers below {len(vectors)}. Pass the result of "
                "quantise."
            )
        return np.asarray(vectors[numbers])

    def _rows_to_read(self, X: RowsLike) -> tuple[Matrix, Float64s]:
        """Return rows, and the prototypes to compare them with."""
        points, rows = self._points, validated(self, X, reset=False, sparse=False)
        if self.missing == "partial":
            return self._divided(checked_chunk(Chunk(rows), missing="partial").rows), points
        return self._divided(as_floats(rows)), points

    # ---- rows --------------------------------------------------------------------------------

    def _rows(self, X: RowsLike, sample_weight: WeightsLike = None, *, reset: bool) -> Rows:
        """Return the rows of a fit on workers."""
        return admitted(self, X, None, sample_weight, reset=reset, at_once=True, sparse=False)

    def _divided(self, rows: Matrix) -> Matrix:
        """Return rows divided by the deviations."""
        if self._deviations is None:
            return rows
        return rows / self._deviations.astype(rows.dtype)

    def __sklearn_is_fitted__(self) -> bool:
        """Return True after the first row."""
        return bool(self._begun) and (self._units.placed or self._units.n_seen > 0)

    def __sklearn_tags__(self) -> Tags:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "partial"
        return tags
