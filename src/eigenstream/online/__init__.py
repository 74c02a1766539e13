"""Learning online by Hebbian rules, one observation at a time."""

from eigenstream.online.plan import Plan, Progress, UnstableStepError

__all__ = ["Plan", "Progress", "UnstableStepError"]
