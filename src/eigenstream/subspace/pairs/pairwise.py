"""Base of the estimators that learn from pairs and from labels."""

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from eigenstream.core.linalg import Float64s, unit_rows
from eigenstream.core.storable import storable
from eigenstream.core.types import (
    Constraints,
    Count,
    LabelsLike,
    Matrix,
    RowsLike,
    Setting,
    Transformer,
)
from eigenstream.rows.fit import Fit, Keeper
from eigenstream.rows.guard import reads
from eigenstream.rows.prepared import note_source
from eigenstream.subspace.estimators.base import SubspaceEstimator
from eigenstream.subspace.estimators.mapping import projected
from eigenstream.subspace.estimators.projection import DEFAULT
from eigenstream.subspace.estimators.results import PairResult
from eigenstream.subspace.inference.uncertainty import (
    BlockCut,
    Uncertainty,
    check_blocks,
)
from eigenstream.subspace.pairs.decisions import PairDecisions
from eigenstream.subspace.pairs.family import Projections, Ratios
from eigenstream.subspace.pairs.held_out import RATES, LabelledRows, SignedPairs
from eigenstream.subspace.pairs.risks import TrainingPairs, TrainingRows
from eigenstream.subspace.pairs.terms import PairSample, PairTerms, Sample
from eigenstream.subspace.solvers.base import COUNT, CRITERION, FLAG, Problem, Solver
from eigenstream.subspace.solvers.kernels import Kernel, KernelMap
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.watchers.values import RadiusBound
from eigenstream.theory import RiskBound

#: Fewer rows than features are solved in their span if there are more features than this. Larger
#: values take time. In the span, distances lack the directions that no row has.
WIDEST = 1024


@storable(
    _trained="TrainingPairs | None?",
    _sampled="-",
    _calibrated="number | None?",
)
@dataclass(eq=False, repr=False)
class PairwiseEstimator(SubspaceEstimator, PairDecisions):
    """Base of the estimators that reward negative pairs and penalise positive ones.

    Parameters
    ----------
    n_components : int, "auto" or None, default="auto"
        The largest number of components. For "ratio", "auto" selects it on held-out classes or
        pairs, and None keeps all directions. For "difference", "auto" is 2 (1 if there is only one
        feature). Only directions with a positive eigenvalue are returned there, with a warning if
        there are fewer than n_components. None returns all of them.
    criterion : {"ratio", "difference"}, default="ratio"
        "ratio" weighs the discriminants of linear discriminant analysis for distances, between raw
        distance and discriminant analysis. "difference" maximises the difference of the two
        scatters (Maurer 2006), with orthonormal components and risk bounds. "ratio" ignores eta.
    shrinkage : float in [0, 1] or "auto", default="auto"
        For "ratio": the share of the covariance within classes that a multiple of the identity
        replaces. With 1, discriminants are principal axes of the class means. With 0, directions
        of no variance within classes are excluded. "auto" compares 7 values on held-out classes or
        pairs. "difference" ignores it.
    mixing : float in [0, 1] or "auto", default="auto"
        For "ratio": the share of the covariance between classes that the covariance within them
        replaces. With 0, only discriminants count. With 1, all directions count alike: raw
        distance at shrinkage 1. "auto" compares 0, 0.1, 0.3 and 1. It is 0 for an integer
        n_components of at most the number of discriminants, and compares the other values for a
        larger one. "difference" ignores it.
    normalize : bool or "auto", default="auto"
        For "ratio": divide mapped rows by their norm, so that their distances are cosine distances
        about the mean: ``sqrt(2 - 2 cos)``. "auto" compares Euclidean and cosine distance on
        held-out classes or pairs. It is False for an integer n_components, for several tasks,
        or if both shrinkage and mixing are numbers. "difference" ignores it.
    selection : {"area", "low false positives"}, default="area"
        The loss that "auto" minimises on held-out classes or pairs: one minus the ROC area, or
        minus the mean true-positive rate at false-positive rates up to 0.1. The second suits
        retrieval and verification of embeddings, where few pairs are of the same class.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Rows by descending eigenvalue. For "ratio", distances after the map are the learned
        distances. For "difference", rows are orthonormal.
    eigenvalues_ : array of shape (n_components,)
        For "ratio", the variances of the rows after the map, before they are normalized. For
        "difference", the largest eigenvalues of T.
    solver_ : str
        The name of the solver in use.
    eta_ : float or None
        The weight in use. None with ``criterion="ratio"``.
    result_ : PairResult
        The result: ``shrinkage``, ``mixing`` and ``normalize`` of "ratio", or ``eta``, and the
        compared values in ``selection``.
    threshold_ : float
        The distance below which two rows count as the same class.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "eta": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto", "margin_risk"})],
        "n_components": [COUNT, StrOptions({"auto"}), None],
        "criterion": [CRITERION],
        "shrinkage": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "mixing": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "normalize": [FLAG, StrOptions({"auto"})],
        "selection": [StrOptions({*RATES})],
    }

    #: The sums and the sample of a learner, as a family needs them.
    _examples: ClassVar[type[LabelledRows] | type[SignedPairs]]
    #: An empty sample that errors are counted on, for rows of a width.
    _sample: ClassVar[type[Sample] | type[PairSample]]
    n_components: Count = "auto"
    _: KW_ONLY
    criterion: str = "ratio"
    shrinkage: Setting = "auto"
    mixing: Setting = "auto"
    normalize: bool | str = "auto"
    scale: bool | str = "auto"
    eta: Setting = "auto"
    selection: str = "area"
    solver: str | Solver = "auto"
    features: Transformer | None = None
    preprocessor: RowsLike = None
    missing: str = "raise"

    # ---- learning --------------------------------------------------------------------------

    def _forget_counts(self) -> None:
        self._trained, self._sampled, self._calibrated = None, [], None

    def _loaded(self) -> None:
        super()._loaded()
        self._sampled = []

    def _forget(self) -> None:
        super()._forget()
        self._forget_counts()

    def _fit(
        self, data: Matrix, y: LabelsLike, keeper: Keeper | None, **of_rows: LabelsLike
    ) -> Fit | None:
        """Learn from all rows or pairs, and return their fit if they are in memory."""
        self._check_parameters()
        rows = self._rows(data, y, reset=True, **of_rows)
        stream = rows.stream
        if stream is not None:
            if keeper is not None or not self._in_memory(stream):
                self._resume(rows, keeper)
                return None
            rows = rows.in_memory(f"fit of {type(self).__name__}")
        fit = Fit(self, rows, keeper)
        self._learn_all(fit)
        note_source(self, stream)
        return fit

    def _with_negatives(self, learner: Learner) -> Learner:
        """Return the learner with pairs of both kinds, as far as the criterion needs them."""
        return learner

    def _wanted(self, width: int) -> Any:
        if self.n_components == "auto" and self.criterion == "difference":
            return min(DEFAULT, width)
        return super()._wanted(width)

    def _problem(self, width: int) -> Problem:
        ratio, eta, shrinkage = self.criterion == "ratio", self.eta, self.shrinkage
        return Problem(
            self._terms(width),
            self._wanted(width),
            None if ratio or isinstance(eta, str) else (0.5 * float(eta), 0.5),
            self._sample(width),
            shrinkage=float(shrinkage) if ratio and not isinstance(shrinkage, str) else None,
            watchers={"radius": RadiusBound()},
        )

    def _solve(self, learner: Learner) -> PairResult:
        self._forget_counts()
        width, scale, rate = learner.n_features, self.scale, RATES[self.selection]
        with_negatives = self._with_negatives(learner)
        n_components = self._wanted(width)
        examples = self._examples(with_negatives)
        if self.criterion == "difference":
            if scale in (True, "within"):
                examples.divide(scale)
            else:
                examples.inside, examples.basis = examples.learner.in_row_span()
            diameter = self._diameter(learner) if self.eta == "margin_risk" else 1.0
            return Projections(examples, n_components, self.eta, rate, diameter).result()
        in_kernel = self._kernel is not None
        spanned = scale in (True, "within") or in_kernel or examples.spanning
        if not spanned and width > WIDEST:
            examples.inside, examples.basis = examples.learner.in_row_span()
        elif scale == "auto" and not in_kernel and not examples.sketched and examples.few:
            scale = "within"
        examples.divide(scale)
        axes = examples.axes()
        if not float(axes.values.sum()) > 0.0:
            raise ValueError(
                "criterion='ratio' divides by the scatter of positive pairs, but all positive "
                "pairs have equal rows. Use criterion='difference'."
            )
        settings = n_components, self.shrinkage, self.mixing, self.normalize
        return Ratios.of(examples, axes, rate, *settings, spanned=spanned).result()

    def _uncertainty(
        self, data: Matrix, y: LabelsLike, blocks: int, cut: BlockCut, **of_rows: LabelsLike
    ) -> Uncertainty:
        """Fit the rows or pairs in blocks, and return the fit with error bars."""
        check_blocks(blocks)
        self._check_parameters()
        rows = self._rows(data, y, reset=True, **of_rows)
        fit = Fit(self, rows)
        self._fit_maps(fit)
        n_rows = rows.n_rows if rows.stream is None else rows.stream.n_rows
        fitted, parts = self._fit_blocks(fit, cut, blocks, n_rows, "uncertainty")
        fitted._report()
        return fitted._error_bars(parts)

    # ---- results ---------------------------------------------------------------------------

    @property
    @reads
    def result_(self) -> PairResult:
        """The result, a frozen dataclass: eigenpairs, mean, scale, eta, shrinkage and mixing."""
        return cast(PairResult, self._solved())

    @property
    def eta_(self) -> float | None:
        """The weight of negative pairs in use, or None with ``criterion="ratio"``."""
        return self.result_.eta

    def _diameter(self, learner: Learner) -> float:
        """Return an upper bound on the distance of two rows."""
        if isinstance(self._kernel, KernelMap):
            return float(np.sqrt(2.0))
        of_pairs = isinstance(learner.terms, PairTerms)
        diameter = learner.terms.longest if of_pairs else learner.watcher("radius").diameter
        scale = None if self._answer is None else self._answer.scale
        return float(diameter if scale is None else diameter / scale.min())

    def _projected(self, rows: Matrix, mean: Float64s, columns: Float64s) -> Matrix:
        features = super()._projected(rows, mean, columns)
        return unit_rows(features) if self.result_.normalize else features

    def _affine(self) -> tuple[Float64s, Float64s | float, bool]:
        result = self.result_
        return result.unscaled(self.components_.T), result.mean, result.normalize

    def _features_of(self, rows: Matrix) -> Float64s:
        """Return the features of learned rows, after the feature map, in float64."""
        result = self.result_
        features = projected(rows.astype(np.float64, copy=False), result.mean, result.columns)
        return np.asarray(unit_rows(features) if result.normalize else features)

    @reads
    def _training(self) -> TrainingPairs | TrainingRows:
        if self._trained is not None:
            return self._trained
        if not self._sampled:
            examples = self._examples(self._fitted_learner().with_all_rows())
            self._sampled.append(examples.training(self._features_of))
        return self._sampled[0]

    def _unit(self) -> float:
        return self._diameter(self._fitted_learner().with_all_rows())

    def _risk_bound(self, margin: float, delta: float, diameter: float | None) -> RiskBound:
        if self.result_.eta is None:
            raise ValueError(
                "The bound holds only for orthogonal projections, not for criterion='ratio'. Use "
                "criterion='difference' or PairMetric."
            )
        if self.scale_ is not None:
            raise ValueError(
                "The bound does not hold for divided features, since the divisors are estimated "
                "from the same data. Fit with scale=False, on data scaled by constants."
            )
        norms = float(np.sqrt(self.n_components_)), 1.0
        return self._training().bound(norms, margin, delta, diameter or self._unit())


def continues(estimator: SubspaceEstimator) -> None:
    """Raise AttributeError for a solver that needs all rows at once."""
    if estimator.solver == "kernel" or isinstance(estimator.solver, Kernel):
        raise AttributeError("solver='kernel' needs all rows at once. Use fit, or solver='dense'.")
