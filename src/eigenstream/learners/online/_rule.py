"""What every online learner does: cut the stream into blocks, run the rule, and count."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from eigenstream._blas import blas_threads
from eigenstream._checks import real_array
from eigenstream._linalg import Float64s, orthonormalized, principal_angles
from eigenstream.kernels.centering import mean_shares
from eigenstream.learners.online._averaging import RunningAnswer, RunningMean
from eigenstream.learners.online._start import observed_frame
from eigenstream.learners.online.base import Plan, Progress
from eigenstream.rules import BlockEngine, Rule, Terms, UnstableStepError
from eigenstream.rules.base import adaptive
from eigenstream.rules.engine import default_block_size
from eigenstream.schedules import Auto, Steps, as_schedule
from eigenstream.terms import Block, TermStream

__all__ = ["OnlineLearner"]

#: A thread that shares in a block gets at least as many multiplications: with fewer, waking it
#: costs more than it brings, above all on a busy machine.
SHARE = 1e7

#: Steps between two collections: a share of those so far, and in the long run as many. With many
#: columns, which make a collection dear, more.
STRIDE, OFTEN = 512, 10

#: Terms that are made ready together, at most.
STRETCH = 2048


@contextmanager
def _one_blas_thread(multiplications: float) -> Iterator[int]:
    """Bound BLAS to one thread, and yield how many may share so many multiplications instead.

    At most as many as BLAS was given; those of BLAS would still spin when others work.
    """
    with blas_threads(1) as given:
        yield max(min(given, int(multiplications / SHARE)), 1)


class OnlineLearner:
    """Learns weight vectors from a stream by a rule, in blocks; the caller sees single steps.

    Rows come in chunks of any size. They are learned in blocks of ``block_size`` terms counted
    from the first, whatever the chunks, and ``ahead`` gives a copy that has learned the rest too:
    so the chunking changes nothing.
    """

    def __init__(self, rule: Rule, plan: Plan) -> None:
        self.rule = rule
        self.plan = plan.checked()
        self.schedule = as_schedule(plan.schedule)
        self._keep = 1.0 - (plan.forgetting or 0.0)
        auto = self.schedule if isinstance(self.schedule, Auto) else None
        self._averaging = auto.averaging if auto else None
        self._adapt = adaptive(auto.c if auto else 0.0, self._keep)
        self._answer = self._new_answer()
        self.stream = TermStream(plan.lag)
        self._paired = plan.weights[1] > 0
        self._engine: BlockEngine | None = None
        self._dtype = np.dtype(np.float64)
        self._n_features = 0
        self.steps = 0
        self.stopped = False
        self.gain = 0.0
        self._total = 0.0  # weight of the terms in the mean
        self._collect_next = 0

    def _new_answer(self) -> RunningAnswer | RunningMean:
        if self.rule.orthonormal:
            return RunningAnswer(self.plan.n_components, self._averaging, self._keep)
        return RunningMean(self._averaging, self._keep)

    @property
    def _columns(self) -> int:
        """How many vectors the rule turns: a frame to be averaged has room to choose from."""
        d = self.plan.n_components
        wide = self.rule.orthonormal and self._averaging is not None
        return min(d + max(d // 2, min(d, 5)), self._n_features) if wide else d

    # ---- learning --------------------------------------------------------------------------

    def update(
        self,
        rows: Any,
        weights: Any = None,
        *,
        new_sequence: bool = False,
        exact: Callable[[], Any] | None = None,
    ) -> Self:
        """Learn from a chunk of rows that follows the rows seen so far.

        ``exact`` gives the columns whose angle to the learned ones a hook is shown.
        """
        self._exact = exact
        if rows.shape[0] == 0:
            return self
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float64)
        if not self._n_features:
            self._check_init(rows.shape[1])
            self._n_features = rows.shape[1]
            self._dtype = rows.dtype
        if rows.shape[1] != self._n_features:
            raise ValueError(
                f"a chunk must have shape (n, {self._n_features}) as the first one had, got "
                f"{rows.shape}."
            )
        if isinstance(self.schedule, Steps):  # a user's function is asked before anything changes
            self.schedule.gains(self.steps + self.stream.pending, rows.shape[0])
        if self._dtype == np.float32 and rows.dtype == np.float64:
            self._widen()  # rows in double precision are not rounded to single
        self.stopped = False
        self.stream.extend(rows, weights, new_sequence)
        try:
            starts = self._engine is None and self.stream.pending >= self._needed()
            if starts or (self._engine is not None and self.stream.pending >= self._next_size):
                with self._threads() as threads:
                    if starts:
                        self._begin()
                    while self.stream.pending >= self._next_size and not self.stopped:
                        self._learn_next(threads)
        except UnstableStepError:
            self.stream.drop()
            raise
        if self.stopped:
            self.stream.drop()
        self.stream.settle()
        return self

    def _widen(self) -> None:
        self._dtype = np.dtype(np.float64)
        self.stream.widen(self._dtype)
        if self._engine is not None:
            self._engine.widen()

    def ahead(self) -> "OnlineLearner":
        """Return a copy that has learned and collected all; this learner is unchanged."""
        other = self.copy()
        if other.stream.pending:
            other.stream.extend(np.empty((0, other._n_features), other._dtype), None, False)
            other._hook_off = True
            with other._threads() as threads:
                if other._engine is None:
                    other._begin()
                while other.stream.pending:
                    other._learn_next(threads)
            other.stream.settle()
        if other._engine is not None:
            other._answer.collect(other._engine)
        return other

    _hook_off = False
    _exact: Callable[[], Any] | None = None

    @property
    def block_size(self) -> int:
        """The number of steps between two lifts."""
        plan = self.plan
        return plan.block_size or default_block_size(
            self._columns, self._n_features, self._dtype.itemsize, plan.lag
        )

    @property
    def _next_size(self) -> int:
        """The first blocks are small: their steps are long, and rounding grows inside a block."""
        return min(self.block_size, max(16, self.steps // 2))

    def _threads(self) -> Any:
        size = self.block_size
        return _one_blas_thread(self._n_features * size * (self._columns + size))

    def _needed(self) -> int:
        """How many terms the start vectors take."""
        given = 0
        if not isinstance(self.plan.init, str):
            given = self.plan.n_components
        elif self.plan.init == "random":
            given = self._columns
        missing = self._columns - given
        return missing + int(self.plan.center) if missing else 1

    def _check_init(self, n_features: int) -> None:
        d, D = self.plan.n_components, n_features
        if not isinstance(self.plan.init, str):
            vectors = real_array(self.plan.init, "init").astype(np.float64)
            if vectors.shape != (d, D) or not np.isfinite(vectors).all():
                raise ValueError(
                    f"init must be 'data', 'random' or a finite array of shape "
                    f"(n_components, n_features) = ({d}, {D}); got shape {vectors.shape}."
                )
            zero = np.flatnonzero(~vectors.any(axis=1))
            if zero.size:
                raise ValueError(
                    f"row {zero[0]} of init is zero, and such a vector stays so: no rule can turn "
                    "it. Give each a direction, or use init='random'."
                )
            if self.rule.orthonormal and np.linalg.matrix_rank(vectors) < d:
                raise ValueError(
                    f"the {d} rows of init span fewer than {d} directions. Give directions that "
                    "are linearly independent, or use init='random'."
                )

    def _begin(self) -> None:
        """Choose the start vectors and set up the engine."""
        start = np.ascontiguousarray(self._start_vectors(), self._dtype)
        watched = None if self._averaging is None else start[: self.plan.n_components]
        self._engine = BlockEngine(self.rule, start, watched=watched)

    def _start_vectors(self) -> Float64s:
        plan, D, columns = self.plan, self._n_features, self._columns
        random = np.random.default_rng(plan.seed)
        first: Float64s = np.zeros((0, D))
        if not isinstance(plan.init, str):
            first = np.asarray(plan.init, np.float64)
            if self.rule.orthonormal:
                first = np.asarray(orthonormalized(first.T).T)
        elif plan.init == "random":
            first = np.asarray(orthonormalized(random.standard_normal((D, columns))).T)
        if len(first) == columns:
            return first
        block = self.stream.peek(min(self._needed(), self.stream.pending))
        rows = block.filled(np.float64)
        return observed_frame(
            rows[block.now], block.weights, columns, plan.center, random, first=first
        )

    def _learn_next(self, threads: int) -> None:
        """Learn from blocks that are complete, at least one; from a last short one if it is all."""
        plan, size = self.plan, self._next_size
        count = 1
        if size == self.block_size:
            # Until a block ends at which there is something to do.
            until = min(STRETCH, self._collect_next - self.steps)
            if plan.hook is not None and not self._hook_off:
                until = min(until, plan.hook_every - self.steps % plan.hook_every)
            count = max(min(-(-until // size), self.stream.pending // size), 1)
        before = self.steps
        self._learn(self.stream.take(min(count * size, self.stream.pending), size), size, threads)
        if self.steps >= self._collect_next:
            self._answer.collect(self._ready())
            # Where nothing is averaged, it is only for the running moment.
            rarely = 1 if self._averaging is not None else 4
            often = max(4 * self._columns, rarely * self.steps // OFTEN)
            self._collect_next = self.steps + min(rarely * max(STRIDE, 16 * self._columns), often)
        if plan.hook is not None and not self._hook_off:
            self._show(self.steps - before)

    def _learn(self, terms: Block, size: int, threads: int) -> None:
        """Take the steps of blocks of ``size`` terms."""
        engine, plan, steps = self._ready(), self.plan, len(terms.now)
        signs = np.empty((steps, 2 if self._paired else 1))
        signs[:, 0] = plan.weights[0] * terms.weights
        if self._paired:
            signs[:, 1] = -plan.weights[1] * terms.past_weights
        shares = totals = None
        if plan.center:
            shares, totals = mean_shares(terms.weights, self._total, self._keep)
            # An observation counts W / (W + w) times, and is centred by the mean of those before
            # it: the terms then add up to exactly the scatter about the final mean [CHAN].
            signs[:, 0] *= 1.0 - shares
        gains = self.schedule.gains(self.steps, steps)
        rows, first = terms.rows(self._dtype)
        try:
            engine.advance(
                Terms.of(
                    rows,
                    gains,
                    now=first + terms.now,
                    past=first + terms.past if self._paired else None,
                    signs=signs,
                    shares=shares,
                    weights=terms.weights,
                ),
                adapt=self._adapt,
                rates=plan.rates,
                size=size,
                threads=threads,
            )
        finally:
            learned = int(engine.sums[3]) - self.steps
            if learned < steps:
                self.stream.put_back(steps - learned)
            self.steps += learned
            if learned:
                self.gain = float(gains[learned - 1])
                self._total = float(totals[learned - 1]) if totals is not None else 0.0

    def _show(self, steps: int) -> None:
        plan = self.plan
        if self.steps // plan.hook_every > (self.steps - steps) // plan.hook_every:
            vectors = self.vectors.copy()
            angle = None
            if self._exact is not None:
                angle = float(principal_angles(vectors.T, self._exact())[0])
            if plan.hook is not None and plan.hook(Progress(self.steps, self.gain, vectors, angle)):
                self.stopped = True

    # ---- results ---------------------------------------------------------------------------

    def _ready(self) -> BlockEngine:
        if self._engine is None:
            raise RuntimeError("no rows have been learned yet.")
        return self._engine

    @property
    def vectors(self) -> Any:
        """The learned vectors, one a row, averaged where the schedule averages: to be read."""
        return self._answer.vectors(self._ready())

    @property
    def lags(self) -> bool:
        """Whether the average would be worse than the last iterate, which is the answer then."""
        return self._answer.lags

    @property
    def started(self) -> bool:
        """Whether there are vectors to read."""
        return self._engine is not None

    @property
    def pending(self) -> int:
        """The number of terms that wait for their block to fill."""
        return self.stream.pending

    @property
    def mean(self) -> Float64s:
        """The mean of the terms' rows (zeros with ``center=False``)."""
        return self._ready().mean

    @property
    def sums(self) -> tuple[float, float]:
        """The sums over the terms of the rewarded |u|^2 (variance times weight), and of weights."""
        power, weight = map(float, self._ready().sums[:2])
        return power, weight

    def moment(self) -> Float64s:
        """Return the running estimate of V^T T V for the learned vectors of an orthonormal rule."""
        assert isinstance(self._answer, RunningAnswer)
        return self._answer.estimate()

    # ---- copying and saving ----------------------------------------------------------------

    def copy(self) -> "OnlineLearner":
        """Return an independent copy."""
        other = type(self)(self.rule, self.plan)
        other.restore(self.state())
        return other

    def state(self) -> dict[str, Any]:
        """Return all that has been learned as a dict of arrays."""
        state = {
            "steps": np.array(self.steps),
            "gain": np.array(self.gain),
            "adapt": self._adapt.copy(),
            "total": np.array(self._total),
            "collect_next": np.array(self._collect_next),
            "n_features": np.array(self._n_features),
            "dtype": np.zeros(0, self._dtype),
        }
        state |= self._answer.state()
        if self._n_features:
            state |= self.stream.state()
        if self._engine is not None:
            state |= self._engine.state()
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what ``state`` gave, into a learner made with the same plan."""
        self.steps = int(state["steps"])
        self.gain = float(state["gain"])
        self._adapt = np.array(state["adapt"], np.float64)
        self._total = float(state["total"])
        self._collect_next = int(state["collect_next"])
        self._answer.restore(state)
        self._n_features = int(state["n_features"])
        self._dtype = np.asarray(state["dtype"]).dtype
        if self._n_features:
            self.stream.restore(state)
        self._engine = BlockEngine.restored(self.rule, state) if "vectors" in state else None

    def __getstate__(self) -> dict[str, Any]:
        return {"rule": self.rule, "plan": self.plan, "state": self.state()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__init__(saved["rule"], saved["plan"])  # type: ignore[misc]
        self.restore(saved["state"])
