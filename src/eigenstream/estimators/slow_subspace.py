"""Slow subspaces: features that vary much over the data and little from one moment to the next."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from eigenstream._checks import check_choice, check_number, check_whole
from eigenstream._linalg import Float64s
from eigenstream.contrast import Contrast
from eigenstream.estimators import _input
from eigenstream.estimators._streaming import StreamEstimator
from eigenstream.estimators.base import Solution
from eigenstream.scatters import VarianceScatter, VelocityScatter
from eigenstream.solvers import dense, krylov
from eigenstream.solvers.base import Eigenpairs

#: alpha="auto" goes this share of the way from the threshold to 1, so that the last eigenvalue is
#: positive by more than rounding.
AUTO_STEP = 0.01


@dataclass(frozen=True)
class AlphaPath:
    """Slow subspaces of the same data at several alphas; every array has one entry an alpha."""

    alphas: Float64s
    #: (n_alphas, n_components), descending in each row.
    eigenvalues: Float64s
    #: (n_alphas, n_components, n_features)
    components: Float64s
    #: The objective each subspace reaches.
    objective: Float64s
    #: How many eigenvalues of T are positive, of all.
    n_positive: NDArray[np.int64]


class SlowSubspace(StreamEstimator):
    """The subspace whose features have a large variance and a small velocity [SLOW].

    Maximises ``L(P) = mean of alpha |P (x_t - mean)|^2 - (1 - alpha) |P (x_t - x_{t - lag})|^2``
    over orthogonal projections P: the top eigenspace of ``T = alpha A - (1 - alpha) B``. Unlike
    slow feature analysis it divides by nothing, so that it needs no inverse and no regularisation.

    Parameters
    ----------
    n_components : int or None, default=10
        None keeps every direction that raises the objective: all with a positive eigenvalue.
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
    solver : {"auto", "dense", "krylov"}, default="auto"
        As in StreamPCA. "krylov" needs ``criterion="difference"``.
    center : bool, default=True
        Take the variance about the mean.
    features : transformer, optional
        A map to apply first, such as RBFNetwork; as in StreamPCA.
    missing : {"raise", "skip"}, default="raise"
        "skip" leaves out rows with NaN or infinity, and both velocities of each.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
    eigenvalues_ : array of shape (n_components,)
        Signed, descending; for "ratio", variance over velocity.
    alpha_ : float
        The alpha in use.
    bound_ : float or None
        The value of Theorem 5's bound at ``alpha_``, for ``alpha="bound"``.
    mean_, n_samples_seen_, objective_, rank_, solver_
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

    def __init__(
        self,
        n_components: Any = 10,
        *,
        alpha: Any = "auto",
        lag: int = 1,
        criterion: str = "difference",
        solver: str = "auto",
        center: bool = True,
        features: Any = None,
        missing: _input.Missing = "raise",
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.lag = lag
        self.criterion = criterion
        self.solver = solver
        self.center = center
        self.features = features
        self.missing = missing

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
        )

    # ---- solving ---------------------------------------------------------------------------

    def _solve_dense(self, contrast: Contrast) -> Solution:
        assert contrast.penalty is not None
        reward, penalty = contrast.reward.matrix(), contrast.penalty.matrix()
        mean = contrast.reward.mean if self.center else np.zeros(len(reward))
        if self.criterion == "ratio":
            wanted = len(reward) if self.n_components is None else self.n_components
            pairs = dense.largest_ratios(reward, penalty, wanted, contrast.rounding)
            if len(pairs.values) < wanted and self.n_components is not None:
                warnings.warn(
                    f"the velocities span {len(pairs.values)} directions only; n_components="
                    f"{wanted} was asked for and {len(pairs.values)} are returned.",
                    stacklevel=4,
                )
            deviation = np.sqrt(np.einsum("ji,jk,ki->i", pairs.vectors, reward, pairs.vectors))
            scaled = pairs.vectors / np.where(deviation > 0, deviation, 1.0)
            pairs = Eigenpairs(pairs.values, scaled)
            return Solution(pairs, mean, contrast.n_rows, {"alpha": None, "bound": None})
        alpha, bound = self._choose_alpha(contrast, reward, penalty)
        total = alpha * reward - (1.0 - alpha) * penalty
        if self.n_components is None:
            pairs = dense.largest(total, len(total))
            positive = max(int((pairs.values > contrast.rounding * pairs.values[0]).sum()), 1)
            pairs = Eigenpairs(pairs.values[:positive], pairs.vectors[:, :positive])
        else:
            pairs = dense.largest(total, self.n_components)
        self._warn_about_sign(pairs, alpha)
        return Solution(pairs, mean, contrast.n_rows, {"alpha": alpha, "bound": bound})

    def _solve_krylov(self, operator: krylov.LaggedOperator, n_rows: int) -> Solution:
        if self.alpha == "auto":
            threshold = krylov.smallest_positive_weight(operator, self.n_components)
            alpha = threshold + AUTO_STEP * (1.0 - threshold)
        else:
            alpha = float(self.alpha)
        pairs = krylov.largest(operator, (alpha, 1.0 - alpha), self.n_components)
        self._warn_about_sign(pairs, alpha)
        mean = operator.mean if self.center else np.zeros_like(operator.mean)
        return Solution(pairs, mean, n_rows, {"alpha": alpha, "bound": None})

    def _choose_alpha(
        self, contrast: Contrast, reward: Float64s, penalty: Float64s
    ) -> tuple[float, float | None]:
        """Return alpha, and the value of Theorem 5's bound where that chose it."""
        if self.alpha == "bound":
            return self._minimise_bound(contrast, reward, penalty)
        if self.alpha != "auto":
            return float(self.alpha), None
        wanted = len(reward) if self.n_components is None else self.n_components
        threshold = dense.smallest_positive_weight(reward, penalty, wanted, contrast.rounding)
        return threshold + AUTO_STEP * (1.0 - threshold), None

    def _minimise_bound(
        self, contrast: Contrast, reward: Float64s, penalty: Float64s
    ) -> tuple[float, float]:
        """Minimise ``(1 - (2 / alpha) L_alpha) / (1 - alpha)`` of [SLOW] Theorem 5 over alpha."""
        # The theorem wants |x - mean| <= 1/2; L scales with the square of the data.
        radius = contrast.largest_norm
        if self.center:
            radius += float(np.linalg.norm(contrast.reward.mean))
        shrink = 0.25 / radius**2 if radius > 0 else 1.0
        wanted = len(reward) if self.n_components is None else self.n_components

        def bound(alpha: float) -> float:
            total = alpha * reward - (1.0 - alpha) * penalty
            values = dense.largest(total, wanted).values
            if self.n_components is None:
                values = values[values > 0]
            return float((1.0 - 2.0 / alpha * shrink * values.sum()) / (1.0 - alpha))

        # One coarse look for the right valley, then its bottom.
        grid = np.linspace(0.02, 0.98, 13)
        best = int(np.argmin([bound(alpha) for alpha in grid]))
        edges = np.concatenate([[1e-4], grid, [1.0 - 1e-4]])
        found = minimize_scalar(
            bound,
            bounds=(edges[best], edges[best + 2]),
            method="bounded",
            options={"xatol": 1e-3},
        )
        if found.fun >= 1.0:
            warnings.warn(
                f"the bound of Theorem 5 is vacuous on these data: {found.fun:.3g} >= 1 even at "
                f"its smallest, alpha={found.x:.3g}. Prefer alpha='auto'.",
                stacklevel=5,
            )
        return float(found.x), float(found.fun)

    def _warn_about_sign(self, pairs: Eigenpairs, alpha: float) -> None:
        if self.n_components is None or self.alpha in ("auto", "bound"):
            return
        positive = int((pairs.values > 0).sum())
        if positive < len(pairs.values):
            warnings.warn(
                f"only {positive} of the {len(pairs.values)} eigenvalues are positive at "
                f"alpha={alpha:.3g}: the other components lower the objective. Raise alpha (or "
                "use alpha='auto'), or lower n_components.",
                stacklevel=5,
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
        matrix = self.contrast_.matrix((alpha, 1.0 - alpha))
        return dense.count_positive(matrix, self.contrast_.rounding)

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
        weights = [check_number(alpha, "alpha", above=0, most=1) for alpha in np.ravel(alphas)]
        wanted = self.n_components_
        found, positive = [], []
        for alpha in weights:
            total = self.contrast_.matrix((alpha, 1.0 - alpha))
            found.append(dense.largest(total, wanted))
            positive.append(dense.count_positive(total, self.contrast_.rounding))
        values = np.array([pairs.values for pairs in found])
        return AlphaPath(
            np.array(weights),
            values,
            np.array([pairs.vectors.T for pairs in found]),
            values.sum(axis=1),
            np.array(positive, dtype=np.int64),
        )

    def score(self, X: Any, y: Any = None) -> float:
        """Return the objective L that the subspace reaches on other rows (in time order).

        For ``criterion="ratio"`` the sum over components of variance over velocity on those rows.
        """
        contrast = self._scored_contrast(X)
        assert contrast.penalty is not None
        components = self.components_
        variance = np.einsum("ij,jk,ik->i", components, contrast.reward.matrix(), components)
        velocity = np.einsum("ij,jk,ik->i", components, contrast.penalty.matrix(), components)
        if self.center:
            # The variance about the mean learned, not about that of these rows.
            variance += (components @ (contrast.reward.mean - self.mean_)) ** 2
        if self.alpha_ is None:
            return float((variance / velocity).sum())
        return float((self.alpha_ * variance - (1.0 - self.alpha_) * velocity).sum())
