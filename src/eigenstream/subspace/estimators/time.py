"""Learning from rows in time order: whole, in chunks, in separate sequences, and merged."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_flag, warn_user
from eigenstream.core.device import on_host
from eigenstream.core.documented import documented_by
from eigenstream.core.linalg import Float64s
from eigenstream.core.types import (
    BlockCount,
    Checkpoint,
    Constraints,
    LabelsLike,
    Matrix,
    RowsLike,
    WeightsLike,
)
from eigenstream.rows.chunk import MUCH, STARTS, Chunk, Skipped
from eigenstream.rows.door import (
    admitted,
    check_is_rows,
    is_pairs,
    pairs_of,
)
from eigenstream.rows.fit import KEEPING, CallbackSupportMixin, Fit, keeper_of, with_callbacks
from eigenstream.rows.guard import reads, twin
from eigenstream.rows.prepared import fits_rows, learns_rows, note_source
from eigenstream.rows.rows import ArrayRows, Rows
from eigenstream.subspace.estimators.base import SubspaceEstimator
from eigenstream.subspace.estimators.mapping import projected
from eigenstream.subspace.estimators.results import (
    DynamicResult,
    Gaps,
    Result,
    SlowResult,
    VarianceResult,
)
from eigenstream.subspace.inference.held_out import HeldOut, HeldOutVariance
from eigenstream.subspace.inference.uncertainty import (
    Uncertainty,
    check_blocks,
    parts_in_time,
    parts_of_sequences,
    warned,
)
from eigenstream.subspace.solvers.base import FLAG, MATRIX, Need, Problem
from eigenstream.subspace.solvers.dense import Dense
from eigenstream.subspace.sums.gap_moments import GapMoments
from eigenstream.subspace.sums.learner import Learner, Watcher
from eigenstream.subspace.sums.propagator import LaggedCovariances
from eigenstream.subspace.sums.row_moments import RowMoments
from eigenstream.subspace.sums.terms import Sums, TimeTerms
from eigenstream.subspace.watchers.peaks import Peaks
from eigenstream.subspace.watchers.values import (
    LostInformation,
    RadiusBound,
    RunMeans,
    check_squares,
)

TimeResult = TypeVar("TimeResult", VarianceResult, SlowResult, DynamicResult)

#: ``missing="skip"`` raises if it leaves fewer rows for each column, whose covariances are noise.
LEAST_ROWS = 10

#: ``fit`` tests features of at most this number of columns, or of fewer rows for each column. Other
#: tests are made when a result is read, because they take longer than 2 % of the fit.
SMALL, FEW_ROWS = 128, 10


class TimeEstimator(CallbackSupportMixin, SubspaceEstimator):
    """Base of the estimators that learn from rows in time order.

    Parameters
    ----------
    missing : {"raise", "skip", "available"}, default="raise"
        "skip" leaves out rows with NaN or infinity, and the velocities that contain them. It
        raises if this takes more than a tenth of the rows and leaves fewer than 10 for each
        column. "available" fits the covariance of greatest likelihood to the values that are
        present. It assumes that values do not go missing because of their size. ``transform``
        predicts the missing values of a row from its other values. It needs the dense solver.
    """

    center: bool | str
    scale: bool
    lag: int = 0

    _parameter_constraints: ClassVar[Constraints] = {
        "center": [FLAG, StrOptions({"sequences"})],
        "missing": [StrOptions({"raise", "skip", "available"})],
        "scale": [FLAG],
    }

    def _problem(self, width: int) -> Problem:
        return self._problem_of_rows(width)

    def _problem_of_rows(
        self,
        width: int,
        *,
        reversible: bool = False,
        bounded: bool = False,
        **extra_watchers: Watcher,
    ) -> Problem:
        """Return the problem of principal components, with extra watchers by name."""
        gaps, centred = self.missing == "available", self.center is True
        terms = TimeTerms(width, lag=self.lag, center=centred and not gaps, reversible=reversible)
        sums: Callable[[], Sums] | None = None
        watchers: dict[str, Watcher] = {"radius": RadiusBound(bounded=bounded)}
        if gaps:  # the sums subtract means themselves
            share = 0.5 if reversible else 0.0
            sums = partial(GapMoments, width, self.center, lag=self.lag, earlier_share=share)
            watchers = {"gaps": LostInformation()}
        elif self.center == "sequences":
            sums = partial(RowMoments, width, self.center, lag=self.lag)
        else:
            if centred and not reversible:
                watchers["runs"] = RunMeans(width)
            extra_watchers["peaks"] = Peaks()
        watchers |= extra_watchers
        n_components = self._wanted(width)
        return Problem(terms, n_components, (1.0, 0.0), sums=sums, watchers=watchers, halved=True)

    # ---- tests on the other half of the rows -----------------------------------------------

    def _report(self, fit: Fit | None = None) -> Learner:
        learner = super()._report(fit)
        if not self.lag or fit is None:  # a path of lags shows which time scales may be chance
            return learner
        terms: Any = learner.terms
        if terms.n_features <= SMALL or terms.n_velocities < FEW_ROWS * terms.n_features:
            self._add_test(self._answer)
        return learner

    @reads
    def _tested(self) -> Result:
        """Return the answer with the test of its features on the other half of the rows."""
        return self._add_test(self._solved())

    def _add_test(self, answer: Any) -> Result:
        """Return an answer with its test, which becomes the answer of the estimator."""
        if answer.held_out is None and not answer.estimated:
            with warnings.catch_warnings():  # the fit to all rows has warned
                warnings.simplefilter("ignore")
                test = self._test(answer, cast(Learner, self._learner))
            self._answer = answer = replace(answer, held_out=test)
            if test is not None and (message := test.warning) is not None:
                warn_user(message)
        return cast(Result, answer)

    def _test(self, answer: Any, learner: Learner) -> HeldOut | HeldOutVariance | None:
        """Return the test of an answer, or None for estimators without one."""
        return None

    def _supported(self, scales: Float64s) -> Float64s:
        """Return time scales, NaN for those that may be chance."""
        test = cast(Any, self._tested()).held_out
        return scales if test is None else np.where(test.chance, np.nan, scales)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.features is not None and self.missing == "available":
            raise ValueError(
                f"missing='available' cannot be combined with features={self.features!r}, because "
                "maps need complete rows. Use missing='skip', or impute the values first."
            )

    def _rows(
        self,
        X: RowsLike,
        sample_weight: WeightsLike = None,
        *,
        reset: bool,
        new_sequence: bool = False,
    ) -> Rows:
        """Return the rows of a stream, of one sequence or of several, or pairs."""
        if is_pairs(X):
            return self._pairs(X, sample_weight, reset=reset)
        rows = admitted(self, X, None, sample_weight, reset=reset, begins=reset or new_sequence)
        if new_sequence and self._learner is not None:
            age = self._learner.with_all_rows().terms.age
            if 0 < age <= self.lag:
                warn_user(
                    f"The sequence before this chunk has {age} row(s), which give no velocity at "
                    f"lag={self.lag}. Pass longer sequences, or use a smaller lag."
                )
        return rows

    # ---- gaps ------------------------------------------------------------------------------

    def _gaps_of(self, learner: Learner) -> Gaps:
        """Return what completes other rows."""
        return Gaps(learner.operator().reward, np.flatnonzero(~learner.sums.seen))

    def _check_gaps(self, learner: Learner) -> None:
        """Raise if the gaps leave too few columns or rows."""
        n, n_seen = self.n_components, int(learner.sums.seen.sum())
        if isinstance(n, Integral) and int(n) > n_seen:
            raise ValueError(
                f"n_components={n} exceeds the {n_seen} column(s) that have values. Use "
                f"n_components <= {n_seen}."
            )
        learner.sums.check_gaps(vars(self).get("feature_names_in_"), self.lag)
        check_squares(float(np.abs([learner.mean, learner.deviations(0.0)]).max()))

    # ---- learning --------------------------------------------------------------------------

    @fits_rows
    @documented_by(KEEPING)
    @with_callbacks
    def fit(
        self,
        X: RowsLike,
        y: LabelsLike = None,
        sample_weight: WeightsLike = None,
        *,
        blocks: BlockCount = None,
        checkpoint: Checkpoint = None,
        every: int | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from all of ``X``, forgetting what was learned before.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), a list of them, a stream, or pairs (n, 2, D)
            Rows in time order. A list holds separate sequences: no velocity crosses from one to
            the next. Memory-mapped arrays and streams are read chunk by chunk. An array of shape
            (n, 2, D) has pairs: a row, and the row ``lag`` later. ``LaggedCovariances`` from
            elsewhere take the place of rows.
        y : None
            Ignored. It exists for compatibility with scikit-learn.
        sample_weight : array-like of shape (n,), or a list of arrays, one a sequence
            Non-negative weights of the rows, or of the pairs. A velocity has the weight of its
            earlier row, or 0 if the later row has weight 0.
        blocks : int or "sequences", default=None
            Also compute ``result_.uncertainty`` from this number of blocks. See ``uncertainty``.
        <checkpoint, every, resume>

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        keeper = keeper_of(checkpoint, every, resume)
        if isinstance(X, LaggedCovariances):
            self._learn_covariances(X)
            return self
        if blocks is not None:
            if keeper is not None:
                raise ValueError("Pass blocks= or checkpoint=, not both.")
            self._learn_blocks(X, sample_weight, blocks)
            return self
        rows = self._sequences(X, sample_weight)
        if rows.stream is None:
            self._learn_all(Fit(self, rows, keeper))
        else:
            self._resume(rows, keeper)
        return self

    @learns_rows
    def partial_fit(
        self,
        X: RowsLike,
        y: LabelsLike = None,
        sample_weight: WeightsLike = None,
        new_sequence: bool = False,
    ) -> Self:
        """Learn from a chunk of rows that follows the rows seen so far.

        Any chunking, down to one row a call, gives the result of one pass.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), a list of them, or pairs (n, 2, D)
            Each part of a list after the first starts a new sequence. Pairs end the sequence
            before them.
        y : None
            Ignored. It exists for compatibility with scikit-learn.
        sample_weight : array-like of shape (n,), or a list of arrays, one for each sequence
            Non-negative weights of the rows.
        new_sequence : bool, default=False
            If True, the chunk starts a new sequence: no velocity joins it to the rows seen before.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from eigenstream import StreamPCA
        >>> rows = [[0.0, 1.0], [1.0, 3.0], [2.0, 4.0], [3.0, 8.0]]
        >>> StreamPCA(1).partial_fit(rows[:2]).partial_fit(rows[2:]).n_samples_seen_
        4
        """
        check_flag(new_sequence, "new_sequence")
        if type(X) is not np.ndarray:
            check_is_rows(X)
        return self._continued(X, sample_weight, new_sequence=new_sequence)

    def _learn_covariances(self, cov: LaggedCovariances) -> None:
        """Solve from covariances in place of rows, forgetting what was learned before."""
        if not self.lag:
            raise ValueError(f"{type(self).__name__} has no lag. Pass rows.")
        plain = self.center is True and self.missing != "available" and self.features is None
        if cov.lag != self.lag or not plain:
            raise ValueError(
                f"The covariances have lag={cov.lag} and one mean, and {self!r} needs others. Use "
                "this lag and center=True, and leave out missing='available' and features."
            )
        if not cov.weight > 0.0:
            raise ValueError("The covariances have no weight. Pass LaggedCovariances.of(weight=).")
        self._learner, self._answer, self._map, self._skipped = None, None, None, Skipped()
        self.n_features_in_ = len(cov.mean0)
        if "feature_names_in_" in vars(self):
            del self.feature_names_in_
        learner = self._begin(len(cov.mean0), None, Need("fit(LaggedCovariances)", MATRIX))
        learner.watchers, learner.halves = {}, None
        self._take_covariances(learner, cov)
        self._check_enough(learner)
        self._learner, self._answer = learner, self._result_of(learner)

    def _take_covariances(self, learner: Learner, cov: LaggedCovariances) -> None:
        """Set the sums of a learner to those with these covariances."""
        raise NotImplementedError

    def merge(self, other: Self, *, new_sequence: bool = False) -> Self:
        """Return an estimator that has learned from the rows of this one and then of the other one.

        The result is exact with solver="dense". With "sketch", the directions that either estimator
        discarded are lost. Neither estimator is changed.

        Parameters
        ----------
        other : object
            A fitted estimator of the same class, with equal parameters and columns.
        new_sequence : bool, default=False
            If True, the rows of ``other`` start a new sequence. By default they follow in time.

        Returns
        -------
        self : object
            A new fitted estimator.

        Examples
        --------
        >>> from eigenstream import StreamPCA
        >>> rows = [[0.0, 1.0], [1.0, 3.0], [2.0, 4.0], [3.0, 8.0]]
        >>> first, second = StreamPCA(1).fit(rows[:2]), StreamPCA(1).fit(rows[2:])
        >>> first.merge(second).n_samples_seen_
        4
        """
        check_flag(new_sequence, "new_sequence")
        return self._merged(other, new_sequence=new_sequence)

    # ---- use -------------------------------------------------------------------------------

    def _scored_terms(self, X: RowsLike, lag: int | None = None) -> Learner:
        """Return a learner of other rows."""
        check_is_fitted(self)
        model, width = twin(self), len(self._solved().mean)
        model.lag = self.lag if lag is None else lag
        rows = model._sequences(X, reset=False)
        scored = Dense().begin(model._problem(width))
        for chunk in Fit(model, rows, feature_map=self._map).reading():
            scored.add(chunk)
        model._check_terms(scored)
        return scored

    def _sequences(
        self, X: RowsLike, sample_weight: WeightsLike = None, *, reset: bool = True
    ) -> Rows:
        """Return pairs, a stream, or the rows of one sequence or several, longer than the lag."""
        if is_pairs(X):
            return self._pairs(X, sample_weight, reset=reset)
        rows = admitted(self, X, None, sample_weight, reset=reset)
        if isinstance(rows, ArrayRows):
            self._check_lengths(rows.sequences)
        return rows

    def _pairs(self, X: Matrix, sample_weight: WeightsLike, *, reset: bool) -> ArrayRows:
        """Return pairs of an earlier and a later row, or with lag 0 both rows of each pair."""
        if self.center == "sequences":
            raise ValueError(
                "center='sequences' needs sequences, and X has pairs. Use center=True, or pass a "
                "list of sequences."
            )
        part = pairs_of(self, X, sample_weight, reset=reset)
        if self.lag:
            return ArrayRows([part], missing=self.missing, members=2, source=X)
        weights = None if part.weights is None else np.repeat(part.weights, 2)
        rows = part.rows.reshape(2 * len(part.rows), -1)
        members = Chunk(rows, weights, STARTS[True], place=part.place)
        return ArrayRows([members], missing=self.missing, source=X)

    def _features_of(self, X: RowsLike) -> Iterator[Chunk]:
        """Yield chunks of features of rows, or of a stream."""
        answer = self._solved()
        rows = admitted(self, X, reset=False)
        for chunk in Fit(self, rows, feature_map=self._map).reading():
            complete, _ = self._completed(chunk.rows, answer)
            features = projected(complete, answer.mean, answer.columns)
            yield replace(chunk, rows=np.asarray(on_host(features), np.float64))

    # ---- error bars ------------------------------------------------------------------------

    def uncertainty(self, X: RowsLike, blocks: BlockCount = 20) -> Uncertainty:
        """Fit a copy of the estimator and return it with error bars, from one pass over the rows.

        The errors come from fits without each block of consecutive rows (the delete-one-block
        jackknife). Blocks shorter than ten time scales are joined until five remain. If these are
        still shorter, the errors are too small, and a warning is raised. ``alpha="auto"`` is chosen
        again without each block. Memory: about three D x D matrices for each block.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), a list of them, or a stream
            Rows in time order, as in ``fit``.
        blocks : int or "sequences", default=20
            The number of blocks before short ones are joined. A stream of unknown length has
            between ``blocks`` and ``2 * blocks`` of them. "sequences" takes each sequence as a
            block: independent recordings of similar lengths.

        Returns
        -------
        Uncertainty

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import SlowSubspace
        >>> from eigenstream.processes import Autoregressive
        >>> process = Autoregressive(np.exp([-1 / 50, -1 / 5]), random_state=0)
        >>> found = SlowSubspace(2, lag=5).uncertainty(process.take(50_000))
        >>> found
        SlowSubspace: 20 blocks of 2,500 rows, 95 % intervals
                               eigenvalue                    time scale  angle
          1       0.4896 [0.4463, 0.5329]           49.15 [45.9, 52.64]   0.2°
          2    0.05239 [0.05109, 0.05369]          5.028 [4.818, 5.247]   0.9°
        """
        model: Self = clone(self).fit(X, blocks=blocks)
        return cast(Uncertainty, model._of_this(cast(Any, model._solved())).uncertainty)

    def _learn_blocks(self, X: RowsLike, sample_weight: WeightsLike, blocks: int | str) -> None:
        """Learn from all rows in blocks, and store the error bars."""
        by_sequence = isinstance(blocks, str) and blocks == "sequences"
        if not by_sequence:
            check_blocks(blocks)
        cut = parts_of_sequences if by_sequence else parts_in_time
        fit, n_rows = self._fit_in_time(X, sample_weight)
        fitted, parts = self._fit_blocks(fit, cut, blocks, n_rows, "blocks=")
        error_bars = warned(fitted._error_bars(parts, independent=by_sequence))
        self._learner = fitted._learner
        result: Any = fitted._solved()
        self._answer = replace(result, uncertainty=replace(error_bars, estimator=None))
        note_source(self, fit.stream, fit.n_sequences)
        self._report(fit)

    def _of_this(self, result: TimeResult) -> TimeResult:
        """Return a result whose error bars have this estimator."""
        if result.uncertainty is None:
            return result
        return replace(result, uncertainty=replace(result.uncertainty, estimator=self))

    def _fit_in_time(
        self, X: RowsLike, sample_weight: WeightsLike = None
    ) -> tuple[Fit, int | None]:
        """Return a new fit after its feature map, and the number of rows if it is known."""
        rows = self._sequences(X, sample_weight)
        fit = Fit(self, rows)
        self._fit_maps(fit)
        return fit, rows.n_rows if fit.stream is None else fit.stream.n_rows

    # ---- checks ----------------------------------------------------------------------------

    def _check_lengths(self, sequences: list[Chunk]) -> None:
        for sequence in sequences:
            if sequence.rows.shape[0] <= self.lag:
                raise ValueError(
                    f"{sequence.source} has n_samples={sequence.n}, and a velocity at "
                    f"lag={self.lag} takes at least {self.lag + 1} rows in time order. Drop the "
                    "sequence or choose a smaller lag."
                )

    def _check_enough(self, learner: Learner) -> None:
        self._check_terms(learner)
        n_rows, width = learner.terms.n_rows, learner.terms.n_features
        seen = n_rows - self._skipped.n_rows
        if seen < LEAST_ROWS * width and self._skipped.n_rows > MUCH * n_rows:
            raise ValueError(
                f"missing='skip' leaves {seen} of {n_rows} rows, fewer than {LEAST_ROWS} "
                f"for each of the {width} columns. Use missing='available', or impute the values."
            )

    def _check_terms(self, learner: Learner) -> None:
        """Raise if the learner has too few rows, whatever was skipped."""
        terms: Any = learner.terms
        n_terms = terms.n_variances
        if not terms.reversible and n_terms == 0 and (terms.age > self.lag or not terms.n_rows):
            raise ValueError("Every row has weight zero or a missing value. Pass other rows.")
        if n_terms == 0 or (terms.n_velocities == 0 and self._penalises(terms.n_features)):
            raise ValueError(
                f"No velocity at lag={self.lag} is available after {terms.n_rows} row(s). Pass "
                "more rows without missing values or weights of zero, or use another lag."
            )
        learner.check_size()
        if self.missing == "available":
            self._check_gaps(learner)

    def _penalises(self, width: int) -> bool:
        """Return whether velocities matter for the answer."""
        return self.lag > 0 and self._problem(width).weights != (1.0, 0.0)
