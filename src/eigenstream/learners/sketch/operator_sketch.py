"""The operator sketch: the top eigenspace of a signed sum in one pass, without a D x D matrix."""

from copy import deepcopy
from typing import Any, Self

import numpy as np

from eigenstream._blas import blas_threads
from eigenstream._state import State, joined, part
from eigenstream.learners.sketch._answer import SketchSolution, read
from eigenstream.learners.sketch._core import SketchCore
from eigenstream.learners.sketch._merge import further_pass, merged_cores
from eigenstream.learners.sketch._plan import SketchPlan
from eigenstream.scatters.base import SequenceEnds
from eigenstream.terms import Block, TermStream

__all__ = ["OperatorSketch", "SketchSolution"]


class OperatorSketch:
    """Learns the top eigenspace of a contrast from a stream, without a step size.

    T = reward * E[(x - mean)(x - mean)^T] - penalty * E[v v^T] with the velocity
    v = x_t - x_(t - lag). The sum of all terms is kept in a frame of r = p + q orthonormal vectors,
    its largest and its most negative eigenvectors, and outside the frame as a multiple of the
    identity that follows from the exact trace. A block of terms is added exactly in the span of
    frame and rows, and the sum is cut back. See docs/mathematics.md for why, and for what is known.

    Memory: r + n_components vectors of length D, and the rows that wait for their block. Where
    D <= p + q, or where weights are to be found, the sums are D x D matrices, and exact.

    Parameters
    ----------
    n_components : int or None
        None: as many as turn out to have a positive eigenvalue, at most p; if none has, the best.
    weights : (reward, penalty) or None
        None: (alpha, 1 - alpha), a step above the least alpha with ``n_components`` positive
        eigenvalues. Small directions count as much as large ones there, and no frame is sure to
        hold them: the sums are D x D matrices then, and alpha is exact.
    lag : int
        Rows between an observation and its past. The first ``lag`` rows of a sequence serve only
        as pasts. 0 without a penalty.
    center : bool
        Take the variance about the mean: exactly, for every stretch of the stream.
    forgetting : float in (0, 1), optional
        The share by which the past loses weight at each term. For streams that drift.
    oversampling : float, optional
        Both p and q in units of n_components. By default 3 for small ones: p is n_components +
        max(8, min(2 n_components, 40)), and q is max(8, min(3 n_components, 60)), or 0 without a
        penalty.
    block_size : int, optional
        Terms that are learned together; by default twice as many as the frame has vectors, at
        least 128, and of narrow rows more: 200 000 numbers (1.6 MB), or three for each column
        beyond 64 if these are fewer. Larger blocks lose less where rows are few, and need more
        memory.
    independent : bool
        The terms are drawn independently of each other, as couples of pairs are, not one after the
        other in time. In how few dimensions they lie can be told within a block then, and what is
        left outside the frame is shared among those. Where most of T is negative, much is won.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream.learners.sketch import OperatorSketch
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((4000, 60)) * np.linspace(3, 1, 60)
    >>> sketch = OperatorSketch(2)
    >>> sketch.add(rows[:1500])
    >>> sketch.add(rows[1500:])
    >>> solution = sketch.solution()
    >>> solution.n_terms, solution.components.shape
    (4000, (2, 60))
    >>> best = np.linalg.eigvalsh(np.cov(rows.T, bias=True))[-2:].sum()
    >>> bool(np.cov(rows @ solution.components.T, rowvar=False, bias=True).trace() > 0.99 * best)
    True
    """

    def __init__(
        self,
        n_components: int | None,
        *,
        weights: tuple[float, float] | None = (1.0, 0.0),
        lag: int = 0,
        center: bool = True,
        forgetting: float | None = None,
        oversampling: float | None = None,
        block_size: int | None = None,
        independent: bool = False,
    ) -> None:
        self.plan = SketchPlan(
            n_components,
            weights,
            lag,
            center,
            forgetting,
            oversampling,
            block_size,
            independent,
        ).checked()
        self._stream = TermStream(lag)
        self._ends: SequenceEnds | None = None
        self._core: SketchCore | None = None

    # ---- learning --------------------------------------------------------------------------

    def add(self, rows: Any, weights: Any = None, *, new_sequence: bool = False) -> None:
        """Learn from a chunk of rows that follows the rows seen so far.

        Rows and weights have been checked: float32 or float64, dense or CSR. Any chunking gives
        the same result, to the last bit.
        """
        if rows.shape[0] == 0:
            return
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float64)
        n_features = rows.shape[1]
        if self._core is None or self._ends is None:
            if (self.plan.n_components or 0) > n_features:
                raise ValueError(
                    f"n_components={self.plan.n_components} is more than the {n_features} "
                    "feature(s) of the rows; ask for at most as many."
                )
            self._core = SketchCore.empty(self.plan, n_features, rows.dtype)
            self._ends = SequenceEnds.empty(n_features, self.plan.lag)
        if n_features != self._core.operator.n_features:
            raise ValueError(
                f"a chunk must have shape (n, {self._core.operator.n_features}) as the first one "
                f"had, got {rows.shape}."
            )
        if self._core.dtype == np.float32 and rows.dtype == np.float64:
            self._core.widen()  # rows in double precision are not rounded to single
            self._stream.widen(np.float64)
        block = self.plan.block(n_features)
        self._stream.room = block + self.plan.lag
        later = SequenceEnds.of(rows, weights, self.plan.lag)
        self._ends = self._ends.join(later, new_sequence=new_sequence)
        self._stream.extend(rows, weights, new_sequence)
        self._learn(self._core, block)
        self._stream.settle()

    def _learn(self, core: SketchCore, least: int) -> None:
        """Learn from the terms that wait, block by block, while there are so many."""
        if self._stream.pending < least:
            return
        most = self.plan.block(core.operator.n_features)
        # Small problems come between the products: threads of BLAS would spin meanwhile, and where
        # others keep the machine busy that costs twenty times what they bring.
        with blas_threads(1) as threads:
            if core.frame is not None:
                core.frame.threads = threads  # wide rows are shared among these instead
            while self._stream.pending >= least:
                count = min(self._stream.pending, most)
                _learn_block(core, self._stream.take(count, count))

    def _learned(self) -> SketchCore:
        """Return what has been learned, by a copy if terms still wait."""
        core = self._core
        assert core is not None
        if not self._stream.pending:
            return core
        ahead = self._new()
        ahead._stream.restore(deepcopy(self._stream.state()))
        ahead._stream.extend(np.empty((0, core.operator.n_features), core.dtype), None, False)
        core = deepcopy(core)
        ahead._learn(core, 1)
        return core

    # ---- results ---------------------------------------------------------------------------

    def solution(
        self, *, positive: bool = False, weights: tuple[float, float] | None = None
    ) -> SketchSolution:
        """Return the subspace after all rows seen; nothing is changed.

        Parameters
        ----------
        positive : bool
            Leave out directions whose eigenvalue is not positive: the best subspace of *at most*
            n_components dimensions.
        weights : (reward, penalty), optional
            Read the sums at other weights than those they were kept for. Near these the answer is
            nearly that of a pass of its own, and worse the farther away: the frame holds what
            mattered at the weights of the sketch.
        """
        if self._core is None or not self.n_terms:
            raise ValueError(
                f"no terms yet: {self.n_rows} row(s) seen, none with a past {self.plan.lag} "
                "row(s) back."
            )
        with blas_threads(1):
            return read(self._learned(), self.n_rows, positive, weights or self.plan.weights)

    @property
    def exact(self) -> bool:
        """Whether nothing has been cut off: another pass over the same rows finds the same."""
        if self._core is None or not self.n_terms or self._core.operator.lossy:
            return False
        return self._core.frame is None or not self._learned().operator.lossy

    @property
    def n_features(self) -> int:
        """The width of the rows; 0 before the first."""
        return 0 if self._core is None else self._core.operator.n_features

    @property
    def n_rows(self) -> int:
        """The number of rows seen."""
        return self._stream.n_rows

    @property
    def sequence_rows(self) -> int:
        """The number of rows of the running sequence."""
        return self._stream.sequence_rows

    @property
    def n_terms(self) -> int:
        """The number of terms seen, learned or waiting."""
        learned = 0 if self._core is None else self._core.totals.n_terms
        return learned + self._stream.pending

    @property
    def n_velocities(self) -> int:
        """The number of terms whose pasts weigh something, too."""
        return self._stream.n_velocities

    # ---- several of them, several passes -----------------------------------------------------

    def merge(self, later: Self, *, new_sequence: bool = False) -> Self:
        """Return the sketch of these rows followed by later ones; neither is changed.

        The sums are added in the span of both frames and cut back; the velocities across the border
        are added exactly. What each sketch has cut off before is lost: parts much longer than D
        merge without loss, shorter ones need ``another_pass``. Many parts merge better one after
        the other, in order, than as a tree.
        """
        if self.plan != later.plan:
            raise ValueError(
                f"only sketches with the same parameters merge, got {self.plan} and {later.plan}."
            )
        if later._core is None or later._ends is None:
            return deepcopy(self)
        if self._core is None or self._ends is None:
            return deepcopy(later)
        if self._core.operator.n_features != later._core.operator.n_features:
            raise ValueError(
                f"only sketches of rows of one width merge, got "
                f"{self._core.operator.n_features} and {later._core.operator.n_features} features."
            )
        merged = self._new()
        core, velocities = deepcopy(self._learned()), self.n_velocities + later.n_velocities
        with blas_threads(1):
            if not new_sequence and self.plan.lag:
                now, past = self._ends.crossing(later._ends)
                _learn_crossing(core, now, past)
                velocities += int(np.count_nonzero(np.minimum(now.weights, past.weights)))
            core = merged_cores(core, later._learned(), self.plan.keep**later.n_terms)
        merged._core = core
        merged._ends = self._ends.join(later._ends, new_sequence=new_sequence)
        merged._stream.restore(_end_of(merged._ends, core.dtype, velocities))
        return merged

    def another_pass(self, weight: float = 1.0) -> Self:
        """Return a sketch that has seen nothing yet, and begins with what this one has found.

        Feed it the same rows again, or a part of them; of P parts each begins with a weight of
        about 1 / P, and what they find is merged. The sums of the new pass are held apart in the
        same frame and are all that is read and merged: what is known from before only says which
        directions to look at.
        """
        fresh = self._new()
        if self._core is not None:
            core = further_pass(self._learned(), weight)
            fresh._core = core
            fresh._ends = SequenceEnds.empty(core.operator.n_features, self.plan.lag)
            fresh._stream.restore(_end_of(fresh._ends, core.dtype, 0))
        return fresh

    def _new(self) -> Self:
        """Return a sketch of the same plan that has seen nothing."""
        return type(self)(**vars(self.plan))

    # ---- saving ------------------------------------------------------------------------------

    def state(self) -> State:
        """Return all that has been learned as a flat dict of arrays, numbers and short strings."""
        state = joined(plan=self.plan.state())
        if self._core is not None and self._ends is not None:
            state |= joined(
                core=self._core.state(), ends=self._ends.state(), stream=self._stream.state()
            )
        return deepcopy(state)

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a sketch that goes on from a ``state``, to the last bit."""
        plan = SketchPlan.restored(part(state, "plan"))
        sketch = cls(**vars(plan))
        core = part(state, "core")
        if core:
            sketch._core = SketchCore.restored(plan, core)
            sketch._ends = SequenceEnds.restored(part(state, "ends"))
            sketch._stream.restore(part(state, "stream"))
        return sketch


def _learn_block(core: SketchCore, block: Block) -> None:
    """Learn one block of terms."""
    now: Any = block.now
    past: Any = block.past
    if isinstance(block.needed, slice):
        count = int(block.needed.stop - block.needed.start)
        now, past = slice(count - len(now), count), slice(0, len(past))
    core.learn(block.pieces(core.dtype), now, past, block.weights, block.past_weights)


def _learn_crossing(core: SketchCore, now: Any, past: Any) -> None:
    """Learn the terms whose rows and pasts lie in different parts."""
    terms, most = np.flatnonzero(now.weights > 0), core.plan.block(core.operator.n_features)
    for start in range(0, len(terms), most):
        at = terms[start : start + most]
        count, weights = len(at), now.weights[at]
        core.learn(
            [past.rows[at].astype(core.dtype), now.rows[at].astype(core.dtype)],
            slice(count, 2 * count),
            slice(0, count),
            weights,
            np.minimum(weights, past.weights[at]),
        )


def _end_of(ends: SequenceEnds, dtype: Any, n_velocities: int) -> State:
    """Return the state of a stream of terms that goes on behind the given ends."""
    kept = ends.tail.last(ends.last_rows)
    return {
        "kept": kept.rows.astype(dtype),
        "kept_weights": kept.weights,
        "pending": np.empty(0, np.int64),
        "sequence_rows": ends.last_rows,
        "n_rows": ends.n_rows,
        "n_velocities": n_velocities,
    }
