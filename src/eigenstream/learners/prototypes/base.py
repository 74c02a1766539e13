"""Prototypes in a stream: rows wait until a block is whole, so any chunking learns the same."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from eigenstream._blas import blas_threads
from eigenstream._linalg import Float64s
from eigenstream._state import State
from eigenstream.learners.prototypes._recording import Recorder
from eigenstream.rules.competitive import (
    NOT_RECORDED,
    WINNER,
    Competition,
    Competitors,
    RowSteps,
    Seen,
)
from eigenstream.schedules import Schedule

__all__ = ["PrototypeLearner", "PrototypePlan", "default_block_size", "values_of"]

#: With so few prototypes, or so few multiplications for the distances of a row, moving the
#: prototypes themselves is quicker than forming a block's inner products (docs/prototypes.md).
FEW, SMALL = 16, 2**14

NOTHING = np.zeros((0, 0))


def default_block_size(n_prototypes: int, n_features: int) -> int:
    """Return the number of steps taken between two matrix products; 0 for steps on the rows.

    >>> default_block_size(8, 2), default_block_size(100, 784)
    (0, 64)
    """
    few = n_prototypes <= FEW or n_prototypes * n_features <= SMALL
    return 0 if few else 64


def values_of(schedule: Schedule, name: str, first: int, n: int) -> Float64s:
    """Return what a schedule gives at some steps; it is refused by the name of what it is for.

    >>> from eigenstream.schedules import as_schedule
    >>> values_of(as_schedule(lambda t: -t), "radius", 1, 1)
    Traceback (most recent call last):
        ...
    ValueError: the schedule gave the radius -1.0 at step 1; it must give a finite number that is...
    """
    try:
        return schedule.gains(first, n)
    except ValueError as refusal:
        words = str(refusal).replace("learning rates of", f"a {name} of")
        raise ValueError(words.replace("the learning rate", f"the {name}")) from None


@dataclass(frozen=True)
class PrototypePlan:
    """What prototypes are asked to do."""

    n_prototypes: int
    #: Learning rates; None for 1 / count.
    schedule: Schedule | None = None
    #: The share of the counts that is forgotten a step.
    forgetting: float = 0.0
    #: How many rows wait until the prototypes are placed among them.
    n_first: int = 1
    #: Where they begin: a word for the learner, or an array.
    init: Any = "data"
    seed: int = 0
    #: Steps between two matrix products, 0 for steps on the rows, None for what is quicker.
    block_size: int | None = None
    #: Steps between two records of the overlaps with ``directions``.
    record_every: int | None = None
    directions: Any = None
    #: How far the assignment reaches, for rules that ask; None for what the data suggest.
    width: Schedule | None = None
    #: Steps without being the nearest after which a prototype is placed anew.
    reseed: int | None = None


class PrototypeLearner(ABC):
    """Prototypes, and the rows that wait: a value that is copied, saved and restored.

    Rows are learned about a fixed mean, that of the first ones, so that a common offset costs the
    inner products no precision. Reading changes nothing: what waits is learned on a copy.
    """

    #: The rule by which they compete.
    rule: Competition

    def __init__(self, plan: PrototypePlan, n_features: int) -> None:
        self.plan = plan
        self.n_features = n_features
        self.mean: Float64s = np.zeros(n_features)
        self.them = Competitors.zeros(plan.n_prototypes, n_features)
        #: RowSteps taken, the sum of the squared distances that rows had when they came, and the
        #: weight of these rows.
        self.steps, self.error, self.weight = 0, 0.0, 0.0
        self._begun = False
        self._kept: list[Float64s] = []
        self._kept_weights: list[Float64s] = []
        given = plan.block_size
        size = default_block_size(plan.n_prototypes, n_features) if given is None else given
        self._size = size
        self._recorder: Recorder | None = None
        if plan.record_every is not None:
            self._recorder = Recorder(
                plan.record_every,
                plan.directions,
                n_prototypes=plan.n_prototypes,
                n_features=n_features,
                movers=1 if self.rule is WINNER else plan.n_prototypes,
                block_size=self._size,
            )

    # ---- what a kind of prototypes says ----------------------------------------------------

    @abstractmethod
    def _placed(self, rows: Float64s, weights: Float64s) -> Float64s:
        """Return where the prototypes begin, at most ``n_prototypes``, among the first rows."""

    def _numbers(self, first: int, n: int) -> Float64s:
        """Return what the rule reads at each of so many steps, one row a step."""
        return np.zeros((n, 0))

    def _ground(self) -> Any:
        """Return what the rule reads at every step."""
        return NOTHING

    # ---- learning --------------------------------------------------------------------------

    def add(self, rows: Any, weights: Float64s | None = None) -> Self:
        """Learn from rows that follow those before; rows of weight zero are no rows."""
        if weights is None:
            weights = np.ones(len(rows))
        elif not weights.all():
            rows, weights = rows[weights > 0], weights[weights > 0]
        if len(rows) == 0:
            return self
        self._check_steps(len(rows))
        if not self._begun:
            lacking = max(self.plan.n_first - self.waiting, 0)
            self._keep(rows[:lacking], weights[:lacking])
            if self.waiting < self.plan.n_first:
                return self
            rows, weights = rows[lacking:], weights[lacking:]
            self._begin()
        # Blocks end where the number of steps is a multiple of their size, whatever the chunks.
        size = self._size or 1
        lacking = -self.n_steps % size
        self._keep(rows[:lacking], weights[:lacking])
        if self.n_steps % size == 0:
            self._learn_kept()
            whole = len(rows) - lacking
            whole -= whole % size
            self._learn(rows[lacking : lacking + whole], weights[lacking : lacking + whole])
            self._keep(rows[lacking + whole :], weights[lacking + whole :])
        return self

    def _check_steps(self, n: int) -> None:
        """Refuse learning rates above 1 before anything is learned with them."""
        schedule = self.plan.schedule
        if schedule is None:
            return
        first = self.steps + self.waiting
        gains = schedule.gains(first, n)
        bad = np.flatnonzero(~(gains <= 1.0))
        if bad.size:
            raise ValueError(
                f"the learning rate is {gains[bad[0]]:.6g} at step {first + bad[0]}: above 1 a "
                "prototype lands beyond the row that it is to learn. Use a smaller learning_rate."
            )

    def _keep(self, rows: Any, weights: Float64s) -> None:
        if len(rows):
            # Row by row in memory, whatever they come as: sums of another order round otherwise,
            # and loops over columns are slow.
            self._kept.append(np.array(rows, np.float64, order="C"))
            self._kept_weights.append(np.array(weights, np.float64))

    def _waiting(self) -> tuple[Float64s, Float64s]:
        """Return the rows that wait, and their weights."""
        if not self._kept:
            return np.zeros((0, self.n_features)), np.zeros(0)
        return np.concatenate(self._kept), np.concatenate(self._kept_weights)

    def _take(self) -> tuple[Float64s, Float64s]:
        found = self._waiting()
        self._kept, self._kept_weights = [], []
        return found

    def _begin(self) -> None:
        """Place the prototypes among the rows that wait; those wait on to be learned."""
        rows, weights = self._take()
        self.mean = np.average(rows, axis=0, weights=weights)
        places = self._placed(rows, weights)
        self.them.vectors[: len(places)] = places - self.mean
        self.them.alive[0] = len(places)
        # Where a prototype begins counts as a row: from 0, the first row would take all of them to
        # itself that have a share in it.
        self.them.counts[: len(places)] = 1.0
        np.einsum("kj,kj->k", self.them.vectors, self.them.vectors, out=self.them.squares)
        self._begun = True
        self._keep(rows, weights)
        if self._recorder is not None:
            self._recorder.note(self.steps, self.vectors)

    def _learn_kept(self) -> None:
        if self._kept:
            self._learn(*self._take())

    def _learn(self, rows: Any, weights: Float64s) -> None:
        """Take the steps of rows that make whole blocks, or the last of all."""
        with blas_threads(1):
            for start, stop in self._stretches(len(rows)):
                self._advance(rows[start:stop], weights[start:stop])
                self._pause()

    def _stretches(self, n: int) -> Iterator[tuple[int, int]]:
        """Cut steps where there is a pause, and so that what goes with them fits into a few MiB.

        A block that a pause has cut ends where it would have ended.
        """
        size, first = self._size or 1, self.steps
        most = max(2**19 // self.n_features, 1)
        most = max(most - most % size, size)
        at = first
        while at < first + n:
            ends = [at + every - at % every for every in self._pauses()]
            stop = min([at + most - at % size, first + n, *ends])
            if at % size:
                stop = min(stop, at - at % size + size)
            yield at - first, stop - first
            at = stop

    def _pauses(self) -> list[int]:
        """Return after how many steps, again and again, there is something to do."""
        return [] if self._recorder is None else self._recorder.ends

    def _pause(self) -> None:
        """Do what is due after so many steps."""
        if self._recorder is not None:
            self._recorder.due(self.steps, self)

    def _advance(self, rows: Any, weights: Float64s) -> None:
        n, plan = len(rows), self.plan
        gains = np.zeros(0) if plan.schedule is None else plan.schedule.gains(self.steps, n)
        overlaps = NOT_RECORDED
        if self._recorder is not None:
            overlaps = self._recorder.overlaps(self.steps, n, self.mean)
        steps = RowSteps(
            self.steps,
            weights,
            gains,
            1.0 - plan.forgetting,
            self._numbers(self.steps, n),
            self._ground(),
            overlaps,
        )
        seen = Seen(np.empty(n, np.int64), np.empty(n))
        centred = np.subtract(rows, self.mean, dtype=np.float64, order="C")
        self.rule.advance(self.them, centred, steps, seen, self._size)
        self.steps += n
        self._met(centred, weights, seen)
        if self._recorder is not None:
            self._recorder.took(overlaps, self.steps)

    def _met(self, rows: Float64s, weights: Float64s, seen: Seen) -> None:
        """Note what rows met when they came."""
        # Row by row, as cumsum adds: a sum of another order would depend on the chunks.
        self.error = float(np.cumsum(np.append(self.error, weights * seen.errors))[-1])
        self.weight = float(np.cumsum(np.append(self.weight, weights))[-1])

    def again(self) -> None:
        """Learn what waits, so that another pass over the rows may follow."""
        if not self._begun and self._kept:
            self._begin()
        self._learn_kept()

    # ---- reading ---------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """The number of rows that wait for their block, or for the first rows to be complete."""
        return sum(map(len, self._kept))

    @property
    def n_steps(self) -> int:
        """The number of rows that have been learned or wait."""
        return self.steps + self.waiting

    def ahead(self) -> Self:
        """Return this learner, or where rows wait, a copy that has learned them."""
        if not self._kept:
            return self
        other = self.copy()
        other.again()
        return other

    @property
    def vectors(self) -> Float64s:
        """The prototypes there are, one a row."""
        return np.asarray(self.them.vectors[: self.alive] + self.mean)

    @property
    def recorded(self) -> tuple[Any, Float64s, Float64s] | None:
        """The steps at which overlaps were recorded, those with directions, and of prototypes."""
        return None if self._recorder is None else self._recorder.kept()

    @property
    def alive(self) -> int:
        """How many prototypes there are."""
        return int(self.them.alive[0])

    # ---- copying and saving ----------------------------------------------------------------

    def copy(self) -> Self:
        """Return an independent copy."""
        other = type(self)(self.plan, self.n_features)
        other.restore(self.state())
        return other

    def state(self) -> State:
        """Return all that has been learned as a flat dict of arrays and numbers."""
        kept, weights = self._waiting()
        state = {
            "n_features": self.n_features,
            "steps": self.steps,
            "error": self.error,
            "weight": self.weight,
            "begun": self._begun,
            "mean": self.mean.copy(),
            "kept": kept,
            "kept_weights": weights,
            **self.them.copy()._asdict(),
        }
        return state if self._recorder is None else state | self._recorder.state()

    def restore(self, state: State) -> None:
        """Take over what ``state`` gave, into a learner made with the same plan."""
        self.steps, self.error = int(state["steps"]), float(state["error"])
        self.weight, self._begun = float(state["weight"]), bool(state["begun"])
        self.mean = np.array(state["mean"], np.float64)
        kinds = {"latest": np.int64, "alive": np.int64}
        self.them = Competitors(
            *(np.array(state[k], kinds.get(k, np.float64)) for k in Competitors._fields)
        )
        if self.them.vectors.shape != (self.plan.n_prototypes, self.n_features):
            raise ValueError(
                f"{len(self.them.vectors)} prototypes of {self.them.vectors.shape[1]} features "
                f"are not the {self.plan.n_prototypes} of {self.n_features} that were asked for"
            )
        if not 0 <= self.alive <= self.plan.n_prototypes:
            raise ValueError(f"{self.alive} of {self.plan.n_prototypes} prototypes are none")
        self._kept, self._kept_weights = [], []
        self._keep(state["kept"], state["kept_weights"])
        if self._recorder is not None:
            self._recorder.restore(state, self.vectors)
