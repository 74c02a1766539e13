"""What is averaged: scatters form a monoid, so that chunks and machines add up exactly."""

from eigenstream.scatters.base import Scatter, StreamScatter, merge
from eigenstream.scatters.classes import ClassScatter
from eigenstream.scatters.pairs import PairScatter
from eigenstream.scatters.variance import VarianceScatter
from eigenstream.scatters.velocity import VelocityScatter

__all__ = [
    "ClassScatter",
    "PairScatter",
    "Scatter",
    "StreamScatter",
    "VarianceScatter",
    "VelocityScatter",
    "merge",
]
