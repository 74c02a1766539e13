"""The block engine: a sequential rule, one observation at a time, at matrix-multiply speed.

Every Hebbian rule sees its data only through inner products. Over a block of rows r_1..r_n the
weights stay in the span of Z = [V; rows], so the engine forms the Gram matrix of the block with one
matrix product, lets the rule take its steps on coefficients in a compiled loop, and lifts the
result with one more. Nothing is approximated: to rounding, the result is the sequential rule's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from eigenstream._linalg import Float64s

__all__ = ["BlockEngine", "Rule", "UnstableStepError", "Weave", "default_block_size"]

#: Responses larger than this mean that the weights explode; float32 still holds their squares.
EXPLODED = 1e18

NONE = np.empty((0, 0))

#: A penalised term makes the frame V^T V = I unstable: a departure grows by exp(strain). It is
#: put right before it has grown tenfold.
STRAIN = 2.0


class UnstableStepError(ArithmeticError):
    """A learning step gave numbers that are not finite or that explode.

    ``step`` counts from 0; the weights are those after the last good block.
    """

    def __init__(self, step: int, gain: float) -> None:
        self.step = step
        self.gain = gain
        super().__init__(
            f"the learning rate {gain:.3g} makes step {step} unstable: the weights are no longer "
            "finite or explode. Use a smaller learning rate or schedule='auto', or scale the data "
            "down. The weights after the last good block are kept."
        )

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
def respond(moved: Any, slot: int, responses: Any, row: int) -> float:
    """Read <w_k, u> from u's column, free the column for coefficients; return |response|^2."""
    total = 0.0
    for k in range(moved.shape[0]):
        y = moved[k, slot]
        responses[row, k] = y
        moved[k, slot] = 0.0
        total += y * y
    return total


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _strain(responses: Any, signs: Any, gains: Any) -> float:
    """Return sum eta |c| |V^T u|^2: the exponent at which a departure from V^T V = I may grow."""
    total = 0.0
    r = signs.shape[1]
    for t in range(signs.shape[0]):
        for i in range(r):
            for k in range(responses.shape[1]):
                total += gains[t] * abs(signs[t, i]) * responses[r * t + i, k] ** 2
    return total


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def add_input(line: Any, factor: float, gram: Any, slot: int, n_units: int) -> None:
    """Add ``factor * u`` to a row of ``moved``: to its own coefficient and the later products."""
    line[slot] += factor
    u = slot - n_units
    for j in range(slot + 1, line.shape[0]):
        line[j] += factor * gram[u, j - n_units]


@dataclass(frozen=True)
class Weave:
    """How input vectors arise from a block's rows: centred rows, and lagged differences.

    Step t's first vector is row ``now[t]`` less a running mean of the rows of the steps before,
    m <- (1 - s) m + s row with s = ``shares[t]``; if ``paired``, its second is row ``now[t]`` less
    row ``past[t]``, which needs no centring. The running mean starts at the row ``origin``, or
    at zero if that is negative.
    """

    now: Any
    past: Any
    shares: Any
    paired: bool
    origin: int = -1

    def mean(self, n: int) -> Float64s:
        """Return the coefficients on ``n`` rows of the running mean after the block."""
        mean: Float64s = _mean(self.now, self.shares, self.origin, n)
        return mean


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _mean(now: Any, shares: Any, origin: int, n: int) -> Any:
    mean = np.zeros(n)
    left = 1.0
    for t in range(now.shape[0] - 1, -1, -1):
        mean[now[t]] = left * shares[t]
        left *= 1.0 - shares[t]
    if origin >= 0:
        mean[origin] = left
    return mean


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _woven(
    products: Any, start: int, now: Any, past: Any, shares: Any, paired: bool, origin: int
) -> Any:
    """Return the inner products of the input vectors, given those of the rows: (cross, gram).

    ``products`` (n, start + n) holds the rows' with ``start`` other vectors, then with themselves.
    """
    r = 2 if paired else 1
    steps = now.shape[0]
    half = np.empty((r * steps, products.shape[1]))
    mean = np.zeros(products.shape[1])
    if origin >= 0:
        mean[:] = products[origin]
    for t in range(steps):
        for j in range(products.shape[1]):
            value = products[now[t], j]
            half[r * t, j] = value - mean[j]
            mean[j] += shares[t] * (value - mean[j])
            if paired:
                half[r * t + 1, j] = value - products[past[t], j]
    gram = np.empty((r * steps, r * steps))
    for i in range(r * steps):
        offset = half[i, start + origin] if origin >= 0 else 0.0
        for t in range(steps):
            value = half[i, start + now[t]]
            gram[i, r * t] = value - offset
            offset += shares[t] * (value - offset)
            if paired:
                gram[i, r * t + 1] = value - half[i, start + past[t]]
    return half[:, :start], gram


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _table(cross: Any, watched: int, near: Any) -> Any:
    """Return ``moved`` at the start of a block: coefficients ``near``, then its inner products."""
    slots = cross.shape[0]
    d = cross.shape[1] - watched
    moved = np.zeros((d, d + slots))
    if near.size:
        moved[:, :d] = near
        for i in range(slots):
            for k in range(d):
                for j in range(d):
                    moved[k, d + i] += near[k, j] * cross[i, watched + j]
    else:
        for k in range(d):
            moved[k, k] = 1.0
            for i in range(slots):
                moved[k, d + i] = cross[i, watched + k]
    return moved


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _unwoven(
    moved: Any,
    n: int,
    now: Any,
    past: Any,
    shares: Any,
    paired: bool,
    origin: int,
    lift: Any,
) -> None:
    """Write coefficients on weights and rows to ``lift``, given those on weights and vectors.

    This is the transpose of the map from rows to vectors, so the recursion of the mean runs back.
    """
    d = moved.shape[0]
    r = 2 if paired else 1
    for k in range(d):
        for j in range(d):
            lift[k, j] = moved[k, j]
        for j in range(n):
            lift[k, d + j] = 0.0
        later = 0.0
        for t in range(now.shape[0] - 1, -1, -1):
            value = moved[k, d + r * t]
            at = d + now[t]
            lift[k, at] += value + shares[t] * later
            later = (1.0 - shares[t]) * later - value
            if paired:
                value = moved[k, d + r * t + 1]
                lift[k, at] += value
                lift[k, d + past[t]] -= value
        if origin >= 0:
            lift[k, d + origin] += later


def default_block_size(n_components: int, n_features: int, itemsize: int) -> int:
    """Return the number of steps taken between two lifts.

    A step costs about 2 D (b + 2 d + d^2 / b) operations in a block of b, and a share 1 / b of a
    block's fixed cost, worth about 3 10^6 operations: least at b^2 = d^2 + 3 10^6 / 2 D. Matrix
    products want 32 rows at least, and a block of very wide rows is kept near 32 MiB.
    """
    balanced = (n_components**2 + 1.5e6 / n_features) ** 0.5
    size = 8 * round(min(max(balanced, 32), 128) / 8)
    return int(max(min(size, 2**25 // (n_features * itemsize)), 8))


class BlockEngine:
    """Runs a rule over blocks of rows: two matrix products and one compiled call a block.

    ``weights`` (d, D) are copied. The caller fills ``rows(n)`` and calls ``advance``.

    >>> import numpy as np
    >>> from eigenstream.rules import HEBB
    >>> engine = BlockEngine(HEBB, np.array([[1.0, 0.0]]), max_rows=4)
    >>> engine.rows(1)[:] = [[2.0, 1.0]]
    >>> _ = engine.advance(1, gains=np.array([0.5]), adapt=np.zeros(3))
    >>> engine.weights  # w + 0.5 y x with y = 2
    array([[3., 1.]])
    """

    def __init__(self, rule: Rule, weights: Any, *, max_rows: int, watched: Any = None) -> None:
        self.rule = rule
        self._d = weights.shape[0]
        self._w = 0 if watched is None else watched.shape[0]
        head = self._w + self._d
        # One buffer, so that [watched; V; rows] is one operand of each matrix product.
        self._z = np.empty((head + max_rows, weights.shape[1]), weights.dtype)
        if watched is not None:
            self._z[: self._w] = watched
        self._z[self._w : head] = weights
        self._lifted = np.empty(weights.shape, weights.dtype)
        # Blocks and strain since the last orthonormalisation; float32 drifts by 1e-7 a lift.
        self._blocks, self._strain = 0, np.inf
        self._every = 8 if weights.dtype == np.float32 else 64

    @property
    def weights(self) -> NDArray[Any]:
        """The weight vectors, one a row (a view)."""
        return self._z[self._w : self._w + self._d]

    @property
    def watched(self) -> NDArray[Any]:
        """Vectors that ride along to have their responses measured (a view)."""
        return self._z[: self._w]

    def rows(self, n: int) -> NDArray[Any]:
        """Return the buffer for the next block's ``n`` rows, to be filled."""
        start = self._w + self._d
        if start + n > len(self._z):
            grown = np.empty((start + n, self._z.shape[1]), self._z.dtype)
            grown[:start] = self._z[:start]
            self._z = grown
        return self._z[start : start + n]

    def advance(
        self,
        n: int,
        *,
        gains: Float64s,
        adapt: Float64s,
        weave: Weave | None = None,
        signs: Float64s | None = None,
        rates: Float64s | None = None,
        first_step: int = 0,
    ) -> tuple[Float64s, Float64s, Float64s]:
        """Take the block's steps; return what was measured on the way.

        That is: the responses of the weights and of the watched vectors to the input vectors, one
        a row, and the squared norms of the input vectors.

        The input vectors are the rows, one a step, or what ``weave`` makes of them; ``adapt`` and
        ``gains`` are updated. On a bad step all stays as before the block.
        """
        d, head = self._d, self._w + self._d
        steps = gains.shape[0]
        operand = self._z[: head + n]
        products = np.dot(operand[head:], operand.T).astype(np.float64, copy=False)
        if weave is None:
            cross, gram = products[:, :head], np.ascontiguousarray(products[:, head:])
        else:
            cross, gram = _woven(
                products,
                head,
                weave.now,
                weave.past,
                weave.shares,
                weave.paired,
                weave.origin,
            )
        near = NONE
        if self.rule.orthonormal and (self._blocks >= self._every or self._strain > STRAIN):
            # One Newton-Schulz step to the nearest orthonormal basis: the same span, no rotation,
            # and it rides on the lift.
            near = 1.5 * np.eye(d) - (0.5 * (self.weights @ self.weights.T)).astype(np.float64)
            self._blocks, self._strain = 0, 0.0
        moved = _table(cross, self._w, near)
        own = (self.weights @ self.weights.T).astype(np.float64) if self.rule.norms else NONE
        if signs is None:
            signs = np.ones((steps, 1))
        responses = np.empty((len(gram), d))
        state, used = adapt.copy(), gains.copy()
        if rates is None:
            rates = np.ones(d)
        done = self.rule.run(moved, gram, own, signs, used, rates, state, responses)
        if done < steps:
            raise UnstableStepError(first_step + done, float(used[done]))
        if weave is None:
            np.dot(moved.astype(self._z.dtype, copy=False), operand[self._w :], out=self._lifted)
        else:
            lift = np.empty((d, d + n))
            _unwoven(
                moved, n, weave.now, weave.past, weave.shares, weave.paired, weave.origin, lift
            )
            np.dot(lift.astype(self._z.dtype, copy=False), operand[self._w :], out=self._lifted)
        self.weights[...] = self._lifted
        adapt[:], gains[:] = state, used
        self._blocks += 1
        self._strain += _strain(responses, signs, used)
        return responses, cross[:, : self._w], gram.diagonal()

    def state(self) -> dict[str, Any]:
        """Return what the next block depends on, as arrays."""
        return {
            "vectors": self.weights.copy(),
            "watched": self.watched.copy(),
            "frame": np.array([self._blocks, self._strain]),
        }

    @classmethod
    def restored(cls, rule: Rule, state: dict[str, Any]) -> "BlockEngine":
        """Return an engine that goes on from a ``state``."""
        watched = state["watched"] if len(state["watched"]) else None
        engine = cls(rule, np.asarray(state["vectors"]), max_rows=0, watched=watched)
        engine._blocks, engine._strain = int(state["frame"][0]), float(state["frame"][1])
        return engine
