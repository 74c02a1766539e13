"""Hyperbolic PCA from labelled rows: all the pairs that the labels imply, in linear time."""

from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from eigenstream._linalg import Float64s
from eigenstream._memory import physical_memory
from eigenstream._refusals import unchanged_on_error
from eigenstream.contrast import Contrast
from eigenstream.estimators import _gram, _input, _mapping
from eigenstream.estimators._class_folds import (
    ScaledScatter,
    codes_of,
    scaled_without,
    scatter_folds,
    without_of_rows,
)
from eigenstream.estimators._class_parameters import LabelParameters
from eigenstream.estimators._class_risk import projected_rows
from eigenstream.estimators._label_input import (
    check_classes,
    checked,
    checked_labels,
    same_kinds,
    taken,
)
from eigenstream.estimators._pair_flow import LabelFlow
from eigenstream.estimators._pair_solve import FOLDS, Matrices, groupings_of
from eigenstream.estimators._pairwise import Problem
from eigenstream.estimators._samples import ClassSample
from eigenstream.evaluation.base import PairCounts, counts_of_classes, roc_area
from eigenstream.scatters import ClassScatter
from eigenstream.scatters.classes import keys_of, state_bytes
from eigenstream.scatters.radius_bound import RadiusBound
from eigenstream.solvers.base import MEMORY_SHARE


class ClassSubspace(LabelParameters):
    """The subspace that tells classes apart by distance, those of the data and fresh ones.

    Maurer's hyperbolic PCA [HPCA] (not PCA in hyperbolic space) on all pairs of rows: it maximises
    the mean of ``eta |P(x - x')|^2`` over pairs of different classes minus that of
    ``|P(x - x')|^2`` over pairs of the same class, the top eigenspace of an indefinite matrix T.
    What it learns from some classes serves others of the same kind: letters for digits, some
    people's faces for other people's.

    Parameters
    ----------
    n_components : int or None, default=2
        At most so many (1 where there is one feature only); only directions with a positive
        eigenvalue are ever returned (with a warning when they are fewer), and None takes all of
        these. With eta small there are at most K - 1 of them for K classes.
    eta : float, "auto", "margin_risk" or list of floats, default="auto"
        The weight of different pairs, that of same ones being 1 (both positive numbers; the signs
        are understood). "auto" holds out classes and takes the weight with the least
        one-example-per-class error on those, out of 12 from 10 to 0.003; a list names other ones.
        Where the folds leave weights more than a step apart in question, other folds follow.
        All weights and folds share one set of scatters, or one factor of a Gram matrix (of 1200
        rows at most). With fewer than four classes the training classes judge themselves.
        "margin_risk" is the paper's rule: least training margin risk at 0.01.
    margin : (c, gamma), optional
        Weights from a threshold and a margin, min(1/(1-c^2), 1/gamma) and min(1/c^2, 1/gamma); c is
        in units of ``diameter_``, and gamma in those of its square.
    balanced : bool, default=True
        Either kind of pair has the total weight 1/2; else each pair counts the same.
    criterion : {"difference", "ratio"}, default="difference"
        "ratio" maximises the quotient of the two scatters instead, as linear discriminants do; its
        components are scaled to a mean square of 1 over same pairs. Then eta plays no part.
    group_weights : {"uniform", "pairs"}, default="uniform"
        With ``groups``: every learning task weighs the same, however many pairs it has, in what is
        learned and in ``risk_``; [HPCA] draws a task uniformly and then two rows of it, and so does
        ``sample_pairs``. Or all pairs weigh the same.
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
    diameter : float, optional
        What no two rows can be farther apart than: the unit of margins and of ``bound``. By default
        a bound for the rows learned from.
    scale : bool, default=False
        Divide each feature by its standard deviation over the rows (``scale_``, divided by n - 1;
        inside tasks, where there are ``groups``). Exact from the scatters of solver="dense"; other
        solvers and kernels keep none and refuse it.
    solver : {"auto", "dense", "krylov", "dual", "flow"}, default="auto"
        "krylov" never forms a D x D matrix; "dual" solves by the Gram matrix, as kernels do.
        "flow" learns online from pairs drawn out of the stream of rows (see LabelledPairs): in the
        memory of some thousand rows, balanced, and with a given weight. ``fit`` takes the rows in
        random order; ``partial_fit`` as they come, which should not be sorted by class.
    schedule, init, forgetting, random_state
        For "flow", as in StreamPCA.
    missing : {"raise", "skip"}, default="raise"

    Attributes
    ----------
    components_, eigenvalues_, mean_, scale_, n_samples_seen_, objective_, rank_, solver_
        ``eigenvalues_`` are those of T with the shares of pairs as further weights: of
        eta/2 A - 1/2 B when balanced.
    eta_, eta_choice_, n_positive_, gamma_, dual_coef_
    threshold_, risk_, risk_curve_, margin_risk_, margin_risk_error_, diameter_
        From all pairs of the training rows after ``fit`` of up to 10^4 of them; of more, and after
        ``partial_fit`` and ``merge``, from all pairs of up to 4096 different rows, drawn alike
        whatever their class, the same ones in any order.
    risk_standard_error_
        That of ``risk_`` for not being of all pairs; 0 where it is.
    contrast_ : Contrast
        The two scatters, mergeable: one D x D matrix a class, or its rows while these take less,
        where memory allows; beyond, ``fit`` keeps two matrices in all, and ``partial_fit`` and
        ``merge`` say so.

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
        n_components: Any = 2,
        *,
        eta: Any = "auto",
        margin: Any = None,
        balanced: bool = True,
        criterion: str = "difference",
        group_weights: str = "uniform",
        shrinkage: float | None = None,
        kernel: str = "linear",
        gamma: float | None = None,
        features: Any = None,
        diameter: float | None = None,
        scale: bool = False,
        solver: str = "auto",
        schedule: Any = "auto",
        init: Any = "data",
        forgetting: float | None = None,
        missing: _input.Missing = "raise",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.eta = eta
        self.margin = margin
        self.balanced = balanced
        self.criterion = criterion
        self.group_weights = group_weights
        self.shrinkage = shrinkage
        self.kernel = kernel
        self.gamma = gamma
        self.features = features
        self.diameter = diameter
        self.scale = scale
        self.solver = solver
        self.schedule = schedule
        self.init = init
        self.forgetting = forgetting
        self.missing = missing
        self.random_state = random_state

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
        with unchanged_on_error(self):
            self._check_parameters()
            self._check_weighable(sample_weight)
            self._check_groups(groups)
            self._note_parameters()
            rows, labels, groups, weights = checked(self, X, y, sample_weight, groups, reset=True)
            self._check_dense_rows(rows)
            self._forget_counts()
            for name in ("contrast_", "_sample", "_radius", "_flow", "_solution"):
                self.__dict__.pop(name, None)
            check_classes(labels, groups, weights)
            if self.features is not None:
                # Rows that weigh nothing, as those left out do, stand as zeros: no prototypes.
                weighing = rows if weights is None else rows[weights > 0]
                self.features_ = _mapping.fitted(self.features, [_input.Sequence(weighing, None)])
                _gram.check_map(self.features_)
            width = int(_mapping.mapped(self._map, rows[:1]).shape[1])
            self.solver_ = self._chosen_solver(width)
            if self.solver_ in ("dense", "flow"):
                self._check_width(width)
                self._solution = self._fit_stream(rows, labels, groups, weights, width)
            else:
                self._solution = self._fit_operator(rows, labels, groups, weights, self.solver_)
            self._keep_rows(rows, labels, groups, weights)
        return self

    @available_if(lambda self: self._check_incremental())
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Go on learning with more labelled rows; their classes may be new.

        Any chunking, in any order, gives the result of one pass; with "flow", any chunking.
        """
        with unchanged_on_error(self):
            self._check_parameters()
            self._check_weighable(sample_weight)
            self._check_groups(groups)
            first = not hasattr(self, "n_features_in_")
            self._check_continuation()
            rows, labels, groups, weights = checked(self, X, y, sample_weight, groups, reset=first)
            used = self._collect_features(rows)
            if used == rows.shape[0]:
                return self
            kept = slice(used, None)
            mapped = _mapping.mapped(self._map, rows[kept])
            if not hasattr(self, "_sample"):
                self._check_width(mapped.shape[1])
                self.solver_ = "flow" if self.solver == "flow" else "dense"
                self._begin(mapped.shape[1])
            self._learn(mapped, *taken(kept, labels, groups, weights))
            self._forget_weights()
            self.__dict__.pop("_solution", None)
            self._forget_counts()
        return self

    def merge(self, other: Self) -> Self:
        """Return an estimator that has learned from the rows of both, pairs across them included.

        Exact: the same as one pass over both. Neither estimator is changed.
        """
        _mapping.check_mergeable(self, other)
        kinds = same_kinds(self._kinds, other._kinds)
        merged = type(self)(**self.get_params(deep=False))
        merged.__dict__.update(self.__dict__)
        merged.__dict__.pop("_solution", None)
        merged._forget_counts()
        reward = self.contrast_.reward.merge(other.contrast_.reward)
        merged.contrast_ = Contrast(reward, reward.other_kind(), None)  # type: ignore[attr-defined]
        merged._sample = self._sample.merged(other._sample)
        merged._skipped = self._skipped.merged(other._skipped)
        merged._radius = self._radius.merge(other._radius)
        merged._kinds = kinds
        return merged

    def _begin(self, width: int) -> None:
        self._sample, self._radius = ClassSample(width), RadiusBound()
        if self.solver_ == "flow":
            seed = check_random_state(self.random_state).randint(2**31)
            self._flow = LabelFlow(width, self._new_flow(width), seed)
            return
        reward = ClassScatter(width, same=False, group_weights=self.group_weights)
        self.contrast_ = Contrast(reward, reward.other_kind(), None)

    def _learn(self, rows: Any, labels: Any, groups: Any, weights: Any) -> None:
        self._reach(rows, weights)
        if self._online:
            assert isinstance(self._flow, LabelFlow)
            if weights is not None:  # rows with missing values
                rows, labels, groups = taken(np.flatnonzero(weights), rows, labels, groups)
                weights = None
            self._flow.update(rows, labels, groups)
        else:
            assert isinstance(self.contrast_.reward, ClassScatter)
            self.contrast_.reward.add_checked(rows, labels, groups, weights)
        self._sample.add(rows, labels, groups, weights)

    def _fit_stream(self, rows: Any, labels: Any, groups: Any, weights: Any, width: int) -> Any:
        n_rows, sizes = rows.shape[0], np.bincount(keys_of(labels, groups)[1])
        self._begin(width)
        if not self._online and state_bytes(sizes, width) > MEMORY_SHARE * physical_memory():
            mapped = _mapping.mapped(self._map, rows)
            self._reach(mapped, weights)
            without = without_of_rows(mapped, labels, groups, weights, self.group_weights)
            reward = without(frozenset())
            self.contrast_ = Contrast(reward, reward.other_kind(), None)
            self._sample.add(mapped, labels, groups, weights)
            keys = dict.fromkeys(keys_of(labels, groups)[0])
            self.contrast_.scaled = self.scale
            problem = self._scatter_problem(self.contrast_, keys, without)
            found = self._solved_problem(problem, reward.mean, reward.n_rows)
            self.contrast_.weights = found.details["weights"]
            if self.scale:
                found.details["scale"] = self.contrast_.scale
            return found
        # Behind a map, chunk by chunk: what it makes of all the rows may not fit.
        step, order = n_rows, None
        if self._online or self.features is not None:
            step = _input.chunk_rows(max(rows.shape[1], width))
        if self._online:
            order = check_random_state(self.random_state).permutation(n_rows)
        for start in range(0, n_rows, step):
            part: Any = slice(start, start + step)
            some = taken(part if order is None else order[part], rows, labels, groups, weights)
            self._learn(_mapping.mapped(self._map, some[0]), *some[1:])
        return self._solve()

    # ---- solving from scatters -------------------------------------------------------------

    def _problem(self, contrast: Contrast) -> Problem:
        reward = contrast.reward
        assert isinstance(reward, ClassScatter)
        return self._scatter_problem(contrast, reward.classes, reward.without)

    def _scatter_problem(self, contrast: Contrast, classes: Any, without: Any) -> Problem:
        assert isinstance(contrast.reward, ClassScatter)
        assert contrast.penalty is not None
        rows, of_rows = self._sample.read()
        scale, whole = contrast.scale, ScaledScatter(contrast.reward, contrast.scale)
        if contrast.scaled:
            rows, without = rows / scale, scaled_without(without, scale)

        def counts(vectors: Float64s) -> PairCounts:
            columns = vectors / scale[:, None]
            return projected_rows(self._sample.drawn(), columns, self.group_weights).counts()

        return Problem(
            operator=Matrices(whole.matrix(), whole.other_kind().matrix()),
            n_different=contrast.reward.weight,
            n_same=contrast.penalty.weight,
            rounding=contrast.rounding,
            always_dense=True,
            groupings=[
                partial(scatter_folds, whole, without, rows, of_rows, place)
                for place in groupings_of(list(classes), FOLDS)
            ],
            counts=counts,
            # What no two scaled rows can be farther apart than: loose where units differ.
            diameter=self._data_diameter() / float(scale.min()),
            floor=max(contrast.floor((1.0, 0.0)), contrast.floor((0.0, 1.0))),
        )

    def _unready(self, contrast: Contrast) -> str:
        return self._waits_for()

    def _waits_for(self) -> str:
        seen = self._flow.seen if self._online else self.contrast_.n_rows
        return (
            f"has seen {seen} row(s) and no two of different classes in one task: call "
            "partial_fit with more."
        )

    # ---- use -------------------------------------------------------------------------------

    def score(self, X: Any, y: Any) -> float:
        """Return the ROC area of the distance as a detector of class equality.

        Over all pairs of rows; of given pairs, see ``pair_distance``.
        """
        check_is_fitted(self)
        labels = checked_labels(self, y)
        Z = np.asarray(self.transform(X), np.float64)
        if labels.shape != (len(Z),):
            raise ValueError(f"y must hold one label a row, {len(Z)} in all; got {labels.shape}.")
        counts = counts_of_classes(Z, codes_of(labels.tolist()), np.zeros(len(Z), np.intp))
        if counts.same[-1] == 0 or counts.different[-1] == 0:
            kind = "the same class" if counts.same[-1] == 0 else "different classes"
            raise ValueError(f"y implies no pair of {kind}, so there is no ROC area.")
        return roc_area(counts)

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
