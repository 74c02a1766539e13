"""Hyperbolic PCA from pairs that are known to be of the same or of different classes."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from eigenstream._checks import check_whole
from eigenstream._refusals import offered_if, unchanged_on_error
from eigenstream._streams import Course, check_labelled, fits_streams_by
from eigenstream.estimators import _input, _mapping
from eigenstream.estimators._documented import documented
from eigenstream.estimators._missing import note_skipped
from eigenstream.estimators.pairs import _pair_input
from eigenstream.estimators.pairs._bounds import bound_of_pairs
from eigenstream.estimators.pairs._decisions import FitsPairs
from eigenstream.estimators.pairs._pair_input import MappedPairs, check_signs, checked_points
from eigenstream.estimators.pairs._parameters import check_pairs_apart, chosen_way
from eigenstream.estimators.pairs.base import PairwiseEstimator
from eigenstream.evaluation.base import PairCounts
from eigenstream.learners import table
from eigenstream.learners.pairs import PairLearner, Pairs, check_map
from eigenstream.theory.bounds import RiskBound


@documented
class PairSubspace(FitsPairs, PairwiseEstimator):
    """The subspace that brings like pairs together and keeps unlike ones apart.

    Maurer's hyperbolic PCA [HPCA] (not PCA in hyperbolic space): it maximises the mean of
    ``eta |P(x - x')|^2`` over negative pairs minus that of ``|P(x - x')|^2`` over positive pairs,
    the top eigenspace of an indefinite matrix T. With negative pairs only it is PCA of differences.

    Parameters
    ----------
    <components_of_pairs>
    eta : float, "auto", "margin_risk" or list of floats, default="auto"
        The weight of negative pairs, that of positive ones being 1. "auto" goes by the balanced
        risk on held-out pairs, and takes the middle of the weights that do about best, out of 12
        from 10 to 0.003; a list names other ones. Which pairs are held out together is the same
        however they are read.
    <margin, balanced, criterion_of_pairs, shrinkage, kernel, features>
    preprocessor : array of shape (n, D), optional
        The rows that index pairs refer to; with kernel="precomputed", the Gram matrix.
    <diameter>
    solver : {"auto", "dense", "krylov", "dual", "flow", "sketch"}, default="auto"
        "dense" solves from the scatters of the pairs; "krylov" never forms a D x D matrix; "dual"
        solves by the Gram matrix, as kernels do. "auto" takes "dual" for a kernel, else "dense"
        where its matrices fit in memory, and "krylov". "flow" learns online, a step for each couple
        of a negative and a positive pair, and "sketch" in one pass without a step size: without any
        D x D matrix, balanced, and with a given weight.
    <schedule, init, forgetting, block_size, oversampling, missing, random_state>

    Attributes
    ----------
    components_, eigenvalues_, mean_, n_samples_seen_, objective_, rank_, solver_
        ``mean_`` is zero: distances do not depend on it. ``n_samples_seen_`` counts pairs.
    eta_, eta_choice_, n_positive_, gamma_, dual_coef_
    threshold_, risk_, risk_curve_, margin_risk_, margin_risk_error_, diameter_
        From all training pairs after ``fit``, a pair that came k times or with the weight k
        counting k times. After ``partial_fit`` and ``merge`` from up to 8192 different pairs of
        either sign, the same ones in any order.
    risk_standard_error_
        That of ``risk_`` for not being of all pairs; 0 where it is.
    contrast_ : Contrast
        The two scatters, mergeable.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import PairSubspace, sample_pairs
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(np.arange(8), 20)
    >>> X = rng.standard_normal((160, 5)) * [0.1, 0.1, 3.0, 3.0, 3.0]
    >>> X[:, :2] += rng.standard_normal((8, 2))[labels]  # what tells the classes apart
    >>> pairs, y = sample_pairs(labels, 1000, random_state=0)
    >>> learned = PairSubspace(n_components=2, preprocessor=X).fit(pairs, y)
    >>> float((learned.components_[:, :2] ** 2).sum()) > 1.99
    True
    >>> learned.score(X[pairs], y) > 0.95
    True
    """

    DATA = "pairs"

    def __init__(
        self,
        n_components: Any = 2,
        *,
        eta: Any = "auto",
        margin: Any = None,
        balanced: bool = True,
        criterion: str = "difference",
        shrinkage: float | None = None,
        kernel: str = "linear",
        gamma: float | None = None,
        features: Any = None,
        preprocessor: Any = None,
        diameter: float | None = None,
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
        self.shrinkage = shrinkage
        self.kernel = kernel
        self.gamma = gamma
        self.features = features
        self.preprocessor = preprocessor
        self.diameter = diameter
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
        pairs: Any,
        y: Any,
        sample_weight: Any = None,
        passes: int = 1,
        *,
        checkpoint: Any = None,
        every: int | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from pairs, forgetting what was learned before.

        Parameters
        ----------
        pairs : array of shape (n, 2, D), or index pairs (n, 2) with a ``preprocessor``
            Or a stream: two rows side by side, or two numbers of rows.
        y : array of shape (n,)
            +1 for pairs of the same class, -1 for pairs of different ones.
        sample_weight : array of shape (n,), optional
            Non-negative weights of the pairs.
        passes : int, default=1
            How many times the pairs are learned from, for solver="sketch": each pass comes nearer
            to the best answer.
        <checkpoint, every, resume>
        """
        with unchanged_on_error(self):
            self._check_parameters()
            passes = check_whole(passes, "passes")
            given = self._checked(pairs, y, sample_weight, reset=True)
            self._check_dense_rows(given.points)
            check_signs(given, self.criterion)
            if self.kernel == "precomputed" and given.index is None:
                raise ValueError(
                    "kernel='precomputed' takes index pairs (n, 2), with preprocessor=G, the Gram "
                    "matrix of the points."
                )
            self._map = None
            if self.features is not None:
                self._map = _mapping.ready(self.features, None, self._rows_to_map(given))
                check_map(self._map)
            source = MappedPairs(given, self._map, passes)
            self._learn_all(source, source.width)
        return self

    def _fit_stream(self, course: Course) -> None:
        """Learn in one pass where the solver goes on; else from all pairs, read into memory."""
        learner = course.learned
        check_labelled(course.stream, self)
        learner._check_parameters()
        solver = chosen_way(self)
        if course.kept:
            table.require(self.DATA, solver, "goes_on", "checkpoint=")
        goes_on = table.WAYS[self.DATA][solver].abilities.goes_on
        # Numbers of rows take little memory, and are summed up at once.
        at_once = self.preprocessor is not None and not course.kept
        if not goes_on or self.features is not None or at_once:
            rows, signs = course.all_rows("PairSubspace with features=")
            learner.fit(_pair_input.pairs_of(rows, self.preprocessor), signs)
            return
        for rows, signs in course.learning():
            learner.partial_fit(_pair_input.pairs_of(rows, self.preprocessor), signs)
        learner._check_ready(learner._knowledge())

    @offered_if(lambda self: self._check_incremental())
    def partial_fit(self, pairs: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on learning with more pairs: any chunking, in any order, gives the same scatters.

        ``features`` that are not fitted yet learn first: from the preprocessor's rows, or, where
        pairs lie beside each other, from the members of the first pairs, which are then used up.
        """
        with unchanged_on_error(self):
            self._check_parameters()
            first = self._check_continuation()
            given = self._checked(pairs, y, sample_weight, reset=first)
            given = given.chosen(slice(self._learn_map(given), None))
            if len(given):
                source = MappedPairs(given, self._map)
                self._learn_more(source, source.width)
        return self

    def merge(self, other: Self) -> Self:
        """Return an estimator that has learned from the pairs of both; neither is changed.

        Exact from scatters; with solver="sketch" what either has cut off is lost.
        """
        return self._merged(other)

    def _learn_map(self, given: Pairs) -> int:
        """Let the map learn from a stream first; return how many pairs that took."""
        if self.features is None:
            return 0
        if given.index is None:
            # A pair that the map has learned from is gone, as its first member may be.
            return -(-self._collect_features(given.members) // 2)
        self._map = _mapping.ready(self.features, self._map, self._rows_to_map(given))
        return 0

    def _rows_to_map(self, given: Pairs) -> Any:
        """Return the rows that a map learns from: all of the preprocessor, or of the pairs."""
        # As they were given: the map leaves out rows with missing values.
        return given.members if given.index is None else checked_points(self.preprocessor)

    # ---- results ---------------------------------------------------------------------------

    def _training_counts(self) -> PairCounts:
        counts: PairCounts = self._training().counts
        return counts

    def _risk_bound(self, margin: float, delta: float) -> RiskBound:
        norms = float(np.sqrt(self.n_components_)), 1.0
        return bound_of_pairs(
            self._training(), norms, margin, delta, self.diameter_, balanced=self.balanced
        )

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        return _pair_input.pair_tags(super().__sklearn_tags__(), self.preprocessor)

    # ---- checks ----------------------------------------------------------------------------

    def _unready(self) -> str:
        return "has seen no negative pair (y = -1) yet: call partial_fit with some."

    def _check_apart(self, parts: Iterable[Any], learner: PairLearner) -> None:
        if self.diameter is not None:
            for some in parts:
                check_pairs_apart(self.diameter, some)

    def _checked(self, pairs: Any, y: Any, sample_weight: Any, *, reset: bool) -> Pairs:
        if y is None:
            raise ValueError(
                "PairSubspace requires y to be passed, but the target y is None: give +1 and -1."
            )
        how = self.missing, sample_weight, None if reset else int(self.n_features_in_)
        given, holes = _pair_input.checked_pairs(pairs, y, self.preprocessor, *how)
        note_skipped(self, holes, len(given) + len(holes.rows), "pair", reset=reset)
        self._check_weighable(sample_weight)
        if reset:
            self.n_features_in_: int = given.width
            _pair_input.remember_names(self, given, self.preprocessor)
        return given
