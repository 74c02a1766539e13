"""Learn what stays the same: low-dimensional features from streams, from time and from pairs."""

from eigenstream.contrast import Contrast
from eigenstream.estimators import AlphaPath, ClassSubspace, SlowSubspace, StreamPCA
from eigenstream.scatters import (
    ClassScatter,
    PairScatter,
    Scatter,
    VarianceScatter,
    VelocityScatter,
    merge,
)

__version__ = "0.1.0"

__all__ = [
    "AlphaPath",
    "ClassScatter",
    "ClassSubspace",
    "Contrast",
    "PairScatter",
    "Scatter",
    "SlowSubspace",
    "StreamPCA",
    "VarianceScatter",
    "VelocityScatter",
    "__version__",
    "merge",
]
