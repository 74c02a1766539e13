"""The records of a monitor: one for each window."""

from dataclasses import dataclass, field
from typing import Any

from eigenstream.monitor.windows import LEAST_PRESENT


def time_text(time: Any) -> str:
    """Return a time as text: an unchanged date of the data, or a number.

    >>> time_text("2024-05-31"), time_text(3.0), time_text(None)
    ('2024-05-31', '3', '')
    """
    return "" if time is None else time if isinstance(time, str) else f"{time:.15g}"


@dataclass(frozen=True)
class Contribution:
    """A column and the change that is visible in it.

    Attributes
    ----------
    column : str
        The name of the column.
    score : float
        The largest change of the column, in standard deviations between windows.
    kind : {"mean", "variance", "time scale", "relation", "missing", "repeated"}
        What changed most. A relation is the dependence on the other columns.
    shift : float
        The change of the mean, in standard deviations of the column's rows.
    offset : float
        The mean distance from the value that the columns that did not move predict, in the unit of
        the column.
    spread : float
        The standard deviation relative to the reference: of the column, or for a relation of its
        distance from the prediction by the other columns.
    missing : float
        The share of missing values.
    repeated : float
        The share of values that equal the one before.
    rival : str or None
        A column that explains the window nearly as well. The rows do not separate the two.

    See Also
    --------
    eigenstream.Monitor : Compare the windows of a stream with a reference.

    Examples
    --------
    >>> from eigenstream.monitor import Contribution
    >>> print(Contribution("inlet", 12.0, "mean", 1.4, 3.5, 1.02, 0.0, 0.0))
    inlet mean +1.4 sd (offset +3.5)
    """

    column: str
    score: float
    kind: str
    shift: float
    offset: float
    spread: float
    missing: float
    repeated: float
    rival: str | None = None

    def __str__(self) -> str:
        named = self.column if self.rival is None else f"{self.column} or {self.rival}"
        if self.missing > LEAST_PRESENT:
            return f"{named} missing in {self.missing:.0%} of the rows"
        if self.repeated > LEAST_PRESENT:
            return f"{named} repeated in {self.repeated:.0%} of the rows"
        if self.kind == "mean":
            return f"{named} mean {self.shift:+.2g} sd (offset {self.offset:+.3g})"
        if self.kind == "variance":
            return f"{named} spread x{self.spread:.2g}"
        if self.kind == "relation":
            return f"{named} relation to the others, spread x{self.spread:.2g}"
        return f"{named} {self.kind}"


@dataclass(frozen=True)
class WindowRecord:
    """The comparison of a window with the reference.

    Attributes
    ----------
    rows : int
        The number of rows up to the end of the window.
    time : float, str or None
        The time of the last row, of a stream with times.
    p : float
        The probability of such a window without a change. It is at least 1 / (windows + 1).
    group : str
        The group of features that changed most: level, residual, spread, shape or health.
    column : str or None
        The column that is named first. None if no single column changed.
    offset : float or None
        The offset of this column, in its unit. None for a missing column.
    alarm : bool
        True if ``p`` is at most the rate.
    score : float
        The size of the change, in standard deviations between windows. It grows when ``p`` has
        reached its least value.
    groups : dict of str to float
        The probability for each group of features alone.
    contributions : tuple of Contribution
        The columns that changed: those that moved by themselves first.
    n_moved : int
        The number of columns that moved by themselves.
    shifts : tuple of float
        The change of the mean of every column, in standard deviations of its rows.

    See Also
    --------
    eigenstream.Monitor : Compare the windows of a stream with a reference.

    Examples
    --------
    >>> from eigenstream.monitor import WindowRecord
    >>> WindowRecord(
    ...     500, None, 0.01, "level", None, None, True, 8.2, {}, ()
    ... ).alarm
    True
    """

    rows: int
    time: Any
    p: float
    group: str
    column: str | None
    offset: float | None
    alarm: bool
    score: float
    groups: dict[str, float]
    contributions: tuple[Contribution, ...]
    n_moved: int = 0
    shifts: tuple[float, ...] = field(default=(), repr=False)

    @property
    def finding(self) -> str:
        """The columns that changed, the first to blame first, and how many moved."""
        named = "; ".join(map(str, self.contributions)) or "no single column"
        if not self.n_moved:
            return named
        moved = f"{self.n_moved} of {len(self.shifts)} columns moved"
        return f"{named}; {moved}" + ": the whole process" * (self.n_moved == len(self.shifts))
