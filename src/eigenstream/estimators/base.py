"""What all subspace estimators share: from data to a contrast, from a contrast to a subspace."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_choice, check_finite, check_weights
from eigenstream._linalg import Float64s, numerical_rank
from eigenstream.contrast import Contrast
from eigenstream.estimators import _input
from eigenstream.estimators._callbacks import CallbackSupportMixin, reported, with_callbacks
from eigenstream.solvers import dense, krylov
from eigenstream.solvers.base import Eigenpairs, choose_solver, fits_dense

SOLVERS = ("auto", "dense", "krylov")


@dataclass(frozen=True)
class Solution:
    """A learned subspace: eigenpairs of T, and what else the solve found out by name."""

    pairs: Eigenpairs
    mean: Float64s
    n_rows: int
    details: dict[str, Any]


class SubspaceEstimator(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC
):
    """Base of the estimators that learn the top eigenspace of a contrast.

    A subclass says which scatters its contrast has and how the contrast is solved. Scatters are
    collected eagerly and solved lazily, on the first read of a result, so that a stream of small
    chunks costs no eigensolve a chunk.
    """

    # What a subclass's __init__ sets.
    n_components: Any
    solver: str
    center: bool
    missing: str

    # ---- what a subclass says -------------------------------------------------------------

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse constructor parameters that make no sense, before any data is read."""

    @abstractmethod
    def _lag(self) -> int:
        """Return how many rows back the contrast looks."""

    @abstractmethod
    def _new_contrast(self, n_features: int) -> Contrast:
        """Return the empty contrast for rows of this width."""

    @abstractmethod
    def _solve_dense(self, contrast: Contrast) -> Solution:
        """Solve the contrast's matrices."""

    @abstractmethod
    def _solve_krylov(self, operator: krylov.LaggedOperator, n_rows: int) -> Solution:
        """Solve matrix-free."""

    # ---- learning --------------------------------------------------------------------------

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
        with self._unchanged_on_error():
            self._check_parameters()
            sequences = _input.as_sequences(self, X, sample_weight, reset=True)
            self._check_lengths(sequences)
            self._check_width()
            n_rows, width = sum(map(len, sequences)), self.n_features_in_
            solver = choose_solver(width, n_rows) if self.solver == "auto" else self.solver
            if solver == "krylov":
                self._check_krylov(sequences)

                def read() -> Iterator[krylov.Block]:
                    return _input.lagged_blocks(sequences, self._lag(), self.missing)  # type: ignore[arg-type]

                operator = krylov.LaggedOperator(read, width, self._lag(), self.center)
                self._check_terms(operator.count)
                solution = self._solve_krylov(operator, n_rows)
                self.__dict__.pop("contrast_", None)
            else:
                contrast = self._new_contrast(width)
                parts = _input.chunks(sequences, self.missing)  # type: ignore[arg-type]
                for part in reported(self, parts, _input.count_chunks(sequences), X):
                    contrast.update(
                        part.rows, sample_weight=part.weights, new_sequence=part.new_sequence
                    )
                self._check_terms(contrast.reward.count)
                solution = self._solve_dense(contrast)
                self.contrast_ = contrast
            self.solver_ = solver
            self._solution = solution
        return self

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
        with self._unchanged_on_error():
            self._check_parameters()
            if self.solver == "krylov":
                raise ValueError(
                    "solver='krylov' reads the data many times and cannot learn chunk by chunk. "
                    "Use solver='dense', or fit on all the data."
                )
            if hasattr(self, "_solution") and not hasattr(self, "contrast_"):
                raise ValueError(
                    "this estimator was fitted by solver_='krylov', which keeps no scatters to go "
                    "on from. Fit with solver='dense' first."
                )
            first = not hasattr(self, "contrast_")
            rows = _input.validated(self, X, reset=first)
            self._check_width()
            n = rows.shape[0]
            weights = None if sample_weight is None else check_weights(sample_weight, n)
            part = _input.clean(rows, weights, self.missing, new_sequence)  # type: ignore[arg-type]
            if first:
                if self.solver == "auto" and not fits_dense(self.n_features_in_):
                    raise ValueError(
                        f"scatters of {self.n_features_in_} features do not fit in this machine's "
                        "memory. Reduce the features first, or fit on all the data with "
                        "solver='krylov'."
                    )
                self.contrast_ = self._new_contrast(self.n_features_in_)
                self.solver_ = "dense"
            self.contrast_.update(
                part.rows, sample_weight=part.weights, new_sequence=part.new_sequence
            )
            self.__dict__.pop("_solution", None)
        return self

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
        merged = self._bare_copy()
        merged.contrast_ = self.contrast_.merge(other.contrast_, new_sequence=new_sequence)
        return merged

    def _bare_copy(self) -> Self:
        """Return a shallow copy with no solution: it is solved anew when read."""
        copy = type(self)(**self.get_params(deep=False))
        copy.__dict__.update(self.__dict__)
        copy.__dict__.pop("_solution", None)
        return copy

    # ---- results ---------------------------------------------------------------------------

    def _solved(self) -> Solution:
        """Return the solution, solving the contrast if rows came since the last time."""
        solution: Solution | None = self.__dict__.get("_solution")
        if solution is None:
            if "contrast_" not in self.__dict__:
                raise NotFittedError(
                    f"This {type(self).__name__} has learned nothing yet: call fit or partial_fit."
                )
            if self.contrast_.reward.count == 0:
                raise NotFittedError(
                    f"{type(self).__name__} has seen {self.contrast_.n_rows} row(s), none with a "
                    f"past {self._lag()} row(s) back: call partial_fit with more."
                )
            solution = self._solve_dense(self.contrast_)
            self._solution = solution
        return solution

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether there is anything to read."""
        return hasattr(self, "contrast_") or hasattr(self, "_solution")

    @property
    def components_(self) -> Float64s:
        """The learned directions, one a row, in the order of ``eigenvalues_``."""
        return self._solved().pairs.vectors.T

    @property
    def eigenvalues_(self) -> Float64s:
        """The eigenvalues of the components, signed, descending."""
        return self._solved().pairs.values

    @property
    def mean_(self) -> Float64s:
        """What is taken off every row before it is projected (zeros with ``center=False``)."""
        return self._solved().mean

    @property
    def n_samples_seen_(self) -> int:
        """The number of rows seen."""
        if "contrast_" in self.__dict__:
            return self.contrast_.n_rows
        return self._solved().n_rows

    @property
    def n_components_(self) -> int:
        """The number of components learned."""
        return len(self.eigenvalues_)

    @property
    def objective_(self) -> float:
        """The objective that the subspace reaches on the data: the sum of its eigenvalues."""
        return float(self.eigenvalues_.sum())

    @property
    def rank_(self) -> int:
        """The numerical rank of the rewarded scatter.

        After a matrix-free fit only the components are known, so that it counts them at most.
        """
        if "contrast_" in self.__dict__:
            self._solved()
            scatter = self.contrast_.reward
            return dense.rank(scatter.matrix(), scatter.rounding, scatter.floor)
        return numerical_rank(self.eigenvalues_, self.n_features_in_ * np.finfo(np.float64).eps)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    # ---- use -------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Project rows onto the components, in the rows' own precision.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D)

        Returns
        -------
        Z : array of shape (n, n_components)
        """
        check_is_fitted(self)
        rows = _input.as_floats(_input.validated(self, X, reset=False))
        return _input.projected(rows, self.mean_, self.components_.T)

    def inverse_transform(self, Z: Any) -> Any:
        """Return the rows in the space of the data that project to ``Z``."""
        check_is_fitted(self)
        components = self.components_
        Z = np.asarray(Z)
        if Z.ndim != 2 or Z.shape[1] != len(components):
            raise ValueError(
                f"Z must have shape (n, {len(components)}), one column a component; got {Z.shape}."
            )
        dtype = Z.dtype if Z.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        Z = Z.astype(dtype, copy=False)
        check_finite(Z, name="Z")
        return Z @ self._patterns().astype(dtype) + self.mean_.astype(dtype)

    def _patterns(self) -> Float64s:
        """Return the rows that turn features back into data: the components' pseudo-inverse."""
        return self.components_

    def _scored_contrast(self, X: Any) -> Contrast:
        """Return the contrast of other data, about this estimator's own mean."""
        check_is_fitted(self)
        sequences = _input.as_sequences(self, X, None, reset=False)
        self._check_lengths(sequences)
        contrast = self._new_contrast(self.n_features_in_)
        for part in _input.chunks(sequences, self.missing):  # type: ignore[arg-type]
            contrast.update(part.rows, sample_weight=part.weights, new_sequence=part.new_sequence)
        self._check_terms(contrast.reward.count)
        return contrast

    # ---- checks ----------------------------------------------------------------------------

    def _check_common_parameters(self) -> None:
        check_choice(self.solver, "solver", SOLVERS)
        check_choice(self.missing, "missing", ("raise", "skip"))

    def _check_lengths(self, sequences: list[_input.Sequence]) -> None:
        least = self._lag() + 1
        for sequence in sequences:
            if len(sequence) < least:
                raise ValueError(
                    f"{sequence.name} has n_samples={len(sequence)}, and a velocity at "
                    f"lag={self._lag()} takes at least {least} rows in time order. Drop the "
                    "sequence or choose a smaller lag."
                )

    def _check_width(self) -> None:
        n = self.n_components
        if isinstance(n, int | np.integer) and n > self.n_features_in_:
            raise ValueError(
                f"n_components={n} is more than the number of features, {self.n_features_in_}. "
                f"Choose n_components <= {self.n_features_in_}, or None."
            )

    def _check_krylov(self, sequences: list[_input.Sequence]) -> None:
        n, width = self.n_components, self.n_features_in_
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

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Take back what a refused call has set; scatters change only after all checks."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            # scikit-learn's own bookkeeping of callbacks must stay, for their teardown.
            after = {k: v for k, v in self.__dict__.items() if k.startswith(("_skl", "_callback"))}
            self.__dict__.clear()
            self.__dict__.update(before | after)
            raise

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


__all__ = ["SOLVERS", "Solution", "SubspaceEstimator"]
