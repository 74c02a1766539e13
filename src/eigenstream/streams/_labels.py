"""What rows are to be learned as: columns of the table itself, or values given beside it."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream._checks import check_unmasked
from eigenstream.streams._sequences import Part
from eigenstream.streams.base import RowBlock, StreamError

__all__ = ["Beside", "checked", "merged", "plain", "weighed"]


def plain(column: Any) -> NDArray[Any]:
    """Return labels as numbers, as text, or as flags; what is missing as NaN or empty text.

    Whole numbers are integers, however a format holds them.

    >>> plain(np.array(["a", None], object)), plain(np.array([1.0, 2.0]))
    (array(['a', ''], dtype='<U1'), array([1, 2]))
    """
    values = np.asarray(column)
    if values.dtype.kind in "fiub":
        with np.errstate(invalid="ignore"):
            exact = (np.abs(values) < 2.0**53) & (values == np.rint(values))  # NaN is neither
        whole = values.dtype.kind == "f" and bool(exact.all())
        return values.astype(np.int64) if whole else values
    listed = values.tolist()
    if values.dtype.kind == "O" and all(isinstance(one, int | float | None) for one in listed):
        numbers = [np.nan if one is None else one for one in listed]
        return plain(np.array(numbers, bool if _flags(listed) else np.float64))
    if values.dtype.kind in "OMmT":
        absent = [one is None or one != one for one in listed]
        text = ["" if no else str(one) for no, one in zip(absent, values, strict=True)]
        return np.array(text, dtype=np.str_)
    return values


def _flags(values: Sequence[Any]) -> bool:
    return all(isinstance(one, bool) for one in values)


def merged(columns: Sequence[NDArray[Any]], several: bool) -> NDArray[Any]:
    """Return the labels of a chunk: a column as it is, several side by side.

    >>> merged((np.array([1.0]), np.array([2.5])), True).tolist()
    [[1.0, 2.5]]
    """
    if not several:
        return plain(columns[0])
    return np.column_stack([plain(one) for one in columns])


def lacking(part: Part) -> NDArray[np.bool_]:
    """Tell of every row whether it lacks a label."""
    found = np.zeros(len(part), bool)
    for column in part.labels:
        values = plain(column)
        if values.dtype.kind == "f":
            found |= ~np.isfinite(values)
        elif values.dtype.kind in "US":
            found |= values == np.zeros((), values.dtype)
    return found


def checked(part: Part) -> Part:
    """Refuse a row without a label, with its place."""
    holes = lacking(part)
    if holes.any():
        row = part.first_row + int(np.argmax(holes)) * part.stride
        raise StreamError(
            f"{part.source} has no label at row {row}. Mend it, or pass missing='skip'."
        )
    return part


def weighed(part: Part) -> Part:
    """Return the part in which rows without a label weigh nothing."""
    holes = lacking(part)
    if not holes.any():
        return part
    weights = np.ones(len(part)) if part.weights is None else part.weights
    return replace(part, weights=np.where(holes, 0.0, weights))


class Beside:
    """Labels that are given beside the rows of a stream, one for each row that is read."""

    def __init__(self, values: Any, name: str) -> None:
        if isinstance(values, str | PathLike):
            raise TypeError(
                f"{name} is the name of a file, {fspath(values)!r:.80}, and labels are due: "
                "labels_of(path), of eigenstream.streams, reads those of a file of one column."
            )
        check_unmasked(values, name)
        self.values = np.asarray(values)
        self.name = name
        if self.values.ndim not in (1, 2) or (self.values.ndim == 2 and not self.values.shape[1]):
            raise StreamError(
                f"{name} must hold one label a row, or one column a target; got shape "
                f"{self.values.shape}."
            )

    @property
    def several(self) -> bool:
        """Whether there is a column for each of several targets."""
        return self.values.ndim == 2

    def digest(self) -> str:
        """Return a digest of all of them."""
        columns = (self.values,) if self.values.ndim == 1 else tuple(self.values.T)
        found = blake2b(digest_size=16)
        for one in map(plain, columns):
            found.update(f"{one.dtype}{one.shape}".encode() + one.tobytes())
        return found.hexdigest()

    def check(self, n_rows: int) -> None:
        """Refuse another number of labels than rows."""
        if n_rows != len(self.values):
            raise StreamError(
                f"{self.name} has {len(self.values)} labels, and the stream has {n_rows} rows. "
                "Give one label for each row that is read."
            )

    def put(self, block: RowBlock, at: int) -> RowBlock:
        """Return a block with its labels, whose first row is the ``at``-th of the stream."""
        stop = at + len(block)
        if stop > len(self.values):
            raise StreamError(
                f"{self.name} has {len(self.values)} labels, and the stream has more rows. Give "
                "one label for each row that is read."
            )
        part = self.values[at:stop]
        columns = (part,) if part.ndim == 1 else tuple(part.T)
        return replace(block, labels=columns)
