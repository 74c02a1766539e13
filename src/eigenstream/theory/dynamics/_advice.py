"""Predicted learning times at finite N.

At finite N the noise of single examples perturbs the overlaps, so a plateau lasts at most about ln
N / (2 rate). Small deviations grow linearly. Let Lambda(s) be their growth up to time s. Noise of
strength D / N at time s acts like an initial deviation smaller by the factor exp(-Lambda(s)). The
equations are therefore solved from the start plus Gaussian noise. Its variance is the integral of
D / N exp(-2 Lambda). The times are averaged over this noise.
"""

from dataclasses import dataclass
from math import inf, log, pi, sqrt
from typing import Any

import numpy as np
from scipy.integrate import odeint
from scipy.special import ndtri

from eigenstream.core.types import Estimator
from eigenstream.theory.dynamics._averages import sobol
from eigenstream.theory.dynamics.base import crossing
from eigenstream.theory.mixing import Float64s

__all__ = ["Advice"]

#: The number of quantiles, or of points of a fixed quasi-random set, that represent the noise. More
#: points cost more time and reduce the error of the mean.
DRAWS, UNIT_DRAWS = 48, 64

#: The time after (ln N) / 2 growth times at which the integration ends. Longer plateaus are rare: a
#: normal variable is smaller than exp(-10) with probability 4e-5.
PATIENCE = 15.0

#: Smaller rates, as shares of the rate of fastest growth, that may be faster at finite N.
SHARES = (1.0, 0.85, 0.7, 0.5, 0.25)

#: The number of intervals of the integration, which stops early. Most plateaus need one or two.
STRETCHES = 6


@dataclass(frozen=True)
class Advice:
    """The predicted result of a learning rate, from ``advise`` of a model.

    Attributes
    ----------
    learning_rate : float
        The learning rate times N.
    critical_rate : float
        The rate at and above which a prototype or unit never specialises.
    best_rate : float
        The rate with the fastest growth, or a smaller rate that needs fewer examples.
    examples : float
        The mean number of examples until the last prototype or unit has half of its final overlap.
        Infinite at or above the critical rate.
    best_examples : float
        The same number at ``best_rate``.
    stable : bool
        True if the specialised state is stable.
    """

    learning_rate: float
    critical_rate: float
    best_rate: float
    examples: float
    best_examples: float
    stable: bool

    def __str__(self) -> str:
        """Return the prediction in a few lines."""
        state, mark, end = "is below", ":", f"specialised after about {self.examples:.3g} examples"
        if self.learning_rate >= self.critical_rate:
            state, end = "is not below", "it never specialises"
        elif self.examples == inf:
            mark = ", but the state it aims at is not stable:"
            end = "the last unit never finds its direction"
        rates = f"Rate {self.learning_rate:g} {state} the critical rate {self.critical_rate:.4g}"
        lines = [f"{rates}{mark} {end}."]
        if "specialised" in end:
            lines.append("Specialised: the last prototype or unit has half of its final overlap.")
        lines.append(f"Fastest: rate {self.best_rate:.4g}, {self.best_examples:.3g} examples.")
        return "\n".join(lines)


def pair_time(pair: Any, lr: float, Q: float, n_features: int) -> float:
    """Return the mean t at which random prototypes with Q-(0) = Q have half of their R-."""
    b, growth = pair.b, pair.growth_rate(lr)
    if growth <= 0:
        return inf
    end = (PATIENCE + 0.5 * log(n_features)) / growth
    times = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 1000) * end])

    def unspecialised(state: Float64s, _: float) -> Float64s:
        """Return the growth of Q- at R- = 0, and that of ln R-, which depends on Q-."""
        q = sqrt(max(state[0], 1e-300))
        slope = lr / 2 * ((b * b + 2) / (sqrt(pi) * q) - 1)
        return np.array([lr * (2 * q / sqrt(pi) - q * q + lr / 2), slope])

    grown = odeint(unspecialised, [Q, 0.0], times, rtol=1e-8, atol=1e-10)[:, 1]
    # An example moves R- by (lr / N) (y_1 - y_2) / 2, with either sign.
    noise = lr**2 * (b * b / 4 + 0.5) / n_features
    fading = np.exp(-2 * grown)
    variance = noise * float(np.trapezoid(fading, times)) + Q / n_features
    quantiles = ndtri((np.arange(DRAWS) + 0.5) / DRAWS)
    R, _ = pair.specialised(lr)
    half = (R[0, 0] - R[0, 1]) / 2

    def speed(state: Float64s, _: float) -> Any:
        return pair.drift(state[0], max(state[1], 1e-300), lr)

    ends = []
    for begin in np.unique(np.abs(sqrt(variance) * quantiles).round(14)):
        course = odeint(speed, [begin, Q], times, rtol=1e-7, atol=1e-14)[:, 0]
        when = crossing(course, half, times, never=times[-1])
        ends.append(0.0 if begin >= half else when)
    return float(np.mean(ends))


def pair_advice(pair: Any, lr: float, Q: float, n: int) -> Advice:
    """Return the advice on a SymmetricPair whose prototypes begin with Q-(0) = Q."""
    examples = n * pair_time(pair, lr, Q, n)
    rates = [share * pair.best_rate for share in SHARES]
    times = {rate: n * pair_time(pair, rate, Q, n) for rate in rates}
    if lr < pair.best_rate:
        times[lr] = examples
    best = min(times, key=lambda rate: times[rate])
    return Advice(lr, pair.critical_rate, best, examples, times[best], lr < pair.critical_rate)


def unit_time(model: Estimator, n_features: int) -> float:
    """Return the mean t at which the last of random units has half of its overlap."""
    M, m = model.n_students, model.n_directions
    last = min(M, m)
    lr = model.learning_rate[:, None]
    rates = lr * (model.excess - lr / 2)  # of R_lj, near R = 0
    if (np.diag(rates)[:last] <= 0).any() or not model.is_stable():
        return inf
    # An example moves R_lj by (lr_l / N) x_l y_j. Overlaps that do not grow follow the others.
    strength = lr**2 * (1 + model.excess)
    noise = strength / (2 * np.maximum(rates, rates[last - 1, last - 1]))
    spread = np.sqrt((1.0 + noise) / n_features)
    half = abs(model.fixed_point()[0][last - 1, last - 1]) / 2
    end = (PATIENCE + 0.5 * log(n_features)) / float(np.diag(rates)[:last].min())
    ends = []
    for draw in ndtri(sobol(M * m, UNIT_DRAWS)):
        R = spread * draw.reshape(M, m)
        Q = np.eye(M) + R @ R.T
        length = np.sqrt(np.diag(Q))
        R, Q = R / length[:, None], Q / np.outer(length, length)
        times, passed, when = np.linspace(0.0, end / STRETCHES, 40), 0.0, 0.0
        overlap = np.zeros(1)
        while overlap[-1] < half and passed < end:  # a large initial overlap may fall again
            course = model.solve(R, Q, times)
            overlap = np.abs(course.R[:, last - 1, last - 1])
            reached = crossing(overlap, half, times, never=times[-1])
            when = passed + (0.0 if overlap[0] >= half else reached)
            R, Q, passed = course.R[-1], course.Q[-1], passed + end / STRETCHES
        ends.append(when)
    return float(np.mean(ends))


def unit_advice(model: Estimator, n_features: int) -> Advice:
    """Return the advice on Sanger's rule with units in random directions."""

    def other(lr: float) -> Any:
        return type(model)(model.strengths, learning_rate=lr, n_units=model.n_students)

    units = min(model.n_students, model.n_directions)
    best = float(model.excess[units - 1])  # where the last unit's gamma is largest
    while not other(best).is_stable():
        best *= 0.9
    examples, fastest = (
        n_features * unit_time(rated, n_features) for rated in (model, other(best))
    )
    if examples < fastest and np.ptp(model.learning_rate) == 0.0 < best - model.learning_rate[0]:
        best, fastest = float(model.learning_rate[0]), examples
    critical = model.critical_rates
    # The first unit to fail.
    nearest = int(np.argmax(model.learning_rate[:units] / critical))
    return Advice(
        learning_rate=float(model.learning_rate[nearest]),
        critical_rate=float(critical[nearest]),
        best_rate=best,
        examples=examples,
        best_examples=fastest,
        stable=model.is_stable(),
    )
