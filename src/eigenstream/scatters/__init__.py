"""What is averaged: scatters form a monoid, so that chunks and machines add up exactly."""

from eigenstream.scatters.base import Scatter, merge
from eigenstream.scatters.variance import VarianceScatter
from eigenstream.scatters.velocity import VelocityScatter

__all__ = ["Scatter", "VarianceScatter", "VelocityScatter", "merge"]
