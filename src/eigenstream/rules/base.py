"""The block engine: a sequential rule, one observation at a time, at matrix-multiply speed.

Every Hebbian rule sees its data only through inner products. Over a block of rows r_1..r_n the
weights stay in the span of themselves and the rows, so the engine forms the inner products of the
block at once, lets the rule take its steps on coefficients in a compiled loop, and lifts the result
with one matrix product. Nothing is approximated: to rounding, the result is the sequential rule's.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from eigenstream._linalg import Float64s
from eigenstream.rules._block import blocks_of, shared_blocks_of

__all__ = ["BlockEngine", "Rule", "UnstableStepError", "default_block_size"]

Indices = NDArray[np.int64]

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
def listen(
    moved: Any, gram: Any, signs: Any, gains: Any, adapt: Any, responses: Any, step: int
) -> Any:
    """Open a step with one vector: read its responses; return its signed gain, and if it is sound.

    It is not where the responses are not finite, or explode.
    """
    c = signs[step, 0]
    square = respond(moved, moved.shape[0] + step, responses, step)
    return c * next_gain(gains, step, c * c * gram[step, step] * square, adapt), square < EXPLODED


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
    share 1 / b of what a block costs: 0.7 d^3 to solve for the lift, 2 d^2 D for the whole one that
    is due every eighth block or so, and about 4 10^5 for the rest. Matrix products want 24 rows at
    least, and a block of very wide rows is kept near 32 MiB.
    """
    d, D = n_components, n_features
    balanced = ((0.7 * d**3 + 0.25 * d**2 * D + 4e5) / (D + 4 * d)) ** 0.5
    size = 8 * round(min(max(balanced, 24), 128) / 8)
    return int(max(min(size, 2**25 // (D * itemsize)), 8))


class BlockEngine:
    """Runs a rule over blocks of rows: two thin matrix products and a compiled loop a block.

    ``weights`` (d, D) are copied; so are ``watched`` vectors, which ride along to have their
    responses measured instead of the weights'.

    >>> import numpy as np
    >>> from eigenstream.rules import HEBB
    >>> engine = BlockEngine(HEBB, np.array([[1.0, 0.0]]))
    >>> engine.advance(np.array([[2.0, 1.0]]), gains=np.array([0.5]), adapt=np.zeros(3))
    >>> engine.weights  # w + 0.5 y x with y = 2
    array([[3., 1.]])
    """

    def __init__(self, rule: Rule, weights: Any, *, watched: Any = None) -> None:
        self.rule = rule
        self._w = 0 if watched is None else len(watched)
        both = weights if watched is None else np.concatenate([watched, weights])
        self._vectors = np.array(both, order="C")
        d, n_features = weights.shape
        #: W = mixing @ frame; see _block.
        self._mixing = np.eye(d)
        self._own = np.zeros((d, d) if rule.norms else (0, 0))
        # Blocks and strain since the last renewal; float32 drifts by 1e-7 a lift.
        self._state = np.array([0.0, np.inf])
        self._every = 8 if self._vectors.dtype == np.float32 else 64
        self._buffer = np.empty((0, n_features), self._vectors.dtype)
        #: The running mean, the sum of c y y^T over responses y, and the sums of ``add_block``.
        self.mean = np.zeros(n_features)
        self.moment = np.zeros((d, d))
        self.sums = np.zeros(4)

    @property
    def weights(self) -> NDArray[Any]:
        """The weight vectors, one a row. Reading them changes nothing that is learned later."""
        frame = self._vectors[self._w :]
        return np.asarray(self._mixing.astype(frame.dtype) @ frame)

    @property
    def watched(self) -> NDArray[Any]:
        """The vectors that ride along (a view)."""
        return self._vectors[: self._w]

    def advance(
        self,
        rows: NDArray[Any],
        *,
        gains: Float64s,
        adapt: Float64s,
        now: Indices | None = None,
        past: Indices | None = None,
        signs: Float64s | None = None,
        shares: Float64s | None = None,
        weights: Float64s | None = None,
        rates: Float64s | None = None,
        size: int | None = None,
        first_step: int = 0,
        threads: int = 1,
    ) -> None:
        """Take as many steps as there are ``gains``, in blocks of ``size`` (all at once if None).

        Step t's first input vector is row ``now[t]`` (t by default), its second, if there is a
        ``past``, that row less row ``past[t]``. With ``shares``, the first is centred by the
        running mean, in which a row has its share. ``signs`` (steps, vectors) weigh the vectors,
        ``weights`` the terms in the sums, ``rates`` the units' gains. ``rows``: contiguous, of the
        weights' dtype. ``adapt`` and ``gains`` are updated. On a bad step all stays as it was
        before its block. Several ``threads`` share the columns (bound BLAS to one): for very long
        rows that pays.
        """
        steps, d = len(gains), len(self._mixing)
        paired, centred = past is not None, shares is not None
        if now is None:
            now = np.arange(steps)
        ones, size = np.ones(max(steps, d)), steps if size is None else size
        longest = (2 if paired else 1) * min(size, steps) + 1
        if len(self._buffer) < longest:
            # Kept, since fresh memory is slow to come by; what is not used is not resident.
            self._buffer = np.empty((longest, len(self.mean)), self._vectors.dtype)
        arguments = (
            self.rule.orthonormal,
            self.rule.norms,
            self._vectors,
            self._w,
            self._mixing,
            self._own,
            self._state,
            self.mean,
            self.moment,
            self.sums,
            rows,
            self._buffer,
            now,
            now if past is None else past,
            np.ones((steps, 2 if paired else 1)) if signs is None else signs,
            gains,
            np.zeros(steps) if shares is None else shares,
            ones if weights is None else weights,
            ones[:d] if rates is None else rates,
            adapt,
            size,
            self._every,
            paired,
            centred,
        )
        if threads == 1:
            bad = blocks_of(self.rule.run)(*arguments)
        else:
            with ThreadPoolExecutor(threads - 1) as pool:
                bad = shared_blocks_of(self.rule.run, pool, threads)(*arguments)
        if bad >= 0:
            raise UnstableStepError(first_step + bad, float(gains[bad]))

    def state(self) -> dict[str, Any]:
        """Return what the next block depends on, as arrays."""
        return {
            "vectors": self._vectors[self._w :].copy(),
            "watched": self.watched.copy(),
            "mixing": self._mixing.copy(),
            "own": self._own.copy(),
            "frame": self._state.copy(),
            "mean": self.mean.copy(),
            "moment": self.moment.copy(),
            "sums": self.sums.copy(),
        }

    @classmethod
    def restored(cls, rule: Rule, state: dict[str, Any]) -> "BlockEngine":
        """Return an engine that goes on from a ``state``."""
        watched = state["watched"] if len(state["watched"]) else None
        engine = cls(rule, np.asarray(state["vectors"]), watched=watched)
        engine._mixing = np.array(state["mixing"], np.float64)
        engine._own = np.array(state["own"], np.float64)
        engine._state = np.array(state["frame"], np.float64)
        engine.mean = np.array(state["mean"], np.float64)
        engine.moment = np.array(state["moment"], np.float64)
        engine.sums = np.array(state["sums"], np.float64)
        return engine
