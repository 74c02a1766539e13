"""The block engine: a sequential rule, one observation at a time, at matrix-multiply speed.

Every Hebbian rule sees its data only through inner products. Over a block of rows r_1..r_n the
weights stay in the span of themselves and the rows, so the engine forms the inner products of the
block at once, lets the rule take its steps on coefficients in a compiled loop, and lifts the result
with one matrix product. Nothing is approximated: to rounding, the result is the sequential rule's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm, sgemm

from eigenstream._linalg import Float64s
from eigenstream.rules._block import NONE, begin, finish
from eigenstream.rules._weave import PLAIN, Weave

__all__ = ["PLAIN", "BlockEngine", "Rule", "UnstableStepError", "Weave", "default_block_size"]

#: Responses larger than this mean that the weights explode; float32 still holds their squares.
EXPLODED = 1e18

#: Up to this many vectors their products with the rows are taken without BLAS.
THIN = 64

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
def add_input(line: Any, factor: float, gram: Any, slot: int, n_units: int) -> None:
    """Add ``factor * u`` to a row of ``moved``: to its own coefficient and the later products."""
    line[slot] += factor
    u = slot - n_units
    for j in range(slot + 1, line.shape[0]):
        line[j] += factor * gram[u, j - n_units]


def default_block_size(n_components: int, n_features: int, itemsize: int) -> int:
    """Return the number of steps taken between two lifts.

    In a block of b, a step costs about (D + 4 d) b operations that grow with the block, and a
    share 1 / b of what a block costs: 0.7 d^3 to solve for the lift, and about 7 10^5 for the
    calls. Matrix products want 24 rows at least, and a block of very wide rows is kept near
    32 MiB.
    """
    d, D = n_components, n_features
    balanced = ((0.7 * d**3 + 7e5) / (D + 4 * d)) ** 0.5
    size = 8 * round(min(max(balanced, 24), 128) / 8)
    return int(max(min(size, 2**25 // (D * itemsize)), 8))


class BlockEngine:
    """Runs a rule over blocks of rows: thin matrix products and one compiled call a block.

    ``weights`` (d, D) are copied. Rows come to ``advance`` as they lie in memory, or are first
    written to the buffer ``rows(n)``.

    >>> import numpy as np
    >>> from eigenstream.rules import HEBB
    >>> engine = BlockEngine(HEBB, np.array([[1.0, 0.0]]))
    >>> _ = engine.advance(np.array([[2.0, 1.0]]), gains=np.array([0.5]), adapt=np.zeros(3))
    >>> engine.weights  # w + 0.5 y x with y = 2
    array([[3., 1.]])
    """

    def __init__(self, rule: Rule, weights: Any, *, watched: Any = None) -> None:
        self.rule = rule
        self._w = 0 if watched is None else len(watched)
        self._vectors = np.array(weights if watched is None else np.concatenate([watched, weights]))
        self._gemm = dgemm if self._vectors.dtype == np.float64 else sgemm
        self._rows = np.empty((0, weights.shape[1]), self._vectors.dtype)
        self._ones = np.ones(len(weights))
        #: W = mixing @ frame; see _block.
        self._mixing = NONE
        self._own = NONE
        # Blocks and strain since the last renewal; float32 drifts by 1e-7 a lift.
        self._blocks, self._strain = 0, np.inf
        self._every = 8 if self._vectors.dtype == np.float32 else 64

    @property
    def _frame(self) -> NDArray[Any]:
        return self._vectors[self._w :]

    @property
    def weights(self) -> NDArray[Any]:
        """The weight vectors, one a row (a view)."""
        if self._mixing.size:
            self._frame[...] = self._mixing.astype(self._vectors.dtype) @ self._frame
            self._mixing = NONE
        return self._frame

    @property
    def watched(self) -> NDArray[Any]:
        """Vectors that ride along to have their responses measured (a view)."""
        return self._vectors[: self._w]

    def rows(self, n: int) -> NDArray[Any]:
        """Return a buffer for the next block's ``n`` rows, to be filled."""
        if n > len(self._rows):
            self._rows = np.empty((n, self._rows.shape[1]), self._rows.dtype)
        return self._rows[:n]

    def advance(
        self,
        rows: NDArray[Any],
        *,
        gains: Float64s,
        adapt: Float64s,
        weave: Weave = PLAIN,
        signs: Float64s | None = None,
        rates: Float64s | None = None,
        first_step: int = 0,
    ) -> tuple[Float64s, Float64s, Float64s]:
        """Take the block's steps; return what was measured on the way.

        That is: the responses of the weights and of the watched vectors to the input vectors, one
        a row, and the squared norms of the input vectors.

        ``rows``, contiguous and of the weights' dtype, are the input vectors, one a step, or what
        ``weave`` makes them of; ``adapt`` and ``gains`` are updated. On a bad step all stays as
        before the block.
        """
        vectors, rule = self._vectors, self.rule
        n, steps = len(rows), len(gains)
        renewal = self._blocks >= self._every or self._strain > STRAIN
        mixing, own = self._renewed() if renewal else (self._mixing, self._own.copy())
        given = NONE if len(vectors) <= THIN else _products(vectors, rows)
        thread = (weave.now, weave.past, weave.shares, weave.paired, weave.origin)
        moved, gram, seen = begin(vectors, rows, given, self._w, mixing, *thread)
        if signs is None:
            signs = np.ones((steps, 1))
        responses = np.empty((len(gram), len(moved)))
        state, used = adapt.copy(), gains.copy()
        done = rule.run(
            moved, gram, own, signs, used, self._ones if rates is None else rates, state, responses
        )
        if done < steps:
            raise UnstableStepError(first_step + done, float(used[done]))
        kept, turn, lift, strain = finish(moved, n, renewal, *thread, responses, signs, used)
        if not np.isfinite(strain):  # the last step did it
            raise UnstableStepError(first_step + steps - 1, float(used[-1]))
        frame = self._frame
        if turn.size:
            frame[...] = turn.astype(frame.dtype, copy=False) @ frame
        lift = lift.astype(frame.dtype, copy=False)
        # In place: frame += lift @ rows, in the order of columns that BLAS speaks.
        self._gemm(1.0, rows.T, lift.T, beta=1.0, c=frame.T, overwrite_c=1)
        if renewal:
            self._blocks, self._strain = 0, 0.0
        self._mixing, self._own = kept, own
        self._blocks += 1
        self._strain += strain
        adapt[:], gains[:] = state, used
        return responses, seen, gram.diagonal()

    def _renewed(self) -> tuple[Float64s, Float64s]:
        """Return the mixing and the weights' inner products, rid of the rounding of many blocks."""
        mixing = self._mixing
        if not (self.rule.orthonormal or self.rule.norms):
            return mixing, NONE
        own = (self._frame @ self._frame.T).astype(np.float64)
        if mixing.size:
            own = mixing @ own @ mixing.T
        if not self.rule.orthonormal:
            return mixing, own
        # One Newton-Schulz step to the nearest orthonormal basis: the same span, no rotation, and
        # it rides on the lift.
        near = 1.5 * np.eye(len(own)) - 0.5 * own
        return near @ mixing if mixing.size else near, NONE

    def state(self) -> dict[str, Any]:
        """Return what the next block depends on, as arrays."""
        return {
            "vectors": self._frame.copy(),
            "watched": self.watched.copy(),
            "mixing": self._mixing.copy(),
            "own": self._own.copy(),
            "frame": np.array([self._blocks, self._strain]),
        }

    @classmethod
    def restored(cls, rule: Rule, state: dict[str, Any]) -> "BlockEngine":
        """Return an engine that goes on from a ``state``."""
        watched = state["watched"] if len(state["watched"]) else None
        engine = cls(rule, np.asarray(state["vectors"]), watched=watched)
        engine._mixing = np.array(state["mixing"], np.float64)
        engine._own = np.array(state["own"], np.float64)
        engine._blocks, engine._strain = int(state["frame"][0]), float(state["frame"][1])
        return engine


def _products(vectors: NDArray[Any], rows: NDArray[Any]) -> Float64s:
    """Return the inner products of rows with many vectors, then with each other."""
    both = np.concatenate([rows @ vectors.T, rows @ rows.T], axis=1)
    return both.astype(np.float64, copy=False)
