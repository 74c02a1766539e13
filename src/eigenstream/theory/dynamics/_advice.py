"""What to expect of a learning rate at finite N: how long plateaus last, and what shortens them.

At finite N the noise of single examples keeps overlaps from being exactly as they start, so that
no plateau lasts longer than about ln N / (2 rate). While deviations are small they grow linearly,
and noise of strength D / N that enters at time s counts like a deviation exp(-Lambda(s)) as large
at the start, Lambda being the growth so far. The equations are therefore solved from the start plus
Gaussian noise of variance int D / N exp(-2 Lambda) ds, and the times are averaged over it.
"""

from dataclasses import dataclass
from math import inf, log, pi, sqrt
from typing import Any

import numpy as np
from scipy.integrate import odeint
from scipy.special import ndtri

from eigenstream.theory.dynamics._averages import sobol
from eigenstream.theory.dynamics.base import crossing
from eigenstream.theory.mixing import Float64s

__all__ = ["Advice"]

#: The noise is represented by so many quantiles, or points of a fixed quasi-random set.
DRAWS, UNIT_DRAWS = 48, 64

#: A plateau lasts (ln N) / 2 growth times, and hardly ever more than these besides: a normal
#: variable is smaller than exp(-10) four times in 10^5. What lasts longer counts as so long.
PATIENCE = 15.0

#: Integrated in so many stretches, of which most plateaus take one or two.
STRETCHES = 6


@dataclass(frozen=True)
class Advice:
    """What a learning rate leads to; made by ``advise`` of a model.

    ``examples`` is the mean number of examples until the last prototype or unit has half of its
    overlap, infinite at or above the critical rate. ``split_saves`` is by how many of these it is
    earlier when each unit's rate is 1% below that of the one before; if negative, later: there
    noise has broken the symmetry already, and what is left is the smaller rate.
    """

    learning_rate: float
    critical_rate: float
    best_rate: float
    examples: float
    best_examples: float
    stable: bool
    split_saves: float | None = None

    def __str__(self) -> str:
        """Say it in a few lines."""
        state, mark, end = "is below", ":", f"specialised after about {self.examples:.3g} examples"
        if self.learning_rate >= self.critical_rate:
            state, end = "is not below", "it never specialises"
        elif self.examples == inf:
            mark = ", but the state it aims at is not stable:"
            end = "the last unit never finds its direction"
        rates = f"Rate {self.learning_rate:g} {state} the critical rate {self.critical_rate:.4g}"
        lines = [f"{rates}{mark} {end}."]
        lines.append(f"Fastest: rate {self.best_rate:.4g}, {self.best_examples:.3g} examples.")
        if self.split_saves is not None:
            word = "save" if self.split_saves >= 0 else "cost"
            lines.append(f"Rates that differ by 1% {word} {abs(self.split_saves):.3g} examples.")
        return "\n".join(lines)


def pair_time(pair: Any, lr: float, start: tuple[float | None, float], n_features: int) -> float:
    """Return the mean t at which two prototypes of a SymmetricPair have half of their R-.

    ``start`` is R-(0), None for random prototypes, and Q-(0).
    """
    b, growth = pair.b, pair.growth_rate(lr)
    if growth <= 0:
        return inf
    given, Q = start
    end = (PATIENCE + 0.5 * log(n_features)) / growth
    times = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 1000) * end])

    def unspecialised(state: Float64s, _: float) -> Float64s:
        """Q- while R- is nothing, and ln R-, whose growth Q- sets."""
        q = sqrt(max(state[0], 1e-300))
        slope = lr / 2 * ((b * b + 2) / (sqrt(pi) * q) - 1)
        return np.array([lr * (2 * q / sqrt(pi) - q * q + lr / 2), slope])

    grown = odeint(unspecialised, [Q, 0.0], times, rtol=1e-8, atol=1e-10)[:, 1]
    # An example moves R- by (lr / N) (y_1 - y_2) / 2, with either sign.
    noise = lr**2 * (b * b / 4 + 0.5) / n_features
    fading = np.exp(-2 * grown)
    variance = noise * float((np.diff(times) * (fading[1:] + fading[:-1]) / 2).sum())
    if given is None:
        given, variance = 0.0, variance + Q / n_features
    quantiles = ndtri((np.arange(DRAWS) + 0.5) / DRAWS)
    R, _ = pair.specialised(lr)
    half = (R[0, 0] - R[0, 1]) / 2

    def speed(state: Float64s, _: float) -> Any:
        return pair.drift(state[0], max(state[1], 1e-300), lr)

    ends = []
    for begin in np.unique(np.abs(given + sqrt(variance) * quantiles).round(14)):
        course = odeint(speed, [begin, Q], times, rtol=1e-7, atol=1e-14)[:, 0]
        when = crossing(course, half, times, never=times[-1])
        ends.append(0.0 if begin >= half else when)
    return float(np.mean(ends))


def unit_time(model: Any, start: Any, n_features: int) -> float:
    """Return the mean t at which the last unit of Sanger's rule has half of its overlap.

    ``start`` is (R, Q); None for random units.
    """
    M, m = model.n_students, model.n_directions
    last = min(M, m)
    lr = model.learning_rate[:, None]
    rates = lr * (model.excess - lr / 2)  # of R_lj, near R = 0
    if (np.diag(rates)[:last] <= 0).any() or not model.is_stable():
        return inf
    # An example moves R_lj by (lr_l / N) x_l y_j; what never grows alone is carried along.
    strength = lr**2 * (1 + model.excess)
    variance = strength / (2 * np.maximum(rates, rates[last - 1, last - 1])) / n_features
    given, rest = np.zeros((M, m)), np.eye(M)
    if start is None:
        variance = variance + 1.0 / n_features
    else:
        given, rest = start[0], start[1] - start[0] @ start[0].T
    half = abs(model.fixed_point()[0][last - 1, last - 1]) / 2
    end = (PATIENCE + 0.5 * log(n_features)) / float(np.diag(rates)[:last].min())
    ends = []
    for draw in ndtri(sobol(M * m, UNIT_DRAWS)):
        R = given + np.sqrt(variance) * draw.reshape(M, m)
        Q = rest + R @ R.T
        length = np.sqrt(np.diag(Q))
        R, Q = R / length[:, None], Q / np.outer(length, length)
        times, passed, when = np.linspace(0.0, end / STRETCHES, 40), 0.0, 0.0
        overlap = np.zeros(1)
        while overlap[-1] < half and passed < end:  # a large overlap at the start may be lost again
            course = model.solve(R, Q, times)
            overlap = np.abs(course.R[:, last - 1, last - 1])
            reached = crossing(overlap, half, times, never=times[-1])
            when = passed + (0.0 if overlap[0] >= half else reached)
            R, Q, passed = course.R[-1], course.Q[-1], passed + end / STRETCHES
        ends.append(when)
    return float(np.mean(ends))


def unit_advice(model: Any, start: Any, n_features: int) -> Advice:
    """Return the advice on Sanger's rule for units that start from (R, Q), or None for random."""

    def other(lr: Any) -> Any:
        return type(model)(model.strengths, learning_rate=lr, n_units=model.n_students)

    units = min(model.n_students, model.n_directions)
    best = float(model.excess[units - 1])  # where the last unit's gamma is largest
    while not other(best).is_stable():
        best *= 0.9
    split = other(model.learning_rate * 0.99 ** np.arange(model.n_students))
    examples, fastest, apart = (
        n_features * unit_time(one, start, n_features) for one in (model, other(best), split)
    )
    critical = model.critical_rates
    # The unit that is first to be lost.
    nearest = int(np.argmax(model.learning_rate[:units] / critical))
    return Advice(
        learning_rate=float(model.learning_rate[nearest]),
        critical_rate=float(critical[nearest]),
        best_rate=best,
        examples=examples,
        best_examples=fastest,
        stable=model.is_stable(),
        split_saves=examples - apart if units > 1 and examples < inf else None,
    )
