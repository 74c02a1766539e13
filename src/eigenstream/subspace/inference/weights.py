"""Weights of columns in units of their deviations."""

import numpy as np

from eigenstream.core.linalg import Float64s
from eigenstream.core.types import Estimator


def deviations(estimator: Estimator) -> Float64s:
    """Return the standard deviations of the columns if the solver has their matrix, or ones.

    >>> from eigenstream import StreamPCA
    >>> deviations(StreamPCA(1).fit(np.diag([3.0, -3.0]))).tolist()
    [1.5, 1.5]
    """
    from eigenstream.subspace import matrices

    if getattr(estimator, "features", None) is not None or estimator.solver_ != "dense":
        return np.ones(estimator.components_.shape[1])
    return np.sqrt(np.diagonal(matrices(estimator).reward))
