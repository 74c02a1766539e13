"""Learning online by a rule. A learner keeps the weights and the rows that later steps need."""

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from eigenstream._checks import check_choice, check_number, check_whole, real_array
from eigenstream._linalg import Float64s, brief, orthonormalized, principal_angles
from eigenstream._machine import blas_threads
from eigenstream._storable import storable
from eigenstream.online.averages import RunningAnswer, RunningMean
from eigenstream.online.blocks import advance_loop, automatic, mean_shares, pointer
from eigenstream.online.rules import RULES, Rule, UnstableStepError
from eigenstream.schedules import Auto, Steps, as_schedule

__all__ = ["OnlineLearner", "Plan", "Progress", "check_options"]

#: Steps of a block, at least; a block has one step for each learned vector or more. Larger blocks
#: take more work on tables, smaller ones more passes over the weights.
BLOCK = 22

#: Steps between two collections: a tenth of those so far, and in the long run STRIDE, or 16 a
#: column. Fewer would cost time, more would let the average lag.
STRIDE, OFTEN = 512, 10

#: Numbers of rows that are copied at a time, at most, and steps that are taken at a time.
NUMBERS, STRETCH = 2**23, 2048

#: A start vector with less than this share outside the others gives no direction.
NEW = 1e-7


@dataclass(frozen=True)
class Progress:
    """The state of an online fit that a hook receives.

    Attributes
    ----------
    step : int
        The number of steps.
    gain : float
        The last learning rate.
    components : array of shape (n_components, n_features)
        The vectors.
    angle : float or None
        The largest principal angle to the exact answer in radians, if requested.
    """

    step: int
    gain: float
    components: Any
    angle: float | None = None

    __repr__ = brief


@storable(
    n_components="int=units",
    weights="tuple[number]",
    lag="int",
    center="bool",
    learning_rate="any",
    init="any",
    forgetting="number | None",
    seed="int",
    block_size="int | None",
    rates="f8 units | None",
    hook="-",
    hook_every="int",
)
@dataclass(frozen=True)
class Plan:
    """The parameters of an online learner. A hook is not saved.

    Parameters
    ----------
    n_components : int
        The number of weight vectors.
    weights : (float, float)
        The weights of the reward and of the penalty.
    lag : int
        The lag of the velocity in rows; 0 without a penalty.
    center : bool
        Subtract the mean of the previous rows from each row.
    learning_rate : "auto", number, schedule or function
        The learning rates.
    init : "data", "random" or array of shape (n_components, n_features)
        The initial weights.
    forgetting : float or None
        The share of the mean and of the moments that each row forgets.
    seed : int
        The seed of random initial weights.
    block_size : int or None
        The number of steps in a block. It changes only rounding and speed.
    rates : array of shape (n_components,), or None
        Factors of the learning rate.
    hook : function of a Progress, or None
        Called every ``hook_every`` steps. Learning stops if it returns True.
    hook_every : int
        The number of steps between two calls.
    """

    n_components: int
    weights: tuple[float, float] = (1.0, 0.0)
    lag: int = 0
    center: bool = True
    learning_rate: Any = "auto"
    init: Any = "data"
    forgetting: float | None = None
    seed: int = 0
    block_size: int | None = None
    rates: Any = None
    hook: Callable[[Progress], Any] | None = None
    hook_every: int = 1000

    def __post_init__(self) -> None:
        reward, penalty = self.weights
        check_whole(self.n_components, "n_components")
        check_whole(self.lag, "lag", least=0)
        check_number(reward, "the reward's weight", least=0)
        check_number(penalty, "the penalty's weight", least=0)
        if penalty > 0 and self.lag == 0:
            raise ValueError("A penalty on velocities needs lag >= 1, got lag=0.")
        check_whole(self.hook_every, "hook_every")
        check_options(self.learning_rate, self.init, self.forgetting, self.block_size, self.hook)


def check_options(
    learning_rate: Any = "auto",
    init: Any = "data",
    forgetting: Any = None,
    block_size: Any = None,
    hook: Any = None,
) -> None:
    """Check the options of online learning that do not depend on the data.

    Parameters
    ----------
    learning_rate : "auto", number, schedule or function, default="auto"
        The learning rates.
    init : "data", "random" or array, default="data"
        The initial weights.
    forgetting : float in (0, 1), default=None
        The share that each row forgets.
    block_size : int, default=None
        The number of steps in a block.
    hook : function, default=None
        A function of a Progress.

    Examples
    --------
    >>> check_options(forgetting=2.0)
    Traceback (most recent call last):
        ...
    ValueError: forgetting must be a number in (0, 1), got 2.0.
    """
    as_schedule(learning_rate)
    if isinstance(init, str):
        check_choice(init, "init", ("data", "random"))
    else:
        vectors = real_array(init, "init")
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise ValueError(
                "init must be 'data', 'random' or a finite array of shape (n_components, "
                f"n_features), got {init!r}."
            )
    if forgetting is not None:
        check_number(forgetting, "forgetting", above=0, below=1)
    if block_size is not None:
        check_whole(block_size, "block_size")
    if hook is not None and not callable(hook):
        raise TypeError(f"hook must be a function of one Progress, got {hook!r}.")


#: W is the number of features, or 0 before the first row, and C that of the learned vectors.
@storable(
    rule="-",
    _rule="str",
    learning_rate="-",
    _keep="-",
    _automatic="-",
    _room="-",
    stopped="-",
    plan="Plan",
    steps="int",
    n_rows="int",
    n_velocities="int",
    sequence_rows="int",
    gain="number",
    mean="f8 W | f8 0",
    moment="f8 C C",
    sums="f8 2",
    largest="number",
    answer="RunningAnswer | RunningMean",
    _adapt="f8 5",
    _total="number",
    _collect_next="int",
    _rows="float k W | float 0 0",
    _weights="f8 k",
    _frame="float C+1 W | float 0 0",
    _now="i8 p",
    _past="i8 p",
)
class OnlineLearner:
    """Online learner of weight vectors, with one step for each row of positive weight.

    The input of step t is row t minus the mean of the rows before it, with the weight ``reward``.
    With a penalty, a second input is row t minus row t - lag, with the weight -``penalty``. The
    result does not depend on the chunking, up to rounding.

    Parameters
    ----------
    rule : Rule
        The rule of the steps.
    plan : Plan
        The parameters.

    Examples
    --------
    >>> from eigenstream.online import HEBB
    >>> plan = Plan(1, init=np.array([[1.0, 0.0]]), learning_rate=0.5, center=False)
    >>> OnlineLearner(HEBB, plan).update(np.array([[2.0, 1.0]])).vectors  # w + 0.5 y x with y = 2
    array([[3., 1.]])
    """

    def __init__(self, rule: Rule, plan: Plan) -> None:
        self.plan, self._rule = plan, rule.name
        self._follow_plan()
        self._adapt = automatic(self.learning_rate.c if self._automatic else 0.0, self._keep)
        self.answer = self._new_answer()
        self.steps = self.n_rows = 0
        self.n_velocities = 0  # terms so far whose pasts have a positive weight
        self.sequence_rows = 0  # of the running sequence
        self.gain = self._total = 0.0  # the last rate, and the weight of the terms in the mean
        self._collect_next = 0
        #: The sums over the terms of the rewarded c |u|^2 and of weights, and, since the last
        #: collection, of c y y' over the responses y of the weights.
        self.sums = np.zeros(2)
        #: The largest of all |c| |u|^2.
        self.largest = 0.0
        self.mean = np.zeros(0)
        self.moment = np.zeros((0, 0))
        self._frame = np.zeros((0, 0))  # the weights, one a row, and a row for the engine
        #: Rows that later steps need, and their weights. Terms that wait for the start are indices
        #: of their rows and of the rows ``lag`` before.
        self._rows, self._weights = np.zeros((0, 0)), np.zeros(0)
        self._now = self._past = np.zeros(0, np.int64)

    def _follow_plan(self) -> None:
        """Set the attributes that the plan determines, and those that need not be saved."""
        self.rule = RULES[self._rule]
        self.learning_rate: Any = as_schedule(self.plan.learning_rate)
        self._automatic = isinstance(self.learning_rate, Auto)
        self._keep = 1.0 - (self.plan.forgetting or 0.0)
        self._room = np.zeros((0, 0))
        self.stopped = False

    def _new_answer(self) -> Any:
        kind = RunningAnswer if self.rule.orthonormal else RunningMean
        averaging = self.learning_rate.averaging if self._automatic else None
        return kind(self.plan.n_components, averaging, self._keep)

    def _loaded(self) -> None:
        """Check that the arrays fit together: compiled loops do not check where they read."""
        self._follow_plan()
        plan, answer, new = self.plan, self.answer, self._new_answer()
        same = type(answer) is type(new) and all(
            getattr(answer, name) == getattr(new, name) for name in ("d", "power", "keep")
        )
        n, width = self._rows.shape
        if width:
            self._check_init(width)
        begun, back = len(self._frame) > 0, self._now - self._past
        parts: list[Any] = [self._rows]
        if begun:
            watched = 0 if self.rule.orthonormal and answer.power is None else plan.n_components
            same &= answer.watched.shape == (watched, width)
            parts += [self._frame, answer.watched]
        if (
            not same
            or len(self.mean) != width
            or plan.n_components > width > 0
            or len(self.moment) != (self._columns if begun else 0)
            or (self.steps > 0 and not begun)
            or n < min(self.sequence_rows, plan.lag)
            or len({one.dtype for one in parts}) > 1
            or not all(one.flags.c_contiguous for one in parts)
            or (back < 0).any()
            or (back > plan.lag).any()
            or (np.diff(self._now, append=n) < 1).any()
            or (np.diff(self._past, prepend=-1) < 1).any()
        ):
            raise ValueError("the arrays of an online learner do not fit to its plan.")

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_room": np.zeros((0, 0))}

    # ---- learning --------------------------------------------------------------------------

    def update(
        self,
        rows: Any,
        weights: Any = None,
        *,
        new_sequence: bool = False,
        exact: Callable[[], Any] | None = None,
    ) -> Self:
        """Learn from a chunk of rows that follows the previous rows.

        Parameters
        ----------
        rows : array of shape (n, n_features)
            The rows.
        weights : array of shape (n,), default=None
            Non-negative weights of the rows.
        new_sequence : bool, default=False
            If True, no velocity joins the chunk to the rows before it.
        exact : function without arguments, default=None
            Returns columns. A hook receives the largest angle between their span and the learned
            vectors.

        Returns
        -------
        self : object
            This learner.

        Raises
        ------
        UnstableStepError
            If a step is not finite. The blocks before that step are learned.
        """
        n, width = rows.shape
        if n == 0:
            return self
        if not self._rows.shape[1]:
            self._check_init(width)
            self._rows = np.zeros((0, width), np.float32 if rows.dtype == np.float32 else float)
            self.mean = np.zeros(width)
        if width != self._rows.shape[1]:
            raise ValueError(
                f"a chunk must have shape (n, {self._rows.shape[1]}) as the first one had, got "
                f"{rows.shape}."
            )
        if isinstance(
            self.learning_rate, Steps
        ):  # a user's function may raise: nothing has changed yet
            self.learning_rate.gains(self.n_terms, n)
        if rows.dtype == np.float64 != self._rows.dtype:
            self._rows, self._frame = self._rows.astype(float), self._frame.astype(float)
            self.answer.watched = self.answer.watched.astype(float)
        self.stopped = False
        piece = self.block_size * max(NUMBERS // (width * self.block_size), 1)
        for start in range(0, n, piece):
            here = slice(start, start + piece)
            part_weights = np.ones(min(piece, n - start)) if weights is None else weights[here]
            fresh = new_sequence and start == 0
            self._add(rows[here], np.asarray(part_weights, np.float64), fresh, exact)
            if self.stopped:
                break
        return self

    def _add(self, rows: Any, weights: Float64s, new_sequence: bool, exact: Any) -> None:
        """Learn from a piece of a chunk, and keep the rows that later terms need."""
        lag, first = self.plan.lag, len(self._rows)
        rows = rows.toarray() if sp.issparse(rows) else rows  # type: ignore[attr-defined, unused-ignore]
        rows = np.ascontiguousarray(rows, self._rows.dtype)
        self.sequence_rows = 0 if new_sequence else self.sequence_rows
        if first:
            rows, weights = np.concatenate([self._rows, rows]), np.append(self._weights, weights)
        now = np.arange(first + max(lag - self.sequence_rows, 0), len(rows))
        now = now[weights[now] > 0.0]
        self.n_velocities += int(np.count_nonzero(weights[now - lag]))
        self.n_rows += len(rows) - first
        self.sequence_rows += len(rows) - first
        self._now, self._past = np.append(self._now, now), np.append(self._past, now - lag)
        self._rows, self._weights = rows, weights
        try:
            if len(self._frame) or len(self._now) >= self._needed():
                self._learn(exact)
        except UnstableStepError:
            self.stopped = True
            raise
        finally:
            if self.stopped and len(self._now):  # rows that were not learned have not been seen
                self.n_rows -= len(rows) - int(self._now[0])
                self.n_velocities -= int(np.count_nonzero(weights[self._past]))
                self._now = self._past = self._now[:0]
                self.sequence_rows = 0
            tail = np.arange(len(rows) - min(self.sequence_rows, lag), len(rows))
            needed = np.unique(np.concatenate([self._past, self._now, tail]))
            self._rows, self._weights = rows[needed], weights[needed]
            self._now = np.searchsorted(needed, self._now)
            self._past = np.searchsorted(needed, self._past)

    def _learn(self, exact: Any = None) -> None:
        """Take the steps of all terms that wait, collecting and calling the hook on the way."""
        plan = self.plan
        if not len(self._frame):
            self._begin()
        while len(self._now) and not self.stopped:
            until = min(STRETCH, self._collect_next - self.steps)
            if plan.hook is not None:
                until = min(until, plan.hook_every - self.steps % plan.hook_every)
            with blas_threads(1):
                self._advance(max(until, 1))
            if self.steps >= self._collect_next:
                self.answer.collect(self)
                columns, rarely = len(self.moment), 4 if self.answer.power is None else 1
                stride = min(max(STRIDE, 16 * columns), max(self.steps // OFTEN, 4 * columns))
                blocks = max(round(rarely * stride / self.block_size), 1)
                self._collect_next = self.steps + blocks * self.block_size
            if plan.hook is not None and self.steps % plan.hook_every == 0:
                vectors = self.vectors.copy()
                angle = None if exact is None else float(principal_angles(vectors.T, exact())[0])
                progress = Progress(self.steps, self.gain, vectors, angle)
                self.stopped = bool(plan.hook(progress))

    def _advance(self, count: int) -> None:
        """Take the next ``count`` steps."""
        plan, rows, keep = self.plan, self._rows, self._keep
        now, past = self._now[:count], self._past[:count]
        n, paired = len(now), plan.weights[1] > 0
        weights, size = self._weights[now], self.block_size
        signs = np.empty((n, 1 + paired))
        signs[:, 0] = plan.weights[0] * weights
        if paired:
            signs[:, 1] = -plan.weights[1] * np.minimum(weights, self._weights[past])
        shares, total = np.zeros(n), self._total
        if plan.center:
            if total == 0.0:
                self.mean[:] = rows[now[0]]  # any point near the data keeps the rows' digits
            # A row counts W / (W + w) times and is centred by the mean of the rows before it. The
            # terms then add up to exactly the scatter about the final mean [CHAN].
            shares, totals = mean_shares(weights, total, keep)
            signs[:, 0] *= 1.0 - shares
        if now[-1] - now[0] >= n or (paired and plan.lag > size):  # the rows lie far apart
            rows = rows[np.stack([past, now], axis=1).ravel()]
            now, past = 2 * np.arange(n) + 1, 2 * np.arange(n)
        rates, d = self.learning_rate.gains(self.steps, n), len(self._frame) - 1
        watched = self.answer.watched if self.rule.orthonormal else self._frame[:0]
        Y, seen = np.empty((signs.size, d)), np.empty((signs.size, len(watched)))
        squares, most = np.empty(signs.size), min(size, n)
        room = len(watched) + d + most + max(most, min(size, plan.lag)) + 3
        if len(self._room) < room or self._room.dtype != rows.dtype:
            self._room = np.empty((room, rows.shape[1]), rows.dtype)  # kept: new memory is slow
        units = np.ones(d) if plan.rates is None else plan.rates
        kind = self.rule.orthonormal, self.rule.norms
        terms = (now, past if paired else past[:0], shares, signs, rates)
        vectors = (self._room, self._frame, watched)
        numbers = (self.mean, self._adapt, units)
        bad = advance_loop(rows.dtype)(
            pointer(self.rule.step), kind, size, *vectors, *numbers, rows, terms, (Y, seen, squares)
        )
        done = n if bad < 0 else bad // size * size
        if done:
            age = keep ** np.arange(done)[::-1]
            c = (signs[:done] * age[:, None]).ravel()
            Y, seen = Y[: len(c)], seen[: len(c)]
            self.sums = keep**done * self.sums
            sizes = c * squares[: len(c)]
            self.sums += [sizes[sizes > 0.0].sum(), weights[:done] @ age]
            self.largest = max(keep**done * self.largest, float(np.abs(sizes).max()))
            self.moment = keep**done * self.moment + (Y.T * c) @ Y
            self.answer.see((seen.T * c) @ seen, float(weights[:done] @ age), keep**done)
            self._total = float(totals[done - 1]) if plan.center else 0.0
            self.gain = float(rates[done - 1])
            self.steps += done
            self._now, self._past = self._now[done:], self._past[done:]
        if bad >= 0:
            raise UnstableStepError(self.steps + bad - done, float(rates[bad]))

    @property
    def block_size(self) -> int:
        """The number of steps between two updates of the weights."""
        return self.plan.block_size or max(BLOCK, self._columns)

    # ---- starting --------------------------------------------------------------------------

    @property
    def _columns(self) -> int:
        """The number of vectors that are learned: more than the answer has if it is averaged."""
        d = self.plan.n_components
        wide = self.rule.orthonormal and self.answer.power is not None
        return min(d + max(d // 2, min(d, 5)), self._rows.shape[1]) if wide else d

    def _needed(self) -> int:
        """Return the number of terms that the start vectors take."""
        init, columns = self.plan.init, self._columns
        given = {"data": 0, "random": columns}[init] if isinstance(init, str) else len(init)
        return columns - given + int(self.plan.center) if given < columns else 1

    def _check_init(self, n_features: int) -> None:
        d, D = self.plan.n_components, n_features
        if isinstance(self.plan.init, str):
            return
        vectors = real_array(self.plan.init, "init").astype(np.float64)
        if vectors.shape != (d, D):
            raise ValueError(
                f"init must have shape (n_components, n_features) = ({d}, {D}), got shape "
                f"{vectors.shape}."
            )
        zero = np.flatnonzero(~vectors.any(axis=1))
        if zero.size:
            raise ValueError(f"row {zero[0]} of init is zero. Give a direction, or init='random'.")
        if self.rule.orthonormal and np.linalg.matrix_rank(vectors) < d:
            raise ValueError(
                f"the {d} rows of init span fewer than {d} directions. Give rows that are linearly "
                "independent, or init='random'."
            )

    def _begin(self) -> None:
        """Choose the start vectors."""
        plan, columns, D = self.plan, self._columns, self._rows.shape[1]
        random = np.random.default_rng(plan.seed)
        start: Any = np.zeros((0, D))
        if not isinstance(plan.init, str):
            start = np.asarray(plan.init, np.float64)
            start = orthonormalized(start.T).T if self.rule.orthonormal else start
        elif plan.init == "random":
            start = orthonormalized(random.standard_normal((D, columns))).T
        if len(start) < columns:
            now = self._now[: self._needed()]
            rows, weights = self._rows[now].astype(float), self._weights[now, None]
            if plan.center:  # the first row is no information
                rows = rows[1:] - np.cumsum(weights * rows, 0)[:-1] / np.cumsum(weights, 0)[:-1]
            start = completed(start, columns, [*rows, *random.standard_normal((columns, D))])
        self._frame = np.zeros((columns + 1, D), self._rows.dtype)
        self._frame[:columns] = start
        self.moment = np.zeros((columns, columns))
        self.answer.begin(self._frame[: plan.n_components])
        self._collect_next = self.block_size

    # ---- results ---------------------------------------------------------------------------

    @property
    def weights(self) -> Any:
        """The weight vectors after the last step, one a row."""
        return self._frame[:-1]

    @property
    def vectors(self) -> Any:
        """The learned vectors, one a row, averaged where the schedule averages: to be read."""
        return self.answer.vectors(self)

    @property
    def pending(self) -> int:
        """The number of terms that wait for the start."""
        return len(self._now)

    @property
    def n_terms(self) -> int:
        """The number of terms seen."""
        return self.steps + self.pending

    def ahead(self) -> "OnlineLearner":
        """Return a copy that has also learned the rows that are still collected.

        Returns
        -------
        OnlineLearner
            The copy.
        """
        other = copy(self)
        other.plan = replace(self.plan, hook=None)
        other = deepcopy(other)
        if other.n_terms:
            other._learn()
            other.answer.collect(other)
        return other


def completed(frame: Float64s, d: int, vectors: Any) -> Float64s:
    """Return ``d`` orthonormal rows: those of a frame, and what the vectors add to them.

    >>> completed(np.zeros((0, 2)), 1, np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 5.0]]))
    array([[1., 0.]])
    """
    for vector in vectors:
        left = vector - (frame @ vector) @ frame
        left -= (frame @ left) @ frame
        norm = np.linalg.norm(left)
        if len(frame) < d and norm > NEW * np.linalg.norm(vector):
            frame = np.vstack([frame, left / norm])
    return frame
