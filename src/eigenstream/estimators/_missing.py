"""What missing="skip" leaves out: counted, and said when it is much."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import is_sparse, warn_user
from eigenstream._storable import storable

#: From this share of the rows on, leaving them out is worth a warning.
MUCH = 0.1
#: A stream's first rows say little about the share: there is no warning before so many.
FIRST = 10
#: A column is the cause if it alone spoils this share of the rows that are left out.
CAUSE = 0.9


@dataclass(frozen=True)
class Holes:
    """Where a chunk lacks values: its incomplete rows, and the column of each that has but one."""

    rows: NDArray[np.intp]
    #: -1 where several columns lack a value.
    columns: NDArray[np.intp]

    @classmethod
    def of(cls, rows: Any, finite: NDArray[np.bool_]) -> Self:
        """Return the holes of rows, given which rows are complete.

        >>> rows = np.array([[0.0, np.nan], [1.0, 2.0], [np.nan, np.inf]])
        >>> Holes.of(rows, np.array([False, True, False]))
        Holes(rows=array([0, 2]), columns=array([ 1, -1]))
        """
        places = np.flatnonzero(~finite)
        spoiled = rows[places]
        bad = ~np.isfinite(spoiled.toarray() if is_sparse(spoiled) else spoiled)
        return cls(places, np.where(bad.sum(axis=1) == 1, bad.argmax(axis=1), -1))

    def between(self, start: int, stop: int) -> "Holes":
        """Return the holes of the rows from ``start`` to ``stop``, counted from ``start``."""
        kept = (self.rows >= start) & (self.rows < stop)
        return Holes(self.rows[kept] - start, self.columns[kept])


#: The holes of a complete chunk.
NO_HOLES = Holes(np.empty(0, np.intp), np.empty(0, np.intp))


@storable(n_rows="int", alone="dict[int] | None", told="bool")
@dataclass(frozen=True)
class Skipped:
    """How many rows have been left out so far, and which column alone spoiled how many.

    >>> some = Skipped().plus(Holes(np.array([0, 2]), np.array([1, -1])))
    >>> some.n_rows, some.alone
    (2, {1: 1})
    """

    n_rows: int = 0
    alone: dict[int, int] | None = None
    #: Whether the user has heard of it.
    told: bool = False

    def plus(self, holes: Holes) -> "Skipped":
        """Return the count with one more chunk."""
        columns, counts = np.unique(holes.columns[holes.columns >= 0], return_counts=True)
        more = dict(zip(columns.tolist(), counts.tolist(), strict=True))
        return self.merged(Skipped(len(holes.rows), more))

    def merged(self, later: "Skipped") -> "Skipped":
        """Return the count of both."""
        alone = dict(self.alone or {})
        for column, count in (later.alone or {}).items():
            alone[column] = alone.get(column, 0) + count
        return Skipped(self.n_rows + later.n_rows, alone, self.told or later.told)

    def warned(self, estimator: Any, n_rows: int, what: str = "row", least: int = 0) -> "Skipped":
        """Warn, once, if that is one in ten of all rows or more; return the count, so marked.

        ``n_rows`` is the number of all rows, ``least`` how many there must be.
        """
        if self.told or n_rows < max(least, 1) or self.n_rows < MUCH * n_rows:
            return self
        message = (
            f"missing='skip' left out {self.n_rows} of {n_rows} {what}s "
            f"({self.n_rows / n_rows:.0%}), which have missing values."
        )
        column, count = max((self.alone or {}).items(), key=lambda item: item[1], default=(0, 0))
        if count >= CAUSE * self.n_rows:
            names = getattr(estimator, "feature_names_in_", None)
            name = f"column {column}" if names is None else f"column {names[column]!r}"
            message += f" In {count} of them {name} alone is missing: leave it out, or impute it."
        warn_user(message)
        return Skipped(self.n_rows, self.alone, told=True)


def note_skipped(estimator: Any, holes: Holes, n_rows: int, what: str, *, reset: bool) -> None:
    """Add what one call leaves out to the estimator's count; warn if it is much of that call."""
    before = Skipped() if reset else estimator._skipped
    now = Skipped(told=before.told).plus(holes)
    estimator._skipped = before.merged(now.warned(estimator, n_rows, what, FIRST))
