"""Learning online by a rule: what is kept are the weights and the rows of one block."""

from eigenstream.learners.online._flow import FlowMonitor, FlowSolution, FlowSolver
from eigenstream.learners.online._rule import OnlineLearner
from eigenstream.learners.online.base import Plan, Progress, check_options

__all__ = [
    "FlowMonitor",
    "FlowSolution",
    "FlowSolver",
    "OnlineLearner",
    "Plan",
    "Progress",
    "check_options",
]
