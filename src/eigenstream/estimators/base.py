"""What all subspace estimators share: results, projection, and a state that errors leave alone."""

from abc import ABC, abstractmethod
from copy import deepcopy
from typing import Any, Self

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
from eigenstream._hooks import Reported
from eigenstream._linalg import Float64s, numerical_rank
from eigenstream._memory import chunk_rows
from eigenstream._provenance import check_same_steps
from eigenstream._state import Restorable
from eigenstream._streams import maps_streams
from eigenstream.contrast import Contrast
from eigenstream.estimators import _input, _mapping, _parameters
from eigenstream.estimators._missing import Skipped
from eigenstream.learners import table
from eigenstream.learners.base import Learner, Solution
from eigenstream.solvers import dense

__all__ = ["DEFAULT", "Skipped", "SubspaceEstimator"]

#: How many components are learned by default; rows of one feature have one.
DEFAULT = 2


class SubspaceEstimator(
    Reported, Restorable, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC
):
    """Base of the estimators that learn the top eigenspace of a contrast.

    An estimator is parameters, an input, a feature map, one learner and results. The learner keeps
    what is learned; it is solved lazily, on the first read of a result, so that a stream of small
    chunks costs no eigensolve a chunk.
    """

    # What a subclass's __init__ sets.
    n_components: Any
    solver: str
    features: Any
    missing: _input.Missing

    #: What the data are, as the table of learners calls it.
    DATA: str
    #: Parameters that shape what the scatters collect.
    FIXED: tuple[str, ...] = ("features",)
    #: Whether a learner counts the rows that were left out, which weigh nothing, too.
    COUNTS_ALL = False
    #: Parameters that can change on the way even where the learner reads all the others once.
    FREE = ("missing", "preprocessor", "solver")

    # What learning sets.
    solver_: str
    _learner: Learner | None = None
    _solution: Solution | None = None
    _map: Any = None
    _skipped = Skipped()
    _begun: dict[str, Any] | None = None

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse constructor parameters that make no sense, before any data is read."""

    @abstractmethod
    def _question(self, n_features: int) -> Any:
        """Return what the learner is asked, by the parameters as they are now."""

    @abstractmethod
    def _unready(self) -> str:
        """Say what a learner with nothing to solve is waiting for."""

    # ---- results ---------------------------------------------------------------------------

    def _solved(self) -> Solution:
        """Return the solution, solving anew if rows came since the last time."""
        if self._solution is None:
            learner = self._knowledge()
            self._check_parameters()
            if self._begun is not None:
                check_unchanged(self._begun, vars(self))
            self._check_width(learner.n_features)
            self._check_ready(learner)
            self._solution = learner.solution(self._question(learner.n_features))
        return self._solution

    def _knowledge(self) -> Learner:
        """Return the learner, or say that there is none yet."""
        if self._learner is None:
            raise NotFittedError(
                f"This {type(self).__name__} has learned nothing yet: call fit or partial_fit."
            )
        return self._learner

    def _check_ready(self, learner: Learner) -> None:
        """Say what a learner that has too little to solve is waiting for."""
        if learner.n_terms == 0:
            raise NotFittedError(f"{type(self).__name__} {self._unready()}")

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether there is anything to read."""
        return self._learner is not None

    @property
    def contrast_(self) -> Contrast:
        """The scatters: mergeable, and solvable anew for other weights."""
        contrast = None if self._learner is None else self._learner.contrast
        if contrast is None:
            raise AttributeError(
                f"{type(self).__name__} has no contrast_: only a fit that keeps the scatters has."
            )
        return contrast

    @property
    def features_(self) -> Any:
        """The feature map that has been learned."""
        if self._map is None:
            raise AttributeError(f"{type(self).__name__} has learned no feature map.")
        return self._map

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
        n_rows = self._knowledge().n_rows
        return n_rows - self._skipped.n_rows if self.COUNTS_ALL else n_rows

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
        """The objective that the subspace reaches on the data: the sum of its eigenvalues.

        Absent after "flow" and "sketch", which estimate the eigenvalues.
        """
        values, abilities = self.eigenvalues_, self._knowledge().abilities
        if abilities.goes_on and not abilities.scatters:
            raise AttributeError(
                f"solver={self.solver_!r} only estimates the eigenvalues, so objective_ is not "
                "available. Use score on rows, or fit with solver='dense'."
            )
        return float(values.sum())

    @property
    def rank_(self) -> int:
        """The numerical rank of the rewarded scatter.

        After a matrix-free fit only the components are known, so that it counts them at most.
        """
        solution, contrast = self._solved(), self._knowledge().contrast
        if contrast is not None:
            scatter = contrast.reward
            return dense.rank(scatter.matrix(), scatter.rounding, scatter.floor)
        return numerical_rank(solution.pairs.values, len(self.mean_) * np.finfo(np.float64).eps)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    # ---- use -------------------------------------------------------------------------------

    @maps_streams
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
        if self._map is None:
            return _input.projected(rows, mean, columns)
        step = chunk_rows(max(rows.shape[1], len(mean)))
        parts = [
            _input.projected(_mapping.mapped(self._map, rows[i : i + step]), mean, columns)
            for i in range(0, rows.shape[0], step)
        ]
        return np.concatenate(parts)

    def inverse_transform(self, Z: Any) -> Any:
        """Return the rows in the space of the data that project to ``Z``; a list's, one by one.

        With ``features`` they must have an ``inverse_transform`` of their own.
        """
        check_is_fitted(self)
        if self._map is not None and not hasattr(self._map, "inverse_transform"):
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
        return rows if self._map is None else self._map.inverse_transform(rows)

    def _patterns(self) -> Float64s:
        """Return the rows that turn features back into data: the components' pseudo-inverse."""
        return self.components_

    # ---- the feature map in front ----------------------------------------------------------

    def _collect_features(self, rows: Any, weights: Any = None) -> int:
        """Let the feature map learn from a stream first; return how many rows that took.

        Rows with missing values, or that weigh nothing, teach it nothing.
        """
        if self.features is None:
            return 0
        self._map, taken = _mapping.learning(self.features, self._map, rows, weights)
        return taken

    # ---- checks ----------------------------------------------------------------------------

    def _check_common_parameters(self) -> None:
        check_choice(self.solver, "solver", table.names(self.DATA))
        check_choice(self.missing, "missing", ("raise", "skip"))
        for name in ("center", "balanced", "scale"):
            if hasattr(self, name):
                check_flag(getattr(self, name), name)
        _parameters.check_online(self)
        _parameters.check_used(self, self._uses())

    def _uses(self) -> _parameters.Uses:
        """Return the parameters that are read only where another one has certain values."""
        return {
            name: ("solver", table.readers(self.DATA, name))
            for name in table.special(self.DATA)
            if name in vars(self)
        }

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

    def _note_parameters(self, learner: Learner | None = None) -> None:
        """Remember the parameters that learning begins with, and cannot change on the way."""
        given = self.get_params(deep=False)
        fixed = set(self.FIXED)
        if learner is not None and learner.abilities.goes_on and not learner.abilities.scatters:
            fixed = set(given).difference(self.FREE)
        self._begun = {name: given[name] for name in given if name in fixed}

    def _check_continuation(self) -> bool:
        """Refuse to go on from what another solver, or other parameters, have learned.

        Say whether there is nothing yet to go on from.
        """
        table.require(self.DATA, self.solver, "goes_on", "partial_fit")
        learner = self._learner
        if learner is not None and not learner.abilities.goes_on:
            raise ValueError(
                f"this estimator was fitted by solver_={self.solver_!r}, which keeps no scatters "
                "to go on from. Fit with solver='dense' first."
            )
        ways = table.goes_on_with(self.DATA, self.solver)
        if learner is not None and type(learner) not in ways:
            raise ValueError(
                f"this estimator has learned with solver_={self.solver_!r} and cannot go on with "
                f"solver={self.solver!r}. Call fit to start anew."
            )
        if self._begun is None:
            self._note_parameters()
            return True
        check_unchanged(self._begun, vars(self))
        return False

    def _check_mergeable(self, other: Any) -> None:
        """Refuse to merge estimators of two kinds, that do not add up, or behind two maps."""
        if type(self) is not type(other):
            raise TypeError(
                f"a {type(self).__name__} merges with its kind only, got {type(other).__name__}."
            )
        for estimator in (self, other):
            estimator._knowledge()
            table.require(self.DATA, estimator.solver_, "merges", "merge")
        if type(self._learner) is not type(other._learner):
            raise ValueError(
                f"one estimator has learned with solver_={self.solver_!r}, the other with "
                f"solver_={other.solver_!r}, and what they keep does not add up. Use one solver."
            )
        _mapping.check_same(self._map, other._map)
        check_same_steps(self, other)

    def solved_with(self, **parameters: Any) -> Self:
        """Return a copy that has learned the same and answers by other parameters.

        Scatters do not depend on the weights or on the number of components: no second look at the
        data. What shapes the scatters themselves, such as ``center``, cannot be changed.

        >>> import numpy as np
        >>> from eigenstream import SlowSubspace
        >>> X = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
        >>> slow = SlowSubspace(n_components=1).fit(X)
        >>> slow.solved_with(alpha=0.5, n_components=2).components_.shape
        (2, 3)
        """
        if self._knowledge().contrast is None:
            raise ValueError(
                f"solver_={self.solver_!r} keeps no scatters to solve anew: fit with "
                "solver='dense' first."
            )
        copy = self._with(deepcopy(self._knowledge()))
        copy.set_params(**parameters)
        return copy

    def _with(self, learner: Learner) -> Self:
        """Return a copy that has this learner instead: it is solved when read."""
        copy = type(self)(**self.get_params(deep=False))
        copy.__dict__.update(self.__dict__)
        copy._learner, copy._solution = learner, None
        return copy

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
