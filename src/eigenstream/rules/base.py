"""What a Hebbian rule is, and the parts that rules make a step of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream.kernels.base import njit

__all__ = [
    "Rule",
    "UnstableStepError",
    "adaptive",
    "add_input",
    "begin_step",
    "next_gain",
    "read_responses",
]

#: Where ``adapt`` has its numbers: the running mean of |A V|^2, c, the share of the past that is
#: kept a step, the running median of |A V|^2, and how many steps are in them.
MEAN, C, KEEP, MEDIAN, COUNT = range(5)

#: The mean's weights are s^RECENT; how many medians a step counts at most; and the factor by which
#: the median follows: over 12 decades in 600 steps, while it wavers by a few percent.
RECENT, LARGEST, PACE = 3.0, 10.0, 1.05

#: Responses larger than this mean that the weights explode; float32 still holds their squares.
EXPLODED = 1e18


class UnstableStepError(ArithmeticError):
    """A learning step gave numbers that are not finite or that explode.

    ``step`` counts from 0; the weights are those after the last good block. A ``remedy`` ends the
    message instead of that.
    """

    def __init__(self, step: int, gain: float, remedy: str = "") -> None:
        self.step = step
        self.gain = gain
        self.remedy = remedy
        if remedy:
            cause = (
                f"the learning rate {gain:.3g} makes step {step} unstable: the weights are no "
                "longer finite or explode."
            )
        elif gain == 0.0:  # the adaptive rate of an infinite square
            cause = (
                f"the numbers of step {step} are too large to be squared: scale the data down, or "
                "pass float64."
            )
        else:
            cause = (
                f"the learning rate {gain:.3g} makes step {step} unstable: the weights are no "
                "longer finite or explode. Use a smaller learning rate or schedule='auto', or "
                "scale the data down."
            )
        super().__init__(f"{cause} {remedy or 'The weights after the last good block are kept.'}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by what it was made of, so that it crosses process borders."""
        return type(self), (self.step, self.gain, self.remedy)


@dataclass(frozen=True)
class Rule:
    """A rule: its compiled loop, and what it asks of the engine.

    ``run(moved, gram, own, signs, gains, rates, adapt, responses) -> steps done`` takes the block's
    steps one after the other. With d weight vectors, and r input vectors u a step:

    - ``moved`` (d, d + steps * r): everything that is linear in the weights, one row a unit,
      updated in place. Its first d columns are the coefficients of the weights in the old ones.
      The column of an input vector holds its inner products <w_k, u> up to its own step, and its
      coefficients from then on: a vector needs the one only before, the other only after.
    - ``gram``: inner products of the input vectors;  ``own`` (d, d): those of the weights, kept
      up to date by the rule, or empty unless ``norms``.
    - ``signs`` (steps, r): the signed weight of each vector;  ``gains`` (steps,): learning rates,
      replaced by the ones really used;  ``rates`` (d,): one factor a unit.
    - ``adapt``: what ``next_gain`` goes by, in its order; c = 0 switches the automatic gain off.
    - ``responses`` (steps * r, d): filled with <w_k, u> as the rule saw them.

    A return value short of the number of steps names the step that was not finite. ``run_pair``
    is a loop of their own for steps with two vectors, where these have one: of the two, a fit
    compiles the one that it needs.
    """

    name: str
    run: Callable[..., int]
    orthonormal: bool = False
    norms: bool = False
    run_pair: Callable[..., int] | None = None

    def run_of(self, vectors: int) -> Callable[..., int]:
        """Return the loop for steps with so many vectors."""
        return self.run_pair if vectors == 2 and self.run_pair is not None else self.run


def adaptive(c: float = 0.0, keep: float = 1.0) -> Float64s:
    """Return what ``next_gain`` goes by before the first step; 0 is for gains that are given."""
    adapt = np.zeros(5)
    adapt[C], adapt[KEEP] = c, keep
    return adapt


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def next_gain(gains: Any, step: int, strength: float, penalty: float, adapt: Any) -> float:
    """Return this step's learning rate: the schedule's, or c / sqrt(t mean |A_s V_s|^2).

    The mean has weights s^RECENT, for V leaves what its first steps saw, and no step counts more
    than LARGEST running medians, so that one row cannot spoil it. ``strength`` is |A_t V_t|^2;
    steps that cannot move V do not count. The rate is held at 1 / |A_t V_t|, so that the first
    steps turn V by 45 degrees at most, and at 1 / ``penalty``, which is -A_t's largest eigenvalue
    (that of its penalised vector): a longer step swings past what it is to turn V away from.
    """
    if adapt[C] > 0.0:
        gains[step] = 0.0
        if strength > 0.0:
            adapt[COUNT] = adapt[KEEP] * adapt[COUNT] + 1.0
            if adapt[MEDIAN] == 0.0:
                adapt[MEDIAN] = strength
            elif strength > adapt[MEDIAN]:
                adapt[MEDIAN] *= PACE
            else:
                adapt[MEDIAN] /= PACE
            share = (RECENT + 1.0) / (adapt[COUNT] + RECENT)
            counted = min(strength, LARGEST * adapt[MEDIAN])
            adapt[MEAN] = (1.0 - share) * adapt[MEAN] + share * counted
            square = adapt[COUNT] * adapt[MEAN] / adapt[C] ** 2
            gains[step] = 1.0 / np.sqrt(max(square, strength, penalty * penalty))
    return float(gains[step])


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def read_responses(moved: Any, slot: int, responses: Any, row: int) -> float:
    """Read <w_k, u> from u's column, free the column for coefficients; return |response|^2."""
    total = 0.0
    for k in range(moved.shape[0]):
        y = moved[k, slot]
        responses[row, k] = y
        moved[k, slot] = 0.0
        total += y * y
    return total


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def begin_step(
    moved: Any, gram: Any, signs: Any, gains: Any, adapt: Any, responses: Any, step: int
) -> Any:
    """Open a step with one vector: read its responses; return its signed gain, and if it is sound.

    It is not where the responses are not finite, or explode.
    """
    c = signs[step, 0]
    square = read_responses(moved, moved.shape[0] + step, responses, step)
    size = gram[step, step]
    eta = next_gain(gains, step, c * c * size * square, max(-c, 0.0) * size, adapt)
    return c * eta, square < EXPLODED


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def add_input(line: Any, factor: float, gram: Any, slot: int, n_units: int) -> None:
    """Add ``factor * u`` to a row of ``moved``: to its own coefficient and the later products."""
    line[slot] += factor
    u = slot - n_units
    for j in range(slot + 1, line.shape[0]):
        line[j] += factor * gram[u, j - n_units]
