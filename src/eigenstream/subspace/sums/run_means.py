"""The means of sequences, which show whether one mean suits them all."""

from copy import copy

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream._storable import storable


@storable(
    n_runs="int", weight="number", mean="f8 W", square="f8 W", first="f8 W+1 | None", last="f8 W+1"
)
class RunMeans:
    """The variance of the means of sequences, which merges in order."""

    def __init__(self, n_features: int) -> None:
        #: The complete sequences: their number, weight, mean, and squares of means about it.
        self.n_runs, self.weight = 0, 0.0
        self.mean, self.square = np.zeros((2, n_features))
        #: The weight and the sum of the rows of the first and of the last sequence. Earlier rows
        #: may extend the first one. It is None while there is a single sequence.
        self.first: Float64s | None = None
        self.last = np.zeros(1 + n_features)

    def add(self, mean: Float64s, weight: float) -> None:
        """Add the mean of some rows of the last sequence."""
        self.last = self.last + weight * np.r_[1.0, mean]

    def begin(self) -> None:
        """Begin a sequence."""
        if self.last[0] == 0.0:
            return
        if self.first is None:
            self.first = self.last
        else:
            self._close(self.last)
        self.last = np.zeros_like(self.last)

    def merge(self, later: "RunMeans", *, new_sequence: bool) -> None:
        """Add the means of later sequences, the first of which may continue the last one."""
        if new_sequence:
            self.begin()
        if later.first is not None:
            self.last = self.last + later.first
            self.begin()
        if later.weight:
            self._add(later.mean, later.weight, later.square, later.n_runs)
        self.last = self.last + later.last

    def _close(self, run: Float64s) -> None:
        self._add(run[1:] / run[0], float(run[0]), 0.0, 1)

    def _add(self, mean: Float64s, weight: float, square: Float64s | float, n_runs: int) -> None:
        both = self.weight + weight
        away = mean - self.mean
        self.square = self.square + square + self.weight * weight / both * away**2
        self.mean, self.weight = self.mean + weight / both * away, both
        self.n_runs += n_runs

    def between(self) -> tuple[int, Float64s]:
        """Return the number of sequences, and the variance of their means."""
        whole = copy(self)
        for run in (self.first, self.last):
            if run is not None and run[0]:
                whole._close(run)
        return whole.n_runs, whole.square / (whole.weight or 1.0)
