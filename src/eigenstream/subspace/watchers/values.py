"""The size of rows, columns that may be no measurements, and the information that gaps take."""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eigenstream.core.checks import is_sparse
from eigenstream.core.device import DeviceArray
from eigenstream.core.linalg import Float64s, row_squares
from eigenstream.core.storable import storable
from eigenstream.core.types import Matrix
from eigenstream.rows.chunk import Chunk, Places
from eigenstream.rows.fit import Fit
from eigenstream.subspace.sums.block import Block
from eigenstream.subspace.sums.gap_moments import GapMoments
from eigenstream.subspace.sums.learner import Learner, Watcher

#: Nonzero rows must have an entry of this size, because squares of smaller ones underflow.
SMALLEST_VALUE = 1e-150

#: The number of rows of a block that show whether squares underflow.
SHOWING = 16

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
        #: False if only the first rows matter, which show whether all squares underflow.
        self.bounded = bounded
        self.first: Float64s | None = None
        self.about_origin = 0.0
        self.about_first = 0.0

    def see(self, block: Block, learner: Learner) -> None:
        """Include the rows of a block."""
        if block.chunk is None:
            return
        if self.bounded:
            mean = None if block.own is None else block.own.mean
            self.add(block.chunk, mean, block.row_squares())
        elif self.about_origin < SMALLEST_VALUE:
            self.add(block.chunk[:SHOWING])

    def add(
        self, chunk: Chunk, mean: Float64s | None = None, squares: Float64s | None = None
    ) -> None:
        """Include the rows of positive weight, whose mean and squares are known or None."""
        heavy = chunk.of_positive_weight()
        rows: Matrix = heavy.rows
        if rows.shape[0] == 0 or heavy.n == 0:
            return
        rows = rows.astype(np.float64, copy=False)
        if self.first is None:
            row = rows[:1].toarray() if hasattr(rows, "toarray") else rows[:1]
            self.first = np.array(row[0], np.float64)
        if squares is None or heavy is not chunk:
            squares = row_squares(rows)
        origin = float(np.sqrt(squares.max()))
        if self.about_origin == 0.0 and mean is not None and mean @ mean < NEAR * squares.mean():
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
        both = copy(self)
        both.about_origin = max(self.about_origin, later.about_origin)
        both.about_first = max(self.about_first, later.reach(self.first))
        return both

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
    rises="bool k",
    falls="bool k",
    differs="bool k",
    steps="i8 k",
    first="f8 k",
    last="f8 k",
    n_rows="int",
    n_sequences="int",
)
class SuspectColumns(Watcher):
    """The columns that never rise, or never fall, within any sequence of rows.

    Each other column is forgotten once it has done both, so that a pass compares few values.
    Sparse rows are not compared. Rows of weight 0 count as missing values.
    """

    pairs = False

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        #: The numbers of the columns.
        self.places: Places = np.arange(n_features)
        self.rises, self.falls, self.differs = np.zeros((3, n_features), bool)
        #: The number of steps to another value within a sequence, of each column.
        self.steps = np.zeros(n_features, np.int64)
        #: The first and the last row.
        self.first = self.last = np.zeros(n_features)
        self.n_rows = self.n_sequences = 0

    def _loaded(self) -> None:
        if not np.isin(self.places, np.arange(self.n_features)).all():
            raise ValueError("places has numbers of columns that do not exist.")

    def see(self, block: Block, learner: Learner) -> None:
        """Compare the rows of a block."""
        if block.chunk is not None:
            self.add(block.chunk)

    def add(self, chunk: Chunk) -> None:
        """Compare rows that follow the rows so far."""
        n = chunk.n
        if not len(self.places) or not n:
            return
        if is_sparse(chunk.rows):
            self._keep(np.zeros(len(self.places), bool))
            return
        begins = np.zeros(n, bool)
        begins[chunk.starts] = True
        if not self.n_rows:
            begins[0] = True
            self.first = self.last = self._columns(chunk, 0, 1)[:, 0]
        self.n_rows += n
        self.n_sequences += int(np.count_nonzero(begins))
        self._compare(self._columns(chunk, 0, FEW), begins[:FEW])
        if n > FEW and len(self.places):
            self._compare(self._columns(chunk, FEW, n), begins[FEW:])

    def _columns(self, chunk: Chunk, first: int, last: int) -> Float64s:
        """Return the remaining columns of some rows, with NaN for rows of weight 0."""
        rows = chunk.rows[first:last]
        on_device = isinstance(rows, DeviceArray)
        columns = np.array(
            rows.columns(self.places) if on_device else rows[:, self.places].T, np.float64
        )
        if chunk.weights is not None:
            columns[:, chunk.weights[first:last] == 0.0] = np.nan
        return columns

    def merged(self, later: Self, crossing: Block, learner: Learner | None = None) -> Self:
        """Return the columns that are suspect in these rows and in later ones."""
        both, rest = copy(self if self.n_rows else later), copy(later)
        if not self.n_rows or not later.n_rows:
            return both
        both._keep(np.isin(both.places, rest.places))
        rest._keep(np.isin(rest.places, both.places))
        both._compare(rest.first[:, None], np.array([crossing.begins]))
        rest._keep(np.isin(rest.places, both.places))
        for name in "rises", "falls", "differs":
            setattr(both, name, getattr(both, name) | getattr(rest, name))
        both.steps, both.last = both.steps + rest.steps, rest.last
        both.n_rows += rest.n_rows
        both.n_sequences += rest.n_sequences - (not crossing.begins)
        both._keep(~(both.rises & both.falls))
        return both

    def _compare(self, columns: Float64s, begins: NDArray[np.bool_]) -> None:
        """Compare rows with those before them; ``begins`` is True where a sequence begins."""
        before = np.empty_like(columns)
        before[:, 0], before[:, 1:] = self.last, columns[:, :-1]
        rises, falls = columns > before, columns < before
        if begins.any():
            self.differs = self.differs | ((rises | falls) & begins).any(axis=1)
            rises, falls = rises & ~begins, falls & ~begins
        n_rises, n_falls = np.count_nonzero(rises, axis=1), np.count_nonzero(falls, axis=1)
        self.rises, self.falls = self.rises | (n_rises > 0), self.falls | (n_falls > 0)
        self.steps, self.last = self.steps + n_rises + n_falls, columns[:, -1]
        self._keep(~(self.rises & self.falls))

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        if kept.all():
            return
        for name in "places", "rises", "falls", "differs", "steps", "first", "last":
            setattr(self, name, getattr(self, name)[kept])

    def warnings(self, model: Any, learner: Learner, fit: Fit | None) -> Iterator[str]:
        """Yield a warning about columns that may be no measurements."""
        mapped = getattr(model, "features", None) is not None
        names = None if mapped else getattr(model, "feature_names_in_", None)
        message = self.warning(names)
        yield from () if message is None else (message,)

    def warning(self, names: Sequence[object] | None = None) -> str | None:
        """Return a warning about clocks and about constants of several sequences, or None."""
        n = self.n_sequences
        if not len(self.places):
            return None
        clocks = (self.rises | self.falls) & (self.steps >= STEPS * n)
        constants = ~(self.rises | self.falls) & self.differs & (self.n_rows >= STEPS + n)
        sentences = [
            f"{_named(self.places[which], names)} {what}"
            for which, what in (
                (clocks, "in one direction only, as a clock or a counter does"),
                (constants, f"only between the {n} sequences"),
            )
            if which.any()
        ]
        if not sentences:
            return None
        meter = " Replace a cumulated meter by its differences." if clocks.any() else ""
        return (
            f"{'. '.join(sentences)}. The slowest features follow such a column. If it is no "
            "measurement, omit it with exclude=[...] or columns=[...], or drop it from X." + meter
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


#: Warn if the gaps take more than this share of the information about a feature. With less, time
#: scales agree with those of complete rows, and their intervals cover.
MOST_LOST = 0.7


@storable()
class LostInformation(Watcher):
    """Warns if the gaps take most of the information, or if the likelihood did not converge."""

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
