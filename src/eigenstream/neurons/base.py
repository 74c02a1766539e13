"""What the online neurons share: passes over data, convergence, history, projection."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import (
    check_finite,
    check_flag,
    check_number,
    check_unchanged,
    check_whole,
)
from eigenstream._linalg import Float64s
from eigenstream._refusals import unchanged_on_error
from eigenstream._rows import validated_rows
from eigenstream._storable import FITTED, storable
from eigenstream._streams import Course, fits_streams_by, maps_streams
from eigenstream.online import OnlineLearner, Plan, Progress, Rule
from eigenstream.schedules import Auto

__all__ = ["OnlineNeurons"]


@storable(
    **FITTED,
    _begun="dict",
    _learner="OnlineLearner",
    _latest="f8 units D",
    n_iter_="int",
    converged_="bool",
    history_="list?",
)
class OnlineNeurons(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Base of the estimators whose units learn by a Hebbian rule, one observation at a time."""

    #: What schedule="auto" is: single units need another rate than the flow's frames.
    AUTO: Auto

    schedule: Any
    center: bool
    init: Any
    max_iter: int
    tol: float
    history_every: int | None
    random_state: Any

    # What learning sets.
    _learner: OnlineLearner
    _latest: Float64s
    _begun: dict[str, Any] | None = None

    @abstractmethod
    def _rule(self) -> Rule:
        """Return the rule, after checking the subclass's own parameters."""

    @abstractmethod
    def _units(self) -> int:
        """Return the number of units."""

    @abstractmethod
    def _rates(self) -> Float64s | None:
        """Return one learning-rate factor a unit, or None for ones."""

    @fits_streams_by("_fit_stream")
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        checkpoint: Any = None,
        every: int | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from passes over ``X`` until the weights settle, or ``max_iter`` passes.

        A pass is one step a row, in the order given: shuffle rows that are sorted, such as by
        class, or the answer is of the last of them rather than of all. ``converged_`` says whether
        the last pass moved the weights by less than ``tol``, relative to their size.

        Parameters
        ----------
        X : array-like of shape (n, D), or a stream
        y : ignored
        <checkpoint, every, resume>
        """
        with unchanged_on_error(self):
            self._check()
            self._note_parameters()
            rows = self._validated(X, reset=True)
            self._learn_passes(lambda: [rows])
        return self

    def _fit_stream(self, course: Course) -> None:
        """Learn from as many passes as ``fit`` makes over an array, chunk by chunk."""
        made = course.learned
        made._check()
        made._note_parameters()
        passes = course.passes() if self.max_iter > 1 else None

        first = not course.goes_on

        def start() -> Iterator[Any]:
            nonlocal first
            for rows, _ in course.learning(passes):
                checked, first = made._validated(rows, reset=first), False
                yield checked

        made._learn_passes(start, course.turn if course.goes_on else None)

    def _learn_passes(
        self, start: Callable[[], Iterable[Any]], goes_on_at: int | None = None
    ) -> None:
        """Learn from passes over chunks of rows until the weights settle.

        All that going on takes is there after each chunk; a checkpoint may have it.
        """
        learner = None if goes_on_at is None else self._learner
        passes = goes_on_at or 0
        settled = False
        while passes < self.max_iter and not settled:
            for rows in start():
                if learner is None:
                    learner = self._new_learner()
                    # Nothing to compare with: the first pass never settles.
                    self._latest = np.zeros((self._units(), rows.shape[1]))
                    self._learner, self.n_iter_, self.converged_ = learner, 0, False
                learner.update(rows)
            assert learner is not None
            before, latest = self._latest, self._vectors(learner)
            settled = passes > 0 and self._settled(before, latest)
            passes += 1
            self._latest, self.n_iter_, self.converged_ = latest, passes, settled

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Go on learning with one pass over a chunk of rows; any chunking gives the same weights.

        ``converged_`` says whether the chunk moved the weights by less than ``tol``, relative to
        their size; ``n_iter_`` counts the chunks.
        """
        with unchanged_on_error(self):
            self._check()
            first = self._begun is None
            if first:
                self._note_parameters()
            else:
                check_unchanged(self._begun or {}, vars(self))
            rows = self._validated(X, reset=first)
            learner = self._new_learner() if first else self._learner
            learner.update(rows)
            after = self._vectors(learner)
            self.n_iter_ = 1 if first else self.n_iter_ + 1
            self.converged_ = not first and self._settled(self._latest, after)
            self._learner, self._latest = learner, after
        return self

    def _settled(self, before: Float64s, after: Float64s) -> bool:
        """Say whether the weights have moved by less than ``tol``, relative to their size."""
        return bool(np.linalg.norm(after - before) <= self.tol * np.linalg.norm(before))

    @property
    def components_(self) -> Float64s:
        """The weight vectors, one a row; averaged over the steps with ``schedule="auto"``."""
        check_is_fitted(self)
        return self._vectors(self._learner)

    @property
    def mean_(self) -> Float64s:
        """What is taken off every row before it is projected (zeros with ``center=False``)."""
        check_is_fitted(self)
        return self._learner.ahead().mean

    @property
    def n_steps_(self) -> int:
        """The number of learning steps."""
        check_is_fitted(self)
        return self._learner.n_terms

    @maps_streams
    def transform(self, X: Any) -> Any:
        """Return the units' responses <w, x - mean> to the rows, in the rows' own precision."""
        check_is_fitted(self)
        rows = self._validated(X, reset=False)
        learner = self._learner.ahead()
        weights = np.asarray(learner.vectors, rows.dtype)
        return rows @ weights.T - (weights @ learner.mean.astype(rows.dtype))

    @property
    def _n_features_out(self) -> int:
        return self._units()

    def _vectors(self, learner: OnlineLearner) -> Float64s:
        return np.array(learner.ahead().vectors, np.float64)

    def _note_parameters(self) -> None:
        """Remember what the learner is made with; passes and tolerance count anew each time."""
        given = self.get_params(deep=False)
        self._begun = {k: v for k, v in given.items() if k not in ("max_iter", "tol")}

    def _check(self) -> None:
        check_flag(self.center, "center")
        check_whole(self.max_iter, "max_iter")
        check_number(self.tol, "tol", least=0)
        if self.history_every is not None:
            check_whole(self.history_every, "history_every")

    def _validated(self, X: Any, *, reset: bool) -> Any:
        rows = validated_rows(self, X, reset=reset)
        check_finite(rows)
        if reset and self._units() > rows.shape[1]:
            raise ValueError(
                f"{self._units()} units find at most as many directions as there are features, "
                f"{rows.shape[1]}. Choose n_components <= {rows.shape[1]}."
            )
        return rows

    def _schedule(self) -> Any:
        automatic = isinstance(self.schedule, str) and self.schedule == "auto"
        return self.AUTO if automatic else self.schedule

    def _new_learner(self) -> OnlineLearner:
        hook = None
        if self.history_every is not None:
            self.history_: list[tuple[int, Float64s]] = []
            hook = self._record
        return OnlineLearner(
            self._rule(),
            Plan(
                self._units(),
                center=self.center,
                schedule=self._schedule(),
                init=self.init,
                seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
                rates=self._rates(),
                hook=hook,
                hook_every=self.history_every or 1,
            ),
        )

    # ---- saving ----------------------------------------------------------------------------

    def _loaded(self) -> None:
        """Let the learner record again, and check that it is that of these neurons."""
        if self._begun is None:
            return
        begun = type(self)(**self.get_params(deep=False) | self._begun)
        begun._check()
        plan = self._learner.plan
        if begun.history_every is not None:
            self.history_ = list(self.history_)
            plan = replace(plan, hook=self._record, hook_every=begun.history_every)
        self._learner.plan = plan
        units = begun._units()
        if (
            self._learner.rule is not begun._rule()
            or units != plan.n_components
            or self._latest.shape != (units, len(self._learner.mean))
        ):
            raise ValueError(f"what was learned is not what {begun!r:.200} learns.")

    def _record(self, progress: Progress) -> None:
        self.history_.append((progress.step, progress.components))

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether there is anything to read."""
        return self._begun is not None

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
