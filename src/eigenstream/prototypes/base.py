"""Base of the estimators with prototypes: steps, passes and results."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances, nan_euclidean_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import (
    check_choice,
    check_finite,
    check_unchanged,
    check_weights,
    check_whole,
    real_array,
)
from eigenstream._history import History
from eigenstream._linalg import Float64s
from eigenstream._machine import blas_threads, chunk_rows
from eigenstream._prepared import learns_rows, maps_back, maps_streams, reads_rows
from eigenstream._refusals import offered_if
from eigenstream._rows import validated_rows
from eigenstream._storable import FITTED, check_form, storable
from eigenstream._streams import Course, Passes
from eigenstream.prototypes._nearest import nearest
from eigenstream.prototypes._steps import learn
from eigenstream.rows.guard import Guarded, changing, reads

__all__ = ["NO_ROWS_LEFT", "PrototypeEstimator", "check_optional", "given_vectors", "over"]

NO_ROWS_LEFT = "Every row has weight zero or a missing value. Pass other rows."

#: Rows with their weights, part by part.
Parts = Iterable[tuple[Any, Float64s]]

#: Parameters that may change between two calls of partial_fit.
OF_FIT = ("max_iter", "tol", "missing", "random_state")

#: Numbers in the rows of one call of the compiled loop, 4 MiB. More exceed the cache.
STRETCH = 2**19


def _learns_in_steps(self: Any) -> None:
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
    inertia_="number?",
    n_iter_="int?",
)
class PrototypeEstimator(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    Guarded,
    ABC,
):
    """Base of the estimators whose prototypes compete for rows.

    A fixed mean of the first rows is subtracted from all rows. Inner products thus lose no
    precision if the data have a large offset.
    """

    missing: str
    random_state: Any

    #: The parameters at the first row; empty before.
    _begun: Mapping[str, Any] = MappingProxyType({})
    _n_skipped: int = 0

    # ---- the differences between the estimators ----------------------------------------------

    @abstractmethod
    def _check(self) -> None:
        """Check the parameters."""

    @abstractmethod
    def _n_first(self) -> int:
        """Return the number of first rows from which the initial prototypes are chosen."""

    @abstractmethod
    def _place(self, rows: Float64s, weights: Float64s) -> bool:
        """Choose the initial prototypes. Return True if that has learned the rows."""

    @abstractmethod
    def _pace(self, first: int, n: int) -> tuple[Float64s, Float64s]:
        """Return the rates and widths of ``n`` steps. Negative rates mean 1 / count."""

    @abstractmethod
    def _rule(self) -> tuple[int, dict[str, Any]]:
        """Return the rule of ``learn`` and its further arguments."""

    @abstractmethod
    def _by_passes(self) -> bool:
        """Return True if learning happens at the end of each pass."""

    @abstractmethod
    def _passes(self) -> int:
        """Return the number of passes that ``fit`` makes."""

    # ---- learning ----------------------------------------------------------------------------

    def _begin(self, n_features: int) -> None:
        """Start again with the current parameters."""
        given = self.get_params(deep=False)
        self._begun = {k: v for k, v in given.items() if k not in OF_FIT}
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

    def _add(self, rows: Any, weights: Float64s) -> None:
        """Learn from rows that follow the previous ones."""
        if not weights.all():
            rows, weights = rows[weights > 0], weights[weights > 0]
        if len(rows) == 0:
            return
        # Reject rates above 1 before anything is learned with them.
        rates = self._pace(self._n_seen, len(rows))[0]
        bad = np.flatnonzero(~(rates <= 1.0))
        if bad.size:
            raise ValueError(
                f"The learning rate is {rates[bad[0]]:.6g} at step {self._n_seen + bad[0]}. Use "
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
        self._learn(rows, weights)

    @property
    def _n_seen(self) -> int:
        """The number of rows that were learned or are buffered."""
        return self._steps + sum(len(rows) for rows, _ in self._waiting)

    def _place_waiting(self) -> tuple[Float64s, Float64s]:
        """Choose the initial prototypes from the buffered rows. Return the rows not yet learned."""
        rows, weights = (np.concatenate(one) for one in zip(*self._waiting, strict=True))
        self._waiting = []
        learned = len(rows) if self._place(rows, weights) else 0
        return rows[learned:], weights[learned:]

    def _learn(self, rows: Any, weights: Float64s) -> None:
        """Take the steps of rows, in blocks that fit into memory and end at pauses."""
        most, start = max(STRETCH // rows.shape[1], 1), 0
        with blas_threads(1):
            while start < len(rows):
                stop = min(start + min(most, self._until_pause()), len(rows))
                self._advance(rows[start:stop], weights[start:stop])
                self._pause()
                start = stop

    def _until_pause(self) -> int:
        """Return the number of steps until the next ``_pause``."""
        return STRETCH

    def _pause(self) -> None:
        """Reseed or record, if required after this number of steps."""

    def _advance(self, rows: Any, weights: Float64s) -> None:
        n, (kind, more) = len(rows), self._rule()
        centred = np.subtract(rows, self._mean, dtype=np.float64, order="C")
        pace = np.stack([*self._pace(self._steps, n), weights])
        labels, squares = learn(self._vectors, centred, kind, pace, self._counts, **more)
        if self.missing == "partial":
            squares *= centred.shape[1] / np.maximum((~np.isnan(centred)).sum(axis=1), 1)
        self._steps += n
        self._note(centred, weights, labels, squares)

    def _note(self, rows: Float64s, weights: Float64s, labels: Any, squares: Float64s) -> None:
        """Add the errors and wins of rows that were just learned."""
        self._error += float(weights @ squares)
        self._weight += float(weights.sum())
        self._last_wins[labels] = np.arange(self._steps - len(rows), self._steps)

    @offered_if(_learns_in_steps)
    @learns_rows
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a chunk of rows, in their order.

        The result does not depend on the chunking. Attributes that describe the rows of ``fit``,
        such as ``labels_``, are removed.

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
        """
        with changing(self) as model:
            model._check_once(model._check_step)
            first, skipped = not model._begun, model._n_skipped
            rows, weights = model._rows_to_learn(X, sample_weight, reset=first)
            model._n_skipped += skipped
            if first:
                model._begin(rows.shape[1])
            model._add(rows, weights)
            model._forget_fit()
        return self

    def _check_step(self) -> None:
        """Check the parameters, which must not change while learning continues."""
        self._check()
        if self._begun:
            check_unchanged(self._begun, vars(self))

    def _forget_fit(self) -> None:
        """Remove attributes that describe the rows of ``fit``."""
        for name in ("labels_", "inertia_", "_pass_ends"):
            self.__dict__.pop(name, None)

    # ---- passes ------------------------------------------------------------------------------

    def _note_pass(self) -> None:
        """Note the sums at the end of a pass, if it has learned rows."""
        error, weight = self._pass_ends[-1] if self._pass_ends else (0.0, 0.0)
        if self._by_passes():  # whose sums are those of one pass
            self._pass_ends = [*self._pass_ends, (error + self._error, weight + self._weight)]
        elif self._weight > weight:
            self._pass_ends = [*self._pass_ends, (self._error, self._weight)]

    def _place_among(self, parts: Parts, n: int) -> tuple[Float64s, Float64s]:
        """Choose the initial prototypes from the first rows of a pass."""
        self._waiting, lacking = [], n
        for rows, weights in parts:
            some = np.flatnonzero(weights)[:lacking]
            self._waiting.append((np.array(rows[some], np.float64), weights[some]))
            lacking -= len(some)
            if lacking == 0:
                break
        if lacking == n:
            raise ValueError(NO_ROWS_LEFT)
        return self._place_waiting()

    def _stream_parts(self, course: Course, passes: Passes | None) -> Callable[..., Iterator[Any]]:
        """Return a function that starts a pass, to learn or only to read."""

        def left_out(n: int) -> None:
            self._n_skipped += n

        def start(learns: bool = True) -> Iterator[Any]:
            resumed = course.goes_on and course.turn == course.first_turn
            if not resumed or self._by_passes():
                self._n_skipped = 0
            found: Iterable[Any] = passes or ()
            if learns:
                found = course.learning(passes, whole=self._by_passes(), left_out=left_out)
            for rows, _ in found:
                first = not self._begun
                checked = self._validated(rows, reset=first)
                if first:
                    self._begin(checked.shape[1])
                yield checked, np.ones(len(checked))

        return start

    def _sums(
        self, parts: Parts, shares: Callable[[Float64s], Float64s] | None = None, *, steps: int = 0
    ) -> tuple[Float64s, Any, Float64s]:
        """Return the sums of the rows of a pass by prototype, their heights, and the counts.

        A row belongs to its nearest prototype, or to all prototypes by ``shares`` of the squared
        distances. The heights, of shape (K, D) or (K, 1), are the weights of the values that are
        present. ``steps`` is the number of steps before the pass.
        """
        found = over(parts, self, "_tally", shares)
        # An interrupted pass changes nothing.
        sums, heights, counts, self._error, self._weight, n_rows, wins = found
        self._steps, self._last_wins = steps + n_rows, np.where(wins < 0, -1, steps + wins)
        return sums - heights * self._mean, heights, counts

    def _tally(
        self, parts: Parts, shares: Callable[[Float64s], Float64s] | None
    ) -> tuple[Float64s, Any, Float64s, float, float, int, Any]:
        """Return the sums, heights, counts, errors, weights, rows and last wins of a pass."""
        (K, D), error, total, units = self._vectors.shape, 0.0, 0.0, self._vectors + self._mean
        sums, counts, heights, wins = np.zeros((K, D)), np.zeros(K), 0.0, np.full(K, -1)
        n_rows = 0
        most = chunk_rows(max(D, K if shares else 1))
        pieces = (
            (chunk[at : at + most], weight[at : at + most])
            for chunk, weight in parts
            for at in range(0, len(chunk), most)
        )
        for rows, weights in pieces:
            if not weights.all():
                rows, weights = rows[weights > 0], weights[weights > 0]
            labels, squares = nearest(rows, units)
            if shares is None:
                ends = np.arange(len(rows) + 1)
                owners: Any = csr_array((weights, labels, ends), (len(rows), K)).T
            else:
                far = euclidean_distances(rows - self._mean, self._vectors, squared=True)
                owners = shares(far).T * weights
            there: Any = np.ones((len(rows), 1))
            if self.missing == "partial" and np.isnan(rows).any():
                there = (~np.isnan(rows)).astype(np.float64)
                rows = _without_nan(rows)
            heights = heights + owners @ there
            counts += owners @ np.ones(len(rows))
            sums += owners @ rows
            wins[labels] = np.arange(n_rows, n_rows + len(rows))
            error += float(weights @ squares)
            total += float(weights.sum())
            n_rows += len(rows)
        return sums, heights, counts, error, total, n_rows, wins

    def _loaded(self) -> None:
        """Check values from a file, because compiled loops do not check indices."""
        if not self._begun:
            return
        self._check()
        for one in self._waiting:
            sizes = {"D": len(self._mean)}
            for form, values in zip(("f8 n D", "f8 n"), one, strict=True):
                check_form(form, values, sizes, "a buffered chunk")
        if self._placed and not self._can_hold(len(self._vectors)):
            raise ValueError(f"{self!r:.200} cannot have {len(self._vectors)} prototypes.")

    @abstractmethod
    def _can_hold(self, n: int) -> bool:
        """Return whether the estimator can have ``n`` prototypes."""

    # ---- reading -----------------------------------------------------------------------------

    def _ahead(self) -> Self:
        """Return this estimator, or a copy that has learned the buffered rows."""
        check_is_fitted(self)
        if self._placed:
            return self
        made = copy(self)
        made._learn(*made._place_waiting())
        return made

    @property
    @reads
    def prototypes_(self) -> Float64s:
        """The prototypes, one in each row."""
        ahead = self._ahead()
        return np.asarray(ahead._vectors + ahead._mean)

    @property
    @reads
    def counts_(self) -> Float64s:
        """The number of rows that each prototype has learned, by weights and shares."""
        return self._ahead()._counts.copy()

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
    @reads
    def error_(self) -> float:
        """The mean squared distance of rows to their nearest prototype before each step."""
        ahead = self._ahead()
        return ahead._error / ahead._weight

    @property
    @reads
    def history_(self) -> History:
        """The loss of each pass of ``fit``, and the recorded prototypes.

        The loss is the mean squared distance of the rows to their nearest prototype before each
        step. ``partial_fit`` removes it.
        """
        ahead = self._ahead()
        ends = vars(self).get("_pass_ends")
        if ends == []:  # all rows of ``fit`` still wait
            ends = [(ahead._error, ahead._weight)]
        sums = np.diff(np.reshape(ends or [], (-1, 2)), axis=0, prepend=0.0)
        return History.of(vars(ahead).get("_records", []), (sums[:, 0] / sums[:, 1]).tolist())

    @property
    @reads
    def _n_features_out(self) -> int:
        return len(self._ahead()._vectors)

    @property
    def bits_per_vector_(self) -> float:
        """The number of bits of a prototype's number, which ``quantise`` returns."""
        return float(np.log2(self._n_features_out))

    @maps_streams
    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the number of the nearest prototype of each row.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a stream
            The rows.

        Returns
        -------
        array of shape (n,)
            The numbers of the prototypes.
        """
        return self._nearest(*self._rows_to_read(X))[0]

    @maps_streams
    def transform(self, X: Any) -> Any:
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
        """
        rows, vectors = self._rows_to_read(X)
        centre = vectors.mean(axis=0)
        measure = nan_euclidean_distances if self.missing == "partial" else euclidean_distances
        out = np.empty((len(rows), len(vectors)), rows.dtype)
        step = max(chunk_rows(rows.shape[1]) // 4, 1)
        for start in range(0, len(rows), step):
            here = slice(start, start + step)
            out[here] = measure(rows[here] - centre, vectors - centre)
        return out

    @reads_rows
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
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
        """
        rows, vectors = self._rows_to_read(X)
        return -float(_weights(sample_weight, len(rows)) @ self._nearest(rows, vectors)[1])

    @maps_streams
    def quantise(self, X: Any) -> NDArray[Any]:
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
        >>> (
        ...     codes,
        ...     book.reconstruct(codes).ravel(),
        ...     book.distortion(rows),
        ...     book.bits_per_vector_,
        ... )
        (array([0, 0, 1, 1], dtype=uint8), array([0.33..., 5.33...]), 0.27..., 1.0)
        """
        rows, vectors = self._rows_to_read(X)
        return self._nearest(rows, vectors)[0].astype(np.min_scalar_type(len(vectors) - 1))

    @maps_back
    def reconstruct(self, codes: Any) -> Float64s:
        """Return the prototypes of given codes, which approximate the quantised rows.

        Parameters
        ----------
        codes : array-like of int, shape (n,)
            The result of ``quantise``. A DataArray gives fields, after the steps of the model.

        Returns
        -------
        array of shape (n, n_features)
            The prototypes.
        """
        vectors, numbers = self.prototypes_, np.asarray(codes)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise TypeError(
                f"codes has shape {numbers.shape} and type {numbers.dtype}. Pass the result of "
                "quantise."
            )
        bad = np.flatnonzero((numbers < 0) | (numbers >= len(vectors)))
        if bad.size:
            raise ValueError(
                f"Code {bad[0]} is {numbers[bad[0]]}, and the last prototype has the number "
                f"{len(vectors) - 1}. Pass the result of quantise."
            )
        return np.asarray(vectors[numbers])

    @reads_rows
    def distortion(self, X: Any, sample_weight: Any = None) -> float:
        """Return the mean squared distance of rows to their nearest prototypes.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The rows.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights of the rows. All are 1 by default.

        Returns
        -------
        float
            The mean squared distance.
        """
        rows, vectors = self._rows_to_read(X)
        weights = _weights(sample_weight, len(rows))
        if not weights.any():
            raise ValueError("sample_weight is zero for every row. Give some rows a weight.")
        return float(np.average(self._nearest(rows, vectors)[1], weights=weights))

    def _nearest(self, rows: Any, vectors: Float64s) -> tuple[NDArray[np.int64], Float64s]:
        """Return the nearest prototype of each row, and the squared distance."""
        labels, squares = nearest(rows, vectors)
        return labels, squares

    # ---- rows --------------------------------------------------------------------------------

    def _rows_to_learn(self, X: Any, sample_weight: Any, *, reset: bool) -> tuple[Any, Float64s]:
        """Return checked rows and their weights, which are zero for skipped rows."""
        check_choice(self.missing, "missing", ("raise", "skip", "partial"))
        rows = self._validated(X, reset=reset)
        weights, self._n_skipped = _weights(sample_weight, len(rows)), 0
        if self.missing == "raise":
            check_finite(rows, remedy="Remove or impute such rows, or pass missing='skip'.")
            return rows, weights
        if self.missing == "partial":
            check_finite(_without_nan(rows))
            lacking = np.isnan(rows).all(axis=1)
        else:
            lacking = ~np.isfinite(rows).all(axis=1)
            if lacking.any():
                rows = np.where(lacking[:, None], np.zeros((), rows.dtype), rows)
            check_finite(rows)
        self._n_skipped = int(lacking.sum())
        return rows, weights * ~lacking

    def _rows_to_read(self, X: Any) -> tuple[Any, Float64s]:
        vectors, rows = self.prototypes_, self._validated(X, reset=False)
        partial = self.missing == "partial"
        check_finite(_without_nan(rows) if partial else rows)
        return rows, vectors

    def _validated(self, X: Any, *, reset: bool) -> Any:
        return validated_rows(self, X, reset=reset)

    def __sklearn_is_fitted__(self) -> bool:
        """Return True after the first row."""
        return bool(self._begun) and self._n_seen + len(self._vectors) > 0

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.allow_nan = self.missing == "partial"
        return tags


def over(parts: Any, estimator: Any, name: str, *given: Any) -> Any:
    """Return sums that a method makes of parts, which may be spread over workers."""
    if hasattr(parts, "reduced"):
        return parts.reduced(estimator, name, *given)
    return getattr(estimator, name)(parts, *given)


def _without_nan(rows: Any) -> Any:
    return np.where(np.isnan(rows), np.zeros((), rows.dtype), rows)


def _weights(sample_weight: Any, n: int) -> Float64s:
    return np.ones(n) if sample_weight is None else check_weights(sample_weight, n)


def given_vectors(
    value: Any, name: str, choices: tuple[str, ...], n: int | None, n_features: int | None
) -> Float64s:
    """Return the vectors of a parameter as an array; None allows any size.

    >>> given_vectors([[1, 2]], "init", (), 1, None)
    array([[1., 2.]])
    """
    due = f"({n or 'm'}, {n_features or 'n_features'})"
    try:
        vectors = real_array(value, name).astype(np.float64)
    except TypeError:
        words = "".join(f"{choice!r}, " for choice in choices)
        raise TypeError(
            f"{name} must be {words}or an array of shape {due}, got {value!r}."
        ) from None
    shape = vectors.shape
    if len(shape) != 2 or shape != (n or shape[0], n_features or shape[1]):
        raise ValueError(f"{name} must have shape {due}, got {shape}.")
    check_finite(vectors, name=name, remedy="Give finite vectors.")
    return vectors


def check_optional(estimator: Any, *names: str) -> None:
    """Check that parameters are None or whole numbers of at least 1."""
    for name in names:
        if getattr(estimator, name) is not None:
            check_whole(getattr(estimator, name), name)
