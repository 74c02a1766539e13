"""The theory's numbers for one fit: from data of any scale to the theorems' unit and back."""

from dataclasses import dataclass

from eigenstream.theory import Deviation, MixingProfile, mean_bound, slow_bound

#: The part of delta spent on the mean, which is learned too: it enters squared and needs little.
MEAN_SHARE = 0.1


@dataclass(frozen=True)
class SubspaceBound:
    """How far the measured objective of a fit can be from the true one.

    With probability > 1 - ``delta``, for every projection on as many directions (the learned one
    included), the objective on the data and the true one differ by at most ``gap``, in the units
    of the data. ``scale`` is the factor that shrinks the data to the norm 1/2 that the theorem
    wants, ``radius`` the norm it was taken from; ``deviation`` is the theorem's own statement in
    that unit. ``largest`` is what the gap cannot exceed anyway.
    """

    gap: float
    delta: float
    objective: float
    radius: float
    largest: float
    deviation: Deviation

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
        """Say it in one line."""
        text = (
            f"objective {self.objective:.4g} +- {self.gap:.3g} with probability > "
            f"{1 - self.delta:.6g} (data rescaled by {self.scale:.4g}, "
            f"m = {self.deviation.m}, a = {self.deviation.a}, {self.deviation.blocks} blocks)"
        )
        return f"{text}, which is vacuous" if self.vacuous else text


def slow_subspace_bound(
    m: int,
    d: int,
    alpha: float,
    lag: int,
    delta: float,
    mixing: MixingProfile,
    *,
    radius: float,
    center: bool,
    objective: float,
    tight: bool,
) -> SubspaceBound:
    """Apply [SLOW] Theorem 2 to data within ``radius`` of their middle.

    About the learned mean the objective is short of the one about the true mean by
    alpha |P(mean - true mean)|^2, which [SLOW] Corollary 1 bounds.
    """
    for_mean = MEAN_SHARE * delta if center else 0.0
    deviation = slow_bound(m, d, delta - for_mean, mixing, lag=lag, tight=tight, alpha=alpha)
    gap = deviation.value
    if center:
        gap += alpha * mean_bound(m, 0.5, for_mean, mixing, tight=tight).value ** 2
    unit = (2.0 * radius) ** 2
    return SubspaceBound(unit * gap, delta, objective, radius, unit * deviation.largest, deviation)
