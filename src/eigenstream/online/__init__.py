"""Learning online by Hebbian rules, one observation at a time."""

from eigenstream.online.learner import OnlineLearner, Plan, Progress, check_options
from eigenstream.online.rules import (
    HEBB,
    OJA_FLOW,
    OJA_LINEAR,
    OJA_NORMALIZED,
    OJA_SUBSPACE,
    SANGER,
    SANGER_NORMALIZED,
    Rule,
    UnstableStepError,
)

__all__ = [
    "HEBB",
    "OJA_FLOW",
    "OJA_LINEAR",
    "OJA_NORMALIZED",
    "OJA_SUBSPACE",
    "SANGER",
    "SANGER_NORMALIZED",
    "OnlineLearner",
    "Plan",
    "Progress",
    "Rule",
    "UnstableStepError",
    "check_options",
]
