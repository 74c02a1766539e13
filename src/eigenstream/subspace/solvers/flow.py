"""The online solver: the Oja-Karhunen flow, with one step for each term of the blocks it adds."""

from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from eigenstream.core.checks import check_flag, check_whole, is_sparse, warn_user
from eigenstream.core.linalg import (
    Eigenpairs,
    Float64s,
    Floats,
    blas_threads,
    canonical,
    newton_schulz,
    orthonormalized,
    principal_angles,
    rounding_of_mean,
)
from eigenstream.core.storable import storable
from eigenstream.core.types import Constraints, Matrix, RandomState
from eigenstream.online import Plan, Progress, UnstableStepError
from eigenstream.online.averages import RunningAnswer
from eigenstream.online.blocks import advance_loop, automatic, mean_shares
from eigenstream.online.plan import check_start
from eigenstream.schedules import Auto, LearningRate, Schedule, as_schedule
from eigenstream.subspace.solvers.base import ADD, FRACTION, POSITIVE, Problem, Solver
from eigenstream.subspace.sums.accumulators import Moments
from eigenstream.subspace.sums.block import Block, indices
from eigenstream.subspace.sums.learner import Learner
from eigenstream.subspace.sums.terms import (
    NOTHING,
    VARIANCE,
    Parts,
    Sums,
    Terms,
    TimeTerms,
    Weights,
)

#: Steps of a block, at least; a block has one step for each learned vector or more. Larger blocks
#: take more work on tables, smaller ones more passes over the weights.
LEAST_STEPS = 22

#: Steps between two collections: a tenth of those so far, and in the long run STRIDE, or 16 a
#: column. Fewer would cost time, more would let the average lag.
STRIDE, OFTEN = 512, 10

#: The number of steps that are taken at a time, at most.
MOST_STEPS = 2048

#: A start vector with less than this share outside the others gives no direction.
NEW = 1e-7

#: Warn if the largest row has more than this share of the sum of squares, and is this many times as
#: large as the mean. Smaller values warn of heavy tails; larger ones miss outliers.
OUTLIER_SHARE, OUTLIER_SIZE = 0.05, 50.0

Indices = NDArray[np.int64]


class FlowMonitor:
    """Hook that records the progress of an online fit.

    Parameters
    ----------
    every : int, default=1000
        The number of steps between two records.
    exact : bool, default=False
        Record the principal angle to the exact answer. This diagnostic costs the time of
        solver="dense" and one eigendecomposition for each record.

    Attributes
    ----------
    history : list of Progress
        The records.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenstream import Flow, StreamPCA
    >>> monitor = FlowMonitor(every=500, exact=True)
    >>> X = np.random.default_rng(0).standard_normal((3000, 8)) * np.arange(
    ...     8, 0, -1
    ... )
    >>> pca = StreamPCA(2, solver=Flow(hook=monitor)).fit(X)
    >>> [record.step for record in monitor.history]
    [500, 1000, 1500, 2000, 2500, 3000]
    >>> monitor.history[0].angle > monitor.history[-1].angle
    True
    """

    def __init__(self, every: int = 1000, *, exact: bool = False) -> None:
        self.every = check_whole(every, "every")
        self.exact = check_flag(exact, "exact")
        self.history: list[Progress] = []

    def __call__(self, progress: Progress) -> None:
        """Store a record."""
        self.history.append(progress)


@dataclass(frozen=True)
class Inputs:
    """Steps as the compiled loop reads them: rows, and for each step two indices and weights.

    The first input of a step is row ``now`` minus the mean of the previous rows. The second is row
    ``now`` minus row ``past``. The numbers of the rows count those of the tail first.
    """

    rows: Matrix
    now: Indices
    past: Indices
    weights: Float64s
    lighter: Float64s
    tail: Matrix

    @classmethod
    def of(cls, block: Block) -> "Inputs":
        """Return the steps of a block of a time series, in the order of its rows."""
        rows, tail = (piece.toarray() if is_sparse(piece) else piece for piece in block.pieces[:2])
        first, n = len(tail), len(tail) + len(rows)
        weights, lighter, past = np.zeros(n), np.zeros(n), np.zeros(n, np.int64)
        for edges in chain.from_iterable(block.parts.values()):
            now = indices(edges.now[1]) + first
            w = 1.0 if edges.weights is None else edges.weights
            if edges.part == VARIANCE:
                weights[now] = w
            else:
                piece, places = edges.past
                past[now] = indices(places)
                past[now] += first if piece == 0 else 0
                lighter[now] = w
        now = np.flatnonzero(weights > 0.0)
        rows = np.ascontiguousarray(rows, np.float64)
        return cls(rows, now, past[now], weights[now], lighter[now], tail)

    def part(self, first: int, last: int) -> "Inputs":
        """Return consecutive steps."""
        part = slice(first, last)
        steps = self.now[part], self.past[part], self.weights[part], self.lighter[part]
        return Inputs(self.rows, *steps, self.tail)

    @property
    def n_near(self) -> int:
        """The number of steps from the tail."""
        return int(np.searchsorted(self.past, len(self.tail)))

    def untailed(self) -> "Inputs":
        """Return the steps without a tail: copied rows near it, and the same rows behind it."""
        n, steps = len(self.tail), (self.weights, self.lighter, self.tail[:0])
        if self.n_near == 0:
            return Inputs(self.rows, self.now - n, self.past - n, *steps)
        rows = np.concatenate([self.tail, self.rows[: int(self.now[-1]) + 1 - n]], dtype=np.float64)
        return Inputs(rows, self.now, self.past, *steps)


#: W is the number of features, and C that of the learned vectors.
@storable(
    n_features="int=W",
    plan="Plan",
    steps="int",
    gain="number",
    sums="f8 2",
    largest="number",
    moment="f8 C C",
    answer="RunningAnswer",
    exact="Learner | None",
    _adapt="f8 5",
    _mean="f8 W",
    _total="number",
    _collect_next="int",
    _frame="f8 C+1 W | f8 0 W",
    **dict.fromkeys(("rate", "stopped", "has_mean", "_keep", "_room"), "-"),
)
class FlowSums(Sums):
    """Sums of the terms of blocks by an online rule, which takes a step for each rewarded term.

    The input of a step is the row minus the mean of the rows before it, with the weight ``reward``.
    With a penalty, a second input is the velocity, with the weight -``penalty``. The result does
    not depend on the chunking, up to rounding.

    Parameters
    ----------
    n_features : int
        The number of features.
    plan : Plan
        The parameters.
    exact : Learner, optional
        A learner of exact sums. A hook receives the largest angle between its answer and the
        learned vectors.

    Examples
    --------
    >>> from eigenstream.rows.chunk import Chunk
    >>> plan = Plan(
    ...     1, init=np.array([[1.0, 0.0]]), learning_rate=0.5, center=False
    ... )
    >>> learner = FlowSums(2, plan).learner()
    >>> learner.add(Chunk(np.array([[2.0, 1.0]])))
    >>> learner.sums.vectors.round(3)  # w + 0.5 y (x - y w) with y = 2
    array([[0.707, 0.707]])
    """

    def __init__(self, n_features: int, plan: Plan, *, exact: Learner | None = None) -> None:
        self.n_features, self.plan, self.exact = n_features, plan, exact
        self._follow_plan()
        self.answer: Any = self._new_answer()
        self._adapt = automatic(self.rate.c if isinstance(self.rate, Auto) else 0.0, self._keep)
        self.steps, self._collect_next = 0, 0
        self.gain = self._total = 0.0  # the last rate, and the weight of the terms in the mean
        #: The sums over the terms of the rewarded c |u|^2 and of weights, and, since the last
        #: collection, of c y y' over the responses y of the weights.
        self.sums, self.moment = np.zeros(2), np.zeros((0, 0))
        #: The largest of all |c| |u|^2.
        self.largest = 0.0
        self._mean = np.zeros(n_features)
        self._frame = np.zeros((0, n_features))  # the weights, one a row, and a row for the engine

    def _follow_plan(self) -> None:
        """Set the attributes that the plan determines, and those that need not be saved."""
        check_start(self.plan.init, self.plan.n_components, self.n_features, orthonormal=True)
        self.rate = as_schedule(self.plan.learning_rate)
        self._keep, self.has_mean = 1.0 - (self.plan.forgetting or 0.0), self.plan.center
        self._room = np.zeros((0, 0))
        #: True if a hook or an unstable step ended the last call.
        self.stopped = False

    def _new_answer(self) -> RunningAnswer:
        averaging = self.rate.averaging if isinstance(self.rate, Auto) else None
        return RunningAnswer(self.plan.n_components, averaging, self._keep)

    def _loaded(self) -> None:
        """Check that the arrays fit together: compiled loops do not check where they read."""
        if len(self.plan.weights) != 2:
            raise ValueError("the plan has other weights than those of variance and velocity.")
        self._follow_plan()
        answer, new, parts = self.answer, self._new_answer(), [self._frame]
        same = type(answer) is type(new) and all(
            getattr(answer, name) == getattr(new, name) for name in ("d", "power", "keep")
        )
        begun = len(self._frame) > 0
        if begun:
            watched = 0 if answer.power is None else answer.d
            same &= answer.watched.shape == (watched, self.n_features)
            parts += [answer.watched]
        if (
            not same
            or len(self.moment) != (self._columns if begun else 0)
            or (self.steps > 0 and not begun)
            or not all(part.flags.c_contiguous for part in parts)
        ):
            raise ValueError("the arrays of an online learner do not fit to its plan.")

    def __getstate__(self) -> dict[str, object]:
        return vars(self) | {"_room": np.zeros((0, 0))}

    def learner(self, terms: TimeTerms | None = None) -> Learner:
        """Return a learner that waits for the rows of the start vectors, and then for none."""
        terms = terms or TimeTerms(self.n_features, lag=self.plan.lag, center=False)
        return Learner(terms, self, first_rows=self.n_first + terms.lag)

    # ---- learning --------------------------------------------------------------------------

    def add(self, block: Block, terms: Terms) -> None:
        """Take the steps of a block. Steps after an unstable one, or a stop, are not taken."""
        assert isinstance(terms, TimeTerms)
        if self.exact is not None:
            assert block.chunk is not None
            self.exact.add(block.chunk)
        inputs, before = Inputs.of(block), self.steps
        try:
            with blas_threads(1):
                self._learn(inputs)
        except BaseException:
            self.stopped = True
            raise
        finally:
            rest = inputs.part(self.steps - before, len(inputs.now))
            if self.stopped and len(rest.now):
                n_rows = len(rest.tail) + len(rest.rows)
                terms.drop(n_rows - int(rest.now[0]), rest.weights, rest.lighter)

    def _learn(self, inputs: Inputs) -> None:
        """Take steps, collecting and calling the hook on the way."""
        plan, first, n = self.plan, self.steps, len(inputs.now)
        self.stopped = False
        if n == 0:
            return
        rates = self.rate.gains(first, n)  # a function that raises has changed nothing
        if not len(self._frame):
            self._begin(inputs)
        while self.steps < first + n and not self.stopped:
            until = min(MOST_STEPS, self._collect_next - self.steps)
            if plan.hook is not None:
                until = min(until, plan.hook_every - self.steps % plan.hook_every)
            begin = self.steps - first
            until = inputs.n_near - begin if begin < inputs.n_near < begin + until else until
            end = begin + max(until, 1)
            self._advance(inputs.part(begin, end).untailed(), rates[begin:end])
            if self.steps >= self._collect_next:
                self._collect()
            if plan.hook is not None and self.steps % plan.hook_every == 0:
                self.stopped = bool(plan.hook(self._progress()))

    def _collect(self) -> None:
        self.answer.collect(self)
        columns, rarely = len(self.moment), 4 if self.answer.power is None else 1
        stride = min(max(STRIDE, 16 * columns), max(self.steps // OFTEN, 4 * columns))
        blocks = max(round(rarely * stride / self.block_size), 1)
        self._collect_next = self.steps + blocks * self.block_size

    def _progress(self) -> Progress:
        vectors, angle = self.answer.vectors(self).copy(), None
        if self.exact is not None:
            exact = self.exact.operator().largest(self.plan.weights, self.plan.n_components)
            angle = float(principal_angles(vectors.T, exact.vectors)[0])
        return Progress(self.steps, self.gain, vectors, angle)

    def _advance(self, inputs: Inputs, rates: Float64s) -> None:
        """Take steps."""
        plan, rows, keep = self.plan, inputs.rows, self._keep
        now, past, weights, size = inputs.now, inputs.past, inputs.weights, self.block_size
        n, paired = len(now), plan.weights[1] > 0
        signs = np.empty((n, 1 + paired))
        signs[:, 0] = plan.weights[0] * weights
        if paired:
            signs[:, 1] = -plan.weights[1] * inputs.lighter
        shares, total = np.zeros(n), self._total
        if plan.center:
            if total == 0.0:
                self._mean[:] = rows[now[0]]  # any point near the data keeps the rows' digits
            # A row counts W / (W + w) times and is centred by the mean of the rows before it. The
            # terms then add up to exactly the scatter about the final mean [CHAN].
            shares, totals = mean_shares(weights, total, keep)
            signs[:, 0] *= 1.0 - shares
        back = int((now - past).max()) if paired else 0
        if now[-1] - now[0] >= n or back > size:  # the rows lie far apart
            rows = rows[np.stack([past if paired else now, now], axis=1).ravel()]
            now, past = 2 * np.arange(n) + 1, 2 * np.arange(n)
        d = len(self._frame) - 1
        watched = self.answer.watched
        # The entry of the compiled loop does not check types.
        rates = np.ascontiguousarray(rates, np.float64)
        Y, seen = np.empty((signs.size, d)), np.empty((signs.size, len(watched)))
        squares, most = np.empty(signs.size), min(size, n)
        room = len(watched) + d + most + max(most, min(size, back)) + 3
        if len(self._room) < room:
            self._room = np.empty((room, self.n_features))  # kept: new memory is slow
        bad = advance_loop()(
            size,
            *(self._room, self._frame, watched),
            *(self._mean, self._adapt),
            rows,
            (now, past if paired else past[:0], shares, signs, rates),
            (Y, seen, squares),
        )
        done = n if bad < 0 else bad // size * size
        if done:
            age = keep ** np.arange(done)[::-1]
            c = (signs[:done] * age[:, None]).ravel()
            Y, seen, sizes = Y[: len(c)], seen[: len(c)], c * squares[: len(c)]
            weight, faded = float(weights[:done] @ age), keep**done
            self.sums = faded * self.sums + [sizes[sizes > 0.0].sum(), weight]
            self.largest = max(faded * self.largest, float(np.abs(sizes).max()))
            self.moment = faded * self.moment + (Y.T * c) @ Y
            self.answer.see((seen.T * c) @ seen, weight, faded)
            self._total = float(totals[done - 1]) if plan.center else 0.0
            self.gain = float(rates[done - 1])
            self.steps += done
        if bad >= 0:
            raise UnstableStepError(self.steps + bad - done, float(rates[bad]))

    @property
    def block_size(self) -> int:
        """The number of steps between two updates of the weights."""
        return max(LEAST_STEPS, self._columns)

    # ---- starting --------------------------------------------------------------------------

    @property
    def _columns(self) -> int:
        """The number of vectors that are learned: more than the answer has if it is averaged."""
        d = self.plan.n_components
        wide = self.answer.power is not None
        return min(d + max(d // 2, min(d, 5)), self.n_features) if wide else d

    @property
    def n_first(self) -> int:
        """The number of terms that the start vectors take."""
        init, columns = self.plan.init, self._columns
        n_rows = {"data": 0, "random": columns}[init] if isinstance(init, str) else len(init)
        return columns - n_rows + int(self.plan.center) if n_rows < columns else 1

    def _begin(self, inputs: Inputs) -> None:
        """Choose the start vectors."""
        plan, columns, D = self.plan, self._columns, self.n_features
        random = np.random.default_rng(plan.seed)
        start: Floats = np.zeros((0, D))
        if not isinstance(plan.init, str):
            start = np.asarray(plan.init, np.float64)
            start = orthonormalized(start.T).T
        elif plan.init == "random":
            start = orthonormalized(random.standard_normal((D, columns))).T
        if len(start) < columns:
            terms = inputs.part(0, self.n_first).untailed()
            rows, weights = terms.rows[terms.now], terms.weights[:, None]
            if plan.center:  # the first row is no information
                rows = rows[1:] - np.cumsum(weights * rows, 0)[:-1] / np.cumsum(weights, 0)[:-1]
            start = completed(start, columns, [*rows, *random.standard_normal((columns, D))])
        self._frame = np.zeros((columns + 1, D))
        self._frame[:columns] = start
        self.moment = np.zeros((columns, columns))
        self.answer.begin(self._frame[: plan.n_components])
        self._collect_next = self.block_size

    # ---- results ---------------------------------------------------------------------------

    @property
    def weights(self) -> Floats:
        """The weight vectors after the last step, one a row."""
        return self._frame[:-1]

    @property
    def vectors(self) -> Floats:
        """The learned vectors, one a row, averaged where the schedule averages."""
        now = self._collected()
        vectors: Floats = now.answer.vectors(now)
        return vectors

    @property
    def mean(self) -> Float64s | None:
        """The mean of the rows, or None without centring."""
        return self._mean.copy() if self.plan.center else None

    def silent(self) -> "FlowSums":
        """Return a shallow copy without a hook."""
        other = copy(self)
        other.plan = replace(self.plan, hook=None)
        return other

    def operator(self, terms: Terms, held_out: Parts = NOTHING) -> "FlowOperator":
        """Return the flow's estimates."""
        if not self.steps:
            raise ValueError(f"After {terms.n_rows} row(s) there are no terms yet. Pass more rows.")
        now = self._collected()
        if now.answer.lags:
            warn_user(
                f"learning_rate='auto' did not converge in {now.steps} steps, so the result "
                "may be inaccurate. Pass more rows or make more passes, or use solver='dense'."
            )
        power, weight = now.sums
        share = now.largest / power if power > 0 else 0.0
        if share > OUTLIER_SHARE and share * now.steps > OUTLIER_SIZE:
            warn_user(
                f"The square of one row is {share * now.steps:.0f} times the mean, so the "
                "result may follow this row. Remove outliers, or use solver='dense'."
            )
        vectors = newton_schulz(now.answer.vectors(now)).T
        values, rotation = np.linalg.eigh(now.answer.estimate())
        return FlowOperator(
            canonical(values, vectors @ rotation),
            power / weight if weight > 0 else 0.0,
            rounding_of_mean(terms.mean if self.mean is None else self.mean),
        )

    def _collected(self) -> "FlowSums":
        """Return a copy whose answer includes all steps."""
        now = copy(self)
        now.answer = deepcopy(self.answer)
        now.answer.collect(now)
        return now


@dataclass(frozen=True)
class FlowOperator:
    """The flow's estimates of the eigenpairs of T and of the trace of A."""

    pairs: Eigenpairs
    trace: float
    floor: float

    def largest(self, weights: Weights, n_components: int) -> Eigenpairs:
        """Return the eigenpairs at the weights of the flow."""
        return self.pairs.first(n_components)


def completed(frame: Floats, d: int, vectors: Sequence[Floats] | Floats) -> Floats:
    """Return ``d`` orthonormal rows: those of a frame, and what the vectors add to them.

    >>> completed(
    ...     np.zeros((0, 2)), 1, np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 5.0]])
    ... )
    array([[1., 0.]])
    """
    for vector in vectors:
        left = vector - (frame @ vector) @ frame
        left -= (frame @ left) @ frame
        norm = np.linalg.norm(left)
        if len(frame) < d and norm > NEW * np.linalg.norm(vector):
            frame = np.vstack([frame, left / norm])
    return frame


@storable()
class Flow(Solver):
    """Online solver with one step of the Oja-Karhunen flow for each observation.

    ``StreamPCA`` and ``SlowSubspace`` have it.

    Parameters
    ----------
    learning_rate : number, "auto", a schedule of ``eigenstream.schedules`` or a function
        The step size. "auto" does not depend on the scale of the data.
    init : {"data", "random"} or array of shape (n_components, n_features), default="data"
        The initial components. "data" orthonormalises the first observations.
    forgetting : float in [0, 1), default=0.0
        The relative loss of weight of earlier observations at each step.
    hook : callable, optional
        A function of the state, called every 1000 steps or every ``hook.every`` steps. Learning
        stops if it returns True. See ``eigenstream.subspace.FlowMonitor``.
    random_state : int, optional
        The seed of initial components that the data do not determine.

    Notes
    -----
    The flow does not estimate its share of the optimum. A subspace that moved little in the second
    half of the rows may still be below 0.99 of it. Compare a part of the rows with "dense".

    Examples
    --------
    >>> from eigenstream import Flow, StreamPCA
    >>> StreamPCA(2, solver=Flow(init="random")).solver.get_params()["init"]
    'random'
    """

    name = "flow"
    abilities, estimates = frozenset({ADD}), True
    _parameter_constraints: ClassVar[Constraints] = {
        "learning_rate": [POSITIVE, StrOptions({"auto"}), Schedule, callable],
        "init": [StrOptions({"data", "random"}), "array-like"],
        "forgetting": [FRACTION],
        "hook": [callable, None],
    }

    def __init__(
        self,
        learning_rate: LearningRate = "auto",
        *,
        init: ArrayLike = "data",
        forgetting: float = 0.0,
        hook: Callable[[Progress], object] | None = None,
        random_state: RandomState = 0,
    ) -> None:
        self.learning_rate, self.init, self.forgetting = learning_rate, init, forgetting
        self.hook, self.random_state = hook, random_state

    def _validate_params(self) -> None:
        super()._validate_params()
        as_schedule(self.learning_rate, "learning_rate")

    def begin(self, problem: Problem) -> Learner:
        """Return a learner that has seen nothing."""
        terms = problem.terms
        if not isinstance(terms, TimeTerms):
            raise ValueError(
                "solver='flow' learns from rows, not from labels, pairs or a background. "
                "Use solver=Dense() or Sketch()."
            )
        assert problem.weights is not None
        exact = getattr(self.hook, "exact", False) and Learner(terms, Moments(terms.n_features))
        plan = Plan(
            problem.n_components,
            weights=problem.weights,
            lag=terms.lag,
            center=not terms.center.fixed,
            learning_rate=self.learning_rate,
            init=self.init,
            forgetting=self.forgetting or None,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            hook=self.hook,
            hook_every=getattr(self.hook, "every", 1000),
        )
        sums = FlowSums(terms.n_features, plan, exact=exact or None)
        return sums.learner(terms.with_final_means())  # the flow has its own running mean
