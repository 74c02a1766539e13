"""Learning online by Hebbian rules, one observation at a time."""

from eigenstream.online.plan import Plan, Progress, check_options
from eigenstream.online.rules import (
    HEBB,
    OJA_FLOW,
    OJA_LINEAR,
    OJA_NORMALIZED,
    OJA_SUBSPACE,
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
    "OJA_SUBSPACE",
    "RULES",
    "SANGER",
    "SANGER_NORMALIZED",
    "Plan",
    "Progress",
    "Rule",
    "UnstableStepError",
    "check_options",
]
