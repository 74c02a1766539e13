"""What a Hebbian rule is, and the parts that rules make a step of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenstream.kernels.base import njit

__all__ = [
    "Rule",
    "UnstableStepError",
    "add_input",
    "begin_step",
    "next_gain",
    "read_responses",
]

#: Responses larger than this mean that the weights explode; float32 still holds their squares.
EXPLODED = 1e18


class UnstableStepError(ArithmeticError):
    """A learning step gave numbers that are not finite or that explode.

    ``step`` counts from 0; the weights are those after the last good block.
    """

    def __init__(self, step: int, gain: float) -> None:
        self.step = step
        self.gain = gain
        if gain == 0.0:  # the adaptive rate of an infinite square
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
        super().__init__(f"{cause} The weights after the last good block are kept.")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the two numbers, so that it crosses process borders."""
        return type(self), (self.step, self.gain)


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
    - ``adapt``: (running sum, c, share kept a step) of the adaptive gain; c = 0 switches it off.
    - ``responses`` (steps * r, d): filled with <w_k, u> as the rule saw them.

    A return value short of the number of steps names the step that was not finite.
    """

    name: str
    run: Callable[..., int]
    orthonormal: bool = False
    norms: bool = False


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def next_gain(gains: Any, step: int, strength: float, adapt: Any) -> float:
    """Return this step's learning rate: the schedule's, or c / sqrt(sum of |A_s V_s|^2).

    The latter is held at 1 / |A_t V_t|, so that the first steps turn V by 45 degrees at most.
    """
    adapt[0] = adapt[2] * adapt[0] + strength
    if adapt[1] > 0.0:
        square = max(adapt[0] / adapt[1] ** 2, strength)
        gains[step] = 1.0 / np.sqrt(square) if square > 0.0 else 0.0
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
    return c * next_gain(gains, step, c * c * gram[step, step] * square, adapt), square < EXPLODED


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def add_input(line: Any, factor: float, gram: Any, slot: int, n_units: int) -> None:
    """Add ``factor * u`` to a row of ``moved``: to its own coefficient and the later products."""
    line[slot] += factor
    u = slot - n_units
    for j in range(slot + 1, line.shape[0]):
        line[j] += factor * gram[u, j - n_units]
