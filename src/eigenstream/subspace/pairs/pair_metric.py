"""A learned metric: positive operators and the hinge loss."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from eigenstream.core.checks import check_choice, check_number, check_whole, warn_user
from eigenstream.core.linalg import Float64s, canonical_signs
from eigenstream.core.storable import FITTED, storable
from eigenstream.core.types import LabelsLike, Matrix, PairsLike, RowsLike, WeightsLike
from eigenstream.rows.chunk import FIRST, joined
from eigenstream.rows.door import as_floats, validated
from eigenstream.rows.fit import Fit
from eigenstream.rows.guard import publishes
from eigenstream.rows.prepared import maps_streams
from eigenstream.subspace.pairs import pair_input
from eigenstream.subspace.pairs.decisions import FitsPairs
from eigenstream.subspace.pairs.risks import TrainingPairs
from eigenstream.subspace.sums.block import dense
from eigenstream.theory import RiskBound

#: Steps between two computations of the duality gap. More take longer to notice the end.
CHECKED = 10

#: The mean of the iterates starts again when the gap falls to this share.
RESTART = 0.4

#: Power iterations for the norm of the problem's matrix. Fewer may underestimate it.
POWERS = 20


@storable(
    **FITTED,
    _skipped="Skipped?",
    metric_="f8 D D?",
    diameter_="number?",
    components_="f8 r D?",
    objective_="number?",
    n_iter_="int?",
    _begun="tuple?",
    _trained="TrainingPairs?",
    _calibrated="number | None?",
    _learned_pairs="-",
)
@dataclass(eq=False, repr=False)
class PairMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FitsPairs):
    """Metric that separates positive from negative pairs.

    It is solved by a primal-dual algorithm with one eigendecomposition a step [2]_. The differences
    of all pairs are held in memory. It is the best choice for some images from about 1000 pairs: on
    letters its ROC area is about .01 above that of PairSubspace. It does not remove directions of
    large noise: with 40 such directions of 200 its area is .50, where PairSubspace has .94. Columns
    need similar units. With 644 columns it takes over 10 s.

    Parameters
    ----------
    norm : float, default=3.0
        The largest Hilbert-Schmidt norm of M. A projection of rank d has the norm sqrt(d).
    margin : float in (0, 1), default=0.1
        The margin of the hinge loss.
    preprocessor : array of shape (n, D), optional
        The rows that index pairs refer to.
    diameter : float, optional
        An upper bound on the distance of any two rows, used as the unit of length. By default the
        largest distance of a training pair.
    max_iter : int, default=5000
        The largest number of steps.
    tol : float, default=1e-4
        Stop when the objective is within this distance of its minimum. A dual problem bounds the
        distance. For M = 0 and t = 0 the objective is 1.
    missing : {"raise", "skip"}, default="raise"
        "skip" leaves out pairs with NaN or infinity.

    Attributes
    ----------
    metric_ : array of shape (n_features, n_features)
        M in the units of the data.
    components_ : array of shape (rank, n_features)
        Rows c_k with ``sum c_k c_k^T = M``. ``transform`` maps rows to a space in which the
        Euclidean distance is the learned one.
    objective_ : float
        The hinge loss on the training pairs.
    n_iter_ : int
        The number of steps.
    threshold_ : float
        The distance below which two rows count as the same class.

    See Also
    --------
    PairSubspace : A subspace instead of a metric, by one eigendecomposition.

    Notes
    -----
    The fit minimises the mean hinge loss of ``r (t - (x - x')^T M (x - x'))`` for pairs (x, x') of
    sign r, and both signs have the same total weight. The minimum is over thresholds t and over
    positive semidefinite M of bounded Hilbert-Schmidt norm. The problem is convex, and [1]_ Theorem
    3 bounds the risk on new pairs.

    References
    ----------
    .. [1] A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", in
       Subspace, Latent Structure and Feature Selection, LNCS 3940, pp. 185-197, Springer, 2006.
    .. [2] A. Chambolle and T. Pock, "A First-Order Primal-Dual Algorithm for Convex Problems with
       Applications to Imaging", Journal of Mathematical Imaging and Vision, vol. 40, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import PairMetric
    >>> pairs = np.array([[[0.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 0.0]]])
    >>> learned = PairMetric().fit(pairs, [1, -1])
    >>> learned.predict(pairs)
    array([ 1, -1])
    """

    _: KW_ONLY
    norm: float = 3.0
    margin: float = 0.1
    preprocessor: RowsLike = None
    diameter: float | None = None
    max_iter: int = 5000
    tol: float = 1e-4
    missing: str = "raise"

    @publishes
    def fit(
        self, pairs: PairsLike, y: LabelsLike = None, sample_weight: WeightsLike = None
    ) -> Self:
        """Learn from positive and negative pairs.

        Parameters
        ----------
        pairs : array of shape (n, 2, D), or index pairs (n, 2) with a ``preprocessor``
            Or a stream of pairs, which is read into memory.
        y : array of shape (n,)
            +1 for pairs of the same class, -1 for pairs of different ones. Both must occur.
        sample_weight : array of shape (n,), optional
            Non-negative weights of the pairs.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import PairMetric
        >>> X, y = load_iris(return_X_y=True)
        >>> pairs = np.random.default_rng(0).choice(150, (400, 2))
        >>> signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
        >>> model = PairMetric(preprocessor=X).fit(pairs, signs)
        >>> model.predict([[0, 1], [0, 100]])
        array([ 1, -1])
        """
        norm = check_number(self.norm, "norm", above=0)
        margin = check_number(self.margin, "margin", above=0, below=1)
        tol = check_number(self.tol, "tol", least=0)
        if self.diameter is not None:
            check_number(self.diameter, "diameter", above=0)
        most = check_whole(self.max_iter, "max_iter")
        check_choice(self.missing, "missing", ("raise", "skip"))
        rows = pair_input.learned_pairs(self, pairs, y, sample_weight, reset=True)
        if rows.stream is not None:
            rows = rows.in_memory("fit of PairMetric")
        fit = Fit(self, rows)
        every = joined([*fit.learning()])
        weighted = every.of_positive_weight()
        weights, signs = weighted.each_weight().copy(), weighted.labels
        assert signs is not None
        assert weighted.pairs is not None
        totals = [float(weights[signs == sign].sum()) for sign in (1, -1)]
        if min(totals) == 0.0:
            raise ValueError(
                "PairMetric needs pairs of both signs. Pass some with y = +1 and some with y = -1."
            )
        for sign, total in zip((1, -1), totals, strict=True):
            weights[signs == sign] *= 0.5 / total
        apart = dense(weighted.rows[weighted.pairs[:, 0]] - weighted.rows[weighted.pairs[:, 1]])
        longest = float(np.sqrt(np.einsum("ij,ij->i", apart, apart).max()))
        if self.diameter is not None and longest > self.diameter * (1 + 1e-9):
            raise ValueError(
                f"diameter={self.diameter:g} is smaller than the largest distance of a pair, "
                f"{longest:g}. Use a larger diameter."
            )
        unit = (longest or 1.0) if self.diameter is None else float(self.diameter)
        problem = _Hinge(apart / unit, signs.astype(np.float64), weights, margin)
        metric, self.objective_, self.n_iter_, converged = problem.minimise(norm, most, tol)
        if not converged:
            warn_user(
                f"PairMetric did not converge in max_iter={most} steps. Raise max_iter or tol."
            )
        self._skipped, self._calibrated = fit.skipped, None
        fit.skipped.warn(self, len(every), "pair", FIRST)
        self.metric_ = metric / unit**2
        self.diameter_ = unit
        values, vectors = eigh(self.metric_)
        positive = values > len(values) * np.finfo(np.float64).eps * max(values[-1], 0.0)
        order = np.flatnonzero(positive)[::-1]
        columns = canonical_signs(vectors[:, order])
        self.components_ = (columns * np.sqrt(values[order])).T
        if not len(order):
            warn_user(
                "No distance separates these pairs, so the metric is zero and has no components. "
                "Pass more pairs or other columns, and check the signs."
            )
        self._begun = norm, margin
        columns = self.components_.T
        self._trained = TrainingPairs.of([weighted], lambda rows: rows @ columns)
        return self

    @property
    def n_samples_skipped_(self) -> int:
        """The number of pairs that ``missing="skip"`` left out."""
        check_is_fitted(self)
        return self._skipped.n_rows

    @maps_streams
    def transform(self, X: RowsLike) -> Matrix:
        """Map rows to a space in which the Euclidean distance is the learned one.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            The rows.

        Returns
        -------
        array of shape (n, n_components)
            The mapped rows.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import PairMetric
        >>> X, y = load_iris(return_X_y=True)
        >>> pairs = np.random.default_rng(0).choice(150, (400, 2))
        >>> signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
        >>> PairMetric(preprocessor=X).fit(pairs, signs).transform(X[:2]).shape
        (2, 2)
        """
        check_is_fitted(self)
        rows = as_floats(validated(self, X, reset=False))
        return rows @ self.components_.T.astype(rows.dtype)

    def _risk_bound(self, margin: float, delta: float, diameter: float | None) -> RiskBound:
        # |M^(1/2) u|^2 for differences of at most unit length: no further scaling.
        norm, margin = self._begun
        return self._training().bound((norm, norm), margin, delta, 1.0)

    def _affine(self) -> tuple[Float64s, Float64s | float, bool]:
        check_is_fitted(self)
        return np.asarray(self.components_.T, np.float64), 0.0, False

    def _unit(self) -> float:
        return self.diameter_

    def _training(self) -> TrainingPairs:
        assert self._trained is not None
        return self._trained

    def __sklearn_tags__(self) -> Tags:
        """Describe the estimator to scikit-learn."""
        return pair_input.pair_tags(super().__sklearn_tags__(), self.preprocessor)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


class _Hinge:
    """The mean hinge loss and its minimisation."""

    def __init__(
        self, differences: Float64s, signs: Float64s, weights: Float64s, margin: float
    ) -> None:
        self.u, self.r, self.w, self.margin = differences, signs, weights, margin

    def threshold(self, q: Float64s) -> float:
        """Return the t with the smallest loss, one of the corners q + r * margin."""
        corners = q + self.r * self.margin
        order = np.argsort(corners)
        # Left of all corners the slope in t is minus the weight of the positive pairs. Each corner
        # adds the weight of its pair.
        slope = np.cumsum(self.w[order]) - self.w[self.r > 0].sum()
        return max(float(corners[order][np.searchsorted(slope, 0.0)]), 0.0)

    def loss(self, q: Float64s, t: float) -> float:
        """Return the loss."""
        return float(self.w @ np.maximum(self.margin - self.r * (t - q), 0.0)) / self.margin

    def minimise(self, norm: float, most: int, tol: float) -> tuple[Float64s, float, int, bool]:
        """Return M, its loss, the number of steps, and whether the loss is within tol of the least.

        The primal-dual algorithm of Chambolle and Pock, restarted from the mean of its iterates. A
        dual value bounds the least loss from below.
        """
        n, size = self.u.shape
        metric, t = np.eye(size) * norm / np.sqrt(size), 0.0
        q = self._squares(metric)
        dual, lead, t_lead = np.zeros(n), q, t
        length = self._length()
        best, best_loss, bound, gap = metric, np.inf, 0.0, np.inf
        sums: tuple[Any, Any, Any] = (0.0, 0.0, 0.0)
        count = 0
        for step in range(1, most + 1):
            slack = 1.0 - self.r * (t_lead - lead) / self.margin
            dual = np.clip(dual + slack / (norm * length), 0.0, 1.0)
            pull = self.w * dual * self.r
            metric = _projected(metric - norm / length * self._gradient(pull), norm)
            t_before, t = t, max(t + norm / length * pull.sum() / self.margin, 0.0)
            before, q = q, self._squares(metric)
            lead, t_lead = 2.0 * q - before, 2.0 * t - t_before
            sums = sums[0] + metric, sums[1] + q, sums[2] + dual
            count += 1
            if step % CHECKED and step < most:
                continue
            mean, mean_q, mean_dual = (total / count for total in sums)
            gaps = []
            for M, squares, weights in ((metric, q, dual), (mean, mean_q, mean_dual)):
                loss = self.loss(squares, self.threshold(squares))
                least = self._least(weights, norm)
                gaps.append(loss - least)
                bound = max(bound, least)
                if loss < best_loss:
                    best, best_loss = M, loss
            if best_loss - bound <= tol:
                return best, best_loss, step, True
            if min(gaps) < RESTART * gap:
                gap = min(gaps)
                if gaps[1] < gaps[0]:
                    metric, q, dual = mean, mean_q, mean_dual
                    t = self.threshold(q)
                    lead, t_lead = q, t
                sums, count = (0.0, 0.0, 0.0), 0
        return best, best_loss, most, False

    def _squares(self, metric: Float64s) -> Float64s:
        """Return the squared distance of each pair."""
        return np.asarray(np.einsum("ij,ij->i", self.u @ metric, self.u))

    def _gradient(self, pull: Float64s) -> Float64s:
        """Return the derivative by M of the squared distances, summed with these weights."""
        return (self.u.T * pull) @ self.u / self.margin

    def _length(self) -> float:
        """Return slightly more than the norm of the map from M and t to the slacks."""
        size = self.u.shape[1]
        metric, t, square = np.eye(size) / np.sqrt(size), 1.0, 1.0
        for _ in range(POWERS):
            pull = self.w * (self._squares(metric) - t) / self.margin
            metric, t = self._gradient(pull), -float(pull.sum()) / self.margin
            square = float(np.hypot(np.linalg.norm(metric), t))
            metric, t = metric / square, t / square
        return float(np.sqrt(square)) * 1.01

    def _least(self, dual: Float64s, norm: float) -> float:
        """Return a lower bound of the loss of every M and t, from dual weights in [0, 1]."""
        pull = self.w * dual
        like, unlike = float(pull[self.r > 0].sum()), float(pull[self.r < 0].sum())
        if like > unlike:  # else a large t would lower the bound without limit
            pull = np.where(self.r > 0, pull * (unlike / like), pull)
        values = eigh(self._gradient(pull * self.r), eigvals_only=True)
        return float(pull.sum() - norm * np.linalg.norm(np.minimum(values, 0.0)))


def _projected(matrix: Float64s, norm: float) -> Float64s:
    """Return the nearest positive semidefinite matrix of Frobenius norm at most ``norm``."""
    values, vectors = eigh(matrix)
    values = np.maximum(values, 0.0)
    length = float(np.linalg.norm(values))
    if length > norm:
        values *= norm / length
    return np.asarray((vectors * values) @ vectors.T)
