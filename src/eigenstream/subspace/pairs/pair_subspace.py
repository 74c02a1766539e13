"""Distances from pairs marked as same or different."""

from typing import ClassVar, Self

from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils._param_validation import Options, StrOptions

from eigenstream.core.checks import offered_if
from eigenstream.core.documented import documented, documented_by
from eigenstream.core.storable import storable
from eigenstream.core.types import (
    Checkpoint,
    Constraints,
    LabelsLike,
    PairsLike,
    WeightsLike,
)
from eigenstream.rows.fit import KEEPING, keeper_of
from eigenstream.rows.prepared import fits_rows
from eigenstream.rows.rows import Rows
from eigenstream.subspace.inference.uncertainty import Uncertainty, parts_in_time
from eigenstream.subspace.pairs import pair_input
from eigenstream.subspace.pairs.decisions import FitsPairs
from eigenstream.subspace.pairs.held_out import RANDOM_UNLIKE, SignedPairs, learner_of
from eigenstream.subspace.pairs.pairwise import PairwiseEstimator, continues
from eigenstream.subspace.pairs.risks import TrainingPairs
from eigenstream.subspace.pairs.terms import PairSample, PairTerms
from eigenstream.subspace.sums.learner import Learner


@storable(_learned_pairs="-")
@documented
class PairSubspace(FitsPairs, PairwiseEstimator):
    """Subspace in which positive pairs are near and negative pairs are far apart.

    The default lies between raw distance and discriminant analysis, and held-out regions of the
    pairs select the place. Positive pairs alone suffice for it. ``criterion="difference"`` is
    Maurer's hyperbolic PCA [1]_. (It is not PCA in hyperbolic space.) With negative pairs only, it
    is the PCA of their differences.

    Parameters
    ----------
    <n_components, criterion, shrinkage, mixing, normalize>
    scale : False, "within" or "auto", default="auto"
        Divide each feature by its standard deviation within positive pairs. "auto" is "within" for
        "ratio" if the two largest sets of connected rows have half of the rows of positive pairs,
        and False otherwise.
    eta : float, "auto" or "margin_risk", default="auto"
        For "difference": the weight of negative pairs; positive pairs have the weight 1. "auto"
        compares 12 weights from 10 to 0.003 on held-out pairs. "margin_risk"
        minimises the training risk at margin 0.01, as the paper does.
    <selection, solver, features>
    preprocessor : array of shape (n, D), optional
        The rows that index pairs refer to.
    <missing>

    Attributes
    ----------
    <components_, eigenvalues_>
    mean_ : array of shape (n_features,)
        The mean of the rows of pairs for cosine distance, from up to 8192 pairs of each sign. Zero
        for Euclidean distance, which does not depend on the mean.
    n_samples_seen_ : int
        The number of pairs learned from.
    <solver_, eta_, result_, threshold_>

    See Also
    --------
    ClassSubspace : The same method for labelled rows.
    eigenstream.subspace.pair_risks : Risks of a threshold on the training pairs.
    eigenstream.subspace.risk_bound : A bound on the risk on new pairs.
    PairMetric : A convex problem for a metric instead of a subspace.

    Notes
    -----
    "ratio": the family of :class:`ClassSubspace`, where W is half the mean square of positive
    differences, and S is half that of negative differences minus W. Negative variances of S are
    dropped. Folds hold out regions of the rows, with every pair that touches them, since folds of
    pairs share rows. Euclidean distance is used only if it is better than cosine by more than one
    standard error. A region is a set of rows that chains of positive pairs connect, or a cluster
    of them. Without negative pairs, 2000 random pairs of rows that are not connected replace them.
    If sets of connected rows show 5 to 9 identities, raw distance is used, because discriminants
    of so few do not suit new identities. With less than about one positive pair for two rows this
    is not visible, and raw distance can be better, by .01 to .1 on images of five digits. For new
    pairs of the same identities, pass ``shrinkage=0.1, mixing=0``.

    "difference": the projection P maximises ``eta/2 mean |P(x - x')|^2`` over negative pairs, minus
    ``1/2 mean |P(x - x')|^2`` over positive pairs. It spans the largest eigenvectors of
    ``T = eta/2 A - 1/2 B``, where A and B are the second moments of the two kinds of differences.

    References
    ----------
    .. [1] A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", in
       Subspace, Latent Structure and Feature Selection, LNCS 3940, pp. 185-197, Springer, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import PairSubspace, sample_pairs
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(np.arange(20), 20)
    >>> X = rng.standard_normal((400, 5)) * [0.1, 0.1, 3.0, 3.0, 3.0]
    >>> X[:, :2] += rng.standard_normal((20, 2))[
    ...     labels
    ... ]  # columns 0 and 1 separate
    >>> pairs, y = sample_pairs(labels, 1000, random_state=0)
    >>> learned = PairSubspace(n_components=2, preprocessor=X).fit(pairs, y)
    >>> (learned.components_**2).sum(axis=0).round(1)
    array([15.1, 14.9,  0. ,  0. ,  0. ])
    >>> round(learned.score(X[pairs], y), 2)
    0.99
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "scale": [Options(bool, {False}), StrOptions({"auto", "within"})]
    }

    _row_word, _examples, _sample = "pair", SignedPairs, PairSample
    _terms = PairTerms

    # ---- learning --------------------------------------------------------------------------

    @fits_rows
    @documented_by(KEEPING)
    def fit(
        self,
        pairs: PairsLike,
        y: LabelsLike = None,
        sample_weight: WeightsLike = None,
        *,
        checkpoint: Checkpoint = None,
        every: int | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from pairs, forgetting what was learned before.

        Parameters
        ----------
        pairs : array of shape (n, 2, D), or index pairs (n, 2) with a ``preprocessor``
            Or a stream, each row of which holds the two rows of a pair side by side, or two row
            numbers.
        y : array of shape (n,)
            +1 for pairs of the same class, -1 for pairs of different ones.
        sample_weight : array of shape (n,), optional
            Non-negative weights of the pairs.
        <checkpoint, every, resume>

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import PairSubspace
        >>> X, y = load_iris(return_X_y=True)
        >>> pairs = np.random.default_rng(0).choice(150, (400, 2))
        >>> signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
        >>> model = PairSubspace(2, preprocessor=X).fit(pairs, signs)
        >>> model.transform(X).shape
        (150, 2)
        """
        keeper = keeper_of(checkpoint, every, resume)
        fit = self._fit(pairs, y, keeper, sample_weight=sample_weight)
        if fit is not None:
            self._trained = TrainingPairs.of(fit.reading(), self._features_of)
        return self

    @offered_if(continues)
    def partial_fit(
        self, pairs: PairsLike, y: LabelsLike, sample_weight: WeightsLike = None
    ) -> Self:
        """Learn from more pairs.

        With solver="dense" the result does not depend on the order or the chunking.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import PairSubspace
        >>> X, y = load_iris(return_X_y=True)
        >>> pairs = np.random.default_rng(0).choice(150, (400, 2))
        >>> signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
        >>> model = PairSubspace(2, preprocessor=X).partial_fit(
        ...     pairs[:200], signs[:200]
        ... )
        >>> model.partial_fit(pairs[200:], signs[200:]).n_samples_seen_
        400
        """
        return self._continued(pairs, y, sample_weight)

    _block_word = "pairs"

    def uncertainty(
        self, pairs: PairsLike, y: LabelsLike = None, *, blocks: int = 20
    ) -> Uncertainty:
        """Fit a copy of the estimator and return it with error bars, from one pass over the pairs.

        The errors come from fits without each block of consecutive pairs (the delete-one-block
        jackknife). They assume that pairs of different blocks are independent: pairs that share
        rows belong in one block. Parameters that the fit has chosen are those of the whole fit. The
        intervals neglect this choice, so with the default parameters they are too narrow. Memory:
        about three D x D matrices for each block.

        Parameters
        ----------
        pairs : array of shape (n, 2, n_features), index pairs of shape (n, 2), or a stream
            The pairs. Index pairs need a ``preprocessor``.
        y : array of shape (n,)
            +1 for pairs of the same class, -1 for pairs of different ones.
        blocks : int, default=20
            The number of blocks. A stream of unknown length has between ``blocks`` and
            ``2 * blocks`` of them.

        Returns
        -------
        Uncertainty

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import PairSubspace
        >>> rng = np.random.default_rng(0)
        >>> pairs, y = rng.standard_normal((2000, 2, 3)), np.resize([1, -1], 2000)
        >>> pairs[y > 0, 1, 0] = pairs[y > 0, 0, 0]  # same pairs agree in column 0
        >>> found = PairSubspace(1, criterion="difference", eta=1.0).uncertainty(
        ...     pairs, y
        ... )
        >>> found.eigenvalues.value.round(2), found.eigenvalues.error.round(2)
        (array([1.07]), array([0.05]))
        """
        model: Self = clone(self)
        return model._uncertainty(pairs, y, blocks, parts_in_time)

    def _rows(
        self,
        pairs: PairsLike,
        y: LabelsLike = None,
        sample_weight: WeightsLike = None,
        *,
        reset: bool,
    ) -> Rows:
        return pair_input.learned_pairs(self, pairs, y, sample_weight, reset=reset)

    def _with_negatives(self, learner: Learner) -> Learner:
        """Return the learner, with random negative pairs for ratios without any."""
        if learner.terms.totals()[0] > 0.0 or self.criterion == "difference":
            return learner
        pairs = SignedPairs(learner).graph.unlike(RANDOM_UNLIKE)
        if len(pairs) == 0:
            raise ValueError(
                "There is no negative pair (y = -1), and positive pairs connect all rows. Add "
                "negative pairs, such as pairs of rows drawn at random."
            )
        merged = learner.merge(learner_of(self._terms(learner.terms.n_features), pairs))
        merged.sample.add(pairs)  # type: ignore[union-attr]
        return merged

    def _check_enough(self, learner: Learner) -> None:
        unlike, like = learner.terms.totals()
        if unlike + like == 0.0:
            raise ValueError(
                "No pairs remain: all have zero weight or missing values. Pass complete pairs with "
                "positive weight."
            )
        if unlike == 0.0 and self.criterion == "difference":
            raise ValueError(
                "There is no negative pair (y = -1) yet. Add some, such as pairs of rows drawn at "
                "random."
            )
        if like == 0.0 and self.criterion == "ratio":
            raise ValueError(
                "criterion='ratio' divides by the scatter of positive pairs, but no pair is "
                "positive. Pass pairs with y = +1, or use criterion='difference'."
            )
        learner.check_size()

    # ---- results ---------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Tags:
        """Describe the estimator to scikit-learn."""
        return pair_input.pair_tags(super().__sklearn_tags__(), self.preprocessor)
