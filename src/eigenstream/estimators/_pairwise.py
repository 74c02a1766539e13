"""What learning from explicit pairs and from labels has in common."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import warn_user
from eigenstream._linalg import Float64s, canonical_signs
from eigenstream.contrast import Contrast
from eigenstream.estimators import _gram, _input, _pair_input
from eigenstream.estimators._pair_results import PairResults
from eigenstream.estimators._pair_solve import (
    ByMarginRisk,
    Choice,
    Fold,
    Operator,
    choose_eta,
    few_threads,
    margin_weights,
    top,
)
from eigenstream.estimators.base import Solution
from eigenstream.evaluation.base import PairCounts
from eigenstream.solvers import dense, dual
from eigenstream.solvers.base import Eigenpairs

#: Rows that a search for eta in a kernel's space uses, exactly: an approximation of the kernel for
#: all the rows would favour other weights than the kernel itself.
SEARCH_ROWS = 1200


@dataclass(frozen=True)
class Problem:
    """All that a solve needs, whatever the solver."""

    operator: Operator
    #: Weights of the negative and of the positive pairs.
    n_different: float
    n_same: float
    rounding: float
    always_dense: bool
    #: Make the folds of a cross-validation, each in another way.
    groupings: Sequence[Callable[[], Sequence[Fold]]]
    #: Returns the distances of the training pairs after these vectors.
    counts: Callable[[Float64s], PairCounts]
    diameter: float
    #: Eigenvalues up to this may be rounding of the means alone.
    floor: float = 0.0


class PairwiseEstimator(PairResults):
    """Base of the estimators that reward unlike pairs and penalise like ones [HPCA]."""

    SOLVERS: tuple[str, ...] = ("auto", "dense", "krylov", "dual", "flow")

    def _check_parameters(self) -> None:
        self._check_pair_parameters()
        self._check_common_parameters()  # last: what makes no sense is said before what is unused

    # ---- solving ---------------------------------------------------------------------------

    @abstractmethod
    def _problem(self, contrast: Contrast) -> Problem:
        """Return the problem that the scatters pose."""

    def _solve_dense(self, contrast: Contrast) -> Solution:
        problem = self._problem(contrast)
        return self._solved_problem(problem, contrast.reward.mean, contrast.n_rows)

    def _solved_problem(self, problem: Problem, mean: Float64s, n_rows: int) -> Solution:
        with few_threads(problem.operator.n_features):
            return self._answer(problem, mean, n_rows)

    def _answer(self, problem: Problem, mean: Float64s, n_rows: int) -> Solution:
        details: dict[str, Any] = {"choice": None, "weights": None}
        details |= {"criterion": self.criterion, "kernel": self.kernel}
        if self.criterion == "ratio":
            pairs, positive = self._ratios(problem)
            details["eta"] = None
        else:
            weights_of = self._weights_of(problem)
            eta, details["choice"] = self._eta(problem, weights_of)
            details["eta"], details["weights"] = eta, weights_of(eta)
            pairs, positive = top(
                problem.operator,
                weights_of(eta),
                self.n_components,
                problem.rounding,
                floor=problem.floor,
                always_dense=problem.always_dense,
            )
            pairs = self._only_positive(pairs, positive, eta)
        details["n_positive"] = positive
        details["diameter"] = problem.diameter if self.diameter is None else float(self.diameter)
        return Solution(pairs, mean, n_rows, details)

    def _weights_of(self, problem: Problem) -> Callable[[float], tuple[float, float]]:
        """Return what turns eta into the weights of the two scatters, as in [HPCA] section 6."""
        total = problem.n_different + problem.n_same
        shares = problem.n_different / total, problem.n_same / total
        if self.balanced:
            shares = 0.5 * (shares[0] > 0), 0.5 * (shares[1] > 0)
        size = 1.0 if self.margin is None else margin_weights(self.margin)[1]
        return lambda eta: (size * eta * shares[0], size * shares[1])

    def _eta(
        self, problem: Problem, weights_of: Callable[[float], tuple[float, float]]
    ) -> tuple[float, Choice | None]:
        if self.margin is not None:
            negative, positive = margin_weights(self.margin)
            return negative / positive, None
        grid = self._grid()
        if len(grid) == 1:
            return float(grid[0]), None
        if problem.n_same == 0.0:
            return 1.0, None  # nothing to weigh against
        if isinstance(self.eta, str) and self.eta == "margin_risk":
            judge = ByMarginRisk(problem.counts, problem.diameter)
            groupings: Any = [lambda: [Fold(problem.operator, judge)]]
        else:
            groupings = problem.groupings
        choice = choose_eta(
            grid, groupings, weights_of, self.n_components, problem.rounding, problem.floor
        )
        return choice.eta, choice

    def _ratios(self, problem: Problem) -> tuple[Eigenpairs, int]:
        """Return the largest ratios; vectors have a like pairs' mean square of one."""
        reward = problem.operator.matrix(1.0, 0.0)
        penalty = dual.shrunk(problem.operator.matrix(0.0, -1.0), self.shrinkage)
        wanted = len(reward) if self.n_components is None else int(self.n_components)
        pairs = dense.largest_ratios(reward, penalty, min(wanted, len(reward)), problem.rounding)
        if len(pairs.values) == 0:
            raise ValueError(
                "criterion='ratio' divides by the scatter of the positive pairs, and all of them "
                "are pairs of equal rows. Use criterion='difference', or shrinkage on other data."
            )
        if self.n_components is not None and len(pairs.values) < wanted:
            warn_user(
                f"n_components={wanted} was asked for, but the positive pairs span "
                f"{len(pairs.values)} directions only: as many are returned."
            )
        lengths = np.sqrt(np.einsum("ji,jk,ki->i", pairs.vectors, penalty, pairs.vectors))
        scaled = pairs.vectors / np.where(lengths > 0, lengths, 1.0)
        return Eigenpairs(pairs.values, scaled), int((pairs.values > 0).sum())

    def _only_positive(self, pairs: Eigenpairs, positive: int, eta: float) -> Eigenpairs:
        """Drop the directions that lower the objective, and say so."""
        width = len(pairs.vectors)
        if positive == 0:
            warn_user(
                f"no eigenvalue of T is positive at eta={eta:.3g}: no direction tells unlike pairs "
                "apart more than it moves like ones. The best one is returned; raise eta, or use "
                "eta='auto'."
            )
        elif self.n_components is not None and positive < self._wanted(width):
            them = "1 eigenvalue of T is" if positive == 1 else f"{positive} eigenvalues of T are"
            warn_user(
                f"n_components={self.n_components} was asked for, but only {them} positive at "
                f"eta={eta:.3g}: as many components are returned, since the others would lower "
                "the objective. Raise eta for more."
            )
        kept = max(positive, min(1, len(pairs.values)))
        return Eigenpairs(pairs.values[:kept], pairs.vectors[:, :kept])

    def _factor(self, points: Any) -> dual.Factor:
        """Return the factor of the rows' Gram matrix; remember what transform needs."""
        if self.kernel == "precomputed":
            _gram.check_gram(points)
        elif self.kernel == "rbf":
            self.X_fit_ = np.asarray(points, np.float64)
            self.gamma_ = _gram.resolved_gamma(self.gamma, self.X_fit_)
        return self._factor_of(points)

    def _factor_of(self, points: Any) -> dual.Factor:
        if self.kernel == "precomputed":
            return dual.factor(np.asfortranarray(points, dtype=np.float64))
        gamma = self.gamma_ if self.kernel == "rbf" else 0.0
        return dual.factor(_gram.gram(points, self.kernel, gamma), overwrite=True)

    def _coordinates(self, points: Any, factor: dual.Factor, rows: NDArray[np.intp]) -> Float64s:
        """Return some of the rows in coordinates of the space that the kernel spans by them."""
        if len(rows) == points.shape[0]:
            return factor.leading(factor.rank)
        some = points[np.ix_(rows, rows)] if self.kernel == "precomputed" else points[rows]
        found = self._factor_of(some)
        return found.leading(found.rank)

    def _with_kernel(
        self,
        solution: Solution,
        factor: dual.Factor,
        operator: dual.PairOperator,
        rows: Any,
        weights: Any = None,
    ) -> Solution:
        """Turn vectors in the factor's coordinates into coefficients of the training rows."""
        vectors = solution.pairs.vectors
        if self.criterion == "ratio":
            coefficients = dual.back_substituted(factor, vectors)
        else:
            coefficients = operator.coefficients(solution.pairs, solution.details["weights"])
        if self.kernel == "linear":
            columns = np.asarray(canonical_signs(rows.T @ coefficients), np.float64)
            pairs = Eigenpairs(solution.pairs.values, columns)
            return Solution(pairs, solution.mean, solution.n_rows, solution.details)
        features = np.column_stack([factor.times(np.ascontiguousarray(v)) for v in vectors.T])
        # The factor's coordinates depend on the order of the rows; signs by features do not.
        flip = np.sign((canonical_signs(features) * features).sum(axis=0))
        features, coefficients = features * flip, coefficients * flip
        solution.details.update(
            coefficients=coefficients,
            offset=np.average(features, axis=0, weights=weights),
            features=features,
            rank=factor.rank,
        )
        return solution

    def _forget_weights(self) -> None:
        """Let the contrast wait for the next solve, which chooses its weights."""
        if "contrast_" in self.__dict__:
            self.contrast_.weights = None

    # ---- results ---------------------------------------------------------------------------

    @property
    def eta_(self) -> float | None:
        """The weight of negative pairs in use, that of positive ones being 1 (None for ratios)."""
        eta: float | None = self._solved().details["eta"]
        return eta

    @property
    def eta_choice_(self) -> Choice | None:
        """The weights tried and the mean loss of each; None where eta was given."""
        choice: Choice | None = self._solved().details["choice"]
        return choice

    @property
    def n_positive_(self) -> int:
        """How many eigenvalues of T are positive: of all, or of the components where T is not kept.

        T is indefinite; only directions with a positive eigenvalue raise the objective.
        """
        solution = self._solved()
        found: int = solution.details["n_positive"]
        weights = solution.details["weights"]
        if weights is None or "contrast_" not in self.__dict__ or self.n_components is None:
            return found
        if found < min(self.n_components, len(solution.mean)):
            return found
        contrast = self.contrast_
        floor = contrast.floor(weights)
        return dense.count_positive(contrast.matrix(weights), contrast.rounding, floor)

    @property
    def rank_(self) -> int:
        """The numerical rank: of the negative pairs' scatter, or of the Gram matrix."""
        rank: int | None = self._solved().details.get("rank")
        return super().rank_ if rank is None else rank

    # ---- use -------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Project rows onto the components, in the rows' own precision.

        Parameters
        ----------
        X : array-like of shape (n, D)
            With kernel="precomputed", (n, m): the kernel's values with the m rows learned from.

        Returns
        -------
        Z : array of shape (n, n_components)
        """
        check_is_fitted(self)
        _pair_input.check_no_pairs(X)
        if self._learned("kernel") == "linear":
            return super().transform(X)
        details = self._solved().details
        rows = _input.as_floats(_input.validated(self, X, reset=False))
        coefficients, offset = details["coefficients"], details["offset"]
        if self._learned("kernel") == "precomputed":
            return (rows @ coefficients - offset).astype(rows.dtype)
        kernel = _gram.rbf_with(self.X_fit_, self.gamma_)
        step = max(_gram.KERNEL_VALUES // len(coefficients), 1)
        parts = (rows[start : start + step] for start in range(0, len(rows), step))
        projected = [kernel(part) @ coefficients - offset for part in parts]
        return np.concatenate(projected).astype(rows.dtype, copy=False)

    def inverse_transform(self, Z: Any) -> Any:
        """Return the rows in the space of the data that project to ``Z`` (kernel="linear")."""
        check_is_fitted(self)
        kernel = self._learned("kernel")
        if kernel != "linear":
            raise ValueError(
                f"kernel={kernel!r} maps to a space of functions: most of its points are the "
                "image of no row, so there is nothing to return. Use kernel='linear'."
            )
        return super().inverse_transform(Z)

    def _patterns(self) -> Float64s:
        if self._learned("criterion") == "ratio":
            return np.asarray(np.linalg.pinv(self.components_.T))
        return self.components_

    @property
    def components_(self) -> Float64s:
        """The learned directions, one a row (kernel="linear"); else see ``dual_coef_``."""
        solution, kernel = self._solved(), self._learned("kernel")
        if kernel != "linear":
            raise AttributeError(
                f"with kernel={kernel!r} the components are functions, sums of kernels at the "
                "training rows: see dual_coef_."
            )
        return solution.pairs.vectors.T

    @property
    def dual_coef_(self) -> Float64s:
        """Components as sums over training rows, shape (m, n_components), for a kernel."""
        found: Float64s | None = self._solved().details.get("coefficients")
        if found is None:
            raise AttributeError("kernel='linear' has components_, and no dual_coef_.")
        return found

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel == "linear"
        return tags
