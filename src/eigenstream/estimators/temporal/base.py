"""Learning from rows in time order: whole, in chunks, in separate sequences, and merged."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from eigenstream._checkpoints import KEEPING, keeper_of
from eigenstream._checks import check_flag, check_whole, warn_user
from eigenstream._documented import documented_by
from eigenstream._provenance import merge_sources
from eigenstream._refusals import unchanged_on_error
from eigenstream._streams import is_stream
from eigenstream.contrast import Contrast
from eigenstream.estimators import _input
from eigenstream.estimators._callbacks import CallbackSupportMixin, with_callbacks
from eigenstream.estimators._exporting import as_sklearn
from eigenstream.estimators._missing import FIRST
from eigenstream.estimators.base import SubspaceEstimator
from eigenstream.estimators.temporal._sources import source_of
from eigenstream.learners import table
from eigenstream.learners.base import Learner
from eigenstream.learners.sketch import SketchPlan
from eigenstream.learners.temporal import FromScatters, StreamLearner, StreamQuestion, StreamTask
from eigenstream.online import UnstableStepError

#: No two rows that are compared are both there.
NO_VELOCITY = (
    "no velocity is left to learn from: of any two rows that are lag={lag} apart one has a weight "
    "of zero or a missing value. Impute the values, choose another lag, or use StreamPCA."
)


class StreamEstimator(CallbackSupportMixin, SubspaceEstimator):
    """Base of the estimators that learn from rows in time order.

    A subclass says which scatters its contrast has, and what it asks of whoever has learned.
    """

    # What a subclass's __init__ sets.
    center: bool
    scale: bool
    schedule: Any
    init: Any
    forgetting: float | None
    block_size: int | None
    oversampling: float | None
    hook: Callable[..., Any] | None
    random_state: Any

    DATA = "time"
    COUNTS_ALL = True
    FIXED = ("center", "features", "lag")

    _learner: StreamLearner | None

    @abstractmethod
    def _lag(self) -> int:
        """Return how many rows back the contrast looks."""

    @abstractmethod
    def _fixed_weights(self) -> tuple[float, float] | None:
        """Return the weights of the two scatters, or None where the data choose them."""

    @abstractmethod
    def _new_contrast(self, n_features: int) -> Contrast:
        """Return the empty contrast for rows of this width."""

    @abstractmethod
    def _check_able(self, solver: str, width: int | None = None) -> None:
        """Refuse what a way of learning cannot do for these parameters.

        ``width`` is that of the rows, where it is known.
        """

    @abstractmethod
    def _question(self, n_features: int) -> StreamQuestion:
        """Return what the learner is asked, by the parameters as they are now."""

    @documented_by(KEEPING)
    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        passes: int = 1,
        *,
        checkpoint: Any = None,
        every: int | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from all of ``X``, forgetting what was learned before.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), a list of them, or a stream
            Rows in time order. A list holds separate sequences: no velocity crosses from one to
            the next. Memory-mapped arrays are read chunk by chunk, and so are streams, those of
            ``eigenstream.streams.open_stream``: files of any size, tables, video, iterables.
        y : ignored
        sample_weight : array-like of shape (n,), or a list of arrays, one a sequence
            Non-negative weights of the rows.
        passes : int, default=1
            How many times the rows are learned from, for solver="sketch": each pass comes nearer to
            the best answer.
        <checkpoint, every, resume>
        """
        unstable: UnstableStepError | None = None
        keeper = keeper_of(checkpoint, every, resume)
        with unchanged_on_error(self):
            known = self._learner is not None
            self._check_parameters()
            if keeper is not None:
                table.require(self.DATA, self.solver, "goes_on", "checkpoint=")
            source = source_of(self, X, sample_weight, check_whole(passes, "passes"), keeper)
            self._check_width(source.width)
            learner = self._begun_learner(source.width, source.expected_rows, passes)
            if passes > 1:
                table.require(self.DATA, self.solver_, "more_passes", f"passes={passes}")
            if keeper is not None:
                table.require(self.DATA, self.solver_, "goes_on", "checkpoint=")
            learner = source.goes_on_with(learner)
            try:
                if not source.complete:
                    learner.read(source, self._question(source.width))
            except UnstableStepError as error:
                # What was fitted before is better than half a fit.
                if known or learner.n_terms == 0:
                    raise
                unstable = error
            self._check_terms(learner)
            if unstable is None:
                source.end()
            self._learner = learner
            self._solution = learner.solution(self._question(source.width))
            self._skipped = source.skipped(learner.n_rows).warned(self, learner.n_rows)
        if unstable is not None:
            raise unstable
        return self

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, new_sequence: bool = False
    ) -> Self:
        """Go on learning with a chunk of rows that follows the rows seen so far.

        Any chunking, down to one row a call from the first call on, gives the result of one pass.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), or a list of them
            The rows of a list's second part, and of those after it, start new sequences.
        y : ignored
        sample_weight : array-like of shape (n,), or a list of arrays, one a sequence
        new_sequence : bool
            The chunk starts a new sequence: no velocity from the last row seen to its first.
        """
        check_flag(new_sequence, "new_sequence")
        unstable: UnstableStepError | None = None
        with unchanged_on_error(self):
            self._check_parameters()
            first = self._check_continuation()
            sequences = _input.as_sequences(self, X, sample_weight, reset=first)
            # All is checked and mapped before anything is learned.
            parts = [
                _input.clean(one.rows, one.weights, self.missing, new_sequence or k > 0, one.name)
                for k, one in enumerate(sequences)
            ]
            parts = [
                part.after(self._collect_features(one.rows))
                for one, part in zip(sequences, parts, strict=True)
            ]
            parts = [part.mapped(self._map) for part in parts if len(part)]
            try:
                for part in parts:
                    self._learn_part(part)
            except UnstableStepError as error:
                unstable = error
        if unstable is not None:
            raise unstable
        return self

    def _learn_part(self, part: _input.CheckedChunk) -> None:
        """Learn from one more part of a stream."""
        if self._learner is None:
            self._check_width(part.rows.shape[1])
            self._learner = self._begun_learner(part.rows.shape[1], None)
        elif part.new_sequence:
            self._warn_of_short_sequence(self._learner.sequence_rows)
        learner, before = self._learner, self._learner.n_rows
        self._solution = None
        try:
            learner.add(part.rows, part.weights, new_sequence=part.new_sequence)
        finally:
            # A hook, or an unstable step, may have dropped the rest.
            learned = max(learner.n_rows - before, 0)
            self._skipped = self._skipped.plus(part.holes.between(0, learned))
        if learner.contrast is not None:
            learner.contrast.weights = self._fixed_weights()
        self._skipped = self._skipped.warned(self, learner.n_rows, least=FIRST)

    def merge(self, other: Self, *, new_sequence: bool = False) -> Self:
        """Return an estimator that has learned what this one and then the other one saw.

        Exact from scatters: the same as one pass over both; with solver="sketch" what either has
        cut off is lost. Neither estimator is changed.

        Parameters
        ----------
        other : fitted estimator of the same kind and width
        new_sequence : bool
            The other's rows start a new sequence, instead of following this one's in time.
        """
        self._check_mergeable(other)
        ours, theirs = self._learner, other._learner
        assert ours is not None
        assert theirs is not None
        both = ours.merge(theirs, new_sequence=new_sequence)
        if both.contrast is not None:
            both.contrast.weights = self._fixed_weights()
        merged = self._with(both)
        merged._skipped = self._skipped.merged(other._skipped)
        merge_sources(merged, other, follows=not new_sequence)
        return merged

    def to_sklearn(self, preprocessing: bool = False) -> Any:
        """Return a plain scikit-learn PCA that projects as ``transform`` does, to rounding.

        With ``scale=True``, with a feature map, or with steps of preprocessing, it is a pipeline
        that ends in the PCA. It holds the components, the mean and what is known of the variances
        along them (NaN is not known), and learns nothing of what is kept here for going on.

        Parameters
        ----------
        preprocessing : bool
            Put the steps of the stream that was learned from in front. Steps that look back in
            time (delays, differences) have no form in scikit-learn and are refused.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import SlowSubspace
        >>> rows = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
        >>> slow = SlowSubspace(2).fit(rows)
        >>> bool(np.allclose(slow.to_sklearn().transform(rows), slow.transform(rows)))
        True
        """
        check_flag(preprocessing, "preprocessing")
        return as_sklearn(self, self._variances(), preprocessing)

    def _variances(self) -> Any:
        """Return the variance along each component, with n - 1; NaN where it is not known."""
        contrast = self._knowledge().contrast
        components = self._columns.T
        if contrast is None or not self.center:
            return np.full(len(components), np.nan)
        moments = np.einsum("ij,jk,ik->i", components, contrast.reward.matrix(), components)
        n = contrast.reward.count
        return moments * (n / (n - 1)) if n > 1 else moments

    # ---- from the data to the learner --------------------------------------------------------

    def _begun_learner(self, width: int, n_rows: int | None, passes: int = 1) -> StreamLearner:
        """Return a learner for rows of this width: so many, or (None) a stream of them."""
        plan = self._sketch_plan(width) if self._sketches(width) else None
        self.solver_ = table.chosen(
            self.DATA,
            self.solver,
            width,
            n_rows,
            self._needs_scatters(),
            sketch=plan,
            passes=passes,
        )
        self._check_able(self.solver_, width)
        given = self.get_params(deep=False)
        task = StreamTask(self._new_contrast(width), self._wanted(width), given)
        way: Any = table.WAYS[self.DATA][self.solver_]
        learner: StreamLearner = way.begun(task)
        self._note_parameters(learner)
        return learner

    def _needs_scatters(self) -> str:
        """Return the parameter that only the scatters can serve, or an empty string."""
        return "scale=True" if self.scale else ""

    def _sketches(self, width: int) -> bool:
        """Tell whether a sketch can do what is asked."""
        try:
            self._check_able("sketch", width)
        except ValueError:
            return False
        return True

    def _sketch_plan(self, width: int) -> SketchPlan:
        """Return what a sketch would do for these parameters."""
        return SketchPlan(
            self._wanted(width),
            lag=self._lag(),
            oversampling=self.oversampling,
            weights=self._fixed_weights(),
        )

    def _scored_contrast(self, X: Any) -> Contrast:
        """Return the contrast of other data."""
        check_is_fitted(self)
        sequences = _input.as_sequences(self, X, None, reset=False)
        self._check_lengths(sequences)
        scored = FromScatters(self._new_contrast(len(self.mean_)))
        for chunk in _input.chunks(sequences, self.missing):
            part = chunk.mapped(self._map)
            scored.add(part.rows, part.weights, new_sequence=part.new_sequence)
        self._check_terms(scored)
        return scored.contrast

    def _features_of(self, X: Any) -> Iterator[Any]:
        """Yield the features of rows, or of a stream, with weights, and whether a sequence begins.

        Rows that lack values weigh nothing where they are to be left out.
        """
        mean, columns, due = self.mean_, self._columns, int(self.n_features_in_)
        if is_stream(X):
            parts: Any = (
                _input.clean(one.rows, one.weights, "raise", one.new_sequence, one.source)
                for one in X.chunks()
            )
        else:
            parts = _input.chunks(_input.as_sequences(self, X, None, reset=False), self.missing)
        for part in parts:
            if part.rows.shape[1] != due:
                raise ValueError(f"rows of {part.rows.shape[1]} features; {due} were learned from.")
            made = part.mapped(self._map)
            features = np.asarray(_input.projected(made.rows, mean, columns), np.float64)
            yield features, made.weights, made.new_sequence

    # ---- checks ----------------------------------------------------------------------------

    def _warn_of_short_sequence(self, n_rows: int) -> None:
        if 0 < n_rows <= self._lag():
            warn_user(
                f"the sequence that ends before this chunk has {n_rows} row(s) and gave no "
                f"velocity at lag={self._lag()}: nothing was learned from it.",
            )

    def _check_lengths(self, sequences: list[_input.Sequence]) -> None:
        least = self._lag() + 1
        for sequence in sequences:
            if len(sequence) < least:
                raise ValueError(
                    f"{sequence.name} has n_samples={len(sequence)}, and a velocity at "
                    f"lag={self._lag()} takes at least {least} rows in time order. Drop the "
                    "sequence or choose a smaller lag."
                )

    def _check_terms(self, learner: StreamLearner) -> None:
        if learner.n_terms == 0:
            if 0 < learner.sequence_rows <= self._lag():
                raise ValueError(
                    f"no row is left to learn from: none has a past {self._lag()} row(s) back in "
                    f"its sequence, which takes {self._lag() + 1} rows in time order. Choose a "
                    "smaller lag."
                )
            raise ValueError(
                "no row is left to learn from: all have a weight of zero or a missing value."
            )
        if self._lacks_velocities(learner):
            raise ValueError(NO_VELOCITY.format(lag=self._lag()))

    def _check_ready(self, learner: Learner) -> None:
        super()._check_ready(learner)
        assert isinstance(learner, StreamLearner)
        if self._lacks_velocities(learner):
            raise NotFittedError(NO_VELOCITY.format(lag=self._lag()))

    def _lacks_velocities(self, learner: StreamLearner) -> bool:
        """Tell whether velocities matter and there are none."""
        matters = self._lag() > 0 and self._fixed_weights() != (1.0, 0.0)
        return matters and learner.n_velocities == 0

    def _unready(self) -> str:
        learner = self._learner
        assert learner is not None
        if learner.sequence_rows > self._lag():
            return (
                f"has seen {learner.n_rows} row(s), all of which have a weight of zero or a "
                "missing value: call partial_fit with others."
            )
        return (
            f"has seen {learner.n_rows} row(s), none with a past {self._lag()} row(s) back: "
            "call partial_fit with more."
        )
