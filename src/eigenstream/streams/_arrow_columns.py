"""From Arrow's columns to rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from eigenstream.streams.base import RowBlock, StreamError, Wanted

__all__ = ["Named", "block_of", "is_number", "kind_of"]

#: Types, as Arrow writes them, whose values can be features.
NUMBERS = {"bool", "halffloat", "float", "double"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


@dataclass(frozen=True)
class Named:
    """The columns that are wanted, by their names in a batch of records."""

    features: Sequence[str]
    sequence: str | None
    time: str | None
    labels: Sequence[str] = ()

    @classmethod
    def of(cls, wanted: Wanted, names: Sequence[str]) -> Self:
        """Return the names of what is wanted by place."""
        places = range(len(names)) if wanted.features is None else wanted.features
        sequence, time = (
            None if one is None else names[one] for one in (wanted.sequence, wanted.time)
        )
        return cls(
            [names[one] for one in places], sequence, time, [names[one] for one in wanted.labels]
        )

    @property
    def marks(self) -> list[str]:
        """The columns that are no features, each once."""
        marks = [one for one in (self.sequence, self.time, *self.labels) if one is not None]
        return list(dict.fromkeys(marks))

    @property
    def all(self) -> list[str]:
        """Every column, once."""
        return list(dict.fromkeys([*self.features, *self.marks]))


def block_of(batch: Any, wanted: Named, name: str) -> RowBlock:
    """Return the wanted columns of a batch of records; what is missing becomes NaN."""
    features = wanted.features
    kinds = {str(batch.schema.field(one).type) for one in features}
    dtype = np.dtype(np.float32 if kinds == {"float"} else np.float64)
    rows = np.empty((batch.num_rows, len(features)), dtype)
    columns = [numbers(batch.column(one), one, name) for one in features]
    # Some rows at a time: every column is then in the cache while the rows are filled.
    step = max((1 << 17) // max(len(features), 1), 64)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        for place, column in enumerate(columns):
            rows[part, place] = column[part]
    names, times = (
        None if one is None else mark(batch.column(one)) for one in (wanted.sequence, wanted.time)
    )
    labels = tuple(mark(batch.column(one)) for one in wanted.labels)
    return RowBlock(rows, names, times, labels=labels)


def numbers(column: Any, label: str, name: str) -> Any:
    """Return a column as an array of numbers."""
    found = column.to_numpy(zero_copy_only=False)
    if found.dtype.kind == "O":  # booleans with holes, for one
        kind = str(column.type)
        if kind != "bool":
            raise StreamError(
                f"{name} has values of type {kind} in column {label!r}, and numbers are due. "
                "Select others with columns=[...], or name a column of labels with labels=."
            )
        found = found.astype(np.float64)
    if found.dtype.kind not in "biuf":
        raise StreamError(
            f"{name} has values of type {column.type} in column {label!r}, and numbers are due. "
            "Select others with columns=[...], or name it with labels=, time= or sequence=."
        )
    return found


def is_number(kind: Any) -> bool:
    """Tell a type whose values can be features.

    >>> import pyarrow
    >>> is_number(pyarrow.int8()), is_number(pyarrow.string())
    (True, False)
    """
    return str(kind) in NUMBERS


def kind_of(kind: Any) -> str:
    """Return in a word what is no number.

    >>> import pyarrow
    >>> kind_of(pyarrow.dictionary(pyarrow.int8(), pyarrow.string())), kind_of(pyarrow.date32())
    ('text', 'dates')
    """
    values = str(getattr(kind, "value_type", kind))
    if values in ("string", "large_string", "string_view"):
        return "text" if not str(kind).startswith(("list", "large_list")) else f"of type {kind}"
    return "dates" if values.startswith(("date", "timestamp")) else f"of type {kind}"


def mark(column: Any) -> Any:
    """Return a column of names or times."""
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    return column.to_numpy(zero_copy_only=False)
