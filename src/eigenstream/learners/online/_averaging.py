"""One subspace from the many that a rule passes through, and what is known of its worth."""

from typing import Any

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream.rules import BlockEngine

__all__ = ["ProjectorAverage", "RunningAnswer", "RunningMean"]

#: Powers of the clock that weigh the terms in running estimates: of V^T T V, whose early terms saw
#: another V, and of how the average and the last frame compare, which is about the present.
RECENT, PRESENT = 3.0, 12.0

#: The last frame is the answer where the average has a negative value and it is better by more than
#: this share of that.
MARGIN = 0.25

#: Directions of an average that have less than this share of the most are rounding.
LEAST = 1e-8


class ProjectorAverage:
    """The top of P = sum_s w_s V_s^T V_s / sum_s w_s, a weighted average of projectors.

    ``add(V, share)`` makes P into (1 - share) P + share V^T V, and cuts it back to the ``rank``
    directions it has most of: so it is exact while the frames together span no more, and in the
    long run loses what has been in few of them. No choice of bases enters.

    >>> average = ProjectorAverage(2, width=2)
    >>> for frame, share in (([[1.0, 0.0]], 1.0), ([[0.6, 0.8]], 0.5)):
    ...     products = average.add(np.array(frame), share)
    >>> average.values.round(3), np.abs(average.vectors[0]).round(3)
    (array([0.8, 0.2]), array([0.894, 0.447]))
    """

    def __init__(self, rank: int, width: int) -> None:
        self.rank = rank
        self.values = np.zeros(0)
        self.vectors = np.zeros((0, width))

    def add(self, frame: Any, share: float) -> Float64s:
        """Give a frame of orthonormal rows its share, and the past what is left.

        Return the inner products of the new vectors with the old ones.
        """
        k, past = len(self.values), np.sqrt((1.0 - share) * self.values)
        cross = self.vectors @ frame.T
        # The inner products of [sqrt((1 - share) values) vectors, sqrt(share) frame].
        gram = np.diag(np.concatenate([past**2, np.zeros(len(frame))]))
        gram[k:, :k] = np.sqrt(share) * (past[:, None] * cross).T
        gram[k:, k:] = share * (frame @ frame.T)
        values, turn = np.linalg.eigh(gram)
        kept = values > LEAST * values[-1]
        kept[: -self.rank] = False
        self.values = values[kept][::-1].copy()
        turn = turn[:, kept][:, ::-1].T / np.sqrt(self.values)[:, None]
        old, new = turn[:, :k] * past, turn[:, k:] * np.sqrt(share)
        self.vectors = old @ self.vectors + new @ frame
        return np.asarray(old + new @ cross.T)


class RunningAnswer:
    """From the frames V_t of an orthonormal rule, with more rows than d, to one of d rows.

    At each collection, the terms since the last one are added to a running estimate of V^T T V, and
    the d directions of V that have most of it to a ``ProjectorAverage``. Its top d rows are the
    engine's watched vectors: how they respond to the terms that follow says what they are worth,
    as it does for the last frame. Weights are powers of a clock that shows the sum of the rewarded
    |u|^2: the number of steps, where the data keep their scale, and where they do not, it goes as
    T itself does. The past loses ``1 - keep`` a step at least.
    """

    def __init__(self, d: int, power: float | None, keep: float) -> None:
        self.d, self.power, self.keep = d, power, keep  # no average without a power
        self.steps = 0  # at the last collection
        self.clock = self.shown = 0.0  # what it shows, and the engine's sum at that moment
        self.weight = 0.0
        self.moment = self.seen = self.top = np.zeros((0, 0))
        self.values = np.zeros(2)  # of the average and of the last frame, at present
        self.average: ProjectorAverage | None = None

    def collect(self, engine: BlockEngine) -> None:
        """Take in what the engine has learned since the last time."""
        power, steps = float(engine.sums[0]), int(engine.sums[3])
        if steps == self.steps:
            return
        keep = self.keep ** (steps - self.steps)
        gone = max(power - keep * self.shown, 0.0)
        past = self.clock / (self.clock + gone) if self.clock > 0.0 else 0.0
        self.steps, self.shown, self.clock = steps, power, self.clock + gone
        moment, seen, weight = engine.collect()
        if len(self.top):
            last = np.trace(self.top.T @ moment @ self.top)
            self.values = min(past**PRESENT, keep) * self.values + [np.trace(seen), last]
        if len(self.moment):
            recent = min(past**RECENT, keep)
            moment, seen = moment + recent * self.moment, seen + recent * self.seen
            weight += recent * self.weight
        self.moment, self.seen, self.weight = moment, seen, weight
        if self.power is not None:
            self.top = np.linalg.eigh(moment)[1][:, : -self.d - 1 : -1]
            self._average(engine, max(1.0 - past ** (self.power + 1.0), 1.0 - keep))

    def _average(self, engine: BlockEngine, share: float) -> None:
        """Give the last frame its share, and watch the new average."""
        d, frame = self.d, self.last(engine)
        if self.average is None:
            self.average = ProjectorAverage(self.d + min(self.d, 5), frame.shape[1])
        if share == 0.0:
            return
        turn = self.average.add(frame, share)[:d, :d]
        engine.watched[...] = self.average.vectors[:d]
        if len(turn.T) == d:
            # What the old average was seen to capture, turned as it turned: the nearest rotation,
            # by a Newton step, is nearer than its angle cubed.
            turn = 1.5 * turn - 0.5 * turn @ turn.T @ turn
            self.seen = turn @ self.seen @ turn.T
        else:  # nothing was averaged before
            turn = engine.watched @ frame.T @ self.top.T
            self.seen = turn @ self.moment @ turn.T

    def last(self, engine: BlockEngine) -> Float64s:
        """Return the d directions of the last frame that have most of V^T T V, one a row."""
        return np.asarray(engine.combined(self.top.T), np.float64)

    @property
    def lags(self) -> bool:
        """Whether the average is worse than nothing yet and the last frame better: the answer.

        Rows near each other in time flatter the last frame, so it takes that much to be believed.
        """
        average, last = map(float, self.values)
        return average < 0.0 and last - average > MARGIN * -average

    def vectors(self, engine: BlockEngine) -> Any:
        """Return the answer, one direction a row."""
        if self.power is None:
            return engine.weights
        return self.last(engine) if self.lags else engine.watched

    def estimate(self) -> Float64s:
        """Return the running estimate of V^T T V for the rows V of the answer."""
        if self.weight == 0.0:
            return np.zeros((self.d, self.d))
        if self.power is None:
            return self.moment / self.weight
        moment = self.top.T @ self.moment @ self.top if self.lags else self.seen
        return np.asarray(moment / self.weight)

    def state(self) -> dict[str, Any]:
        """Return all of it as arrays."""
        average = self.average or ProjectorAverage(0, 0)
        return {
            "answer_numbers": np.array([self.steps, self.clock, self.shown, self.weight]),
            "answer_moment": self.moment.copy(),
            "answer_seen": self.seen.copy(),
            "answer_top": self.top.copy(),
            "answer_values": self.values.copy(),
            "average_values": average.values.copy(),
            "average_vectors": average.vectors.copy(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what ``state`` gave."""
        steps, self.clock, self.shown, self.weight = map(float, state["answer_numbers"])
        self.steps = int(steps)
        self.moment = np.array(state["answer_moment"], np.float64)
        self.seen = np.array(state["answer_seen"], np.float64)
        self.top = np.array(state["answer_top"], np.float64)
        self.values = np.array(state["answer_values"], np.float64)
        self.average = None
        if len(state["average_values"]):
            vectors = np.array(state["average_vectors"], np.float64)
            self.average = ProjectorAverage(self.d + min(self.d, 5), vectors.shape[1])
            self.average.values = np.array(state["average_values"], np.float64)
            self.average.vectors = vectors


class RunningMean:
    """The mean of the weights that a rule passes through which keeps no frame, weighed t^power."""

    lags = False

    def __init__(self, power: float | None, keep: float) -> None:
        self.power, self.keep = power, keep
        self.steps = 0

    def collect(self, engine: BlockEngine) -> None:
        """Take in the weights after the steps since the last time."""
        steps = int(engine.sums[3])
        if self.power is not None and steps > self.steps:
            share = 1.0 - (self.steps / steps) ** (self.power + 1.0)
            share = max(share, 1.0 - self.keep ** (steps - self.steps))
            watched = engine.watched
            watched += watched.dtype.type(share) * (engine.weights - watched)
            if engine.rule.norms:
                watched /= np.linalg.norm(watched, axis=1, keepdims=True)
        self.steps = steps

    def vectors(self, engine: BlockEngine) -> Any:
        """Return the mean, or the weights themselves where nothing is averaged."""
        return engine.weights if self.power is None else engine.watched

    def state(self) -> dict[str, Any]:
        """Return all of it as arrays."""
        return {"answer_steps": np.array(self.steps)}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what ``state`` gave."""
        self.steps = int(state["answer_steps"])
