"""Learn what stays the same: low-dimensional features from streams, from time and from pairs."""

from eigenstream.constraints import LabelledPairs, TemporalPairs, sample_pairs
from eigenstream.contrast import Contrast
from eigenstream.estimators import (
    AlphaPath,
    ClassSubspace,
    PairMetric,
    PairSubspace,
    SlowSubspace,
    StreamPCA,
    SubspaceBound,
    ThresholdClassifier,
)
from eigenstream.features import RBFNetwork
from eigenstream.neurons import OjaNeuron, SangerNetwork
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
    "LabelledPairs",
    "OjaNeuron",
    "PairMetric",
    "PairScatter",
    "PairSubspace",
    "RBFNetwork",
    "SangerNetwork",
    "Scatter",
    "SlowSubspace",
    "StreamPCA",
    "SubspaceBound",
    "TemporalPairs",
    "ThresholdClassifier",
    "VarianceScatter",
    "VelocityScatter",
    "__version__",
    "merge",
    "sample_pairs",
]
