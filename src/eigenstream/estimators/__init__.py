"""The estimators: contrast x solver x features."""

from eigenstream.estimators.one_shot import ThresholdClassifier
from eigenstream.estimators.pairs import ClassSubspace, PairMetric, PairSubspace
from eigenstream.estimators.temporal import (
    AlphaPath,
    LagPath,
    PairRule,
    SlowSubspace,
    StreamPCA,
    SubspaceBound,
    lag_path,
)
from eigenstream.learners.pairs import median_square

__all__ = [
    "AlphaPath",
    "ClassSubspace",
    "LagPath",
    "PairMetric",
    "PairRule",
    "PairSubspace",
    "SlowSubspace",
    "StreamPCA",
    "SubspaceBound",
    "ThresholdClassifier",
    "lag_path",
    "median_square",
]
