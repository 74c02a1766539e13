"""The estimators: contrast x solver x features."""

from eigenstream.estimators.one_shot import ThresholdClassifier
from eigenstream.estimators.pairs import ClassSubspace, PairMetric, PairSubspace
from eigenstream.estimators.temporal import (
    AlphaPath,
    PairRule,
    SlowSubspace,
    StreamPCA,
    SubspaceBound,
)
from eigenstream.learners.pairs import median_square

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
