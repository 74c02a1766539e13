"""Learning from rows in time order: whole, in chunks, in separate sequences, and merged."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from joblib import hash as hash_of
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_flag, check_weights, warn_user
from eigenstream._refusals import unchanged_on_error
from eigenstream.contrast import Contrast
from eigenstream.estimators import _input, _mapping
from eigenstream.estimators._callbacks import CallbackSupportMixin, reported, with_callbacks
from eigenstream.estimators._flow import OnlineSupport
from eigenstream.estimators.base import Solution
from eigenstream.rules.base import UnstableStepError
from eigenstream.solvers import krylov
from eigenstream.solvers.base import choose_solver, fits_dense


class StreamEstimator(CallbackSupportMixin, OnlineSupport):
    """Base of the estimators that learn from rows in time order.

    A subclass says which scatters its contrast has and how the contrast is solved.
    """

    # What a subclass's __init__ sets.
    scale: bool

    SOLVERS = ("auto", "dense", "krylov", "flow")
    FIXED = ("center", "features", "lag")
    USES = OnlineSupport.USES | {"scale": ("solver", ("auto", "dense"))}

    @abstractmethod
    def _fixed_weights(self) -> tuple[float, float] | None:
        """Return the weights of the two scatters, or None where the data choose them."""

    @abstractmethod
    def _solve_krylov(self, operator: krylov.LaggedOperator, n_rows: int) -> Solution:
        """Solve matrix-free."""

    def _unready(self, contrast: Contrast) -> str:
        return (
            f"has seen {contrast.n_rows} row(s), none with a past {self._lag()} row(s) back: "
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
            parts = _input.chunks(sequences, self.missing)
            parts = reported(self, parts, _input.count_chunks(sequences), X)
            for learned in ("contrast_", "_flow", "_tracked", "_solution"):
                self.__dict__.pop(learned, None)
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
        if unstable:
            raise unstable[0]
        return self

    def _chosen_solver(self, width: int, n_rows: int) -> str:
        if self.solver != "auto":
            return self.solver
        if not self.scale:
            return choose_solver(width, n_rows)
        if not fits_dense(width):
            raise ValueError(
                f"scale=True needs the scatters, and those of {width} features do not fit in this "
                "machine's memory. Scale the data first, or use scale=False."
            )
        return "dense"

    def _fit_flow(self, parts: Iterator[_input.Chunk], width: int) -> None:
        self._begin_flow(width)
        for part in parts:
            self._learn_online(_mapping.mapped(self._map, part.rows), part)
            if self._flow.stopped:
                break
        self._check_terms(self._flow.n_terms)
        self._solution = self._solve_flow()

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, new_sequence: bool = False
    ) -> Self:
        """Go on learning with a chunk of rows that follows the rows seen so far.

        Any chunking, down to one row a call from the first call on, gives the result of one pass.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D)
        y : ignored
        sample_weight : array-like of shape (n,)
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
            rows = _input.validated(self, X, reset=not hasattr(self, "n_features_in_"))
            n = rows.shape[0]
            weights = None if sample_weight is None else check_weights(sample_weight, n)
            part = _input.clean(rows, weights, self.missing, new_sequence)
            taken = self._collect_features(rows)
            if taken == n:
                return self
            part = part.after(taken)
            learned_in = _mapping.mapped(self._map, part.rows)
            if not (hasattr(self, "contrast_") or hasattr(self, "_flow")):
                self._begin(learned_in.shape[1])
            elif new_sequence:
                self._warn_of_short_sequence(
                    self._flow.sequence_rows
                    if hasattr(self, "_flow")
                    else self.contrast_.reward.sequence_rows
                )
            if hasattr(self, "_flow"):
                with self._keeping_good_blocks(unstable):
                    self._learn_online(learned_in, part)
            else:
                self.contrast_.add_checked(learned_in, part.weights, new_sequence=part.new_sequence)
                self.contrast_.weights = self._fixed_weights()
            self.__dict__.pop("_solution", None)
        if unstable:
            raise unstable[0]
        return self

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

    def _solve(self) -> Solution:
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
        self._check_terms(contrast.reward.count)
        return contrast

    def _fit_krylov(self, sequences: list[_input.Sequence], width: int) -> Solution:
        self._check_krylov(width)

        def read() -> Iterator[krylov.Block]:
            for rows, weights in _input.lagged_blocks(sequences, self._lag(), self.missing):
                yield _mapping.mapped(self._map, rows), weights

        operator = krylov.LaggedOperator(read, width, self._lag(), self.center)
        self._check_terms(operator.count)
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

    def _check_terms(self, count: int) -> None:
        if count == 0:
            raise ValueError(
                "no row is left to learn from: all have a weight of zero or a missing value."
            )
