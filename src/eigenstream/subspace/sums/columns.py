"""Columns that may be no measurements: clocks, counters, meters and constants of a sequence."""

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import is_sparse
from eigenstream._linalg import Float64s
from eigenstream._namespaces import DeviceArray
from eigenstream._storable import storable
from eigenstream.rows.chunk import Chunk, Places

#: A column is suspect after this number of steps in a sequence. Fewer steps occur by chance.
STEPS = 100

#: The number of columns that a warning names.
MOST_NAMED = 5


@storable(
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
class SuspectColumns:
    """The columns that never rise, or never fall, within any sequence of rows.

    Each other column is forgotten once it has done both, so that a pass compares few values.
    Sparse rows are not compared. Rows of weight 0 count as missing values.
    """

    def __init__(self, n_features: int) -> None:
        #: The numbers of the columns.
        self.places: Places = np.arange(n_features)
        self.rises, self.falls, self.differs = np.zeros((3, n_features), bool)
        #: The number of steps to another value within a sequence, of each column.
        self.steps = np.zeros(n_features, np.int64)
        #: The first and the last row.
        self.first = self.last = np.zeros(n_features)
        self.n_rows = self.n_sequences = 0

    def add(self, chunk: Chunk) -> None:
        """Compare rows that follow the rows so far."""
        n = len(chunk)
        if not len(self.places) or not n:
            return
        if is_sparse(chunk.rows):
            self._keep(np.zeros(len(self.places), bool))
            return
        rows, away = chunk.rows, isinstance(chunk.rows, DeviceArray)
        columns = np.array(rows.columns(self.places) if away else rows.T[self.places], np.float64)
        if chunk.weights is not None:
            columns[:, chunk.weights == 0.0] = np.nan
        begins = np.isin(np.arange(n), chunk.starts)
        if not self.n_rows:
            begins[0], self.first, self.last = True, columns[:, 0], columns[:, 0]
        self.n_rows += n
        self.n_sequences += int(begins.sum())
        self._compare(columns, begins)

    def merged(self, later: Self, *, new_sequence: bool) -> Self:
        """Return the columns that are suspect in these rows and in later ones."""
        both, rest = copy(self if self.n_rows else later), copy(later)
        if not self.n_rows or not later.n_rows:
            return both
        both._keep(np.isin(both.places, rest.places))
        rest._keep(np.isin(rest.places, both.places))
        both._compare(rest.first[:, None], np.array([new_sequence]))
        rest._keep(np.isin(rest.places, both.places))
        for name in "rises", "falls", "differs":
            setattr(both, name, getattr(both, name) | getattr(rest, name))
        both.steps, both.last = both.steps + rest.steps, rest.last
        both.n_rows += rest.n_rows
        both.n_sequences += rest.n_sequences - (not new_sequence)
        both._keep(~(both.rises & both.falls))
        return both

    def _compare(self, columns: Float64s, begins: NDArray[np.bool_]) -> None:
        """Compare rows with those before them; ``begins`` is True where a sequence begins."""
        before = np.column_stack([self.last, columns[:, :-1]])
        rises, falls = columns > before, columns < before
        self.differs = self.differs | ((rises | falls) & begins).any(axis=1)
        n_rises, n_falls = ((steps & ~begins).sum(axis=1) for steps in (rises, falls))
        self.rises, self.falls = self.rises | (n_rises > 0), self.falls | (n_falls > 0)
        self.steps, self.last = self.steps + n_rises + n_falls, columns[:, -1]
        self._keep(~(self.rises & self.falls))

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        for name in "places", "rises", "falls", "differs", "steps", "first", "last":
            setattr(self, name, getattr(self, name)[kept])

    def warning(self, names: Sequence[object] | None = None) -> str | None:
        """Return a warning about clocks and about constants of several sequences, or None."""
        n = self.n_sequences
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
