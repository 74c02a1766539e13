"""From Arrow's columns to rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenstream.streams.base import RowBlock, StreamError

__all__ = ["block_of"]


def block_of(
    batch: Any, features: Sequence[str], sequence: str | None, time: str | None, name: str
) -> RowBlock:
    """Return these columns of a batch of records as a block; what is missing becomes NaN."""
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
    names, times = (None if one is None else mark(batch.column(one)) for one in (sequence, time))
    return RowBlock(rows, names, times)


def numbers(column: Any, label: str, name: str) -> Any:
    """Return a column as an array of numbers."""
    found = column.to_numpy(zero_copy_only=False)
    if found.dtype.kind == "O":  # booleans with holes, for one
        kind = str(column.type)
        if kind != "bool":
            raise StreamError(
                f"{name} has values of type {kind} in column {label!r}, and numbers are due. "
                "Select others with columns=[...]."
            )
        found = found.astype(np.float64)
    if found.dtype.kind not in "biuf":
        raise StreamError(
            f"{name} has values of type {column.type} in column {label!r}, and numbers are due. "
            "Select others with columns=[...], or name it with time= or sequence=."
        )
    return found


def mark(column: Any) -> Any:
    """Return a column of names or times."""
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    return column.to_numpy(zero_copy_only=False)
