"""Watchers of values: sizes, columns that are no measurements, sequences, lags and gaps."""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from eigenstream.core.linalg import Float64s, rounding_of_mean, row_squares
from eigenstream.core.storable import storable
from eigenstream.core.types import Matrix
from eigenstream.rows.chunk import Places
from eigenstream.rows.fit import Fit
from eigenstream.subspace.inference.held_out import autocorrelations_of_moments, implied
from eigenstream.subspace.sums.block import Block, SequenceMeans
from eigenstream.subspace.sums.gap_moments import GapMoments
from eigenstream.subspace.sums.learner import Learner, Watcher

#: Nonzero rows must have an entry of this size, because squares of smaller ones underflow.
SMALLEST_VALUE = 1e-150

#: The mean of rows is near the origin if its square is below this share of the mean square. Larger
#: values loosen bounds, smaller ones take more time.
NEAR = 0.2


def check_squares(size: float) -> None:
    """Raise if all values are nonzero and so small that their squares underflow."""
    if 0.0 < size < SMALLEST_VALUE:
        raise ValueError(
            f"All entries are below {SMALLEST_VALUE:g} in size, so their squares underflow. "
            "Rescale the data."
        )


@storable(first="f8 W | None", about_origin="number", about_first="number", bounded="bool")
class RadiusBound(Watcher):
    """Radii of two balls that contain all rows, about the origin and about the first row.

    The second ball is smaller for rows with a large common offset. It is infinite, and takes no
    time, if the mean of the first block is near the origin.
    """

    def __init__(self, *, bounded: bool = True) -> None:
        #: False if only the first row matters, which shows with the mean if squares underflow.
        self.bounded = bounded
        self.first: Float64s | None = None
        self.about_origin = 0.0
        self.about_first = 0.0

    def see(self, block: Block, learner: Learner) -> None:
        """Include the rows of positive weight of a block."""
        if block.chunk is None or (self.first is not None and not self.bounded):
            return
        rows: Matrix = block.chunk.of_positive_weight().rows
        if block.chunk.n == 0 or rows.shape[0] == 0:
            return
        if self.first is None:
            row = rows[:1].toarray() if hasattr(rows, "toarray") else rows[:1]
            self.first = np.array(row[0], np.float64)
        if not self.bounded:
            return
        rows = rows.astype(np.float64, copy=False)
        squares = row_squares(rows)
        origin = float(np.sqrt(squares.max()))
        if self.about_origin == 0.0 and block.own:
            mean = block.own[0].mean
            if mean @ mean < NEAR * squares.mean():
                self.about_first = np.inf
        self.about_origin = max(self.about_origin, origin)
        if self.about_first == np.inf:
            return
        size = float(np.linalg.norm(self.first))
        # Expanding |x - c|^2 avoids a matrix of differences. A bound on its rounding is added.
        squares = squares - 2.0 * (rows @ self.first)
        rounding = 2.0 * (rows.shape[1] + 2) * float(np.finfo(rows.dtype).eps)
        largest = squares.max() + size**2 + rounding * (origin + size) ** 2
        self.about_first = max(self.about_first, float(np.sqrt(largest)))

    def merged(self, later: "RadiusBound", crossing: Block, learner: Learner) -> "RadiusBound":
        """Return balls that contain the rows of both."""
        if self.first is None or later.first is None:
            return copy(later if self.first is None else self)
        merged = copy(self)
        merged.about_origin = max(self.about_origin, later.about_origin)
        merged.about_first = max(self.about_first, later.reach(self.first))
        return merged

    def reach(self, point: Float64s) -> float:
        """Return an upper bound on the distance of rows from a point, exact at the origin."""
        if self.first is None:
            return 0.0
        return min(
            self.about_origin + float(np.linalg.norm(point)),
            self.about_first + float(np.linalg.norm(self.first - point)),
        )

    def check(self, mean: Float64s) -> None:
        """Raise if all rows are so small that their squares underflow."""
        size = float(np.abs(mean).max(initial=0.0))
        if self.first is not None:
            size = max(size, float(np.abs(self.first).max()))
        if size > 0.0:
            check_squares(max(size, self.about_origin))

    @property
    def diameter(self) -> float:
        """An upper bound on the distance of any two rows."""
        return 2.0 * min(self.about_first, self.about_origin)


#: Most columns rise and fall within this number of rows. The other columns are then compared in all
#: rows. Fewer rows leave more columns, more rows take more time.
FEW = 32

#: A column is suspect after this number of steps in a sequence. Fewer steps occur by chance.
STEPS = 100

#: The number of columns that a warning names.
MOST_NAMED = 5


@storable(
    n_features="int=W",
    places="i8 k",
    rises="i8 k",
    falls="i8 k",
    differs="bool k",
    first="f8 k",
    last="f8 k",
    n_rows="int",
    n_sequences="int",
)
class SuspectColumns(Watcher):
    """The columns that never rise, or never fall, within any sequence of rows.

    Each other column is forgotten once it has done both, so that a pass compares few values.
    Only NumPy arrays are compared. Rows of weight 0 count as missing values.
    """

    pairs = False

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        #: The numbers of the columns.
        self.places: Places = np.arange(n_features)
        #: The numbers of steps up and down within sequences, and if values differ between these.
        self.rises, self.falls = np.zeros((2, n_features), np.int64)
        self.differs = np.zeros(n_features, bool)
        #: The first and the last row.
        self.first = self.last = np.zeros(n_features)
        self.n_rows = self.n_sequences = 0

    def _loaded(self) -> None:
        if not np.isin(self.places, np.arange(self.n_features)).all():
            raise ValueError("places has numbers of columns that do not exist.")

    def see(self, block: Block, learner: Learner) -> None:
        """Compare the rows of a block, which follow the rows so far."""
        chunk = block.chunk
        if chunk is None or not chunk.n or not len(self.places):
            return
        if not isinstance(chunk.rows, np.ndarray):
            self.select(np.zeros(len(self.places), bool))
            return
        # The first row of all is compared with itself.
        starts = chunk.starts if self.n_rows else chunk.starts[chunk.starts > 0]
        for first, last in (0, FEW), (FEW, chunk.n):
            if not len(self.places) or first >= chunk.n:
                break
            columns = chunk.rows[first:last].T[self.places].astype(np.float64, copy=False)
            if chunk.weights is not None:  # rows of weight 0 are missing
                columns[:, chunk.weights[first:last] == 0.0] = np.nan
            if not (self.n_rows or first):
                self.first = self.last = columns[:, 0]
            self.compare(columns, starts[(starts >= first) & (starts < last)] - first)
        self.n_sequences += len(starts) + (self.n_rows == 0)
        self.n_rows += chunk.n

    def merged(self, later: Self, crossing: Block, learner: Learner | None = None) -> Self:
        """Return the columns that are suspect in these rows and in later ones."""
        merged, rest = copy(self if self.n_rows else later), copy(later)
        if not self.n_rows or not later.n_rows:
            return merged
        merged.select(np.isin(merged.places, rest.places))
        rest.select(np.isin(rest.places, merged.places))
        merged.compare(rest.first[:, None], np.flatnonzero([crossing.begins]))
        rest.select(np.isin(rest.places, merged.places))
        merged.rises, merged.falls = merged.rises + rest.rises, merged.falls + rest.falls
        merged.differs, merged.last = merged.differs | rest.differs, rest.last
        merged.n_rows += rest.n_rows
        merged.n_sequences += rest.n_sequences - (not crossing.begins)
        merged.select((merged.rises == 0) | (merged.falls == 0))
        return merged

    def compare(self, columns: Float64s, starts: Places) -> None:
        """Compare rows with those before them, of another sequence at the places ``starts``."""
        before = np.concatenate([self.last[:, None], columns[:, :-1]], axis=1)
        if len(starts):
            here, there = columns[:, starts], before[:, starts]
            self.differs = self.differs | ((here > there) | (here < there)).any(axis=1)
            before[:, starts] = here
        self.rises = self.rises + (columns > before).sum(axis=1)
        self.falls = self.falls + (columns < before).sum(axis=1)
        self.last = columns[:, -1]
        self.select((self.rises == 0) | (self.falls == 0))

    def select(self, kept: NDArray[np.bool_]) -> None:
        """Continue with some of the columns."""
        if kept.all():
            return
        for name in "places", "rises", "falls", "differs", "first", "last":
            setattr(self, name, getattr(self, name)[kept])

    def warnings(self, model: Any, learner: Learner, fit: Fit | None) -> Iterator[str]:
        """Yield a warning about columns that may be no measurements."""
        if not len(self.places):
            return
        mapped = vars(model).get("features") is not None
        names = None if mapped else vars(model).get("feature_names_in_")
        n, steps = self.n_sequences, self.rises + self.falls
        clocks = steps >= STEPS * max(n, 1)
        constants = (steps == 0) & self.differs & (self.n_rows >= STEPS + n)
        sentences = [
            f"{_named(self.places[which], names)} {what}"
            for which, what in (
                (clocks, "in one direction only, as a clock or a counter does"),
                (constants, f"only between the {n} sequences"),
            )
            if which.any()
        ]
        if sentences:
            meter = " Replace a cumulated meter by its differences." if clocks.any() else ""
            yield (
                f"{'. '.join(sentences)}. The slowest features follow such a column. If it is no "
                "measurement, omit it with exclude=[...] or columns=[...], or drop it from X."
                f"{meter}"
            )


def _named(places: Places, names: Sequence[object] | None) -> str:
    """Return the names of columns, and a verb.

    >>> (
    ...     _named(np.array([0, 2]), ["clock", "heat", "id"]),
    ...     _named(np.array([3]), None),
    ... )
    ("Columns 'clock' and 'id' change", 'Column 3 changes')
    """
    words = [str(k) if names is None else repr(str(names[k])) for k in places.tolist()]
    if len(words) == 1:
        return f"Column {words[0]} changes"
    shown = words[:MOST_NAMED]
    last = shown.pop() if len(words) <= MOST_NAMED else f"{len(words) - MOST_NAMED} more"
    return f"Columns {', '.join(shown)} and {last} change"


#: Warn if the variance between sequences exceeds that within them by this factor. With smaller
#: values, slow processes in short sequences warn too.
MOST_BETWEEN = 3.0


@storable()
class RunMeans(SequenceMeans, Watcher):
    """The variance of the means of sequences."""

    pairs, of_exact_sums = False, True

    def see(self, block: Block, learner: Learner) -> None:
        """Add the mean of a block of one sequence."""
        if block.begins:
            self.begin()
        self.last = self.last.copy()
        for rows in block.own:
            self.last[0] += rows.weight
            self.last[1:] += rows.weight * rows.mean

    def merged(self, later: "RunMeans", crossing: Block, learner: Learner) -> "RunMeans":
        """Return the means of these sequences and of later ones."""
        merged = copy(self)
        merged.see(crossing, learner)
        merged.merge(later)
        return merged

    def warnings(self, model: Any, learner: Learner, fit: Fit | None) -> Iterator[str]:
        """Yield a warning if the means of the sequences differ by more than the rows in them."""
        if self.first is None:  # a single sequence
            return
        means = self.closed()
        if means.n_sequences < 2:
            return
        total = learner.sums.variances(learner.terms)
        varies = total > rounding_of_mean(learner.mean)
        within = np.maximum(total - means.variance, 0.0)[varies] / total[varies]
        ratio = float((1.0 - within).sum() / max(within.sum(), np.finfo(float).tiny))
        if ratio > MOST_BETWEEN:
            yield (
                f"the variance between sequences is {ratio:.3g} times the variance within. Pass "
                "center='sequences' if their offsets have no meaning."
            )


#: After a fit, the features of the first rows are compared at these multiples of the lag. More rows
#: give smaller errors, and take more time.
LADDER = (1, 2, 5, 10, 20, 50)
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

    sees = False

    def warnings(self, model: Any, learner: Learner, fit: Fit | None) -> Iterator[str]:
        """Yield a warning if a feature forgets faster at the lag than at later ones."""
        if fit is None or fit.rows.on_workers or not fit.rows.rereadable:
            return
        answer, n_rows = model._answer, learner.terms.n_rows
        most = min(max(int(CHECKED_SHARE * n_rows), LEAST_CHECKED), MOST_CHECKED)
        if len(checked_lags(model.lag, min(n_rows, most))) < 2:
            return
        columns = answer.columns[:, :MOST_FEATURES]
        if answer.forms is not None and not answer.estimated:
            # Sure autocorrelations have time scales below n_checked / (2 SURE**2).
            first, n_checked = answer.autocorrelations[:MOST_FEATURES], min(n_rows, most)
            longest = np.exp(-2.0 * DISAGREE * SURE**2 * model.lag / n_checked)
            if not ((first > SURE / np.sqrt(n_checked)) & (first < longest)).any():
                return
        parts: list[Float64s] = []
        for chunk in fit.reading():
            if chunk.weights is not None or chunk.pairs is not None:
                return
            later = chunk.starts if parts else chunk.starts[chunk.starts > 0]
            end = min(int(later[0]) if len(later) else chunk.n, most)
            parts.append(chunk.rows[:end] @ columns)
            most -= end
            if end < chunk.n or not most:
                break
        # Operations on few long rows are faster than on many short ones.
        series = np.ascontiguousarray(np.concatenate(parts).T, np.float64)
        about = answer.mean @ columns
        if model.center == "sequences":
            about = series.mean(axis=1)
        message = better_lag((series - about[:, None]).T, checked_lags(model.lag, series.shape[1]))
        yield from () if message is None else (message,)


def checked_lags(lag: int, n_rows: int) -> list[int]:
    """Return the multiples of a lag at which an autocorrelation of ``n_rows`` rows can be sure.

    At each lag, that of the time scale ``2 * lag`` is the largest in units of its standard error.

    >>> checked_lags(1, 2000), checked_lags(1, 10_000)
    ([1, 2, 5, 10], [1, 2, 5, 10, 20, 50])
    """
    steps = lag * np.array(LADDER)
    return cast(list[int], steps[steps < n_rows / (4.0 * np.e * SURE**2)].tolist())


def at_lags(features: Float64s, lags: list[int]) -> Float64s:
    """Return the autocorrelations of centred features of one sequence, a row for each lag."""
    series = features.T
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
    if len(lags) < 2:
        return None
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


#: Warn if the gaps take more than this share of the information about a feature. With less, time
#: scales agree with those of complete rows, and their intervals cover.
MOST_LOST = 0.7


@storable()
class LostInformation(Watcher):
    """Warns if the gaps take most of the information, or if the likelihood did not converge."""

    sees = False

    def warnings(self, model: Any, learner: Learner, fit: Fit | None) -> Iterator[str]:
        """Yield the warnings of a fit."""
        sums = learner.sums
        if not isinstance(sums, GapMoments) or not sums.has_gaps:
            return
        if not sums.completion().converged:
            yield (
                "The covariance of the rows with gaps did not converge, so the features are "
                "uncertain. Pass more rows or fewer columns."
            )
        lost = float(sums.lost_information(model._columns).max(initial=0.0))
        if lost > MOST_LOST:
            yield (
                f"The gaps take {100.0 * lost:.0f} % of the information about a feature, so it is "
                "uncertain. Pass more rows or fewer columns."
            )
