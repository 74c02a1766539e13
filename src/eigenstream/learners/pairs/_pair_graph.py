"""Learning from pairs as edges between their members: matrix-free, or in a kernel's space."""

from collections.abc import Sequence

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream._state import part
from eigenstream.evaluation.base import PairCounts, counts_of_pairs, distances_of
from eigenstream.learners.base import Solution
from eigenstream.learners.pairs._eta import Fold
from eigenstream.learners.pairs._graph import DUAL, MATRIX_FREE, GraphLearner
from eigenstream.learners.pairs._hashes import pair_hashes
from eigenstream.learners.pairs._pair_folds import folds_of, operator_folds, spread_pairs
from eigenstream.learners.pairs._training import TrainingPairs, kinds_of
from eigenstream.learners.pairs._values import Pairs, farthest_apart, plain
from eigenstream.learners.pairs.base import PairQuestion, PairSource, with_training
from eigenstream.scatters.laplacians import PairLaplacian
from eigenstream.solvers import dual

__all__ = ["PairsInDual", "PairsMatrixFree"]


class PairGraph(GraphLearner):
    """Pairs are edges between their members."""

    def read(self, source: PairSource, question: PairQuestion) -> Solution:
        """Find the answer to the question from all the pairs of a source."""
        raw, given = source.given.weighing, source.whole().weighing
        hashes = pair_hashes(given)
        diameter = self._diameter(raw.points, lambda: farthest_apart(given))
        points, index = given.members, np.arange(2 * len(given)).reshape(-1, 2)
        if given.index is not None:
            index = given.index
            if not self._precomputed:
                used, index = np.unique(index, return_inverse=True)
                points, index = points[used], index.reshape(-1, 2)
        if self.abilities.kernels and self._given["kernel"] == "linear":
            points = np.asarray(plain(points), np.float64)
            points = points - points.mean(axis=0)
        laplacian = PairLaplacian.of(points.shape[0], index, given.signs, given.weights)
        space = self._space(points)
        operator = dual.PairOperator(space.points, laplacian)
        edges = Pairs(None, index, points, given.signs, given.weights)

        def counts(vectors: Float64s) -> PairCounts:
            distances = distances_of(space.projected(vectors), index)
            return counts_of_pairs(distances, given.signs, given.weights)

        def folds() -> Sequence[Fold]:
            of_pairs = folds_of(given)
            if space.searched is None:
                return operator_folds(points, edges, of_pairs)
            some, kept, ends = spread_pairs(edges, space.searched)
            search, fewer = space.coordinates(some), edges.chosen(kept)
            pairs = Pairs(None, ends, search, fewer.signs, fewer.weights)
            return operator_folds(search, pairs, of_pairs[kept])

        mean = np.zeros(self.n_features)
        solution = question.of_operator(
            self._evidence(operator, [folds], counts, diameter, mean, len(given))
        )
        kinds = kinds_of(hashes, given.signs, given.weights)
        trained = TrainingPairs(counts(solution.pairs.vectors), kinds)
        self._answer = with_training(space.finished(solution, operator), trained)
        return self._answer

    def training(self, solution: Solution) -> TrainingPairs:
        """Return the pairs that were learned from."""
        return TrainingPairs.restored(part(solution.details, "trained"))


class PairsMatrixFree(PairGraph):
    """Keeps the answer of T applied to vectors: for rows too wide for a matrix."""

    kind = "pairs_matrix_free"
    abilities = MATRIX_FREE


class PairsInDual(PairGraph):
    """Keeps the answer in the space of a kernel, by the Gram matrix of the members."""

    kind = "pairs_dual"
    abilities = DUAL
