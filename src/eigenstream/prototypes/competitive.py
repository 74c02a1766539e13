"""Competitive learning: on-line k-means and its kin, one step a row."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from eigenstream._checks import check_choice, check_number, check_whole, real_array, warn_user
from eigenstream.learners.prototypes import CompetingLearner, PrototypeLearner, PrototypePlan
from eigenstream.prototypes.base import PrototypeEstimator
from eigenstream.rules.competitive import WINNER
from eigenstream.schedules import Auto, Constant, Schedule, as_schedule

__all__ = ["CompetitiveLearning"]

RULES = {"winner": WINNER}

#: Rows among which k-means++ places the prototypes: so many for each, and at least so many.
FIRST_EACH, FIRST = 20, 1000

RATES = (
    "'count' (1 / count), a number, a schedule of eigenstream.schedules (Constant, Power, "
    "Exponential) or a function of the step number"
)


class CompetitiveLearning(PrototypeEstimator):
    """Prototypes that compete for rows: clusters of a stream, learned one row at a time.

    Each row moves prototypes towards it, ``J_k += lr p_k (x - J_k)`` ([DYN] eq. 2.2).

    Parameters
    ----------
    n_prototypes : int, default=8
        Where fewer distinct rows have come, there are as many prototypes as those.
    assignment : "winner"
        Whom a row moves: the nearest prototype alone (on-line k-means).
    learning_rate : "count", float, schedule or function, default="count"
        "count": 1 over the number of rows that the prototype has won, so that it is their mean
        [MACQUEEN]. A number is a constant rate; [DYN] writes it as eta / N for rows of N features.
        Schedules of ``eigenstream.schedules`` and functions go by the number of the step.
    init : "k-means++", "random", "data" or array of shape (n_prototypes, n_features)
        Where prototypes begin: spread out over the first rows, on some of them drawn at random, on
        the first rows that differ, or where they are given.
    init_size : int, optional
        Among how many first rows of a stream "k-means++" and "random" place them: 20 a prototype
        and at least 1000 by default. They wait in memory until they are complete.
    forgetting : float, optional
        The share of the counts that is forgotten a step, for streams that drift.
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
    error_ : float
        The mean squared distance of rows to their nearest prototype when they came.
    n_steps_, n_samples_skipped_ : int

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
        learning_rate: Any = "count",
        init: Any = "k-means++",
        init_size: int | None = None,
        forgetting: float | None = None,
        missing: str = "raise",
        random_state: Any = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.assignment = assignment
        self.learning_rate = learning_rate
        self.init = init
        self.init_size = init_size
        self.forgetting = forgetting
        self.missing = missing
        self.random_state = random_state

    def _check(self) -> None:
        check_whole(self.n_prototypes, "n_prototypes")
        check_choice(self.assignment, "assignment", tuple(RULES))
        check_choice(self.missing, "missing", ("raise", "skip"))
        check_random_state(self.random_state)
        counted = self._schedule() is None
        if isinstance(self.init, str):
            check_choice(self.init, "init", ("k-means++", "random", "data"))
        else:
            self._given(None)
        if self.init_size is not None:
            check_whole(self.init_size, "init_size")
        if self.forgetting is not None:
            check_number(self.forgetting, "forgetting", above=0, below=1)
            if not counted:
                raise ValueError(
                    f"forgetting={self.forgetting!r} makes counts fade, and "
                    f"learning_rate={self.learning_rate!r} does not go by them: leave it out, or "
                    "use learning_rate='count'."
                )

    def _given(self, n_features: int | None) -> Any:
        """Return the prototypes that ``init`` gives."""
        shape = f"({self.n_prototypes}, {n_features or 'n_features'})"
        try:
            places = real_array(self.init, "init").astype(np.float64)
        except TypeError:
            raise TypeError(
                "init must be 'k-means++', 'random', 'data' or an array of shape "
                f"{shape}, got {self.init!r}."
            ) from None
        fits = places.ndim == 2 and len(places) == self.n_prototypes
        if not fits or places.shape[1] != (n_features or places.shape[1]):
            raise ValueError(f"init must have shape {shape}, got {places.shape}.")
        if not np.isfinite(places).all():
            raise ValueError("init holds values that are not finite. Give prototypes that are.")
        return places

    def _schedule(self) -> Schedule | None:
        rate = self.learning_rate
        if isinstance(rate, str):
            if rate == "count":
                return None
            raise ValueError(f"learning_rate must be {RATES}, got {rate!r}.")
        if isinstance(rate, int | float | np.number) and not isinstance(rate, bool):
            return Constant(check_number(rate, "learning_rate", above=0, most=1))
        if isinstance(rate, Auto) or not (isinstance(rate, Schedule) or callable(rate)):
            raise TypeError(f"learning_rate must be {RATES}, got {rate!r}.")
        return as_schedule(rate)

    def _new_learner(self, n_features: int, seed: int) -> PrototypeLearner:
        placed = self.init if isinstance(self.init, str) else self._given(n_features)
        n_first = 1
        if isinstance(self.init, str) and self.init != "data":
            least = max(FIRST_EACH * self.n_prototypes, FIRST)
            n_first = max(self.init_size or least, self.n_prototypes)
        plan = PrototypePlan(
            self.n_prototypes,
            schedule=self._schedule(),
            forgetting=self.forgetting or 0.0,
            n_first=n_first,
            init=placed,
            seed=seed,
        )
        return CompetingLearner(RULES[self.assignment], plan, n_features)

    def _passes(self) -> int:
        return 1

    def _told(self, learner: PrototypeLearner) -> None:
        super()._told(learner)
        if learner.alive < self.n_prototypes:
            warn_user(
                f"X has {learner.alive} distinct rows, fewer than "
                f"n_prototypes={self.n_prototypes}: each has become a prototype."
            )
