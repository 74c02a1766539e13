"""Hyperbolic PCA from pairs that are known to be of the same or of different classes."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from eigenstream._refusals import unchanged_on_error
from eigenstream.contrast import Contrast
from eigenstream.estimators import _gram, _input, _mapping, _pair_input
from eigenstream.estimators._missing import note_skipped
from eigenstream.estimators._pair_decisions import FitsPairs
from eigenstream.estimators._pair_flow import PairFlow
from eigenstream.estimators._pair_folds import (
    Folds,
    PairFolds,
    add_indexed,
    add_signed,
    folds_by_hash,
    folds_of_members,
    held_out_folds,
)
from eigenstream.estimators._pair_input import (
    Pairs,
    check_signs,
    checked_points,
)
from eigenstream.estimators._pair_operator import ByPairOperator
from eigenstream.estimators._pair_solve import FOLDS, Fold, Matrices
from eigenstream.estimators._pairs_risk import counts_of_differences
from eigenstream.estimators._pairwise import Problem
from eigenstream.estimators._samples import PairSample, pair_hashes
from eigenstream.scatters import PairScatter


class PairSubspace(FitsPairs, ByPairOperator):
    """The subspace that brings like pairs together and keeps unlike ones apart.

    Maurer's hyperbolic PCA [HPCA] (not PCA in hyperbolic space): it maximises the mean of
    ``eta |P(x - x')|^2`` over negative pairs minus that of ``|P(x - x')|^2`` over positive pairs,
    the top eigenspace of an indefinite matrix T. With negative pairs only it is PCA of differences.

    Parameters
    ----------
    n_components, margin, balanced, criterion, shrinkage, kernel, gamma, features, missing
        As in ClassSubspace.
    eta : float, "auto", "margin_risk" or list of floats, default="auto"
        The weight of negative pairs, that of positive ones being 1. "auto" takes the weight with
        the least balanced risk on held-out pairs, out of 12 from 10 to 0.003; a list names other
        ones. For index pairs ``fit`` holds out what positive pairs connect, classes as a rule.
    preprocessor : array of shape (n, D), optional
        The rows that index pairs refer to; with kernel="precomputed", the Gram matrix.
    diameter : float, optional
        What no two rows can be farther apart than: the unit of margins and of ``bound``. By default
        a bound for the pairs learned from.
    solver : {"auto", "dense", "krylov", "dual", "flow"}, default="auto"
        As in ClassSubspace; "flow" learns online, a step for each couple of a negative and a
        positive pair, without any D x D matrix: balanced, and with a given weight.
    schedule, init, forgetting, random_state
        For "flow", as in StreamPCA.

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
        self.missing = missing
        self.random_state = random_state

    # ---- learning --------------------------------------------------------------------------

    def fit(self, pairs: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from pairs, forgetting what was learned before.

        Parameters
        ----------
        pairs : array of shape (n, 2, D), or index pairs (n, 2) with a ``preprocessor``
        y : array of shape (n,)
            +1 for pairs of the same class, -1 for pairs of different ones.
        sample_weight : array of shape (n,), optional
            Non-negative weights of the pairs.
        """
        with unchanged_on_error(self):
            self._check_parameters()
            self._note_parameters()
            given = self._checked(pairs, y, sample_weight, reset=True)
            self._check_dense_rows(given.points)
            self._forget_counts()
            for name in ("contrast_", "_sample", "_folds", "_flow", "_solution", "_farthest"):
                self.__dict__.pop(name, None)
            check_signs(given, self.criterion)
            if self.features is not None:
                self.features_ = _mapping.ready(self.features, None, self._rows_to_map(given))
                _gram.check_map(self.features_)
            width = int(_mapping.mapped(self._map, given.chosen(slice(0, 1)).members).shape[1])
            self.solver_ = self._chosen_solver(width)
            if self.solver_ == "dense":
                self._begin(width)
                hashes = self._learn(given, folds_of_members(given) if self._searches else None)
                self._solution = self._solve_contrast()
                self._trained = self._counted_pairs(given, hashes)
            elif self.solver_ == "flow":
                self._begin(width)
                hashes = self._learn(given, None)
                self._solved()
                self._trained = self._counted_pairs(given, hashes)
            else:
                self._solution = self._fit_operator(given, width)
        return self

    @available_if(lambda self: self._check_incremental())
    def partial_fit(self, pairs: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on learning with more pairs: any chunking, in any order, gives the same scatters.

        ``features`` that are not fitted yet learn first: from the preprocessor's rows, or, where
        pairs lie beside each other, from the members of the first pairs, which are then used up.
        """
        with unchanged_on_error(self):
            self._check_parameters()
            first = not hasattr(self, "n_features_in_")
            self._check_continuation()
            given = self._checked(pairs, y, sample_weight, reset=first)
            given = given.chosen(slice(self._learn_map(given), None))
            if len(given) == 0:
                return self
            if not hasattr(self, "_sample"):
                self.solver_ = "flow" if self.solver == "flow" else "dense"
                self._begin(_mapping.mapped(self._map, given.members[:1]).shape[1])
            self._learn(given, None)
            self._forget_weights()
            self.__dict__.pop("_solution", None)
            self._forget_counts()
        return self

    def merge(self, other: Self) -> Self:
        """Return an estimator that has learned from the pairs of both; neither is changed."""
        _mapping.check_mergeable(self, other)
        merged = type(self)(**self.get_params(deep=False))
        merged.__dict__.update(self.__dict__)
        merged.__dict__.pop("_solution", None)
        merged._forget_counts()
        merged.contrast_ = self.contrast_.merge(other.contrast_)
        merged._forget_weights()
        merged._sample = self._sample.merged(other._sample)
        merged._skipped = self._skipped.merged(other._skipped)
        merged._farthest = max(self._farthest, other._farthest)
        merged._folds = None
        if self._folds is not None and other._folds is not None:
            merged._folds = self._folds.merged(other._folds)
        return merged

    def _learn_map(self, given: Pairs) -> int:
        """Let the map learn from a stream first; return how many pairs that took."""
        if self.features is None:
            return 0
        if given.index is None:
            # A pair that the map has learned from is gone, as its first member may be.
            return -(-self._collect_features(given.members) // 2)
        known = self.__dict__.get("features_")
        self.features_ = _mapping.ready(self.features, known, self._rows_to_map(given))
        return 0

    def _rows_to_map(self, given: Pairs) -> Any:
        """Return the rows that a map learns from: all of the preprocessor, or of the pairs."""
        # As they were given: the map leaves out rows with missing values.
        return given.members if given.index is None else checked_points(self.preprocessor)

    def _begin(self, width: int) -> None:
        self._check_width(width)
        self._sample = PairSample(width)
        self._folds = None
        if self.solver_ == "flow":
            self._flow = self._new_flow(width)
            return
        self.contrast_ = Contrast(PairScatter(width), PairScatter(width), None)
        self._folds = PairFolds(width, FOLDS) if self._searches else None

    def _learn(self, given: Pairs, parts: Folds | None) -> NDArray[np.uint64]:
        """Add pairs; return what they are known by when they come again.

        ``parts`` are the folds of the two members, by default those of the pair.
        """
        points = None if given.points is None else _mapping.mapped(self._map, given.points)
        found = []
        if points is not None:
            given = Pairs(None, given.index, points, given.signs, given.weights)
            self._reach(given)
        step = 1 << 20 if points is not None else _input.chunk_rows(2 * self._sample.width)
        if points is None and self.diameter is not None:  # refused before anything is added
            for start in range(0, len(given), step):
                self._reach(self._mapped_pairs(given.chosen(slice(start, start + step))))
        known = [np.empty(0, np.uint64)]
        for start in range(0, len(given), step):
            mask = slice(start, start + step)
            block = given.chosen(mask)
            if points is None:
                block = self._mapped_pairs(block)
                self._reach(block)
            if self.solver_ == "flow":
                assert isinstance(self._flow, PairFlow)
                self._flow.update(block)
            elif points is None:
                add_signed(self.contrast_, block)
            hashes = pair_hashes(block)
            known.append(hashes)
            folds = folds_by_hash(hashes) if parts is None else parts[mask]
            if self._folds is not None:
                if points is None:
                    self._folds.add(block, folds)
                found.append(folds)
            both = np.where(folds[:, 0] == folds[:, 1], folds[:, 0], -1)
            self._sample.add(hashes, block, both)
        # The scatters take all index pairs at once: then the points count, and not the pairs.
        if points is not None and self._folds is not None:
            of_members = np.concatenate(found) if parts is None else parts
            add_indexed(self.contrast_, self._folds, given, of_members)
        elif points is not None and self.solver_ != "flow":
            add_signed(self.contrast_, given)
        return np.concatenate(known)

    # ---- solving from scatters -------------------------------------------------------------

    def _problem(self, contrast: Contrast) -> Problem:
        assert contrast.penalty is not None
        differences, signs, _, weights = self._sample.read()

        def folds() -> Sequence[Fold]:
            if self._folds is None:
                raise ValueError(
                    "eta is to be chosen by the data, but the pairs so far were learned with a "
                    "given one: give eta as a number, or fit anew."
                )
            return held_out_folds(contrast, self._folds, self._sample)

        return Problem(
            operator=Matrices(contrast.reward.matrix(), contrast.penalty.matrix()),
            n_different=contrast.reward.weight,
            n_same=contrast.penalty.weight,
            rounding=contrast.rounding,
            always_dense=True,
            groupings=[folds],
            counts=lambda v: counts_of_differences(differences @ v, signs, weights),
            diameter=self._data_diameter(),
        )

    def _unready(self, contrast: Contrast) -> str:
        return self._waits_for()

    def _waits_for(self) -> str:
        return "has seen no negative pair (y = -1) yet: call partial_fit with some."

    @property
    def n_samples_seen_(self) -> int:
        """The number of pairs seen."""
        if "contrast_" in self.__dict__ and self.contrast_.penalty is not None:
            return self.contrast_.reward.n_rows + self.contrast_.penalty.n_rows
        return self._solved().n_rows

    # ---- checks ----------------------------------------------------------------------------

    def _checked(self, pairs: Any, y: Any, sample_weight: Any, *, reset: bool) -> Pairs:
        if y is None:
            raise ValueError(
                "PairSubspace requires y to be passed, but the target y is None: give +1 and -1."
            )
        how = self.missing, sample_weight, None if reset else int(self.n_features_in_)
        given = _pair_input.checked_pairs(pairs, y, self.preprocessor, *how)
        note_skipped(self, given.holes, len(given) + len(given.holes.rows), "pair", reset=reset)
        self._check_weighable(sample_weight)
        if reset:
            self.n_features_in_: int = given.width
            _pair_input.remember_names(self, given, self.preprocessor)
        return given
