"""Learning online by a rule: what is kept are the weights and the rows of one block."""

from eigenstream.learners.online._flow import FlowMonitor, FlowSolution, FlowSolver
from eigenstream.online import Progress, check_options

__all__ = [
    "FlowMonitor",
    "FlowSolution",
    "FlowSolver",
    "Progress",
    "check_options",
]
