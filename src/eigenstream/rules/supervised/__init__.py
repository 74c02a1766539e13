"""Rules that learn from errors: plain compiled loops, an example at a time.

The block engine runs the perceptron and Adaline exactly, too (``PERCEPTRON`` and ``ADALINE``): they
see their rows through inner products only. One unit's step costs 2 D multiplications in a plain
loop, and in a block of b rows b / 2 times as many for the inner products alone: the plain loops are
what the neurons use.
"""

from eigenstream.rules.supervised.adaline import ADALINE, adaline_steps
from eigenstream.rules.supervised.backpropagation import backpropagation_steps
from eigenstream.rules.supervised.base import Network, Units
from eigenstream.rules.supervised.batches import BatchSteps, network_answers
from eigenstream.rules.supervised.perceptron import PERCEPTRON, perceptron_steps

__all__ = [
    "ADALINE",
    "PERCEPTRON",
    "BatchSteps",
    "Network",
    "Units",
    "adaline_steps",
    "backpropagation_steps",
    "network_answers",
    "perceptron_steps",
]
