"""Competitive learning: on-line k-means and its kin, one step a row."""

from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError

from eigenstream._checks import (
    check_choice,
    check_finite,
    check_number,
    check_unchanged,
    check_whole,
    real_array,
    warn_user,
)
from eigenstream._linalg import Float64s
from eigenstream._memory import check_fits
from eigenstream._provenance import NOTED, check_same_steps, merge_sources
from eigenstream.learners.prototypes import CompetingLearner, PrototypePlan
from eigenstream.prototypes._rates import schedule_of
from eigenstream.prototypes._separation import NOT_MEANS, clusters_of
from eigenstream.prototypes.base import NOTHING_LEFT, PrototypeEstimator
from eigenstream.rules.competitive import RANK, SOFT, WINNER
from eigenstream.schedules import Schedule
from eigenstream.theory import Advice, OrderParameters

__all__ = ["CompetitiveLearning"]

RULES = {"winner": WINNER, "soft": SOFT, "rank": RANK}

INITS = ("k-means", "k-means++", "random", "data")

#: Rows among which prototypes are placed: so many for each, and at least so many.
FIRST_EACH, FIRST = 20, 2000

#: A prototype is called dead after so many steps for each in which others were the nearest.
DEAD = 100


class CompetitiveLearning(PrototypeEstimator):
    """Prototypes that compete for rows: clusters of a stream, learned one row at a time.

    Each row moves prototypes towards it, ``J_k += lr p_k (x - J_k)`` ([DYN] eq. 2.2). The steps are
    the sequential rule's, to rounding, taken on the inner products of a block of rows.

    Parameters
    ----------
    n_prototypes : int, default=8
        Where fewer distinct rows have come, there are as many prototypes as those.
    assignment : {"winner", "soft", "rank"}, default="winner"
        Whom a row moves, by p_k. "winner": the nearest prototype alone (on-line k-means). "soft":
        all by their shares in a mixture of Gaussians of equal widths about them, which climbs its
        likelihood. "rank": the r-th nearest by exp(-r / width), r = 0, 1, ... (neural gas
        [MARTINETZ]), which depends little on where the prototypes begin.
    width : "auto", float, schedule or function, default="auto"
        Of "soft", in units of the data; it may be annealed by a schedule of steps. "auto" is how
        far the first rows are from their nearest prototypes along one axis. Of "rank", in ranks;
        "auto" is sqrt(K) exp(-step / 2 K) for K prototypes, which orders those that begin at
        random, and is over before "k-means" has begun.
    learning_rate : "count", float, schedule or function, default="count"
        "count": 1 over the rows that the prototype has won, by weights and shares, so that it is
        their mean [MACQUEEN]. A number is a constant rate, at most 1; [DYN] writes it as eta / N
        for rows of N features. Schedules of ``eigenstream.schedules`` and functions go by steps.
    init : {"k-means", "k-means++", "random", "data"} or array (n_prototypes, n_features)
        Where prototypes begin. "k-means++" spreads them out over the first rows; "k-means" goes on
        from there with ten passes of k-means over these rows, which have been learned then;
        "random" draws some of them; "data" takes the first rows that differ. Where a prototype
        begins counts as one row, with "k-means" as those it has.
    init_size : int, optional
        How many first rows of a stream wait in memory to be begun with: 20 a prototype and at least
        2000 by default. None wait for "data" and an array.
    forgetting : float, optional
        The share of the counts that is forgotten a step, for streams that drift.
    reseed : int, optional
        A prototype that was the nearest in none of so many steps is dead, and is placed on one of
        the rows that came in them, drawn with chances like the squared distance to their nearest
        prototypes. By default dead ones stay, and ``dead_`` names them.
    method : {"sequential", "batch"}, default="sequential"
        "batch": ``fit`` goes through the rows again and again, and replaces each prototype by the
        mean of its rows, weighted by shares (for "winner": Lloyd's k-means); schedules of widths
        then go by passes. To compare with.
    max_iter : int, optional
        Passes of ``fit``: 1 of sequential steps, at most 300 of batches by default.
    tol : float, default=1e-4
        Batches end when a pass moves the prototypes by less than this share of the variance.
    record_every : int, optional
        Keep ``order_parameters_`` every so many steps. A record takes as long as some steps for
        each prototype and direction.
    directions : array (m, n_features), optional
        The directions B of these.
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
        The numbers of the prototypes that were the nearest in none of the last steps: ``reseed`` of
        them, or 100 a prototype.
    n_reseeded_ : int
        How often a dead one has been placed anew.
    error_ : float
        The mean squared distance of rows to their nearest prototype when they came.
    bits_per_vector_ : float
    order_parameters_ : OrderParameters
    n_iter_, n_steps_, n_samples_skipped_ : int

    Notes
    -----
    Ties go to the first prototype. Memory: the prototypes and a block of rows, and before them the
    first rows. A row of weight w moves prototypes as far as w such rows would.

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

    # ---- parameters ------------------------------------------------------------------------

    def _check(self) -> None:
        check_whole(self.n_prototypes, "n_prototypes")
        check_choice(self.assignment, "assignment", tuple(RULES))
        check_choice(self.missing, "missing", ("raise", "skip"))
        check_choice(self.method, "method", ("sequential", "batch"))
        self._seed()
        for name in ("init_size", "reseed", "max_iter", "record_every"):
            if getattr(self, name) is not None:
                check_whole(getattr(self, name), name)
        check_number(self.tol, "tol", least=0)
        if isinstance(self.init, str):
            check_choice(self.init, "init", INITS)
        else:
            self._given("init", None)
        if self.directions is not None:
            self._given("directions", None)
            if self.record_every is None:
                raise ValueError(
                    "directions are those of order parameters, and none are kept: pass "
                    "record_every, too."
                )
        self._width()
        self._check_rates()

    def _check_rates(self) -> None:
        counted = self._rate() is None
        if self.forgetting is not None:
            check_number(self.forgetting, "forgetting", above=0, below=1)
            if not counted:
                raise ValueError(
                    f"forgetting={self.forgetting!r} makes counts fade, and "
                    f"learning_rate={self.learning_rate!r} does not go by them: leave it out, or "
                    "use learning_rate='count'."
                )
        if self.method == "batch":
            unread = {"forgetting": None, "reseed": None, "record_every": None}
            for name, plain in (unread | {"learning_rate": "count"}).items():
                value = getattr(self, name)
                if value is not plain and not (isinstance(value, str) and value == plain):
                    raise ValueError(
                        f"{name}={value!r} is of steps, and method='batch' takes none: leave it "
                        "out, or use method='sequential'."
                    )

    def _given(self, name: str, n_features: int | None) -> Float64s:
        """Return the vectors that ``init`` or ``directions`` give, checked."""
        value, words = getattr(self, name), ""
        rows = "m"
        if name == "init":
            words, rows = f"{', '.join(map(repr, INITS))} or ", str(self.n_prototypes)
        shape = f"({rows}, {n_features or 'n_features'})"
        try:
            places = real_array(value, name).astype(np.float64)
        except TypeError:
            raise TypeError(
                f"{name} must be {words}an array of shape {shape}, got {value!r}."
            ) from None
        fits = places.ndim == 2 and (rows == "m" or len(places) == self.n_prototypes)
        if not fits or places.shape[1] != (n_features or places.shape[1]):
            raise ValueError(f"{name} must have shape {shape}, got {places.shape}.")
        check_finite(places, name=name, remedy="Give vectors that are finite.")
        return places

    def _rate(self) -> Schedule | None:
        """Return the schedule of learning rates; None for counts."""
        if isinstance(self.learning_rate, str) and self.learning_rate == "count":
            return None
        return schedule_of(self.learning_rate, "learning_rate", "count", most=1.0)

    def _width(self) -> Schedule | None:
        """Return the schedule of widths; None where the data suggest one."""
        if isinstance(self.width, str) and self.width == "auto":
            return None
        if self.assignment == "winner":
            raise ValueError(
                f"width={self.width!r} is of no use to assignment='winner', which moves one "
                "prototype: leave it out, or use assignment='soft' or 'rank'."
            )
        return schedule_of(self.width, "width", "auto")

    def _new_learner(self, n_features: int, seed: int) -> CompetingLearner:
        check_fits(
            24.0 * self.n_prototypes * n_features,
            f"n_prototypes={self.n_prototypes} of {n_features} features",
            "Ask for fewer.",
        )
        drawn = isinstance(self.init, str) and self.init != "data"
        waits = drawn or (self.assignment == "soft" and self._width() is None)
        least = max(FIRST_EACH * self.n_prototypes, FIRST)
        plan = PrototypePlan(
            self.n_prototypes,
            schedule=self._rate(),
            forgetting=self.forgetting or 0.0,
            n_first=max(self.init_size or least, self.n_prototypes) if waits else 1,
            init=self.init if isinstance(self.init, str) else self._given("init", n_features),
            seed=seed,
            record_every=self.record_every,
            directions=None if self.directions is None else self._given("directions", n_features),
            width=self._width(),
            reseed=self.reseed,
        )
        return CompetingLearner(RULES[self.assignment], plan, n_features)

    def _passes(self) -> int:
        return self.max_iter or (1 if self.method == "sequential" else 300)

    def _by_passes(self) -> bool:
        return self.method == "batch"

    def _learn(self, start: Any, number: int = 0, goes_on: bool = False) -> None:
        if self.method == "sequential":
            super()._learn(start, number, goes_on)
            return
        learner: Any = self._learner if goes_on else None
        if learner is None:
            for rows, weights in start(False):
                learner = learner or self._new_learner(rows.shape[1], self._seed())
                if learner.add_first(rows, weights):
                    break
            if learner is None or learner.waiting == 0:
                raise ValueError(NOTHING_LEFT)
            self._learner = learner.placed()
            self._settles = self.tol * learner.variance(start(False))
        for n in range(number, self._passes()):
            self.n_iter_ = n + 1
            if learner.batch(start(True), n) <= self._settles:
                break

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning with a chunk of rows; any chunking, from one row on, learns the same."""
        if self.method == "batch":
            self._check()
            raise ValueError(
                "method='batch' goes through all rows again and again, and a stream has them once: "
                "use method='sequential', or fit."
            )
        return super().partial_fit(X, y, sample_weight)

    def merge(self, other: Self) -> Self:
        """Return an estimator whose prototypes stand for those of both, for parallel streams.

        The prototypes of both, each as often as the rows that it has learned, are clustered again
        by k-means: an approximation, whose loss docs/prototypes.md has measured.
        """
        ours, theirs = (getattr(one, "_mergeable", lambda: None)() for one in (self, other))
        if type(other) is not type(self) or ours is None or theirs is None:
            raise TypeError(
                f"merge takes another fitted {type(self).__name__}, got {other!r:.200}."
            )
        try:
            check_unchanged(self._begun, other._begun)
        except ValueError as refusal:
            what = str(refusal).split(" comes too late")[0]
            raise ValueError(
                f"the other one has learned with {what}, and this one with "
                f"{self._begun[what.split('=')[0]]!r}: merge what was learned alike."
            ) from None
        if ours.n_features != theirs.n_features:
            raise ValueError(
                f"the other one has learned rows of {theirs.n_features} features, and this one of "
                f"{ours.n_features}: there are no prototypes of both."
            )
        check_same_steps(self, other)
        merged = type(self)(**self.get_params(deep=False))
        for name in {"n_features_in_", "feature_names_in_", "_begun", *NOTED} & vars(self).keys():
            setattr(merged, name, vars(self)[name])
        merged._learner = ours.merge(theirs)
        merged._n_skipped = self._n_skipped + other._n_skipped
        merge_sources(merged, other, follows=False)
        return merged

    def _mergeable(self) -> Any:
        return self._learner if self.__sklearn_is_fitted__() else None

    def _told(self, learner: Any) -> None:
        super()._told(learner)
        if learner.alive < self.n_prototypes:
            warn_user(
                f"X has {learner.alive} distinct rows, fewer than "
                f"n_prototypes={self.n_prototypes}: each has become a prototype."
            )

    # ---- reading ---------------------------------------------------------------------------

    @property
    def dead_(self) -> Any:
        """The numbers of the prototypes that were the nearest in none of the last steps."""
        learner: Any = self._ahead()
        return learner.dead(self.reseed or DEAD * self.n_prototypes)

    @property
    def n_reseeded_(self) -> int:
        """How often a dead prototype has been placed anew."""
        learner: Any = self._ahead()
        return int(learner.n_reseeded)

    def advise(self, rate: float) -> Advice:
        """Say how many examples two prototypes would need at this rate to part on these data.

        Their distance, and that of the rows from them, tell how far apart two clusters of equal
        weight and variance are ([DYN] sec. 2). ``rate`` is that of a step; the theory's eta is as
        many times that as there are features.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import CompetitiveLearning
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((4000, 100))
        >>> X[np.arange(4000), rng.integers(2, size=4000)] += 2.0
        >>> round(CompetitiveLearning(2, random_state=0).fit(X).advise(0.02).examples)
        204
        """
        check_number(rate, "rate", above=0)
        learner = self._ahead()
        if learner.alive != 2 or self.assignment != "winner" or self.learning_rate != "count":
            raise ValueError(NOT_MEANS)
        pair = clusters_of(learner.vectors, self.counts_, self.error_)
        return pair.advise(rate * learner.n_features, n_features=learner.n_features)

    @property
    def order_parameters_(self) -> OrderParameters:
        """Overlaps with the directions, and of the prototypes, every ``record_every`` steps."""
        learner = self._ahead()
        recorded = learner.recorded
        if recorded is None:
            raise NotFittedError(
                "no order parameters have been kept: pass record_every before learning, and as "
                "many rows at least as there are prototypes."
            )
        steps, R, Q = (np.array(one) for one in recorded)
        return OrderParameters(steps / learner.n_features, R, Q)
