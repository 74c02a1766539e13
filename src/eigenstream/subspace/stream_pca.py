"""Principal component analysis of a stream, exact."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from eigenstream import theory
from eigenstream._checks import check_number, is_sparse
from eigenstream._linalg import Float64s, numerical_rank
from eigenstream._machine import chunk_rows
from eigenstream._storable import storable
from eigenstream.subspace.base import Answer, documented
from eigenstream.subspace.learner import Learner
from eigenstream.subspace.operators import Eigenpairs
from eigenstream.subspace.rows import as_floats, validated
from eigenstream.subspace.solvers import COUNT
from eigenstream.subspace.time import TimeEstimator, scale_of


@storable()
@documented
class StreamPCA(TimeEstimator):
    """Principal component analysis, exact in one pass over a stream of any length.

    It keeps the scatter matrix itself, so any chunking, and any merging of parts learned on
    different machines, gives the components of one pass over all the data, up to rounding.

    Parameters
    ----------
    n_components : int, float in (0, 1), or None, default=2
        How many components (one where there is one feature only); or the least share of the
        variance that they capture; or None for the numerical rank.
    <solver>
    center : bool, default=True
        Subtract the mean. Without it the components are those of the uncentred second moment.
    scale : bool, default=False
        Divide each feature by its standard deviation (``scale_``; by its root mean square with
        ``center=False``). Exact in any chunking; a constant feature is left as it is.
    <features, missing>

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal rows, by descending variance; the first of the largest entries is positive.
    eigenvalues_ : array of shape (n_components,)
        Mean squares along the components (divided by n).
    explained_variance_ : array of shape (n_components,)
        The same divided by n - 1, as in scikit-learn (sample weights count as repetitions).
    explained_variance_ratio_ : array of shape (n_components,)
    noise_variance_ : float
        Mean variance of the directions left out, as in probabilistic PCA [TIPPING].
    mean_, scale_, n_samples_seen_, n_samples_skipped_, objective_, rank_, solver_
    operator_ : MatrixOperator
        The scatter matrix (``reward``). Only with solver="dense".

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
    >>> np.allclose(by_rows.components_, whole.components_)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = TimeEstimator._parameter_constraints | {
        "n_components": [COUNT, Interval(Real, 0, 1, closed="neither"), None],
    }

    def __init__(
        self,
        n_components: Any = 2,
        *,
        solver: Any = "auto",
        center: bool = True,
        scale: bool = False,
        features: Any = None,
        missing: str = "raise",
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.center = center
        self.scale = scale
        self.features = features
        self.missing = missing

    def _solve(self, learner: Learner) -> Answer:
        operator, terms, scale = learner.operator(), learner.terms, None
        if self.scale:
            scale = scale_of(learner, operator)
            operator = operator.scaled(scale)
        n, total = self._wanted(terms.n_features), operator.trace
        whole = isinstance(n, Integral)
        pairs = operator.largest((1.0, 0.0), n if whole else terms.n_features)
        pairs = Eigenpairs(np.maximum(pairs.values, 0.0), pairs.vectors)
        if n is None:
            pairs = pairs.first(numerical_rank(pairs.values, operator.rounding, operator.floor))
        elif not whole:
            shares = np.cumsum(pairs.values) / max(total, np.finfo(float).tiny)
            pairs = pairs.first(int(np.searchsorted(shares, n, side="right")) + 1)
        weight = terms.totals()[0]
        # The mean takes one degree of freedom; weights count as repetitions.
        freedom = weight / (weight - 1.0) if self.center and weight > 1.0 else 1.0
        rest = min(terms.n_features, terms.n_terms) - len(pairs.values)
        noise = max(total - float(pairs.values.sum()), 0.0) / rest if rest > 0 else 0.0
        details: dict[str, Any] = {"freedom": freedom, "total": total, "noise": noise * freedom}
        details["weights"] = (1.0, 0.0)
        return Answer(pairs, terms.mean, scale, details)

    @property
    def explained_variance_(self) -> Float64s:
        """The variance of the data along each component (divided by n - 1 when centred)."""
        answer = self._solved()
        return np.asarray(answer.pairs.values * answer.details["freedom"])

    def _variances(self) -> Float64s:
        return self.explained_variance_

    @property
    def explained_variance_ratio_(self) -> Float64s:
        """The share of the total variance that each component captures."""
        total = self._solved().details["total"]
        return self.eigenvalues_ / total if total > 0 else np.zeros_like(self.eigenvalues_)

    @property
    def noise_variance_(self) -> float:
        """The mean variance of the directions left out [TIPPING]."""
        return float(self._solved().details["noise"])

    def variance_along(self, direction: Any) -> float:
        """Return the variance probe psi(q) = q'Rq of a direction, taken at length 1.

        >>> pca = StreamPCA(1).fit([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        >>> pca.variance_along([1.0, 0.0]), pca.variance_along([0.0, 3.0])
        (2.0, 0.5)
        """
        q = np.asarray(direction, np.float64)
        return float(q @ self.operator_.matrix((1.0, 0.0)) @ q / (q @ q))

    def advise(self, learning_rate: float) -> "theory.Advice":
        """Predict how many examples units of Sanger's rule would need to find these components.

        Their plateaus follow from the spectrum that was learned, the mean of the variances left out
        as noise in all other directions ([DYN] sec. 3); exact for many features and a flat rest.

        Parameters
        ----------
        learning_rate : float
            The learning rate of each step, as in ``SangerNetwork(learning_rate=...)``.

        Returns
        -------
        eigenstream.theory.Advice
            Its rates are these times the number of features and the noise.

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
        width, noise = len(self.mean_), self.noise_variance_
        if (
            len(self.components_) + 2 > width
            or not noise > 0
            or self.eigenvalues_[-1] <= noise * (1 + 1e-9)
        ):
            raise ValueError(
                f"the theory wants components above the noise of many more directions, and here "
                f"{len(self.components_)} of {width} have variances down to "
                f"{self.eigenvalues_[-1]:g} beside a noise of {noise:g}: ask with fewer components."
            )
        units = theory.PrincipalDynamics
        model = units.of_variances(
            self.eigenvalues_, learning_rate=learning_rate * width, noise=noise
        )
        return model.advise(n_features=width)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of rows under probabilistic PCA [TIPPING].

        The same as that of scikit-learn's PCA.
        """
        return float(self.score_samples(X).mean())

    def score_samples(self, X: Any) -> Float64s:
        """Return the log-likelihood of each row under probabilistic PCA [TIPPING]."""
        check_is_fitted(self)
        rows = as_floats(validated(self, X, reset=False))
        rows = rows if self._map is None else self.features_.transform(rows)
        variances, noise = self.explained_variance_, self.noise_variance_
        rest = rows.shape[1] - len(variances)
        least = variances.max() * len(self.mean_) * np.finfo(np.float64).eps
        if variances.min() <= least or (rest > 0 and noise <= least):
            raise ValueError(
                f"the model gives some directions no variance (rank {self.rank_} of "
                f"{rows.shape[1]}), so rows have no density. Use fewer components or more data."
            )
        scale = np.ones(rows.shape[1]) if self.scale_ is None else self.scale_
        scores = np.empty(rows.shape[0])
        step = chunk_rows(rows.shape[1])
        for start in range(0, len(scores), step):
            block = rows[start : start + step]
            block = block.toarray() if is_sparse(block) else block
            centred = (block.astype(np.float64) - self.mean_) / scale
            features = centred @ self._solved().pairs.vectors
            scores[start : start + step] = (features**2 / variances).sum(axis=1)
            if rest > 0:
                outside = (centred**2).sum(axis=1) - (features**2).sum(axis=1)
                scores[start : start + step] += np.maximum(outside, 0.0) / noise
        scores += (
            np.log(variances).sum()
            + 2.0 * np.log(scale).sum()
            + len(self.mean_) * np.log(2.0 * np.pi)
        )
        if rest > 0:
            scores += rest * np.log(noise)
        return -0.5 * scores
