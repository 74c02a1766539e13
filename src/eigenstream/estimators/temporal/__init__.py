"""Learning from rows in time order: principal components and slow subspaces."""

from eigenstream.estimators.temporal._alpha import AlphaPath
from eigenstream.estimators.temporal._bounds import PairRule, SubspaceBound
from eigenstream.estimators.temporal._lags import LagPath, lag_path
from eigenstream.estimators.temporal.slow_subspace import SlowSubspace
from eigenstream.estimators.temporal.stream_pca import StreamPCA

__all__ = [
    "AlphaPath",
    "LagPath",
    "PairRule",
    "SlowSubspace",
    "StreamPCA",
    "SubspaceBound",
    "lag_path",
]
