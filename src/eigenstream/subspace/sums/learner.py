"""The learner, which cuts rows into blocks and adds their terms."""

from collections.abc import Iterator
from contextlib import nullcontext
from copy import copy, deepcopy
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np

from eigenstream.core.linalg import (
    Float64s,
    blas_threads,
    deviations_of,
    rounding_of_mean,
    span_of_rows,
)
from eigenstream.core.storable import storable
from eigenstream.rows.chunk import Chunk, joined
from eigenstream.rows.fit import Fit
from eigenstream.subspace.sums.block import Block, Part
from eigenstream.subspace.sums.terms import NOTHING, Halves, Parts, Sums, Terms

if TYPE_CHECKING:
    from eigenstream.subspace.pairs.terms import Sample

#: The number of values in a block (8 MB). Larger blocks do not fit in the cache.
BLOCK_VALUES = 1 << 20

#: The number of columns up to which BLAS uses one thread for more rows. Threads that share a narrow
#: product wait for each other on a busy machine. Of fewer rows, BLAS shares none.
NARROW = 64


def rows_in_cache(n_features: int) -> int:
    """Return the number of rows in a block of exact sums."""
    return min(max(BLOCK_VALUES // max(n_features, 1), 256), 8192)


@storable(warned="bool?")
class Watcher:
    """Base of the watchers, which a ``Problem`` has and a learner calls.

    The sums and the terms do not depend on them: without watchers a fit has the same answer.
    """

    #: False if the watcher needs no blocks, and if it needs none of pairs.
    sees, pairs = True, True
    #: True if only the exact sums of all rows have what the warning needs.
    of_exact_sums = False
    #: True after a warning. A model warns once.
    warned = False

    def see(self, block: Block, learner: "Learner") -> None:
        """Note what matters of a block of terms, which the learner contains by now."""

    def merged(self, later: Self, crossing: Block, learner: "Learner") -> Self:
        """Return the watcher of these rows and of later ones.

        The block ``crossing`` has the terms between both. The learner contains all rows.
        """
        return self

    def warnings(self, model: Any, learner: "Learner", fit: Fit | None) -> Iterator[str]:
        """Yield the warnings of a fit, None for ``partial_fit`` and for fits of several models."""
        yield from ()


class TermSpan(NamedTuple):
    """The span of a few terms of rows that are divided by ``scale``.

    ``basis`` has orthonormal columns. ``coordinates`` are those of each array of terms along them,
    by its ``id``.
    """

    basis: Float64s
    scale: Float64s | None
    coordinates: dict[int, Float64s]


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
    next_pass="Learner | None",
    watchers="dict[Watcher]",
    halves="Halves | None?",
    joint="-",
    span="-",
)
class Learner:
    """Learner for every kind of data and every solver.

    With ``block_rows``, rows are buffered until a block is complete, so the blocks do not depend on
    the chunking. With ``first_rows``, only the first block has to be complete. Exact sums need no
    buffer.

    With ``halves``, the terms and the sums are those of one half of the rows. ``with_all_rows()``
    returns a learner of all rows.
    """

    #: The half of the rows that waits, and the learner of both halves.
    halves: Halves | None = None
    joint: "Learner | None" = None
    #: The span of the terms, if it was read. False if there are more terms than features.
    span: "TermSpan | bool | None" = None
    #: The number of rows of positive weight that the sums still need before they start.
    first_rows: int = 0

    def __getstate__(self) -> dict[str, object]:
        """Return what a copy or a pickle contains, without what is computed from the sums."""
        return {name: value for name, value in vars(self).items() if name not in ("joint", "span")}

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
        #: ``Terms``, or ``TimeTerms`` of halves.
        self.terms: Any = terms
        self.block_rows = block_rows
        #: ``Sums``, with the further methods of the solver's abilities.
        self.sums: Any = sums
        self.first_rows = first_rows
        #: The sample on which weights are compared and errors are counted.
        self.sample = sample
        self.forgetting = forgetting
        self.waiting: list[Chunk] = []
        self.n_waiting = 0
        #: The learner of a further pass over the same rows.
        self.next_pass: Learner | None = None
        #: What sees each block beside the sums, by name.
        self.watchers: dict[str, Watcher] = {}

    def _loaded(self) -> None:
        """Raise if the file asks sums to forget that cannot."""
        if self.forgetting and not (0.0 < self.forgetting < 1.0 and hasattr(self.sums, "forget")):
            raise ValueError(f"forgetting={self.forgetting:g} does not fit to the sums.")

    def watcher(self, name: str) -> Any:
        """Return an attached watcher."""
        if name not in self.watchers:
            raise ValueError("A bound needs rows, and the fit was to covariances. Fit to rows.")
        return self.watchers[name]

    def add(self, chunk: Chunk) -> None:
        """Learn from checked rows that follow the rows seen so far."""
        if (n := chunk.n) == 0:
            return
        if self.sample is not None:
            self.sample.add(chunk)
        if self.waiting and (self.waiting[0].pairs is None) != (chunk.pairs is None):
            self.finish()
        if self.first_rows:
            weighted = np.flatnonzero(chunk.each_weight() > 0.0)
            if len(weighted) < self.first_rows:
                self.first_rows -= len(weighted)
                self._wait(chunk)
                return
            first = int(weighted[self.first_rows - 1]) + 1
            self._wait(chunk[:first])
            self.finish()
            chunk = chunk[first:]
            if self.stopped or not (n := chunk.n):
                return
        if self.block_rows is None:
            in_cache = isinstance(chunk.rows, np.ndarray) or not self.sums.sparse
            cut = in_cache and chunk.pairs is None
            step = rows_in_cache(self.terms.n_features) if cut else n
            starts = range(0, n, step)
            for first in starts:
                self._learn(chunk if len(starts) == 1 else chunk[first : first + step])
                if self.sums.stopped:
                    break
            return
        if not self.terms.in_time:  # rows of weight 0 have no terms
            self.terms.n_rows += chunk.n
            chunk = chunk.of_positive_weight()
            self.terms.n_rows -= chunk.n
        if self.n_waiting + chunk.n < self.block_rows:
            self._wait(chunk)
            return
        rows, size = joined([*self.waiting, chunk]), self.block_rows
        self.waiting, self.n_waiting = [], 0
        complete = rows.n // size * size
        for first in range(0, complete, size):
            block = rows[first : first + size]
            self._learn(block if block.pairs is None else block.copied())
            if self.stopped:
                return
        if complete < rows.n:
            self._wait(rows[complete:])

    def repeat(self) -> "Learner":
        """Return the learner of a further pass, which a resumed fit may have begun."""
        if self.next_pass is None:
            self.finish()
            self.next_pass = copy(self)
            self.next_pass.terms, self.next_pass.sample = self.terms.with_final_means(), None
            self.next_pass.waiting, self.next_pass.watchers = [], {}
            self.next_pass.sums = self.sums.again(self.terms)
        return self.next_pass

    def adopt(self) -> None:
        """Replace the sums by those of the completed further pass."""
        assert self.next_pass is not None
        self.next_pass.finish()
        self.sums, self.next_pass = self.next_pass.sums, None

    def halve(self, *, alternating: bool = True) -> None:
        """Learn two halves of the rows from here, before any row.

        Without ``alternating`` all rows are in one half, and merging fills both.
        """
        sums = self.sums.copied()
        self.halves = Halves(self.terms.copied(), sums, alternating=alternating)

    def merge(self, later: "Learner", *, new_sequence: bool = False) -> "Learner":
        """Return a learner of these rows and then the later ones; neither is changed.

        The result includes the terms across the border, which are velocities and steps between
        means.
        """
        return self.copied().absorb(later, new_sequence=new_sequence)

    def absorb(self, later: "Learner", *, new_sequence: bool = False) -> "Learner":
        """Merge a later learner in place, and return this one."""
        self.finish()
        n_rows = self.n_rows
        if self.halves is not None and later.halves is not None:
            crossing = self._absorb_halves(later, new_sequence)
        else:
            self.terms, self.sums = self._merged_halves()
            self.halves = None
            later = later.with_all_rows()
            crossing = self._absorb_sums(later.terms, later.sums, new_sequence)
        # The terms across the border belong to the last sequence of these rows.
        crossing.first = n_rows
        self.joint = self.span = None
        watchers, self.watchers = self.watchers, {}
        for name, watcher in watchers.items():
            if (other := later.watchers.get(name)) is not None:
                merged = watcher.merged(other, crossing, self)
                merged.warned = watcher.warned or other.warned
                self.watchers[name] = merged
        if self.sample is not None and later.sample is not None:
            self.sample.merge(later.sample)
        return self

    def with_all_rows(self) -> "Learner":
        """Return a learner of all rows, also of those that wait or that are in another half."""
        if self.halves is None:
            return self.copied() if self.waiting else self
        if self.joint is None:
            self.joint = self._with(*self._merged_halves())
        return self.joint

    def copied(self) -> "Learner":
        """Return a copy that has learned the pending rows."""
        ready = copy(self)
        parts = self.terms, self.sums.silent(), self.halves, self.sample, self.watchers
        ready.terms, ready.sums, ready.halves, ready.sample, ready.watchers = deepcopy(parts)
        ready.next_pass = ready.joint = ready.span = None
        ready.finish()
        return ready

    def operator(self, held_out: Parts = NOTHING) -> Any:
        """Return A and B, without the held-out parts."""
        ready = self.with_all_rows()
        return ready.sums.operator(ready.terms, held_out)

    def missed(self) -> float | None:
        """Return the estimated error of a sketch after a pass, or None."""
        ready = self.with_all_rows()
        error: float | None = ready.sums.missed(ready.terms)
        return error

    def thin_operator(self, n_components: Any = 1, scale: Float64s | None = None) -> Any:
        """Return A and B, in the span of the terms if there are fewer terms than features.

        Exact sums of few rows are stored as vectors, and need no D x D matrix. With ``scale``, they
        are those of the features divided by it. The span has at least ``n_components`` columns, or
        one for each term if that is None.
        """
        ready = self.with_all_rows()
        least = ready.terms.n_terms if n_components is None else n_components
        n_least = max(int(least), 1) if isinstance(least, Integral) else 1
        return ready.operators_of([ready], scale, n_least)[0]

    def half_operators(self, scale: Float64s | None) -> list[Any]:
        """Return A and B of each half of the rows, along the span of all terms if these are few."""
        halves = self.each_half
        return self.with_all_rows().operators_of(halves, scale) if halves else []

    def operators_of(
        self, parts: list["Learner"], scale: Float64s | None, n_least: int = 1
    ) -> list[Any]:
        """Return A and B of learners of parts of the rows. No rows may wait."""
        span, operators = self.row_span(scale, n_least), []
        for part in parts:
            if span is None:
                operator = part.sums.operator(part.terms)
                operator = operator if scale is None else operator.scaled(scale, part.mean)
            else:
                inside = part.along(span)
                operator = inside.sums.operator(inside.terms)
                operator.basis, operator.zero_outside = span.basis.T, True
                if scale is not None:
                    operator.floor = rounding_of_mean(part.mean / scale)
            operators.append(operator)
        return operators

    def deviations(self, constant: float = 1.0) -> Float64s:
        """Return the standard deviations of the features, and another value for constant ones."""
        ready = self.with_all_rows()
        variances: Float64s | None = ready.sums.variances(ready.terms)
        if variances is None:
            variances = ready.sums.operator(ready.terms).variances()
        return deviations_of(variances, ready.mean, constant)

    def in_row_span(self) -> tuple["Learner", Float64s | None]:
        """Return the learner in coordinates along a basis, if there are fewer rows than features.

        The basis is returned as orthonormal columns. It is None unless the sums are exact.
        """
        span = self.row_span()
        return (self, None) if span is None else (self.along(span), span.basis)

    def row_span(self, scale: Float64s | None = None, n_least: int = 1) -> TermSpan | None:
        """Return the span of all terms, or None unless these are few vectors.

        With ``scale``, it is that of the features divided by it. It has at least ``n_least``
        columns. No rows may wait.
        """
        span: Any = self.span
        if span is False:
            return None
        same = span is not None and np.array_equal(span.scale, np.asarray(scale))
        if same and span.basis.shape[1] >= n_least:
            return cast(TermSpan, span)
        vectors = self.sums.few_terms(self.terms)
        if not vectors:
            self.span = False
            return None
        rows = np.concatenate(vectors)
        if scale is not None:
            rows /= scale
        basis, coordinates = span_of_rows(rows, n_least)
        edges = np.cumsum([len(array) for array in vectors])[:-1]
        parts = np.split(coordinates, edges)
        places = {id(array): part for array, part in zip(vectors, parts, strict=True)}
        self.span = TermSpan(basis, scale, places)
        return self.span

    def along(self, span: TermSpan) -> "Learner":
        """Return the learner in coordinates along a span."""
        columns = span.basis if span.scale is None else span.basis / span.scale[:, None]
        inside = self._with(self.terms.along(columns), self.sums.along(span.coordinates))
        inside.sample, inside.watchers = None, {}
        return inside

    def _with(self, terms: Any, sums: Any) -> "Learner":
        """Return a learner with other terms and sums, which has no halves."""
        other = object.__new__(Learner)
        vars(other).update(vars(self), terms=terms, sums=sums)
        other.halves = other.joint = other.span = None
        return other

    @property
    def each_half(self) -> list["Learner"]:
        """The learners of both halves of the rows; none unless both have terms."""
        waiting = self.halves
        if waiting is None:
            return []
        for terms in (self.terms, waiting.terms):
            if not (terms.velocity if terms.lag else terms.n_variances):
                return []
        return [self._with(self.terms, self.sums), self._with(waiting.terms, waiting.sums)]

    def expect(self, covariance: Float64s) -> None:
        """Replace rows with gaps by their expected products under a covariance."""
        self.joint = self.span = None
        self.sums = self.sums.expected(covariance)
        if self.halves is not None:
            self.halves = copy(self.halves)
            self.halves.sums = self.halves.sums.expected(covariance)

    def squares(self, part: Part) -> Float64s:
        """Return the sum of squares of each feature over the terms of a part."""
        squares: Float64s = self.sums.squares(part)
        return squares if self.halves is None else squares + self.halves.sums.squares(part)

    @property
    def stopped(self) -> bool:
        """True if a hook has stopped the last call."""
        return bool(self.sums.stopped)

    @property
    def mean(self) -> Float64s:
        """The mean of the rows: that of the sums, if they have their own."""
        if self.halves is not None:
            return self.with_all_rows().mean
        mean: Float64s = self.sums.mean if self.sums.has_mean else self.terms.mean
        return mean

    def check_size(self) -> None:
        """Raise if the rows are so small that their squares underflow."""
        radius: Any = self.watchers.get("radius")
        if radius is not None:
            radius.check(self.mean)

    @property
    def n_rows(self) -> int:
        """The number of rows or pairs seen."""
        halves = self.halves
        of_other_half: int = 0 if halves is None else halves.terms.n_rows
        return int(self.terms.n_rows) + of_other_half + self.n_waiting

    def _wait(self, chunk: Chunk) -> None:
        self.waiting.append(chunk.copied())
        self.n_waiting += chunk.n

    def finish(self) -> None:
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
        narrow = self.terms.n_features <= NARROW < block.n
        with blas_threads(1) if narrow else nullcontext():
            for part in block.sequences() if self.sums.by_sequence else [block]:
                n_rows = self.n_rows
                terms = self._take(part, n_rows)
                terms.first = n_rows
                for watcher in self.watchers.values():
                    if watcher.sees and (watcher.pairs or part.pairs is None):
                        watcher.see(terms, self)
        self.joint = self.span = None

    # ---- halves of the rows ----------------------------------------------------------------

    def _take(self, chunk: Chunk, n_rows: int) -> Block:
        """Return the terms of a chunk after ``n_rows`` rows; add those of each half to its sums."""
        block: Block
        halves: Any = self.halves
        if halves is None:
            block = self.terms.take(chunk)
            self.sums.add(block, self.terms)
            return block
        cuts = halves.cuts(chunk, n_rows, self.terms.age, by_sequence=self.sums.by_sequence)
        if cuts[:1] == [0]:
            cuts = cuts[1:]
            self._change_half()
        block = self.terms.take(chunk, cuts, halves.terms)
        self.sums.add(block.of_half(0) if cuts else block, self.terms)
        if cuts:
            halves.sums.add(block.of_half(1), halves.terms)
        if len(cuts) % 2:
            self._change_half()
        return block

    def _change_half(self) -> None:
        """Continue with the other half of the rows."""
        assert self.halves is not None
        self.terms, self.sums = self.halves.change(self.terms, self.sums)

    def _merged_halves(self) -> tuple[Any, Any]:
        """Return the terms and the sums of both halves; those of either half do not change."""
        halves = self.halves
        if halves is None or not halves.terms.n_rows:
            return self.terms, self.sums
        terms = halves.terms.copied()
        step = terms.join(self.terms, new_sequence=True)
        terms.continue_from(self.terms)
        sums = halves.sums.copied()
        sums.add(step, terms)
        sums.merge(self.sums)
        return terms, sums

    def _absorb_sums(self, terms: Any, sums: Any, new_sequence: bool) -> Block:
        """Merge terms and sums of later rows, and return the terms of the border."""
        crossing: Block = self.terms.join(terms, new_sequence=new_sequence)
        self.sums.add(crossing, self.terms)
        self.sums.merge(sums)
        return crossing

    def _absorb_halves(self, later: "Learner", new_sequence: bool) -> Block:
        """Merge halves of later rows, each into the half that makes both more equal."""
        own, other = self.halves, later.halves
        assert own is not None
        assert other is not None
        terms, sums = later.terms, later.sums
        first, rest = ((terms, sums), (other.terms, other.sums))[:: -1 if other.leads else 1]
        excesses = self.terms.n_rows - own.terms.n_rows, first[0].n_rows - rest[0].n_rows
        # Sums of sequences must not cut the sequence at the border.
        if excesses[0] * excesses[1] > 0 and (new_sequence or not self.sums.by_sequence):
            self._change_half()
        leading = copy(first[0])
        leading.continue_from(terms)
        crossing = self._absorb_sums(leading, first[1], new_sequence)
        self._change_half()
        if rest[0].n_rows:
            self._absorb_sums(rest[0], rest[1], new_sequence=True)
            self.terms.continue_from(own.terms)
        if not other.leads:
            self._change_half()
        own.begin(self.n_rows)
        return crossing
