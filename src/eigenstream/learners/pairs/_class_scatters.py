"""Learning from the scatters of labelled rows: all the pairs that the labels imply."""

from functools import cache, partial
from typing import Any, Self

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream._memory import physical_memory
from eigenstream._state import State, joined, part
from eigenstream.contrast import Contrast
from eigenstream.evaluation.base import PairCounts
from eigenstream.evaluation.pair_risk import TrainingRows
from eigenstream.learners.base import Abilities, Solution
from eigenstream.learners.pairs._class_folds import (
    ScaledScatter,
    classes_in_order,
    scaled_without,
    scatter_folds,
    without_of_rows,
)
from eigenstream.learners.pairs._eta import FOLDS, Fold, Matrices, groupings_of
from eigenstream.learners.pairs._labels import columns_of, training_rows, with_training_rows
from eigenstream.learners.pairs._samples import ClassSample
from eigenstream.learners.pairs._values import LabelledRows
from eigenstream.learners.pairs.base import (
    Evidence,
    PairLearner,
    PairQuestion,
    PairSource,
    PairTask,
)
from eigenstream.scatters import ClassScatter
from eigenstream.scatters.classes import Key, keys_of, state_bytes
from eigenstream.scatters.radius_bound import RadiusBound
from eigenstream.solvers.base import MEMORY_SHARE

__all__ = ["LabelsFromScatters"]


class LabelsFromScatters(PairLearner):
    """Keeps the moments of every class, from which the scatters of all pairs follow, and a sample.

    Memory: one D x D matrix a class, or its rows while these take less; of one ``read`` of more
    classes than memory holds, two matrices in all, which nothing can be added to.

    Examples
    --------
    >>> import numpy as np
    >>> learner = LabelsFromScatters(ClassScatter(1, same=False))
    >>> learner.add(LabelledRows(np.array([[0.0], [2.0], [5.0]]), np.array(["a", "a", "b"])))
    >>> learner.n_terms, learner.contrast.matrix((1.0, 1.0))  # 17 - 4
    (2, array([[13.]]))
    """

    kind = "labels_scatters"
    abilities = Abilities()
    reads = ("scale",)
    contrast: Contrast

    def __init__(self, reward: ClassScatter, *, sample_size: int | None = None) -> None:
        self.n_features = reward.n_features
        self.reward = reward
        self.contrast = Contrast(reward, reward.other_kind(), None)
        self.sample = ClassSample(reward.n_features, sample_size)

    @classmethod
    def begun(cls, task: PairTask) -> Self:
        """Return a learner that has seen nothing."""
        group_weights = task.given["group_weights"]
        reward = ClassScatter(task.n_features, same=False, group_weights=group_weights)
        return cls(reward, sample_size=task.sample_size)

    @property
    def first_row(self) -> Float64s | None:  # type: ignore[override]
        """The first of all rows that weigh anything."""
        return self.radius.first

    @property
    def radius(self) -> RadiusBound:
        """How far away rows lie."""
        return self.contrast.radius

    def add(self, given: LabelledRows) -> None:
        """Learn from more checked rows; any chunks, in any order, give the same scatters."""
        self.reward.add_checked(given.rows, given.labels, given.groups, given.weights)
        self.contrast.weights = None
        self.radius.add(given.rows, given.weights)
        self.sample.add(given)

    def read(self, source: PairSource, question: PairQuestion) -> Solution | None:
        """Learn from all the rows of a source; return the answer to a question."""
        given, group_weights = source.given, self.reward.group_weights
        sizes = np.bincount(keys_of(given.labels, given.groups)[1])
        if state_bytes(sizes, self.n_features) > MEMORY_SHARE * physical_memory():
            mapped, learned = source.whole(), self.radius
            without = without_of_rows(mapped, group_weights)
            self.reward = without(frozenset())
            self.contrast = Contrast(self.reward, self.reward.other_kind(), None)
            self.contrast.radius = learned
            self.radius.add(mapped.rows, mapped.weights)
            self.sample.add(mapped)
            keys = classes_in_order(mapped.weighing)[0]
        else:
            for some in source.parts():
                self.add(some)
            keys, without = self.reward.in_order(), self.reward.without
        if self.n_terms == 0:
            return None
        return with_training_rows(
            self._solution(question, keys, without), source, self.sample, group_weights
        )

    def merge(self, later: Self) -> Self:
        """Return what has learned from the rows of both, pairs across them included."""
        merged = type(self)(self.reward.merge(later.reward))
        merged.contrast.radius = self.radius.merge(later.radius)
        merged.sample = self.sample.merged(later.sample)
        return merged

    def solution(self, question: PairQuestion) -> Solution:
        """Return the answer of the scatters, which know the weights in it from then on."""
        return self._solution(question, self.reward.in_order(), self.reward.without)

    def _solution(self, question: PairQuestion, keys: list[Key], without: Any) -> Solution:
        contrast, reward = self.contrast, self.reward
        assert contrast.penalty is not None
        contrast.scaled = question.scaled
        scale, whole = contrast.scale, ScaledScatter(reward, contrast.scale)
        without = scaled_without(without, scale) if contrast.scaled else without
        sampled = cache(lambda: self.sample.read(keys))

        def folds(place: dict[Key, int]) -> list[Fold]:
            rows, of_rows = sampled()
            rows = rows / scale if contrast.scaled else rows
            return list(scatter_folds(whole, without, rows, of_rows, place))

        def counts(vectors: Float64s) -> PairCounts:
            columns = vectors / scale[:, None]
            return self.sample.drawn().projected(columns, reward.group_weights).counts()

        found = question.of_scatters(
            Evidence(
                operator=Matrices(whole.matrix(), whole.other_kind().matrix()),
                n_different=reward.weight,
                n_same=contrast.penalty.weight,
                rounding=contrast.rounding,
                groupings=[partial(folds, place) for place in groupings_of(keys, FOLDS)],
                counts=counts,
                # What no two scaled rows can be farther apart than: loose where units differ.
                diameter=self.radius.diameter / float(scale.min()),
                mean=reward.mean,
                n_rows=reward.n_rows,
                floor=max(contrast.floor((1.0, 0.0)), contrast.floor((0.0, 1.0))),
            )
        )
        contrast.weights = found.details["weights"]
        if contrast.scaled:
            found.details["scale"] = scale
        return found

    def training(self, solution: Solution) -> TrainingRows:
        """Return the rows that were learned from, as they lie after a solution."""
        return training_rows(solution) or self.sample.drawn().projected(
            columns_of(solution), self.reward.group_weights
        )

    @property
    def n_rows(self) -> int:
        """The number of rows seen with a positive weight."""
        return self.reward.n_rows

    @property
    def n_terms(self) -> int:
        """The number of pairs of different classes: without any there is nothing to reward."""
        return self.reward.count

    def state(self) -> State:
        """Return all that has been learned as a flat dict of arrays, numbers and strings."""
        # One set of moments serves both scatters of the contrast.
        parts = {"reward": self.reward.state(), "radius": self.radius.state()}
        own: State = {"kind": self.kind, "scaled": self.contrast.scaled}
        if self.contrast.weights is not None:
            own["weights"] = np.array(self.contrast.weights)
        return own | joined(**parts, sample=self.sample.state())

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return a learner that goes on from a ``state``, to the last bit."""
        learner = cls(ClassScatter.restored(part(state, "reward")))
        learner.contrast.radius = RadiusBound.restored(part(state, "radius"))
        learner.contrast.scaled = bool(state["scaled"])
        if "weights" in state:
            reward, penalty = np.asarray(state["weights"]).tolist()
            learner.contrast.weights = reward, penalty
        learner.sample = ClassSample.restored(part(state, "sample"))
        return learner
