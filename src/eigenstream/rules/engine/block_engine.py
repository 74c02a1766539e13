"""The block engine: a sequential rule, one observation at a time, at matrix-multiply speed.

Every Hebbian rule sees its data only through inner products. Over a block of rows r_1..r_n the
weights stay in the span of themselves and the rows, so the engine forms the inner products of the
block at once, lets the rule take its steps on coefficients in a compiled loop, and lifts the result
with one matrix product. Nothing is approximated: to rounding, the result is the sequential rule's.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._linalg import Float64s
from eigenstream.rules.base import Rule, UnstableStepError
from eigenstream.rules.engine._aligned import aligned
from eigenstream.rules.engine._blocks import blocks_of, shared_blocks_of
from eigenstream.rules.engine._tuples import Frame, Terms, Totals

__all__ = ["BlockEngine", "Terms", "default_block_size"]


def default_block_size(n_components: int, n_features: int, itemsize: int, lag: int = 0) -> int:
    """Return the number of steps taken between two lifts.

    In a block of b, a step costs about (D + 4 d) b operations that grow with the block, and a
    share 1 / b of what a block costs: 0.7 d^3 to solve for the lift, 2 d^2 D for the whole one that
    is due every eighth block or so, and about 2 10^5 for the rest. Long vectors are read and
    written from further away than the second-level cache: that should pay for 24 rows at least. A
    block of very wide rows is kept near 32 MiB. Products take rows by fours, pasts included.
    """
    d, D = n_components, n_features
    balanced = ((0.7 * d**3 + 0.25 * d**2 * D + 2e5) / (D + 4 * d)) ** 0.5
    least = 16 if d * D * itemsize <= 2**18 else 24
    size = 8 * round(min(max(balanced, least), 128) / 8)
    return int(max(min(size, 2**25 // (D * itemsize)), 8)) - lag % 4


class BlockEngine:
    """Runs a rule over blocks of rows: two thin matrix products and a compiled loop a block.

    ``weights`` (d, D) are copied; so are ``watched`` vectors, which the steps do not change: the
    running sums are of their responses, too.

    >>> import numpy as np
    >>> from eigenstream.rules import HEBB, Terms
    >>> engine = BlockEngine(HEBB, np.array([[1.0, 0.0]]))
    >>> terms = Terms.of(np.array([[2.0, 1.0]]), gains=np.array([0.5]))
    >>> engine.advance(terms, adapt=np.zeros(3))
    >>> engine.weights  # w + 0.5 y x with y = 2
    array([[3., 1.]])
    """

    def __init__(self, rule: Rule, weights: Any, *, watched: Any = None) -> None:
        self.rule = rule
        self._w = 0 if watched is None else len(watched)
        both = weights if watched is None else np.concatenate([watched, weights])
        self._hold(both)
        d, n_features = weights.shape
        #: W = mixing @ frame; see _blocks.
        self._mixing = np.eye(d)
        self._own = np.zeros((d, d) if rule.norms else (0, 0))
        self._drift = np.array([0.0, np.inf])  # so that the first block renews
        #: The running mean, the sums of ``add_sums`` and, since they were last collected, of
        #: c y y^T over responses y: of the weights, and of the watched vectors.
        self.mean = np.zeros(n_features)
        self.moment = np.zeros((d, d))
        self.seen_moment = np.zeros((self._w, self._w))
        self.sums = np.zeros(4)

    def _hold(self, vectors: NDArray[Any]) -> None:
        self._vectors = aligned(vectors.shape, vectors.dtype)
        self._vectors[...] = vectors
        self._buffer = np.empty((0, vectors.shape[1]), vectors.dtype)

    def widen(self) -> None:
        """Hold the vectors in double precision from now on, for terms that are."""
        self._hold(self._vectors.astype(np.float64))

    @property
    def weights(self) -> NDArray[Any]:
        """The weight vectors, one a row. Reading them changes nothing that is learned later."""
        return self.combined(np.eye(len(self._mixing)))

    def combined(self, coefficients: Any) -> NDArray[Any]:
        """Return combinations of the weight vectors, one a row."""
        frame = self._vectors[self._w :]
        return np.asarray((coefficients @ self._mixing).astype(frame.dtype) @ frame)

    @property
    def watched(self) -> NDArray[Any]:
        """The vectors whose responses are summed up instead of the weights' (a view)."""
        return self._vectors[: self._w]

    def advance(
        self,
        terms: Terms,
        *,
        adapt: Float64s,
        rates: Float64s | None = None,
        size: int | None = None,
        threads: int = 1,
    ) -> None:
        """Take the steps that the terms are, in blocks of ``size`` (all at once if None).

        ``rates`` scale the units' gains, ``adapt`` is what the automatic gain goes by; it and the
        terms' gains are updated. On a bad step all stays as it was before its block. Several
        ``threads`` share the columns (bound BLAS to one): for very long rows that pays.
        """
        steps, d, before = len(terms.gains), len(self._mixing), int(self.sums[3])
        size = steps if size is None else size
        longest = (2 if len(terms.past) else 1) * min(size, steps) + 1
        if len(self._buffer) < longest:
            # Kept, since fresh memory is slow to come by; what is not used is not resident.
            self._buffer = aligned((longest, len(self.mean)), self._vectors.dtype)
        arguments = (
            Frame(self._vectors, self._mixing, self._own, self._drift),
            terms,
            Totals(self.mean, self.moment, self.seen_moment, self.sums, adapt),
            np.ones(d) if rates is None else rates,
            self._buffer,
            size,
            self.rule.orthonormal,
        )
        run = self.rule.run_of(terms.signs.shape[1])
        if threads == 1:
            bad = blocks_of(run)(*arguments)
        else:
            with ThreadPoolExecutor(threads - 1) as pool:
                bad = shared_blocks_of(run, pool, threads)(*arguments)
        if bad >= 0:
            raise UnstableStepError(before + bad, float(terms.gains[bad]))

    def collect(self) -> tuple[Float64s, Float64s, float]:
        """Return the two sums of c y y^T and the weight of their terms, and begin them anew."""
        moments = (self.moment + self.moment.T, self.seen_moment + self.seen_moment.T)
        found = 0.5 * moments[0], 0.5 * moments[1], float(self.sums[2])  # not even rounding apart
        self.moment[...] = 0.0
        self.seen_moment[...] = 0.0
        self.sums[2] = 0.0
        return found

    def state(self) -> dict[str, Any]:
        """Return what the next block depends on, as arrays."""
        return {
            "vectors": self._vectors[self._w :].copy(),
            "watched": self.watched.copy(),
            "mixing": self._mixing.copy(),
            "own": self._own.copy(),
            "frame": self._drift.copy(),
            "mean": self.mean.copy(),
            "moment": self.moment.copy(),
            "seen_moment": self.seen_moment.copy(),
            "sums": self.sums.copy(),
        }

    @classmethod
    def restored(cls, rule: Rule, state: dict[str, Any]) -> "BlockEngine":
        """Return an engine that goes on from a ``state``."""
        watched = state["watched"] if len(state["watched"]) else None
        engine = cls(rule, np.asarray(state["vectors"]), watched=watched)
        engine._mixing = np.array(state["mixing"], np.float64)
        engine._own = np.array(state["own"], np.float64)
        engine._drift = np.array(state["frame"], np.float64)
        engine.mean = np.array(state["mean"], np.float64)
        engine.moment = np.array(state["moment"], np.float64)
        engine.seen_moment = np.array(state["seen_moment"], np.float64)
        engine.sums = np.array(state["sums"], np.float64)
        return engine
