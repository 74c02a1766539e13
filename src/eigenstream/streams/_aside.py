"""Short tables beside the data, in memory as a whole: labels, and pairs of rows."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream.streams._chunks import plain
from eigenstream.streams._formats import tables_of
from eigenstream.streams._places import resolved
from eigenstream.streams.base import RowTable, StreamError, Wanted

__all__ = ["columns_of", "labels_of"]

#: Rows read at a time.
BLOCK_ROWS = 1 << 16


def columns_of(
    path: str | PathLike[str], count: int, what: str, opposites: Mapping[str, str] | None = None
) -> list[NDArray[Any]]:
    """Return the columns of a table of so many, as numbers where all of one are, else as text.

    A first line of a text table that is no names, but one more row, is that row: where it holds a
    number, or in the last column what that column holds below, too, or its opposite.

    >>> from tempfile import mkdtemp
    >>> path = mkdtemp() + "/pairs.csv"
    >>> _ = open(path, "w").write("0,1,equal\\n1,2,unequal\\n2,3,equal\\n")
    >>> [column.tolist() for column in columns_of(path, 3, "pairs are")]
    [[0, 1, 2], [1, 2, 3], ['equal', 'unequal', 'equal']]
    """
    tables = tables_of(resolved(str(path)), {}) if not _is_text_array(path) else []
    if not tables:
        return [_text_array(path)]
    pieces: list[list[NDArray[Any]]] = [[] for _ in range(count)]
    for table in tables:
        if table.width is not None and table.width != count:
            due = "one column" if count == 1 else f"{count} columns"
            raise StreamError(f"{table.name} has {table.width} columns, and {due} of {what} due.")
        wanted = Wanted(features=(), labels=tuple(range(count)), block_rows=BLOCK_ROWS)
        blocks = [block.labels for block in table.blocks(wanted)]
        for place, piece in enumerate(pieces):
            piece.extend(plain(block[place]) for block in blocks)
        for piece, cell in zip(
            pieces, _first_row(table, pieces[-1], opposites or {}), strict=False
        ):
            numbers = all(one.dtype.kind not in "US" for one in piece) and _is_number(cell)
            piece.insert(0, plain(np.array([float(cell) if numbers else cell], dtype=object)))
    return [_joined(piece) for piece in pieces]


def labels_of(path: str | PathLike[str]) -> NDArray[Any]:
    """Return the labels in a file of one column: names or numbers.

    >>> from tempfile import mkdtemp
    >>> path = mkdtemp() + "/labels.csv"
    >>> _ = open(path, "w").write("species\\nsetosa\\nvirginica\\n")
    >>> labels_of(path).tolist()
    ['setosa', 'virginica']
    """
    return columns_of(path, 1, "labels is")[0]


def _first_row(
    table: RowTable, last: Sequence[NDArray[Any]], opposites: Mapping[str, str]
) -> Sequence[str]:
    """Return the names of the columns if they are a row like the others, else nothing."""
    if not getattr(getattr(table, "layout", None), "headed", False) or not table.columns:
        return ()
    known = any(_is_number(cell) for cell in table.columns)
    end = table.columns[-1]
    for word in {end, opposites.get(end.lower(), end)}:
        known |= any(piece.dtype.kind in "US" and (piece == word).any() for piece in last)
    return table.columns if known else ()


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _joined(pieces: Sequence[NDArray[Any]]) -> NDArray[Any]:
    kinds = {piece.dtype.kind in "US" for piece in pieces}
    if len(kinds) > 1:  # a name above numbers, or the other way round
        pieces = [piece.astype(np.str_) for piece in pieces]
    return np.concatenate(pieces)


def _is_text_array(path: Any) -> bool:
    """Tell a .npy file of text, which no reader of numbers takes."""
    if not str(path).endswith(".npy"):
        return False
    try:
        return np.lib.format.open_memmap(path, mode="r").dtype.kind in "US"
    except (OSError, ValueError):
        return False  # the reader says what is wrong with it


def _text_array(path: Any) -> NDArray[Any]:
    found = np.array(np.lib.format.open_memmap(path, mode="r"))
    if found.ndim != 1:
        raise StreamError(f"{path} has shape {found.shape}, and one label a row is due.")
    return found
