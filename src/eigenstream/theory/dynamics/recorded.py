"""Order parameters of a run on vectors, to be laid over the equations."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eigenstream.theory.mixing import Float64s

__all__ = ["OrderParameters"]


class OrderParameters(NamedTuple):
    """Overlaps of students in the course of a run: ``R = J B^T`` and ``Q = J J^T``.

    ``alphas`` are steps over the number of features, the time of the equations.

    >>> OrderParameters(np.zeros(1), np.zeros((1, 2, 2)), np.zeros((1, 2, 2))).R.shape
    (1, 2, 2)
    """

    alphas: Float64s
    R: Float64s  # (times, students, directions)
    Q: Float64s  # (times, students, students)

    @classmethod
    def of_history(cls, history: Sequence[tuple[int, Any]], directions: Any) -> "OrderParameters":
        """Return those of (step, weights) pairs, such as ``history_`` of a ``SangerNetwork``.

        ``directions`` are orthonormal, one a row.

        >>> found = OrderParameters.of_history([(50, [[0.6, 0.8, 0.0, 0.0]])], np.eye(2, 4))
        >>> found.alphas, found.R, found.Q
        (array([12.5]), array([[[0.6, 0.8]]]), array([[[1.]]]))
        """
        B = np.asarray(directions, np.float64)
        if B.ndim != 2 or np.abs(B @ B.T - np.eye(len(B))).max() > 1e-9:
            raise ValueError("directions must be orthonormal, one a row.")
        if len(history) == 0:
            raise ValueError("history is empty: learn with history_every, and enough rows.")
        J = np.array([weights for _, weights in history], np.float64)
        if J.ndim != 3 or J.shape[2] != B.shape[1]:
            raise ValueError(
                f"directions have {B.shape[1]} entries, and the weights of history have shape "
                f"{J.shape[1:]}: one weight vector a row, as long as a direction."
            )
        steps = np.array([step for step, _ in history], np.float64)
        return cls(steps / B.shape[1], J @ B.T, J @ J.transpose(0, 2, 1))
