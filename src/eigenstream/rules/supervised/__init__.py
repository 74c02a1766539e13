"""Rules that learn from errors: compiled loops, an example at a time, and batches as products."""

from eigenstream.rules.supervised.linear import Units, adaline_steps, perceptron_steps
from eigenstream.rules.supervised.network import (
    OUTPUTS,
    BatchSteps,
    Network,
    backpropagation_steps,
    network_answers,
)

__all__ = [
    "OUTPUTS",
    "BatchSteps",
    "Network",
    "Units",
    "adaline_steps",
    "backpropagation_steps",
    "network_answers",
    "perceptron_steps",
]
