"""Slow subspaces: features with a large variance and small steps in time."""

from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from eigenstream.core.checks import warn_user
from eigenstream.core.documented import documented
from eigenstream.core.linalg import Eigenpairs, Float64s, canonical_signs, eigenvalues_of
from eigenstream.core.storable import storable
from eigenstream.core.types import Constraints, Count, LabelsLike, RowsLike, Setting, Transformer
from eigenstream.rows.fit import Fit, Resumption
from eigenstream.rows.guard import reads
from eigenstream.rows.prepared import reads_rows
from eigenstream.rows.rows import WeighedRows
from eigenstream.subspace.estimators.results import Forms, SlowResult
from eigenstream.subspace.estimators.time import TimeEstimator
from eigenstream.subspace.inference.held_out import (
    HeldOut,
    held_out,
    implied,
    lagged,
    n_directions,
    noise_factors,
    on_halves,
    slow_features,
    slow_ratios,
    slowest_first,
)
from eigenstream.subspace.inference.slow_bounds import AlphaPath, alpha_of_bound, alpha_path
from eigenstream.subspace.solvers.base import COUNT, CRITERION, FLAG, Problem, Solver
from eigenstream.subspace.solvers.flow import Flow, FlowOperator
from eigenstream.subspace.solvers.ratio_frame import RatioFrame
from eigenstream.subspace.sums.accumulators import Moments
from eigenstream.subspace.sums.block import Center
from eigenstream.subspace.sums.learner import Learner, Watcher
from eigenstream.subspace.sums.operators import MatrixOperator
from eigenstream.subspace.sums.propagator import LaggedCovariances, koopman_weights
from eigenstream.subspace.sums.row_moments import PairMoments
from eigenstream.subspace.sums.terms import VARIANCE, VELOCITY, TimeTerms, Weights
from eigenstream.subspace.watchers.values import RadiusBound, ShortLag, SuspectColumns

#: The alpha of the flow by default, which is that of the paper's experiments. A larger value admits
#: faster features.
FLOW_ALPHA = 0.2


@storable()
@documented
@dataclass(eq=False, repr=False)
class SlowSubspace(TimeEstimator):
    """Subspace whose features have a large variance and a small velocity.

    Unlike slow feature analysis, it needs no inverse and no regularisation [1]_.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None, default=2
        The number of components (1 if there is only one feature). None keeps all directions with a
        positive eigenvalue. A float keeps the slowest features with this share of the kinetic
        variance, the sum of the squared autocorrelations. Only with criterion="ratio".
    alpha : float in (0, 1], "auto" or "bound", default="auto"
        The weight of the variance; 1 is PCA. "auto" has 1.1 times the odds of the smallest alpha
        for which all ``n_components`` eigenvalues are positive. "bound" minimises an error bound
        ([1]_ Theorem 5). It warns if the bound is vacuous, which is often the case. With
        solver="flow", which stores no matrices, "auto" is 0.2.
    lag : int, default=1
        The time step of the velocity, in rows.
    criterion : {"difference", "ratio"}, default="difference"
        "ratio" maximises variance over velocity instead, as slow feature analysis does [2]_. Its
        components have unit variance and are not orthogonal, and alpha is ignored. Directions
        whose variance is zero up to rounding are excluded.
    reversible : bool or "koopman", default=False
        Average over both rows of each velocity for the mean and the variance, instead of the later
        one. The features are then those of TICA for a reversible process. With "koopman", each
        velocity also has the stationary weight of its earlier row [3]_, see
        ``DynamicSubspace.koopman_weights``. Short sequences that begin elsewhere then give the
        answer in equilibrium. It takes two passes and the dense solver. Ignored for "difference".
    shrinkage : float in [0, 1], default=1e-4
        For "ratio": the share of B that a multiple of the identity replaces, with the same mean
        diagonal, in units of the columns' standard deviations. The features do not depend on the
        units of the columns. Combinations of columns with a tiny variance are not chosen. With 0,
        directions without velocity are excluded. Ignored for "difference".
    rank : int, float in (0, 1) or None, default=None
        The number of principal directions that features may combine, or the share of the variance
        that these capture, for "ratio" in units of the columns' standard deviations. Directions of
        tiny variance then have no influence, and features of few rows are less often chance. Only
        with solver="dense".
    <solver>
    center : bool or "sequences", default=True
        Compute the variance about the mean. If False, about zero. With "sequences", about the mean
        of each sequence, for sequences with different offsets; ``transform`` subtracts the overall
        mean.
    scale : bool, default=False
        Divide each feature by its standard deviation. The result then does not depend on the units.
        Not available with ``alpha="bound"``.
    <features>
    basis : {"slowness", "eigenvalue", "kinetic", "commute"}, default="slowness"
        The basis of the learned subspace. With "slowness" the features are uncorrelated, have unit
        variance, and are sorted from slow to fast. "kinetic" multiplies them by their
        autocorrelation, and "commute" by the root of half their time scale. With "eigenvalue" the
        components are orthonormal eigenvectors of T, so distances between features are those
        within the subspace.
        With "slowness" and a given alpha, features that lower the objective are mostly noise. They
        are not scaled to unit variance.
        solver="flow" always gives "eigenvalue", because it stores no sums.
    <missing>

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The directions, in the order that ``basis`` gives. The largest entry is positive. NaN for
        columns that were never seen.
    eigenvalues_ : array of shape (n_components,)
        The eigenvalues of T in descending order. For "ratio", variance over shrunk velocity.
    alpha_ : float or None
        The alpha in use. None with ``criterion="ratio"``.
    shrinkage_ : float or None
        The shrinkage in use. None with ``criterion="difference"``.
    mean_ : array of shape (n_features,)
        The mean that is subtracted from each row.
    scale_ : array of shape (n_features,) or None
        The divisor of each feature. None without ``scale``.
    n_samples_seen_ : int
        The number of rows learned from.
    n_samples_skipped_ : int
        The number of rows that ``missing="skip"`` left out.
    timescales_ : array of shape (n_components,)
        The time scale of each feature in rows. NaN for a feature that is not distinguishable from
        chance. Only with "dense" and "krylov".
    result_ : SlowResult
        The result: ``bound``, ``autocorrelations``, ``held_out``, and ``uncertainty`` after
        ``fit(X, blocks=20)``.
    solver_ : str
        The name of the solver in use.

    See Also
    --------
    lag_path : Slow subspaces at several lags.
    StreamPCA : Directions with a large variance.

    Notes
    -----
    The projection P maximises the mean of
    ``alpha |P (x_t - mean)|^2 - (1 - alpha) |P (x_t - x_{t - lag})|^2``. It spans the largest
    eigenvectors of ``T = alpha A - (1 - alpha) B``, where A is the covariance matrix and B the
    second moment of the velocity.

    ``fit`` warns about columns that may be no measurements: clocks, counters, and numbers that are
    constant within each sequence and differ between sequences.

    Let mu_d be the d-th largest generalised eigenvalue of A v = mu B v, for d components. All d
    eigenvalues of T are positive for alpha above 1 / (1 + mu_d) ([1]_ section 4). "auto" takes
    ``alpha / (1 - alpha) = 1.1 / mu_d``.

    References
    ----------
    .. [1] A. Maurer, "Unsupervised Slow Subspace-Learning from Stationary Processes", Algorithmic
       Learning Theory, LNCS 4264, Springer, 2006.
    .. [2] L. Wiskott and T. J. Sejnowski, "Slow Feature Analysis: Unsupervised Learning of
       Invariances", Neural Computation, vol. 14, pp. 715-770, 2002.
    .. [3] H. Wu et al., "Variational Koopman Models: Slow Collective Variables and Molecular
       Kinetics from Short Off-equilibrium Simulations", Journal of Chemical Physics, vol. 146,
       154104, 2017.

    Examples
    --------
    Two mixtures of a slow and a fast sine:

    >>> import numpy as np
    >>> from eigenstream import SlowSubspace
    >>> t = np.arange(2000)
    >>> sources = np.column_stack([np.sin(t / 100), np.sin(2.9 * t)])
    >>> X = sources @ np.array([[1.0, 1.0], [1.0, -1.0]])
    >>> slow = SlowSubspace(n_components=1).fit(X)
    >>> slow.components_.round(2)
    array([[0.71, 0.71]])
    >>> abs(np.corrcoef(slow.transform(X)[:, 0], sources[:, 0])[0, 1]).round(3)
    np.float64(1.0)
    """

    _on_devices = True
    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [COUNT, Interval(Real, 0, 1, closed="neither"), None],
        "alpha": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto", "bound"})],
        "lag": [COUNT],
        "criterion": [CRITERION],
        "reversible": [FLAG, StrOptions({"koopman"})],
        "shrinkage": [Interval(Real, 0, 1, closed="both")],
        "rank": [COUNT, Interval(Real, 0, 1, closed="neither"), None],
        "basis": [StrOptions({"slowness", "eigenvalue", "kinetic", "commute"})],
    }

    n_components: Count = 2
    _: KW_ONLY
    alpha: Setting = "auto"
    lag: int = 1
    criterion: str = "difference"
    reversible: bool | str = False
    shrinkage: float = 1e-4
    rank: int | float | None = None
    solver: str | Solver = "auto"
    center: bool | str = True
    scale: bool = False
    features: Transformer | None = None
    basis: str = "slowness"
    missing: str = "raise"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.n_components, float) and self.criterion != "ratio":
            raise ValueError(
                f"n_components={self.n_components} is a share of the kinetic variance. Use a whole "
                "number, or criterion='ratio'."
            )
        bounds = self.criterion == "difference" and self.alpha == "bound"
        if bounds and (self.scale or self.missing == "available" or self.center == "sequences"):
            raise ValueError(
                "alpha='bound' needs complete rows of a known size and one mean. Use alpha='auto', "
                "or leave out scale, missing='available' and center='sequences'."
            )
        complete = self.center is True and self.missing != "available" and self.features is None
        if not complete and self._reweighs:
            raise ValueError(
                "reversible='koopman' needs complete rows and one mean. Use center=True, and leave "
                "out missing='available' and features."
            )

    @property
    def _alpha(self) -> Setting:
        """The alpha for this solver: the flow has no matrices to find one."""
        flows = self.solver == Flow.name or isinstance(self.solver, Flow)
        return FLOW_ALPHA if flows and self.alpha == "auto" else self.alpha

    def _problem(self, width: int) -> Problem:
        ratio, alpha = self.criterion == "ratio", self._alpha
        extra_watchers: dict[str, Watcher] = {}
        if self._map is None:  # the columns of a feature map are measurements
            extra_watchers["columns"] = SuspectColumns(width)
        # The features of rows with gaps are smoother than those of other rows.
        if self.missing != "available":
            extra_watchers["lag"] = ShortLag()
        reversible = bool(self.reversible) and ratio
        # Ratios have no bound.
        problem = self._problem_of_rows(
            width, reversible=reversible, bounded=not ratio, **extra_watchers
        )
        if self._equilibrium is not None:
            terms = cast(TimeTerms, problem.terms)
            terms.center = Center(self._equilibrium, fixed=True)
            del problem.watchers["peaks"]
        if ratio:
            halved = self.reversible != "koopman"
            shrinkage = float(self.shrinkage)
            return replace(problem, weights=None, shrinkage=shrinkage, halved=halved)
        weights = None if isinstance(alpha, str) else (float(alpha), 1.0 - float(alpha))
        return replace(problem, weights=weights)

    #: The stationary mean, while the second pass of reversible="koopman" learns.
    _equilibrium: Float64s | None = field(init=False, default=None)

    @property
    def _reweighs(self) -> bool:
        """True if velocities have stationary weights, which a separate pass finds."""
        return self.reversible == "koopman" and self.criterion == "ratio"

    @property
    def _needs_host(self) -> str | None:
        reweighs = "SlowSubspace with reversible='koopman'"
        return reweighs if self._reweighs else super()._needs_host

    def _learn_all(self, fit: Fit, resumption: Resumption | None = None) -> None:
        if not self._reweighs:
            super()._learn_all(fit, resumption)
            return
        fit.several("reversible='koopman'")
        sums, problem = PairMoments(fit.rows.width, True), self._problem(fit.rows.width)
        learner = fit.learn(Learner(problem.terms, sums), None)
        self._check_terms(learner)
        cov = sums.covariances(self.lag)
        u, constant = koopman_weights(cov, self.rank)
        fit.rows = WeighedRows(fit.rows, lambda rows: rows @ u + constant)
        self._equilibrium = cov.mean0 + cov.c00 @ u
        super()._learn_all(fit)
        del self._equilibrium
        operator = self._answered().operator()
        if eigenvalues_of(operator.reward)[0] < -operator.rounding * operator.trace:
            raise ValueError(
                "Some stationary weights are negative and give negative variances. Pass more rows, "
                "a smaller rank, or reversible=True."
            )

    def _take_covariances(self, learner: Learner, cov: LaggedCovariances) -> None:
        sums, terms, step = learner.sums, learner.terms, cov.mean1 - cov.mean0
        assert isinstance(sums, Moments)
        assert isinstance(terms, TimeTerms)
        if self._reweighs:
            raise ValueError("reversible='koopman' needs rows, not covariances. Use True.")
        velocity = cov.c00 + cov.c11 - cov.c01 - cov.c01.T + np.outer(step, step)
        variance, mean = cov.c11, cov.mean1
        if terms.reversible:
            variance = cov.c00 + cov.c11 + np.outer(step, step) / 2.0
            mean = (cov.mean0 + cov.mean1) / 2.0
        sums.take(VARIANCE, cov.weight * variance)
        sums.take(VELOCITY, cov.weight * velocity)
        terms.take_covariances(mean, cov.weight)

    def _solve(self, learner: Learner) -> SlowResult:
        terms, scale = learner.terms, learner.deviations() if self.scale else None
        gaps = self._gaps_of(learner) if self.missing == "available" else None
        result = partial(SlowResult, basis=self.basis, gaps=gaps)
        alpha, bound = self._alpha, None
        wanted = self._wanted(terms.n_features)
        n = int(wanted) if isinstance(wanted, Integral) else terms.n_features
        if self.criterion == "ratio":
            pairs, forms = self._solved_ratios(learner, n)
            pairs = (
                pairs if scale is None else Eigenpairs(pairs.values, pairs.vectors * scale[:, None])
            )
            return result(pairs, learner.mean, scale, shrinkage=float(self.shrinkage), forms=forms)
        units = None if scale is None else learner.deviations(np.inf)  # no constant columns
        operator = learner.thin_operator(wanted, units)
        operator = operator if self.rank is None else operator.principal(self.rank)
        if alpha == "auto":
            alpha = operator.automatic_alpha(n)
        elif alpha == "bound":
            radius = learner.watcher("radius").reach(learner.mean)
            alpha, bound = alpha_of_bound(operator, wanted, radius)
        alpha = float(alpha)
        weights = (alpha, 1.0 - alpha)
        pairs = operator.largest(weights, n)
        if wanted is None:
            size = float(np.abs(operator.matrix(weights)).sum(axis=0).max())
            least = max(operator.rounding * size, alpha * operator.floor)
            pairs = pairs.first(int((pairs.values > least).sum()))
        elif pairs.values.sum() < 0 and self._solver.estimates:
            warn_user(
                f"the estimated objective is {pairs.values.sum():.3g}: this subspace is worse than "
                "none. Remove outliers, use solver='dense', raise alpha, or lower n_components."
            )
        elif not isinstance(self.alpha, str) and (pairs.values <= 0).any():
            warn_user(
                f"only {(pairs.values > 0).sum()} of the {len(pairs.values)} eigenvalues are "
                f"positive at alpha={alpha:.3g}: the other components lower the objective. Raise "
                "alpha (or use alpha='auto'), or lower n_components."
            )
        flows = isinstance(operator, FlowOperator)
        moments = None if flows else self._forms(operator, pairs, weights)
        return result(pairs, learner.mean, scale, alpha, bound, forms=moments)

    def _forms(
        self, operator: MatrixOperator, pairs: Eigenpairs, weights: Weights | None = None
    ) -> Forms:
        """Return the features' second moments, and the columns that sort them by slowness."""
        variance, velocity = operator.forms(pairs.vectors)
        turn = slowest_first(variance, velocity, operator.floor)
        factors: Float64s | float = 1.0
        if weights is not None:
            factors = noise_factors(turn, variance, velocity, weights)
        vectors = pairs.vectors @ turn
        turn = turn * np.where((canonical_signs(vectors) * vectors).sum(axis=0) < 0, -1.0, 1.0)
        if self.basis in ("kinetic", "commute"):
            rho = np.abs(np.diagonal(lagged(turn, variance, velocity)))
            if self.basis == "commute":
                rho = np.nan_to_num(np.sqrt(implied(rho, self.lag) / 2.0), posinf=0.0)
            turn = turn * rho
        largest = float(np.diagonal(variance).max(initial=0.0))
        noise = len(pairs.vectors) * float(np.finfo(np.float64).eps) * largest
        return Forms(variance, velocity, turn * factors, noise)

    def _solved_ratios(self, learner: Learner, n: int) -> tuple[Eigenpairs, Forms]:
        """Return the largest ratios, and the second moments of their features.

        They are solved in units of the columns' deviations, so that no unit changes the answer.
        """
        ready = learner.with_all_rows()
        if isinstance(ready.sums, RatioFrame):
            units, operator = ready.sums.units, ready.sums.scaled_operator(ready.terms)
        else:
            units = learner.deviations(np.inf)
            operator = learner.thin_operator(self._wanted(learner.n_features), units)
        n_varying = int(np.isfinite(units).sum())
        pairs = slow_ratios(operator, n, float(self.shrinkage), n_varying, self.rank)
        n_spanned = len(pairs.values)
        if isinstance(self.n_components, float):
            variance, velocity = operator.forms(pairs.vectors)
            kinetic = np.cumsum(np.diagonal(variance - velocity / 2.0) ** 2)
            least = self.n_components * kinetic[-1:].sum()
            pairs = pairs.first(int(np.searchsorted(kinetic, least)) + 1)
        elif n_spanned < n and self.n_components is not None:
            kind = "rows" if self.shrinkage or self.rank is not None else "velocities"
            warn_user(
                f"The {kind} span {n_spanned} directions only, so n_components={n} gives "
                f"{n_spanned}."
            )
        forms = self._forms(operator, pairs)
        return replace(pairs, vectors=pairs.vectors / units[:, None]), forms

    # ---- results ---------------------------------------------------------------------------

    @property
    @reads
    def result_(self) -> SlowResult:
        """The result, a frozen dataclass: eigenpairs, mean, scale, alpha and second moments."""
        return self._of_this(cast(SlowResult, self._tested()))

    @property
    def alpha_(self) -> float | None:
        """The alpha in use (None with ``criterion="ratio"``)."""
        return cast(SlowResult, self._solved()).alpha

    @property
    def shrinkage_(self) -> float | None:
        """The shrinkage in use (None with ``criterion="difference"``)."""
        return cast(SlowResult, self._solved()).shrinkage

    @property
    def timescales_(self) -> Float64s:
        """The time scale that each autocorrelation implies, ``-lag / log(rho)``, in rows.

        If the autocorrelation of a feature decays at one rate, it has fallen to 1/e after this
        number of rows. The slow features of a Markov process decay in this way, and these are
        TICA's implied time scales. To check it, compare several lags by ``lag_path``. The time
        scale is infinite for a feature that never changes. It is 0 if the autocorrelation is not
        positive; try a shorter lag then.

        >>> import numpy as np
        >>> from eigenstream.processes import Autoregressive
        >>> rows = Autoregressive(np.exp([-1 / 50, -1 / 5]), random_state=0).take(
        ...     100_000
        ... )
        >>> slow = SlowSubspace(2, criterion="ratio", lag=5).fit(rows)
        >>> slow.timescales_.round(1)
        array([48.8,  5.1])
        """
        return self._supported(cast(Float64s, self._answered().timescales))

    def _test(self, answer: Any, learner: Learner) -> HeldOut | None:
        if answer.forms is None:
            return None
        weights, uncorrelated, in_sample = answer.weights, answer.sorted, answer.autocorrelations
        ready, units, values = learner.with_all_rows(), None, None
        if weights is None or answer.scale is not None:
            units = ready.deviations(np.inf)
        halves = learner.half_operators(units)
        if halves:
            solved = partial(
                slow_features,
                n=len(answer.pairs.values),
                weights=weights,
                shrinkage=self.shrinkage,
                n_varying=1 if units is None else int(np.isfinite(units).sum()),
                rank=self.rank,
                uncorrelated=uncorrelated,
            )
            values = on_halves(halves, [*map(solved, halves)])
        directions = n_directions(self.rank, ready.n_features)
        return held_out(in_sample, values, ready.terms, directions)

    def path(self, alphas: ArrayLike) -> AlphaPath:
        """Solve for several alphas from the stored sums, without reading data.

        Parameters
        ----------
        alphas : array-like of shape (n_alphas,)
            The weights of the variance, in (0, 1].

        Returns
        -------
        AlphaPath
            The eigenvalues, components and objective at each alpha.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import SlowSubspace
        >>> X = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
        >>> SlowSubspace(n_components=2).fit(X).path([0.01, 0.5, 1.0]).n_positive
        array([1, 3, 3])
        """
        learner, scale = self._stored().with_all_rows(), self._solved().scale
        # No feature is divided by less than the least scale.
        radius, ball = np.nan, learner.watchers.get("radius")
        if isinstance(ball, RadiusBound):
            radius = ball.reach(learner.mean) / (1.0 if scale is None else float(scale.min()))
        return alpha_path(self._answered().operator(), self.n_components_, alphas, radius)

    @reads_rows
    def score(self, X: RowsLike, y: LabelsLike = None) -> float:
        """Return how well the learned features predict each other ``lag`` rows later.

        The score is comparable between values of ``n_components`` and ``alpha``: features that were
        noise lower it. Scores at different lags are not comparable.

        Parameters
        ----------
        X : array-like or sparse of shape (n, n_features), a list of them, or a stream
            Held-out rows in time order.
        y : None
            Ignored. It exists for compatibility with scikit-learn.

        Returns
        -------
        float
            The score, at most ``n_components``.

        See Also
        --------
        eigenstream.subspace.objective : The objective L on other rows.

        Notes
        -----
        Let r_i be the learned autocorrelations. Let V and C be the covariances of the slowest-first
        features on ``X``, at lag 0 and at lag ``lag``. The score is the sum over i of 2 r_i C_ii,
        less the sum over i and j of r_i r_j V_ij^2. If ``X`` confirms the autocorrelations, the
        score is the sum of their squares, like VAMP-2. With solver="flow", r_i is computed from
        ``X``.

        Examples
        --------
        >>> from eigenstream import SlowSubspace
        >>> from eigenstream.processes import Autoregressive
        >>> rows = Autoregressive([0.9, 0.5], random_state=0).take(4000)
        >>> model = SlowSubspace(1).fit(rows[:2000])
        >>> round(model.score(rows[2000:]), 1)
        0.8
        """
        return self._scores_on(self._scored_terms(X), [self.n_components_])[0]

    def _score_of(self, other: Self, counts: list[int]) -> list[float]:
        """Return ``score`` of the first components on the rows of another estimator."""
        return self._scores_on(other._fitted_learner().with_all_rows(), counts)

    def _scores_on(self, scored: Learner, counts: list[int]) -> list[float]:
        answer = cast(SlowResult, self._solved())
        forms = answer.forms
        scored_moments = self._moments_of(scored)
        # solver="flow" estimates no second moments.
        learned = scored_moments if forms is None else (forms.variance, forms.velocity)
        noise = 0.0 if forms is None else forms.noise
        scores = []
        for n in counts:
            v0, w0, v1, w1 = (moments[:n, :n] for moments in (*learned, *scored_moments))
            turn = slowest_first(v0, w0, noise)
            r = np.diagonal(lagged(turn, v0, w0))
            C, V = lagged(turn, v1, w1), turn.T @ v1 @ turn
            scores.append(float(2.0 * r @ np.diagonal(C) - r @ V**2 @ r))
        return scores

    def _moments_of(self, scored: Learner) -> tuple[Float64s, Float64s]:
        """Return the second moments of other rows and of their velocities, along eigenvectors."""
        result = self._solved()
        columns = result.unscaled(result.pairs.vectors)
        variance, velocity = scored.thin_operator().forms(columns)
        if self.center is True:
            step = columns.T @ (scored.mean - result.mean)
            variance = variance + np.outer(step, step)
        return variance, velocity
