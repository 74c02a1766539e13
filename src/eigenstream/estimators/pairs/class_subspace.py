"""Hyperbolic PCA from labelled rows: all the pairs that the labels imply, in linear time."""

from collections.abc import Iterable
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_choice, check_whole
from eigenstream._refusals import offered_if, unchanged_on_error
from eigenstream._streams import Course, check_labelled, fits_streams_by, learn_chunks
from eigenstream.estimators import _input, _mapping
from eigenstream.estimators._documented import documented
from eigenstream.estimators.pairs._bounds import bound_of_rows
from eigenstream.estimators.pairs._label_input import (
    Kinds,
    MappedRows,
    check_classes,
    checked,
    checked_labels,
    same_kinds,
)
from eigenstream.estimators.pairs._parameters import check_rows_apart, chosen_way
from eigenstream.estimators.pairs.base import PairwiseEstimator
from eigenstream.evaluation.base import PairCounts, counts_of_classes, roc_area
from eigenstream.learners import table
from eigenstream.learners.pairs import PairLearner, check_map, codes_of
from eigenstream.theory.bounds import RiskBound


@documented
class ClassSubspace(PairwiseEstimator):
    """The subspace that tells classes apart by distance, those of the data and fresh ones.

    Maurer's hyperbolic PCA [HPCA] (not PCA in hyperbolic space) on all pairs of rows: it maximises
    the mean of ``eta |P(x - x')|^2`` over pairs of different classes minus that of
    ``|P(x - x')|^2`` over pairs of the same class, the top eigenspace of an indefinite matrix T.
    What it learns from some classes serves others of the same kind: letters for digits, some
    people's faces for other people's.

    Parameters
    ----------
    <components_of_pairs>
    eta : float, "auto", "margin_risk" or list of floats, default="auto"
        The weight of different pairs, that of same ones being 1 (both positive numbers; the signs
        are understood). "auto" holds out classes, goes by the one-example-per-class
        error on those, and takes the middle of the weights that do about best, out of 12 from 10 to
        0.003; a list names other ones. Other folds follow until it stands still. Names of classes
        and the order of rows make no difference.
        All weights and folds share one set of scatters, or one factor of a Gram matrix (of 1200
        rows at most). With fewer than four classes the losses are those on the training classes.
        "margin_risk" is the paper's rule: least training margin risk at 0.01.
    <margin, balanced, criterion_of_pairs>
    group_weights : {"uniform", "pairs"}, default="uniform"
        With ``groups``: every learning task weighs the same, however many pairs it has, in what is
        learned and in ``risk_``; [HPCA] draws a task uniformly and then two rows of it, and so does
        ``sample_pairs``. Or all pairs weigh the same.
    <shrinkage, kernel, features, diameter>
    scale : bool, default=False
        Divide each feature by its standard deviation over the rows (``scale_``, divided by n - 1;
        inside tasks, where there are ``groups``). Exact from the scatters of solver="dense"; other
        solvers and kernels keep none and refuse it.
    solver : {"auto", "dense", "krylov", "dual", "flow", "sketch"}, default="auto"
        "dense" solves from the scatters of the classes; "krylov" never forms a D x D matrix; "dual"
        solves by the Gram matrix, as kernels do. "auto" takes "dual" for a kernel, else "dense"
        where its matrices fit in memory, and "krylov".
        "flow" learns online from pairs drawn out of the stream of rows (see LabelledPairs), and
        "sketch" in one pass without a step size: in the memory of some thousand rows, balanced, and
        with a given weight. ``fit`` takes the rows in
        random order; ``partial_fit`` as they come, which should not be sorted by class.
    <schedule, init, forgetting, block_size, oversampling, missing, random_state>

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

    DATA = "labels"
    FIXED = ("features", "group_weights", "kernel")

    #: Of what kind the names of classes and tasks have been so far.
    _kinds: Kinds = MappingProxyType({})

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
        block_size: int | None = None,
        oversampling: float | None = None,
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
        self.block_size = block_size
        self.oversampling = oversampling
        self.missing = missing
        self.random_state = random_state

    # ---- learning --------------------------------------------------------------------------

    @fits_streams_by("_fit_stream")
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        passes: int = 1,
        *,
        checkpoint: Any = None,
        every: int | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from all pairs of rows, forgetting what was learned before.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), or a stream
            A Gram matrix with kernel="precomputed". A stream is learned in one pass, as by
            ``partial_fit``, by solvers that go on chunk by chunk.
        y : array-like of shape (n,)
            Class labels, at least two different ones. A stream may have them in a column.
        sample_weight : array-like of shape (n,), optional
            Non-negative; they count as repetitions.
        groups : array-like of shape (n,), optional
            The learning task of each row. Pairs are formed inside tasks only; equal labels in
            different tasks are different classes.
        passes : int, default=1
            How many times the rows are learned from, for solver="sketch": each pass adds other
            pairs of them, and comes nearer to the best answer.
        <checkpoint, every, resume>
        """
        with unchanged_on_error(self):
            self._check_parameters()
            passes = check_whole(passes, "passes")
            self._check_weighable(sample_weight)
            self._check_groups(groups, self.solver)
            given = checked(self, X, y, sample_weight, groups, reset=True)
            self._check_dense_rows(given.rows)
            check_classes(given)
            if self.kernel == "precomputed" and len(given.weighing) < len(given):
                raise ValueError(
                    f"row {np.flatnonzero(given.weights == 0)[0]} weighs nothing (or holds NaN, "
                    "with missing='skip'): leave it out of the Gram matrix, rows and columns."
                )
            self._map = None
            if self.features is not None:
                # Rows that weigh nothing, as those left out do, stand as zeros: no prototypes.
                rows = _input.Sequence(given.weighing.rows, None)
                self._map = _mapping.fitted(self.features, [rows])
                check_map(self._map)
            source = MappedRows(given, self._map, self.random_state, passes)
            self._learn_all(source, source.width)
        return self

    def _fit_stream(self, course: Course) -> None:
        """Learn in one pass where the solver goes on; else from all rows, read into memory."""
        stream, learner = course.stream, course.learned
        check_labelled(stream, self)
        learner._check_parameters()
        solver = chosen_way(self)
        if course.kept:
            table.require(self.DATA, solver, "goes_on", "checkpoint=")
        if not table.WAYS[self.DATA][solver].abilities.goes_on:
            learner.fit(*course.all_rows("fit of ClassSubspace"))
            return
        if self.features is not None and not course.goes_on:
            learner._map = _mapping.fitted_to(self.features, stream)
            check_map(learner._map)
            course.before()
        learn_chunks(course)
        if (n_rows := learner._knowledge().n_rows) and learner._knowledge().n_terms == 0:
            raise ValueError(
                f"the labels of {stream!r} name one class only, so that no pair is of different "
                f"classes; give rows of at least two (n_samples={n_rows})."
            )

    @offered_if(lambda self: self._check_incremental())
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Go on learning with more labelled rows; their classes may be new.

        Any chunking, in any order, gives the result of one pass; with "flow", any chunking.
        """
        with unchanged_on_error(self):
            self._check_parameters()
            self._check_weighable(sample_weight)
            self._check_groups(groups, self.solver)
            first = self._check_continuation()
            given = checked(self, X, y, sample_weight, groups, reset=first)
            taken = self._collect_features(given.rows, given.weights)
            given = given.chosen(slice(taken, None))
            if len(given):
                source = MappedRows(given, self._map, self.random_state)
                self._learn_more(source, source.width)
        return self

    def merge(self, other: Self) -> Self:
        """Return an estimator that has learned from the rows of both; neither is changed.

        Exact from scatters, pairs across the two included: the same as one pass over both. With
        solver="sketch" each has its own pairs only, and what either has cut off is lost.
        """
        kinds = same_kinds(self._kinds, other._kinds) if isinstance(other, type(self)) else {}
        merged = self._merged(other)
        merged._kinds = kinds
        return merged

    # ---- results ---------------------------------------------------------------------------

    def _training_counts(self) -> PairCounts:
        counts: PairCounts = self._training().counts()
        return counts

    def _risk_bound(self, margin: float, delta: float) -> RiskBound:
        if self.scale_ is not None:
            raise ValueError(
                "the theory bounds projections of the data, and scale=True divides by what the "
                "data say first: fit with scale=False, on data scaled by constants."
            )
        return bound_of_rows(self._training(), margin, delta, self.diameter_)

    # ---- checks ----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_choice(self.group_weights, "group_weights", ("uniform", "pairs"))
        super()._check_parameters()
        if self.scale and self.kernel != "linear":
            raise ValueError(
                f"scale=True divides features, and kernel={self.kernel!r} is solved without any: "
                "scale the rows first, or use kernel='linear'."
            )
        if self.scale and self.diameter is not None:
            raise ValueError(
                "diameter is in the units of the rows, and scale=True divides by what these say: "
                "leave it out, or scale the rows by constants first."
            )

    def _check_groups(self, groups: Any, solver: str) -> None:
        if groups is not None and self.group_weights == "uniform":
            what = "group_weights='uniform', with groups,"
            self._check_shares(solver, what, "Set group_weights='pairs'")

    def _check_given(self, given: Any) -> None:
        super()._check_given(given)
        self._check_groups(given.groups, self.solver_)

    def _check_apart(self, parts: Iterable[Any], learner: PairLearner) -> None:
        if self.diameter is None:
            return
        first = learner.first_row
        for some in parts:
            first = check_rows_apart(self.diameter, some, first)

    def _unready(self) -> str:
        return (
            f"has seen {self._knowledge().n_rows} row(s) and no two of different classes in one "
            "task: call partial_fit with more."
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
