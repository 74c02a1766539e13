"""Measures of features: pair ROC, balanced risk, one-shot error, angles between subspaces."""

from eigenstream.evaluation.pair_risk import BalancedRisk, balanced_risk
from eigenstream.evaluation.scores import (
    OneShotError,
    PairROC,
    captured,
    one_shot_error,
    pair_roc,
    subspace_angles,
    time_blocks,
)

__all__ = [
    "BalancedRisk",
    "OneShotError",
    "PairROC",
    "balanced_risk",
    "captured",
    "one_shot_error",
    "pair_roc",
    "subspace_angles",
    "time_blocks",
]
