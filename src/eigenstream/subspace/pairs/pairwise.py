"""Base of the estimators that learn from pairs and from labels."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from numbers import Integral, Real
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

from eigenstream.core.checks import warn_user
from eigenstream.core.linalg import Float64s, unit_rows
from eigenstream.core.storable import storable
from eigenstream.core.types import Constraints, LabelsLike, Matrix, Setting, StreamLike
from eigenstream.evaluation import pair_risk
from eigenstream.evaluation.pair_risk import TrainingRows
from eigenstream.rows.chunk import Chunk
from eigenstream.rows.door import check_takes_checkpoints, is_stream, labelled_stream, name_columns
from eigenstream.rows.fit import Fit, Keeper
from eigenstream.rows.guard import reads
from eigenstream.rows.prepared import note_source
from eigenstream.rows.rows import Rows
from eigenstream.subspace.estimators.base import SubspaceEstimator
from eigenstream.subspace.estimators.mapping import projected
from eigenstream.subspace.estimators.projection import DEFAULT
from eigenstream.subspace.estimators.results import PairResult
from eigenstream.subspace.inference.uncertainty import (
    BlockCut,
    Uncertainty,
    check_blocks,
    fit_blocks,
    jackknife,
    learners_of,
)
from eigenstream.subspace.pairs.decisions import PairDecisions
from eigenstream.subspace.pairs.discriminants import (
    ENERGY,
    MIXINGS,
    NUMBERS,
    SHRINKAGES,
    WIDEST,
    Axes,
    Family,
    Member,
    Scatters,
    Selection,
    components_of,
    select,
)
from eigenstream.subspace.pairs.held_out import (
    RATES,
    RAW,
    REGION_SHRINKAGE,
    Choice,
    Fold,
    Folds,
    PairGraph,
    choose,
    margin_risk_eta,
    roc_areas,
)
from eigenstream.subspace.pairs.risks import PAPER_MARGIN
from eigenstream.subspace.pairs.sample import PairSample, Project, Sample, TrainingPairs
from eigenstream.subspace.solvers.base import COUNT, CRITERION, FLAG, Problem
from eigenstream.subspace.solvers.kernels import Kernel
from eigenstream.subspace.solvers.ratio_frame import RatioFrame
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.sums.operators import canonical
from eigenstream.subspace.sums.terms import NOTHING, Parts, Weights
from eigenstream.subspace.watchers.values import RadiusBound
from eigenstream.theory import RiskBound


@storable(
    _trained="TrainingPairs | TrainingRows | None?",
    _read="-",
    _counted="=",
    _calibrated="number | None?",
)
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
        The result: ``shrinkage``, ``mixing`` and ``normalize`` of "ratio" and their ``selection``,
        or the ``choice`` of eta.
    threshold_ : float
        The distance below which two rows count as the same class.
    """

    eta: Any
    criterion: str
    shrinkage: Setting
    mixing: Setting
    normalize: bool | str
    scale: bool | str
    selection: str

    _bounded = True
    _parameter_constraints: ClassVar[Constraints] = SubspaceEstimator._parameter_constraints | {
        "eta": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto", "margin_risk"})],
        "n_components": [COUNT, StrOptions({"auto"}), None],
        "criterion": [CRITERION],
        "shrinkage": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "mixing": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "normalize": [FLAG, StrOptions({"auto"})],
        "selection": [StrOptions({*RATES})],
    }

    #: The size of the sample that errors are counted on. None is the default size.
    _SAMPLE_SIZE: ClassVar[int | None] = None
    #: All training pairs of a fit after projection, or None if a sample stands for them.
    _trained: TrainingPairs | TrainingRows | None = None

    @abstractmethod
    def _sample(self, width: int) -> Sample | PairSample:
        """Return an empty sample."""

    @abstractmethod
    def _projected_sample(self, learner: Learner, project: Project) -> TrainingPairs | TrainingRows:
        """Return the sampled training pairs (or rows) of a learner after projection."""

    @abstractmethod
    def _subspace_bound(self, margin: float, delta: float, diameter: float) -> RiskBound:
        """Return the bound of an orthogonal projection."""

    # ---- learning --------------------------------------------------------------------------

    def _forget_counts(self) -> None:
        self._trained = None
        super()._forget_counts()

    def _loaded(self) -> None:
        super()._loaded()
        self._read = {}

    def _forget(self) -> None:
        super()._forget()
        self._forget_counts()

    @abstractmethod
    def _stream_rows(self, stream: StreamLike) -> Rows:
        """Return the rows or pairs of a labelled stream."""

    @abstractmethod
    def _all_of(self, stream: StreamLike) -> tuple[Matrix, LabelsLike]:
        """Return all rows or pairs of a labelled stream, and their labels."""

    def _fit(
        self, data: Matrix, y: LabelsLike, keeper: Keeper | None, **more: LabelsLike
    ) -> Fit | None:
        """Learn from all rows or pairs, and return their fit if they are in memory."""
        self._check_parameters()
        stream = labelled_stream(data, y, self) if is_stream(data) else None
        if stream is not None:
            if keeper is not None or not self._in_memory(stream):
                rows = self._stream_rows(stream)
                name_columns(self, stream)
                self._resume(rows, keeper)
                return None
            data, y = self._all_of(stream)
        elif keeper is not None:
            check_takes_checkpoints(data)
        fit = Fit(self, self._rows(data, y, reset=True, **more))
        self._learn_all(fit)
        note_source(self, stream)
        if stream is not None:
            name_columns(self, stream)
        return fit

    @abstractmethod
    def _scatters(
        self, learner: Learner, n_features: int, held_out: Sequence[Parts] = (NOTHING,)
    ) -> list[Scatters]:
        """Return the covariances within and between classes, without each set of parts."""

    @abstractmethod
    def _test_rows(
        self, learner: Learner, basis: Float64s | None = None, scale: Float64s | None = None
    ) -> Chunk | PairGraph:
        """Return the sampled rows or pairs of a learner, along a basis if there is one.

        Their order depends on ``scale``, so that it does not depend on units.
        """

    @abstractmethod
    def _folds(self, learner: Learner, rows: Matrix) -> Folds:
        """Return the folds of sampled rows or pairs."""

    @abstractmethod
    def _middle(self, learner: Learner) -> Float64s:
        """Return the mean about which cosines are taken."""

    @abstractmethod
    def _few_distinct(self, learner: Learner) -> bool:
        """Return whether distinct rows or pairs are too few to span all features."""

    @abstractmethod
    def _scales(self, learner: Learner) -> bool:
        """Return whether scale="auto" divides the features."""

    def _wanted(self, width: int) -> Any:
        if self.n_components == "auto" and self.criterion == "difference":
            return min(DEFAULT, width)
        return super()._wanted(width)

    def _problem(self, width: int) -> Problem:
        has_eta = self.criterion == "difference" and isinstance(self.eta, Real)
        weights = _weights_at(float(self.eta), (1.0, 1.0)) if has_eta else None
        number = self.criterion == "ratio" and not isinstance(self.shrinkage, str)
        shrinkage = float(self.shrinkage) if number else None
        return Problem(
            self._terms(width),
            self._wanted(width),
            weights,
            self._sample(width),
            shrinkage=shrinkage,
        )

    def _solve(self, learner: Learner) -> PairResult:
        self._forget_counts()
        if self.criterion == "ratio":
            return self._solve_family(learner)
        terms, scale = learner.terms, self._divisors(learner)
        inside, basis = learner.in_row_span() if scale is None else (learner, None)
        operator = inside.operator()
        if scale is not None:
            operator = operator.scaled(scale, terms.mean)
        wanted, width = self._wanted(terms.n_features), inside.terms.n_features
        n = width if wanted is None else min(int(wanted), width)
        totals, choice = terms.totals(), None
        if isinstance(self.eta, Real):
            eta = float(self.eta)
        elif totals[1] == 0.0:
            eta = 1.0  # without positive pairs the weight has no effect
        else:
            choice = self._chosen(learner, inside, basis, operator, n, scale)
            eta = choice.eta
        weights = _weights_at(eta, totals)
        pairs = operator.largest(weights, n)
        if hasattr(operator, "cut"):
            least = operator.cut(weights)
        else:
            size = float(np.abs(pairs.values).max(initial=0.0))
            least = max(1e-12 * size, operator.floor * sum(weights))
        positive = int((pairs.values > least).sum())
        if positive < (1 if wanted is None else wanted):
            warn_user(
                f"n_components={wanted}, but only {positive} eigenvalue(s) of T are positive at "
                f"eta={eta:.3g}. Other directions do not separate the pairs. Raise eta for more."
            )
        if basis is not None:
            pairs = canonical(pairs.values, basis @ pairs.vectors)
        pairs = pairs.first(positive)
        return PairResult(
            pairs, terms.mean, scale, eta, choice, n_positive=positive, weights=weights
        )

    def _divisors(self, learner: Learner) -> Float64s | None:
        """Return the divisors of the features that ``scale`` asks for, or None."""
        if self.scale == "within":
            (scatters,) = self._scatters(learner, learner.terms.n_features)
            return scatters.deviations(learner.terms.mean)
        return None

    def _solve_family(self, learner: Learner) -> PairResult:
        """Return the selected member of the family for ``criterion="ratio"``."""
        terms, width = learner.terms, learner.terms.n_features
        inside, basis = learner, None
        scale = self._divisors(learner)
        wide = scale is None and self._kernel is None and self._few_distinct(learner)
        if wide and width > WIDEST:
            inside, basis = learner.in_row_span()
        if isinstance(learner.sums, RatioFrame):
            sides = learner.operator()
            basis, trace = sides.basis.T, sides.penalty_trace
            scatters = Scatters(sides.penalty, sides.reward, width, trace=trace)
        else:
            (scatters,) = self._scatters(inside, width)
        if not float(np.trace(scatters.within)) > 0.0:
            raise ValueError(
                "criterion='ratio' divides by the scatter of positive pairs, but all positive "
                "pairs have equal rows. Use criterion='difference'."
            )
        if self.scale == "auto" and basis is None and self._kernel is None:
            scale = scatters.deviations(terms.mean) if self._scales(learner) else None
        axes = Axes(scatters.scaled(scale, terms.mean))
        tasks = {task for task, _ in getattr(terms, "centers", ())}
        family = self._family(axes, width, several_tasks=len(tasks) > 1)
        selection: Selection | None = None
        if family.several:
            folds = self._folds(inside, self._test_rows(learner, basis, scale))
            losses: list[dict[Member, float]] = []
            for fold, scatters in self._scatters_of(folds.folds, width):
                scatters = scatters.scaled(scale, terms.mean)
                points = fold.rows if scale is None else fold.rows / scale
                names, squares = family.squared_distances(Axes(scatters), points, fold.pairs)
                areas = roc_areas(squares, fold.same, fold.counts, RATES[self.selection])
                losses.append(dict(zip(names, (1.0 - areas).tolist(), strict=True)))
            preferred = folds.preferred if losses else RAW
            selection = select(losses, family, folds.slack, preferred, folds.kind_slack)
            family = selection.family
        (shrinkage,), (mixing,), (n,) = family.shrinkages, family.mixings, family.numbers
        (normalize,) = family.normalizations
        energy = ENERGY if self.n_components == "auto" and not normalize else 1.0
        pairs = components_of(axes, shrinkage, mixing, n, None if wide else energy)
        if basis is not None:
            pairs = canonical(pairs.values, basis @ pairs.vectors)
        if n is not None and len(pairs.values) < n:
            warn_user(
                f"n_components={n}, but only {len(pairs.values)} directions separate the classes "
                f"at mixing={mixing:g}. Use fewer components, or a larger mixing."
            )
        return PairResult(
            pairs,
            self._middle(learner) if normalize else terms.mean,
            scale,
            shrinkage=shrinkage,
            mixing=mixing,
            normalize=normalize,
            selection=selection,
            n_positive=len(axes.discriminants(shrinkage).variances),
        )

    def _scatters_of(self, folds: list[Fold], width: int) -> Iterator[tuple[Fold, Scatters]]:
        """Yield each fold with the covariances without its held-out parts."""
        for _, alike in groupby(folds, key=lambda fold: id(fold.learner)):
            group = list(alike)
            left_out = [fold.left_out for fold in group]
            yield from zip(group, self._scatters(group[0].learner, width, left_out), strict=True)

    def _family(self, axes: Axes, width: int, *, several_tasks: bool) -> Family:
        """Return the members of the family to compare."""
        wanted = self._wanted(width)
        numbers = (*NUMBERS, None) if wanted == "auto" else (wanted,)
        mixings: tuple[float, ...] = MIXINGS
        if not isinstance(self.mixing, str):
            mixings = (float(self.mixing),)
        elif isinstance(wanted, Integral):
            # Discriminants are nested. More components than these need other directions.
            few = wanted <= len(axes.discriminants(REGION_SHRINKAGE).variances)
            mixings = MIXINGS[:1] if few else MIXINGS[1:]
        numbers = (None,) if wanted == "auto" and min(mixings) > 0.0 else numbers
        alone = isinstance(self.shrinkage, Real)
        shrinkages = (float(self.shrinkage),) if alone else SHRINKAGES
        normalizations: tuple[bool, ...] = (False, True)
        if not isinstance(self.normalize, str):
            normalizations = (bool(self.normalize),)
        elif isinstance(wanted, Integral) or several_tasks or len(shrinkages) == len(mixings) == 1:
            normalizations = (False,)
        return Family(shrinkages, mixings, numbers, normalizations)

    def _chosen(
        self,
        learner: Learner,
        inside: Learner,
        basis: Float64s | None,
        operator: Any,
        n: int,
        scale: Float64s | None,
    ) -> Choice:
        if self.eta == "auto":

            def columns(operator: Any, eta: float, totals: Weights) -> Float64s:
                weights = _weights_at(eta, totals)
                pairs = operator.largest(weights, n)
                return np.asarray(pairs.vectors[:, pairs.values > operator.cut(weights)])

            folds = self._folds(inside, self._test_rows(learner, basis, scale)).folds
            return choose(folds, columns, scale, RATES[self.selection])
        totals = learner.terms.totals()

        def loss(eta: float) -> float:
            pairs = operator.largest(_weights_at(eta, totals), n)
            positive = max(int((pairs.values > 0).sum()), 1)
            vectors = pairs.vectors[:, :positive]
            columns = vectors if scale is None else vectors / scale[:, None]
            columns = columns if basis is None else basis @ columns
            counts = self._projected_sample(learner, lambda rows: rows @ columns).counts
            return pair_risk.margin_risk(counts, PAPER_MARGIN, self._diameter(learner)).risk

        return margin_risk_eta(loss)

    def _error_bars(
        self, data: Matrix, y: LabelsLike, blocks: int, cut: BlockCut, **more: LabelsLike
    ) -> Uncertainty:
        """Return a fit of a copy with error bars, from the rows or pairs in blocks."""
        check_blocks(blocks)
        model: Self = clone(self)
        model._check_parameters()
        rows: Any = model._rows(
            labelled_stream(data, y, model) if is_stream(data) else data, y, reset=True, **more
        )
        fit = Fit(model, rows)
        model._fit_maps(fit)
        begin = partial(learners_of, model, call="uncertainty")
        n_rows = rows.source.n_rows if is_stream(rows.source) else rows.n_rows
        (fitted,), parts = fit_blocks([model], fit, lambda n: (begin(n),), blocks, n_rows, cut)
        fitted._report()
        return jackknife(fitted, parts)

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
        if getattr(self._kernel, "gamma_", 0.0):
            return float(np.sqrt(2.0))
        terms: Any = learner.terms
        longest = getattr(terms, "longest", None)
        diameter = learner.watcher(RadiusBound).diameter if longest is None else longest
        scale = None if self._answer is None else self._answer.scale
        return float(diameter if scale is None else diameter / scale.min())

    def _projected(self, rows: Matrix, mean: Float64s, columns: Float64s) -> Matrix:
        features = super()._projected(rows, mean, columns)
        return unit_rows(features) if self._cosine else features

    @property
    def _cosine(self) -> bool:
        return self.result_.normalize

    def _features_of(self, rows: Matrix) -> Float64s:
        """Return the features of learned rows, after the feature map, in float64."""
        result = self.result_
        features = projected(rows.astype(np.float64, copy=False), result.mean, result.columns)
        return np.asarray(unit_rows(features) if result.normalize else features)

    @reads
    def _training(self) -> TrainingPairs | TrainingRows:
        if self._trained is not None:
            return self._trained
        if "pairs" not in self._read:
            self._read["pairs"] = self._projected_sample(self._known().ahead(), self._features_of)
        return cast(TrainingPairs | TrainingRows, self._read["pairs"])

    def _unit(self) -> float:
        return self._diameter(self._known().ahead())

    def _risk_bound(self, margin: float, delta: float, diameter: float | None) -> RiskBound:
        if self.result_.eta is None:
            raise ValueError(
                "The bound holds only for orthogonal projections, not for criterion='ratio'. Use "
                "criterion='difference' or PairMetric."
            )
        return self._subspace_bound(margin, delta, diameter or self._unit())


def _weights_at(eta: float, totals: Weights) -> Weights:
    """Return the weights of the mean negative and the mean positive pair ([HPCA] section 6)."""
    return 0.5 * eta * (totals[0] > 0.0), 0.5 * (totals[1] > 0.0)


def continues(estimator: SubspaceEstimator) -> None:
    """Raise AttributeError for a solver that needs all rows at once."""
    if estimator.solver == "kernel" or isinstance(estimator.solver, Kernel):
        raise AttributeError("solver='kernel' needs all rows at once. Use fit, or solver='dense'.")
