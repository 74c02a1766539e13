"""The estimators: contrast x solver x features."""

from eigenstream.estimators._alpha import AlphaPath
from eigenstream.estimators._bounds import PairRule, SubspaceBound
from eigenstream.estimators._gram import median_square
from eigenstream.estimators.class_subspace import ClassSubspace
from eigenstream.estimators.one_shot import ThresholdClassifier
from eigenstream.estimators.pair_metric import PairMetric
from eigenstream.estimators.pair_subspace import PairSubspace
from eigenstream.estimators.slow_subspace import SlowSubspace
from eigenstream.estimators.stream_pca import StreamPCA

__all__ = [
    "AlphaPath",
    "ClassSubspace",
    "PairMetric",
    "PairRule",
    "PairSubspace",
    "SlowSubspace",
    "StreamPCA",
    "SubspaceBound",
    "ThresholdClassifier",
    "median_square",
]
