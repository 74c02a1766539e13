"""What all subspace estimators share: results, projection, and a state that errors leave alone."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import (
    check_choice,
    check_finite,
    check_flag,
    check_unchanged,
    real_array,
)
from eigenstream._linalg import Float64s, numerical_rank
from eigenstream.contrast import Contrast
from eigenstream.estimators import _input, _mapping, _parameters
from eigenstream.estimators._missing import Skipped
from eigenstream.solvers import dense
from eigenstream.solvers.base import Eigenpairs

#: How many components are learned by default; rows of one feature have one.
DEFAULT = 2


@dataclass(frozen=True)
class Solution:
    """A learned subspace: eigenpairs of T, and what else the solve found out, by name."""

    pairs: Eigenpairs
    mean: Float64s
    n_rows: int
    details: dict[str, Any]


class SubspaceEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Base of the estimators that learn the top eigenspace of a contrast.

    Scatters are collected eagerly, into ``contrast_``, and solved lazily, on the first read of a
    result, so that a stream of small chunks costs no eigensolve a chunk.
    """

    # What a subclass's __init__ sets.
    n_components: Any
    solver: str
    features: Any
    forgetting: float | None
    missing: _input.Missing

    # What learning sets.
    contrast_: Contrast
    features_: Any
    solver_: str
    _begun: dict[str, Any]
    _skipped = Skipped()

    #: Parameters that shape what the scatters collect; "flow" reads all but FREE_ONLINE once.
    FIXED: tuple[str, ...] = ("features",)
    FREE_ONLINE = ("missing", "preprocessor", "solver")
    #: Whether scatters count the rows that were left out, which weigh nothing, too.
    COUNTS_ALL = False
    #: Every solver that the estimator knows.
    SOLVERS: tuple[str, ...] = ("auto", "dense", "krylov")
    #: Parameters that are read only where another one has certain values.
    USES: _parameters.Uses = _parameters.ONLINE

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse constructor parameters that make no sense, before any data is read."""

    @abstractmethod
    def _solve_dense(self, contrast: Contrast) -> Solution:
        """Solve the contrast's matrices."""

    @abstractmethod
    def _unready(self, contrast: Contrast) -> str:
        """Say what a contrast without a single term is waiting for."""

    # ---- results ---------------------------------------------------------------------------

    def _solved(self) -> Solution:
        """Return the solution, solving the contrast if rows came since the last time."""
        solution: Solution | None = self.__dict__.get("_solution")
        if solution is None:
            self._check_reading()
            solution = self._solve()
            self._solution = solution
        return solution

    def _check_reading(self) -> None:
        """Check the parameters that a solve is about to read: they may have been set since."""
        if not self.__sklearn_is_fitted__():
            return
        self._check_parameters()
        if "_begun" in self.__dict__:
            check_unchanged(self._begun, vars(self))
        if "contrast_" in self.__dict__:
            self._check_width(self.contrast_.n_features)

    def _solve(self) -> Solution:
        """Solve what has been learned so far."""
        if "contrast_" not in self.__dict__:
            raise NotFittedError(
                f"This {type(self).__name__} has learned nothing yet: call fit or partial_fit."
            )
        if self.contrast_.reward.count == 0:
            raise NotFittedError(f"{type(self).__name__} {self._unready(self.contrast_)}")
        return self._solve_contrast()

    def _solve_contrast(self) -> Solution:
        """Solve the contrast's matrices; from then on it knows the weights they were taken with."""
        self.contrast_.scaled = self._scales()
        solution = self._solve_dense(self.contrast_)
        self.contrast_.weights = solution.details.get("weights")
        if self.contrast_.scaled:
            solution.details["scale"] = self.contrast_.scale
        return solution

    def _scales(self) -> bool:
        """Tell whether features are divided by their standard deviation first."""
        return bool(getattr(self, "scale", False))

    def _refuse_scale(self, width: int) -> NoReturn:
        raise ValueError(
            f"scale=True needs the scatters, and those of {width} features do not fit in this "
            "machine's memory. Scale the data first, or use scale=False."
        )

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
    def scale_(self) -> Float64s | None:
        """What every feature is divided by after its mean is taken off; None without ``scale``."""
        scale: Float64s | None = self._solved().details.get("scale")
        return scale

    @property
    def _columns(self) -> Float64s:
        """What rows without their mean are multiplied by: the components, for scaled features."""
        scale = self.scale_
        return self.components_.T if scale is None else self.components_.T / scale[:, None]

    @property
    def n_samples_seen_(self) -> int:
        """The number of rows learned from; with ``missing="skip"`` only complete ones count."""
        scatters = "contrast_" in self.__dict__
        n_rows = self.contrast_.n_rows if scatters else self._solved().n_rows
        return n_rows - self.n_samples_skipped_ if self.COUNTS_ALL else n_rows

    @property
    def n_samples_skipped_(self) -> int:
        """The number of rows that ``missing="skip"`` left out."""
        check_is_fitted(self)
        return self._skipped.n_rows

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
        return numerical_rank(self.eigenvalues_, len(self.mean_) * np.finfo(np.float64).eps)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    # ---- use -------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Project rows onto the components, in the rows' own precision.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), or a list of them

        Returns
        -------
        Z : array of shape (n, n_components), or a list of them
        """
        check_is_fitted(self)
        if _input.is_list_of_sequences(X):
            return _input.each(self.transform, X)
        mean, columns = self.mean_, self._columns
        rows = _input.as_floats(_input.validated(self, X, reset=False))
        if self.features is None:
            return _input.projected(rows, mean, columns)
        step = _input.chunk_rows(max(rows.shape[1], len(mean)))
        parts = [
            _input.projected(_mapping.mapped(self.features_, rows[i : i + step]), mean, columns)
            for i in range(0, rows.shape[0], step)
        ]
        return np.concatenate(parts)

    def inverse_transform(self, Z: Any) -> Any:
        """Return the rows in the space of the data that project to ``Z``; a list's, one by one.

        With ``features`` they must have an ``inverse_transform`` of their own.
        """
        check_is_fitted(self)
        if self.features is not None and not hasattr(self.features_, "inverse_transform"):
            raise ValueError(f"{self.features!r} has no inverse_transform to return to the data.")
        if _input.is_list_of_sequences(Z):
            return _input.each(self.inverse_transform, Z)
        components = self.components_
        Z = real_array(Z, "Z")
        if Z.ndim != 2 or Z.shape[1] != len(components):
            raise ValueError(
                f"Z must have shape (n, {len(components)}), one column a component; got {Z.shape}."
            )
        dtype = Z.dtype if Z.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        Z = Z.astype(dtype, copy=False)
        check_finite(Z, name="Z")
        scale, patterns = self.scale_, self._patterns()
        patterns = patterns if scale is None else patterns * scale
        rows = Z @ patterns.astype(dtype) + self.mean_.astype(dtype)
        return rows if self.features is None else self.features_.inverse_transform(rows)

    def _patterns(self) -> Float64s:
        """Return the rows that turn features back into data: the components' pseudo-inverse."""
        return self.components_

    # ---- the feature map in front ----------------------------------------------------------

    @property
    def _map(self) -> Any:
        """The learned feature map, or None."""
        return None if self.features is None else self.features_

    def _collect_features(self, rows: Any) -> int:
        """Let the feature map learn from a stream first; return how many rows that took."""
        if self.features is None:
            return 0
        self.features_, taken = _mapping.learning(
            self.features, self.__dict__.get("features_"), rows
        )
        return taken

    # ---- checks ----------------------------------------------------------------------------

    def _check_common_parameters(self) -> None:
        check_choice(self.solver, "solver", self.SOLVERS)
        check_choice(self.missing, "missing", ("raise", "skip"))
        for name in ("center", "balanced", "scale"):
            if hasattr(self, name):
                check_flag(getattr(self, name), name)
        _parameters.check_online(self)
        _parameters.check_used(self, self.USES)

    def _wanted(self, width: int) -> Any:
        """Return ``n_components``; of one feature there is one, also where the default says two."""
        n = self.n_components
        return 1 if width == 1 and isinstance(n, int | np.integer) and n == DEFAULT else n

    def _check_width(self, width: int) -> None:
        n = self._wanted(width)
        if isinstance(n, int | np.integer) and n > width:
            raise ValueError(
                f"n_components={n} is more than the number of features, {width}. "
                f"Choose n_components <= {width}, or None."
            )

    def _note_parameters(self) -> None:
        """Remember the parameters that learning begins with, and cannot change on the way."""
        given = self.get_params(deep=False)
        fixed = self.FIXED if self.solver != "flow" else set(given).difference(self.FREE_ONLINE)
        self._begun = {name: given[name] for name in given if name in fixed}

    def _check_continuation(self) -> None:
        """Refuse to go on from what another solver, or other parameters, have learned."""
        scatters, online = "contrast_" in self.__dict__, "_flow" in self.__dict__
        if "_solution" in self.__dict__ and not (scatters or online):
            raise ValueError(
                f"this estimator was fitted by solver_={self.solver_!r}, which keeps no scatters "
                "to go on from. Fit with solver='dense' first."
            )
        if (scatters and self.solver == "flow") or (online and self.solver != "flow"):
            raise ValueError(
                f"this estimator has learned with solver_={self.solver_!r} and cannot go on with "
                f"solver={self.solver!r}. Call fit to start anew."
            )
        if "_begun" in self.__dict__:
            check_unchanged(self._begun, vars(self))
        else:
            self._note_parameters()

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
