"""Learn what stays the same: low-dimensional features from streams, from time and from pairs."""

from eigenstream.contrast import Contrast
from eigenstream.estimators import AlphaPath, SlowSubspace, StreamPCA, SubspaceBound
from eigenstream.features import RBFNetwork
from eigenstream.scatters import Scatter, VarianceScatter, VelocityScatter, merge

__version__ = "0.1.0"

__all__ = [
    "AlphaPath",
    "Contrast",
    "RBFNetwork",
    "Scatter",
    "SlowSubspace",
    "StreamPCA",
    "SubspaceBound",
    "VarianceScatter",
    "VelocityScatter",
    "__version__",
    "merge",
]
