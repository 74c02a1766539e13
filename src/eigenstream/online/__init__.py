"""Learning online by Hebbian rules, one observation at a time."""

from eigenstream.online.plan import Plan, Progress
from eigenstream.online.rules import OJA_FLOW, RULES, Rule, UnstableStepError

__all__ = ["OJA_FLOW", "RULES", "Plan", "Progress", "Rule", "UnstableStepError"]
