"""Exact principal component analysis of a stream."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from eigenstream import theory
from eigenstream.core.checks import check_number
from eigenstream.core.documented import documented
from eigenstream.core.linalg import Eigenpairs, Float64s
from eigenstream.core.storable import storable
from eigenstream.core.types import Constraints, Count, LabelsLike, RowsLike, Transformer
from eigenstream.rows.door import as_floats, validated
from eigenstream.rows.guard import reads
from eigenstream.rows.prepared import maps_streams, mean_over_rows
from eigenstream.rows.rows import chunk_rows
from eigenstream.subspace.estimators.results import VarianceResult
from eigenstream.subspace.estimators.time import TimeEstimator
from eigenstream.subspace.inference.held_out import HeldOutVariance, held_out_variance
from eigenstream.subspace.solvers.base import COUNT, FLAG, Solver
from eigenstream.subspace.sums.block import dense
from eigenstream.subspace.sums.learner import Learner


@storable()
@documented
@dataclass(eq=False, repr=False)
class StreamPCA(TimeEstimator):
    """Principal components of a stream, in one pass.

    The default solver stores the scatter matrix. The result is the same for any chunking, and for
    merged parts, up to rounding.

    Parameters
    ----------
    n_components : int, float in (0, 1), "mle" or None, default=2
        The number of components (1 if there is only one feature). A float is the smallest share of
        the variance to capture. "mle" estimates the number [2]_. None keeps
        min(n, D) components.
    whiten : bool, default=False
        Divide each feature by its standard deviation. ``components_`` remain orthonormal.
    <solver>
    center : bool or "sequences", default=True
        Subtract the mean. If False, the components are those of the uncentred second moment. With
        "sequences", the variance is that about the mean of each sequence; ``transform`` subtracts
        the overall mean.
    scale : bool, default=False
        Divide each feature by its standard deviation, or by its root mean square with
        ``center=False``. The result does not depend on the chunking. Constant features are not
        scaled.
    <features, missing>

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal rows, by descending variance. The entry of the largest size is positive. NaN for
        columns that were never seen.
    eigenvalues_ : array of shape (n_components,)
        Mean squares along the components (divided by n).
    explained_variance_ : array of shape (n_components,)
        The same divided by n - 1, as in scikit-learn. Sample weights count as repetitions.
    explained_variance_ratio_ : array of shape (n_components,)
        The share of the total variance that each component captures.
    singular_values_ : array of shape (n_components,)
        The singular values of the centred and weighted rows.
    noise_variance_ : float
        Mean variance of the discarded directions, as in probabilistic PCA [1]_.
    mean_ : array of shape (n_features,)
        The mean that is subtracted from each row.
    scale_ : array of shape (n_features,) or None
        The divisor of each feature. None without ``scale``.
    n_samples_seen_ : int
        The number of rows learned from.
    n_samples_skipped_ : int
        The number of rows that ``missing="skip"`` left out.
    result_ : VarianceResult
        The result, with the total variance, ``held_out``, and ``uncertainty`` after
        ``fit(X, blocks=20)``.
    solver_ : str
        The name of the solver in use.

    See Also
    --------
    SlowSubspace : Directions that vary, but slowly.
    ContrastSubspace : Directions that vary more than in a background.

    References
    ----------
    .. [1] M. E. Tipping and C. M. Bishop, "Mixtures of Probabilistic Principal Component
       Analyzers", Neural Computation, vol. 11, pp. 443-482, 1999.
    .. [2] T. P. Minka, "Automatic Choice of Dimensionality for PCA", Advances in Neural
       Information Processing Systems, vol. 13, pp. 598-604, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import StreamPCA
    >>> X = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> whole = StreamPCA(n_components=1).fit(X)
    >>> whole.components_.round(12), whole.explained_variance_ratio_.round(12)
    (array([[1., 0.]]), array([0.9]))
    >>> by_rows = StreamPCA(n_components=1)
    >>> for row in X:
    ...     _ = by_rows.partial_fit(row[None, :])
    >>> by_rows.components_.round(12)
    array([[1., 0.]])
    """

    _on_devices = True
    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [
            COUNT,
            Interval(Real, 0, 1, closed="neither"),
            StrOptions({"mle"}),
            None,
        ],
        "whiten": [FLAG],
    }

    n_components: Count | str = 2
    _: KW_ONLY
    whiten: bool = False
    solver: str | Solver = "auto"
    center: bool | str = True
    scale: bool = False
    features: Transformer | None = None
    missing: str = "raise"

    def _solve(self, learner: Learner) -> VarianceResult:
        terms = learner.terms
        gaps = self._gaps_of(learner) if self.missing == "available" else None
        scale = learner.deviations() if self.scale else None
        n = self._wanted(terms.n_features)
        operator = learner.thin_operator(n, scale)
        total = operator.trace
        is_count = isinstance(n, Integral)
        pairs = operator.largest((1.0, 0.0), n if is_count else terms.n_features)
        pairs = Eigenpairs(np.maximum(pairs.values, 0.0), pairs.vectors)
        if n is None:
            pairs = pairs.first(terms.n_terms)
        elif n == "mle":
            pairs = pairs.first(self._likeliest(pairs.values, terms.n_terms))
        elif not is_count:
            shares = np.cumsum(pairs.values / max(total, np.finfo(float).tiny))
            pairs = pairs.first(int(np.searchsorted(shares, n, side="right")) + 1)
        mean, weight = learner.mean, terms.totals()[0]
        # The mean takes one degree of freedom; weights count as repetitions.
        freedom = weight / (weight - 1.0) if self.center and weight > 1.0 else 1.0
        width = terms.n_features - (0 if gaps is None else len(gaps.unseen))
        rest = min(width, terms.n_terms) - len(pairs.values)
        noise = max(total - float(pairs.values.sum()), 0.0) / rest if rest > 0 else 0.0
        return VarianceResult(
            pairs,
            mean,
            scale,
            freedom,
            total,
            noise * freedom,
            whiten=bool(self.whiten),
            gaps=gaps,
        )

    @staticmethod
    def _likeliest(values: Float64s, n_rows: int) -> int:
        """Return the number of components of the largest likelihood."""
        from sklearn.decomposition._pca import _infer_dimension  # takes 0.2 s to import

        if n_rows < len(values):
            raise ValueError(
                f"n_components='mle' is only supported if n_samples >= n_features, and there are "
                f"{n_rows} rows of {len(values)} features. Give the number."
            )
        return int(_infer_dimension(values * n_rows / max(n_rows - 1, 1), n_rows))

    def _patterns(self) -> Float64s:
        return super()._patterns() * self._principal.lengths[:, None]

    @property
    @reads
    def result_(self) -> VarianceResult:
        """The result, a frozen dataclass: eigenpairs, mean, scale and variances."""
        return self._of_this(cast(VarianceResult, self._tested()))

    @property
    def _principal(self) -> VarianceResult:
        """The result without a test."""
        return cast(VarianceResult, self._solved())

    def _test(self, answer: Any, learner: Learner) -> HeldOutVariance | None:
        halves = learner.half_operators(answer.scale)
        if not halves:
            return None
        n_rows = [half.terms.n_terms for half in learner.each_half]
        return held_out_variance(answer.pairs.values, halves, n_rows, len(answer.mean))

    @property
    def explained_variance_(self) -> Float64s:
        """The variance of the data along each component, divided by n - 1 if centred."""
        result = self._principal
        return np.asarray(result.pairs.values * result.freedom)

    @property
    def explained_variance_ratio_(self) -> Float64s:
        """The share of the total variance that each component captures."""
        values, total = self._principal.pairs.values, self._principal.total
        return values / total if total > 0 else np.zeros_like(values)

    @property
    def singular_values_(self) -> Float64s:
        """The singular values of the centred and weighted rows."""
        weight = self._fitted_learner().with_all_rows().terms.totals()[0]
        return np.asarray(np.sqrt(self._principal.pairs.values * weight))

    @property
    def noise_variance_(self) -> float:
        """The mean variance of the discarded directions."""
        return self._principal.noise

    def get_covariance(self) -> Float64s:
        """Return the covariance of the rows under probabilistic PCA.

        Returns
        -------
        array of shape (n_features, n_features)
            The variances along the components, and ``noise_variance_`` in all other directions.

        Examples
        --------
        >>> pca = StreamPCA(1).fit([[2, 1], [-2, 1], [2, -1], [-2, -1]])
        >>> pca.get_covariance().round(2)
        array([[5.33, 0.  ],
               [0.  , 1.33]])
        """
        return self._probabilistic(1.0)

    def get_precision(self) -> Float64s:
        """Return the inverse of ``get_covariance``.

        Returns
        -------
        array of shape (n_features, n_features)
            The inverse. A direction without variance counts with the variance of rounding.

        Examples
        --------
        >>> pca = StreamPCA(1).fit([[2, 1], [-2, 1], [2, -1], [-2, -1]])
        >>> pca.get_precision().round(2)
        array([[0.19, 0.  ],
               [0.  , 0.75]])
        """
        return self._probabilistic(-1.0)

    def _probabilistic(self, power: float) -> Float64s:
        """Return a power of the covariance under probabilistic PCA."""
        result = self._principal
        vectors, width = result.pairs.vectors, len(result.mean)
        variances, noise = self.explained_variance_, result.noise
        if power < 0.0:
            variances, noise = self._floored(width)
        rest = 0.0 if len(variances) == width else noise**power
        matrix = (vectors * (variances**power - rest)) @ vectors.T + rest * np.eye(width)
        scale = np.ones(width) if result.scale is None else result.scale**power
        return matrix * np.outer(scale, scale)

    def _floored(self, width: int) -> tuple[Float64s, float]:
        """Return the variances and the noise, at least the variance that rounding can cause."""
        variances = self.explained_variance_
        least = float(variances.max()) * width * np.finfo(np.float64).eps
        least = max(least, np.finfo(np.float64).tiny)
        return np.maximum(variances, least), max(self.noise_variance_, least)

    def variance_along(self, direction: ArrayLike) -> float:
        """Return the variance q'Rq / q'q along a direction q.

        Parameters
        ----------
        direction : array-like of shape (n_features,)
            The direction, of any length.

        Returns
        -------
        float
            The variance.

        Examples
        --------
        >>> pca = StreamPCA(1).fit(
        ...     [[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
        ... )
        >>> pca.variance_along([1.0, 0.0]), pca.variance_along([0.0, 3.0])
        (2.0, 0.5)
        """
        q, answer = np.asarray(direction, np.float64), self._answered()
        width = answer.learner.n_features
        if q.shape != (width,) or not 0.0 < q @ q < np.inf:
            raise ValueError(
                f"direction must be {width} finite numbers, not all zero. Got shape {q.shape}."
            )
        (variance,), _ = answer.operator().moments(q[:, None])
        return float(variance / (q @ q))

    def advise(self, learning_rate: float) -> "theory.Advice":
        """Predict the number of examples that Sanger's rule needs to find these components.

        The plateaus follow from the learned eigenvalues. All other directions count as noise of
        variance ``noise_variance_`` [1]_. The prediction is exact in the limit of many features
        whose remaining spectrum is flat.

        Parameters
        ----------
        learning_rate : float
            The learning rate of each step, as in ``SangerNetwork(learning_rate=...)``.

        Returns
        -------
        eigenstream.theory.Advice
            Its rates are learning rates times the number of features and the noise.

        References
        ----------
        .. [1] M. Biehl, A. Freking, M. Hölzer, G. Reents and E. Schlösser, "The Dynamics of On-line
           Learning by Competitive and by Principal Component Methods", 1998, section 3.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import StreamPCA
        >>> X = np.random.default_rng(0).standard_normal((5000, 200))
        >>> X[:, :2] *= [2.0, 1.6]
        >>> advice = StreamPCA(n_components=2).fit(X).advise(0.002)
        >>> advice.stable, bool(advice.examples > 500)
        (True, True)
        """
        check_is_fitted(self)
        check_number(learning_rate, "learning_rate", above=0)
        result, noise = self._principal, self.noise_variance_
        width, values = len(result.mean), result.pairs.values
        rounding = width * float(np.finfo(np.float64).eps) * result.total
        if len(values) + 2 > width or not noise > rounding or values[-1] <= noise * (1 + 1e-9):
            raise ValueError(
                f"The theory requires eigenvalues above the noise, and at least 2 more features "
                f"than components. The {len(values)} components of {width} features have "
                f"eigenvalues down to {values[-1]:g}, and the noise is {noise:g}. Use "
                "fewer components."
            )
        units = theory.PrincipalDynamics
        model = units.of_variances(values, learning_rate=learning_rate * width, noise=noise)
        return model.advise(n_features=width)

    def score(self, X: RowsLike, y: LabelsLike = None) -> float:
        """Return the mean log-likelihood of rows under probabilistic PCA.

        It equals the score of scikit-learn's PCA. A direction without variance counts with the
        variance of rounding.

        Parameters
        ----------
        X : array-like or sparse of shape (n, n_features), a list of them, or a stream
            The rows.
        y : None
            Ignored. It exists for compatibility with scikit-learn.

        Returns
        -------
        float
            The mean log-likelihood.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import StreamPCA
        >>> X = load_iris().data
        >>> round(StreamPCA(2).fit(X[::2]).score(X[1::2]), 2)
        -2.69
        """
        return mean_over_rows(self.score_samples(X))

    @maps_streams
    def score_samples(self, X: RowsLike) -> Float64s:
        """Return the log-likelihood of each row under probabilistic PCA.

        Parameters
        ----------
        X : array-like or sparse of shape (n, n_features), or a stream
            The rows.

        Returns
        -------
        array of shape (n,), or a stream
            The log-likelihood of each row.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from eigenstream import StreamPCA
        >>> X = load_iris().data
        >>> StreamPCA(2).fit(X).score_samples(X[:2]).round(1)
        array([-1.8, -2.2])
        """
        check_is_fitted(self)
        rows = as_floats(validated(self, X, reset=False))
        rows = rows if self._map is None else self.features_.transform(rows)
        seen = np.isfinite(self.mean_)  # other columns have no values
        result = self._principal
        mean, vectors = result.mean[seen], result.pairs.vectors[seen]
        rows = rows if seen.all() else rows[:, seen]
        variances, noise = self._floored(len(mean))
        rest = len(mean) - len(variances)
        scale = np.ones(rows.shape[1]) if result.scale is None else result.scale[seen]
        scores = np.empty(rows.shape[0])
        step = chunk_rows(rows.shape[1])
        for start in range(0, len(scores), step):
            centred = (dense(rows[start : start + step]) - mean) / scale
            features = centred @ vectors
            scores[start : start + step] = (features**2 / variances).sum(axis=1)
            if rest > 0:
                outside = (centred**2).sum(axis=1) - (features**2).sum(axis=1)
                scores[start : start + step] += np.maximum(outside, 0.0) / noise
        logs = np.log(variances).sum() + 2.0 * np.log(scale).sum()
        scores += logs + len(mean) * np.log(2.0 * np.pi)
        if rest > 0:
            scores += rest * np.log(noise)
        return -0.5 * scores
