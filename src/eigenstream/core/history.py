"""The course of learning, which neurons, prototypes and maps report as ``history_``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eigenstream.core.linalg import Float64s


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """Losses and recorded weights in the course of learning.

    Attributes
    ----------
    step : array of shape (n_records,)
        The number of steps before each record, a multiple of ``record_every``.
    loss : array of shape (n_passes,), or None
        The mean loss of each pass of ``fit``, and for neurons of each chunk of ``partial_fit``. It
        is the share of mistakes of a perceptron, the squared error of Adaline, or the squared
        distance to the nearest prototype. None for Hebbian neurons, which have no loss.
    weights : array of shape (n_records, n_units, n_features)
        The weights or prototypes at these steps. For a multilayer perceptron, a list with an array
        for each layer.
    intercepts : array of shape (n_records, n_units), list or None
        The intercepts at these steps.
    """

    step: NDArray[np.int64]
    loss: Float64s | None
    weights: Any
    intercepts: Any = None

    @classmethod
    def of(cls, records: Sequence[tuple[Any, ...]], losses: Sequence[float] | None) -> Self:
        """Return the history of records (step, weights) or (step, weights, intercepts).

        Parameters
        ----------
        records : sequence of tuples
            Weights and intercepts are arrays, or lists with an array for each layer.
        losses : sequence of float, or None
            The loss of each pass.

        Returns
        -------
        History
            The same as arrays.

        Examples
        --------
        >>> History.of(
        ...     [(1, np.zeros((1, 3))), (2, np.ones((1, 3)))], [0.25]
        ... ).weights.shape
        (2, 1, 3)
        """
        step, *weights = zip(*records, strict=True) if records else ((), ())
        stacked = [
            [np.array(layer) for layer in zip(*arrays, strict=True)]
            if arrays and isinstance(arrays[0], list)
            else np.array(arrays)
            for arrays in weights
        ]
        loss = None if losses is None else np.array(losses, np.float64)
        return cls(np.array(step, np.int64), loss, *stacked)

    def __repr__(self) -> str:
        """Return the numbers of records and of losses."""
        losses = "" if self.loss is None else f", {len(self.loss)} losses"
        return f"History({len(self.step)} records{losses})"
