"""What estimators with prototypes share: rows in, the cluster contract of scikit-learn out."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
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
from sklearn.utils.validation import check_is_fitted, validate_data

from eigenstream._checks import check_choice, check_finite, check_unchanged, check_weights, unmasked
from eigenstream._linalg import Float64s
from eigenstream._memory import chunk_rows
from eigenstream._refusals import refuse_unread, unchanged_on_error
from eigenstream._state import Restorable, State, joined, part
from eigenstream.learners.prototypes import PrototypeLearner

__all__ = ["PrototypeEstimator"]

SKIP_REMEDY = "Remove or impute such rows, or pass missing='skip'."

#: Left out of what learning began with: it concerns one fit alone.
OF_FIT = ("max_iter", "tol", "missing", "random_state")


class PrototypeEstimator(
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
    _begun: dict[str, Any]

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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the rows, one step a row in the order given.

        Parameters
        ----------
        X : array-like of shape (n, D), or a stream of ``eigenstream.open_stream``
        y : ignored
        sample_weight : array-like of shape (n,)
            How often each row counts.
        """
        with unchanged_on_error(self):
            self._check()
            self._n_skipped = 0
            if all(hasattr(X, name) for name in ("chunks", "rereadable")):
                self._fit_stream(X, sample_weight)
            else:
                self._fit_rows(X, sample_weight)
        return self

    def _fit_rows(self, X: Any, sample_weight: Any) -> None:
        rows, weights = self._rows_to_learn(X, sample_weight, reset=True)
        learner = self._new_learner(rows.shape[1], self._seed())
        self._note_parameters()
        self._learn_rows(learner, rows, weights)
        self._learner = learner
        ahead = learner.ahead()
        self._told(ahead)
        labels, distances = self._nearest(rows, ahead.vectors)
        self.labels_ = labels
        squares = distances.astype(np.float64) ** 2
        self.inertia_ = float(squares.sum() if weights is None else weights @ squares)

    def _learn_rows(self, learner: Any, rows: Any, weights: Float64s | None) -> None:
        """Learn from all rows, as often as it takes."""
        step = chunk_rows(rows.shape[1])
        for n in range(self._passes()):
            self.n_iter_ = n + 1
            for start in range(0, len(rows), step):
                here = slice(start, start + step)
                learner.add(rows[here], None if weights is None else weights[here])

    def _fit_stream(self, stream: Any, sample_weight: Any) -> None:
        if sample_weight is not None:
            raise ValueError("the rows of a stream have no weights yet: leave sample_weight out.")
        learner: PrototypeLearner | None = None
        for _ in range(self._passes()):
            for chunk in stream.chunks():
                if len(chunk) == 0:
                    continue
                if learner is None:
                    learner = self._begin_stream(stream, chunk.rows.shape[1])
                if chunk.rows.shape[1] != learner.n_features:
                    raise ValueError(
                        f"{chunk.source} has rows of {chunk.rows.shape[1]} features, and "
                        f"{learner.n_features} came before."
                    )
                check_finite(chunk.rows, name=chunk.source, first_row=chunk.first_row)
                if chunk.weights is not None:
                    self._n_skipped += int((chunk.weights == 0).sum())
                learner.add(chunk.rows, chunk.weights)
        if learner is None:
            raise ValueError(f"{stream!r} holds no rows.")
        self._learner = learner
        self._told(learner.ahead())
        # They take as much memory as there are rows: predict gives them chunk by chunk.
        for name in ("labels_", "inertia_"):
            self.__dict__.pop(name, None)

    def _begin_stream(self, stream: Any, width: int) -> PrototypeLearner:
        self.n_features_in_ = width
        self.__dict__.pop("feature_names_in_", None)
        if stream.feature_names is not None:
            self.feature_names_in_ = np.array(stream.feature_names, dtype=object)
        learner = self._new_learner(width, self._seed())
        self._note_parameters()
        return learner

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning with a chunk of rows; any chunking, from one row on, learns the same.

        ``labels_`` and ``inertia_`` are of rows that ``fit`` has: they are gone afterwards.
        """
        with unchanged_on_error(self):
            self._check()
            first = not hasattr(self, "_learner")
            if not first:
                check_unchanged(self._begun, vars(self))
            skipped = getattr(self, "_n_skipped", 0)
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
            raise ValueError(
                "no row is left to learn from: all have a weight of zero or a missing value."
            )

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

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the number of the nearest prototype of each row."""
        rows, vectors = self._rows_to_read(X)
        return self._nearest(rows, vectors)[0]

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
        n = np.shape(X)[0] if sample_weight is None else float(np.sum(sample_weight))
        return -self.score(X, sample_weight=sample_weight) / n

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
        refuse_unread(X)
        return validate_data(
            self, unmasked(X), reset=reset, dtype=(np.float64, np.float32), ensure_all_finite=False
        )

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
        return hasattr(self, "_learner") and self._learner.n_steps > 0

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
