"""What estimators with prototypes share: rows in, the cluster contract of scikit-learn out."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_choice, check_finite, check_unchanged, check_weights
from eigenstream._hooks import Reported
from eigenstream._linalg import Float64s
from eigenstream._memory import chunk_rows
from eigenstream._refusals import unchanged_on_error
from eigenstream._rows import validated_rows
from eigenstream._state import Restorable, State, joined, part
from eigenstream._streams import Course, Passes, fits_streams_by, maps_streams
from eigenstream.learners.prototypes import PrototypeLearner

__all__ = ["PrototypeEstimator"]

SKIP_REMEDY = "Remove or impute such rows, or pass missing='skip'."

NOTHING_LEFT = "no row is left to learn from: all have a weight of zero or a missing value."

#: Rows with their weights, or None, part by part.
Parts = Iterator[tuple[Any, Any]]

#: Left out of what learning began with: it concerns one fit alone.
OF_FIT = ("max_iter", "tol", "missing", "random_state")


class PrototypeEstimator(
    Reported,
    Restorable,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
    ABC,
):
    """Base of the estimators whose prototypes compete for rows."""

    missing: str
    random_state: Any

    _learner: PrototypeLearner
    _n_skipped: int = 0
    #: The parameters that learning began with; none before.
    _begun: Mapping[str, Any] = MappingProxyType({})

    @abstractmethod
    def _check(self) -> None:
        """Refuse parameters that make no sense."""

    @abstractmethod
    def _new_learner(self, n_features: int, seed: int) -> PrototypeLearner:
        """Return a learner that has seen nothing, for rows of this width."""

    @abstractmethod
    def _passes(self) -> int:
        """Return how many passes over the rows ``fit`` makes."""

    # ---- learning --------------------------------------------------------------------------

    @fits_streams_by("_fit_stream")
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: Any = None,
        every: int | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from the rows, one step a row in the order given.

        Parameters
        ----------
        X : array-like of shape (n, D), or a stream of ``eigenstream.open_stream``
            Of a stream there are no ``labels_`` and no ``inertia_``, which take another pass.
        y : ignored
        sample_weight : array-like of shape (n,)
            How often each row counts.
        <checkpoint, every, resume>
        """
        with unchanged_on_error(self):
            self._check()
            self._n_skipped = 0
            self._note_parameters()
            rows, weights = self._rows_to_learn(X, sample_weight, reset=True)
            step = chunk_rows(rows.shape[1])
            parts = [slice(at, at + step) for at in range(0, len(rows), step)]
            self._learn(
                lambda _: ((rows[one], None if weights is None else weights[one]) for one in parts)
            )
            ahead = self._learner.ahead()
            self._told(ahead)
            self.labels_, distances = self._nearest(rows, ahead.vectors)
            squares = distances.astype(np.float64) ** 2
            self.inertia_ = float(squares.sum() if weights is None else weights @ squares)
        return self

    def _fit_stream(self, course: Course) -> None:
        """Learn from as many passes as ``fit`` makes over an array, chunk by chunk."""
        made = course.learned
        made._check()
        made._note_parameters()
        passes = course.passes() if made._passes() > 1 or made._by_passes() else None
        made._learn(made._start_of(course, passes), course.turn, course.goes_on)
        made._told(made._learner.ahead())

    def _by_passes(self) -> bool:
        """Tell whether nothing is learned before a pass is over."""
        return False

    def _start_of(self, course: Course, passes: Passes | None) -> Callable[..., Parts]:
        """Return what starts a pass: one that learns, or one that looks at the rows before."""
        whole, first = self._by_passes(), not course.goes_on

        def left_out(n: int) -> None:
            self._n_skipped += n

        def start(learns: bool = True) -> Parts:
            nonlocal first
            goes_on = course.goes_on and course.turn == course.first_turn and not whole
            self._n_skipped = self._n_skipped if goes_on else 0
            found: Iterable[Any] = passes or ()
            if learns:
                found = course.learning(passes, whole=whole, left_out=left_out)
            for rows, _ in found:
                checked, first = self._validated(rows, reset=first), False
                yield checked, None

        return start

    def _learn(
        self, start: Callable[[bool], Parts], number: int = 0, goes_on: bool = False
    ) -> None:
        """Learn from passes over parts of the rows; ``start`` begins each."""
        learner = self._learner if goes_on else None
        for n in range(number, self._passes()):
            self.n_iter_ = n + 1
            for rows, weights in start(True):
                if learner is None:
                    learner = self._learner = self._new_learner(rows.shape[1], self._seed())
                learner.add(rows, weights)
        if learner is None:
            raise ValueError(NOTHING_LEFT)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning with a chunk of rows; any chunking, from one row on, learns the same.

        ``labels_`` and ``inertia_`` are of rows that ``fit`` has: they are gone afterwards.
        """
        with unchanged_on_error(self):
            self._check()
            first = not self._begun
            if not first:
                check_unchanged(self._begun, vars(self))
            skipped = self._n_skipped
            self._n_skipped = 0
            rows, weights = self._rows_to_learn(X, sample_weight, reset=first)
            self._n_skipped += skipped
            if first:
                self._note_parameters()
                self._learner = self._new_learner(rows.shape[1], self._seed())
            self._learner.add(rows, weights)
            for name in ("labels_", "inertia_"):
                self.__dict__.pop(name, None)
        return self

    def _told(self, learner: PrototypeLearner) -> None:
        """Look at what ``fit`` has learned; a subclass warns of what a user should know."""
        if learner.alive == 0:
            raise ValueError(NOTHING_LEFT)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _note_parameters(self) -> None:
        given = self.get_params(deep=False)
        self._begun = {k: v for k, v in given.items() if k not in OF_FIT}

    # ---- reading ---------------------------------------------------------------------------

    def _ahead(self) -> PrototypeLearner:
        check_is_fitted(self)
        return self._learner.ahead()

    @property
    def prototypes_(self) -> Float64s:
        """The prototypes, one a row."""
        return self._ahead().vectors

    @property
    def cluster_centers_(self) -> Float64s:
        """The prototypes, by the name that scikit-learn's cluster estimators have for them."""
        return self.prototypes_

    @property
    def counts_(self) -> Float64s:
        """How many rows each prototype has learned, with their weights and shares."""
        learner = self._ahead()
        return np.array(learner.them.counts[: learner.alive])

    @property
    def n_steps_(self) -> int:
        """The number of learning steps: rows of a weight above zero, in every pass."""
        check_is_fitted(self)
        return self._learner.n_steps

    @property
    def n_samples_skipped_(self) -> int:
        """The number of rows that were left out, since they lack values."""
        check_is_fitted(self)
        return self._n_skipped

    @property
    def error_(self) -> float:
        """The mean squared distance of rows to their nearest prototype when they came."""
        learner = self._ahead()
        return learner.error / learner.weight

    @property
    def _n_features_out(self) -> int:
        return self._ahead().alive

    @property
    def bits_per_vector_(self) -> float:
        """How many bits the number of a prototype takes: what ``quantise`` makes of a row."""
        return float(np.log2(self._ahead().alive))

    @maps_streams
    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the number of the nearest prototype of each row."""
        rows, vectors = self._rows_to_read(X)
        return self._nearest(rows, vectors)[0]

    @maps_streams
    def transform(self, X: Any) -> Any:
        """Return the distance of each row to each prototype, in the rows' own precision."""
        rows, vectors = self._rows_to_read(X)
        centre = vectors.mean(axis=0)
        out = np.empty((len(rows), len(vectors)), rows.dtype)
        for here in _parts(rows):
            out[here] = euclidean_distances(rows[here] - centre, vectors - centre)
        return out

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the sum of the squared distances to the nearest prototypes."""
        rows, vectors = self._rows_to_read(X)
        squares = self._nearest(rows, vectors)[1].astype(np.float64) ** 2
        if sample_weight is not None:
            squares = squares * check_weights(sample_weight, len(rows))
        return -float(squares.sum())

    @maps_streams
    def quantise(self, X: Any) -> NDArray[Any]:
        """Return the number of the nearest prototype of each row, in as few bytes as hold it.

        >>> import numpy as np
        >>> from eigenstream import CompetitiveLearning
        >>> rows = np.array([[0.0], [1.0], [5.0], [6.0]])
        >>> book = CompetitiveLearning(2, init=[[0.0], [5.0]]).fit(rows)
        >>> codes = book.quantise(rows)
        >>> codes, book.reconstruct(codes).ravel(), book.distortion(rows), book.bits_per_vector_
        (array([0, 0, 1, 1], dtype=uint8), array([0.33..., 5.33...]), 0.27..., 1.0)
        """
        rows, vectors = self._rows_to_read(X)
        return self._nearest(rows, vectors)[0].astype(np.min_scalar_type(len(vectors) - 1))

    def reconstruct(self, codes: Any) -> Float64s:
        """Return the prototypes by their numbers: rows as near to the quantised ones as it goes."""
        vectors = self._ahead().vectors
        numbers = np.asarray(codes)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise TypeError(
                "codes must be whole numbers in one dimension, as quantise gives them, got shape "
                f"{numbers.shape} of {numbers.dtype}."
            )
        bad = np.flatnonzero((numbers < 0) | (numbers >= len(vectors)))
        if bad.size:
            raise ValueError(
                f"code {bad[0]} is {numbers[bad[0]]}, and there are prototypes 0 to "
                f"{len(vectors) - 1}. Pass codes that quantise has made."
            )
        return np.asarray(vectors[numbers])

    def distortion(self, X: Any, sample_weight: Any = None) -> float:
        """Return the mean squared distance of rows to their nearest prototypes."""
        rows, vectors = self._rows_to_read(X)
        given = np.ones(len(rows)) if sample_weight is None else sample_weight
        weights = check_weights(given, len(rows))
        if not weights.any():
            raise ValueError("sample_weight is zero for every row, which leaves no mean of them.")
        squares = self._nearest(rows, vectors)[1].astype(np.float64) ** 2
        return float(np.average(squares, weights=weights))

    def _nearest(self, rows: Any, vectors: Float64s) -> tuple[NDArray[np.int64], Any]:
        """Return the number of the nearest prototype, and how far it is."""
        centre = vectors.mean(axis=0)
        labels, distances = np.empty(len(rows), np.int64), np.empty(len(rows))
        for here in _parts(rows):
            labels[here], distances[here] = pairwise_distances_argmin_min(
                rows[here] - centre, vectors - centre
            )
        return labels, distances

    # ---- rows ------------------------------------------------------------------------------

    def _rows_to_learn(
        self, X: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[Any, Float64s | None]:
        """Return checked rows and their weights; rows that lack values weigh nothing."""
        check_choice(self.missing, "missing", ("raise", "skip"))
        rows = self._validated(X, reset=reset)
        weights = None if sample_weight is None else check_weights(sample_weight, len(rows))
        if weights is not None and not weights.any():
            raise ValueError(
                "sample_weight is zero for every row, so that there is nothing to learn from. Give "
                "some rows a weight, or leave it out."
            )
        if self.missing == "raise":
            check_finite(rows, remedy=SKIP_REMEDY)
            return rows, weights
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all():
            self._n_skipped += int((~finite).sum())
            weights = (np.ones(len(rows)) if weights is None else weights) * finite
            rows = np.where(finite[:, None], rows, np.zeros((), rows.dtype))
        check_finite(rows)
        return rows, weights

    def _rows_to_read(self, X: Any) -> tuple[Any, Float64s]:
        learner = self._ahead()
        rows = self._validated(X, reset=False)
        check_finite(rows)
        return rows, learner.vectors

    def _validated(self, X: Any, *, reset: bool) -> Any:
        return validated_rows(self, X, reset=reset)

    # ---- saving ----------------------------------------------------------------------------

    def state(self) -> State:
        """Return what has been learned; the rule is known by the parameters."""
        found = super().state()
        learner = found.pop("_learner", None)
        if learner is None:
            return found
        return found | joined(learner=learner.state() | {"seed": learner.plan.seed})

    @classmethod
    def restored(cls, parameters: Mapping[str, Any], state: Mapping[str, Any]) -> Self:
        """Return an estimator that goes on from a ``state``, to the last bit."""
        own = {k: v for k, v in state.items() if not k.startswith("learner.")}
        made = super().restored(parameters, own)
        learned = part(state, "learner")
        if learned:
            begun = cls(**{**parameters, **made._begun})
            width, seed = int(learned["n_features"]), int(learned["seed"])
            made._learner = begun._new_learner(width, seed)
            made._learner.restore(learned)
        return made

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether there is anything to read."""
        return bool(self._begun) and self._learner.n_steps + self._learner.alive > 0

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _parts(rows: Any) -> Iterator[slice]:
    """Cut rows into stretches that fit into memory whatever is made of them."""
    step = max(chunk_rows(rows.shape[1]) // 4, 1)
    for start in range(0, len(rows), step):
        yield slice(start, start + step)
