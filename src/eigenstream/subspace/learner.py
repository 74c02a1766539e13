"""The learner: cuts rows into blocks, makes terms of them, and adds the terms up."""

from copy import copy, deepcopy
from typing import Any

import numpy as np

from eigenstream._storable import storable
from eigenstream.subspace.chunks import Chunk, joined
from eigenstream.subspace.sample import Sample
from eigenstream.subspace.terms import NOTHING, Parts, Terms

#: Values in a block: 8 MB, so that its differences stay in the cache.
BLOCK_VALUES = 1 << 20


def rows_in_cache(n_features: int) -> int:
    """Return how many rows make a block of exact sums."""
    return int(np.clip(BLOCK_VALUES // max(n_features, 1), 256, 8192))


@storable(
    n_features="int=W",
    terms="Terms",
    sums="any",
    block_rows="int | None",
    sample="Sample | PairSample | None",
    forgetting="number",
    waiting="list[Chunk]",
    n_waiting="int",
    further="Learner | None",
)
class Learner:
    """The same for every kind of data and for every solver.

    With ``block_rows`` blocks are counted from the first row, and rows wait until their block is
    whole. So any chunking gives the same blocks. Exact sums (``block_rows=None``) wait for nothing.
    """

    def __init__(
        self,
        terms: Terms,
        sums: Any,
        *,
        block_rows: int | None = None,
        sample: Sample | None = None,
        forgetting: float = 0.0,
    ) -> None:
        self.n_features = terms.n_features
        self.terms, self.sums, self.block_rows = terms, sums, block_rows
        #: Rows that weights are tried on and errors are counted on.
        self.sample = sample
        self.forgetting = forgetting
        self.waiting: list[Chunk] = []
        self.n_waiting = 0
        #: What learns in a further pass over the same rows.
        self.further: Learner | None = None

    def add(self, chunk: Chunk) -> None:
        """Learn from checked rows that follow the rows seen so far."""
        if len(chunk) == 0:
            return
        if self.sample is not None:
            self.sample.add(chunk)
        if self.block_rows is None:
            step = len(chunk) if chunk.pairs is not None else rows_in_cache(self.terms.n_features)
            for first in range(0, len(chunk), step):
                self._learn(chunk if step >= len(chunk) else chunk[first : first + step])
            return
        if self.n_waiting + len(chunk) < self.block_rows:
            self._wait(chunk)
            return
        whole, size = joined([*self.waiting, chunk]), self.block_rows
        self.waiting, self.n_waiting = [], 0
        complete = len(whole) // size * size
        for first in range(0, complete, size):
            block = whole[first : first + size]
            self._learn(block if block.pairs is None else block.kept())
        if complete < len(whole):
            self._wait(whole[complete:])

    def repeat(self) -> "Learner":
        """Return the learner of a further pass: one that has begun, or a new one."""
        if self.further is None:
            self._finish()
            self.further = copy(self)
            self.further.terms, self.further.sample = self.terms.settled(), None
            self.further.waiting = []
            self.further.sums = self.sums.again(self.terms)
        return self.further

    def adopt(self) -> None:
        """Replace the sums by those of the further pass, which is complete."""
        assert self.further is not None
        self.further._finish()
        self.sums, self.further = self.further.sums, None

    def merge(self, later: "Learner", *, new_sequence: bool = False) -> "Learner":
        """Return a learner of these rows and then the later ones; neither is changed.

        The sums are added, and the terms across the border: velocities, and steps between means.
        """
        merged, later = self.ahead(copied=True), later.ahead()
        crossing = merged.terms.join(later.terms, new_sequence=new_sequence)
        merged.sums.merge(later.sums)
        merged.sums.add(crossing, merged.terms)
        if merged.sample is not None and later.sample is not None:
            merged.sample.merge(later.sample)
        return merged

    def ahead(self, *, copied: bool = False) -> "Learner":
        """Return a learner that has learned the waiting rows: a copy where there are any."""
        if not self.waiting and not copied:
            return self
        ready = copy(self)
        ready.terms, ready.sums, ready.sample = deepcopy((self.terms, self.sums, self.sample))
        ready.further = None
        ready._finish()
        return ready

    def operator(self, held: Parts = NOTHING) -> Any:
        """Return A and B, without the parts held out."""
        ready = self.ahead()
        return ready.sums.operator(ready.terms, held)

    @property
    def stopped(self) -> bool:
        """Whether a hook has ended the last call."""
        return False

    @property
    def n_rows(self) -> int:
        """The number of rows, or pairs, seen."""
        return self.terms.n_rows + self.n_waiting

    def _wait(self, chunk: Chunk) -> None:
        self.waiting.append(chunk.kept())
        self.n_waiting += len(chunk)

    def _finish(self) -> None:
        """Learn the waiting rows."""
        waiting, self.waiting, self.n_waiting = self.waiting, [], 0
        if waiting:
            self._learn(joined(waiting))

    def _learn(self, block: Chunk) -> None:
        if self.forgetting:
            keep = 1.0 - self.forgetting
            block = block.faded(keep)
            self.terms.forget(keep ** len(block))
            self.sums.forget(keep ** len(block))
        self.sums.add(self.terms.take(block), self.terms)
