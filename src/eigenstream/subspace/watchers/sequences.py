"""Sequences with different means, and lags that are too short."""

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np

from eigenstream.core.device import on_host
from eigenstream.core.linalg import Float64s, rounding_of_mean
from eigenstream.core.storable import storable
from eigenstream.rows.chunk import Chunk
from eigenstream.rows.fit import Fit
from eigenstream.subspace.inference.correlations import autocorrelations_of_moments, implied
from eigenstream.subspace.sums.block import Block
from eigenstream.subspace.sums.learner import Learner, Watcher

#: Warn if the variance between sequences exceeds that within them by this factor. With smaller
#: values, slow processes in short sequences warn too.
MOST_BETWEEN = 3.0


@storable(
    n_runs="int", weight="number", mean="f8 W", square="f8 W", first="f8 W+1 | None", last="f8 W+1"
)
class RunMeans(Watcher):
    """The variance of the means of sequences, which merges in order."""

    pairs = False

    def __init__(self, n_features: int) -> None:
        #: The complete sequences: their number, weight, mean, and squares of means about it.
        self.n_runs, self.weight = 0, 0.0
        self.mean, self.square = np.zeros((2, n_features))
        #: The weight and the sum of the rows of the first and of the last sequence. Earlier rows
        #: may extend the first one. It is None while there is a single sequence.
        self.first: Float64s | None = None
        self.last = np.zeros(1 + n_features)

    def see(self, block: Block, learner: Learner) -> None:
        """Add the mean of a block of one sequence."""
        if block.begins:
            self.begin()
        if block.own is not None:
            self.add(block.own.mean, block.own.weight)

    def merged(self, later: "RunMeans", crossing: Block, learner: Learner) -> "RunMeans":
        """Return the means of these sequences and of later ones."""
        both = copy(self)
        both.merge(later, new_sequence=crossing.begins, head=crossing.own)
        return both

    def warnings(self, model: Any, learner: Learner, fit: Fit | None) -> Iterator[str]:
        """Yield a warning if the means of the sequences differ by more than the rows in them."""
        if self.first is None:  # a single sequence
            return
        n_runs, between = self.between()
        if n_runs < 2:
            return
        total = learner.sums.variances(learner.terms)
        varies = total > rounding_of_mean(learner.mean)
        within = np.maximum(total - between, 0.0)[varies] / total[varies]
        ratio = float((1.0 - within).sum() / max(within.sum(), np.finfo(float).tiny))
        if ratio > MOST_BETWEEN:
            yield (
                f"the variance between sequences is {ratio:.3g} times the variance within. Pass "
                "center='sequences' if their offsets have no meaning."
            )

    def add(self, mean: Float64s, weight: float) -> None:
        """Add the mean of some rows of the last sequence."""
        last = self.last.copy()
        last[0] += weight
        last[1:] += weight * mean
        self.last = last

    def begin(self) -> None:
        """Begin a sequence."""
        if self.first is None:  # its rows may have no terms yet, which earlier rows can change
            self.first = self.last
        elif self.last[0]:
            self._close(self.last)
        self.last = np.zeros_like(self.last)

    def merge(self, later: "RunMeans", *, new_sequence: bool, head: Any = None) -> None:
        """Add the means of later sequences, the first of which may continue the last one.

        ``head`` is the mean of its first rows, whose velocities cross the border.
        """
        if new_sequence:
            self.begin()
        if head is not None:
            self.add(head.mean, head.weight)
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


#: After a fit, the features of the first rows are compared at these multiples of the lag. More rows
#: give smaller errors, and take more time.
LADDER = (1, 2, 5, 10, 20, 50, 100)
CHECKED_SHARE, LEAST_CHECKED, MOST_CHECKED = 0.2, 6000, 10_000

#: The number of slowest features that are compared. More features take more time.
MOST_FEATURES = 10

#: A warning needs implied time scales that differ by this factor, and autocorrelations larger than
#: this multiple of their standard error.
DISAGREE, SURE = 5.0, 4.0

#: No warning if more than this share of the fast variance is still correlated at the first lag. A
#: larger share warns of fast processes, which a longer lag would lose.
MOST_FAST = 0.2


@storable()
class ShortLag(Watcher):
    """Compares features at several lags, on the first rows of the first sequence."""

    def warnings(self, model: Any, learner: Learner, fit: Fit | None) -> Iterator[str]:
        """Yield a warning if a feature forgets faster at the lag than at later ones."""
        if fit is None or not fit.rows.rereadable:
            return
        parts: list[Chunk] = []
        n_rows, most = 0, max(int(CHECKED_SHARE * learner.n_rows), LEAST_CHECKED)
        for chunk in fit.first(min(most, MOST_CHECKED)):
            later = chunk.starts if parts else chunk.starts[chunk.starts > 0]
            end = min(int(later[0]) if len(later) else chunk.n, min(most, MOST_CHECKED) - n_rows)
            parts.append(chunk[:end])
            n_rows += end
            if end < chunk.n or n_rows >= most:
                break
        if not parts or any(part.weights is not None or part.pairs is not None for part in parts):
            return
        mean, columns = model._answer.mean, model._answer.columns[:, :MOST_FEATURES]
        lags = [model.lag * step for step in LADDER if model.lag * step < n_rows // 10]
        if lags and columns.shape[1]:
            about = mean @ columns
            features = np.concatenate([on_host(part.rows @ columns) - about for part in parts])
            if model.center == "sequences":
                features = features - features.mean(axis=0)
            message = better_lag(np.asarray(features, np.float64), lags)
            yield from () if message is None else (message,)


def at_lags(features: Float64s, lags: list[int]) -> Float64s:
    """Return the autocorrelations of centred features of one sequence, a row for each lag."""
    series = np.ascontiguousarray(features.T)  # long rows: many short ones take 8 times as long
    moved = []
    for lag in lags:
        steps = series[:, lag:] - series[:, :-lag]
        moved.append(np.einsum("ij,ij->i", steps, steps) / steps.shape[1])
    square = np.einsum("ij,ij->i", series, series) / len(features)
    return autocorrelations_of_moments(square[None, :], np.array(moved), 0.0)


def better_lag(features: Float64s, lags: list[int]) -> str | None:
    """Return a warning if a feature forgets faster at the first lag than at later ones.

    A process with one time scale has the same implied scale at every lag. Noise, or a process much
    faster than the lag, lowers the scale at short lags. A process that is still correlated at the
    first lag does not warn, because its features may be informative.
    """
    n_rows, steps = len(features), np.array(lags)[:, None]
    correlations = at_lags(features, lags)
    scales = implied(correlations, 1) * steps
    # Oscillations give negative autocorrelations, and short series give uncertain ones.
    sure = correlations > SURE * np.sqrt((1.0 + 2.0 * scales) / n_rows)
    sure = np.logical_and.accumulate(sure & np.isfinite(scales), axis=0)
    scales = np.where(sure, scales, 0.0)
    disagrees = scales.max(axis=0) > DISAGREE * scales[0]
    for k in np.flatnonzero(disagrees):
        last = int(scales[:, k].argmax())
        # The slow part decays as between the last two lags. The rest is fast, or noise.
        r = correlations[: last + 1, k]
        rate = max(np.log(r[-2] / r[-1]) / (lags[last] - lags[last - 1]), 0.0)
        slow = r[-1] * np.exp(rate * lags[last])
        if r[0] - slow * np.exp(-rate * lags[0]) <= MOST_FAST * (1.0 - slow):
            break
    else:
        return None
    enough = int((scales[:, k] > scales[last, k] / 2.0).argmax())
    return (
        f"feature {k + 1} has an implied time scale of {scales[0, k]:.3g} rows at "
        f"lag={lags[0]}, and of {scales[last, k]:.3g} rows at lag {lags[last]}. Noise can "
        f"cause this. Compare lag={lags[enough]} with lag_path."
    )
