"""Principal component analysis of a stream, exact."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_number, check_whole, is_sparse
from eigenstream._linalg import Float64s, numerical_rank
from eigenstream.contrast import Contrast
from eigenstream.estimators import _input, _mapping
from eigenstream.estimators._streaming import StreamEstimator
from eigenstream.estimators.base import Solution
from eigenstream.scatters import Scatter, VarianceScatter
from eigenstream.solvers import krylov
from eigenstream.solvers.base import Eigenpairs
from eigenstream.solvers.dense import largest
from eigenstream.solvers.flow import FlowSolution


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
    solver : {"auto", "dense", "krylov", "flow"}, default="auto"
        "dense" keeps the D x D scatter and finds its top eigenvectors. "krylov" never forms it and
        reads the data again and again, for D too large for a matrix. "auto" chooses between them
        by D, the number of rows and the memory of the machine; ``solver_`` says what it chose.
        "flow" learns online by the Oja-Karhunen flow [SLOW], one observation at a time: one pass,
        no D x D matrix, an approximate answer at any moment. Its eigenvalues are estimates.
    center : bool, default=True
        Take off the mean. Without it the components are those of the uncentred second moment.
    scale : bool, default=False
        Divide each feature by its standard deviation (``scale_``; by its root mean square with
        ``center=False``): components of the correlations instead of the covariances. Exact from the
        scatter, in any chunking; a constant feature is left as it is. "krylov" and "flow" keep no
        scatter and refuse it.
    features : transformer, optional
        A map to apply first, such as RBFNetwork. ``fit`` fits a clone of it (``features_``) on all
        the rows. ``partial_fit`` lets it collect the first rows of the stream until it is ready,
        and learns from the rows after those: a map that does not say how many it still needs, by
        ``n_rows_needed_``, is refused there. One that is fitted already goes in as
        ``sklearn.frozen.FrozenEstimator(map)``.
    missing : {"raise", "skip"}, default="raise"
        What to do about rows with NaN or infinity: refuse them, or leave them out of the learning
        (``n_samples_skipped_``), with a warning from one row in ten on.
    schedule : "auto", a schedule of ``eigenstream.schedules`` or a function, default="auto"
        How large the steps of "flow" are. "auto" asks for no choice and does not depend on
        the scale; what it reaches, and where it does not, is a table in docs/online.md.
    init : {"data", "random"} or array of shape (n_components, n_features), default="data"
        Where "flow" starts: at the first observations, orthonormalised, by default.
    forgetting : float in (0, 1), optional
        For "flow" on a stream that drifts: the share by which the past loses weight at each step.
    block_size : int, optional
        How many steps "flow" takes between two matrix products; chosen by default.
    hook : callable, optional
        Called with the state of "flow" about every 1000 steps, or every ``hook.every``; a true
        answer ends the call. See ``eigenstream.solvers.flow.FlowMonitor``.
    random_state : int, RandomState or None, default=None
        For the start of "flow", where the data do not determine it.

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
        self.hook = hook
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_common_parameters()
        n = self.n_components
        if isinstance(n, float | np.floating):
            check_number(n, "n_components (a share of the variance)", above=0, below=1)
        elif n is not None:
            check_whole(n, "n_components")
        if self.solver == "flow":
            self._check_flow()

    def _fixed_weights(self) -> tuple[float, float] | None:
        return 1.0, 0.0

    def _flow_details(self, solution: FlowSolution) -> tuple[Eigenpairs, dict[str, Any]]:
        return self._variances(
            solution.pairs, solution.weight, solution.n_terms, solution.total, len(solution.mean)
        )

    def _lag(self) -> int:
        return 0

    def _new_contrast(self, n_features: int) -> Contrast:
        return Contrast(VarianceScatter(n_features, center=self.center))

    def _solve_dense(self, contrast: Contrast) -> Solution:
        scatter, matrix = contrast.reward, contrast.matrix()
        n = self._wanted(len(matrix))
        if isinstance(n, int | np.integer):
            pairs = largest(matrix, int(n))
        else:
            pairs = largest(matrix, len(matrix))
            if n is None:
                floor = contrast.floor((1.0, 0.0))
                kept = max(numerical_rank(pairs.values, scatter.rounding, floor), 1)
            else:
                shares = np.cumsum(pairs.values) / max(np.trace(matrix), np.finfo(float).tiny)
                kept = min(int(np.searchsorted(shares, n, side="right")) + 1, len(shares))
            pairs = Eigenpairs(pairs.values[:kept], pairs.vectors[:, :kept])
        return self._solution_of(pairs, scatter, scatter.n_rows, float(np.trace(matrix)))

    def _solve_krylov(self, operator: krylov.LaggedOperator, n_rows: int) -> Solution:
        pairs = krylov.largest(operator, (1.0, 0.0), self._wanted(operator.n_features))
        return self._solution_of(pairs, operator, n_rows, operator.trace())

    def _solution_of(
        self,
        pairs: Eigenpairs,
        moments: Scatter | krylov.LaggedOperator,
        n_rows: int,
        total: float,
    ) -> Solution:
        mean = moments.mean
        pairs, details = self._variances(pairs, moments.weight, moments.count, total, len(mean))
        return Solution(pairs, mean if self.center else np.zeros_like(mean), n_rows, details)

    def _variances(
        self, pairs: Eigenpairs, weight: float, count: int, total: float, width: int
    ) -> tuple[Eigenpairs, dict[str, Any]]:
        """Return the eigenpairs, and what turns them into explained variances and noise."""
        # No variance is negative; what rounding says otherwise is zero.
        pairs = Eigenpairs(np.maximum(pairs.values, 0.0), pairs.vectors)
        # The mean takes one degree of freedom, as in scikit-learn; weights count as repetitions.
        freedom = weight / (weight - 1.0) if self.center and weight > 1.0 else 1.0
        rest = min(width, count) - len(pairs.values)
        noise = max(total - float(pairs.values.sum()), 0.0) / rest if rest > 0 else 0.0
        details = {"freedom": freedom, "total": total, "noise": noise * freedom}
        return pairs, details | {"weights": (1.0, 0.0)}

    @property
    def explained_variance_(self) -> Float64s:
        """The variance of the data along each component (divided by n - 1 when centred)."""
        solution = self._solved()
        variances: Float64s = solution.pairs.values * solution.details["freedom"]
        return variances

    @property
    def explained_variance_ratio_(self) -> Float64s:
        """The share of the total variance that each component captures."""
        total = self._solved().details["total"]
        return self.eigenvalues_ / total if total > 0 else np.zeros_like(self.eigenvalues_)

    @property
    def noise_variance_(self) -> float:
        """The mean variance of the directions left out [TIPPING]."""
        return float(self._solved().details["noise"])

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
        step = _input.chunk_rows(rows.shape[1])
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
