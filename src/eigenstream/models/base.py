"""The format of model files, and the classes that they may name: no other is ever made."""

from typing import Any

from sklearn.frozen import FrozenEstimator

from eigenstream import schedules
from eigenstream.contrast import Contrast
from eigenstream.estimators import (
    ClassSubspace,
    PairMetric,
    PairSubspace,
    SlowSubspace,
    StreamPCA,
    ThresholdClassifier,
)
from eigenstream.estimators.base import Skipped
from eigenstream.evaluation.base import PairCounts
from eigenstream.features import GradientOrientation, RBFNetwork
from eigenstream.learners.base import Solution
from eigenstream.learners.pairs import TrainingPairs
from eigenstream.learners.table import WAYS
from eigenstream.neurons import (
    Adaline,
    AdalineRegressor,
    MultilayerPerceptron,
    MultilayerPerceptronRegressor,
    OjaNeuron,
    Perceptron,
    SangerNetwork,
)
from eigenstream.prototypes import CompetitiveLearning, SelfOrganizingMap
from eigenstream.rules.supervised import Network, Units
from eigenstream.scatters import KINDS
from eigenstream.streams import Preprocessing

__all__ = ["ESTIMATORS", "FORMAT", "PLAIN", "VALUES", "VERSION", "ModelError", "qualified"]

#: What the header calls a file of ours, and the newest version that this library reads.
FORMAT, VERSION = "eigenstream", 1


class ModelError(ValueError):
    """What is wrong with a model file, and where, in one line.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from eigenstream.models import load
    >>> path = Path(mkdtemp()) / "model.eigs"
    >>> _ = path.write_bytes(b"short")
    >>> load(path)
    Traceback (most recent call last):
        ...
    eigenstream.models.base.ModelError: .../model.eigs: at byte 0: a file of 5 bytes holds no
    model: a header takes 8 at least.
    """


def _named(*kinds: Any) -> dict[str, Any]:
    return {kind.__name__: kind for kind in kinds}


#: Made from parameters and what was learned with them.
ESTIMATORS = _named(
    *(StreamPCA, SlowSubspace, PairSubspace, ClassSubspace, PairMetric, ThresholdClassifier),
    *(RBFNetwork, GradientOrientation, OjaNeuron, SangerNetwork, Perceptron, Adaline),
    *(AdalineRegressor, MultilayerPerceptron, MultilayerPerceptronRegressor),
    *(CompetitiveLearning, SelfOrganizingMap),
)

#: Restored from a flat state.
VALUES = _named(
    *(Preprocessing, Contrast, Solution, PairCounts, TrainingPairs, *KINDS.values()),
    *(way for ways in WAYS.values() for way in ways.values()),
)

#: Made from their fields.
PLAIN = _named(
    *(Skipped, Units, Network, FrozenEstimator),
    *(schedules.Auto, schedules.Constant, schedules.Exponential, schedules.Power),
)


def qualified(place: str, name: Any) -> str:
    """Return the place of something inside the model.

    >>> qualified("learned", "mean"), qualified("", "class")
    ('learned.mean', 'class')
    """
    return f"{place}.{name}" if place else str(name)
