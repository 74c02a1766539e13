"""Risks and bounds of what was learned from pairs: of all of them, or of a sample."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream.estimators import _input, _mapping
from eigenstream.estimators._class_folds import farthest_from, plain
from eigenstream.estimators._pair_bounds import (
    TrainingPairs,
    bound_of_pairs,
    kind_of_sample,
    kinds_of,
)
from eigenstream.estimators._pair_flow import Online
from eigenstream.estimators._pair_input import Pairs, longest_difference
from eigenstream.estimators._pair_parameters import check_diameter
from eigenstream.estimators._samples import PairSample
from eigenstream.evaluation import pair_risk
from eigenstream.evaluation.base import PairCounts, counts_of_pairs, distances_of
from eigenstream.theory.bounds import RiskBound


class PairRisk(Online):
    """What an estimator needs to say how well it tells its pairs apart."""

    # What learning sets.
    _sample: PairSample
    _farthest: float

    def _forget_counts(self) -> None:
        super()._forget_counts()
        self.__dict__.pop("_trained", None)

    def _training_counts(self) -> PairCounts:
        solution = self._solved()
        trained: TrainingPairs | None = self.__dict__.get("_trained")
        if trained is not None:
            return trained.counts
        differences, signs, _, weights = self._sample.read()
        return counts_of_differences(differences @ solution.pairs.vectors, signs, weights)

    def _counted_pairs(self, given: Pairs, hashes: NDArray[np.uint64]) -> TrainingPairs:
        """Return the counts of all these pairs by their learned distance."""
        vectors = self._solved().pairs.vectors
        if given.index is not None:
            Z = np.asarray(_mapping.mapped(self._map, given.points) @ vectors, np.float64)
            distances = distances_of(Z, given.index)
        else:
            distances = np.empty(len(given))
            step = _input.chunk_rows(2 * max(given.width, len(vectors)))
            for start in range(0, len(given), step):
                part = slice(start, start + step)
                apart = self._mapped_pairs(given.chosen(part)).differences() @ vectors
                distances[part] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        counts = counts_of_pairs(distances, given.signs, given.weights)
        return TrainingPairs(counts, kinds_of(hashes, given.signs, given.weights))

    @property
    def risk_standard_error_(self) -> float:
        """How far ``risk_`` may be from that of all training pairs: 0 where it is theirs.

        The standard error from having kept a sample of the pairs of a stream.
        """
        counts = self._counts()
        if "_trained" in self.__dict__:
            return 0.0
        differences, signs, _, weights = self._sample.read()
        apart = differences @ self._solved().pairs.vectors
        lengths = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        n_distinct = [self._sample.signs[sign].n_distinct for sign in (1, -1)]
        threshold = pair_risk.risk_curve(counts).threshold
        return pair_risk.pairs_error(lengths, signs, weights, n_distinct, threshold)

    def _risk_bound(self, margin: float, delta: float) -> RiskBound:
        counts = self._counts()
        trained: TrainingPairs | None = self.__dict__.get("_trained")
        if trained is not None:
            kinds = trained.kinds
        else:
            kinds = kind_of_sample(self._sample.signs[1]), kind_of_sample(self._sample.signs[-1])
        norms = float(np.sqrt(self.n_components_)), 1.0
        return bound_of_pairs(
            counts, kinds, norms, margin, delta, self.diameter_, balanced=self.balanced
        )

    def _reach(self, mapped: Pairs) -> None:
        """Keep a bound on the distance of the members of all pairs."""
        if mapped.index is None:
            kept = mapped if mapped.weights is None else mapped.chosen(mapped.weights > 0)
            farthest = longest_difference(kept)
            check_diameter(self.diameter, farthest)
        else:  # all the points that pairs may refer to: they are fewer than the pairs
            points = mapped.points
            mean = np.asarray(points.mean(axis=0, dtype=np.float64)).ravel()
            farthest = 2.0 * farthest_from(points, mean)
            if self.diameter is not None:
                check_diameter(self.diameter, farthest_from(points, plain(points[:1])[0]))
        self._farthest = max(self.__dict__.get("_farthest", 0.0), farthest)

    def _data_diameter(self) -> float:
        return float(np.sqrt(2.0)) if self.kernel == "rbf" else self._farthest

    def _mapped_pairs(self, block: Pairs) -> Pairs:
        """Return explicit pairs behind the feature map."""
        if self.features is None:
            return block
        mapped = self.features_.transform(block.members)
        explicit = mapped.reshape(len(block), 2, -1)
        return Pairs(explicit, None, None, block.signs, block.weights)


def counts_of_differences(apart: Any, signs: Any, weights: Any) -> PairCounts:
    """Return the counts of pairs by the lengths of their projected differences."""
    lengths = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    return counts_of_pairs(lengths, signs, weights)
