"""Neurons: single units and small layers that learn by local rules."""

from eigenstream.neurons.oja import OjaNeuron
from eigenstream.neurons.sanger import SangerNetwork

__all__ = ["OjaNeuron", "SangerNetwork"]
