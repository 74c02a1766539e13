"""Slow subspaces: features that vary much over the data and little from one moment to the next."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenstream._checks import check_choice, check_number, check_whole
from eigenstream._linalg import Float64s
from eigenstream.contrast import Contrast
from eigenstream.estimators import _input
from eigenstream.estimators._documented import documented
from eigenstream.estimators._parameters import Uses
from eigenstream.estimators.temporal import _alpha, _timescales
from eigenstream.estimators.temporal._alpha import AlphaPath
from eigenstream.estimators.temporal._slow_bounds import SlowBounds
from eigenstream.estimators.temporal._slowness import Slowness
from eigenstream.learners import table
from eigenstream.scatters import VarianceScatter, VelocityScatter
from eigenstream.solvers import dense


@documented
class SlowSubspace(SlowBounds):
    """The subspace whose features have a large variance and a small velocity [SLOW].

    Maximises ``L(P) = mean of alpha |P (x_t - mean)|^2 - (1 - alpha) |P (x_t - x_{t - lag})|^2``
    over orthogonal projections P: the top eigenspace of ``T = alpha A - (1 - alpha) B``. Unlike
    slow feature analysis it divides by nothing, so that it needs no inverse and no regularisation.

    Parameters
    ----------
    n_components : int or None, default=2
        How many directions (one where there is one feature only). None keeps every direction that
        raises the objective: all with a positive eigenvalue.
    alpha : float in (0, 1], "auto" or "bound", default="auto"
        The weight of the variance; 1 is PCA. "auto" takes the smallest alpha at which all
        ``n_components`` eigenvalues are positive, 1 / (1 + mu_d) with mu_d the d-th largest
        generalised eigenvalue of A v = mu B v, and one per cent of the way from there to 1: the
        rule that [SLOW] section 4 states in words, free of scale. "bound" minimises the error
        bound of [SLOW] Theorem 5 itself, which is often vacuous; it warns when it is.
        Rows in single precision are multiplied in double for either of them, and for
        ``criterion="ratio"``: small directions may decide.
    lag : int, default=1
        The time step of the velocity, in rows.
    criterion : {"difference", "ratio"}, default="difference"
        "ratio" maximises variance over velocity instead: slow feature analysis [SFA]. Its
        components are scaled to unit variance and are not orthogonal; directions in which the
        velocity vanishes up to rounding are cut, and alpha plays no part.
    solver : {"auto", "dense", "krylov", "flow", "sketch"}, default="auto"
        "dense" keeps the two D x D scatters, and alone serves ``criterion="ratio"``,
        ``alpha="bound"``, ``path`` and ``bound``. "krylov" never forms them and reads the data
        again and again, for D too large for a matrix. "sketch" reads once and keeps a few times
        n_components vectors and the exact trace: near the best answer on long streams that stay as
        they are, nearer with ``passes=2``; no step size, mergeable. "flow" learns online by the
        Oja-Karhunen flow [SLOW], one observation at a time. These three need a number for
        ``alpha``. "auto" takes "dense" where matrices fit in memory; beyond, "sketch" in
        ``partial_fit``, and in ``fit`` if it is faster than "krylov" and there are more than 25
        rows per column.
    center : bool, default=True
        Take the variance about the mean.
    scale : bool, default=False
        Divide each feature by its standard deviation first (``scale_``): slow directions do not
        depend on the units of the features then. Exact from the scatters of "dense", in any
        chunking. Not with ``alpha="bound"``.
    <features>
    missing : {"raise", "skip"}, default="raise"
        "skip" leaves out rows with NaN or infinity, and both velocities of each.
    <schedule, init, forgetting, block_size, oversampling, hook, random_state>

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
    eigenvalues_ : array of shape (n_components,)
        Signed, descending; for "ratio", variance over velocity.
    alpha_ : float
        The alpha in use.
    bound_ : float or None
        The value of Theorem 5's bound at ``alpha_``, for ``alpha="bound"``.
    mean_, scale_, n_samples_seen_, n_samples_skipped_, objective_, rank_, solver_
    n_positive_ : int
        How many eigenvalues of T are positive, of all (of the components, after "krylov").
    autocorrelations_, timescales_ : arrays of shape (n_components,)
        How much of each feature is left after ``lag`` rows, and the time scale, in rows, that this
        implies. After "dense" and "krylov"; else see ``timescales``.
    contrast_ : Contrast
        The two scatters: mergeable, and solvable anew for any alpha.

    Examples
    --------
    A slow sine in one mixture with a fast one:

    >>> import numpy as np
    >>> from eigenstream import SlowSubspace
    >>> t = np.arange(2000)
    >>> sources = np.column_stack([np.sin(t / 100), np.sin(2.9 * t)])
    >>> X = sources @ np.array([[1.0, 1.0], [1.0, -1.0]])
    >>> slow = SlowSubspace(n_components=1).fit(X)
    >>> abs(np.corrcoef(slow.transform(X)[:, 0], sources[:, 0])[0, 1]).round(3)
    np.float64(1.0)
    """

    def __init__(
        self,
        n_components: Any = 2,
        *,
        alpha: Any = "auto",
        lag: int = 1,
        criterion: str = "difference",
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
        self.alpha = alpha
        self.lag = lag
        self.criterion = criterion
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
        check_choice(self.criterion, "criterion", ("difference", "ratio"))
        check_whole(self.lag, "lag")
        if self.n_components is not None:
            check_whole(self.n_components, "n_components")
        if isinstance(self.alpha, str):
            check_choice(self.alpha, "alpha (where not a number in (0, 1])", ("auto", "bound"))
        else:
            check_number(self.alpha, "alpha", above=0, most=1)
        if self.scale and self.alpha == "bound":
            raise ValueError(
                "alpha='bound' is about data of a known size, and scale=True divides by what the "
                "data say: use alpha='auto', or scale the data by constants first."
            )
        self._check_able(self.solver)

    def _check_able(self, solver: str, width: int | None = None) -> None:
        data, n = self.DATA, self.n_components
        if self.criterion == "ratio":
            table.require(data, solver, "ratios", "criterion='ratio'")
        elif self.alpha == "bound":
            table.require(data, solver, "scatters", "alpha='bound'")
        elif self.alpha == "auto":
            number = "Give alpha as a number, such as alpha_ of a fit on a random subset of rows"
            table.require(data, solver, "own_weights", "alpha='auto'", number)
        if n is None:
            table.require(data, solver, "all_positive", "n_components=None", "Give a whole number")

    def _needs_scatters(self) -> str:
        if self.criterion == "ratio":
            return "criterion='ratio'"
        return f"alpha={self.alpha!r}" if isinstance(self.alpha, str) else super()._needs_scatters()

    def _uses(self) -> Uses:
        return super()._uses() | {"alpha": ("criterion", ("difference",))}

    def _fixed_weights(self) -> tuple[float, float] | None:
        if self.criterion == "ratio" or isinstance(self.alpha, str):
            return None
        return float(self.alpha), 1.0 - float(self.alpha)

    def _lag(self) -> int:
        return self.lag

    def _new_contrast(self, n_features: int) -> Contrast:
        return Contrast(
            VarianceScatter(n_features, center=self.center, lag=self.lag),
            VelocityScatter(n_features, lag=self.lag),
            self._fixed_weights(),
        )

    def _question(self, n_features: int) -> Slowness:
        alpha = None if self.criterion == "ratio" else self.alpha
        return Slowness(self._wanted(n_features), alpha, self.center, self.scale)

    def _middle(self, contrast: Contrast) -> Float64s:
        return self._question(contrast.n_features).middle(contrast)

    # ---- results ---------------------------------------------------------------------------

    @property
    def alpha_(self) -> float | None:
        """The alpha in use (None with ``criterion="ratio"``)."""
        alpha: float | None = self._solved().details.get("alpha")
        return alpha

    @property
    def bound_(self) -> float | None:
        """The value of Theorem 5's bound at ``alpha_``, for ``alpha="bound"``; else None."""
        bound: float | None = self._solved().details.get("bound")
        return bound

    @property
    def n_positive_(self) -> int:
        """How many eigenvalues of T are positive: of all, or of the components after "krylov"."""
        alpha = self.alpha_
        contrast = self._knowledge().contrast
        if alpha is None or contrast is None:
            return int((self.eigenvalues_ > 0).sum())
        weights = (alpha, 1.0 - alpha)
        return dense.count_positive(contrast.matrix(), contrast.rounding, contrast.floor(weights))

    @property
    def autocorrelations_(self) -> Float64s:
        """The autocorrelation of each feature at the lag, in [-1, 1].

        Found as ``1 - velocity / (2 variance)`` from the scatters, not by another look at the data
        ("krylov", which reads them again and again, does so once more; "flow" and "sketch" read
        them once and keep neither: see ``autocorrelations``):
        the mean square of a difference is twice the variance less twice the covariance, where the
        variance is the same now and ``lag`` rows ago. So it assumes a stationary process; what it
        is off by on n rows of one is the difference that the first and last ``lag`` rows make. With
        ``center=False`` it is about zero. A feature without variance has none: 0.
        """
        contrast, details = self._knowledge().contrast, self._solved().details
        if contrast is not None:
            return _timescales.of_scatters(contrast, self._columns)
        variance: Float64s | None = details.get("variance")
        if variance is None:
            raise AttributeError(
                f"solver_={self.solver_!r} keeps no scatters, which the autocorrelation of a "
                "feature is read from. Ask autocorrelations(X), or timescales(X), which read rows "
                "or a stream once more; or fit with solver='dense'."
            )
        noise = len(self.mean_) * np.finfo(np.float64).eps * variance.max()
        return _timescales.autocorrelations(variance, details["velocity"], noise)

    @property
    def timescales_(self) -> Float64s:
        """The time scale that each autocorrelation implies, ``-lag / log(rho)``, in rows.

        After so many rows a feature has forgotten all but 1/e of what it was, if it forgets at one
        rate, as the slow features of a Markov process do (for those who know TICA: its implied time
        scales; with ``criterion="ratio"`` the features are TICA's own). Whether it does shows in
        several lags, which should agree: ``lag_path``. Infinite where nothing changes; 0, the limit
        from above, where the autocorrelation is zero or negative: then all is forgotten within the
        lag, or swings back, and a shorter lag may tell.

        >>> import numpy as np
        >>> from eigenstream.processes import Autoregressive
        >>> rows = Autoregressive(np.exp([-1 / 50, -1 / 5]), random_state=0).take(100_000)
        >>> slow = SlowSubspace(2, criterion="ratio", lag=5).fit(rows)
        >>> bool(np.abs(slow.timescales_ / [50, 5] - 1).max() < 0.1)
        True
        """
        return _timescales.implied(self.autocorrelations_, self.lag)

    def autocorrelations(self, X: Any, lag: int | None = None) -> Float64s:
        """Return the autocorrelation of each feature on rows, in one pass over them.

        As ``autocorrelations_``, with the same assumption, of other rows and at other lags, and
        after every solver: the features are of a few columns, whose scatters are small.

        Parameters
        ----------
        X : array-like or sparse of shape (n, D), a list of them, or a stream
        lag : int, optional
            That of the estimator by default.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import SlowSubspace
        >>> from eigenstream.processes import Autoregressive
        >>> rows = Autoregressive(np.exp([-1 / 50, -1 / 5]), random_state=0).take(20_000)
        >>> slow = SlowSubspace(1, alpha=0.05, solver="flow", random_state=0).fit(rows)
        >>> bool(abs(slow.timescales(rows, lag=10)[0] / 50 - 1) < 0.2)
        True
        """
        check_is_fitted(self)
        lag = self.lag if lag is None else check_whole(lag, "lag")
        parts = self._features_of(X)
        return _timescales.of_features(parts, self.n_components_, lag, self.center)

    def timescales(self, X: Any, lag: int | None = None) -> Float64s:
        """Return the time scale that each of ``autocorrelations(X, lag)`` implies, in rows."""
        found = self.autocorrelations(X, lag)
        return _timescales.implied(found, self.lag if lag is None else lag)

    def _patterns(self) -> Float64s:
        if self.criterion == "ratio":
            return np.asarray(np.linalg.pinv(self.components_.T))
        return self.components_

    def path(self, alphas: Any) -> AlphaPath:
        """Solve for several alphas from the scatters, without another look at the data.

        Parameters
        ----------
        alphas : array-like of numbers in (0, 1]

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import SlowSubspace
        >>> X = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=0)
        >>> SlowSubspace(n_components=2).fit(X).path([0.01, 0.5, 1.0]).n_positive
        array([1, 3, 3])
        """
        contrast = self._knowledge().contrast
        if contrast is None:
            raise ValueError("path needs the scatters: fit with solver='dense' first.")
        # Of scaled rows at most this: no feature is divided by less than the least scale.
        radius = contrast.radius.reach(self._middle(contrast)) / float(contrast.scale.min())
        return _alpha.path(contrast, self.n_components_, alphas, radius)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the objective L that the subspace reaches on other rows (in time order).

        For ``criterion="ratio"`` the sum over components of variance over velocity on those rows.
        """
        contrast = self._scored_contrast(X)
        assert contrast.penalty is not None
        components = self._columns.T
        variance = np.einsum("ij,jk,ik->i", components, contrast.reward.matrix(), components)
        velocity = np.einsum("ij,jk,ik->i", components, contrast.penalty.matrix(), components)
        if self.center:
            # The variance about the mean learned, not about that of these rows.
            variance += (components @ (contrast.reward.mean - self.mean_)) ** 2
        if self.alpha_ is None:
            return float((variance / velocity).sum())
        return float((self.alpha_ * variance - (1.0 - self.alpha_) * velocity).sum())
