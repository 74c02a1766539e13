"""Distances from labelled rows: all implied pairs, in linear time."""

from collections.abc import Hashable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions

from eigenstream.core.checks import check_weights, offered_if
from eigenstream.core.documented import documented, documented_by
from eigenstream.core.storable import storable
from eigenstream.core.types import (
    Checkpoint,
    Constraints,
    LabelsLike,
    PairsLike,
    RowsLike,
    WeightsLike,
)
from eigenstream.rows.chunk import Chunk
from eigenstream.rows.door import labelled_stream, stream_rows, validated
from eigenstream.rows.fit import KEEPING, keeper_of
from eigenstream.rows.prepared import fits_rows, learns_rows
from eigenstream.rows.rows import ArrayRows, Rows
from eigenstream.subspace.inference.uncertainty import Uncertainty, parts_of_classes
from eigenstream.subspace.pairs import pair_input
from eigenstream.subspace.pairs.decisions import signs_below
from eigenstream.subspace.pairs.held_out import LabelledRows
from eigenstream.subspace.pairs.pairwise import PairwiseEstimator, continues
from eigenstream.subspace.pairs.terms import ClassTerms, Sample
from eigenstream.subspace.solvers.base import FLAG
from eigenstream.subspace.sums.learner import Learner


@storable()
@documented
class ClassSubspace(PairwiseEstimator):
    """Subspace in which distances separate the classes of labelled rows.

    The subspace also separates new classes of the same kind. For example, a subspace learned from
    letters separates digits. The default lies between raw distance and linear discriminant
    analysis, and held-out classes select the place. ``criterion="difference"`` is Maurer's
    hyperbolic PCA [1]_ on all pairs of rows. (It is not PCA in hyperbolic space.)

    Parameters
    ----------
    <n_components, criterion, shrinkage, mixing, normalize>
    scale : bool, "within" or "auto", default="auto"
        Divide each feature by its standard deviation over the rows (True), or within classes. With
        ``groups``, True stands for the deviation within tasks. "auto" is "within" for "ratio" with
        fewer than 5 classes and at least as many distinct rows as features, and False otherwise.
    eta : float, "auto" or "margin_risk", default="auto"
        For "difference": the weight of pairs of different classes; pairs of the same class have
        the weight 1. "auto" compares 12 weights from 10 to 0.003 on pairs of held-out
        classes. "margin_risk" minimises the training risk at margin 0.01, as the paper
        does.
    <selection, solver, features>
    preprocessor : array of shape (n, D), optional
        The rows that row numbers refer to, in ``fit``, ``score`` and pairs. ``transform`` takes
        rows.
    <missing>

    Attributes
    ----------
    <components_, eigenvalues_>
    mean_ : array of shape (n_features,)
        The mean that is subtracted from each row.
    scale_ : array of shape (n_features,) or None
        The divisor of each feature. None without ``scale``.
    n_samples_seen_ : int
        The number of rows learned from.
    <solver_, eta_, result_, threshold_>

    See Also
    --------
    PairSubspace : The same method for given pairs.
    eigenstream.subspace.pair_risks : Risks of a threshold on the training pairs.
    eigenstream.subspace.risk_bound : A bound on the risk on new pairs.

    Notes
    -----
    "ratio": let W and S be the covariances within and between classes, and t the mean of the
    diagonal of W. In coordinates in which ``(1 - shrinkage) W + shrinkage t I`` is the identity, S
    has the variances b_k along the discriminants, with the mean b over all features. With
    ``v_k = (1 - mixing) b_k + mixing b``, the squared distance along a discriminant has the weight
    ``v_k / (1 + v_k)``. This is the log-likelihood ratio of "same" and "different" for Gaussian
    classes. Shrinkage 1 with mixing 1 is Euclidean distance, shrinkage 0 with mixing 1 is RCA, and
    mixing 0 is weighted discriminant analysis. The loss is that of 2000 sampled pairs of each
    kind. With 10 classes or more, pairs of 5 sets of held-out classes are compared.
    With 5 to 9 classes, couples of classes are held out, and with fewer, rows. Of the values within
    one standard error of the smallest loss (two for 5 to 9 classes), those nearest to mixing 0.3
    and shrinkage 0.6 are taken, or for less than 10 classes those nearest to raw distance.
    Cosine distance is about the mean of all rows, and its preferred mixing is 1. It is compared
    with Euclidean distance at the smallest loss of each. With fewer than 10 classes, cosine must be
    better by more than one standard error (two for 5 to 9 classes).
    The selection is for new classes. For new rows of the training classes, pass
    ``shrinkage=0.1, mixing=0``.

    "difference": the projection P maximises ``eta/2 mean |P(x - x')|^2`` over pairs of different
    classes, minus ``1/2 mean |P(x - x')|^2`` over pairs of the same class. It spans the largest
    eigenvectors of ``T = eta/2 A - 1/2 B``, where A and B are the second moments of the two kinds
    of differences.

    References
    ----------
    .. [1] A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", in
       Subspace, Latent Structure and Feature Selection, LNCS 3940, pp. 185-197, Springer, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import ClassSubspace
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(np.arange(20), 20)
    >>> X = rng.standard_normal((400, 5)) * [0.1, 0.1, 3.0, 3.0, 3.0]
    >>> X[:, :2] += rng.standard_normal((20, 2))[
    ...     y
    ... ]  # columns 0 and 1 separate the classes
    >>> learned = ClassSubspace(n_components=2).fit(X, y)
    >>> (learned.components_**2).sum(axis=0).round(1)
    array([14.9, 14.6,  0. ,  0. ,  0. ])
    >>> round(learned.score(X, y), 2)
    0.99
    """

    _on_devices, _examples, _sample = True, LabelledRows, Sample
    _terms = ClassTerms
    _parameter_constraints: ClassVar[Constraints] = {
        "scale": [FLAG, StrOptions({"auto", "within"})]
    }

    # ---- learning --------------------------------------------------------------------------

    @fits_rows
    @documented_by(KEEPING)
    def fit(
        self,
        X: RowsLike,
        y: LabelsLike = None,
        sample_weight: WeightsLike = None,
        groups: LabelsLike = None,
        *,
        checkpoint: Checkpoint = None,
        every: int | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from all pairs of rows, forgetting what was learned before.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), or a stream
            The rows. With a ``preprocessor``, also row numbers of shape (n,).
        y : array-like of shape (n,)
            Class labels, at least two different ones. A stream may have them in a column.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights, which count as repetitions.
        groups : array-like of shape (n,), optional
            The learning task of each row. Pairs are formed only within tasks, and all tasks have
            the same weight. Equal labels in different tasks are different classes.
        <checkpoint, every, resume>

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import ClassSubspace
        >>> X, y = load_iris(return_X_y=True)
        >>> ClassSubspace(2).fit(X, y).transform(X).shape
        (150, 2)
        """
        keeper = keeper_of(checkpoint, every, resume)
        self._fit(X, y, keeper, sample_weight=sample_weight, groups=groups)
        return self

    @offered_if(continues)
    @learns_rows
    def partial_fit(
        self,
        X: RowsLike,
        y: LabelsLike,
        sample_weight: WeightsLike = None,
        groups: LabelsLike = None,
    ) -> Self:
        """Learn from more labelled rows, which may have new classes.

        The result does not depend on the chunking. Except for "sketch", it does not
        depend on the order either.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import ClassSubspace
        >>> X, y = load_iris(return_X_y=True)
        >>> model = ClassSubspace(2).partial_fit(X[:100], y[:100])
        >>> model.partial_fit(X[100:], y[100:]).n_samples_seen_
        150
        """
        return self._continued(X, y, sample_weight, groups)

    _block_word = "classes"

    def uncertainty(
        self, X: RowsLike, y: LabelsLike = None, groups: LabelsLike = None, *, blocks: int = 20
    ) -> Uncertainty:
        """Fit a copy of the estimator and return it with error bars, from one pass over the rows.

        The errors come from fits without each block of classes (the delete-one-block jackknife).
        They describe how far another set of classes would change the result. Parameters that the
        fit has chosen, such as ``shrinkage``, are those of the whole fit. The intervals neglect
        this choice, so with the default parameters they are too narrow. Memory: a D x D matrix for
        each class.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), or a stream
            The rows.
        y : array-like of shape (n,)
            Class labels, at least three different ones. A stream may have them in a column.
        groups : array-like of shape (n,), default=None
            The learning task of each row, as in ``fit``.
        blocks : int, default=20
            The number of blocks. The classes take turns in the order of appearance.

        Returns
        -------
        Uncertainty

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import ClassSubspace
        >>> rng = np.random.default_rng(0)
        >>> y = np.repeat(np.arange(40), 20)
        >>> X = rng.standard_normal((800, 5)) * [0.1, 0.1, 2.0, 2.0, 2.0]
        >>> X[:, :2] += rng.standard_normal((40, 2))[y]
        >>> found = ClassSubspace(2, criterion="difference", eta=1.0).uncertainty(
        ...     X, y
        ... )
        >>> found.eigenvalues.value.round(2), found.eigenvalues.error.round(2)
        (array([1.32, 0.74]), array([0.25, 0.2 ]))
        """
        model: Self = clone(self)
        return model._uncertainty(X, y, blocks, parts_of_classes, groups=groups)

    def _rows(
        self,
        X: RowsLike,
        y: LabelsLike = None,
        sample_weight: WeightsLike = None,
        groups: LabelsLike = None,
        *,
        reset: bool,
    ) -> Rows:
        of_arrays = {"sample_weight": sample_weight, "groups": groups}
        if (stream := labelled_stream(X, y, self, **of_arrays)) is not None:
            checked = partial(pair_input.checked_labels, self)
            return stream_rows(self, stream, reset=reset, targets=checked)
        if self.preprocessor is not None:
            X = pair_input.rows_of_numbers(X, self.preprocessor)
        rows = validated(self, X, reset=reset)
        n = rows.shape[0]
        targets = pair_input.targets_of(self, y, groups, n)
        if not reset and self._learner is not None:
            self._learner.terms.check_kinds(*np.atleast_1d(targets[0]))
        weights = None if sample_weight is None else check_weights(sample_weight, n)
        part = Chunk(rows, weights, labels=targets)
        return ArrayRows([part], missing=self.missing, source=X)

    def _check_enough(self, learner: Learner) -> None:
        terms: Any = learner.terms
        if not any(center.weight > 0.0 for center in terms.centers.values()):
            raise ValueError(
                "No rows remain: all have zero weight or missing values. Pass complete rows with "
                "positive weight."
            )
        if terms.totals()[0] == 0.0:
            name = next(iter(terms.centers))
            where = "y names one class" if name[0] is None else "every group names one class"
            raise ValueError(
                f"{where} only ({name[1]!r}, n_samples={learner.n_rows}). Pass rows of at least "
                "two classes."
            )
        learner.check_size()

    # ---- use -------------------------------------------------------------------------------

    def pair_predict(self, pairs: PairsLike, *, preprocessor: RowsLike = None) -> NDArray[np.int64]:
        """Return +1 (same class) for distances below ``threshold_``, else -1.

        Parameters
        ----------
        pairs : array of shape (n, 2, n_features), or index pairs of shape (n, 2)
            The pairs. Index pairs need a ``preprocessor``.
        preprocessor : array of shape (m, n_features), default=None
            The rows that index pairs refer to.

        Returns
        -------
        array of shape (n,)
            +1 or -1 for each pair.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import ClassSubspace
        >>> X, y = load_iris(return_X_y=True)
        >>> model = ClassSubspace(2).fit(X, y)
        >>> model.pair_predict([[0, 1], [0, 100]], preprocessor=X)
        array([ 1, -1])
        """
        distances = self.pair_distance(pairs, preprocessor=preprocessor)
        return signs_below(distances, self.threshold_)

    # ---- results ---------------------------------------------------------------------------

    def _learned_classes(self) -> set[Hashable]:
        terms: Any = self._fitted_learner().terms
        return {label for _, label in terms.centers}

    def __sklearn_tags__(self) -> Tags:
        """Describe the estimator to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
