"""Competitive learning: online k-means, soft competition and neural gas."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.utils._param_validation import Interval
from threadpoolctl import threadpool_limits

from eigenstream import theory
from eigenstream.core.checks import check_equal, check_number, check_vectors, warn_user
from eigenstream.core.documented import COUNT, NOT_NEGATIVE, words
from eigenstream.core.linalg import Float64s, blas_threads, check_fits
from eigenstream.core.storable import storable
from eigenstream.core.types import Constraints, RandomState
from eigenstream.prototypes._competition import Competition, Tally, ranked, soft
from eigenstream.prototypes._nearest import nearest
from eigenstream.prototypes._steps import RULES, Pace, as_pace
from eigenstream.prototypes.base import PrototypeEstimator
from eigenstream.rows.chunk import Chunk
from eigenstream.rows.fit import Fit
from eigenstream.rows.guard import reads, snapshot
from eigenstream.rows.prepared import NOTED, check_same_input, merge_sources
from eigenstream.schedules import Exponential, LearningRate

#: Rows from which prototypes are chosen: for each prototype, at least, and at least for batches.
FIRST_EACH, FIRST, FIRST_OF_BATCHES = 20, 2000, 1000

#: The most passes of k-means over the first rows.
SETTLING = 10

#: With "rank", the width falls to 1 / e after this number of rows for each prototype, or passes.
FALLING = 2

#: A prototype is dead after this number of steps for each prototype without a win.
DEAD = 100

#: A smaller ratio of squared distances is a rounding error.
EXACT = 1e-12

#: Iterations of the fixed point of the distance and the noise, which depend on each other.
ROUNDS = 30


@storable(scale="number", n_reseeded="int", records="list", drawn="f8 drawn D", keys="f8 drawn")
class Centers(Competition):
    """Prototypes of competitive learning."""

    def __init__(self, plan: Mapping[str, Any], n_features: int, seed: int) -> None:
        super().__init__(plan, n_features, seed)
        #: The automatic width of "soft".
        self.scale, self.n_reseeded = 1.0, 0
        self.records: list[tuple[int, Float64s]] = []
        #: Candidates for dead prototypes: rows since the last check, and the keys of their draw.
        self.drawn, self.keys = np.zeros((0, n_features)), np.zeros(0)
        self.follow_plan()

    def follow_plan(self) -> None:
        """Set the rule, the rates and the widths by the parameters."""
        plan = self.plan
        K, counts = plan["n_prototypes"], plan["learning_rate"] == "count"
        forgetting = plan["forgetting"] if counts else None
        self.rule = RULES[plan["assignment"]], {"keep": 1.0 - (forgetting or 0.0)}
        automatic: Pace = (self.scale, self.scale)
        if plan["assignment"] == "rank":
            automatic = Exponential(K**0.5, FALLING * (1 if plan["method"] == "batch" else K))
        rates = as_pace(plan["learning_rate"], "learning_rate", "count")
        widths = as_pace(plan["width"], "width", "auto")
        self.paces_of_steps = rates or (-1.0, -1.0), widths or automatic
        self.pauses = [length for name in ("record_every", "reseed") if (length := plan[name])]

    def resume(self, plan: Mapping[str, Any]) -> None:
        """Set the parameters after loading, and check the values of the file."""
        super().resume(plan)
        if len(self.vectors) > plan["n_prototypes"]:
            raise ValueError(
                f"n_prototypes={plan['n_prototypes']} does not allow {len(self.vectors)} of them."
            )

    @property
    def n_first(self) -> int:
        """The number of first rows from which the initial prototypes are chosen."""
        plan = self.plan
        is_array = not isinstance(plan["init"], str)
        if is_array and (plan["assignment"] != "soft" or plan["width"] != "auto"):
            return 1
        least = max(FIRST_EACH * plan["n_prototypes"], FIRST)
        return int(max(plan["init_size"] or least, plan["n_prototypes"]))

    # ---- the start ---------------------------------------------------------------------------

    def place(self, rows: Float64s, weights: Float64s) -> bool:
        """Choose the initial prototypes. Return True if that has learned the rows."""
        self.mean = np.average(rows, axis=0, weights=weights)
        self.set(self.start(rows - self.mean, weights), count=1.0)
        by_k_means: bool = isinstance(self.plan["init"], str) and self.plan["init"] == "k-means"
        if by_k_means:
            self.refine(rows, weights)
        if self.plan["assignment"] == "soft" and self.plan["width"] == "auto":
            # The distance of rows from their nearest prototype, along one axis.
            squares = nearest(rows - self.mean, self.vectors)[1]
            mean = np.average(squares, weights=weights) / rows.shape[1]
            self.scale = float(np.sqrt(mean)) or 1.0
            self.follow_plan()
        self.record()
        return by_k_means

    def start(self, rows: Float64s, weights: Float64s) -> Float64s:
        """Return the initial prototypes: all distinct rows if there are too few of them."""
        K, init = self.plan["n_prototypes"], self.plan["init"]
        if not isinstance(init, str):
            return check_vectors(init, "init", K) - self.mean
        distinct = np.sort(np.unique(rows, axis=0, return_index=True)[1])
        rows, random = rows[distinct], np.random.RandomState(self.seed)
        if len(rows) <= K:
            return rows
        if init == "random":
            return rows[np.sort(random.permutation(len(rows))[:K])]
        spread, _ = kmeans_plusplus(rows, K, sample_weight=weights[distinct], random_state=random)
        return np.asarray(spread)

    def refine(self, rows: Float64s, weights: Float64s) -> None:
        """Learn the first rows by k-means: each prototype is the mean of its rows."""
        with blas_threads(1):
            for _ in range(SETTLING):
                tally = self.tally()
                tally.add(Chunk(rows, weights))
                if self.move(tally) == 0.0:
                    break
            rows = rows - self.mean
            labels, squares = nearest(rows, self.vectors)
        self.steps, self.error, self.weight = len(rows), 0.0, 0.0
        self.drawn, self.keys = self.drawn[:0], self.keys[:0]
        self.note(rows, weights, labels, squares)

    def move(self, tally: Tally) -> float:
        """Move prototypes to the means of their rows. Return the squared distance in all."""
        sums, heights = self.take(tally)
        moved = np.divide(sums, heights, out=self.vectors.copy(), where=heights > 0)
        squares = float(((moved - self.vectors) ** 2).sum())
        self.vectors = moved
        return squares

    # ---- steps -------------------------------------------------------------------------------

    def pause(self) -> None:
        """Reseed or record, if required after this number of steps."""
        record_every, reseed = self.plan["record_every"], self.plan["reseed"]
        if reseed is not None and self.steps % reseed == 0:
            for k, row in zip(self.dead(reseed), self.drawn, strict=False):
                self.vectors[k], self.counts[k] = row, 1.0
                self.last_wins[k] = self.steps - 1
                self.n_reseeded += 1
            self.drawn, self.keys = self.drawn[:0], self.keys[:0]
        if record_every is not None and self.steps % record_every == 0:
            self.record()

    def record(self) -> None:
        """Record the prototypes, if ``record_every`` requires it."""
        if self.plan["record_every"] is not None and self.plan["method"] == "sequential":
            self.records = [*self.records, (self.steps, self.vectors + self.mean)]

    def note(
        self, rows: Float64s, weights: Float64s, labels: NDArray[np.int64], squares: Float64s
    ) -> None:
        """Add the errors and wins of rows, and draw candidates for dead prototypes."""
        super().note(rows, weights, labels, squares)
        reseed = self.plan["reseed"]
        if reseed is None or self.plan["method"] == "batch":
            return
        # The largest of u^(1 / w), with u uniform, are a sample by weights w without replacement.
        window, first = divmod(self.steps - len(rows), reseed)
        uniform = np.random.default_rng([self.seed, window]).random(reseed)
        chances = (weights * squares)[: reseed - first]
        keys = np.log(uniform[first : first + len(chances)])
        keys = np.divide(keys, chances, out=np.full(len(chances), -np.inf), where=chances > 0)
        keys = np.append(self.keys, keys)
        order = np.argsort(-keys, kind="stable")[: self.plan["n_prototypes"]]
        order = order[keys[order] > -np.inf]
        self.drawn = np.concatenate([self.drawn, rows[: len(chances)]])[order]
        self.keys = keys[order]

    def dead(self, steps: int) -> Any:
        """Return the prototypes without a win in the last steps."""
        return np.flatnonzero(self.last_wins < max(self.steps - steps, 0))

    def merged(self, other: "Centers") -> "Centers":
        """Cluster the prototypes of both, each weighted by the number of its rows."""
        check_equal(self.plan, other.plan)
        merged = Centers(self.plan, len(self.mean), self.seed)
        points = np.concatenate([self.vectors + self.mean, other.vectors + other.mean])
        counts = np.concatenate([self.counts, other.counts])
        points, counts = points[counts > 0], counts[counts > 0]
        merged.mean = points.mean(axis=0)
        n = min(self.plan["n_prototypes"], len(np.unique(points, axis=0)))
        means = KMeans(n, n_init=10, random_state=self.seed)
        with threadpool_limits(1):  # sums of several threads differ from run to run
            labels = means.fit(points - merged.mean, sample_weight=counts).labels_
        merged.set(means.cluster_centers_)
        merged.counts = np.bincount(labels, counts, n)
        merged.steps, merged.n_reseeded = (
            self.steps + other.steps,
            self.n_reseeded + other.n_reseeded,
        )
        merged.error, merged.weight = self.error + other.error, self.weight + other.weight
        merged.last_wins[:] = merged.steps - 1
        merged.scale = (self.scale + other.scale) / 2
        return merged


@storable(_units="Centers")
@dataclass(eq=False, repr=False)
class CompetitiveLearning(ClusterMixin, PrototypeEstimator):
    """Prototypes that compete for rows: online k-means, soft competition and neural gas.

    Each row x moves prototypes towards itself, ``J_k += lr p_k (x - J_k)`` [1]_. The result equals
    that of the sequential rule to rounding.

    Parameters
    ----------
    n_prototypes : int, default=8
        The number of prototypes. If fewer rows are distinct, each distinct row becomes a prototype.
    assignment : {"winner", "soft", "rank"}, default="winner"
        The shares p_k of a row. "winner" moves the nearest prototype (online k-means [2]_). "soft"
        moves all prototypes by their responsibilities in a mixture of Gaussians of equal width.
        "rank" moves the r-th nearest by exp(-r / width), r = 0, 1, ... (neural gas [3]_). It
        depends less on the initial prototypes.
    width : "auto", float, schedule or function, default="auto"
        For "soft", a width in units of the data. "auto" is the distance of the first rows from
        their nearest prototypes along one axis. For "rank", a width in ranks. "auto" is sqrt(K)
        exp(-step / 2 K) for K prototypes, and with ``method="batch"`` sqrt(K) exp(-pass / 2). The
        argument of a schedule is the step, or the pass with ``method="batch"``. Ignored with
        "winner".
    learning_rate : "count", float, schedule or function, default="count"
        "count" is 1 over the number of rows of the prototype, which makes it the mean of its rows.
        A number is a constant rate, at most 1. The argument of a schedule is the step.
        Ignored with ``method="batch"``.
    init : {"k-means", "k-means++", "random"} or array, default="k-means"
        The initial prototypes. An array has the shape (n_prototypes, n_features). "k-means++"
        spreads them over the first rows. "k-means" adds ten passes of k-means over these rows.
        "random" draws some of the first rows. An initial prototype counts as one row, and with
        "k-means" as the number of its rows.
    init_size : int, default=None
        The number of first rows from which the prototypes are chosen. A stream holds them in
        memory. The default is 20 for each prototype and at least 2000. Arrays need none.
    forgetting : float in (0, 1), default=None
        The share of the counts that each step forgets, for streams that drift. Ignored with
        ``method="batch"`` or another learning rate than "count".
    reseed : int, default=None
        After every ``reseed`` steps, prototypes that have won none of them are moved to rows of
        these steps. The rows are drawn with probability proportional to the squared distance to the
        nearest prototype. By default such dead prototypes stay, and ``dead_`` lists them.
        Ignored with ``method="batch"``.
    method : {"sequential", "batch"}, default="sequential"
        "batch" repeats passes over all rows. Each pass replaces each prototype by the mean of its
        rows, weighted by their shares. With "winner" this is Lloyd's k-means.
    max_iter : int, default=None
        The number of passes of ``fit``. By default 1 with "sequential", and at most 300 with
        "batch".
    tol : float, default=1e-4
        "batch" ends when a pass moves the prototypes by less than this share of the variance.
    record_every : int, default=None
        Record the prototypes in ``history_`` every ``record_every`` steps. Ignored with
        ``method="batch"``.
    missing : {"raise", "skip"}, default="raise"
        "skip" leaves out rows with missing values.
    random_state : int, RandomState or None, default=None
        The seed of all random choices.

    Attributes
    ----------
    prototypes_ : array of shape (n_prototypes, n_features)
        The prototypes. ``cluster_centers_`` is the same array.
    labels_ : array of shape (n,)
        The nearest prototype of each row of ``fit``. Not available after ``partial_fit`` and after
        ``fit`` of a stream: use ``predict``.
    inertia_ : float
        The sum of the squared distances of these rows to their prototypes.
    counts_ : array of shape (n_prototypes,)
        The number of rows that each prototype has learned, by weights and shares.
    dead_ : array of int
        The prototypes without a win in the last ``reseed`` steps, or in 100 steps for each
        prototype.
    n_reseeded_ : int
        The number of dead prototypes that were moved.
    error_ : float
        The mean squared distance of the rows to their nearest prototype before each step.
    bits_per_vector_ : float
        The number of bits of a prototype's number.
    history_ : History
        The loss of each pass of ``fit``, and the recorded prototypes.
    n_iter_ : int
        The number of passes.
    n_steps_ : int
        The number of learning steps.
    n_samples_skipped_ : int
        The number of rows left out because of missing values.

    Notes
    -----
    Ties go to the first prototype. A row of weight w moves prototypes as far as w equal rows do.
    Memory holds the prototypes, and at the start of a stream also its first rows.

    References
    ----------
    .. [1] M. Biehl, A. Freking, M. Hölzer, G. Reents and E. Schlösser, "The Dynamics of On-line
           Learning by Competitive and by Principal Component Methods", 1998.
    .. [2] J. MacQueen, "Some Methods for Classification and Analysis of Multivariate Observations",
           Berkeley Symposium on Mathematical Statistics and Probability, 1967.
    .. [3] T. M. Martinetz, S. G. Berkovich and K. J. Schulten, "Neural-Gas Network for Vector
           Quantization and its Application to Time-Series Prediction", IEEE Transactions on Neural
           Networks 4, 1993.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import CompetitiveLearning
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(
    ...     [[0.0, 0.0], [9.0, 9.0]], 50, axis=0
    ... ) + rng.standard_normal((100, 2))
    >>> clusters = CompetitiveLearning(2, random_state=0).fit(
    ...     rng.permutation(X)
    ... )
    >>> np.sort(clusters.prototypes_[:, 1].round())
    array([0., 9.])
    """

    n_prototypes: int = 8
    _: KW_ONLY
    assignment: str = "winner"
    width: ArrayLike = "auto"
    learning_rate: LearningRate = "count"
    init: ArrayLike = "k-means"
    init_size: int | None = None
    forgetting: float | None = None
    reseed: int | None = None
    method: str = "sequential"
    max_iter: int | None = None
    tol: float = 1e-4
    record_every: int | None = None
    missing: str = "raise"
    random_state: RandomState = None

    _parameter_constraints: ClassVar[Constraints] = {
        **{key: [COUNT, None] for key in ("init_size", "reseed", "max_iter", "record_every")},
        "n_prototypes": [COUNT],
        "assignment": [words(*RULES)],
        "width": "no_validation",
        "learning_rate": "no_validation",
        "init": [words("k-means", "k-means++", "random"), "array-like"],
        "forgetting": [Interval(Real, 0, 1, closed="neither"), None],
        "method": [words("sequential", "batch")],
        "tol": [NOT_NEGATIVE],
    }

    # ---- parameters --------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        self._validate_params()
        if not isinstance(self.init, str):
            check_vectors(self.init, "init", self.n_prototypes)
        as_pace(self.width, "width", "auto")
        as_pace(self.learning_rate, "learning_rate", "count", most=1.0)

    def _new_units(self, n_features: int, seed: int, n_rows: int) -> Centers:
        check_fits(
            24.0 * self.n_prototypes * n_features,
            f"n_prototypes={self.n_prototypes} of {n_features} features",
            "Use fewer prototypes.",
        )
        if not isinstance(self.init, str):
            check_vectors(self.init, "init", self.n_prototypes, n_features)
        return Centers(self._begun, n_features, seed)

    def _passes(self) -> int:
        return self.max_iter or (1 if self.method == "sequential" else 300)

    def _by_passes(self) -> bool:
        return self.method == "batch"

    # ---- passes ------------------------------------------------------------------------------

    def _prepare(self, fit: Fit) -> None:
        self._begin(fit.rows.width)
        if fit.at_end:
            self._place_among(fit, max(self._units.n_first, FIRST_OF_BATCHES))

    def _batch_pass(self, fit: Fit, pass_number: int) -> bool:
        """Replace each prototype by the mean of its rows."""
        shares, units = None, self._units
        if self.assignment != "winner":
            width = float(units.paces(pass_number, 1)[1][0])
            shares = partial(soft if self.assignment == "soft" else ranked, width=width)
        tally = fit.learn(units.tally(shares), pass_number)
        variance = tally.squares / (tally.weight * fit.rows.width or 1.0)
        return bool(units.move(tally) <= self.tol * variance)

    def _conclude(self, fit: Fit) -> None:
        prototypes = self.prototypes_
        if len(prototypes) < self.n_prototypes:
            warn_user(
                f"X has {len(prototypes)} distinct rows among the first ones, fewer than "
                f"n_prototypes={self.n_prototypes}. Each has become a prototype."
            )
        if fit.array is not None:
            self.labels_, squares = nearest(fit.array.rows, prototypes)
            self.inertia_ = float(fit.array.each_weight() @ squares)

    def merge(self, other: Self) -> Self:
        """Return an estimator that approximates learning from the rows of both.

        The prototypes of both are clustered by k-means, each weighted by the number of its rows.

        Parameters
        ----------
        other : CompetitiveLearning
            A fitted estimator with equal parameters and the same number of features.

        Returns
        -------
        self : object
            A new fitted estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import CompetitiveLearning
        >>> X = load_iris().data
        >>> first = CompetitiveLearning(3, random_state=0).fit(X[::2])
        >>> second = CompetitiveLearning(3, random_state=0).fit(X[1::2])
        >>> first.merge(second).counts_.sum().item()
        150.0
        """
        self, other = snapshot(self), snapshot(other)
        fitted = type(other) is type(self) and all(
            model.__sklearn_is_fitted__() for model in (self, other)
        )
        if not fitted or self.n_features_in_ != other.n_features_in_:
            raise TypeError(
                f"merge takes another {type(self).__name__} fitted to the same features, got "
                f"{other!r:.200}."
            )
        units = self._ready.merged(other._ready)
        check_same_input(self, other)
        merged = type(self)(**self.get_params(deep=False))
        for name in {"n_features_in_", "feature_names_in_", "_begun", *NOTED} & vars(self).keys():
            setattr(merged, name, vars(self)[name])
        merged._units = units
        merged._n_skipped = self.n_samples_skipped_ + other.n_samples_skipped_
        merge_sources(merged, other, follows=False)
        return merged

    # ---- reading -----------------------------------------------------------------------------

    @property
    def cluster_centers_(self) -> Float64s:
        """The prototypes, by the name that scikit-learn's cluster estimators use."""
        return self.prototypes_

    @property
    @reads
    def dead_(self) -> Any:
        """The numbers of the prototypes without a win in the last steps."""
        return self._ready.dead(self.reseed or DEAD * self.n_prototypes)

    @property
    @reads
    def n_reseeded_(self) -> int:
        """The number of dead prototypes that were placed again."""
        return int(self._ready.n_reseeded)

    def advise(self, learning_rate: float, *, separation: float | None = None) -> "theory.Advice":
        """Predict the number of examples until two prototypes separate on these data.

        Parameters
        ----------
        learning_rate : float
            The learning rate of a step.
        separation : float, default=None
            The distance of the two clusters, in standard deviations. By default it is estimated
            from the prototypes, which must be those of ``method="batch"``.

        Returns
        -------
        Advice
            The critical rate, the best rate and the numbers of examples.

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
        units = self._ready
        n = len(units.mean)
        if separation is not None:
            pair = theory.SymmetricPair(check_number(separation, "separation", above=0) / 2**0.5)
        elif (self.method, self.assignment, self._n_features_out) == ("batch", "winner", 2):
            pair = clusters_of(units.vectors, units.counts, self.error_)
        else:
            raise ValueError(
                "The distance of the clusters is estimated only from two prototypes of k-means. "
                "Use CompetitiveLearning(2, method='batch'), or pass separation=."
            )
        return pair.advise(learning_rate * n, n_features=n)


def clusters_of(vectors: Float64s, counts: Float64s, error: float) -> "theory.SymmetricPair":
    """Return two clusters, estimated from the prototypes of k-means.

    ``error`` is the mean squared distance of the rows to their nearest prototype. The estimate is
    within 10% for distances of two standard deviations and at least 100 rows per feature.
    """
    first, second = vectors
    # The difference of two means contains their noise.
    noise: Any = error * (1 / counts).sum()
    square = max(float(((first - second) ** 2).sum() - noise), 0.0)
    spread, b = error + square / 4, 0.0
    if not error > EXACT * square:
        raise ValueError("Every row equals a prototype, so there is no noise. Pass separation=.")
    for _ in range(ROUNDS):
        # Along the line through both centres the clusters add b^2 / 2 of the variance.
        variance = spread / (len(first) + b**2 / 2)
        pair = theory.SymmetricPair.of_distance(max(square / variance, 1e-300) ** 0.5)
        b = pair.b
    return pair
