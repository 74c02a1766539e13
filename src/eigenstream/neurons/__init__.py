"""Neurons: single units and small layers that learn by local rules."""

from eigenstream.neurons.adaline import Adaline, AdalineRegressor
from eigenstream.neurons.multilayer import MultilayerPerceptron, MultilayerPerceptronRegressor
from eigenstream.neurons.oja import OjaNeuron
from eigenstream.neurons.perceptron import Perceptron
from eigenstream.neurons.sanger import SangerNetwork

__all__ = [
    "Adaline",
    "AdalineRegressor",
    "MultilayerPerceptron",
    "MultilayerPerceptronRegressor",
    "OjaNeuron",
    "Perceptron",
    "SangerNetwork",
]
