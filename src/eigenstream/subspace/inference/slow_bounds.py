"""Theoretical bounds for slow subspaces, and the weight alpha of the variance from a bound."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from eigenstream.core.checks import check_flag, check_number, real_array, warn_user
from eigenstream.core.linalg import Float64s, brief, row_squares
from eigenstream.subspace.sums.gap_moments import GapMoments
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.sums.operators import MatrixOperator
from eigenstream.subspace.sums.row_moments import RowMoments
from eigenstream.theory import (
    Deviation,
    MixingProfile,
    mean_bound,
    metric_rule_error,
    slow_bound,
)

if TYPE_CHECKING:
    from eigenstream.subspace.estimators.slow_subspace import SlowSubspace

#: Rows count as equal up to this multiple of the rounding error of their mean.
SAME = 64.0

#: The share of delta for the error of the mean, which enters squared and is small.
MEAN_SHARE = 0.1


@dataclass(frozen=True)
class SubspaceBound:
    """Bound on the difference between the objective on the data and its expectation.

    The bound holds with probability > 1 - ``delta``, for all projections on the same number of
    directions at once. ``gap``, ``objective``, ``radius`` and ``largest`` are in units of the data.

    Attributes
    ----------
    gap : float
        The largest difference between the two objectives.
    delta : float
        The probability that the bound fails.
    objective : float
        The objective of the learned subspace on the data.
    radius : float
        The largest distance of a row from the expectation.
    largest : float
        The largest possible gap. A bound that reaches it is vacuous.
    deviations : tuple of Deviation
        The bounds of the theorem for data rescaled to norm 1/2. If alpha was estimated from the
        data, there is one bound for the variance and one for the velocity.
    empirical : bool
        True if ``radius`` was estimated from the rows seen. The bound then assumes that no other
        row is farther from the expectation.
    """

    gap: float
    delta: float
    objective: float
    radius: float
    largest: float
    deviations: tuple[Deviation, ...]
    empirical: bool = False

    @property
    def scale(self) -> float:
        """The factor by which the data were rescaled to the norm 1/2."""
        return 0.5 / self.radius

    @property
    def lower(self) -> float:
        """The lower bound on the expected objective of the learned subspace."""
        return self.objective - self.gap

    @property
    def vacuous(self) -> bool:
        """True if the gap is not smaller than the largest possible one."""
        return self.gap >= self.largest

    def __str__(self) -> str:
        """Return the bound and its condition as text."""
        last = self.deviations[-1]
        text = (
            f"objective {self.objective:.4g} +- {self.gap:.3g} with probability > "
            f"{1 - self.delta:.6g} (data rescaled by {self.scale:.4g}, "
            f"m = {last.m}, a = {last.a}, {last.blocks} blocks)"
        )
        text = f"{text}, which is vacuous" if self.vacuous else text
        text = f"{text}, if no possible row is farther than {self.radius:.4g} from the expectation"
        return f"{text}. Pass radius= if other rows can be." if self.empirical else f"{text}."


@dataclass(frozen=True)
class PairRule:
    """Rule that assigns two observations to the same class if their features are close.

    The bound on its error is that of Maurer (2006), Theorem 5. For comparison, always answering
    "same" has the error 1 - ``same_class``, and always answering "different" has ``same_class``.

    Attributes
    ----------
    distance : float
        The distance of the features below which two observations count as the same class.
    error : float
        The largest error probability on two independent observations. It is vacuous from 1 on.
    delta : float
        The probability that the bound fails.
    same_class : float
        The probability that two independent observations are of the same class.
    bound : SubspaceBound
        The bound on the objective that the error follows from.

    References
    ----------
    A. Maurer, "Unsupervised Slow Subspace-Learning from Stationary Processes", Algorithmic Learning
    Theory (ALT), LNCS 4264, Springer, 2006.

    Examples
    --------
    >>> rule = PairRule(0.5, 0.2, 0.05, 0.4, None)
    >>> rule.alike([[0.0, 0.0]], [[0.3, 0.3]])
    array([ True])
    """

    distance: float
    error: float
    delta: float
    same_class: float
    bound: SubspaceBound

    @property
    def vacuous(self) -> bool:
        """True if the bound on the error is not below 1."""
        return self.error >= 1.0

    def alike(self, Z: object, other: object) -> NDArray[np.bool_]:
        """Return True for pairs of transformed rows that are of the same class.

        Parameters
        ----------
        Z, other : array-like of shape (n, n_components)
            The two rows of each pair, as returned by ``transform``.

        Returns
        -------
        array of shape (n,)
            True for pairs predicted to be of the same class.
        """
        differences = real_array(Z, "Z").astype(np.float64) - real_array(other, "other")
        return np.asarray(row_squares(differences) < self.distance**2)


def subspace_bound(
    model: "SlowSubspace",
    delta: float,
    mixing: MixingProfile,
    *,
    radius: float | None = None,
    tight: bool = False,
) -> SubspaceBound:
    """Bound the difference between the objective on the data and its expectation [1]_.

    Parameters
    ----------
    model : SlowSubspace
        A fitted estimator with ``solver="dense"``.
    delta : float in (0, 1)
        The probability that the bound fails.
    mixing : MixingProfile
        The mixing coefficients of the process (``eigenstream.theory``).
    radius : float, optional
        The largest possible distance of a row from the mean. By default it is estimated from
        the rows seen. Pass a number if other rows can be larger.
    tight : bool, default=False
        Omit the last estimate of the proof, which gives a smaller bound.

    Returns
    -------
    SubspaceBound
        The gap, and the conditions under which it holds.

    Notes
    -----
    The bound assumes a stationary process with beta coefficients of at most ``mixing``. It also
    assumes that no row is farther than ``radius`` from the expectation. Separate sequences
    count as distant parts of one sequence. A tenth of delta covers the error of the mean.

    The theorem requires an alpha that does not depend on the data. For "auto" and "bound", the
    variance and the velocity are bounded separately, which holds for all alpha at once. If you
    selected a number on these data, such as from ``path``, fit on other data before calling
    ``bound``. With ``n_components=None`` the bound holds for any number of directions.

    References
    ----------
    .. [1] A. Maurer, "Unsupervised Slow Subspace-Learning from Stationary Processes",
       Algorithmic Learning Theory (ALT), LNCS 4264, Springer, 2006, Theorem 2.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import SlowSubspace
    >>> from eigenstream.subspace import subspace_bound
    >>> from eigenstream.theory import Independent
    >>> X = np.random.default_rng(0).uniform(-1, 1, (100_000, 3))
    >>> bound = subspace_bound(
    ...     SlowSubspace(1, alpha=0.9).fit(X), 0.05, Independent()
    ... )
    >>> round(bound.objective, 2), round(bound.gap, 2), round(bound.largest, 2)
    (0.24, 0.23, 3.87)
    """
    alpha = model.result_.alpha
    if alpha is None:
        raise ValueError(
            "The bound does not hold for criterion='ratio'. Fit with criterion='difference'."
        )
    learner = model._stored().with_all_rows()
    terms: Any = learner.terms
    if model.scale or not terms.plain or isinstance(learner.sums, RowMoments | GapMoments):
        raise ValueError(
            "The bound holds only for unweighted means of unscaled rows. Fit without scale, "
            "sample_weight, forgetting, missing='skip' or 'available', and center='sequences'."
        )
    delta, tight = check_number(delta, "delta", above=0, below=1), check_flag(tight, "tight")
    m, lag = terms.n_velocities, terms.lag
    d = terms.n_features if model.n_components is None else model.n_components_
    # The objective about the learned mean is smaller than the one about the true mean by
    # alpha |P(mean - true mean)|^2. [SLOW] Corollary 1 bounds this difference.
    for_mean = MEAN_SHARE * delta if model.center else 0.0
    left = delta - for_mean
    # Theorem 2 needs an alpha that does not depend on the data. If it does, bound the mean squares
    # V of Px and W of its velocity separately, each with probability left / 2. For all P and alpha,
    # |L^ - L| <= alpha |V^ - V| + (1 - alpha) |W^ - W|.
    shares, parts = [1.0], [(lag, alpha)]
    if isinstance(model.alpha, str):
        shares, parts = [alpha, 1.0 - alpha], [(0, 1.0), (lag, 0.0)]
    deviations = tuple(
        slow_bound(m, d, left / len(parts), mixing, lag=at, tight=tight, alpha=weight)
        for at, weight in parts
    )
    gap = float(np.dot(shares, [part.value for part in deviations]))
    largest = float(np.dot(shares, [part.largest for part in deviations]))
    if model.center:
        gap += alpha * mean_bound(m, 0.5, for_mean, mixing, tight=tight).value ** 2
    reach = _radius(learner, radius)
    unit, objective = (2.0 * reach) ** 2, model.result_.objective
    return SubspaceBound(
        unit * gap, delta, objective, reach, unit * largest, deviations, radius is None
    )


def pair_rule(
    model: "SlowSubspace",
    same_class: float,
    delta: float,
    mixing: MixingProfile,
    *,
    radius: float | None = None,
    tight: bool = False,
) -> PairRule:
    """Return a rule for whether two observations are of the same class, with its error.

    Parameters
    ----------
    model : SlowSubspace
        A fitted estimator with ``basis="eigenvalue"``.
    same_class : float in (0, 1]
        The probability R that two independent observations are of the same class, which is the
        sum of the squared class frequencies.
    delta : float in (0, 1)
        The probability that the bound fails.
    mixing : MixingProfile
        The mixing coefficients of the process (``eigenstream.theory``).
    radius : float, optional
        The largest possible distance of a row from the mean; see ``bound``.
    tight : bool, default=False
        Omit the last estimate of the proof, which gives a smaller bound.

    Returns
    -------
    PairRule
        The distance threshold and the bound on the error.

    Notes
    -----
    Scale the data so that no row is farther than 1/2 from the mean. Two observations count as
    the same class if the squared distance of their features is below alpha [1]_. The error
    probability is at most ``(1 - 2 L / alpha) / (1 - alpha) - R``, where L is the lower bound
    on the objective. It holds for all partitions into classes that are continuous with respect
    to the process (Definition 2 of the paper; see ``theory.class_continuity``).

    References
    ----------
    .. [1] A. Maurer, "Unsupervised Slow Subspace-Learning from Stationary Processes",
       Algorithmic Learning Theory (ALT), LNCS 4264, Springer, 2006, Theorem 5.

    Examples
    --------
    Two states that rarely change:

    >>> import numpy as np
    >>> from eigenstream import SlowSubspace
    >>> from eigenstream.subspace import pair_rule
    >>> from eigenstream.theory import markov_mixing
    >>> rng = np.random.default_rng(0)
    >>> states = np.where(rng.random(20_000) < 0.01, -1.0, 1.0).cumprod()
    >>> mixing = markov_mixing([[0.99, 0.01], [0.01, 0.99]])
    >>> slow = SlowSubspace(1, alpha=0.2, basis="eigenvalue").fit(
    ...     states[:, None]
    ... )
    >>> rule = pair_rule(slow, 0.5, 0.05, mixing)
    >>> rule.vacuous  # the bound needs many more rows than the rule itself
    True
    >>> Z = slow.transform(states[:, None])
    >>> bool((rule.alike(Z[1:], Z[:-1]) == (states[1:] == states[:-1])).all())
    True
    """
    same_class = check_number(same_class, "same_class", above=0, most=1)
    bound = subspace_bound(model, delta, mixing, radius=radius, tight=tight)
    alpha = model.alpha_
    if model.result_.sorted:
        raise ValueError(
            "pair_rule compares distances within the subspace. Fit with basis='eigenvalue'."
        )
    if alpha is None or alpha >= 1.0:
        raise ValueError(
            f"pair_rule needs an alpha below 1, but alpha_={alpha!r}. Fit with a smaller alpha."
        )
    unit = (2.0 * bound.radius) ** 2
    # L >= alpha - 1 for all data, and L <= alpha / 4 up to rounding.
    lower = min(max(bound.lower / unit, alpha - 1.0), alpha / 4.0)
    error = metric_rule_error(lower, alpha, same_class)
    return PairRule(float(np.sqrt(alpha * unit)), error, bound.delta, same_class, bound)


# ---- the weight alpha --------------------------------------------------------------------------


def error_bound(alpha: float, objective: float, radius: float) -> float:
    """Return ``(1 - (2 / alpha) L) / (1 - alpha)`` of [SLOW] Theorem 5, infinite at alpha = 1.

    The objective L is rescaled to data with |x - mean| <= 1/2, as the theorem requires.
    """
    if alpha == 1.0:
        return float("inf")
    shrink = 1.0 if radius == 0.0 else 0.25 / radius**2
    return (1.0 - 2.0 / alpha * shrink * objective) / (1.0 - alpha)


def alpha_of_bound(
    operator: MatrixOperator, n_components: int | None, radius: float
) -> tuple[float, float]:
    """Return the alpha that minimises the bound of [SLOW] Theorem 5, and the bound."""
    wanted = len(operator.reward) if n_components is None else n_components

    def bound(alpha: float) -> float:
        values = operator.largest((alpha, 1.0 - alpha), wanted).values
        if n_components is None:
            values = values[values > 0]
        return error_bound(alpha, float(values.sum()), radius)

    grid = np.linspace(0.02, 0.98, 13)
    best = int(np.argmin([bound(alpha) for alpha in grid]))
    edges = np.concatenate([[1e-4], grid, [1.0 - 1e-4]])
    minimum = minimize_scalar(
        bound, bounds=(edges[best], edges[best + 2]), method="bounded", options={"xatol": 1e-3}
    )
    if minimum.fun >= 1.0:
        warn_user(
            f"alpha='bound' selects alpha={minimum.x:.3g}, where the error bound is vacuous: "
            f"{minimum.fun:.3g} >= 1. Use alpha='auto'."
        )
    return float(minimum.x), float(minimum.fun)


@dataclass(frozen=True)
class AlphaPath:
    """Slow subspaces of the same data at several alphas.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        The weights of the variance.
    eigenvalues : array of shape (n_alphas, n_components)
        The eigenvalues at each alpha, descending.
    components : array of shape (n_alphas, n_components, n_features)
        The components at each alpha.
    objective : array of shape (n_alphas,)
        The sum of the eigenvalues.
    n_positive : array of shape (n_alphas,)
        The number of positive eigenvalues of T.
    error_bound : array of shape (n_alphas,)
        The error bound that ``alpha="bound"`` minimises, without its last term. Values of 1 or more
        are vacuous.
    auto : float
        The alpha that ``alpha="auto"`` selects.
    """

    alphas: Float64s
    eigenvalues: Float64s
    components: Float64s
    objective: Float64s
    n_positive: NDArray[np.int64]
    error_bound: Float64s
    auto: float

    __repr__ = brief


def alpha_path(
    operator: MatrixOperator, n_components: int, alphas: ArrayLike, radius: float
) -> AlphaPath:
    """Solve for several alphas without reading the data again."""
    chosen = [check_number(alpha, "alpha", above=0, most=1) for alpha in np.ravel(alphas).tolist()]
    if not chosen:
        raise ValueError("alphas is empty. Pass at least one number in (0, 1].")
    weights_of_alphas = [(alpha, 1.0 - alpha) for alpha in chosen]
    eigenpairs = [operator.largest(weights, n_components) for weights in weights_of_alphas]
    values = np.array([pairs.values for pairs in eigenpairs])
    objective = values.sum(axis=1)
    bounds = [error_bound(a, float(o), radius) for a, o in zip(chosen, objective, strict=True)]
    return AlphaPath(
        np.array(chosen),
        values,
        np.array([pairs.vectors.T for pairs in eigenpairs]),
        objective,
        np.array(
            [operator.count_positive(weights) for weights in weights_of_alphas], dtype=np.int64
        ),
        np.array(bounds),
        operator.automatic_alpha(n_components),
    )


def _radius(learner: Learner, radius: float | None) -> float:
    """Return the radius for rescaling, and raise if it is too small for the rows seen."""
    operator, terms = learner.thin_operator(), learner.terms
    moved = float(np.trace(operator.penalty))
    # Equal rows have velocity 0. Their variance is the rounding error of the mean.
    if moved == 0.0 and operator.trace <= (SAME * SAME) * operator.floor:
        raise ValueError("All rows are equal, so the bound is undefined. Pass rows that vary.")
    spread = float(np.sqrt(max(operator.trace, 0.0)))
    if radius is None:
        return float(learner.watcher("radius").reach(terms.mean))
    radius = check_number(radius, "radius", above=0)
    if radius < spread:
        raise ValueError(
            f"radius={radius:g} is smaller than the root mean square distance of the rows from "
            f"their mean, {spread:.6g}. Pass the largest possible distance."
        )
    return radius
