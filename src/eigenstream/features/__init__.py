"""In which space: maps applied before the scatters."""

from eigenstream.features.gradients import GradientOrientation
from eigenstream.features.rbf import RBFNetwork

__all__ = ["GradientOrientation", "RBFNetwork"]
