"""Which columns and rows of a table are wanted, as the user has named them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from operator import index
from typing import Any

import numpy as np

from eigenstream._checks import check_whole
from eigenstream.streams.base import LARGEST_ROW, RowTable, StreamError, Wanted

__all__ = [
    "Reading",
    "check_rows",
    "check_width",
    "common_dtype",
    "only_numbers",
    "planned",
]


@dataclass(frozen=True)
class Reading:
    """What is asked of all tables of a stream."""

    #: Names or numbers of the features; None for all that remain.
    columns: tuple[Any, ...] | None
    sequence: Any
    time: Any
    #: Whether the tables continue each other.
    joined: bool
    rows: slice
    gap: Any
    missing: str
    chunk_rows: int | None
    dtype: np.dtype[Any] | None
    #: The columns that say what a row is to be learned as; whether they were given as a list.
    labels: tuple[Any, ...] = ()
    several: bool = False
    #: Of the first table: how many features, and their names.
    width: int | None = None
    names: tuple[str, ...] | None = None

    def features(self, table: RowTable) -> tuple[int, ...] | None:
        """Return the places of the features in a table; None for all if its width is unknown."""
        if self.columns is not None:
            return tuple(place(one, table) for one in self.columns)
        asked = (self.sequence, self.time, *self.labels)
        marks = [place(one, table) for one in asked if one is not None]
        if table.width is not None:
            return tuple(one for one in range(table.width) if one not in marks)
        if marks:
            raise StreamError(f"{table.name} has an unknown width. Pass columns=[...] too.")
        return None

    def wanted(self, table: RowTable, block_rows: int) -> Wanted:
        """Return what is asked of one table."""
        sequence, time = (
            None if one is None else place(one, table) for one in (self.sequence, self.time)
        )
        labels = tuple(place(one, table) for one in self.labels)
        if self.names is not None and table.columns is not None:
            # By name: files may have their columns in another order.
            features: Any = tuple(place(name, table) for name in self.names)
        else:
            features = self.features(table)
        if table.width is not None and features == tuple(range(table.width)):
            features = None
        rows = self.rows
        ends = rows.start or 0, rows.stop, rows.step or 1
        return Wanted(features, sequence, time, labels, *ends, block_rows)


def planned(plan: Reading, tables: Sequence[RowTable]) -> Reading:
    """Return the plan with the width and the names of the features, the same in all tables."""
    first = tables[0]
    width, names = _features(plan, first)
    if width == 0:
        raise StreamError(f"{first.name} has no column left for features.")
    for table in tables[1:]:
        other, theirs = _features(plan, table)
        if names is not None and theirs is not None and set(names) != set(theirs):
            odd = sorted(set(names) ^ set(theirs))[0]
            has, lacks = (first, table) if odd in names else (table, first)
            raise StreamError(
                f"{table.name} has other columns than {first.name}: {odd!r} is in {has.name} and "
                f"not in {lacks.name}. Select common ones with columns=[...]."
            )
        if other is not None and width is not None and other != width:
            raise StreamError(
                f"{table.name} has {other} columns, and {first.name} has {width}. Every row must "
                "have the same columns."
            )
    return Reading(**vars(plan) | {"width": width, "names": names})


def _features(plan: Reading, table: RowTable) -> tuple[int | None, tuple[str, ...] | None]:
    """Return how many features a table gives, and their names, if they are known."""
    places = plan.features(table)
    if places is None or table.width is None:
        return (None if places is None else len(places)), None
    for name in plan.labels:
        if place(name, table) in places:
            raise StreamError(
                f"{table.name}: column {name!r} is a label and a feature. Leave it out of columns=."
            )
    names = None if table.columns is None else tuple(table.columns[one] for one in places)
    for name in [*(names or ()), plan.sequence, plan.time, *plan.labels]:
        if name in table.lacking:
            raise StreamError(
                f"{table.lacking[name]} has no column {name!r}, and other files of "
                f"{table.name} have it. Select common ones with columns=[...]."
            )
    return len(places), names


def only_numbers(plan: Reading, tables: Sequence[RowTable]) -> tuple[Reading, dict[str | int, str]]:
    """Return the plan without the features that hold no numbers, and what these hold.

    Where no feature is left, the plan is as it was.
    """
    first = tables[0]
    asked: tuple[Any, ...] = plan.features(first) or ()
    if first.columns is not None:
        asked = tuple(first.columns[one] for one in asked)
    others: dict[str | int, str] = {}
    for table in tables:
        for one, what in sorted(table.no_numbers.items()):
            named = one if table.columns is None else table.columns[one]
            if named in asked:
                others.setdefault(named, what)
    kept = tuple(one for one in asked if one not in others)
    if not others or not kept:
        return plan, others
    return planned(replace(plan, columns=kept), tables), others


def place(column: Any, table: RowTable) -> int:
    """Return the number of a column that is given by its name or number."""
    names, width = table.columns, table.width
    if isinstance(column, str):
        if names is not None and column in names:
            return names.index(column)
    elif isinstance(column, bool) or not isinstance(column, int | np.integer):
        raise TypeError(f"a column is given by its name or its number, got {column!r}.")
    elif width is None and column >= 0:
        return int(column)
    elif width is not None and -width <= column < width:
        return int(column) % width
    known = f"{width or '?'} columns and no column names"
    if names is not None:
        known = ", ".join(map(repr, names[:8])) + ", ..." * (len(names) > 8)
    raise StreamError(f"{table.name} has no column {column!r}; it has {known}.")


def check_columns(
    columns: Any, tables: Sequence[RowTable], option: str = "columns"
) -> tuple[Any, ...] | None:
    """Return the columns asked for as a tuple of names or numbers."""
    if columns is None:
        return None
    if isinstance(columns, str | Integral):
        columns = (columns,)
    if isinstance(columns, slice):
        if tables[0].width is None:
            raise StreamError(f"{tables[0].name} has an unknown width. List the columns.")
        columns = range(tables[0].width)[columns]
    listed = tuple(columns)
    if not listed:
        raise ValueError(f"{option} is empty: name some columns, or leave it out.")
    twice = [one for at, one in enumerate(listed) if one in listed[:at]]
    if twice:
        raise ValueError(f"{option} names {twice[0]!r} twice.")
    return listed


def check_rows(rows: Any) -> slice:
    """Return the rows asked for: the first so many, or a slice from 0 on.

    >>> check_rows(100)
    slice(0, 100, 1)
    """
    if rows is None:
        return slice(0, None, 1)
    if isinstance(rows, Integral):
        return slice(0, check_whole(rows, "rows"), 1)
    if not isinstance(rows, slice | range):
        raise TypeError(f"rows must be a number of rows, a slice or a range, got {rows!r}.")
    try:
        start, step = index(rows.start or 0), 1 if rows.step is None else index(rows.step)
        stop = None if rows.stop is None else index(rows.stop)
    except TypeError:
        raise TypeError(f"rows must be counted in whole numbers, got {rows!r}.") from None
    if start < 0 or step < 1 or (stop is not None and stop <= start):
        raise ValueError(
            f"rows must go forward from row 0 or later and hold at least one row, got {rows!r}."
        )
    return slice(start, stop, step)


def common_dtype(tables: Sequence[RowTable]) -> np.dtype[Any] | None:
    """Return float32 if all hold that, None where one does not say, else float64."""
    kinds = [table.dtype for table in tables]
    if any(kind is None for kind in kinds):
        return None
    single = all(kind is not None and kind.kind == "f" and kind.itemsize == 4 for kind in kinds)
    return np.dtype(np.float32 if single else np.float64)


def check_width(widths: Sequence[int]) -> None:
    """Raise if steps of preprocessing make rows larger than LARGEST_ROW."""
    if max(widths) * 8 > LARGEST_ROW:
        raise StreamError(
            f"these steps make rows of {max(widths)} numbers out of {widths[0]}, which is "
            f"{max(widths) * 8 / 2**20:.0f} MB a row. Select columns or project first."
        )
