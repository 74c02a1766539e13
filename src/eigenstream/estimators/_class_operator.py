"""Learning from labelled rows as points of a graph: matrix-free, or in a kernel's space."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream.estimators import _mapping
from eigenstream.estimators._class_folds import (
    codes_of,
    operator_folds,
    plain,
    spread,
)
from eigenstream.estimators._class_risk import LabelRisk
from eigenstream.estimators._label_input import taken
from eigenstream.estimators._pair_solve import FOLDS, Fold, groupings_of
from eigenstream.estimators._pairwise import SEARCH_ROWS, Problem
from eigenstream.estimators._samples import ClassSample
from eigenstream.evaluation.base import PairCounts, counts_of_classes
from eigenstream.scatters.classes import Key, keys_of
from eigenstream.scatters.laplacians import ClassLaplacian
from eigenstream.scatters.radius_bound import RadiusBound
from eigenstream.solvers import dual


class ByOperator(LabelRisk):
    """What an estimator needs to learn from labels without the scatters of the classes."""

    def _fit_operator(self, rows: Any, labels: Any, groups: Any, weights: Any, solver: str) -> Any:
        """Learn from rows as points of a graph: matrix-free, or in a kernel's space."""
        if weights is not None and not (weights > 0).all():
            kept = np.flatnonzero(weights > 0)
            if self.kernel == "precomputed":
                raise ValueError(
                    f"row {np.flatnonzero(weights == 0)[0]} weighs nothing (or holds NaN, with "
                    "missing='skip'): leave it out of the Gram matrix, rows and columns."
                )
            rows, labels, groups, weights = taken(kept, rows, labels, groups, weights)
        points = _mapping.mapped(self._map, rows)
        laplacian = ClassLaplacian.of(labels, groups, weights, self.group_weights)
        keys, codes = keys_of(labels, groups)
        tasks = codes_of(key[0] for key in (keys[c] for c in codes))
        mean = np.zeros(rows.shape[1])
        diameter = float(np.sqrt(2.0))
        if self.kernel == "linear":
            self._sample, self._radius = ClassSample(points.shape[1]), RadiusBound()
            self._sample.add(points, labels, groups, weights)
            self._reach(points, weights)
            diameter = self._data_diameter()
        if solver == "krylov":
            mean = np.asarray(np.average(plain(points), axis=0, weights=weights)).ravel()
            self._check_width(points.shape[1])
            operator = dual.PairOperator(points, laplacian)
            training: Any = points
        else:
            if self.kernel == "linear":
                points = np.asarray(plain(points), np.float64)
                mean = np.average(points, axis=0, weights=weights)
                points = points - mean
            factor = self._factor(points)
            if self.kernel == "precomputed":
                diameter = 2.0 * float(np.sqrt(max(np.diagonal(rows).max(), 0.0)))
            operator = dual.PairOperator(factor, laplacian)
            training = None

        def folds(place: Mapping[Key, int]) -> Sequence[Fold]:
            if training is not None:
                return operator_folds(training, keys, codes, weights, place, self.group_weights)
            some = spread(codes, SEARCH_ROWS)
            search = self._coordinates(points, factor, some)
            return operator_folds(
                search,
                keys,
                codes[some],
                None if weights is None else weights[some],
                place,
                self.group_weights,
            )

        def counts(vectors: Float64s) -> PairCounts:
            if training is not None:
                Z = np.asarray(training @ vectors)
            else:
                Z = np.column_stack([factor.times(np.ascontiguousarray(v)) for v in vectors.T])
            return counts_of_classes(Z, codes, tasks, weights, group_weights=self.group_weights)

        problem = Problem(
            operator=operator,
            n_different=laplacian.n_different,
            n_same=laplacian.n_same,
            rounding=operator.n_features * float(np.finfo(np.float64).eps),
            always_dense=False,
            groupings=[partial(folds, place) for place in groupings_of(keys, FOLDS)],
            counts=counts,
            diameter=diameter,
        )
        solution = self._solved_problem(problem, mean, len(labels))
        if solver == "dual":
            solution = self._with_kernel(solution, factor, operator, points, weights)
        return solution
