"""Averages of subspaces that move."""

from typing import Any

import numpy as np

__all__ = ["average_frames"]


def average_frames(average: Any, frame: Any, share: float) -> None:
    """Move an orthonormal frame towards another one's span, in place: rows are the vectors.

    One step of orthogonal iteration on (1 - share) P + share Q, with the projectors P on the
    average and Q on the frame. Repeated along a stream of frames it follows the top subspace of
    the weighted average of their projectors, which no choice of bases enters. The new frame is
    the nearest one to the iterated vectors, so that it turns as little as it can.

    >>> average, frame = np.array([[1.0, 0.0]]), np.array([[0.6, 0.8]])
    >>> average_frames(average, frame, 0.5)
    >>> average.round(3)
    array([[0.943, 0.333]])
    """
    cross = (average @ frame.T).astype(np.float64)
    moved = (1.0 - share) * average + (share * cross).astype(frame.dtype) @ frame
    values, vectors = np.linalg.eigh((moved @ moved.T).astype(np.float64))
    if values[0] > 1e-6:
        nearest = (vectors / np.sqrt(values)) @ vectors.T
        average[...] = nearest.astype(frame.dtype) @ moved
    else:  # the frame has left the averaged subspace: start again from it
        average[...] = frame
