"""The estimators: contrast x solver x features."""

from eigenstream.estimators._alpha import AlphaPath
from eigenstream.estimators._bounds import SubspaceBound
from eigenstream.estimators.slow_subspace import SlowSubspace
from eigenstream.estimators.stream_pca import StreamPCA

__all__ = ["AlphaPath", "SlowSubspace", "StreamPCA", "SubspaceBound"]
