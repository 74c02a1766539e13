"""Hyperbolic PCA from labelled rows: all the pairs that the labels imply, in linear time."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from eigenstream._linalg import Float64s
from eigenstream.contrast import Contrast
from eigenstream.estimators import _input, _mapping, _pair_risk
from eigenstream.estimators._class_folds import (
    codes_of,
    diameter_of,
    operator_folds,
    plain,
    scatter_folds,
    spread,
    without_of_rows,
)
from eigenstream.estimators._label_input import check_classes, checked, checked_labels
from eigenstream.estimators._pair_solve import Fold, Matrices
from eigenstream.estimators._pairwise import SEARCH_ROWS, PairwiseEstimator, Problem
from eigenstream.estimators._samples import ClassSample
from eigenstream.scatters import ClassScatter
from eigenstream.scatters.classes import keys_of
from eigenstream.scatters.laplacians import ClassLaplacian
from eigenstream.solvers import dual
from eigenstream.solvers.base import MEMORY_SHARE, physical_memory
from eigenstream.theory.bounds import RiskBound


class ClassSubspace(PairwiseEstimator):
    """The subspace that tells classes apart by distance, those of the data and fresh ones.

    Maurer's hyperbolic PCA [HPCA] (not PCA in hyperbolic space) on all pairs of rows: it maximises
    the mean of ``eta |P(x - x')|^2`` over pairs of different classes minus that of
    ``|P(x - x')|^2`` over pairs of the same class, the top eigenspace of an indefinite matrix T.
    What it learns from some classes serves others of the same kind: letters for digits, some
    people's faces for other people's.

    Parameters
    ----------
    n_components : int or None, default=10
        At most so many; only directions with a positive eigenvalue are ever returned (with a
        warning when they are fewer), and None takes all of these. With eta small there are at most
        K - 1 of them for K classes.
    eta : float, "auto", "margin_risk" or list of floats, default="auto"
        The weight of different pairs, that of same ones being 1 (both positive numbers; the signs
        are understood). "auto" holds out classes and takes the weight with the least
        one-example-per-class error on those, out of 12 from 10 to 0.003; a list names other ones.
        All weights and folds share one set of scatters, or one factor of the Gram matrix (its
        first 1000 columns). With fewer than four classes the training classes judge themselves.
        "margin_risk" is the paper's rule: least training margin risk at 0.01.
    margin : (c, gamma), optional
        Weights from a threshold and a margin, min(1/(1-c^2), 1/gamma) and min(1/c^2, 1/gamma).
    balanced : bool, default=True
        Either kind of pair has the total weight 1/2; else each pair counts the same.
    criterion : {"difference", "ratio"}, default="difference"
        "ratio" maximises the quotient of the two scatters instead, as linear discriminants do; its
        components are scaled to a mean square of 1 over same pairs. Then eta plays no part.
    shrinkage : float in (0, 1], optional
        For "ratio": how much of the same pairs' scatter is replaced by a multiple of the identity.
        By default directions in which it vanishes up to rounding are cut.
    kernel : {"linear", "rbf", "precomputed"}, default="linear"
        "rbf" solves in the kernel's own space exactly, for up to about 10^4 rows: the kernel is
        exp(-gamma |x - y|^2). For more rows use ``features=RBFNetwork(...)``.
    gamma : float, optional
        By default 0.7 over the median squared distance of the rows.
    features : transformer, optional
        A map to apply first, such as RBFNetwork.
    solver : {"auto", "dense", "krylov", "dual"}, default="auto"
        "krylov" never forms a D x D matrix; "dual" solves by the Gram matrix, as kernels do.
    missing : {"raise", "skip"}, default="raise"

    Attributes
    ----------
    components_, eigenvalues_, mean_, n_samples_seen_, objective_, rank_, solver_
        ``eigenvalues_`` are those of T with the shares of pairs as further weights: of
        eta/2 A - 1/2 B when balanced.
    eta_, eta_choice_, n_positive_, gamma_, dual_coef_
    threshold_, risk_, risk_curve_, margin_risk_, diameter_
        From all pairs of the training rows, or of about 4000 of them in any order.
    contrast_ : Contrast
        The two scatters, mergeable: one D x D matrix a class where memory allows; beyond, ``fit``
        keeps two in all, and ``partial_fit`` and ``merge`` say so.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import ClassSubspace
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(np.arange(8), 20)
    >>> X = rng.standard_normal((160, 5)) * [0.1, 0.1, 3.0, 3.0, 3.0]
    >>> X[:, :2] += rng.standard_normal((8, 2))[y]  # what tells the classes apart
    >>> learned = ClassSubspace(n_components=2).fit(X, y)
    >>> float((learned.components_[:, :2] ** 2).sum()) > 1.99
    True
    >>> learned.risk_ < 0.1
    True
    """

    def __init__(
        self,
        n_components: Any = 10,
        *,
        eta: Any = "auto",
        margin: Any = None,
        balanced: bool = True,
        criterion: str = "difference",
        shrinkage: float | None = None,
        kernel: str = "linear",
        gamma: float | None = None,
        features: Any = None,
        solver: str = "auto",
        missing: _input.Missing = "raise",
    ) -> None:
        self.n_components = n_components
        self.eta = eta
        self.margin = margin
        self.balanced = balanced
        self.criterion = criterion
        self.shrinkage = shrinkage
        self.kernel = kernel
        self.gamma = gamma
        self.features = features
        self.solver = solver
        self.missing = missing

    # ---- learning --------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from all pairs of rows, forgetting what was learned before.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), or a Gram matrix with kernel="precomputed"
        y : array-like of shape (n,)
            Class labels, at least two different ones.
        sample_weight : array-like of shape (n,), optional
            Non-negative; they count as repetitions.
        groups : array-like of shape (n,), optional
            The learning task of each row. Pairs are formed inside tasks only; equal labels in
            different tasks are different classes.
        """
        with self._unchanged_on_error():
            self._check_parameters()
            rows, labels, groups, weights = checked(self, X, y, sample_weight, groups, reset=True)
            self._check_dense_rows(rows)
            self._forget_counts()
            for name in ("contrast_", "_sample", "_trained"):
                self.__dict__.pop(name, None)
            check_classes(labels, groups, weights)
            if self.features is not None:
                self.features_ = _mapping.fitted(self.features, [_input.Sequence(rows, weights)])
            width = int(_mapping.mapped(self._map, rows[:1]).shape[1])
            solver = self._chosen_solver(width)
            self.solver_ = solver
            if solver == "dense":
                if self.kernel == "linear":
                    self._check_width(width)
                solution = self._fit_scatters(rows, labels, groups, weights, width)
            else:
                solution = self._fit_operator(rows, labels, groups, weights, solver)
            self._solution = solution
        return self

    @available_if(lambda self: self._check_incremental())
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Go on learning with more labelled rows; their classes may be new.

        Any chunking, in any order, gives the result of one pass.
        """
        with self._unchanged_on_error():
            self._check_parameters()
            first = not hasattr(self, "n_features_in_")
            if hasattr(self, "_solution") and not hasattr(self, "contrast_"):
                raise ValueError(
                    f"this estimator was fitted by solver_={self.solver_!r}, which keeps no "
                    "scatters to go on from. Fit with solver='dense' first."
                )
            rows, labels, groups, weights = checked(self, X, y, sample_weight, groups, reset=first)
            taken = self._collect_features(rows)
            if taken == rows.shape[0]:
                return self
            kept = slice(taken, None)
            mapped = _mapping.mapped(self._map, rows[kept])
            if not hasattr(self, "contrast_"):
                self._check_width(mapped.shape[1])
                self._begin(mapped.shape[1])
                self.solver_ = "dense"
            self._learn(
                mapped,
                labels[kept],
                None if groups is None else groups[kept],
                None if weights is None else weights[kept],
            )
            self.__dict__.pop("_solution", None)
            self._forget_counts()
        return self

    def merge(self, other: Self) -> Self:
        """Return an estimator that has learned from the rows of both, pairs across them included.

        Exact: the same as one pass over both. Neither estimator is changed.
        """
        _mapping.check_mergeable(self, other)
        merged = type(self)(**self.get_params(deep=False))
        merged.__dict__.update(self.__dict__)
        merged.__dict__.pop("_solution", None)
        merged._forget_counts()
        reward = self.contrast_.reward.merge(other.contrast_.reward)
        merged.contrast_ = Contrast(reward, reward.other_kind())  # type: ignore[attr-defined]
        merged._sample = self._sample.merged(other._sample)
        return merged

    def _begin(self, width: int) -> None:
        reward = ClassScatter(width, same=False)
        self.contrast_ = Contrast(reward, reward.other_kind())
        self._sample = ClassSample(width)

    def _learn(self, rows: Any, labels: Any, groups: Any, weights: Any) -> None:
        self.contrast_.reward.update(rows, labels, groups=groups, sample_weight=weights)
        self._sample.add(rows, labels, groups, weights)

    def _fit_scatters(self, rows: Any, labels: Any, groups: Any, weights: Any, width: int) -> Any:
        n_classes = len(keys_of(labels, groups)[0])
        self._begin(width)
        if 8.0 * n_classes * width**2 > MEMORY_SHARE * physical_memory():
            mapped = _mapping.mapped(self._map, rows)
            without = without_of_rows(mapped, labels, groups, weights)
            reward = without(frozenset())
            self.contrast_ = Contrast(reward, reward.other_kind())
            self._sample.add(mapped, labels, groups, weights)
            keys = dict.fromkeys(keys_of(labels, groups)[0])
            problem = self._scatter_problem(self.contrast_, keys, without)
            return self._solved_problem(problem, reward.mean, reward.n_rows)
        # Behind a map, chunk by chunk: what it makes of all the rows may not fit.
        step = rows.shape[0]
        if self.features is not None:
            step = _input.chunk_rows(max(rows.shape[1], width))
        for start in range(0, rows.shape[0], step):
            part = slice(start, start + step)
            self._learn(
                _mapping.mapped(self._map, rows[part]),
                labels[part],
                None if groups is None else groups[part],
                None if weights is None else weights[part],
            )
        return self._solve_dense(self.contrast_)

    def _fit_operator(self, rows: Any, labels: Any, groups: Any, weights: Any, solver: str) -> Any:
        """Learn from rows as points of a graph: matrix-free, or in a kernel's space."""
        if weights is not None and not (weights > 0).all():
            kept = np.flatnonzero(weights > 0)
            if self.kernel == "precomputed":
                raise ValueError(
                    f"row {np.flatnonzero(weights == 0)[0]} weighs nothing (or holds NaN, with "
                    "missing='skip'): leave it out of the Gram matrix, rows and columns."
                )
            rows, labels, weights = rows[kept], labels[kept], weights[kept]
            groups = None if groups is None else groups[kept]
        points = _mapping.mapped(self._map, rows)
        laplacian = ClassLaplacian.of(labels, groups, weights)
        keys, codes = keys_of(labels, groups)
        tasks = codes_of(key[0] for key in (keys[c] for c in codes))
        mean = np.zeros(rows.shape[1])
        diameter = float(np.sqrt(2.0))
        if solver == "krylov":
            mean = np.asarray(np.average(plain(points), axis=0, weights=weights)).ravel()
            self._check_width(points.shape[1])
            operator = dual.PairOperator(points, laplacian)
            training: Any = points
            self._sample = ClassSample(points.shape[1])
            self._sample.add(points, labels, groups, weights)
            diameter = diameter_of(self._sample.read()[0], mean)
        else:
            if self.kernel == "linear":
                points = np.asarray(plain(points), np.float64)
                mean = np.average(points, axis=0, weights=weights)
                points = points - mean
                diameter = diameter_of(points, 0.0)
                self._sample = ClassSample(points.shape[1])
                self._sample.add(points + mean, labels, groups, weights)
            factor = self._factor(points)
            if self.kernel == "precomputed":
                diameter = 2.0 * float(np.sqrt(max(np.diagonal(rows).max(), 0.0)))
            operator = dual.PairOperator(factor, laplacian)
            training = None

        def folds() -> Sequence[Fold]:
            if training is not None:
                return operator_folds(training, keys, codes, weights)
            some = spread(codes, SEARCH_ROWS)
            search = self._coordinates(points, factor, some)
            return operator_folds(
                search, keys, codes[some], None if weights is None else weights[some]
            )

        def counts(vectors: Float64s) -> _pair_risk.PairCounts:
            if training is not None:
                Z = np.asarray(training @ vectors)
            else:
                Z = np.column_stack([factor.times(np.ascontiguousarray(v)) for v in vectors.T])
            return _pair_risk.counts_of_classes(Z, codes, tasks)

        problem = Problem(
            operator=operator,
            n_different=laplacian.n_different,
            n_same=laplacian.n_same,
            rounding=operator.n_features * float(np.finfo(np.float64).eps),
            always_dense=False,
            folds=folds,
            counts=counts,
            diameter=diameter,
        )
        solution = self._solved_problem(problem, mean, len(labels))
        if solver == "dual":
            self._trained = codes, tasks
            solution = self._with_kernel(solution, factor, operator, points, weights)
        return solution

    # ---- solving from scatters -------------------------------------------------------------

    def _problem(self, contrast: Contrast) -> Problem:
        reward = contrast.reward
        assert isinstance(reward, ClassScatter)
        return self._scatter_problem(contrast, reward.classes, reward.without)

    def _scatter_problem(self, contrast: Contrast, classes: Any, without: Any) -> Problem:
        assert isinstance(contrast.reward, ClassScatter)
        assert contrast.penalty is not None
        rows, of_rows = self._sample.read()

        codes, tasks = codes_of(of_rows), codes_of(key[0] for key in of_rows)
        return Problem(
            operator=Matrices(contrast.reward.matrix(), contrast.penalty.matrix()),
            n_different=contrast.reward.weight,
            n_same=contrast.penalty.weight,
            rounding=contrast.rounding,
            always_dense=True,
            folds=lambda: scatter_folds(contrast.reward, list(classes), without, rows, of_rows),
            counts=lambda v: _pair_risk.counts_of_classes(rows @ v, codes, tasks),
            diameter=diameter_of(rows, contrast.reward.mean),
        )

    def _training(self) -> tuple[Float64s, Any, Any]:
        """Return the features, classes and tasks of the training rows that are kept."""
        if self.kernel != "linear":
            return self._solved().details["features"], *self._trained
        rows, keys = self._sample.read()
        return rows @ self.components_.T, codes_of(keys), codes_of(key[0] for key in keys)

    def _training_counts(self) -> _pair_risk.PairCounts:
        return _pair_risk.counts_of_classes(*self._training())

    def _risk_bound(self, margin: float, delta: float) -> RiskBound:
        Z, _, tasks = self._training()
        return _pair_risk.bound_from_rows(Z, tasks, self._counts(), margin, delta, self.diameter_)

    def _unready(self, contrast: Contrast) -> str:
        return (
            f"has seen {contrast.n_rows} row(s) and no two of different classes in one task: call "
            "partial_fit with more."
        )

    # ---- use -------------------------------------------------------------------------------

    def score(self, X: Any, y: Any) -> float:
        """Return the ROC area of the distance as a detector of class equality.

        Over all pairs of rows that the labels imply; or over given pairs, X of shape (n, 2, D) and
        y of +1 and -1.
        """
        check_is_fitted(self)
        if np.ndim(X) == 3:
            return self._pair_score(X, y)
        labels = checked_labels(self, y)
        Z = np.asarray(self.transform(X), np.float64)
        if labels.shape != (len(Z),):
            raise ValueError(f"y must hold one label a row, {len(Z)} in all; got {labels.shape}.")
        counts = _pair_risk.counts_of_classes(
            Z, codes_of(labels.tolist()), np.zeros(len(Z), np.intp)
        )
        if counts.same[-1] == 0 or counts.different[-1] == 0:
            kind = "the same class" if counts.same[-1] == 0 else "different classes"
            raise ValueError(f"y implies no pair of {kind}, so there is no ROC area.")
        return _pair_risk.roc_area(counts)

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
