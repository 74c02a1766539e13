"""What learning from explicit pairs and from labels has in common."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_number, is_sparse
from eigenstream._linalg import Float64s
from eigenstream._provenance import merge_sources
from eigenstream._streams import maps_streams
from eigenstream.estimators import _input
from eigenstream.estimators._parameters import Uses
from eigenstream.estimators.base import SubspaceEstimator
from eigenstream.estimators.pairs import _pair_input
from eigenstream.estimators.pairs._bounds import check_delta
from eigenstream.estimators.pairs._decisions import PairDecisions
from eigenstream.estimators.pairs._hyperbolic import Hyperbolic
from eigenstream.estimators.pairs._parameters import (
    check_able,
    check_margin,
    check_pair_parameters,
    chosen_way,
    etas_of,
)
from eigenstream.evaluation import pair_risk
from eigenstream.learners import table
from eigenstream.learners.base import Learner
from eigenstream.learners.pairs import (
    KERNEL_VALUES,
    PAPER_MARGIN,
    Choice,
    PairLearner,
    PairSource,
    PairTask,
    rbf_with,
)
from eigenstream.solvers import dense
from eigenstream.theory.bounds import RiskBound


class PairwiseEstimator(SubspaceEstimator, PairDecisions):
    """Base of the estimators that reward unlike pairs and penalise like ones [HPCA].

    A subclass reads its input, and says how its pairs count in risks and bounds.
    """

    # What a subclass's __init__ sets.
    eta: Any
    margin: Any
    balanced: bool
    criterion: str
    shrinkage: float | None
    kernel: str
    gamma: float | None
    diameter: float | None
    scale: bool = False

    #: How many rows, or pairs of either sign, of a stream are kept to count errors by; None: as
    #: many as 32 MB hold. A subclass may say otherwise.
    SAMPLE_SIZE: int | None = None
    FIXED: tuple[str, ...] = ("features", "kernel")
    FOUND_ANEW = ("_counted", "_trained")

    _learner: PairLearner | None
    #: The pairs (or rows) that were learned from, as they lie after the solution.
    _trained: Any = None

    # ---- learning --------------------------------------------------------------------------

    def _begin(self, width: int, n_rows: int | None) -> PairLearner:
        """Return a learner for rows of this width: so many, or (None) a stream of them."""
        solver = chosen_way(self, width, n_rows)
        way: Any = table.WAYS[self.DATA][solver]
        if not way.abilities.kernels:
            self._check_width(width)
        question = self._question(width)
        check_able(self.DATA, self, solver, searches=question.searches)
        self.solver_ = solver
        known = not question.searches and question.criterion == "difference"
        weights = question.weights_online() if known else None
        given = self.get_params(deep=False)
        task = PairTask(
            width, self._wanted(width), question.searches, weights, given, self.SAMPLE_SIZE
        )
        learner: PairLearner = way.begun(task)
        self._note_parameters(learner)
        return learner

    def _learn_all(self, source: PairSource, width: int) -> None:
        """Learn from all of a source, forgetting what was learned before."""
        learner = self._begin(width, len(source.given))
        if source.passes > 1:
            table.require(self.DATA, self.solver_, "more_passes", f"passes={source.passes}")
        if self.kernel == "linear":
            self._check_apart(source.parts(), learner)
        self._forget(learner)
        self._solution = learner.read(source, self._question(width))
        if self._solution is None:
            self._check_ready(learner)

    def _learn_more(self, source: PairSource, width: int) -> None:
        """Go on learning with the next pairs or rows of a stream."""
        learner = self._learner
        if learner is None:
            learner = self._begin(width, None)
        self._check_given(source.given)
        parts = list(source.parts())  # all is mapped, and checked, before anything is learned
        self._check_apart(parts, learner)
        for some in parts:
            learner.add(some)
        self._forget(learner)

    @abstractmethod
    def _check_apart(self, parts: Iterable[Any], learner: PairLearner) -> None:
        """Refuse a ``diameter`` that the data disprove, before any of them is learned."""

    def _merged(self, other: Self) -> Self:
        """Return an estimator that has learned what both have; neither is changed."""
        self._check_mergeable(other)
        learner: Any = self._learner
        merged = self._with(learner.merge(other._learner))
        merged._skipped = self._skipped.merged(other._skipped)
        merge_sources(merged, other, follows=False)
        return merged

    def _forget(self, learner: PairLearner) -> None:
        """Take over a learner that has changed: results are found again when they are read."""
        self._learner, self._solution = learner, None
        self._forget_counts()

    def _forget_counts(self) -> None:
        super()._forget_counts()
        self._trained = None

    def _with(self, learner: Learner) -> Self:
        copy = super()._with(learner)
        copy._forget_counts()
        return copy

    def _question(self, n_features: int) -> Hyperbolic:
        return Hyperbolic(
            n_components=self.n_components,
            etas=tuple(etas_of(self.eta)),
            by_margin_risk=isinstance(self.eta, str) and self.eta == "margin_risk",
            margin=self.margin,
            balanced=self.balanced,
            criterion=self.criterion,
            shrinkage=self.shrinkage,
            kernel=self.kernel,
            diameter=self.diameter,
            scaled=self.scale,
        )

    # ---- checks ----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_pair_parameters(self)
        check_able(self.DATA, self, self.solver, searches=self._question(1).searches)
        self._check_common_parameters()  # last: what makes no sense is said before what is unused

    def _uses(self) -> Uses:
        return super()._uses() | {
            "gamma": ("kernel", ("rbf",)),
            "shrinkage": ("criterion", ("ratio",)),
            "eta": ("criterion", ("difference",)),
            "balanced": ("criterion", ("difference",)),
        }

    def _check_weighable(self, sample_weight: Any) -> None:
        if sample_weight is not None:
            self._check_shares(self.solver, "sample_weight", "Leave sample_weight out")

    def _check_given(self, given: Any) -> None:
        """Refuse what the learner of a stream, chosen by its width only, cannot take."""
        if given.weights is not None and not np.isin(given.weights, (0.0, 1.0)).all():
            self._check_shares(self.solver_, "sample_weight", "Leave sample_weight out")

    def _check_shares(self, solver: str, what: str, remedy: str) -> None:
        table.require(self.DATA, solver, "any_shares", what, remedy)

    def _check_dense_rows(self, rows: Any) -> None:
        if self.kernel != "linear" and is_sparse(rows):
            raise TypeError(
                f"sparse rows were passed, but kernel={self.kernel!r} takes dense ones: use "
                "X.toarray(), or kernel='linear'."
            )

    def _check_incremental(self) -> None:
        """Say why partial_fit is not there, if it is not."""
        mapped = self.kernel != "linear"
        solver = table.in_kernel(self.DATA, "auto") if mapped else self.solver
        remedy = "Use kernel='linear' behind features=RBFNetwork(...)" if mapped else ""
        try:
            table.require(self.DATA, solver, "goes_on", "partial_fit", remedy)
        except ValueError as refusal:
            raise AttributeError(str(refusal)) from None

    # ---- results ---------------------------------------------------------------------------

    def _known(self, name: str) -> Any:
        """Return what the solution says of itself, whatever parameters have been set since."""
        return self._solved().details.get(name)

    @property
    def eta_(self) -> float | None:
        """The weight of negative pairs in use, that of positive ones being 1 (None for ratios)."""
        eta: float | None = self._known("eta")
        return eta

    @property
    def eta_choice_(self) -> Choice | None:
        """The weights tried and the mean loss of each; None where eta was given."""
        etas = self._known("etas")
        return None if etas is None else Choice(self._known("eta"), etas, self._known("losses"))

    @property
    def gamma_(self) -> float:
        """The sharpness of kernel="rbf"."""
        gamma: float | None = self._known("gamma")
        if gamma is None:
            raise AttributeError(f"kernel={self._known('kernel')!r} has no gamma_.")
        return gamma

    @property
    def n_positive_(self) -> int:
        """How many eigenvalues of T are positive: of all, or of the components where T is not kept.

        T is indefinite; only directions with a positive eigenvalue raise the objective.
        """
        found, weights = int(self._known("n_positive")), self._known("weights")
        contrast = self._knowledge().contrast
        if weights is None or contrast is None or self.n_components is None:
            return found
        if found < min(self.n_components, len(self.mean_)):
            return found
        floor = contrast.floor(weights)
        return dense.count_positive(contrast.matrix(weights), contrast.rounding, floor)

    @property
    def rank_(self) -> int:
        """The numerical rank: of the negative pairs' scatter, or of the Gram matrix."""
        rank: int | None = self._known("rank")
        return super().rank_ if rank is None else int(rank)

    @property
    def diameter_(self) -> float:
        """No two members of a pair are farther apart: what the theory's unit of length is.

        ``diameter`` where it was given. Else, from labelled rows: twice the radius of a ball about
        the first row or the origin, whichever is smaller, that holds all of them; for index pairs
        the same of their rows about the mean; for others the largest distance of a pair. For the
        "rbf" kernel it is sqrt(2), whatever the data ([HPCA] halves the kernel for it).
        """
        return float(self._known("diameter"))

    @property
    def components_(self) -> Float64s:
        """The learned directions, one a row (kernel="linear"); else see ``dual_coef_``."""
        kernel = self._known("kernel")
        if kernel != "linear":
            raise AttributeError(
                f"with kernel={kernel!r} the components are functions, sums of kernels at the "
                "training rows: see dual_coef_."
            )
        return super().components_

    @property
    def dual_coef_(self) -> Float64s:
        """Components as sums over training rows, shape (m, n_components), for a kernel."""
        found: Float64s | None = self._known("coefficients")
        if found is None:
            raise AttributeError("kernel='linear' has components_, and no dual_coef_.")
        return found

    # ---- risks and bounds --------------------------------------------------------------------

    def _training(self) -> Any:
        """Return the pairs (or rows) that were learned from, as they lie after the solution."""
        if self._trained is None:
            solution, learner = self._solved(), self._learner
            assert learner is not None
            self._trained = learner.training(solution)
        return self._trained

    @property
    def risk_standard_error_(self) -> float:
        """How far ``risk_`` may be from that of all training pairs: 0 where it is theirs.

        The standard error from having kept a sample of the pairs, or the rows, of a stream.
        """
        threshold = self.risk_curve_.threshold
        return float(self._training().risk_error(threshold))

    @property
    def margin_risk_(self) -> float:
        """The least balanced margin risk on the training pairs, distances in ``diameter_``.

        At the margin of ``margin``, or 0.01 as in [HPCA] section 7.
        """
        return self._margin_risk().risk

    @property
    def margin_risk_error_(self) -> float:
        """How far ``margin_risk_`` may be from that of the same pairs with exact distances.

        Up to 2^20 pairs are held; above, they are counted in 2^17 bins.
        """
        return self._margin_risk().error

    def _margin_risk(self) -> pair_risk.MarginRisk:
        if self.margin is not None:
            check_margin(self.margin, self.eta)
        gamma = PAPER_MARGIN if self.margin is None else float(self.margin[1])
        return pair_risk.margin_risk(self._counts(), gamma, self._unit())

    def _unit(self) -> float:
        # Ratios are scaled freely: their own largest distance is the unit.
        ratio = self._known("criterion") == "ratio"
        return float(self._counts().ends[-1]) if ratio else self.diameter_

    def bound(self, delta: float = 0.05, margin: float = 0.1) -> RiskBound:
        """Bound the risk of the learned projection on fresh pairs ([HPCA] Theorem 1).

        From pairs, taken as independent: the balanced risk, each kind with its own number of pairs
        and half of delta; with ``balanced=False`` the risk in the proportions that pairs came in. A
        pair that came k times, or with a weight, counts as one pair of that weight. From labels:
        the risk on two fresh rows, in the proportion in which pairs arise; all pairs of m rows
        count as m // 2 independent ones. What a sample instead of all pairs may hide is added.
        Distances are in ``diameter_``: give ``diameter`` where fresh rows may lie farther apart
        than these. The margin must have been chosen before looking.
        """
        delta = check_delta(delta)
        if self._known("criterion") == "ratio":
            raise ValueError(
                "[HPCA] Theorem 1 is about projections, and criterion='ratio' stretches directions:"
                " use criterion='difference', or PairMetric with Theorem 3."
            )
        margin = check_number(margin, "margin", above=0, below=1)
        return self._risk_bound(margin, delta)

    @abstractmethod
    def _risk_bound(self, margin: float, delta: float) -> RiskBound:
        """Bound the risk of the learned projection on fresh pairs."""

    # ---- use -------------------------------------------------------------------------------

    @maps_streams
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
        kernel = self._known("kernel")
        if kernel == "linear":
            return super().transform(X)
        rows = _input.as_floats(_input.validated(self, X, reset=False))
        coefficients, offset = self._known("coefficients"), self._known("offset")
        if kernel == "precomputed":
            return (rows @ coefficients - offset).astype(rows.dtype)
        values = rbf_with(self._known("points"), self.gamma_)
        step = max(KERNEL_VALUES // len(coefficients), 1)
        parts = (rows[start : start + step] for start in range(0, len(rows), step))
        projected = [values(some) @ coefficients - offset for some in parts]
        return np.concatenate(projected).astype(rows.dtype, copy=False)

    def inverse_transform(self, Z: Any) -> Any:
        """Return the rows in the space of the data that project to ``Z`` (kernel="linear")."""
        check_is_fitted(self)
        kernel = self._known("kernel")
        if kernel != "linear":
            raise ValueError(
                f"kernel={kernel!r} maps to a space of functions: most of its points are the "
                "image of no row, so there is nothing to return. Use kernel='linear'."
            )
        return super().inverse_transform(Z)

    def _patterns(self) -> Float64s:
        if self._known("criterion") == "ratio":
            return np.asarray(np.linalg.pinv(self.components_.T))
        return self.components_

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel == "linear"
        return tags
