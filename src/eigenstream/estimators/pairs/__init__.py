"""Learning from pairs and from labels: hyperbolic PCA, and a metric beside it."""

from eigenstream.estimators.pairs.class_subspace import ClassSubspace
from eigenstream.estimators.pairs.pair_metric import PairMetric
from eigenstream.estimators.pairs.pair_subspace import PairSubspace

__all__ = ["ClassSubspace", "PairMetric", "PairSubspace"]
