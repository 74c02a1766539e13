"""Learning from pairs and from labels by the operator sketch: several of them, several passes."""

from copy import deepcopy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from eigenstream.learners.base import Solution
from eigenstream.learners.pairs._couples import SKETCH_READS, sketch_for
from eigenstream.learners.pairs._labels import with_training_rows
from eigenstream.learners.pairs._online import ONLINE, LabelsOnline, PairsOnline
from eigenstream.learners.pairs._training import TrainingPairs
from eigenstream.learners.pairs.base import PairQuestion, PairSource, with_training
from eigenstream.learners.sketch import OperatorSketch

__all__ = ["LabelsSketched", "PairsSketched"]

#: The sketch also finds how many directions raise the objective, adds up, and comes nearer to the
#: best answer with every pass.
SKETCHED = replace(ONLINE, all_positive=True, merges=True, more_passes=True)


class PairsSketched(PairsOnline):
    """Keeps the operator sketch of couples of pairs, and a sample of the pairs."""

    kind = "pairs_sketch"
    abilities = SKETCHED
    reads = SKETCH_READS
    SOLVER = OperatorSketch
    COUPLES_FOR = staticmethod(sketch_for)

    def read(self, source: PairSource, question: PairQuestion) -> Solution | None:
        """Learn from all the pairs of a source, as many times as it says; answer a question."""
        hashes = np.concatenate([self._learn(some) for some in source.parts()])
        if self.n_terms == 0:
            return None
        for _ in range(1, source.passes):
            self.couples = self.couples.another_pass()
            for some in source.parts():
                self.couples.add(some)
        found = self.solution(question)
        return with_training(found, TrainingPairs.of_all(source, found.pairs.vectors, hashes))

    def merge(self, later: Self) -> Self:
        """Return what has learned from the pairs of both; neither is changed.

        What either has cut off is lost: exact only where nothing is (see docs/online.md).
        """
        check_width(self, later)
        merged = type(self)(self.n_features, self.couples.merged(later.couples))
        merged.sample = self.sample.merged(later.sample)
        merged.farthest = max(self.farthest, later.farthest)
        return merged


class LabelsSketched(LabelsOnline):
    """Keeps the operator sketch of couples of pairs that a stream of labelled rows makes."""

    kind = "labels_sketch"
    abilities = SKETCHED
    reads = SKETCH_READS
    SOLVER = OperatorSketch
    COUPLES_FOR = staticmethod(sketch_for)

    def read(self, source: PairSource, question: PairQuestion) -> Solution | None:
        """Learn from all the rows of a source, as many times as it says; answer a question."""
        for some in source.parts(shuffled=True):
            self.add(some)
        if self.n_terms == 0:
            return None
        for _ in range(1, source.passes):
            # Other pairs of the same rows: they add up. The reach is empty at first, or rows would
            # meet themselves.
            self.stream = self.stream.anew()
            for part in source.parts(shuffled=True):
                for some in self._pieces(part):
                    self._learn(some)
        return with_training_rows(self.solution(question), source, self.sample, self.group_weights)

    def merge(self, later: Self) -> Self:
        """Return what has learned from the rows of both; neither is changed.

        Pairs across them are not learned, and what either has cut off is lost: exact only where
        nothing is (see docs/online.md). More rows follow the later ones.
        """
        check_width(self, later)
        if self.group_weights != later.group_weights:
            raise ValueError(
                f"one has group_weights={self.group_weights!r}, the other "
                f"group_weights={later.group_weights!r}: give both the same."
            )
        stream = deepcopy(later.stream if later.seen else self.stream)
        couples = self.couples.merged(later.couples)
        merged = type(self)(couples, stream, self.n_features, self.group_weights)
        merged.seen = self.seen + later.seen
        share = later.seen / merged.seen if merged.seen else 0.0
        merged.mean = self.mean + share * (later.mean - self.mean)
        merged.sample = self.sample.merged(later.sample)
        merged.radius = self.radius.merge(later.radius)
        return merged


def check_width(left: Any, right: Any) -> None:
    """Refuse to merge what has learned rows of two widths."""
    if left.n_features != right.n_features:
        raise ValueError(
            f"only sketches of rows of one width merge, got {left.n_features} and "
            f"{right.n_features} features."
        )
