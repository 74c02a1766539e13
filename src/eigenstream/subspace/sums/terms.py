"""The terms of T for each kind of data.

Each term is the difference of two rows. These are a row and an earlier row, a row and the mean, the
members of a pair, a row and the mean of its class, or two means. All terms of a part have the same
share in T. Other weights, held-out classes and held-out pairs are other shares of the same sums.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from copy import copy, deepcopy
from itertools import pairwise
from typing import Any, Self

import numpy as np

from eigenstream.core.linalg import Float64s, rounding_of_mean
from eigenstream.core.storable import storable
from eigenstream.rows.chunk import Chunk, Places, joined
from eigenstream.subspace.sums.block import Block, Center, End, Part, Runs, Shares, negative

#: The weights (reward, penalty) of T = reward * A - penalty * B.
Weights = tuple[float, float]
Parts = frozenset[Part]
#: The shares of the parts in A and in B, each with the total weight of its terms.
Sides = list[tuple[Shares, float]]

NOTHING: Parts = frozenset()


@storable(n_features="int=W", n_rows="int")
class Terms(ABC):
    """Base of the classes that make the terms of one kind of data."""

    #: True if rows are in time order, so that neighbours are similar.
    in_time = False
    #: True if some terms depend on the final means; see ``closing``.
    closes = False

    def __init__(self, n_features: int) -> None:
        self.n_features, self.n_rows = n_features, 0

    def take(self, chunk: Chunk, *halves: Any) -> Block:
        """Return the terms of the next rows. ``halves`` are the cuts, and the other terms."""
        block = self._take(chunk, *halves)
        block.chunk, block.first = chunk, self.n_rows
        self.n_rows += chunk.n
        return block

    def join(self, later: Self, *, new_sequence: bool) -> Block:
        """Merge the state of later rows, and return the terms across the border."""
        block = self._join(later, new_sequence)
        block.first = self.n_rows
        self.n_rows += later.n_rows
        return block

    @abstractmethod
    def _take(self, chunk: Chunk) -> Block: ...

    @abstractmethod
    def _join(self, later: Self, new_sequence: bool) -> Block: ...

    @abstractmethod
    def forget(self, share: float) -> None:
        """Multiply the weights of all terms so far by a share."""

    @abstractmethod
    def totals(self, held_out: Parts = NOTHING) -> Weights:
        """Return the total weights of rewarded and of penalised terms, without held-out parts."""

    @abstractmethod
    def shares(self, weights: Weights, held_out: Parts = NOTHING) -> Shares:
        """Return the share of each part in T."""

    def sides(self, held_out: Parts = NOTHING) -> Sides:
        """Return the shares of the parts in both sides of the ratio, and the weight of each."""
        reward, penalty = self.totals(held_out)
        pairs = ((1.0, 0.0), reward), ((0.0, -1.0), penalty)
        return [(self.shares(weights, held_out), total) for weights, total in pairs]

    @abstractmethod
    def with_final_means(self) -> "Terms":
        """Return an object that makes the same terms in a further pass, about the final means."""

    def closing(self, held_out: Parts = NOTHING) -> Block | None:
        """Return the terms that depend on the final means, or None."""
        return None

    def along(self, basis: Float64s) -> Self:
        """Return the state in coordinates along orthonormal columns."""
        inside = copy(self)
        inside.n_features = basis.shape[1]
        return inside

    @property
    def mean(self) -> Float64s:
        """The mean of the rows, or zeros for rows that are not centred."""
        return np.zeros(self.n_features)

    @property
    def floor(self) -> float:
        """The largest eigenvalue of A that rounding of the mean can cause."""
        return rounding_of_mean(self.mean)

    @property
    def n_terms(self) -> int:
        """The number of rewarded terms of positive weight."""
        return int(self.totals()[0] > 0.0)

    def _each(self, weights: Weights, held_out: Parts) -> Weights:
        """Return the share of one rewarded and of one penalised term of weight 1."""
        reward, penalty = self.totals(held_out)
        return weights[0] / (reward or 1.0), weights[1] / (penalty or 1.0)


class Sums:
    """Base of the sums that solvers store.

    The members below ``operator`` have defaults for sums without the ability.
    Sums of a solver that can merge also have ``merge`` and ``forget``, and those of a solver with
    several passes have ``again`` and ``missed``.
    """

    #: True if a hook has ended the last call.
    stopped: bool = False
    #: True if the sums have a ``mean``, which is then that of the rows instead of the terms' one.
    has_mean: bool = False
    #: True if each block must hold rows of one sequence.
    by_sequence: bool = False
    #: True if rows may stay sparse. A block then has all rows of a chunk.
    sparse: bool = True

    def add(self, block: Block, terms: Terms) -> None:
        """Add the terms of a block."""
        raise NotImplementedError

    def operator(self, terms: Terms, held_out: Parts = NOTHING) -> Any:
        """Return A and B, without the held-out parts."""
        raise NotImplementedError

    def silent(self) -> "Sums":
        """Return the sums without a hook."""
        return self

    def copied(self) -> Self:
        """Return a copy, which may change without changing these sums."""
        return deepcopy(self)

    def estimated_share(self, terms: Terms) -> float | None:
        """Return the estimated share of the optimum, or None for exact sums."""
        return None

    def variances(self, terms: Terms) -> Float64s | None:
        """Return the diagonal of A, or None unless it is stored."""
        return None

    def few_terms(self, terms: Terms) -> list[Float64s]:
        """Return all terms as vectors, or none unless they are stored and fewer than features."""
        return []


VARIANCE, VELOCITY = "variance", "velocity"
#: The ends of some velocities, their weights and their number.
Velocities = tuple[End, End, Float64s | None, int]
#: The parts of the terms of negative weight.
NEGATIVE_VARIANCE, NEGATIVE_VELOCITY = map(negative, (VARIANCE, VELOCITY))


@storable(
    lag="int",
    reversible="bool",
    center="Center",
    velocity="number",
    n_variances="int",
    n_velocities="int",
    head="Chunk",
    tail="Chunk",
    age="int",
    unbroken="bool",
)
class TimeTerms(Terms):
    """Terms of a time series: ``x_t - mean`` and the velocity ``x_t - x_(t - lag)``.

    The first ``lag`` rows of a sequence have no terms. The weight of a velocity is that of its
    earlier row, or 0 if the later row has weight 0. With ``lag=0`` there are no velocities. With
    ``reversible=True`` each velocity has two variance terms, one for each of its rows.
    """

    in_time = True

    def __init__(
        self, n_features: int, *, lag: int, center: bool, reversible: bool = False
    ) -> None:
        super().__init__(n_features)
        self.lag, self.reversible = lag, reversible
        self.center = Center(np.zeros(n_features), fixed=not center)
        #: The weight of the velocities, and the numbers of rows and velocities of positive weight.
        self.velocity, self.n_variances, self.n_velocities = 0.0, 0, 0
        #: The first rows of the first sequence and the last rows of the current one, ``lag`` each.
        self.head = self.tail = Chunk(np.empty((0, n_features)))
        #: The number of rows of the current sequence, and True while it is the first one.
        self.age, self.unbroken = 0, True

    def _take(
        self, chunk: Chunk, cuts: Sequence[int] = (), other: "TimeTerms | None" = None
    ) -> Block:
        """Return the terms of the next rows. At each cut the halves of the rows change."""
        halves, begun = [self, other or self], self.n_rows > 0 or self.age > 0  # also by others
        for first, last in zip(cuts[::2], [*cuts[1::2], chunk.n], strict=False):
            self.n_rows -= last - first  # ``take`` adds all rows to this half
            halves[1].n_rows += last - first
        if chunk.pairs is not None:
            return self._take_pairs(chunk, chunk.pairs, cuts, halves)
        n, breaks = chunk.n, chunk.starts
        if not begun:
            breaks = breaks[breaks > 0]
        # The first ``lag`` rows of each sequence have no terms.
        has_terms = np.ones(n, bool)
        has_terms[: max(self.lag - self.age, 0)] = False
        for start in breaks:
            has_terms[start : start + self.lag] = False
        if self.unbroken and self.head.n < self.lag:
            end = min(int(breaks[0]) if len(breaks) else n, self.lag - self.head.n)
            first_rows = _copied(chunk, slice(end))
            self.head = joined([self.head, first_rows]) if self.head.n else first_rows
        block = Block(self.n_features, chunk.rows, self.tail.rows)
        block.begins = len(breaks) > 0 and int(breaks[0]) == 0
        for block.half, now in enumerate(_by_half(np.flatnonzero(has_terms), cuts)):
            halves[block.half].add_to(block, chunk, now, self.tail)
        self.age = n - int(breaks[-1]) if len(breaks) else self.age + n
        self.unbroken = self.unbroken and len(breaks) == 0
        if self.lag:
            self._remember(chunk)
        return block

    def _take_pairs(
        self, chunk: Chunk, pairs: Places, cuts: Sequence[int], halves: list["TimeTerms"]
    ) -> Block:
        """Return the terms of pairs of rows, which form separate sequences."""
        self.head = self.tail = Chunk(np.empty((0, self.n_features)))
        block = Block(self.n_features, chunk.rows, self.tail.rows)
        for block.half, places in enumerate(_by_half(np.arange(chunk.n), cuts)):
            terms, (past, now) = halves[block.half], pairs[places].T
            weights = None if chunk.weights is None else chunk.weights[places]
            velocities = [((0, now), (0, past), weights, len(now))]
            terms.add_terms(block, (0, now), weights, len(now), velocities)
        self.age, self.unbroken = 0, False
        return block

    def add_to(self, block: Block, chunk: Chunk, now: Places, tail: Chunk) -> None:
        """Add the terms of some rows of a chunk that follows a tail."""
        velocities: list[Velocities] = []
        runs = as_runs(now)
        if self.lag:
            # The earlier rows are in the chunk from this place on.
            first = int(np.searchsorted(now, self.lag))
            pieces = (0, now[first:], chunk, 0), (1, now[:first], tail, tail.n)
            for k, here, earlier, shift in pieces:
                if len(here):
                    weights, past = None, here + (shift - self.lag)
                    if chunk.weights is not None or earlier.weights is not None:
                        weights = _pair_weights(chunk, here, earlier, past)
                    later = runs if len(here) == len(now) else as_runs(here)
                    velocities.append(((0, later), (k, as_runs(past)), weights, len(here)))
        weights = None if chunk.weights is None else chunk.weights[now]
        block.own += self.add_terms(block, (0, runs), weights, len(now), velocities)

    def add_terms(
        self,
        block: Block,
        end: End,
        weights: Float64s | None,
        n: int,
        velocities: list[Velocities],
    ) -> list[Center]:
        """Add the variance terms of rows and velocities; return the mean of the rows."""
        own: list[Center] = []
        if not self.reversible:
            self.n_variances += n if weights is None else int(np.count_nonzero(weights))
            own = self.center.add(block, VARIANCE, end, weights, n)
        for now, past, w, n_steps in velocities:
            block.add(VELOCITY, now, past, w)
            self.velocity += float(n_steps if w is None else w.sum())
            n_positive = n_steps if w is None else int(np.count_nonzero(w))
            self.n_velocities += n_positive
            for row in (now, past) if self.reversible else ():
                self.n_variances += n_positive
                self.center.add(block, VARIANCE, row, w, n_steps)
        return own

    def _remember(self, chunk: Chunk) -> None:
        """Store the last rows of the current sequence."""
        keep = min(self.lag, self.age)
        recent = chunk if chunk.n >= keep else joined([self.tail, chunk.copied()])
        self.tail = _copied(recent, slice(recent.n - keep, recent.n))

    def _join(self, later: "TimeTerms", new_sequence: bool) -> Block:
        head, begun = later.head, self.n_rows > 0 or self.age > 0
        block = Block(self.n_features, head.rows, self.tail.rows)
        meets = bool(begun and later.n_rows)
        block.begins = meets and new_sequence
        follows = meets and not new_sequence and self.lag > 0
        if follows:
            now = np.arange(max(self.lag - self.age, 0), head.n)
            self.add_to(block, head, now, self.tail)
        self.center.join(block, VARIANCE, later.center)
        self.velocity += later.velocity
        self.n_variances += later.n_variances
        self.n_velocities += later.n_velocities
        if not begun:
            self.head, self.unbroken = head, later.unbroken
        elif follows and self.unbroken and self.head.n < self.lag:
            self.head = joined([self.head, head]).chosen(slice(0, self.lag))
        if follows and later.unbroken:
            self.age += later.age
            self._remember(later.tail)
        elif later.n_rows:
            self.tail, self.age = later.tail, later.age
            self.unbroken = later.unbroken and not begun
        if follows and not later.unbroken:
            self.unbroken = False
        return block

    def copied(self) -> "TimeTerms":
        """Return a copy, which may change without changing these terms."""
        copied = copy(self)
        copied.center = copy(self.center)
        return copied

    def continue_from(self, before: "TimeTerms") -> None:
        """Continue the sequence of other terms."""
        self.head, self.tail = before.head, before.tail
        self.age, self.unbroken = before.age, before.unbroken

    def forget(self, share: float) -> None:
        """Multiply the weights of all terms so far by a share."""
        self.center.weight *= share
        self.velocity *= share

    def totals(self, held_out: Parts = NOTHING) -> Weights:
        """Return the weights of the rewarded and of the penalised terms."""
        return self.center.weight, self.velocity

    def shares(self, weights: Weights, held_out: Parts = NOTHING) -> Shares:
        """Return the share of each part in T."""
        reward = weights[0] / (self.center.weight or 1.0)
        penalty = weights[1] / (self.velocity or 1.0)
        return {
            VARIANCE: reward,
            VELOCITY: -penalty,
            NEGATIVE_VARIANCE: -reward,
            NEGATIVE_VELOCITY: penalty,
        }

    def take_covariances(self, mean: Float64s, weight: float) -> None:
        """Count pairs of this weight, whose rows have this mean."""
        n = round(weight)
        self.n_rows = self.n_velocities = n
        self.n_variances = 2 * n if self.reversible else n
        self.velocity, self.unbroken = weight, False
        self.center.mean, self.center.weight = mean, 2.0 * weight if self.reversible else weight

    def drop(self, n_rows: int, weights: Float64s, of_velocities: Float64s) -> None:
        """Remove the last rows, with terms of these weights, and end the sequence."""
        self.n_rows -= n_rows
        self.center.weight -= float(weights.sum())
        self.velocity -= float(of_velocities.sum())
        self.n_variances -= len(weights)
        self.n_velocities -= int(np.count_nonzero(of_velocities))
        self.age = 0

    def with_final_means(self) -> "TimeTerms":
        """Return an object that makes the same terms in a further pass."""
        again = TimeTerms(self.n_features, lag=self.lag, center=False, reversible=self.reversible)
        again.center.mean = self.center.mean
        return again

    @property
    def mean(self) -> Float64s:
        """The mean of the rows."""
        return self.center.mean

    @property
    def n_terms(self) -> int:
        """The number of rewarded terms."""
        return self.n_variances

    @property
    def plain(self) -> bool:
        """True if all terms have weight 1."""
        return self.center.weight == self.n_variances == self.n_velocities == self.velocity


#: The number of terms of the first block. More terms leave the second half empty in short series;
#: fewer terms make blocks that are shorter than the time scales.
FIRST_TERMS = 32

#: The largest number of rows of a block without a lag. Blocks of more rows may have other classes
#: if the rows are sorted; blocks of fewer rows resemble their neighbours in time.
LONGEST = 1024


@storable(terms="TimeTerms", sums="any", begun="int", end="int | None", leads="bool")
class Halves:
    """The half of the rows that waits, and the row at which it continues.

    Features of one half of a time series can be tested on the other one. Both halves have their own
    terms and sums, and the sums of all rows are the merge of both.

    The first block has ``max(32, lag)`` terms, and each later one is half as long as all blocks
    before it, but at most 1,024 rows without a lag. With a lag, blocks therefore exceed any time
    scale in the end, and each half has between 40 % and 60 % of the terms. A sequence that begins
    in a block ends in it, unless it is longer than the block.
    """

    def __init__(self, terms: TimeTerms, sums: Any, *, alternating: bool = True) -> None:
        #: The terms and the sums of the half that waits.
        self.terms, self.sums = terms, sums
        #: The rows at which the present block begins and ends; None if it never ends.
        self.begun = 0
        self.end: int | None = terms.lag + max(FIRST_TERMS, terms.lag) if alternating else None
        #: True if the half that waits has the first rows.
        self.leads = False

    def cuts(self, chunk: Chunk, n_rows: int, age: int, *, by_sequence: bool) -> list[int]:
        """Return the places in a chunk at which the halves change.

        The chunk follows ``n_rows`` rows, and ``age`` rows of its sequence. Sequences are not cut
        if sums are taken ``by_sequence``.
        """
        places: list[int] = []
        starts = [*chunk.starts.tolist(), chunk.n]
        in_pairs, lag = chunk.pairs is not None, self.terms.lag
        while self.end is not None and self.end < n_rows + chunk.n:
            place = max(self.end - n_rows, 0)
            k = bisect_right(starts, place)
            first, end = starts[k - 1] if k else -age, starts[k]
            if not in_pairs and first != place:
                longest = self.end - self.begun if first + n_rows > self.begun else 0
                place = end if by_sequence else min(end, max(place, first + longest))
                if place == chunk.n:
                    break
            places.append(place)
            self.begun = n_rows + place
            length = max((self.begun - lag) // 2, FIRST_TERMS // 2, lag)
            self.end = self.begun + (length if lag else min(length, LONGEST))
        return places

    def begin(self, n_rows: int) -> None:
        """Begin a block after ``n_rows`` rows."""
        self.begun, lag = n_rows, self.terms.lag
        if self.end is not None:
            length = max((n_rows - lag) // 2, FIRST_TERMS // 2, lag)
            self.end = n_rows + (length if lag else min(length, LONGEST))

    def change(self, terms: TimeTerms, sums: Any) -> tuple[TimeTerms, Any]:
        """Store another half, and return this one, which continues the sequence."""
        self.terms.continue_from(terms)
        present = self.terms, self.sums
        self.terms, self.sums = terms, sums
        self.leads = not self.leads
        return present


REWARDED, PENALISED = "rewarded", "penalised"


@storable(centers="dict[Center]")
class ContrastTerms(Terms):
    """Terms of two sets of rows, the second a background: rows minus the mean of their set."""

    def __init__(self, n_features: int, *, center: bool) -> None:
        super().__init__(n_features)
        self.centers = {
            part: Center(np.zeros(n_features), fixed=not center) for part in (REWARDED, PENALISED)
        }

    def _loaded(self) -> None:
        if self.centers.keys() != {REWARDED, PENALISED}:
            raise ValueError("the terms have other sets than the rows and their background.")

    def _take(self, chunk: Chunk) -> Block:
        """Return the terms of rows with the target 1 for the background, else 0."""
        block = Block(self.n_features, chunk.rows)
        for code, part in enumerate((REWARDED, PENALISED)):
            chosen = np.flatnonzero(chunk.labels == code)
            if len(chosen):
                w = None if chunk.weights is None else chunk.weights[chosen]
                self.centers[part].add(block, part, (0, as_runs(chosen)), w, len(chosen))
        return block

    def _join(self, later: "ContrastTerms", new_sequence: bool) -> Block:
        block = Block(self.n_features)
        for part, center in later.centers.items():
            self.centers[part].join(block, part, center)
        return block

    def forget(self, share: float) -> None:
        """Multiply the weight of everything seen by this share."""
        for center in self.centers.values():
            center.weight *= share

    def totals(self, held_out: Parts = NOTHING) -> Weights:
        """Return the weights of the rewarded and of the penalised terms."""
        return self.centers[REWARDED].weight, self.centers[PENALISED].weight

    def shares(self, weights: Weights, held_out: Parts = NOTHING) -> Shares:
        """Return the share of each part in T."""
        reward, penalty = self._each(weights, held_out)
        return {REWARDED: reward, PENALISED: -penalty}

    def with_final_means(self) -> "ContrastTerms":
        """Return an object that makes the same terms in a further pass."""
        again = ContrastTerms(self.n_features, center=False)
        again.centers = {k: Center(c.mean, fixed=True) for k, c in self.centers.items()}
        return again

    @property
    def mean(self) -> Float64s:
        """The mean of the rows."""
        return self.centers[REWARDED].mean


def _copied(chunk: Chunk, part: slice) -> Chunk:
    """Return a copy of some rows and their weights, since callers may reuse the memory."""
    return Chunk(chunk.rows[part].copy(), None if chunk.weights is None else chunk.weights[part])


def _by_half(places: Places, cuts: Sequence[int]) -> list[Places]:
    """Return the places of each half of the rows, which change at each cut."""
    if not len(cuts):
        return [places]
    edges = [0, *np.searchsorted(places, cuts).tolist(), len(places)]
    parts = [*map(places.__getitem__, map(slice, edges[:-1], edges[1:]))]
    return [np.concatenate(parts[::2]), np.concatenate(parts[1::2])]


def _pair_weights(later: Chunk, now: Places, earlier: Chunk, past: Places) -> Float64s:
    """Return the weights of velocities: those of the earlier rows, or 0 if the later row has 0."""
    weights = earlier.each_weight()[past]
    return np.where(later.each_weight()[now] == 0.0, 0.0, weights)


#: Rows are copied by slices if the runs of consecutive rows have this mean length. Slices of
#: shorter runs take longer than a copy by indices.
LONG_RUN = 16


def as_runs(places: Places) -> Places | Runs:
    """Return ascending places as runs of consecutive ones, unless these are short."""
    n = len(places)
    if n and int(places[-1]) - int(places[0]) + 1 == n:
        return Runs(places, [slice(int(places[0]), int(places[0]) + n)])
    edges = [0, *(np.flatnonzero(places[1:] - places[:-1] != 1) + 1).tolist(), n]
    if LONG_RUN * len(edges) > n:
        return places
    slices = [slice(int(places[i]), int(places[j - 1]) + 1) for i, j in pairwise(edges)]
    return Runs(places, slices)
