"""The learner, which cuts rows into blocks and adds their terms."""

from collections.abc import Iterator
from contextlib import nullcontext
from copy import copy, deepcopy
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from scipy.linalg import qr

from eigenstream._checks import is_sparse
from eigenstream._linalg import Float64s, deviations_of, rounding_of_mean
from eigenstream._machine import blas_threads
from eigenstream._namespaces import DeviceArray
from eigenstream._storable import storable
from eigenstream.rows.chunk import Chunk, joined
from eigenstream.rows.fit import Fit
from eigenstream.subspace.sums.base import Sums
from eigenstream.subspace.sums.block import Block
from eigenstream.subspace.sums.terms import NOTHING, Parts, Terms

if TYPE_CHECKING:
    from eigenstream.subspace.pairs.sample import Sample

#: The number of values in a block (8 MB). Larger blocks do not fit in the cache.
BLOCK_VALUES = 1 << 20

#: The number of columns up to which BLAS uses one thread. Threads that share a narrow product wait
#: for each other on a busy machine.
NARROW = 64


def rows_in_cache(n_features: int) -> int:
    """Return the number of rows in a block of exact sums."""
    return int(np.clip(BLOCK_VALUES // max(n_features, 1), 256, 8192))


@storable()
class Watcher:
    """Base of the watchers. An estimator attaches them to its learner in ``_watchers``.

    The sums and the terms do not depend on them: without watchers a fit has the same answer.
    """

    #: False if blocks of pairs say nothing, because their rows are not consecutive.
    pairs = True

    def see(self, block: Block, sums: Any) -> None:
        """Note what matters of a block of terms, which the sums contain by now."""

    def merged(self, later: Self, crossing: Block, sums: Any) -> Self:
        """Return the watcher of these rows and of later ones.

        The block ``crossing`` has the terms between both. The sums contain all rows.
        """
        return self

    def warnings(self, model: Any, learner: "Learner", fit: Fit | None) -> Iterator[str]:
        """Yield the warnings of a fit, None for fits of several models."""
        yield from ()


KindOfWatcher = TypeVar("KindOfWatcher", bound=Watcher)


@storable(
    n_features="int=W",
    terms="Terms",
    sums="any",
    block_rows="int | None",
    first_rows="int?",
    sample="Sample | PairSample | None",
    forgetting="number",
    waiting="list[Chunk]",
    n_waiting="int",
    further="Learner | None",
    watchers="dict[Watcher]",
    home="-",
)
class Learner:
    """Learner for every kind of data and every solver.

    With ``block_rows``, rows are buffered until a block is complete, so the blocks do not depend on
    the chunking. With ``first_rows``, only the first block has to be complete. Exact sums need no
    buffer.
    """

    #: The number of rows of positive weight that the sums still need before they start.
    first_rows: int = 0
    #: An array on the device of the last rows, or None for rows on the host.
    home: DeviceArray | None = None

    def __init__(
        self,
        terms: Terms,
        sums: Sums,
        *,
        block_rows: int | None = None,
        first_rows: int = 0,
        sample: "Sample | None" = None,
        forgetting: float = 0.0,
    ) -> None:
        self.n_features = terms.n_features
        self.terms, self.block_rows = terms, block_rows
        #: ``Sums``, with the further methods of the solver's abilities.
        self.sums: Any = sums
        self.first_rows = first_rows
        #: The sample on which weights are compared and errors are counted.
        self.sample = sample
        self.forgetting = forgetting
        self.waiting: list[Chunk] = []
        self.n_waiting = 0
        #: The learner of a further pass over the same rows.
        self.further: Learner | None = None
        #: What sees each block beside the sums, by name.
        self.watchers: dict[str, Watcher] = {}

    def watcher(self, kind: type[KindOfWatcher]) -> KindOfWatcher:
        """Return the attached watcher of a class."""
        for each in self.watchers.values():
            if isinstance(each, kind):
                return each
        raise ValueError("A bound needs rows, and the fit was to covariances. Fit to rows.")

    def add(self, chunk: Chunk) -> None:
        """Learn from checked rows that follow the rows seen so far."""
        if (n := chunk.n) == 0:
            return
        away = isinstance(chunk.rows, DeviceArray)
        self.home = chunk.rows.empty() if away else None
        if self.sample is not None:
            self.sample.add(chunk)
        if self.waiting and (self.waiting[0].pairs is None) != (chunk.pairs is None):
            self._finish()
        if self.first_rows:
            heavy = np.flatnonzero(chunk.each_weight() > 0.0)
            if len(heavy) < self.first_rows:
                self.first_rows -= len(heavy)
                self._wait(chunk)
                return
            first = int(heavy[self.first_rows - 1]) + 1
            self._wait(chunk[:first])
            self._finish()
            chunk = chunk[first:]
            if self.stopped or not (n := chunk.n):
                return
        if self.block_rows is None:
            whole_chunk = chunk.pairs is not None or (away and chunk.rows.has_float64)
            whole_chunk |= self.sums.sparse and is_sparse(chunk.rows)
            step = n if whole_chunk else rows_in_cache(self.terms.n_features)
            for first in range(0, n, step):
                self._learn(chunk[first : first + step])
                if self.stopped:
                    break
            return
        if not self.terms.in_time:  # rows of weight 0 have no terms
            self.terms.n_rows += chunk.n
            chunk = chunk.heavy()
            self.terms.n_rows -= chunk.n
        if self.n_waiting + chunk.n < self.block_rows:
            self._wait(chunk)
            return
        whole, size = joined([*self.waiting, chunk]), self.block_rows
        self.waiting, self.n_waiting = [], 0
        complete = whole.n // size * size
        for first in range(0, complete, size):
            block = whole[first : first + size]
            self._learn(block if block.pairs is None else block.kept())
            if self.stopped:
                return
        if complete < whole.n:
            self._wait(whole[complete:])

    def repeat(self) -> "Learner":
        """Return the learner of a further pass, which a resumed fit may have begun."""
        if self.further is None:
            self._finish()
            self.further = copy(self)
            self.further.terms, self.further.sample = self.terms.settled(), None
            self.further.waiting, self.further.watchers = [], {}
            self.further.sums = self.sums.again(self.terms)
        return self.further

    def adopt(self) -> None:
        """Replace the sums by those of the completed further pass."""
        assert self.further is not None
        self.further._finish()
        self.sums, self.further = self.further.sums, None

    def merge(self, later: "Learner", *, new_sequence: bool = False) -> "Learner":
        """Return a learner of these rows and then the later ones; neither is changed.

        The result includes the terms across the border, which are velocities and steps between
        means.
        """
        return self.ahead(copied=True).absorb(later, new_sequence=new_sequence)

    def absorb(self, later: "Learner", *, new_sequence: bool = False) -> "Learner":
        """Merge a later learner in place, and return this one."""
        self._finish()
        later = later.ahead()
        crossing = self.terms.join(later.terms, new_sequence=new_sequence)
        # The terms across the border belong to the last sequence of these rows.
        self.sums.add(crossing, self.terms)
        self.sums.merge(later.sums)
        self.watchers = {
            name: watcher.merged(later.watchers[name], crossing, self.sums)
            for name, watcher in self.watchers.items()
            if name in later.watchers
        }
        self.home = later.home or self.home
        if self.sample is not None and later.sample is not None:
            self.sample.merge(later.sample)
        return self

    def ahead(self, *, copied: bool = False) -> "Learner":
        """Return a learner that has learned the pending rows, as a copy if there are any."""
        if not self.waiting and not copied:
            return self
        ready = copy(self)
        parts = self.terms, self.sums.silent(), self.sample, self.watchers
        ready.terms, ready.sums, ready.sample, ready.watchers = deepcopy(parts)
        ready.further = None
        ready._finish()
        return ready

    def operator(self, held_out: Parts = NOTHING) -> Any:
        """Return A and B, without the held-out parts."""
        ready = self.ahead()
        return ready.sums.operator(ready.terms, held_out)

    def estimated_share(self) -> float | None:
        """Return the estimated share of the optimum of a sketch, or None if there is none."""
        ready = self.ahead()
        share: float | None = ready.sums.estimated_share(ready.terms)
        return share

    def missed(self) -> float | None:
        """Return the estimated error of a sketch after a pass, or None."""
        ready = self.ahead()
        error: float | None = ready.sums.missed(ready.terms)
        return error

    def thin_operator(self, n_components: int = 1, scale: Float64s | None = None) -> Any:
        """Return A and B, in the span of the terms if there are fewer terms than features.

        Exact sums of few rows are stored as vectors, and need no D x D matrix. With ``scale``, they
        are those of the features divided by it.
        """
        ready = self.ahead()
        inside, basis = ready.in_row_span(scale)
        if basis is not None and basis.shape[1] >= n_components:
            operator = inside.sums.operator(inside.terms)
            operator.basis, operator.whole = basis.T, True
            if scale is not None:
                operator.floor = rounding_of_mean(ready.mean / scale)
            return operator
        operator = ready.sums.operator(ready.terms)
        return operator if scale is None else operator.scaled(scale, ready.mean)

    def deviations(self, constant: float = 1.0) -> Float64s:
        """Return the standard deviations of the features, and another value for constant ones."""
        ready = self.ahead()
        variances: Float64s | None = ready.sums.variances(ready.terms)
        if variances is None:
            variances = ready.sums.operator(ready.terms).variances()
        return deviations_of(variances, ready.mean, constant)

    def in_row_span(self, scale: Float64s | None = None) -> tuple["Learner", Float64s | None]:
        """Return the learner in coordinates along a basis, if there are fewer rows than features.

        The basis is returned as orthonormal columns. It is None unless the sums are exact. With
        ``scale``, the basis is one of the features divided by it.
        """
        vectors = self.sums.few_terms(self.terms)
        if vectors is None:
            return self, None
        unit = 1.0 if scale is None else scale[:, None]
        basis = qr(vectors.T / unit, mode="economic", overwrite_a=True, check_finite=False)[0]
        inside, columns = copy(self), basis / unit
        inside.terms, inside.sums = self.terms.along(columns), self.sums.along(columns)
        inside.sample, inside.watchers = None, {}
        return inside, basis

    @property
    def stopped(self) -> bool:
        """True if a hook has stopped the last call."""
        return bool(self.sums.stopped)

    @property
    def mean(self) -> Float64s:
        """The mean of the rows: that of the sums, if they have their own."""
        mean: Float64s = self.sums.mean if self.sums.has_mean else self.terms.mean
        return mean

    @property
    def n_rows(self) -> int:
        """The number of rows or pairs seen."""
        return self.terms.n_rows + self.n_waiting

    def _wait(self, chunk: Chunk) -> None:
        self.waiting.append(chunk.kept())
        self.n_waiting += chunk.n

    def _finish(self) -> None:
        """Learn the pending rows."""
        self.first_rows = 0
        waiting, self.waiting, self.n_waiting = self.waiting, [], 0
        if waiting:
            self._learn(joined(waiting))

    def _learn(self, block: Chunk) -> None:
        if self.forgetting:
            keep = 1.0 - self.forgetting
            block = block.faded(keep)
            self.terms.forget(keep**block.n)
            self.sums.forget(keep**block.n)
        narrow = self.terms.n_features <= NARROW
        with blas_threads(1) if narrow else nullcontext():
            for part in block.sequences() if self.sums.by_sequence else [block]:
                terms = self.terms.take(part)
                self.sums.add(terms, self.terms)
                for watcher in self.watchers.values():
                    if watcher.pairs or part.pairs is None:
                        watcher.see(terms, self.sums)
