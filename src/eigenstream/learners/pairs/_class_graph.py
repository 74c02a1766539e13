"""Learning from labelled rows as points of a graph: matrix-free, or in a kernel's space."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream._state import State, joined, part
from eigenstream.evaluation.base import PairCounts, counts_of_classes
from eigenstream.evaluation.pair_risk import TrainingRows
from eigenstream.learners.base import Solution
from eigenstream.learners.pairs._class_folds import classes_in_order, operator_folds, spread
from eigenstream.learners.pairs._eta import FOLDS, Fold, groupings_of
from eigenstream.learners.pairs._graph import DUAL, MATRIX_FREE, GraphLearner
from eigenstream.learners.pairs._hashes import row_hashes
from eigenstream.learners.pairs._labels import (
    columns_of,
    rows_after,
    training_rows,
    with_training_rows,
)
from eigenstream.learners.pairs._samples import ClassSample
from eigenstream.learners.pairs._values import codes_of, plain
from eigenstream.learners.pairs.base import PairQuestion, PairSource, with_training
from eigenstream.scatters.classes import Key
from eigenstream.scatters.laplacians import ClassLaplacian
from eigenstream.scatters.radius_bound import RadiusBound
from eigenstream.solvers import dual

__all__ = ["LabelsInDual", "LabelsMatrixFree"]


class ClassGraph(GraphLearner):
    """All the pairs that labels imply are edges, in time linear in the rows."""

    _sample: ClassSample | None = None

    def read(self, source: PairSource, question: PairQuestion) -> Solution:
        """Find the answer to the question from all the rows of a source."""
        raw, given = source.given.weighing, source.whole().weighing
        linear, group_weights = self._given["kernel"] == "linear", self._given["group_weights"]
        points, weights = given.rows, given.weights
        radius, mean = RadiusBound(), np.zeros(raw.width)
        if linear:
            self._sample = ClassSample(given.width, self._sample_size)
            self._sample.add(given)
            radius.add(points, weights)
            mean = np.asarray(np.average(plain(points), axis=0, weights=weights)).ravel()
            if self.abilities.kernels:
                points = np.asarray(plain(points), np.float64) - mean
        diameter = self._diameter(raw.rows, lambda: radius.diameter)
        laplacian = ClassLaplacian.of(given.labels, given.groups, weights, group_weights)
        space = self._space(points)  # which refuses what is no Gram matrix
        # In a Gram matrix the rows are the features, too.
        keys, codes = classes_in_order(given, gram=self._precomputed)
        hashes = row_hashes(given.rows, unordered=self._precomputed)
        tasks = codes_of(keys[c][0] for c in codes)
        operator = dual.PairOperator(space.points, laplacian)

        def folds(place: dict[Key, int]) -> Sequence[Fold]:
            some = spread(codes, hashes, space.searched or len(codes))
            of_some = None if weights is None else weights[some]
            search = space.coordinates(some)
            known = keys, codes[some], hashes[some]
            return operator_folds(search, *known, of_some, place, group_weights)

        def counts(vectors: Float64s) -> PairCounts:
            Z = space.projected(vectors)
            return counts_of_classes(Z, codes, tasks, weights, group_weights=group_weights)

        groupings = [partial(folds, place) for place in groupings_of(keys, FOLDS)]
        solution = question.of_operator(
            self._evidence(operator, groupings, counts, diameter, mean, len(raw))
        )
        Z = space.projected(solution.pairs.vectors)
        solution = space.finished(solution, operator, weights)
        if self._sample is None:
            trained = rows_after(Z, raw, group_weights)
            self._answer = with_training(solution, trained)
        else:
            self._answer = with_training_rows(solution, source, self._sample, group_weights)
        return self._answer

    def training(self, solution: Solution) -> TrainingRows:
        """Return the rows that were learned from, as they lie after the solution."""
        found = training_rows(solution)
        if found is None:
            assert self._sample is not None
            columns = columns_of(solution)
            found = self._sample.drawn().projected(columns, self._given["group_weights"])
        return found

    def state(self) -> State:
        """Return the answer as a flat dict of arrays, numbers and strings."""
        sample = {} if self._sample is None else joined(sample=self._sample.state())
        return super().state() | sample

    @classmethod
    def restored(cls, state: State) -> "ClassGraph":
        """Return a learner with the answer of a ``state``."""
        learner = super().restored(state)
        sample = part(state, "sample")
        learner._sample = ClassSample.restored(sample) if sample else None
        return learner


class LabelsMatrixFree(ClassGraph):
    """Keeps the answer of T applied to vectors: for rows too wide for a matrix."""

    kind = "labels_matrix_free"
    abilities = MATRIX_FREE


class LabelsInDual(ClassGraph):
    """Keeps the answer in the space of a kernel, by the Gram matrix of the rows."""

    kind = "labels_dual"
    abilities = DUAL
