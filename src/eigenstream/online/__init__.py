"""Learning online by Hebbian rules, one observation at a time."""

from eigenstream.online.plan import Plan, Progress
from eigenstream.online.rules import (
    HEBB,
    OJA_FLOW,
    OJA_LINEAR,
    OJA_NORMALIZED,
    RULES,
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
    "RULES",
    "SANGER",
    "SANGER_NORMALIZED",
    "Plan",
    "Progress",
    "Rule",
    "UnstableStepError",
]
