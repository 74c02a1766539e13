"""Competitive learning: on-line k-means and its kin, one step a row."""

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from eigenstream import theory
from eigenstream._checks import check_choice, check_number, check_unchanged, check_whole, warn_user
from eigenstream._linalg import Float64s
from eigenstream._machine import blas_threads, check_fits, chunk_rows
from eigenstream._provenance import NOTED, check_same_input, merge_sources
from eigenstream._refusals import unchanged_on_error
from eigenstream._storable import storable
from eigenstream._streams import Course, fits_streams_by
from eigenstream.prototypes._nearest import nearest
from eigenstream.prototypes._pace import as_pace, scheduled
from eigenstream.prototypes._steps import RULES
from eigenstream.prototypes.base import (
    NO_ROWS_LEFT,
    Parts,
    PrototypeEstimator,
    check_optional,
    given_vectors,
)

__all__ = ["CompetitiveLearning"]

INITS = ("k-means", "k-means++", "random", "data")

#: Rows among which prototypes are placed: for each prototype, at least, and at least for batches.
FIRST_EACH, FIRST, FIRST_OF_BATCHES = 20, 2000, 1000

#: The most passes of k-means over the first rows.
SETTLING = 10

#: Rows in which the missing prototypes are looked for at a time: more search in vain.
GROWING = 16

#: A row this near to its nearest prototype, relative to the squares of both, equals it.
SAME = 1e-12

#: By rank, the width falls to 1 / e after this many rows per prototype: means forget earlier rows.
FALLING = 2

#: A prototype is called dead after this many steps per prototype without a win.
DEAD = 100

#: Rows this near to their prototypes, by squares, differ from them by rounding.
EXACT = 1e-12

#: Rounds of the fixed point: the noise depends slightly on the distance, and that on the noise.
ROUNDS = 30


@storable(
    _scale="number",
    _n_reseeded="int",
    _record_steps="i8 times",
    _record_R="f8 times K directions",
    _record_Q="f8 times K K",
    _records="list",
    _drawn="f8 drawn D",
    _keys="f8 drawn",
    _settles="number?",
)
class CompetitiveLearning(ClusterMixin, PrototypeEstimator):
    """Prototypes that compete for rows: clusters of a stream, learned one row at a time.

    Each row moves prototypes towards it, ``J_k += lr p_k (x - J_k)`` ([DYN] eq. 2.2). The steps are
    those of the sequential rule to rounding, computed from the inner products of a block of rows.

    Parameters
    ----------
    n_prototypes : int, default=8
        With fewer distinct rows there are as many prototypes as these.
    assignment : {"winner", "soft", "rank"}, default="winner"
        Which prototypes a row moves, by p_k. "winner": the nearest one (on-line k-means). "soft":
        all by their responsibilities in a mixture of Gaussians of equal widths. "rank": the r-th
        nearest by exp(-r / width), r = 0, 1, ... (neural gas [MARTINETZ]), which depends little
        on where the prototypes begin.
    width : "auto", float, schedule or function, default="auto"
        For "soft", in units of the data; "auto" is the distance of the first rows from their
        nearest prototypes along one axis. For "rank", in ranks; "auto" is sqrt(K) exp(-step / 2 K)
        for K prototypes. Schedules go by steps, and in batches by passes.
    learning_rate : "count", float, schedule or function, default="count"
        "count": 1 over the rows that the prototype has won, by weights and shares: the prototype is
        their mean [MACQUEEN]. A number is a constant rate, at most 1. Schedules of
        ``eigenstream.schedules`` and functions go by steps.
    init : {"k-means", "k-means++", "random", "data"} or array (n_prototypes, n_features)
        Where prototypes begin. "k-means++" spreads them over the first rows. "k-means" continues
        with ten passes of k-means over these rows, which have then been learned. "random" draws
        some of them. "data" takes the first rows that differ. The start of a prototype counts as
        one row; with "k-means" its rows count.
    init_size : int, optional
        The number of first rows of a stream that wait in memory for the start: by default 20 a
        prototype and at least 2000. None wait for "data" and an array.
    forgetting : float, optional
        The share of the counts that is forgotten in a step, for streams that drift.
    reseed : int, optional
        After every ``reseed`` steps, prototypes that have won none of them are placed on rows of
        these steps, drawn with probability proportional to the squared distance to the nearest
        prototype. By default dead prototypes stay, and ``dead_`` lists them.
    method : {"sequential", "batch"}, default="sequential"
        "batch": ``fit`` repeats passes over the rows that replace each prototype by the mean of its
        rows, weighted by shares. For "winner" this is Lloyd's k-means.
    max_iter : int, optional
        Passes of ``fit``: by default 1 of sequential steps, at most 300 of batches.
    tol : float, default=1e-4
        Batches end when a pass moves the prototypes by less than this share of the variance.
    record_every : int, optional
        Keep ``order_parameters_`` after every ``record_every`` steps. A record takes as long as
        some steps for each prototype and direction.
    directions : array (m, n_features), optional
        The directions B of the order parameters.
    missing : {"raise", "skip"}
        What to do about rows with missing values.
    random_state : int, RandomState or None

    Attributes
    ----------
    prototypes_, cluster_centers_ : array (n_prototypes, n_features)
    labels_ : array (n,)
        The nearest prototype of each row of ``fit``.
    inertia_ : float
        The sum of their squared distances to it.
    counts_ : array (n_prototypes,)
        What each has learned: rows, with their weights and shares, less what was forgotten.
    dead_ : array
        The numbers of the prototypes without a win in the last ``reseed`` steps, or 100 steps a
        prototype.
    n_reseeded_ : int
        The number of dead prototypes that were placed again.
    error_ : float
        The mean squared distance of rows to their nearest prototype when they came.
    bits_per_vector_ : float
    order_parameters_ : OrderParameters
    n_iter_, n_steps_, n_samples_skipped_ : int

    Notes
    -----
    Ties go to the first prototype. Memory: the prototypes, and before them the first rows. A row of
    weight w moves prototypes as far as w such rows would.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import CompetitiveLearning
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 50, axis=0) + rng.standard_normal((100, 2))
    >>> clusters = CompetitiveLearning(2, random_state=0).fit(rng.permutation(X))
    >>> np.sort(clusters.prototypes_[:, 1].round())
    array([0., 9.])
    """

    def __init__(
        self,
        n_prototypes: int = 8,
        *,
        assignment: str = "winner",
        width: Any = "auto",
        learning_rate: Any = "count",
        init: Any = "k-means",
        init_size: int | None = None,
        forgetting: float | None = None,
        reseed: int | None = None,
        method: str = "sequential",
        max_iter: int | None = None,
        tol: float = 1e-4,
        record_every: int | None = None,
        directions: Any = None,
        missing: str = "raise",
        random_state: Any = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.assignment = assignment
        self.width = width
        self.learning_rate = learning_rate
        self.init = init
        self.init_size = init_size
        self.forgetting = forgetting
        self.reseed = reseed
        self.method = method
        self.max_iter = max_iter
        self.tol = tol
        self.record_every = record_every
        self.directions = directions
        self.missing = missing
        self.random_state = random_state

    # ---- parameters --------------------------------------------------------------------------

    def _check(self) -> None:
        check_whole(self.n_prototypes, "n_prototypes")
        check_choice(self.assignment, "assignment", tuple(RULES))
        check_choice(self.missing, "missing", ("raise", "skip"))
        check_choice(self.method, "method", ("sequential", "batch"))
        check_optional(self, "init_size", "reseed", "max_iter", "record_every")
        check_number(self.tol, "tol", least=0)
        if isinstance(self.init, str):
            check_choice(self.init, "init", INITS)
        else:
            given_vectors(self.init, "init", INITS, self.n_prototypes, None)
        if self.directions is not None:
            given_vectors(self.directions, "directions", (), None, None)
            if self.record_every is None:
                raise ValueError("directions need records. Pass record_every, too.")
        if as_pace(self.width, "width", "auto") is not None and self.assignment == "winner":
            raise ValueError(
                f"assignment='winner' does not use width={self.width!r}. Leave it out, or use "
                "assignment='soft' or 'rank'."
            )
        counted = as_pace(self.learning_rate, "learning_rate", "count", most=1.0) is None
        if self.forgetting is not None:
            check_number(self.forgetting, "forgetting", above=0, below=1)
        if self.forgetting is not None and not counted:
            raise ValueError(
                f"learning_rate={self.learning_rate!r} does not use forgetting={self.forgetting!r}."
                " Leave it out, or use learning_rate='count'."
            )
        unread = [self.forgetting, self.reseed, self.record_every]
        if self.method == "batch" and not (counted and all(one is None for one in unread)):
            raise ValueError(
                "method='batch' does not use learning_rate, forgetting, reseed and record_every. "
                "Leave them out, or use method='sequential'."
            )

    def _begin(self, n_features: int) -> None:
        check_fits(
            24.0 * self.n_prototypes * n_features,
            f"n_prototypes={self.n_prototypes} of {n_features} features",
            "Ask for fewer.",
        )
        super()._begin(n_features)
        if not isinstance(self.init, str):
            given_vectors(self.init, "init", INITS, self.n_prototypes, n_features)
        B = np.zeros((0, n_features))
        if self.directions is not None:
            B = given_vectors(self.directions, "directions", (), None, n_features)
        self._scale, self._n_reseeded = 1.0, 0
        K, m = self.n_prototypes, len(B)
        self._record_steps = np.zeros(0, np.int64)
        self._record_R, self._record_Q = np.zeros((0, K, m)), np.zeros((0, K, K))
        self._records: list[tuple[int, Float64s, Float64s]] = []
        #: Candidates for dead prototypes: rows since the last look, and the keys of their draw.
        self._drawn, self._keys = np.zeros((0, n_features)), np.zeros(0)

    def _n_first(self) -> int:
        drawn = isinstance(self.init, str) and self.init != "data"
        if not drawn and (self.assignment != "soft" or self.width != "auto"):
            return 1
        least = max(FIRST_EACH * self.n_prototypes, FIRST)
        return max(self.init_size or least, self.n_prototypes)

    def _passes(self) -> int:
        return self.max_iter or (1 if self.method == "sequential" else 300)

    def _by_passes(self) -> bool:
        return self.method == "batch"

    def _pace(self, first: int, n: int) -> tuple[Float64s, Float64s]:
        found = []
        for name, word in (("learning_rate", "count"), ("width", "auto")):
            pace = as_pace(getattr(self, name), name, word)
            if pace is None:
                found.append(np.full(n, -1.0) if word == "count" else self._auto_width(first, n))
            elif isinstance(pace, tuple):
                found.append(np.full(n, pace[0]))
            else:
                found.append(scheduled(pace, name.replace("_", " "), first, n))
        return found[0], found[1]

    def _auto_width(self, first: int, n: int) -> Float64s:
        if self.assignment != "rank":
            return np.full(n, self._scale)
        K, steps = self.n_prototypes, np.arange(first, first + n)
        return np.asarray(np.sqrt(K) * np.exp(-steps / (FALLING * K)), np.float64)

    def _rule(self) -> tuple[int, dict[str, Any]]:
        return RULES[self.assignment], {"keep": 1.0 - (self.forgetting or 0.0)}

    # ---- the start ---------------------------------------------------------------------------

    def _place(self, rows: Float64s, weights: Float64s) -> bool:
        self._mean = np.average(rows, axis=0, weights=weights)
        self._set_prototypes(self._start(rows - self._mean, weights), count=1.0)
        self._placed, self._records = True, []
        settled = isinstance(self.init, str) and self.init == "k-means" and len(self._vectors) > 0
        if settled:
            self._settle(rows, weights)
        if self.assignment == "soft" and self.width == "auto":
            self._scale = self._first_width(rows - self._mean, weights)
        self._record()
        return settled

    def _start(self, rows: Float64s, weights: Float64s) -> Float64s:
        """Return where prototypes begin; those that lack become the next rows that differ."""
        K = self.n_prototypes
        if not isinstance(self.init, str):
            return given_vectors(self.init, "init", INITS, K, None) - self._mean
        distinct = np.sort(np.unique(rows, axis=0, return_index=True)[1])
        if self.init == "data" or len(distinct) <= K:
            return rows[:0]
        rows, random = rows[distinct], np.random.RandomState(self._seed)
        if self.init == "random":
            return rows[np.sort(random.permutation(len(rows))[:K])]
        found, _ = kmeans_plusplus(rows, K, sample_weight=weights[distinct], random_state=random)
        return np.asarray(found)

    def _settle(self, rows: Float64s, weights: Float64s) -> None:
        """Learn the first rows by k-means: each prototype is the mean of its rows."""
        with blas_threads(1):
            for _ in range(SETTLING):
                if self._batch_pass([(rows, weights)], None) == 0.0:
                    break
            rows = rows - self._mean
            labels, squares = nearest(rows, self._vectors)
        self._steps, self._error, self._weight = len(rows), 0.0, 0.0
        self._drawn, self._keys = self._drawn[:0], self._keys[:0]
        self._note(rows, weights, labels, squares)

    def _first_width(self, rows: Float64s, weights: Float64s) -> float:
        """Return the distance of rows from their nearest prototype, along one axis."""
        vectors = self._vectors
        if not len(vectors):  # they will be the first rows that differ
            first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
            vectors = rows[first[: self.n_prototypes]]
        squares = nearest(rows, vectors)[1]
        return float(np.sqrt(np.average(squares, weights=weights) / rows.shape[1])) or 1.0

    # ---- steps -------------------------------------------------------------------------------

    def _advance(self, rows: Any, weights: Float64s) -> None:
        """Take the steps of rows; rows unlike all others become the prototypes that lack."""
        while len(rows):
            n = len(rows)
            if len(self._vectors) < self.n_prototypes:
                n = self._n_known(rows[:GROWING])
            if n:
                super()._advance(rows[:n], weights[:n])
            else:
                n = 1
                self._vectors = np.vstack([self._vectors, rows[0] - self._mean])
                keep = 1.0 - (self.forgetting or 0.0)
                self._counts = np.append(keep * self._counts, weights[0])
                self._last_wins = np.append(self._last_wins, self._steps)
                self._weight += float(weights[0])
                self._steps += 1
            rows, weights = rows[n:], weights[n:]

    def _n_known(self, rows: Any) -> int:
        """Return the number of rows before the first one that equals no prototype."""
        if not len(self._vectors):
            return 0
        rows = np.subtract(rows, self._mean, dtype=np.float64)
        labels, squares = nearest(rows, self._vectors)
        sizes = (rows**2).sum(axis=1) + (self._vectors[labels] ** 2).sum(axis=1)
        new = squares > SAME * sizes
        return int(new.argmax()) if new.any() else len(rows)

    def _learn(self, rows: Any, weights: Float64s) -> None:
        super()._learn(rows, weights)
        if self._records:
            steps, R, Q = (np.array(one) for one in zip(*self._records, strict=True))
            self._record_steps = np.concatenate([self._record_steps, steps])
            self._record_R = np.concatenate([self._record_R, R])
            self._record_Q = np.concatenate([self._record_Q, Q])
            self._records = []

    def _until_pause(self) -> int:
        lengths = [one for one in (self.record_every, self.reseed) if one is not None]
        return min([super()._until_pause(), *(one - self._steps % one for one in lengths)])

    def _pause(self) -> None:
        if self.reseed is not None and self._steps % self.reseed == 0:
            for k, row in zip(self._dead(self.reseed), self._drawn, strict=False):
                self._vectors[k], self._counts[k] = row, 1.0
                self._last_wins[k] = self._steps - 1
                self._n_reseeded += 1
            self._drawn, self._keys = self._drawn[:0], self._keys[:0]
        if self.record_every is not None and self._steps % self.record_every == 0:
            self._record()

    def _record(self) -> None:
        """Keep R = J B^T and Q = J J^T, once all prototypes exist."""
        if self.record_every is not None and len(self._vectors) == self.n_prototypes:
            J = self._vectors + self._mean
            B = np.zeros((0, J.shape[1])) if self.directions is None else self.directions
            self._records.append((self._steps, J @ np.asarray(B, np.float64).T, J @ J.T))

    def _note(self, rows: Float64s, weights: Float64s, labels: Any, squares: Float64s) -> None:
        super()._note(rows, weights, labels, squares)
        if self.reseed is None:
            return
        # The largest of u^(1 / w), with u uniform, are a sample by weights w without replacement.
        window, first = divmod(self._steps - len(rows), self.reseed)
        uniform = np.random.default_rng([self._seed, window]).random(self.reseed)
        chances = (weights * squares)[: self.reseed - first]
        keys = np.log(uniform[first : first + len(chances)])
        keys = np.divide(keys, chances, out=np.full(len(chances), -np.inf), where=chances > 0)
        keys = np.append(self._keys, keys)
        order = np.argsort(-keys, kind="stable")[: self.n_prototypes]
        order = order[keys[order] > -np.inf]
        self._drawn = np.concatenate([self._drawn, rows[: len(chances)]])[order]
        self._keys = keys[order]

    def _dead(self, steps: int) -> Any:
        return np.flatnonzero(self._last_wins < max(self._steps - steps, 0))

    def _can_hold(self, n: int) -> bool:
        return 1 <= n <= self.n_prototypes

    # ---- fit ---------------------------------------------------------------------------------

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
            After a stream there are no ``labels_`` and no ``inertia_``, which take another pass.
        y : ignored
        sample_weight : array-like of shape (n,)
            How often each row counts.
        <checkpoint, every, resume>
        """
        with unchanged_on_error(self):
            self._check()
            rows, weights = self._rows_to_learn(X, sample_weight, reset=True)
            self._begin(rows.shape[1])
            step = chunk_rows(rows.shape[1])
            parts = [slice(at, at + step) for at in range(0, len(rows), step)]
            ahead = self._learn_passes(lambda _=True: ((rows[k], weights[k]) for k in parts))
            self.labels_, squares = self._nearest(rows, ahead.prototypes_)
            self.inertia_ = float(weights @ squares)
        return self

    def _fit_stream(self, course: Course) -> None:
        """Learn from as many passes as ``fit`` makes over an array, chunk by chunk."""
        made = course.learned
        made._check()
        passes = course.passes() if made._passes() > 1 or made._by_passes() else None
        made._learn_passes(made._stream_parts(course, passes), course.turn, course.goes_on)

    def _learn_passes(
        self, start: Callable[..., Parts], number: int = 0, goes_on: bool = False
    ) -> Self:
        """Learn from passes over parts of the rows, which ``start`` begins; return ``_ahead()``."""
        batch = self.method == "batch"
        if batch and not goes_on:
            rows, weights = self._place_among(start(False), max(self._n_first(), FIRST_OF_BATCHES))
            if len(self._vectors) < self.n_prototypes:
                self._learn(rows, weights)
            self._settles = self.tol * self._variance(start(False))
        for turn in range(number, self._passes()):
            self.n_iter_ = turn + 1
            if batch and self._batch_pass(start(), turn) <= self._settles:
                break
            for rows, weights in () if batch else start():
                self._add(rows, weights)
        if not self.__sklearn_is_fitted__():
            raise ValueError(NO_ROWS_LEFT)
        ahead = self._ahead()
        if len(ahead._vectors) < self.n_prototypes:
            warn_user(
                f"X has {len(ahead._vectors)} distinct rows, fewer than "
                f"n_prototypes={self.n_prototypes}. Each has become a prototype."
            )
        return ahead

    def _variance(self, parts: Parts) -> float:
        """Return the mean over the features of the variance of rows."""
        total, squares, n = np.zeros(len(self._mean)), 0.0, 0.0
        for rows, weights in parts:
            centred = np.subtract(rows, self._mean, dtype=np.float64)
            total, n = total + weights @ centred, n + float(weights.sum())
            squares += float(weights @ (centred**2).sum(axis=1))
        return float(squares / n - ((total / n) ** 2).sum()) / len(total)

    def _batch_pass(self, parts: Parts, turn: int | None) -> float:
        """Replace each prototype by the mean of its rows; return how far they move, squared.

        ``turn`` is the number of the pass, or None for the nearest prototype alone.
        """
        share = None
        if turn is not None and self.assignment != "winner":
            width = float(self._pace(turn, 1)[1][0])
            share = partial(_soft if self.assignment == "soft" else _ranked, width=width)
        sums, heights, self._counts = self._sums(parts, share)
        moved = np.divide(sums, heights, out=self._vectors.copy(), where=heights > 0)
        far = float(((moved - self._vectors) ** 2).sum())
        self._vectors = moved
        return far

    def merge(self, other: Self) -> Self:
        """Return an estimator whose prototypes stand for those of both, for parallel streams.

        The prototypes of both, each weighted by the number of rows that it has learned, are
        clustered again by k-means. This is an approximation of learning both streams.
        """
        for one in (self, other):
            if type(one) is not type(self) or not one.__sklearn_is_fitted__():
                raise TypeError(
                    f"merge takes another fitted {type(self).__name__}, got {one!r:.200}."
                )
        try:
            check_unchanged(self._begun, other._begun)
        except ValueError as error:
            what = str(error).split(" cannot change now")[0]
            raise ValueError(
                f"the other one has learned with {what}, and this one with "
                f"{self._begun[what.split('=')[0]]!r}. Use the same parameters for both."
            ) from None
        if len(self._mean) != len(other._mean):
            raise ValueError(
                f"the other one has learned rows of {len(other._mean)} features, and this one of "
                f"{len(self._mean)}. Merge learners of the same features."
            )
        check_same_input(self, other)
        ours, theirs = self._ahead(), other._ahead()
        merged = type(self)(**self.get_params(deep=False))
        for name in {"n_features_in_", "feature_names_in_", *NOTED} & vars(self).keys():
            setattr(merged, name, vars(self)[name])
        merged._begin(len(self._mean))
        merged._begun, merged._seed = self._begun, self._seed
        merged._mean = (ours._mean + theirs._mean) / 2
        points = np.concatenate(
            [one._vectors + (one._mean - merged._mean) for one in (ours, theirs)]
        )
        counts = np.concatenate([ours._counts, theirs._counts])
        points, counts = points[counts > 0], counts[counts > 0]
        alive = min(self.n_prototypes, len(np.unique(points, axis=0)))
        found = KMeans(alive, n_init=10, random_state=self._seed)
        with threadpool_limits(1):  # sums of several threads differ from run to run
            labels = found.fit(points, sample_weight=counts).labels_
        merged._set_prototypes(found.cluster_centers_)
        merged._counts = np.bincount(labels, counts, alive)
        for name in ("_steps", "_error", "_weight", "_n_skipped", "_n_reseeded"):
            setattr(merged, name, getattr(ours, name) + getattr(theirs, name))
        merged._last_wins[:] = merged._steps - 1
        merged._scale = (ours._scale + theirs._scale) / 2
        merged._placed = True
        merge_sources(merged, other, follows=False)
        return merged

    # ---- reading -----------------------------------------------------------------------------

    @property
    def cluster_centers_(self) -> Float64s:
        """The prototypes, by the name that scikit-learn's cluster estimators use."""
        return self.prototypes_

    @property
    def dead_(self) -> Any:
        """The numbers of the prototypes without a win in the last steps."""
        return self._ahead()._dead(self.reseed or DEAD * self.n_prototypes)

    @property
    def n_reseeded_(self) -> int:
        """The number of dead prototypes that were placed again."""
        return int(self._ahead()._n_reseeded)

    def advise(self, learning_rate: float, *, separation: float | None = None) -> "theory.Advice":
        """Predict how many examples two prototypes need at this rate to separate on these data.

        Parameters
        ----------
        learning_rate : float
            The learning rate of a step.
        separation : float, optional
            The distance of the two clusters, in standard deviations. By default it is estimated
            from the prototypes, which must be those of ``method="batch"``.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import CompetitiveLearning
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((4000, 100))
        >>> X[np.arange(4000), rng.integers(2, size=4000)] += 2.0
        >>> means = CompetitiveLearning(2, method="batch", random_state=0).fit(X)
        >>> round(means.advise(0.02).examples, -1)
        200.0
        """
        check_number(learning_rate, "learning_rate", above=0)
        check_is_fitted(self)
        n = len(self._mean)
        if separation is not None:
            pair = theory.SymmetricPair(check_number(separation, "separation", above=0) / 2**0.5)
        elif self.method == "batch" and self.assignment == "winner" and self._n_features_out == 2:
            pair = clusters_of(self._vectors, self._counts, self.error_)
        else:
            raise ValueError(
                "the distance of the clusters is estimated from two prototypes that k-means has "
                "found. Use CompetitiveLearning(2, method='batch'), or pass separation=."
            )
        return pair.advise(learning_rate * n, n_features=n)

    @property
    def order_parameters_(self) -> "theory.OrderParameters":
        """Overlaps with the directions, and of the prototypes, every ``record_every`` steps."""
        ahead = self._ahead()
        if not len(ahead._record_steps):
            raise NotFittedError(
                "there are no order parameters. Pass record_every before learning, and at least as "
                "many rows as prototypes."
            )
        return theory.OrderParameters(
            ahead._record_steps / len(ahead._mean), ahead._record_R.copy(), ahead._record_Q.copy()
        )


def _soft(squares: Float64s, *, width: float) -> Float64s:
    """Return the shares of a mixture of Gaussians."""
    shares = np.exp((squares.min(axis=1, keepdims=True) - squares) / (2 * max(width, 1e-150) ** 2))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _ranked(squares: Float64s, *, width: float) -> Float64s:
    """Return exp(-r / width) for the r-th nearest."""
    ranks = squares.argsort(axis=1, kind="stable").argsort(axis=1)
    return np.asarray(np.exp(-ranks / max(width, 1e-150)))


def clusters_of(vectors: Float64s, counts: Float64s, error: float) -> "theory.SymmetricPair":
    """Return the two clusters whose k-means prototypes these are.

    ``error`` is the mean squared distance of the rows to their nearest prototype. The estimate is
    within 10% for distances of two standard deviations and at least 100 rows per feature.
    """
    first, second = vectors
    # The difference of two means contains their noise.
    noise: Any = error * (1 / counts).sum()
    square = max(float(((first - second) ** 2).sum() - noise), 0.0)
    spread, b = error + square / 4, 0.0
    if not error > EXACT * square:
        raise ValueError("every row equals a prototype: no noise, and no plateau. Pass separation=")
    for _ in range(ROUNDS):
        # Along the line through both centres the clusters add b^2 / 2 of the variance.
        variance = spread / (len(first) + b**2 / 2)
        pair = theory.SymmetricPair.of_distance(max(square / variance, 1e-300) ** 0.5)
        b = pair.b
    return pair
