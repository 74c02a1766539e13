"""What the theory promises of a slow subspace: its objective, and telling classes by it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import check_flag, check_number, real_array
from eigenstream._linalg import row_squares
from eigenstream.subspace.learner import Learner
from eigenstream.subspace.time import TimeEstimator
from eigenstream.theory import (
    Deviation,
    MixingProfile,
    mean_bound,
    metric_rule_error,
    slow_bound,
)

#: Equal rows seem to differ by up to so many times the rounding of their mean.
SAME = 64.0

#: The part of delta spent on the mean, which is learned too: it enters squared and needs little.
MEAN_SHARE = 0.1


@dataclass(frozen=True)
class SubspaceBound:
    """How far the measured objective of a fit can be from the true one.

    With probability > 1 - ``delta``, for every projection on as many directions (the learned one
    included), the objective on the data and the true one differ by at most ``gap``, in the units
    of the data. ``scale`` is the factor that shrinks the data to the norm 1/2 that the theorem
    wants, ``radius`` the norm it was taken from; ``deviations`` are the theorem's own statements in
    that unit: one, or two where alpha was chosen by the data (of the variance and of the velocity).
    ``largest`` is what the gap cannot exceed anyway. ``empirical``: ``radius`` comes from the rows
    seen, and the statement assumes that no other row is farther from the expectation.
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
        """What the true objective of the learned subspace is at least."""
        return self.objective - self.gap

    @property
    def vacuous(self) -> bool:
        """True if the statement says nothing: no gap can be larger anyway."""
        return self.gap >= self.largest

    def __str__(self) -> str:
        """Return the statement and its condition."""
        last = self.deviations[-1]
        text = (
            f"objective {self.objective:.4g} +- {self.gap:.3g} with probability > "
            f"{1 - self.delta:.6g} (data rescaled by {self.scale:.4g}, "
            f"m = {last.m}, a = {last.a}, {last.blocks} blocks)"
        )
        text = f"{text}, which is vacuous" if self.vacuous else text
        text = f"{text}, if no possible row is farther than {self.radius:.4g} from the expectation"
        return f"{text}. Pass radius= if rows not seen can be." if self.empirical else f"{text}."


@dataclass(frozen=True)
class PairRule:
    """Two observations are of one class iff their features are nearer than ``distance``.

    [SLOW] Theorem 5: with probability > 1 - ``delta`` over the data, the rule errs on two
    independent observations with a probability of at most ``error``, which is vacuous from 1 on.
    Answering always alike errs with probability 1 - ``same_class``, always different with
    ``same_class``. ``bound`` is what is known of the objective, in the units of the data.

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
        """True if the statement says nothing, as every probability of an error is at most 1."""
        return self.error >= 1.0

    def alike(self, Z: object, other: object) -> NDArray[np.bool_]:
        """Decide on pairs of rows that ``transform`` has made."""
        apart = real_array(Z, "Z").astype(np.float64) - real_array(other, "other")
        return np.asarray(row_squares(apart) < self.distance**2)


@dataclass(frozen=True)
class Measured:
    """What the theorems ask of one fit."""

    m: int
    d: int
    alpha: float
    lag: int
    objective: float
    #: What no row is farther than from their middle.
    radius: float
    empirical: bool
    #: Whether the data chose alpha, and whether they gave the mean.
    chosen: bool
    center: bool


def slow_subspace_bound(
    fit: Measured, delta: float, mixing: MixingProfile, *, tight: bool
) -> SubspaceBound:
    """Apply [SLOW] Theorem 2 to data within ``radius`` of their middle.

    About the learned mean the objective is short of the one about the true mean by
    alpha |P(mean - true mean)|^2, which [SLOW] Corollary 1 bounds.
    """
    m, d, alpha, lag = fit.m, fit.d, fit.alpha, fit.lag
    for_mean = MEAN_SHARE * delta if fit.center else 0.0
    left = delta - for_mean
    deviations: tuple[Deviation, ...]
    if not fit.chosen:
        fixed = slow_bound(m, d, left, mixing, lag=lag, tight=tight, alpha=alpha)
        deviations, gap, largest = (fixed,), fixed.value, fixed.largest
    else:
        # Theorem 2 wants an alpha from before the data. But L^ - L = alpha (V^ - V) - (1 - alpha)
        # (W^ - W), with V and W the mean squares of Px and of its velocity, where no alpha is. Each
        # is off by more than its gap for some P with probability < left / 2, so with probability
        # > 1 - left, for all P and all alpha at once, |L^ - L| <= alpha gap_V + (1 - alpha) gap_W.
        variance = slow_bound(m, d, left / 2, mixing, lag=0, tight=tight, alpha=1.0)
        velocity = slow_bound(m, d, left / 2, mixing, lag=lag, tight=tight, alpha=0.0)
        deviations = (variance, velocity)
        gap = alpha * variance.value + (1.0 - alpha) * velocity.value
        largest = alpha * variance.largest + (1.0 - alpha) * velocity.largest
    if fit.center:
        gap += alpha * mean_bound(m, 0.5, for_mean, mixing, tight=tight).value ** 2
    unit = (2.0 * fit.radius) ** 2
    return SubspaceBound(
        unit * gap, delta, fit.objective, fit.radius, unit * largest, deviations, fit.empirical
    )


def pair_rule(alpha: float, same_class: float, bound: SubspaceBound) -> PairRule:
    """Turn what is known of the objective at this alpha into the rule of [SLOW] Theorem 5."""
    unit = (2.0 * bound.radius) ** 2
    # L >= alpha - 1 whatever the data; and no measured one exceeds alpha / 4 but by rounding.
    lower = min(max(bound.lower / unit, alpha - 1.0), alpha / 4.0)
    error = metric_rule_error(lower, alpha, same_class).value
    return PairRule(float(np.sqrt(alpha * unit)), error, bound.delta, same_class, bound)


class SlowBounds(TimeEstimator):
    """The methods of SlowSubspace that ask the theory."""

    criterion: str

    def bound(
        self,
        delta: float,
        mixing: MixingProfile,
        *,
        radius: float | None = None,
        tight: bool = False,
    ) -> SubspaceBound:
        """Bound how far the objective on these data is from the true one ([SLOW] Theorem 2).

        The theorem wants data of norm at most 1/2 about their expectation. They are rescaled to it,
        and the result says by which factor.

        Parameters
        ----------
        delta : float in (0, 1)
            The statement may fail with this probability.
        mixing : MixingProfile
            How fast the process forgets (``eigenstream.theory``).
        radius : float, optional
            The largest possible distance of a row from the mean. By default a bound for the rows
            seen. It is no bound for other rows: pass a number if rare rows can be larger.
        tight : bool
            Leave out the last rounding of the proof; as valid, and smaller.

        Returns
        -------
        SubspaceBound

        Notes
        -----
        Assumes a stationary process whose beta is at most ``mixing``, and that no row, seen or not,
        is farther than ``radius`` from the expectation. Separate sequences count as one, as if they
        were no more dependent than distant parts of it. The learned mean's own error is paid for
        with a tenth of delta. The theorem fixes alpha before the data: where "auto" or "bound"
        chose it, variance and velocity are bounded each with half of delta, which holds for all
        alpha at once. (A number that you chose by these data, such as from ``path``, is one that
        the data chose: fit with the rule, or on other data.) With ``n_components=None`` the bound
        is that for projections on any number of directions.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenstream import SlowSubspace
        >>> from eigenstream.theory import Independent
        >>> X = np.random.default_rng(0).uniform(-1, 1, (100_000, 3))
        >>> bound = SlowSubspace(1, alpha=0.9).fit(X).bound(0.05, Independent())
        >>> bound.vacuous, bool(abs(bound.lower - (0.9 - 0.1 * 2) / 3) < 2 * bound.gap)
        (False, True)
        """
        if self.criterion == "ratio":
            raise ValueError(
                "the theory bounds criterion='difference' only: a ratio of averages has no such "
                "bound. Fit with criterion='difference'."
            )
        if self.scale:
            raise ValueError(
                "the theory bounds projections of the data, and scale=True divides by what the "
                "data say first: fit with scale=False, on data scaled by constants."
            )
        if "matrices" not in self._solver_known().can:
            raise ValueError("bound needs the matrices. Fit with solver='dense' first.")
        learner = self._known().ahead()
        terms: Any = learner.terms
        if not terms.plain:
            raise ValueError(
                "the theory bounds plain averages only. Fit without sample_weight, forgetting and "
                "missing='skip'."
            )
        delta, tight = check_number(delta, "delta", above=0, below=1), check_flag(tight, "tight")
        fit = Measured(
            m=terms.n_velocities,
            d=terms.n_features if self.n_components is None else self.n_components_,
            alpha=self._solved().details["alpha"],
            lag=terms.lag,
            objective=self.objective_,
            radius=self._radius(learner, radius),
            empirical=radius is None,
            chosen=isinstance(self.alpha, str),
            center=self.center,
        )
        return slow_subspace_bound(fit, delta, mixing, tight=tight)

    def pair_rule(
        self,
        same_class: float,
        delta: float,
        mixing: MixingProfile,
        *,
        radius: float | None = None,
        tight: bool = False,
    ) -> PairRule:
        """Return the rule that tells whether two observations are of one class, and its error.

        [SLOW] Theorem 5: alike iff the squared distance of the features is below alpha, in the unit
        in which no row is farther than 1/2 from the mean. It errs with a probability of at most
        (1 - 2 L / alpha) / (1 - alpha) - R, for every partition into classes that is continuous
        with respect to the process ([SLOW] Definition 2; see ``theory.class_continuity``). For L
        stands the least value that ``bound`` leaves.

        Parameters
        ----------
        same_class : float in (0, 1]
            R, the probability that two independent observations are of one class: the sum of the
            squared class frequencies.
        delta : float in (0, 1)
            The statement may fail with this probability.
        mixing : MixingProfile
            How fast the process forgets (``eigenstream.theory``).
        radius : float, optional
            The largest possible distance of a row from the mean; see ``bound``.
        tight : bool
            Leave out the last rounding of the proof; as valid, and smaller.

        Examples
        --------
        Two states that hardly ever change:

        >>> import numpy as np
        >>> from eigenstream import SlowSubspace
        >>> from eigenstream.theory import markov_mixing
        >>> rng = np.random.default_rng(0)
        >>> states = np.where(rng.random(20_000) < 0.01, -1.0, 1.0).cumprod()
        >>> mixing = markov_mixing([[0.99, 0.01], [0.01, 0.99]])
        >>> slow = SlowSubspace(1, alpha=0.2, basis="eigenvalue").fit(states[:, None])
        >>> rule = slow.pair_rule(0.5, 0.05, mixing)
        >>> rule.vacuous  # the promise takes many more rows than the rule
        True
        >>> Z = slow.transform(states[:, None])
        >>> bool((rule.alike(Z[1:], Z[:-1]) == (states[1:] == states[:-1])).all())
        True
        """
        same_class = check_number(same_class, "same_class", above=0, most=1)
        bound = self.bound(delta, mixing, radius=radius, tight=tight)
        alpha: float | None = self._solved().details["alpha"]
        if self._solved().details.get("basis") == "slowness":
            raise ValueError(
                "pair_rule compares distances within the subspace. Fit with basis='eigenvalue'."
            )
        if alpha is None or alpha >= 1.0:
            raise ValueError(
                f"the rule of [SLOW] Theorem 5 needs an alpha below 1, got alpha_={alpha!r}: at 1 "
                "nothing is known of velocities. Fit with a smaller one."
            )
        return pair_rule(alpha, same_class, bound)

    def _radius(self, learner: Learner, radius: float | None) -> float:
        """Return the norm to rescale by, not below what the rows are known to reach."""
        operator, terms = learner.operator(), learner.terms
        moved = float(np.trace(operator.penalty))
        # Equal rows have no velocity, and a variance from rounding of the mean alone.
        if moved == 0.0 and operator.trace <= (SAME * SAME) * operator.floor:
            raise ValueError("all rows are the same: there is nothing to bound.")
        spread = float(np.sqrt(max(operator.trace, 0.0)))
        if radius is None:
            return terms.radius.reach(terms.mean)
        radius = check_number(radius, "radius", above=0)
        if radius < spread:
            raise ValueError(
                f"radius={radius:g} is smaller than the rows' root mean square distance from "
                f"their mean, {spread:.6g}. Give the largest distance, which is at least that."
            )
        return radius
