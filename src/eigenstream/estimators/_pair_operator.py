"""Learning from pairs as edges between points: matrix-free, or in a kernel's space."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenstream.estimators import _mapping
from eigenstream.estimators._class_folds import plain
from eigenstream.estimators._pair_bounds import TrainingPairs, kinds_of
from eigenstream.estimators._pair_folds import (
    folds_by_hash,
    folds_of_members,
    operator_folds,
    spread_pairs,
)
from eigenstream.estimators._pair_input import Pairs
from eigenstream.estimators._pair_solve import Fold
from eigenstream.estimators._pairs_risk import PairRisk
from eigenstream.estimators._pairwise import SEARCH_ROWS, Problem
from eigenstream.estimators._samples import pair_hashes
from eigenstream.evaluation.base import PairCounts, counts_of_pairs, distances_of
from eigenstream.scatters.laplacians import PairLaplacian
from eigenstream.solvers import dual


class ByPairOperator(PairRisk):
    """What an estimator needs to learn from pairs without their scatters."""

    def _fit_operator(self, given: Pairs, width: int) -> Any:
        """Learn from pairs as edges between points: matrix-free, or in a kernel's space."""
        if self.kernel == "precomputed" and given.index is None:
            raise ValueError(
                "kernel='precomputed' takes index pairs (n, 2), with preprocessor=G, the Gram "
                "matrix of the points."
            )
        if given.weights is not None:
            given = given.chosen(given.weights > 0)
        if given.index is None:
            raw, index = given.members, np.arange(2 * len(given)).reshape(-1, 2)
        elif self.kernel == "precomputed":
            raw, index = given.points, given.index
        else:
            used, index = np.unique(given.index, return_inverse=True)
            raw, index = given.points, index.reshape(-1, 2)
        points = _mapping.mapped(self._map, raw)
        explicit = None if given.index is not None else points.reshape(len(given), 2, -1)
        mapped = Pairs(explicit, given.index, points, given.signs, given.weights)
        hashes = pair_hashes(mapped)
        if self.kernel == "precomputed":
            self._farthest = 2.0 * float(np.sqrt(max(np.diagonal(raw).max(), 0.0)))
        elif self.kernel == "linear":
            self._reach(mapped)
        if given.index is not None and self.kernel != "precomputed":
            points = points[used]
        laplacian = PairLaplacian.of(points.shape[0], index, given.signs, given.weights)
        parts = folds_of_members(given) if self._searches else None
        indexed = Pairs(None, index, points, given.signs, given.weights)
        if parts is None:
            parts = folds_by_hash(hashes)
        factor: Any = None
        if self.solver_ == "krylov":
            self._check_width(width)
            operator = dual.PairOperator(points, laplacian)
        else:
            if self.kernel == "linear":
                points = np.asarray(plain(points), np.float64)
                points = points - points.mean(axis=0)
            factor = self._factor(points)
            operator = dual.PairOperator(factor, laplacian)

        def counts(vectors: Any) -> PairCounts:
            if factor is None:
                Z = np.asarray(points @ vectors)
            else:
                Z = np.column_stack([factor.times(np.ascontiguousarray(v)) for v in vectors.T])
            distances = distances_of(Z, index)
            return counts_of_pairs(distances, given.signs, given.weights)

        def folds() -> Sequence[Fold]:
            if factor is None:
                return operator_folds(points, indexed, parts)
            some, kept, index = spread_pairs(indexed, SEARCH_ROWS)
            fewer = indexed.chosen(kept)
            search = self._coordinates(points, factor, some)
            pairs = Pairs(None, index, search, fewer.signs, fewer.weights)
            return operator_folds(search, pairs, parts[kept])

        problem = Problem(
            operator=operator,
            n_different=laplacian.n_different,
            n_same=laplacian.n_same,
            rounding=operator.n_features * float(np.finfo(np.float64).eps),
            always_dense=False,
            groupings=[folds],
            counts=counts,
            diameter=self._data_diameter(),
        )
        solution = self._solved_problem(problem, np.zeros(width), len(given))
        self._trained = TrainingPairs(
            counts(solution.pairs.vectors), kinds_of(hashes, given.signs, given.weights)
        )
        if factor is not None:
            solution = self._with_kernel(solution, factor, operator, points)
        return solution
