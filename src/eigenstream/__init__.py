"""Low-dimensional features from streams, time series and pairs."""

from collections.abc import Iterable
from functools import reduce
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigenstream.core.types import Estimator
    from eigenstream.features import RBFNetwork
    from eigenstream.monitor import Monitor
    from eigenstream.neurons import (
        Adaline,
        AdalineRegressor,
        MultilayerPerceptron,
        MultilayerPerceptronRegressor,
        OjaNeuron,
        Perceptron,
        SangerNetwork,
    )
    from eigenstream.persistence import load, save
    from eigenstream.prototypes import CompetitiveLearning, SelfOrganizingMap
    from eigenstream.reports import report
    from eigenstream.streams import open_stream
    from eigenstream.subspace import (
        AlphaPath,
        ClassSubspace,
        ContrastSubspace,
        Dense,
        DynamicSubspace,
        Flow,
        Kernel,
        Krylov,
        LagPath,
        PairMetric,
        PairSubspace,
        QuadraticMap,
        Sketch,
        SlowSubspace,
        StreamPCA,
        SubspaceBound,
        Uncertainty,
        lag_path,
    )
    from eigenstream.subspace.pairs.sampling import TemporalPairs, sample_pairs


__version__ = "0.1.0"

__all__ = [
    "Adaline",
    "AdalineRegressor",
    "AlphaPath",
    "ClassSubspace",
    "CompetitiveLearning",
    "ContrastSubspace",
    "Dense",
    "DynamicSubspace",
    "Flow",
    "Kernel",
    "Krylov",
    "LagPath",
    "Monitor",
    "MultilayerPerceptron",
    "MultilayerPerceptronRegressor",
    "OjaNeuron",
    "PairMetric",
    "PairSubspace",
    "Perceptron",
    "QuadraticMap",
    "RBFNetwork",
    "SangerNetwork",
    "SelfOrganizingMap",
    "Sketch",
    "SlowSubspace",
    "StreamPCA",
    "SubspaceBound",
    "TemporalPairs",
    "Uncertainty",
    "__version__",
    "lag_path",
    "load",
    "merge_all",
    "open_stream",
    "report",
    "sample_pairs",
    "save",
]

#: The packages of these names.
_PACKAGES = (
    "subspace.pairs.sampling",
    "subspace",
    "features",
    "neurons",
    "prototypes",
    "streams",
    "persistence",
    "reports",
    "monitor",
)


def merge_all(estimators: "Iterable[Estimator]", **options: bool) -> "Estimator":
    """Merge fitted estimators into one that has learned from the rows of all.

    Parameters
    ----------
    estimators : iterable of estimators
        Fitted estimators of one class, in the order of their rows.
    **options
        Arguments of ``merge``, such as ``new_sequence=True``.

    Returns
    -------
    object
        A new fitted estimator.

    Examples
    --------
    >>> from eigenstream import StreamPCA, merge_all
    >>> parts = [
    ...     StreamPCA(1).fit([[0.0, 0.0], [2.0, 0.0]]),
    ...     StreamPCA(1).fit([[4.0, 0.0]]),
    ... ]
    >>> merge_all(parts).mean_
    array([2., 0.])
    """
    return reduce(lambda left, right: left.merge(right, **options), estimators)


def __getattr__(name: str) -> Any:
    """Import a name or a subpackage at its first use.

    Importing scikit-learn takes seconds, which ``eigenstream --help`` does not need.
    """
    if name in __all__:
        packages = (import_module(f"eigenstream.{package}") for package in _PACKAGES)
        globals()[name] = next(getattr(p, name) for p in packages if hasattr(p, name))
        return globals()[name]
    if not name.startswith("_") and find_spec(f"eigenstream.{name}") is not None:
        return import_module(f"eigenstream.{name}")
    raise AttributeError(f"module 'eigenstream' has no attribute {name!r}")


def __dir__() -> list[str]:
    others = ("distributed", "evaluation", "online", "plotting", "processes", "schedules", "theory")
    return sorted({*__all__, *_PACKAGES, *others})
