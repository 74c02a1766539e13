"""In which space: maps applied before the scatters."""

from eigenstream.features.rbf import RBFNetwork

__all__ = ["RBFNetwork"]
