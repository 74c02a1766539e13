"""The columns and rows that a stream reads of each of its tables."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from numbers import Integral
from operator import index
from typing import Any

import numpy as np

from eigenstream.core.checks import check_number
from eigenstream.core.types import Column, Columns, DType
from eigenstream.streams.base import Request, RowTable, StreamError


@dataclass(frozen=True)
class Reading:
    """The options of ``open_stream`` that hold for all tables."""

    #: Names or numbers of the features. None means all columns without another use.
    columns: tuple[Column, ...] | None
    sequence: Column | None
    time: Column | None
    #: True if the tables form one sequence.
    joined: bool
    rows: slice
    gap: Any
    missing: str
    chunk_rows: int | None
    dtype: DType | None
    #: The columns of labels. ``several`` is True if they were given as a list.
    labels: tuple[Column, ...] = ()
    several: bool = False
    #: Columns that are no features.
    exclude: tuple[Column, ...] = ()
    #: Numbers that mean a missing value.
    na_values: tuple[float, ...] = ()

    def request(self, table: RowTable) -> Request:
        """Return the requested columns and rows of a table."""
        labels = tuple(places(self.labels, table))
        sequence, time = (
            None if mark is None else place(mark, table) for mark in (self.sequence, self.time)
        )
        marks = {sequence, time, *labels} - {None}
        features = places(self.columns or (slice(None),), table, marks)
        if twice := [label for label in labels if label in features]:
            raise StreamError(f"{table.name}: column {twice[0]!r} is both a label and a feature.")
        if left_out := set(places(self.exclude, table)):
            features = [feature for feature in features if feature not in left_out]
        if len(features) == 0:
            raise StreamError(f"{table.name} has no column for features. Add a column.")
        rows = self.rows.start, self.rows.stop, self.rows.step
        return Request(side_by_side(features), sequence, time, labels, self.several, *rows)


def side_by_side(places: Sequence[int]) -> Sequence[int]:
    """Return consecutive places as a range, which needs no copy of the rows."""
    near = range(places[0], places[0] + len(places))
    return near if isinstance(places, range) or list(near) == places else places


def planned(plan: Reading, tables: Sequence[RowTable]) -> list[Request]:
    """Return the requested columns and rows of each table, with equal features in all tables."""
    first, names = tables[0], None
    requests: list[Request] = []
    for table in tables:
        request = plan.request(table)
        own = [table.columns[number] for number in request.features] if table.columns else []
        names = own if names is None else names
        odd = sorted(set(names) ^ set(own)) if own and names else []
        if odd or (requests and len(request.features) != len(requests[0].features)):
            which = f" Only one has {odd[0]!r}." if odd else ""
            raise StreamError(
                f"{table.name} has other columns than {first.name}.{which} Select common columns "
                "with columns=."
            )
        if own and names:  # the order of the columns may differ between files
            numbers = {name: number for number, name in enumerate(table.columns)}
            request = replace(request, features=side_by_side([numbers[name] for name in names]))
        requests.append(request)
    return requests


def only_numbers(plan: Reading, tables: Sequence[RowTable]) -> tuple[Reading, dict[str | int, str]]:
    """Return the plan without the features that hold no numbers, and the contents of these.

    If no feature remains, the plan is returned unchanged.
    """
    others: dict[str | int, str] = {}
    named: list[str | int] = []
    for table, request in zip(tables, planned(plan, tables), strict=True):
        names: Columns = table.columns or range(table.width)
        named = named or [names[number] for number in request.features]
        for number in request.features:
            if number in table.no_numbers:
                others.setdefault(names[number], table.no_numbers[number])
    numeric = tuple(name for name in named if name not in others)
    return (replace(plan, columns=numeric) if others and numeric else plan), others


def places(columns: Sequence[Any], table: RowTable, marks: Columns = ()) -> Sequence[int]:
    """Return the numbers of columns that are given by names, patterns, numbers or slices.

    Patterns and slices do not match ``marks``, the columns of labels, times and sequences.
    """
    if not marks and list(columns) == [slice(None)]:
        return range(table.width)
    numbers: list[int] = []
    # A lookup of each name in the tuple would take time quadratic in the columns.
    numbers_by_name = {name: number for number, name in enumerate(table.columns)}
    for column in columns:
        if isinstance(column, slice):
            numbers += [at for at in range(table.width)[column] if at not in marks]
        elif isinstance(column, str) and column in numbers_by_name:
            numbers.append(numbers_by_name[column])
        elif isinstance(column, str):
            matches = [at for at, name in enumerate(table.columns) if fnmatchcase(name, column)]
            numbers += [at for at in matches if at not in marks] or [place(column, table)]
        else:
            numbers.append(place(column, table))
    return list(dict.fromkeys(numbers))


def place(column: Column | None, table: RowTable) -> int:
    """Return the number of a column, given its name or number."""
    names, width = table.columns, table.width
    if isinstance(column, str):
        if column in names:
            return names.index(column)
    elif isinstance(column, bool) or not isinstance(column, int | np.integer):
        raise TypeError(f"{column!r} is not a column. Pass a name or a number.")
    elif -width <= column < width:
        return int(column) % width
    columns = f"{width} columns and no column names"
    if names:
        columns = ", ".join(map(repr, names[:8])) + ", ..." * (len(names) > 8)
    raise StreamError(f"{table.name} has no column {column!r}. It has {columns}.")


def check_columns(columns: Columns, option: str = "columns") -> tuple[Column, ...] | None:
    """Return the given columns as a tuple of names, numbers and slices."""
    if columns is None:
        return None
    listed = (columns,) if isinstance(columns, str | Integral | slice) else tuple(columns)
    if not listed:
        raise ValueError(f"{option} is empty. Name at least one column, or omit {option}=.")
    return listed


def check_rows(rows: Any) -> slice:
    """Return ``rows=`` as a slice, given a number of first rows, a slice or a range.

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
    raise ValueError(f"rows must be a number or slice with start >= 0 and step > 0, got {rows!r}.")


def check_na_values(values: Any) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Return the numbers and the words of ``na_values=``.

    >>> check_na_values([-9999, "1e3", "bad"])
    ((-9999.0, 1000.0), ('bad',))
    """
    numbers: list[float] = []
    words: list[str] = []
    for value in [values] if isinstance(values, str | float | int) else values:
        try:
            numbers.append(float(value))
        except ValueError:
            words.append(str(value))
        except TypeError:
            raise TypeError(f"na_values has {value!r:.40}. Pass numbers or words.") from None
    return tuple(numbers), tuple(words)


def check_gap(gap: object) -> float:
    """Return ``gap=`` as a number. Time spans are converted to seconds.

    >>> check_gap(datetime.timedelta(minutes=1))
    60.0
    """
    span: Any = np.timedelta64(gap) if isinstance(gap, datetime.timedelta) else gap
    if isinstance(span, np.timedelta64):
        span = float(span / np.timedelta64(1, "s"))
    return check_number(span, "gap", least=0)
