"""The theory's numbers for one fit: from data of any scale to the theorems' unit and back."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import real_array
from eigenstream._linalg import row_squares
from eigenstream.theory import (
    Deviation,
    MixingProfile,
    mean_bound,
    metric_rule_error,
    slow_bound,
)

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
