"""Measures of features: pair ROC, balanced risk, one-shot error, angles between subspaces."""

from eigenstream.evaluation.pair_risk import BalancedRisk, RateInterval, balanced_risk
from eigenstream.evaluation.scores import (
    PairROC,
    captured,
    one_shot_error,
    pair_roc,
    subspace_angles,
    time_blocks,
)
from eigenstream.evaluation.sums import SumScores, cross_validate_sums

__all__ = [
    "BalancedRisk",
    "PairROC",
    "RateInterval",
    "SumScores",
    "balanced_risk",
    "captured",
    "cross_validate_sums",
    "one_shot_error",
    "pair_roc",
    "subspace_angles",
    "time_blocks",
]
