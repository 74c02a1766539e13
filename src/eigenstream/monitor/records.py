"""The records of a monitor: one for each window."""

from dataclasses import dataclass
from typing import Any

from eigenstream.monitor.windows import LEAST_PRESENT


@dataclass(frozen=True)
class Contribution:
    """A column and the change that is visible in it.

    Attributes
    ----------
    column : str
        The name of the column.
    score : float
        The largest change of the column, in standard deviations between windows.
    offset : float
        The mean distance from the value that the other columns predict, in the unit of the column.
    spread : float
        The standard deviation of this distance, relative to the reference.
    missing : float
        The share of missing values.
    repeated : float
        The share of values that equal the one before.

    See Also
    --------
    eigenstream.Monitor : Compare the windows of a stream with a reference.

    Examples
    --------
    >>> from eigenstream.monitor import Contribution
    >>> print(Contribution("inlet", 12.0, 3.5, 1.02, 0.0, 0.0))
    inlet offset +3.5, spread x1
    """

    column: str
    score: float
    offset: float
    spread: float
    missing: float
    repeated: float

    def __str__(self) -> str:
        if self.missing > LEAST_PRESENT:
            return f"{self.column} missing in {self.missing:.0%} of the rows"
        if self.repeated > LEAST_PRESENT:
            return f"{self.column} repeated in {self.repeated:.0%} of the rows"
        return f"{self.column} offset {self.offset:+.3g}, spread x{self.spread:.2g}"


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
        The column that changed most. None if no single column did.
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
        The columns that changed, the largest change first.

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
