"""The columns and rows that a stream reads of each of its tables."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from operator import index
from typing import Any

import numpy as np

from eigenstream.streams.base import Request, RowTable, StreamError


@dataclass(frozen=True)
class Reading:
    """The options of ``open_stream`` that hold for all tables."""

    #: Names or numbers of the features; None for all columns that are nothing else.
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
    #: The columns of labels, and whether they were given as a list.
    labels: tuple[Any, ...] = ()
    several: bool = False

    def request(self, table: RowTable) -> Request:
        """Return the requested columns and rows of a table."""
        labels = tuple(place(one, table) for one in self.labels)
        sequence, time = (
            None if one is None else place(one, table) for one in (self.sequence, self.time)
        )
        features: Sequence[int]
        if self.columns is None:
            features = range(table.width)
            if marks := {sequence, time, *labels} - {None}:
                features = [one for one in features if one not in marks]
        else:
            features = [place(one, table) for one in self.columns]
            if both := [one for one in labels if one in features]:
                raise StreamError(
                    f"{table.name}: column {both[0]!r} is a label and a feature. Leave it out of "
                    "columns=."
                )
        if len(features) == 0:
            raise StreamError(f"{table.name} has no column left for features.")
        rows = self.rows.start, self.rows.stop, self.rows.step
        request = Request(side_by_side(features), sequence, time, labels, self.several, *rows)
        for one in request.places if table.lacking else ():
            if (name := table.columns[one]) in table.lacking:
                raise StreamError(
                    f"{table.lacking[name]} has no column {name!r}, and other files of "
                    f"{table.name} have it. Select common ones with columns=[...]."
                )
        return request


def side_by_side(places: Sequence[int]) -> Sequence[int]:
    """Return places as a range if they follow each other, which needs no copy of the rows."""
    near = range(places[0], places[0] + len(places))
    return near if isinstance(places, range) or list(near) == places else places


def planned(plan: Reading, tables: Sequence[RowTable]) -> list[Request]:
    """Return the requested columns and rows of each table: the same features in all of them."""
    first, names = tables[0], None
    found: list[Request] = []
    for table in tables:
        request = plan.request(table)
        own = [table.columns[one] for one in request.features] if table.columns else []
        names = own if names is None else names
        if own and names and own != names:  # by name: files may have columns in another order
            if odd := sorted(set(names) ^ set(own)):
                has, lacks = (first, table) if odd[0] in names else (table, first)
                raise StreamError(
                    f"{table.name} has other columns than {first.name}: {odd[0]!r} is in "
                    f"{has.name} and not in {lacks.name}. Select common ones with columns=[...]."
                )
            places = [table.columns.index(one) for one in names]
            request = replace(request, features=side_by_side(places))
        if found and len(request.features) != len(found[0].features):
            raise StreamError(
                f"{table.name} has {len(request.features)} columns, and {first.name} has "
                f"{len(found[0].features)}. Every row must have the same columns."
            )
        found.append(request)
    return found


def only_numbers(plan: Reading, tables: Sequence[RowTable]) -> tuple[Reading, dict[str | int, str]]:
    """Return the plan without the features that hold no numbers, and their contents.

    If no feature is left, the plan stays as it is.
    """
    others: dict[str | int, str] = {}
    named: list[str | int] = []
    for table, request in zip(tables, planned(plan, tables), strict=True):
        names: Any = table.columns or range(table.width)
        named = named or [names[one] for one in request.features]
        for one in request.features:
            if one in table.no_numbers:
                others.setdefault(names[one], table.no_numbers[one])
    kept = tuple(one for one in named if one not in others)
    return (replace(plan, columns=kept) if others and kept else plan), others


def place(column: Any, table: RowTable) -> int:
    """Return the number of a column that is given by its name or number."""
    names, width = table.columns, table.width
    if isinstance(column, str):
        if column in names:
            return names.index(column)
    elif isinstance(column, bool) or not isinstance(column, int | np.integer):
        raise TypeError(f"a column is given by its name or its number, got {column!r}.")
    elif -width <= column < width:
        return int(column) % width
    known = f"{width} columns and no column names"
    if names:
        known = ", ".join(map(repr, names[:8])) + ", ..." * (len(names) > 8)
    raise StreamError(f"{table.name} has no column {column!r}; it has {known}.")


def check_columns(
    columns: Any, tables: Sequence[RowTable], option: str = "columns"
) -> tuple[Any, ...] | None:
    """Return the given columns as a tuple of names or numbers."""
    if columns is None:
        return None
    if isinstance(columns, slice):
        columns = range(tables[0].width)[columns]
    listed = (columns,) if isinstance(columns, str | Integral) else tuple(columns)
    if not listed:
        raise ValueError(f"{option} is empty: name some columns, or leave it out.")
    twice = [one for at, one in enumerate(listed) if one in listed[:at]]
    if twice:
        raise ValueError(f"{option} names {twice[0]!r} twice.")
    return listed


def check_rows(rows: Any) -> slice:
    """Return the given rows, a number of first rows or a slice, as a slice.

    >>> check_rows(100)
    slice(0, 100, 1)
    """
    part = rows if isinstance(rows, slice | range) else slice(rows)
    try:
        start, step = index(part.start or 0), index(1 if part.step is None else part.step)
        stop = None if part.stop is None else index(part.stop)
        if start >= 0 and step > 0 and (stop is None or stop > start):
            return slice(start, stop, step)
    except TypeError:
        pass
    raise ValueError(
        "rows must be a number of rows, or a slice of whole numbers that goes forward from row 0 "
        f"or later and holds a row, got {rows!r}."
    )


def check_gap(gap: Any) -> float | np.timedelta64:
    """Return the longest step in time that is no gap: a number, or a span of time.

    >>> check_gap(datetime.timedelta(minutes=1))
    np.timedelta64(60000000,'us')
    """
    span: Any = np.timedelta64(gap) if isinstance(gap, datetime.timedelta) else gap
    if isinstance(span, np.timedelta64) and span >= np.timedelta64(0):
        return span
    if not isinstance(span, Real) or not 0 <= float(span) < np.inf:
        raise ValueError(f"gap must be a number or a timedelta of at least 0, got {gap!r}.")
    return float(span)
