"""States: possible overlaps of vectors, starts of learning, and overlaps of a run."""

from typing import Any, NamedTuple

import numpy as np

from eigenstream.core.checks import real_array
from eigenstream.core.linalg import brief
from eigenstream.theory.mixing import Float64s

__all__ = ["OrderParameters"]

#: The largest negative eigenvalue of Q - R R^T, relative to Q, that counts as rounding.
POSSIBLE = 1e-9


def check_state(R: Any, Q: Any, students: int, directions: int) -> tuple[Float64s, Float64s]:
    """Return overlaps as new arrays, and raise if no vectors have them.

    >>> check_state([[0.9]], [[0.5]], 1, 1)
    Traceback (most recent call last):
        ...
    ValueError: No vectors have these overlaps: Q - R R^T has the eigenvalue -0.31. Use a smaller R
    or a larger Q.
    """
    R = real_array(R, "R").astype(np.float64)
    Q = real_array(Q, "Q").astype(np.float64)
    if R.shape != (students, directions) or Q.shape != (students, students):
        raise ValueError(
            f"R has shape {R.shape} and Q {Q.shape}. "
            f"Pass shapes {(students, directions)} and {(students, students)}."
        )
    allowed = POSSIBLE * max(float(np.abs(Q).max()), float(np.finfo(float).tiny))
    if not (np.isfinite(R).all() and np.abs(Q - Q.T).max() <= allowed):
        raise ValueError("R or Q is not finite, or Q not symmetric: Q_kl is J_k.J_l. Correct them.")
    Q = (Q + Q.T) / 2
    least = float(np.linalg.eigvalsh(Q - R @ R.T)[0])
    if least < -allowed:
        raise ValueError(
            f"No vectors have these overlaps: Q - R R^T has the eigenvalue {least:.3g}. "
            "Use a smaller R or a larger Q."
        )
    return R, Q


class OrderParameters(NamedTuple):
    """Overlaps of students in the course of a run: ``R = J B^T`` and ``Q = J J^T``.

    Attributes
    ----------
    t : array of shape (n_times,)
        Steps divided by the number of features, the time of the equations.
    R : array of shape (n_times, n_students, n_directions)
        The overlaps of the students J with the directions B.
    Q : array of shape (n_times, n_students, n_students)
        The products of the students.

    Examples
    --------
    >>> OrderParameters(
    ...     np.zeros(1), np.zeros((1, 2, 2)), np.zeros((1, 2, 2))
    ... ).R.shape
    (1, 2, 2)
    """

    t: Float64s
    R: Float64s  # (times, students, directions)
    Q: Float64s  # (times, students, students)

    def __repr__(self) -> str:
        """Return the shapes of the arrays."""
        return brief(self)

    @classmethod
    def of_history(cls, history: Any, directions: Any) -> "OrderParameters":
        """Return the overlaps of recorded weights or prototypes with given directions.

        Parameters
        ----------
        history : neurons.History
            The ``history_`` of a SangerNetwork or CompetitiveLearning with ``record_every``.
        directions : array-like of shape (n_directions, n_features)
            Orthonormal rows.

        Returns
        -------
        OrderParameters
            The overlaps at every recorded step.

        Examples
        --------
        >>> from eigenstream.neurons import History
        >>> history = History(np.array([50]), np.zeros(0), [[[0.6, 0.8, 0.0, 0.0]]])
        >>> found = OrderParameters.of_history(history, np.eye(2, 4))
        >>> found.t, found.R, found.Q
        (array([12.5]), array([[[0.6, 0.8]]]), array([[[1.]]]))
        """
        B, J = np.asarray(directions, np.float64), np.asarray(history.weights, np.float64)
        if B.ndim != 2 or np.abs(B @ B.T - np.eye(len(B))).max() > 1e-9:
            raise ValueError("directions are not orthonormal. Pass orthonormal rows.")
        if J.ndim != 3 or J.shape[2] != B.shape[1]:
            raise ValueError(
                f"history holds weights of shape {J.shape[1:]}, and a direction has {B.shape[1]} "
                "entries. Pass directions of the length of a weight vector."
            )
        return cls(history.step / B.shape[1], J @ B.T, J @ J.transpose(0, 2, 1))
