"""Slow subspaces: features that vary much over the data and little from one moment to the next."""

from collections.abc import Callable
from typing import Any

import numpy as np

from eigenstream._checks import check_choice, check_number, check_whole, warn_user
from eigenstream._linalg import Float64s
from eigenstream.contrast import Contrast
from eigenstream.estimators import _alpha, _input
from eigenstream.estimators._alpha import AlphaPath
from eigenstream.estimators._slow_bounds import SlowBounds
from eigenstream.estimators.base import Solution
from eigenstream.scatters import VarianceScatter, VelocityScatter
from eigenstream.solvers import dense, krylov
from eigenstream.solvers.base import Eigenpairs
from eigenstream.solvers.flow import FlowSolution


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
    lag : int, default=1
        The time step of the velocity, in rows.
    criterion : {"difference", "ratio"}, default="difference"
        "ratio" maximises variance over velocity instead: slow feature analysis [SFA]. Its
        components are scaled to unit variance and are not orthogonal; directions in which the
        velocity vanishes up to rounding are cut, and alpha plays no part.
    solver : {"auto", "dense", "krylov", "flow"}, default="auto"
        As in StreamPCA. "krylov" and "flow" need ``criterion="difference"``, and "flow" a number
        for ``alpha``.
    center : bool, default=True
        Take the variance about the mean.
    scale : bool, default=False
        Divide each feature by its standard deviation first, as in StreamPCA: slow directions do
        not depend on the units of the features then. Not with ``alpha="bound"``.
    features : transformer, optional
        A map to apply first, such as RBFNetwork; as in StreamPCA.
    missing : {"raise", "skip"}, default="raise"
        "skip" leaves out rows with NaN or infinity, and both velocities of each.
    schedule, init, forgetting, block_size, hook, random_state
        For ``solver="flow"``, as in StreamPCA.

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

    USES = SlowBounds.USES | {"alpha": ("criterion", ("difference",))}

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
        if self.solver == "flow":
            self._check_flow()

    def _check_flow(self) -> None:
        if self.criterion == "ratio" or isinstance(self.alpha, str):
            what = "criterion='ratio'" if self.criterion == "ratio" else f"alpha={self.alpha!r}"
            raise ValueError(
                f"{what} needs the scatters, which solver='flow' never forms. Give alpha as a "
                "number (that of a dense fit to a part of the stream, for one), or use "
                "solver='dense'."
            )
        super()._check_flow()

    def _fixed_weights(self) -> tuple[float, float] | None:
        if self.criterion == "ratio" or isinstance(self.alpha, str):
            return None
        return float(self.alpha), 1.0 - float(self.alpha)

    def _flow_details(self, solution: FlowSolution) -> tuple[Eigenpairs, dict[str, Any]]:
        return solution.pairs, {"alpha": float(self.alpha), "bound": None}

    def _check_krylov(self, width: int) -> None:
        super()._check_krylov(width)
        if self.criterion == "ratio" or self.alpha == "bound":
            what = "criterion='ratio'" if self.criterion == "ratio" else "alpha='bound'"
            raise ValueError(
                f"{what} needs the scatters, which solver='krylov' never forms. Use "
                "solver='dense', after StreamPCA where there are too many features."
            )

    def _lag(self) -> int:
        return self.lag

    def _new_contrast(self, n_features: int) -> Contrast:
        return Contrast(
            VarianceScatter(n_features, center=self.center, lag=self.lag),
            VelocityScatter(n_features, lag=self.lag),
            self._fixed_weights(),
        )

    # ---- solving ---------------------------------------------------------------------------

    def _solve_dense(self, contrast: Contrast) -> Solution:
        mean, wanted = self._middle(contrast), self._wanted(contrast.n_features)
        if self.criterion == "ratio":
            details: dict[str, Any] = {"alpha": None, "bound": None, "weights": None}
            pairs = self._ratios(contrast, wanted)
            return Solution(pairs, mean, contrast.n_rows, details)
        alpha, bound = self._choose_alpha(contrast, wanted)
        weights = (alpha, 1.0 - alpha)
        total = contrast.matrix(weights)
        if wanted is None:
            floor = contrast.floor(weights)
            pairs, positive = dense.largest_and_positive(
                total, len(total), contrast.rounding, floor
            )
            kept = max(positive, 1)
            pairs = Eigenpairs(pairs.values[:kept], pairs.vectors[:, :kept])
        else:
            pairs = dense.largest(total, wanted)
        self._warn_about_sign(pairs, alpha)
        details = {"alpha": alpha, "bound": bound, "weights": weights}
        # What the theory asks about: whether the data chose alpha, and the number of directions.
        details |= {"chosen": isinstance(self.alpha, str), "open": wanted is None}
        return Solution(pairs, mean, contrast.n_rows, details)

    def _ratios(self, contrast: Contrast, n_components: int | None) -> Eigenpairs:
        """Return the largest ratios of variance to velocity; vectors have unit variance."""
        reward, penalty = contrast.matrices()
        assert penalty is not None
        wanted = len(reward) if n_components is None else n_components
        pairs = dense.largest_ratios(reward, penalty, wanted, contrast.rounding)
        if len(pairs.values) < wanted and n_components is not None:
            warn_user(
                f"the velocities span {len(pairs.values)} directions only; n_components="
                f"{wanted} was asked for and {len(pairs.values)} are returned.",
            )
        deviation = np.sqrt(np.einsum("ji,jk,ki->i", pairs.vectors, reward, pairs.vectors))
        return Eigenpairs(pairs.values, pairs.vectors / np.where(deviation > 0, deviation, 1.0))

    def _middle(self, contrast: Contrast) -> Float64s:
        return contrast.reward.mean if self.center else np.zeros(contrast.n_features)

    def _solve_krylov(self, operator: krylov.LaggedOperator, n_rows: int) -> Solution:
        wanted = self._wanted(operator.n_features)
        if self.alpha == "auto":
            alpha = _alpha.above(krylov.smallest_positive_weight(operator, wanted))
        else:
            alpha = float(self.alpha)
        weights = (alpha, 1.0 - alpha)
        pairs = krylov.largest(operator, weights, wanted)
        self._warn_about_sign(pairs, alpha)
        mean = operator.mean if self.center else np.zeros_like(operator.mean)
        return Solution(pairs, mean, n_rows, {"alpha": alpha, "bound": None, "weights": weights})

    def _choose_alpha(self, contrast: Contrast, wanted: int | None) -> tuple[float, float | None]:
        """Return alpha, and the value of Theorem 5's bound where that chose it."""
        if self.alpha == "bound":
            radius = contrast.radius.reach(self._middle(contrast))
            return _alpha.minimise_bound(contrast, wanted, radius)
        if self.alpha != "auto":
            return float(self.alpha), None
        return _alpha.automatic(contrast, wanted or contrast.n_features), None

    def _warn_about_sign(self, pairs: Eigenpairs, alpha: float) -> None:
        if self.n_components is None or self.alpha in ("auto", "bound"):
            return
        positive = int((pairs.values > 0).sum())
        if positive < len(pairs.values):
            warn_user(
                f"only {positive} of the {len(pairs.values)} eigenvalues are positive at "
                f"alpha={alpha:.3g}: the other components lower the objective. Raise alpha (or "
                "use alpha='auto'), or lower n_components.",
            )

    # ---- results ---------------------------------------------------------------------------

    @property
    def alpha_(self) -> float | None:
        """The alpha in use (None with ``criterion="ratio"``)."""
        alpha: float | None = self._solved().details["alpha"]
        return alpha

    @property
    def bound_(self) -> float | None:
        """The value of Theorem 5's bound at ``alpha_``, for ``alpha="bound"``; else None."""
        bound: float | None = self._solved().details["bound"]
        return bound

    @property
    def n_positive_(self) -> int:
        """How many eigenvalues of T are positive: of all, or of the components after "krylov"."""
        alpha = self.alpha_
        if alpha is None or "contrast_" not in self.__dict__:
            return int((self.eigenvalues_ > 0).sum())
        contrast, weights = self.contrast_, (alpha, 1.0 - alpha)
        return dense.count_positive(contrast.matrix(), contrast.rounding, contrast.floor(weights))

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
        if "contrast_" not in self.__dict__:
            raise ValueError("path needs the scatters: fit with solver='dense' first.")
        contrast = self.contrast_
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
