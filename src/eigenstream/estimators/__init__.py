"""The estimators: contrast x solver x features."""

from eigenstream.estimators.class_subspace import ClassSubspace
from eigenstream.estimators.slow_subspace import AlphaPath, SlowSubspace
from eigenstream.estimators.stream_pca import StreamPCA

__all__ = ["AlphaPath", "ClassSubspace", "SlowSubspace", "StreamPCA"]
