"""Prototypes without neighbours: where they begin, how far they reach, and dead ones."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus
from threadpoolctl import threadpool_limits

from eigenstream._blas import blas_threads
from eigenstream._linalg import Float64s
from eigenstream._state import State, generator_of, generator_state, joined, part
from eigenstream.learners.prototypes.base import PrototypeLearner, PrototypePlan, values_of
from eigenstream.rules.competitive import RANK, SOFT, WINNER, Competition, Search, Seen, add_up

__all__ = ["CompetingLearner"]

#: By rank, the square root of all prototypes is reached at first, and 1 / e of it after so many
#: rows each: longer ago than that, and what prototypes have learned together is in their means.
FALLING = 2

#: How often the first rows are gone through by k-means, at most.
SETTLING = 10

#: Among how many first rows batches begin, at least.
FIRST = 1000


class CompetingLearner(PrototypeLearner):
    """Prototypes that compete by a rule: clusters of a stream.

    >>> from eigenstream.rules.competitive import WINNER
    >>> learner = CompetingLearner(WINNER, PrototypePlan(1), 2)
    >>> learner = learner.add(np.array([[0.0, 2.0], [2.0, 0.0]]))
    >>> learner.vectors
    array([[1., 1.]])
    """

    def __init__(self, rule: Competition, plan: PrototypePlan, n_features: int) -> None:
        self.rule = rule
        super().__init__(plan, n_features)
        #: The width that the first rows suggest, where none is given.
        self.scale = 1.0
        self.n_reseeded = 0
        #: For dead prototypes: rows since the last look, drawn with chances like their errors.
        self._random = np.random.default_rng(plan.seed)
        self._drawn: Float64s = np.zeros((0, n_features))
        self._keys: Float64s = np.zeros(0)

    def copy(self) -> Self:
        """Return an independent copy."""
        other = type(self)(self.rule, self.plan, self.n_features)
        other.restore(self.state())
        return other

    # ---- the beginning ---------------------------------------------------------------------

    def _begin(self) -> None:
        super()._begin()
        rows, weights = self._waiting()
        if isinstance(self.plan.init, str) and self.plan.init == "k-means" and self.alive:
            self._take()
            with blas_threads(1):
                self._settle(rows, weights)
        if self.rule is SOFT and self.plan.width is None:
            self.scale = self._spread(rows, weights)

    def _placed(self, rows: Float64s, weights: Float64s) -> Float64s:
        """Return where they begin; what is left out becomes the next rows that are new."""
        plan = self.plan
        if not isinstance(plan.init, str):
            return np.asarray(plan.init, np.float64)
        if plan.init == "data":
            return rows[:0]
        distinct = np.sort(np.unique(rows, axis=0, return_index=True)[1])
        rows, weights = rows[distinct], weights[distinct]
        if len(rows) <= plan.n_prototypes:
            return rows[:0]
        random = np.random.RandomState(plan.seed)
        if plan.init == "random":
            return rows[np.sort(random.permutation(len(rows))[: plan.n_prototypes])]
        centred = rows - self.mean
        found, _ = kmeans_plusplus(
            centred, plan.n_prototypes, sample_weight=weights, random_state=random
        )
        return np.asarray(found + self.mean)

    def _settle(self, rows: Float64s, weights: Float64s) -> None:
        """Learn the first rows by k-means: each prototype is the mean of those it has."""
        assign, self.rule = self.rule, WINNER
        for _ in range(SETTLING):
            if self.batch([(rows, weights)], 0) == 0.0:
                break
        self.rule = assign
        them, centred = self.them, rows - self.mean
        fields = centred @ them.vectors.T - 0.5 * them.squares
        labels = fields.argmax(axis=1)
        np.maximum.at(them.latest, labels, np.arange(len(rows)))
        squares = np.maximum((centred**2).sum(axis=1) - 2.0 * fields.max(axis=1), 0.0)
        self.steps, self.error, self.weight = len(rows), 0.0, 0.0
        self._met(centred, weights, Seen(labels, squares))
        if self._recorder is not None:
            self._recorder.clear()
            self._recorder.note(self.steps, self.vectors)

    def _spread(self, rows: Float64s, weights: Float64s) -> float:
        """Return how far rows are from their nearest prototype, along one axis."""
        centred = rows - self.mean
        vectors = self.them.vectors[: self.alive]
        if not len(vectors):  # they will be the first rows that differ
            first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
            vectors = centred[first[: self.plan.n_prototypes]]
        fields = centred @ vectors.T - 0.5 * (vectors**2).sum(axis=1)
        squares = np.maximum((centred**2).sum(axis=1) - 2.0 * fields.max(axis=1), 0.0)
        mean = float(np.average(squares, weights=weights)) / self.n_features
        return float(np.sqrt(mean)) if mean > 0 else 1.0

    # ---- the reach -------------------------------------------------------------------------

    def _numbers(self, first: int, n: int) -> Float64s:
        if self.rule not in (SOFT, RANK):
            return np.zeros((n, 0))
        if self.plan.width is not None:
            return values_of(self.plan.width, "width", first, n)[:, None]
        if self.rule is SOFT:
            return np.full((n, 1), self.scale)
        k = self.plan.n_prototypes
        reach = np.sqrt(k) * np.exp(-np.arange(first, first + n) / (FALLING * k))
        return np.asarray(reach[:, None], np.float64)

    # ---- dead prototypes -------------------------------------------------------------------

    def dead(self, steps: int) -> Any:
        """Return the numbers of prototypes that were the nearest in none of the last ``steps``."""
        latest = self.them.latest[: self.alive]
        return np.flatnonzero(latest < max(self.steps - steps, 0))

    def _check_steps(self, n: int) -> None:
        super()._check_steps(n)
        self._numbers(self.n_steps, n)  # a function may give widths that are none

    def _pauses(self) -> list[int]:
        return super()._pauses() + ([] if self.plan.reseed is None else [self.plan.reseed])

    def _met(self, rows: Float64s, weights: Float64s, seen: Seen) -> None:
        super()._met(rows, weights, seen)
        if self.plan.reseed is None:
            return
        # The largest of u^(1 / w), with u uniform, are a sample by weights w without replacement.
        chances = weights * seen.errors
        keys = np.log(self._random.random(len(rows)))
        keys = np.divide(keys, chances, out=np.full(len(rows), -np.inf), where=chances > 0)
        keys = np.append(self._keys, keys)
        order = np.argsort(-keys, kind="stable")[: self.plan.n_prototypes]
        order = order[keys[order] > -np.inf]
        old = len(self._keys)
        drawn = [self._drawn[i] if i < old else rows[i - old] for i in order]
        self._drawn, self._keys = np.reshape(drawn, (-1, self.n_features)), keys[order]

    def _pause(self) -> None:
        reseed = self.plan.reseed
        if reseed is not None and self.steps % reseed == 0:
            them = self.them
            before = self.n_reseeded
            for k, row in zip(self.dead(reseed), self._drawn, strict=False):
                them.vectors[k], them.squares[k] = row, row @ row
                them.counts[k], them.latest[k] = 1.0, self.steps - 1
                self.n_reseeded += 1
            self._drawn, self._keys = self._drawn[:0], self._keys[:0]
            if self._recorder is not None and self.n_reseeded > before:
                self._recorder.moved(self.steps, self.vectors)
        super()._pause()

    # ---- batch -----------------------------------------------------------------------------

    def add_first(self, rows: Any, weights: Float64s | None) -> bool:
        """Keep rows that batches begin among; say whether there are enough of them."""
        weights = np.ones(len(rows)) if weights is None else weights
        lacking = max(self.plan.n_first, FIRST) - self.waiting
        self._keep(rows[weights > 0][:lacking], weights[weights > 0][:lacking])
        return self.waiting >= max(self.plan.n_first, FIRST)

    def placed(self) -> Self:
        """Place the prototypes among the rows kept, which batches are to go through again."""
        if self.waiting:
            rows, weights = self._waiting()
            self._begin()
            self._take()
            if self.alive < self.plan.n_prototypes:  # those that differ, one after the other
                plan = replace(self.plan, init="data", n_first=1, width=None, reseed=None)
                found = CompetingLearner(WINNER, plan, self.n_features).add(rows, weights).ahead()
                self.mean, self.them = found.mean, found.them
        return self

    def variance(self, parts: Iterable[tuple[Any, Any]]) -> float:
        """Return the mean over the features of the variance of rows."""
        total, squares, n = np.zeros(self.n_features), np.zeros(self.n_features), 0.0
        for rows, given in parts:
            weights = np.ones(len(rows)) if given is None else given
            centred = np.subtract(rows, self.mean, dtype=np.float64, order="C")
            total += weights @ centred
            squares += weights @ centred**2
            n += float(weights.sum())
        return float((squares / n - (total / n) ** 2).mean())

    def batch(self, parts: Iterable[tuple[Any, Any]], iteration: int) -> float:
        """Replace each prototype by the mean of its rows, weighted by shares; return how far.

        ``parts`` are all rows, with weights or None. The distance is the sum of squares.
        """
        them, ground = self.them, self._ground()
        numbers = self._numbers(iteration, 1)[0]
        sums, counts = np.zeros_like(them.vectors), np.zeros_like(them.counts)
        self.error, self.weight, self.steps = 0.0, 0.0, 0
        them.latest[:] = -1
        # Winners are looked for without the distances to all; there are none before the first row.
        alone = self.rule is WINNER and self.alive > 0
        search = Search(them.vectors[: self.alive], self.mean, both=False) if alone else None
        for rows, weights in parts:
            weights = np.ones(len(rows)) if weights is None else weights
            if search is not None:
                for here, some, _, (nearest, _, errors) in search.panels(rows):
                    own = weights[here]
                    add_up(nearest, own, some, sums)
                    counts += np.bincount(nearest, own, len(counts))
                    self.error += float(own @ errors)
                    them.latest[nearest] = self.steps
            else:
                centred = np.subtract(rows, self.mean, dtype=np.float64, order="C")
                fields = centred @ them.vectors.T - 0.5 * them.squares
                fields[:, self.alive :] = -np.inf
                shares = self.rule.shares(fields, numbers, ground) * weights[:, None]
                sums += shares.T @ centred
                counts += shares.sum(axis=0)
                errors = np.maximum((centred**2).sum(axis=1) - 2.0 * fields.max(axis=1), 0.0)
                self.error += float(weights @ errors)
                them.latest[fields.argmax(axis=1)] = self.steps
            self.weight += float(weights.sum())
            self.steps += len(rows)
        won = counts > 0
        before = them.vectors.copy()
        them.vectors[won] = sums[won] / counts[won, None]
        them.counts[:] = counts
        np.einsum("kj,kj->k", them.vectors, them.vectors, out=them.squares)
        return float(((them.vectors - before) ** 2).sum())

    # ---- merging and saving ----------------------------------------------------------------

    def merge(self, other: "CompetingLearner") -> "CompetingLearner":
        """Return a learner whose prototypes stand for those of both, by k-means of all of them.

        Each counts as often as the rows that it has learned: an approximation of learning both.
        """
        ours, theirs = self.ahead(), other.ahead()
        points = np.concatenate([ours.vectors, theirs.vectors])
        counts = np.concatenate([one.them.counts[: one.alive] for one in (ours, theirs)])
        merged = type(self)(self.rule, self.plan, self.n_features)
        merged.mean = (ours.mean + theirs.mean) / 2
        points, counts = points[counts > 0], counts[counts > 0]
        distinct = len(np.unique(points, axis=0))
        alive = min(self.plan.n_prototypes, distinct)
        them = merged.them
        found = KMeans(alive, n_init=10, random_state=self.plan.seed)
        with threadpool_limits(1):  # sums of several threads differ from run to run
            labels = found.fit(points - merged.mean, sample_weight=counts).labels_
        them.vectors[:alive] = found.cluster_centers_
        them.counts[:alive] = np.bincount(labels, counts, alive)
        np.einsum("kj,kj->k", them.vectors, them.vectors, out=them.squares)
        merged.steps = ours.steps + theirs.steps
        them.latest[:alive] = merged.steps - 1
        them.alive[0] = alive
        merged.error, merged.weight = ours.error + theirs.error, ours.weight + theirs.weight
        merged.scale = (ours.scale + theirs.scale) / 2
        merged.n_reseeded = ours.n_reseeded + theirs.n_reseeded
        merged._begun = True
        return merged

    def state(self) -> State:
        """Return all that has been learned as a flat dict of arrays and numbers."""
        found = super().state() | {"scale": self.scale}
        if self.plan.reseed is None:
            return found
        found |= {"n_reseeded": self.n_reseeded, "drawn": self._drawn, "keys": self._keys}
        return found | joined(generator=generator_state(self._random))

    def restore(self, state: State) -> None:
        """Take over what ``state`` gave, into a learner made with the same plan."""
        super().restore(state)
        self.scale = float(state["scale"])
        if self.plan.reseed is not None:
            self.n_reseeded = int(state["n_reseeded"])
            self._drawn = np.array(state["drawn"], np.float64)
            self._keys = np.array(state["keys"], np.float64)
            self._random = generator_of(part(state, "generator"))
