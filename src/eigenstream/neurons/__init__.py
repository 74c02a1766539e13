"""Neurons: single units and small layers that learn by local rules."""

from eigenstream.core.history import History
from eigenstream.neurons.hebbian import OjaNeuron, SangerNetwork
from eigenstream.neurons.linear import Adaline, AdalineRegressor, Perceptron
from eigenstream.neurons.multilayer import MultilayerPerceptron, MultilayerPerceptronRegressor

__all__ = [
    "Adaline",
    "AdalineRegressor",
    "History",
    "MultilayerPerceptron",
    "MultilayerPerceptronRegressor",
    "OjaNeuron",
    "Perceptron",
    "SangerNetwork",
]
