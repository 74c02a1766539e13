"""Principal component analysis of a stream, exact."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_number, check_whole, is_sparse
from eigenstream._linalg import Float64s
from eigenstream._memory import chunk_rows
from eigenstream.contrast import Contrast
from eigenstream.estimators import _input, _mapping
from eigenstream.estimators._documented import documented
from eigenstream.estimators.temporal._variances import Variances
from eigenstream.estimators.temporal.base import StreamEstimator
from eigenstream.learners import table
from eigenstream.scatters import VarianceScatter
from eigenstream.theory import Advice, PrincipalDynamics


@documented
class StreamPCA(StreamEstimator):
    """Principal component analysis, exact in one pass over a stream of any length.

    Where an incremental PCA forgets what its buffer cannot hold, this one keeps the scatter matrix
    itself: any chunking, and any merging of parts learned on different machines, gives the
    components of one pass over all the data, up to rounding.

    Parameters
    ----------
    n_components : int, float in (0, 1), or None, default=2
        How many components (one where there is one feature only); or the share of the variance that
        they must capture, at least; or None for all that have any variance (the numerical rank).
    solver : {"auto", "dense", "krylov", "flow", "sketch"}, default="auto"
        "dense" keeps the D x D scatter and finds its top eigenvectors. "krylov" never forms it and
        reads the data again and again, for D too large for a matrix. "sketch" reads once and keeps
        a few times n_components vectors and the exact trace: near the best answer on long streams
        that stay as they are, nearer with ``passes=2``; no step size, mergeable. "auto" takes
        "dense" where matrices fit in memory; beyond, "sketch" in ``partial_fit``, and in ``fit``
        where it is quicker than "krylov". ``solver_`` says what it chose.
        "flow" learns online by the Oja-Karhunen flow [SLOW], one observation at a time: one pass,
        no D x D matrix, an approximate answer at any moment. Its eigenvalues are estimates.
    center : bool, default=True
        Take off the mean. Without it the components are those of the uncentred second moment.
    scale : bool, default=False
        Divide each feature by its standard deviation (``scale_``; by its root mean square with
        ``center=False``): components of the correlations instead of the covariances. Exact from the
        scatter, in any chunking; a constant feature is left as it is. "krylov" and "flow" keep no
        scatter and refuse it.
    <features>
    missing : {"raise", "skip"}, default="raise"
        What to do about rows with NaN or infinity: refuse them, or leave them out of the learning
        (``n_samples_skipped_``), with a warning from one row in ten on.
    <schedule, init, forgetting, block_size, oversampling, hook, random_state>

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
    contrast_ : Contrast
        The scatter itself: mergeable, and solvable anew. Absent after a "krylov" fit.

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

    def __init__(
        self,
        n_components: Any = 2,
        *,
        solver: str = "auto",
        center: bool = True,
        scale: bool = False,
        features: Any = None,
        missing: _input.Missing = "raise",
        schedule: Any = "auto",
        init: Any = "data",
        forgetting: float | None = None,
        block_size: int | None = None,
        oversampling: float | None = None,
        hook: Callable[..., Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.center = center
        self.scale = scale
        self.features = features
        self.missing = missing
        self.schedule = schedule
        self.init = init
        self.forgetting = forgetting
        self.block_size = block_size
        self.oversampling = oversampling
        self.hook = hook
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_common_parameters()
        n = self.n_components
        if isinstance(n, float | np.floating):
            check_number(n, "n_components (a share of the variance)", above=0, below=1)
        elif n is not None:
            check_whole(n, "n_components")
        self._check_able(self.solver)

    def _check_able(self, solver: str, width: int | None = None) -> None:
        if not isinstance(self.n_components, int | np.integer):
            what = f"n_components={self.n_components!r}"
            table.require(self.DATA, solver, "any_number", what, "Give a whole number")

    def _fixed_weights(self) -> tuple[float, float] | None:
        return 1.0, 0.0

    def _lag(self) -> int:
        return 0

    def _new_contrast(self, n_features: int) -> Contrast:
        return Contrast(VarianceScatter(n_features, center=self.center))

    def _question(self, n_features: int) -> Variances:
        return Variances(self._wanted(n_features), self.center, self.scale)

    @property
    def explained_variance_(self) -> Float64s:
        """The variance of the data along each component (divided by n - 1 when centred)."""
        solution = self._solved()
        variances: Float64s = solution.pairs.values * solution.details["freedom"]
        return variances

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
        return float(q @ self.contrast_.reward.matrix() @ q / (q @ q))

    def advise(self, rate: float) -> Advice:
        """Say how many examples units of Sanger's rule would need to find these components.

        Their plateaus follow from the spectrum that was learned, the mean of the variances left out
        as noise in all other directions ([DYN] sec. 3); exact for many features and a flat rest.

        Parameters
        ----------
        rate : float
            The learning rate of each step, as in ``SangerNetwork(schedule=Constant(rate))``.

        Returns
        -------
        eigenstream.theory.Advice
            Its ``eta`` and other rates are these times the number of features and the noise.

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
        check_number(rate, "rate", above=0)
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
        model = PrincipalDynamics.of_variances(self.eigenvalues_, eta=rate * width, noise=noise)
        return model.advise(n_features=width)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of rows under probabilistic PCA [TIPPING].

        The same as that of scikit-learn's PCA.
        """
        return float(self.score_samples(X).mean())

    def score_samples(self, X: Any) -> Float64s:
        """Return the log-likelihood of each row under probabilistic PCA [TIPPING]."""
        check_is_fitted(self)
        rows = _input.as_floats(_input.validated(self, X, reset=False))
        rows = _mapping.mapped(self._map, rows)
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
            features = centred @ self.components_.T
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
