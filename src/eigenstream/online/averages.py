"""One answer from the many weights that a rule passes through."""

from typing import Any

import numpy as np

from eigenstream.core.linalg import Float64s, Floats, newton_schulz
from eigenstream.core.storable import storable

#: Powers of the clock that weigh the terms in running estimates. RECENT is for V^T T V, whose early
#: terms saw another V. PRESENT is for the comparison of the average with the last frame.
RECENT, PRESENT = 3.0, 12.0

#: The last frame is the answer where the average has a negative value and the last frame is better
#: by more than this share of that value.
MARGIN = 0.25

#: Directions of an average with less than this share of the largest weight are rounding.
LEAST = 1e-8


class ProjectorAverage:
    """The top of P = sum_s w_s V_s^T V_s / sum_s w_s, a weighted average of projectors.

    ``add(V, share)`` makes P into (1 - share) P + share V^T V and keeps the ``rank`` directions
    with the largest weights. This is exact while the frames together span no more.

    >>> average = ProjectorAverage(2, np.zeros(0), np.zeros((0, 2)))
    >>> for frame, share in (([[1.0, 0.0]], 1.0), ([[0.6, 0.8]], 0.5)):
    ...     products = average.add(np.array(frame), share)
    >>> average.values.round(3), np.abs(average.vectors[0]).round(3)
    (array([0.8, 0.2]), array([0.894, 0.447]))
    """

    def __init__(self, rank: int, values: Float64s, vectors: Float64s) -> None:
        self.rank, self.values, self.vectors = rank, values, vectors

    def add(self, frame: Floats, share: float) -> Float64s:
        """Give a frame of orthonormal rows its share, and the past the remaining share.

        Return the inner products of the new vectors with the old ones.
        """
        k, past = len(self.values), np.sqrt((1.0 - share) * self.values)
        cross = self.vectors @ frame.T
        # The inner products of [sqrt((1 - share) values) vectors, sqrt(share) frame].
        gram = np.diag(np.concatenate([past**2, np.zeros(len(frame))]))
        gram[k:, :k] = np.sqrt(share) * (past[:, None] * cross).T
        gram[k:, k:] = share * (frame @ frame.T)
        values, turn = np.linalg.eigh(gram)
        large = values > LEAST * values[-1]
        large[: -self.rank] = False
        self.values = values[large][::-1].copy()
        turn = turn[:, large][:, ::-1].T / np.sqrt(self.values)[:, None]
        old, new = turn[:, :k] * past, turn[:, k:] * np.sqrt(share)
        self.vectors = old @ self.vectors + new @ frame
        return np.asarray(old + new @ cross.T)


#: The size d, C for the frames' rows and W for their columns. Some arrays are empty at first.
@storable(
    d="int=d",
    power="number | None",
    keep="number",
    steps="int",
    clock="number",
    shown="number",
    weight="number",
    fresh_weight="number",
    moment="f8 C C | f8 0 0",
    top="f8 C d | f8 0 0",
    values="f8 2",
    watched="f8 w W | f8 0 0",
    seen="f8 w w | f8 0 0",
    fresh_seen="f8 w w",
    average_values="f8 a",
    average_vectors="f8 a W | f8 0 0",
)
class RunningAnswer:
    """From the frames V_t of an orthonormal rule, with more rows than d, to one of d rows.

    A collection adds the terms since the last one to a running estimate of V^T T V. It adds the d
    directions of V with the largest share of it to a ``ProjectorAverage``, whose top d rows are
    ``watched``: their responses to later terms estimate their objective. Weights are powers
    of a clock that shows the sum of the rewarded |u|^2. The past loses ``1 - keep`` a step or more.
    """

    def __init__(self, d: int, power: float | None, keep: float) -> None:
        self.d, self.power, self.keep = d, power, keep  # no average without a power
        self.steps = 0  # at the last collection
        self.clock = self.shown = 0.0  # the clock, and the learner's sum at the last collection
        self.weight = self.fresh_weight = 0.0
        self.moment = self.seen = self.fresh_seen = self.top = np.zeros((0, 0))
        self.values = np.zeros(2)  # of the average and of the last frame, at present
        self.watched = self.average_vectors = np.zeros((0, 0))
        self.average_values = np.zeros(0)

    def begin(self, start: Any) -> None:
        """Take over the first of the start vectors."""
        self.watched = start[: 0 if self.power is None else self.d].copy()
        self.average_vectors = np.zeros((0, start.shape[1]))
        self.fresh_seen = np.zeros((len(self.watched),) * 2)

    def see(self, moment: Float64s, weight: float, past: float) -> None:
        """Add the sums of c y y' over the watched responses of fresh terms, and their weight."""
        self.fresh_seen = past * self.fresh_seen + moment
        self.fresh_weight = past * self.fresh_weight + weight

    def collect(self, learner: Any) -> None:
        """Take in what was learned since the last time."""
        power, steps = float(learner.sums[0]), learner.steps
        if steps == self.steps:
            return
        keep = self.keep ** (steps - self.steps)
        gone = max(power - keep * self.shown, 0.0)
        past = self.clock / (self.clock + gone) if self.clock > 0.0 else 0.0
        self.steps, self.shown, self.clock = steps, power, self.clock + gone
        moment, seen, weight = learner.moment, self.fresh_seen, self.fresh_weight
        learner.moment, self.fresh_seen = np.zeros_like(moment), np.zeros_like(seen)
        self.fresh_weight = 0.0
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
            self._average(learner, max(1.0 - past ** (self.power + 1.0), 1.0 - keep))

    def _average(self, learner: Any, share: float) -> None:
        """Give the last frame its share, and watch the new average."""
        d, frame = self.d, self.last(learner)
        if share == 0.0:
            return
        before = self.average_values, self.average_vectors
        average = ProjectorAverage(d + min(d, 5), *before)
        turn = average.add(frame, share)[:d, :d]
        self.average_values, self.average_vectors = average.values, average.vectors
        self.watched[...] = average.vectors[:d]
        if len(turn.T) == d:
            # The old average's estimate, turned as the average turned: a Newton step towards the
            # nearest rotation, which is nearer than its angle cubed.
            turn = newton_schulz(turn)
            self.seen = turn @ self.seen @ turn.T
        else:  # nothing was averaged before
            turn = self.watched @ frame.T @ self.top.T
            self.seen = turn @ self.moment @ turn.T

    def last(self, learner: Any) -> Float64s:
        """Return the d directions of the last frame that have most of V^T T V, one a row."""
        return np.asarray(self.top.T @ learner.weights)

    @property
    def lags(self) -> bool:
        """The average is still worse than nothing, and the last frame is better.

        Rows near each other in time flatter the last frame, hence the margin.
        """
        average, last = map(float, self.values)
        return average < 0.0 and last - average > MARGIN * -average

    def vectors(self, learner: Any) -> Any:
        """Return the answer, one direction a row."""
        if self.power is None:
            return learner.weights
        return self.last(learner) if self.lags else self.watched

    def estimate(self) -> Float64s:
        """Return the running estimate of V^T T V for the rows V of the answer."""
        if self.weight == 0.0:
            return np.zeros((self.d, self.d))
        if self.power is None:
            return self.moment / self.weight
        moment = self.top.T @ self.moment @ self.top if self.lags else self.seen
        return np.asarray(moment / self.weight)
