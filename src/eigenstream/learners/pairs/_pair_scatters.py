"""Learning from the scatters of pairs: exact, mergeable, and solvable for any weights."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eigenstream._linalg import Float64s
from eigenstream._state import State, joined, part
from eigenstream.contrast import Contrast
from eigenstream.evaluation.base import PairCounts
from eigenstream.learners.base import Abilities, Solution
from eigenstream.learners.pairs._eta import FOLDS, Fold, Matrices
from eigenstream.learners.pairs._hashes import pair_hashes
from eigenstream.learners.pairs._pair_folds import (
    PairFolds,
    add_signed,
    folds_of,
    held_out_folds,
)
from eigenstream.learners.pairs._samples import PairSample
from eigenstream.learners.pairs._training import TrainingPairs, counts_of_differences
from eigenstream.learners.pairs._values import Pairs, farthest_apart
from eigenstream.learners.pairs.base import (
    Evidence,
    PairLearner,
    PairQuestion,
    PairSource,
    PairTask,
    with_training,
)
from eigenstream.scatters import PairScatter

__all__ = ["PairsFromScatters"]

#: Index pairs that are sampled at a time.
PAIRS_AT_A_TIME = 1 << 20


class PairsFromScatters(PairLearner):
    """Keeps the scatters of the negative and of the positive pairs, and a sample of both.

    With ``searches`` also the scatters of what each fold of a cross-validation holds out, so that
    the data can choose the weights. Memory: a few D x D matrices, however many pairs.

    Examples
    --------
    >>> import numpy as np
    >>> learner = PairsFromScatters(1, searches=False)
    >>> pairs = np.array([[[0.0], [3.0]], [[1.0], [2.0]]])
    >>> learner.add(Pairs(pairs, None, None, np.array([-1, 1]), None))
    >>> learner.n_rows, learner.contrast.matrix((1.0, 1.0))
    (2, array([[8.]]))
    """

    kind = "pairs_scatters"
    abilities = Abilities()
    contrast: Contrast

    def __init__(self, n_features: int, *, searches: bool, sample_size: int | None = None) -> None:
        self.n_features = n_features
        self.contrast = Contrast(PairScatter(n_features), PairScatter(n_features), None)
        self.sample = PairSample(n_features, sample_size)
        self.folds = PairFolds(n_features, FOLDS) if searches else None
        self.farthest = 0.0

    @classmethod
    def begun(cls, task: PairTask) -> Self:
        """Return a learner that has seen nothing."""
        return cls(task.n_features, searches=task.searches, sample_size=task.sample_size)

    def add(self, given: Pairs) -> None:
        """Learn from more checked pairs: any chunks, in any order, give the same scatters."""
        self._learn(given)

    def _learn(self, given: Pairs) -> NDArray[np.uint64]:
        """Add pairs; return what they are known by when they come again."""
        contrast = self.contrast
        contrast.weights = None
        self.farthest = max(self.farthest, farthest_apart(given))
        known, found = [np.empty(0, np.uint64)], [np.empty(0, np.int8)]
        for start in range(0, len(given), PAIRS_AT_A_TIME):
            block = given.chosen(slice(start, start + PAIRS_AT_A_TIME))
            hashes = pair_hashes(block)
            folds = np.full(len(block), -1, np.int8) if self.folds is None else folds_of(block)
            self.sample.add(hashes, block, folds)
            known.append(hashes)
            found.append(folds)
        add_signed((contrast.reward, contrast.penalty), given)
        if self.folds is not None:
            self.folds.add(given, np.concatenate(found))
        return np.concatenate(known)

    def read(self, source: PairSource, question: PairQuestion) -> Solution | None:
        """Learn from all the pairs of a source; return the answer to a question."""
        hashes = [np.empty(0, np.uint64), *map(self._learn, source.parts())]
        if self.n_terms == 0:
            return None
        found = self.solution(question)
        known = np.concatenate(hashes)
        return with_training(found, TrainingPairs.of_all(source, found.pairs.vectors, known))

    def merge(self, later: Self) -> Self:
        """Return what has learned from the pairs of both; neither is changed."""
        merged = type(self)(self.n_features, searches=False)
        merged.contrast = self.contrast.merge(later.contrast)
        merged.contrast.weights = None
        merged.sample = self.sample.merged(later.sample)
        merged.farthest = max(self.farthest, later.farthest)
        if self.folds is not None and later.folds is not None:
            merged.folds = self.folds.merged(later.folds)
        return merged

    def solution(self, question: PairQuestion) -> Solution:
        """Return the answer of the scatters, which know the weights in it from then on."""
        contrast = self.contrast
        assert contrast.penalty is not None
        sampled = cache(self.sample.read)

        def folds() -> Sequence[Fold]:
            if self.folds is None:
                raise ValueError(
                    "eta is to be chosen by the data, but the pairs so far were learned with a "
                    "given one: give eta as a number, or fit anew."
                )
            return held_out_folds(contrast, self.folds, self.sample)

        def counts(vectors: Float64s) -> PairCounts:
            differences, signs, _, weights = sampled()
            return counts_of_differences(differences @ vectors, signs, weights)

        found = question.of_scatters(
            Evidence(
                operator=Matrices(contrast.reward.matrix(), contrast.penalty.matrix()),
                n_different=contrast.reward.weight,
                n_same=contrast.penalty.weight,
                rounding=contrast.rounding,
                groupings=[folds],
                counts=counts,
                diameter=self.farthest,
                mean=contrast.reward.mean,
                n_rows=self.n_rows,
            )
        )
        contrast.weights = found.details["weights"]
        return found

    def training(self, solution: Solution) -> TrainingPairs:
        """Return the pairs that were learned from, as they lie after a solution."""
        trained = part(solution.details, "trained")
        if trained:
            return TrainingPairs.restored(trained)
        return TrainingPairs.of_sample(self.sample, solution.pairs.vectors)

    @property
    def n_rows(self) -> int:
        """The number of pairs seen."""
        assert self.contrast.penalty is not None
        return self.contrast.reward.n_rows + self.contrast.penalty.n_rows

    @property
    def n_terms(self) -> int:
        """The number of negative pairs: without any there is nothing to reward."""
        return self.contrast.reward.count

    def state(self) -> State:
        """Return all that has been learned as a flat dict of arrays, numbers and strings."""
        parts = {"contrast": self.contrast.state(), "sample": self.sample.state()}
        if self.folds is not None:
            parts["folds"] = self.folds.state()
        own = {"kind": self.kind, "n_features": self.n_features, "farthest": self.farthest}
        return own | joined(**parts)

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a learner that goes on from a ``state``, to the last bit."""
        learner = cls(int(state["n_features"]), searches=False)
        learner.contrast = Contrast.restored(part(state, "contrast"))
        learner.sample = PairSample.restored(part(state, "sample"))
        folds: Any = part(state, "folds")
        learner.folds = PairFolds.restored(folds) if folds else None
        learner.farthest = float(state["farthest"])
        return learner
