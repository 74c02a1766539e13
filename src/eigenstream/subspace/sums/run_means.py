"""The means of sequences, which show whether one mean suits them all."""

from copy import copy, deepcopy

import numpy as np

from eigenstream._linalg import Float64s
from eigenstream._storable import storable


@storable(
    n_runs="int",
    weight="number",
    mean="f8 W",
    square="f8 W",
    first="list[RunMean]",
    last="RunMean",
)
class RunMeans:
    """The variance of the means of sequences, which merges in order."""

    def __init__(self, n_features: int) -> None:
        #: The complete sequences: their number, weight, mean, and squares of means about it.
        self.n_runs, self.weight = 0, 0.0
        self.mean, self.square = np.zeros((2, n_features))
        #: The first sequence, which earlier rows may extend (none while it is the last one too).
        self.first: list[RunMean] = []
        self.last = RunMean(n_features)

    def add(self, mean: Float64s, weight: float) -> None:
        """Add the mean of some rows of the last sequence."""
        self.last.add(mean, weight)

    def begin(self) -> None:
        """Begin a sequence."""
        if self.last.weight == 0.0:
            return
        if self.first:
            self._close(self.last)
        else:
            self.first = [self.last]
        self.last = RunMean(len(self.mean))

    def merge(self, later: "RunMeans", *, new_sequence: bool) -> None:
        """Add the means of later sequences, the first of which may continue the last one."""
        if new_sequence:
            self.begin()
        later = deepcopy(later)
        for run in later.first:
            self.last.add(run.mean, run.weight)
            self.begin()
        if later.weight:
            self._add(later.mean, later.weight, later.square, later.n_runs)
        self.last.add(later.last.mean, later.last.weight)

    def _close(self, run: "RunMean") -> None:
        self._add(run.mean, run.weight, 0.0, 1)

    def _add(self, mean: Float64s, weight: float, square: Float64s | float, n_runs: int) -> None:
        both = self.weight + weight
        away = mean - self.mean
        self.square = self.square + square + self.weight * weight / both * away**2
        self.mean, self.weight = self.mean + weight / both * away, both
        self.n_runs += n_runs

    def between(self) -> tuple[int, Float64s]:
        """Return the number of sequences, and the variance of their means."""
        whole = copy(self)
        for run in (*self.first, self.last):
            if run.weight:
                whole._close(run)
        return whole.n_runs, whole.square / (whole.weight or 1.0)


@storable(mean="f8 W", weight="number")
class RunMean:
    """The mean of a sequence."""

    def __init__(self, n_features: int) -> None:
        self.mean, self.weight = np.zeros(n_features), 0.0

    def add(self, mean: Float64s, weight: float) -> None:
        """Add the mean of some rows."""
        both = self.weight + weight
        if both:
            self.mean = self.mean + weight / both * (mean - self.mean)
        self.weight = both
