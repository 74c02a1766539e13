"""The pairs that were learned from, by their learned distance: what risks and bounds rest on."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from eigenstream._linalg import Float64s
from eigenstream._state import State, joined, part
from eigenstream.evaluation import pair_risk
from eigenstream.evaluation.base import PairCounts, counts_of_pairs, distances_of
from eigenstream.learners.pairs._hashes import smallest_distinct
from eigenstream.learners.pairs._samples import HashSample, PairSample
from eigenstream.learners.pairs.base import PairSource

__all__ = ["Kind", "TrainingPairs", "all_alike", "counts_of_differences", "kinds_of"]


@dataclass(frozen=True)
class Kind:
    """How many independent pairs of one kind there are.

    ``m`` is the number of those whose distances are known; ``m_all`` that of all pairs they were
    drawn from, where they are a sample and all pairs weigh alike.
    """

    m: float
    m_all: float | None = None


@dataclass(frozen=True)
class TrainingPairs:
    """Pairs that were learned from, all of them or a sample: by distance, and how many there are.

    ``kinds`` are the same and the different ones.
    """

    counts: PairCounts
    kinds: tuple[Kind, Kind]
    #: Of a sample: the distances, signs, weights, and how many different pairs there are of a sign.
    sample: tuple[Float64s, NDArray[np.int64], Float64s, list[float]] | None = None

    def risk_error(self, threshold: float) -> float:
        """Return the standard error of the balanced risk at a threshold: 0 from all pairs."""
        if self.sample is None:
            return 0.0
        return pair_risk.pairs_error(*self.sample, threshold)

    def state(self) -> State:
        """Return all pairs as a flat dict (a sample is what its learner keeps)."""
        numbers = {
            name: kind.m for name, kind in zip(("same", "different"), self.kinds, strict=True)
        }
        return joined(counts=self.counts.state(), independent=numbers)

    @classmethod
    def restored(cls, state: State) -> "TrainingPairs":
        """Return the pairs that gave this ``state``."""
        numbers = part(state, "independent")
        kinds = Kind(float(numbers["same"])), Kind(float(numbers["different"]))
        return cls(PairCounts.restored(part(state, "counts")), kinds)

    @classmethod
    def of_all(
        cls, source: PairSource, vectors: Float64s, hashes: NDArray[np.uint64]
    ) -> "TrainingPairs":
        """Return all the pairs of a source after these vectors; by their hashes some are one."""
        given = source.given
        lengths = [np.empty(0)]
        for some in source.parts():
            if some.index is not None:
                Z = np.asarray(some.points @ vectors, np.float64)
                lengths.append(distances_of(Z, some.index))
            else:
                apart = some.differences() @ vectors
                lengths.append(np.sqrt(np.einsum("ij,ij->i", apart, apart)))
        counts = counts_of_pairs(np.concatenate(lengths), given.signs, given.weights)
        return cls(counts, kinds_of(hashes, given.signs, given.weights))

    @classmethod
    def of_sample(cls, sample: PairSample, vectors: Float64s) -> "TrainingPairs":
        """Return the pairs of a sample after these vectors."""
        differences, signs, _, weights = sample.read()
        apart = differences @ vectors
        lengths = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        found = sample.signs[1], sample.signs[-1]
        return cls(
            counts_of_pairs(lengths, signs, weights),
            (_kind_of_sample(found[0]), _kind_of_sample(found[1])),
            (lengths, signs, weights, [one.n_distinct for one in found]),
        )


def counts_of_differences(apart: Float64s, signs: NDArray[np.int64], weights: object) -> PairCounts:
    """Return the counts of pairs by the lengths of their projected differences."""
    lengths = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    return counts_of_pairs(lengths, signs, weights)


def _kind_of(total: float, squares: float) -> Kind:
    """Return the kind of distinct pairs by the sum of their weights and of the squares of these.

    Pairs that came several times, or with weights, are as good as (sum w)^2 / (sum w^2) of them:
    with weights p that add up to 1, McDiarmid's inequality and the Rademacher average both have
    sum p^2 in the place of 1 / m.
    """
    return Kind(total**2 / squares if squares > 0 else 0.0)


def kinds_of(
    hashes: NDArray[np.uint64], signs: NDArray[np.int64], weights: Float64s | None
) -> tuple[Kind, Kind]:
    """Return the same and the different ones of all pairs; equal hashes are one pair again."""
    weights = np.ones(len(signs)) if weights is None else weights
    kinds = []
    for sign in (1, -1):
        mine = signs == sign
        sums = smallest_distinct(hashes[mine], weights[mine], len(hashes))[1]
        kinds.append(_kind_of(float(sums.sum()), float((sums**2).sum())))
    return kinds[0], kinds[1]


def _kind_of_sample(found: HashSample) -> Kind:
    """Return the kind of a sample of distinct pairs."""
    seen = _kind_of(float(found.weights.sum()), float((found.weights**2).sum()))
    if found.complete or seen.m == 0:
        return seen
    return Kind(seen.m, all_alike(found.weights, found.total, found.n_distinct))


def all_alike(weights: Float64s, total: float, n_distinct: float) -> float | None:
    """Return how many pairs (or rows) a sample is of, None where some weigh more than others."""
    n = total / float(weights[0])
    # Those that were not drawn may have come more often: then there are fewer different ones.
    spread = 5.0 / sqrt(len(weights))
    if np.ptp(weights) <= 1e-12 * weights[0] and n_distinct >= n * (1.0 - spread):
        return n
    return None
