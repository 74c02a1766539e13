"""Records of the overlaps of prototypes with directions and with each other, every n steps."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream._state import State
from eigenstream.rules.competitive import NOT_RECORDED, Overlaps

__all__ = ["Recorder"]

#: Overlaps that are followed are computed anew after so many steps for each prototype and
#: direction, so that rounding does not add up; that costs as much as one step in so many.
RENEWED = 128

#: What a pause of blocks for a record costs beside its multiplications, in these.
PAUSE = 2e5

#: To follow Q takes as long as so many multiplications of a product of matrices: for each prototype
#: where one moves, for each entry of Q where many do.
ROW, ENTRY = 300, 12


class Recorder:
    """Keeps R = J B^T and Q = J J^T every so many steps; B are ``directions``, or none.

    The steps follow both as prototypes move, or each record is computed, K (K + m) D
    multiplications: what is quicker. ``movers`` says how many prototypes a step moves.

    >>> found = Recorder(10, np.eye(1, 3), n_prototypes=2, n_features=3)
    >>> found.note(0, np.eye(2, 3))
    >>> found.kept()[1]
    array([[[1.],
            [0.]]])
    """

    def __init__(
        self,
        every: int,
        directions: Any,
        *,
        n_prototypes: int,
        n_features: int,
        movers: int = 1,
        block_size: int = 0,
    ) -> None:
        given = np.zeros((0, n_features)) if directions is None else directions
        self.every, self.directions = every, np.array(given, np.float64, order="C")
        K, m = n_prototypes, len(self.directions)
        following = every * ((m + 2) * n_features + min(ROW * movers, ENTRY * K) * K)
        computing = K * (K + m) * n_features + (PAUSE if block_size else 0)
        self.follows = following < computing
        #: Whether blocks end where a record is due.
        self.pauses = block_size > 0 and not self.follows
        self._Q, self._R = np.zeros((K, K)), np.zeros((K, m))
        self._diagonal = np.zeros(K)
        self.clear()

    def clear(self) -> None:
        """Forget all records."""
        self._kept: list[tuple[Any, Float64s, Float64s]] = []

    @property
    def ends(self) -> list[int]:
        """Return after how many steps, again and again, there is something to do."""
        if self.follows:
            return [RENEWED * (len(self._Q) + len(self.directions))]
        return [self.every] if self.pauses else []

    def renew(self, vectors: Float64s) -> None:
        """Compute the overlaps of the prototypes there are: steps that follow go on from these."""
        there = len(vectors)
        self._Q[...], self._R[...] = 0.0, 0.0
        np.matmul(vectors, vectors.T, out=self._Q[:there, :there])
        np.matmul(vectors, self.directions.T, out=self._R[:there])
        self._diagonal[...] = np.diagonal(self._Q)

    def note(self, step: int, vectors: Float64s) -> None:
        """Compute them, and keep them once all prototypes are there."""
        self.renew(vectors)
        if len(vectors) == len(self._Q):
            self._kept.append((np.array([step]), self._R[None].copy(), self._Q[None].copy()))

    def moved(self, step: int, vectors: Float64s) -> None:
        """Take note of prototypes that something else than a step has moved, after this step."""
        self.renew(vectors)
        if self._kept and self._kept[-1][0][-1] == step:
            _, R, Q = self._kept[-1]
            R[-1], Q[-1] = self._R, self._Q

    def due(self, step: int, learner: Any) -> None:
        """Do what is due after so many steps of a learner, whose ``vectors`` are a copy."""
        if any(step % every == 0 for every in self.ends):
            if self.follows:
                self.renew(learner.vectors)
            else:
                self.note(step, learner.vectors)

    # ---- within the steps ------------------------------------------------------------------

    def overlaps(self, first: int, n: int, mean: Float64s) -> Overlaps:
        """Return what the next ``n`` steps change and keep."""
        if self.pauses:
            return NOT_RECORDED
        most = (first + n) // self.every - first // self.every
        now = self._Q, self._R, self._diagonal
        # One block of memory: a stack of transposes would lie the other way round.
        directions = np.ascontiguousarray(np.vstack([self.directions, mean]))
        return Overlaps.room(self.every, self.follows, now, directions, most)

    def took(self, overlaps: Overlaps, last: int) -> None:
        """Keep what steps up to the ``last`` have recorded."""
        n = int(overlaps.count[0])
        if n:
            steps = self.every * np.arange(last // self.every - n + 1, last // self.every + 1)
            self._kept.append((steps, overlaps.kept_R[:n], overlaps.kept_Q[:n]))

    # ---- reading and saving ----------------------------------------------------------------

    def kept(self) -> tuple[Any, Float64s, Float64s] | None:
        """Return the steps of all records, R and Q; None where there are none."""
        if not self._kept:
            return None
        steps, R, Q = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        self._kept = [(steps, R, Q)]
        return steps, R, Q

    def state(self) -> State:
        """Return all records as a flat dict of arrays."""
        found: State = {}
        if self.follows:
            found |= {"overlaps_R": self._R.copy(), "overlaps_Q": self._Q.copy()}
        kept = self.kept()
        if kept is not None:
            found |= dict(zip(("recorded", "recorded_R", "recorded_Q"), kept, strict=True))
        return found

    def restore(self, state: Mapping[str, Any], vectors: Float64s) -> None:
        """Take over what ``state`` gave; a file of before overlaps were followed lacks these."""
        self.clear()
        if "recorded" in state:
            names = ("recorded", "recorded_R", "recorded_Q")
            steps, R, Q = (np.array(state[name]) for name in names)
            self._kept.append((steps, R, Q))
        self.renew(vectors)
        if self.follows and "overlaps_Q" in state:
            for name, mine in (("overlaps_R", self._R), ("overlaps_Q", self._Q)):
                found = np.array(state[name], np.float64)
                if found.shape != mine.shape:
                    raise ValueError(f"{name} of shape {found.shape} is none of {mine.shape}")
                mine[...] = found
            self._diagonal[...] = np.diagonal(self._Q)
