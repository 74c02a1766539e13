"""Learning from rows in time order: whole, in chunks, in separate sequences, and merged."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from joblib import hash as hash_of
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_flag, warn_user
from eigenstream._refusals import unchanged_on_error
from eigenstream.contrast import Contrast
from eigenstream.estimators import _input, _mapping
from eigenstream.estimators._callbacks import CallbackSupportMixin, reported, with_callbacks
from eigenstream.estimators._flow import OnlineSupport
from eigenstream.estimators._missing import FIRST, Skipped
from eigenstream.estimators.base import Solution
from eigenstream.rules.base import UnstableStepError
from eigenstream.solvers import krylov
from eigenstream.solvers.base import choose_solver, fits_dense

#: No two rows that are compared are both there.
NO_VELOCITY = (
    "no velocity is left to learn from: of any two rows that are lag={lag} apart one has a weight "
    "of zero or a missing value. Impute the values, choose another lag, or use StreamPCA."
)


class StreamEstimator(CallbackSupportMixin, OnlineSupport):
    """Base of the estimators that learn from rows in time order.

    A subclass says which scatters its contrast has and how the contrast is solved.
    """

    # What a subclass's __init__ sets.
    scale: bool

    SOLVERS = ("auto", "dense", "krylov", "flow")
    COUNTS_ALL = True
    FIXED = ("center", "features", "lag")
    USES = OnlineSupport.USES | {"scale": ("solver", ("auto", "dense"))}

    @abstractmethod
    def _fixed_weights(self) -> tuple[float, float] | None:
        """Return the weights of the two scatters, or None where the data choose them."""

    @abstractmethod
    def _solve_krylov(self, operator: krylov.LaggedOperator, n_rows: int) -> Solution:
        """Solve matrix-free."""

    def _unready(self, contrast: Contrast) -> str:
        return self._waiting(contrast.n_rows, contrast.reward.sequence_rows)

    def _waiting(self, n_rows: int, sequence_rows: int) -> str:
        """Say what a stream without a single term is waiting for."""
        if sequence_rows > self._lag():
            return (
                f"has seen {n_rows} row(s), all of which have a weight of zero or a missing value: "
                "call partial_fit with others."
            )
        return (
            f"has seen {n_rows} row(s), none with a past {self._lag()} row(s) back: "
            "call partial_fit with more."
        )

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from all of ``X``, forgetting what was learned before.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), or a list of them
            Rows in time order. A list holds separate sequences: no velocity crosses from one to
            the next. Memory-mapped arrays are read chunk by chunk.
        y : ignored
        sample_weight : array-like of shape (n,), or a list of arrays, one a sequence
            Non-negative weights of the rows.
        """
        unstable: list[UnstableStepError] = []
        with unchanged_on_error(self):
            known = self.__sklearn_is_fitted__()
            self._check_parameters()
            self._note_parameters()
            sequences = _input.as_sequences(self, X, sample_weight, reset=True)
            self._check_lengths(sequences)
            width = self._fit_features(sequences)
            n_rows = sum(map(len, sequences))
            solver = self._chosen_solver(width, n_rows)
            parts = self._noted(_input.chunks(sequences, self.missing))
            parts = reported(self, parts, _input.count_chunks(sequences), X)
            for learned in ("contrast_", "_flow", "_tracked", "_solution"):
                self.__dict__.pop(learned, None)
            self._skipped = Skipped()
            if solver == "krylov":
                self._solution = self._fit_krylov(sequences, width)
            elif solver == "flow":
                with self._keeping_good_blocks(unstable):
                    self._fit_flow(parts, width)
                if unstable and known:  # what was fitted before is better than half a fit
                    raise unstable[0]
            else:
                self.contrast_ = self._collected(parts, width)
                self._solution = self._solve_contrast()
            self.solver_ = solver
            self._skipped = self._skipped.warned(self, n_rows)
        if unstable:
            raise unstable[0]
        return self

    def _chosen_solver(self, width: int, n_rows: int) -> str:
        if self.solver != "auto":
            return self.solver
        if not self.scale:
            return choose_solver(width, n_rows)
        if not fits_dense(width):
            self._refuse_scale(width)
        return "dense"

    def _noted(self, parts: Iterator[_input.Chunk]) -> Iterator[_input.Chunk]:
        """Yield the chunks of a fit; count the rows that are left out once a chunk is learned."""
        for part in parts:
            yield part
            if "_flow" not in self.__dict__:
                self._skipped = self._skipped.plus(part.holes)

    def _fit_flow(self, parts: Iterator[_input.Chunk], width: int) -> None:
        self._begin_flow(width)
        for part in parts:
            self._learn_online(_mapping.mapped(self._map, part.rows), part)
            if self._flow.stopped:
                break
        self._check_terms(self._flow.n_terms, self._flow.n_velocities)
        self._solution = self._solve_flow()

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
        unstable: list[UnstableStepError] = []
        with unchanged_on_error(self):
            self._check_parameters()
            if self.solver == "krylov":
                raise ValueError(
                    "solver='krylov' reads the data many times and cannot learn chunk by chunk. "
                    "Use solver='dense', or fit on all the data."
                )
            self._check_continuation()
            first = not hasattr(self, "n_features_in_")
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
            mapped = [_mapping.mapped(self._map, part.rows) for part in parts if len(part)]
            parts = [part for part in parts if len(part)]
            for part, rows in zip(parts, mapped, strict=True):
                with self._keeping_good_blocks(unstable):
                    self._learn_part(rows, part)
                if unstable:
                    break
        if unstable:
            raise unstable[0]
        return self

    def _learn_part(self, rows: Any, part: _input.Chunk) -> None:
        """Learn from one more part of a stream (``rows`` are its rows, behind the feature map)."""
        if not (hasattr(self, "contrast_") or hasattr(self, "_flow")):
            self._begin(rows.shape[1])
            self._skipped = Skipped()
        elif part.new_sequence:
            self._warn_of_short_sequence(
                self._flow.sequence_rows
                if hasattr(self, "_flow")
                else self.contrast_.reward.sequence_rows
            )
        self.__dict__.pop("_solution", None)
        if hasattr(self, "_flow"):
            self._learn_online(rows, part)
            n_rows = self._flow.n_rows
        else:
            self.contrast_.add_checked(rows, part.weights, new_sequence=part.new_sequence)
            self.contrast_.weights = self._fixed_weights()
            self._skipped = self._skipped.plus(part.holes)
            n_rows = self.contrast_.n_rows
        self._skipped = self._skipped.warned(self, n_rows, least=FIRST)

    def _begin(self, width: int) -> None:
        """Start the contrast, or the flow, of a stream."""
        self._check_width(width)
        if self.solver == "flow":
            self._begin_flow(width)
            return
        if self.solver == "auto" and not fits_dense(width):
            raise ValueError(
                f"scatters of {width} features do not fit in this machine's memory. Reduce the "
                "features first, or fit on all the data with solver='krylov'."
            )
        self.contrast_ = self._new_contrast(width)
        self.solver_ = "dense"

    def _solve_contrast(self) -> Solution:
        first, mean = self.contrast_.radius.first, self.contrast_.reward.mean
        size = max(np.abs(mean).max(), 0.0 if first is None else np.abs(first).max())
        _input.check_not_vanishing(float(size), self.contrast_.radius.about_origin**2)
        return super()._solve_contrast()

    def _solve(self) -> Solution:
        if "_flow" in self.__dict__:
            count, velocities = self._flow.n_terms, self._flow.n_velocities
        else:
            contrast = self.__dict__.get("contrast_")
            count = 0 if contrast is None else contrast.reward.count
            velocities = contrast.penalty.count if contrast and contrast.penalty else 0
        if count and self._lacks_velocities(velocities):
            raise NotFittedError(NO_VELOCITY.format(lag=self._lag()))
        return self._solve_flow() if "_flow" in self.__dict__ else super()._solve()

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether there is anything to read."""
        return hasattr(self, "_flow") or super().__sklearn_is_fitted__()

    def _fit_features(self, sequences: list[_input.Sequence]) -> int:
        """Learn the feature map; return the width of the rows behind it."""
        if self.features is None:
            width = int(self.n_features_in_)
        else:
            self.features_ = _mapping.fitted(self.features, sequences)
            sample = next(_input.chunks([sequences[0].first(1)], "skip")).rows
            width = int(self.features_.transform(sample).shape[1])
        self._check_width(width)
        return width

    def merge(self, other: Self, *, new_sequence: bool = False) -> Self:
        """Return an estimator that has learned what this one and then the other one saw.

        Exact: the same as one pass over both. Neither estimator is changed.

        Parameters
        ----------
        other : fitted estimator of the same kind and width
        new_sequence : bool
            The other's rows start a new sequence, instead of following this one's in time.
        """
        for estimator in (self, other):
            if not hasattr(estimator, "contrast_"):
                raise ValueError(
                    f"merge needs two estimators with scatters, and {estimator!r} has none: fit "
                    "it with solver='dense' first."
                )
        if self.features is not None and hash_of(self.features_) != hash_of(other.features_):
            raise ValueError(
                "the two estimators have learned different feature maps, so their features do not "
                "compare. Fit one map first and pass features=FrozenEstimator(map) to both."
            )
        merged = self._bare_copy()
        merged.contrast_ = self.contrast_.merge(other.contrast_, new_sequence=new_sequence)
        merged.contrast_.weights = self._fixed_weights()
        merged._skipped = self._skipped.merged(other._skipped)
        return merged

    def _bare_copy(self) -> Self:
        """Return a shallow copy with no solution: it is solved anew when read."""
        copy = type(self)(**self.get_params(deep=False))
        copy.__dict__.update(self.__dict__)
        copy.__dict__.pop("_solution", None)
        return copy

    def _collected(self, parts: Iterator[_input.Chunk], width: int) -> Contrast:
        """Return the contrast of chunks of rows."""
        contrast = self._new_contrast(width)
        for part in parts:
            rows = _mapping.mapped(self._map, part.rows)
            contrast.add_checked(rows, part.weights, new_sequence=part.new_sequence)
        penalty = contrast.penalty
        self._check_terms(contrast.reward.count, 0 if penalty is None else penalty.count)
        return contrast

    def _fit_krylov(self, sequences: list[_input.Sequence], width: int) -> Solution:
        self._check_krylov(width)

        def read() -> Iterator[krylov.Block]:
            for rows, weights in _input.lagged_blocks(sequences, self._lag(), self.missing):
                yield _mapping.mapped(self._map, rows), weights

        operator = krylov.LaggedOperator(read, width, self._lag(), self.center)
        self._check_terms(operator.count, int(operator.penalty_weight > 0))
        _input.check_not_vanishing(float(np.abs(operator.mean).max()), operator.trace())
        if self.missing == "skip":
            for part in _input.chunks(sequences, self.missing):
                self._skipped = self._skipped.plus(part.holes)
        return self._solve_krylov(operator, sum(map(len, sequences)))

    def _scored_contrast(self, X: Any) -> Contrast:
        """Return the contrast of other data."""
        check_is_fitted(self)
        sequences = _input.as_sequences(self, X, None, reset=False)
        self._check_lengths(sequences)
        return self._collected(_input.chunks(sequences, self.missing), len(self.mean_))

    def _warn_of_short_sequence(self, n_rows: int) -> None:
        if 0 < n_rows <= self._lag():
            warn_user(
                f"the sequence that ends before this chunk has {n_rows} row(s) and gave no "
                f"velocity at lag={self._lag()}: nothing was learned from it.",
            )

    # ---- checks ----------------------------------------------------------------------------

    def _check_lengths(self, sequences: list[_input.Sequence]) -> None:
        least = self._lag() + 1
        for sequence in sequences:
            if len(sequence) < least:
                raise ValueError(
                    f"{sequence.name} has n_samples={len(sequence)}, and a velocity at "
                    f"lag={self._lag()} takes at least {least} rows in time order. Drop the "
                    "sequence or choose a smaller lag."
                )

    def _check_krylov(self, width: int) -> None:
        n = self.n_components
        if not isinstance(n, int | np.integer) or n >= width:
            raise ValueError(
                f"solver='krylov' finds a few components of many: n_components must be a whole "
                f"number below the number of features, {width}, got {n!r}. Use solver='dense'."
            )

    def _check_terms(self, count: int, velocities: int) -> None:
        if count == 0:
            raise ValueError(
                "no row is left to learn from: all have a weight of zero or a missing value."
            )
        if self._lacks_velocities(velocities):
            raise ValueError(NO_VELOCITY.format(lag=self._lag()))

    def _lacks_velocities(self, count: int) -> bool:
        """Tell whether velocities matter and there are none."""
        return count == 0 and self._lag() > 0 and self._fixed_weights() != (1.0, 0.0)
