"""Labels and pairs of rows from short tables, which are read into memory as a whole."""

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from eigenstream.core.types import Array
from eigenstream.rows.chunk import joined_labels
from eigenstream.streams.base import Request, StreamError, plain
from eigenstream.streams.files import files_of, reader_of_file, tables_of

#: Rows that are read at a time. Larger blocks are faster and take more memory.
BLOCK_ROWS = 1 << 16


def columns_of(path: str | PathLike[str], count: int, what: str) -> list[Array]:
    """Return the columns of a short table, as numbers if all values are numbers, else as text.

    Parameters
    ----------
    path : str or path
        The file of the table, or a glob of several files.
    count : int
        The required number of columns.
    what : str
        The contents of the table, for error messages.

    Returns
    -------
    columns : list of ndarray of shape (n_rows,)

    Raises
    ------
    StreamError
        If the table has another number of columns, or no rows.

    Notes
    -----
    The first line of a text table is data if it holds a number, or if its last word occurs again
    below. Otherwise it names the columns.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> path = mkdtemp() + "/pairs.csv"
    >>> _ = open(path, "w").write("0,1,equal\\n1,2,unequal\\n2,3,equal\\n")
    >>> [column.tolist() for column in columns_of(path, 3, "pairs")]
    [[0, 1, 2], [1, 2, 3], ['equal', 'unequal', 'equal']]
    """
    if str(path).endswith(".npy") and (labels := _text_array(path)) is not None:
        return [labels]
    request = Request((), labels=tuple(range(count)), several=True, block_rows=BLOCK_ROWS)
    pieces = []
    for file in files_of(str(path)):
        text = reader_of_file(file) == "text.Text"
        for table in tables_of([file], {"header": None} if text else {}):
            if table.width != count:
                raise StreamError(
                    f"{table.name} has {table.width} columns, and {what} have {count}."
                )
            labels = joined_labels([np.asarray(block.labels) for block in table.blocks(request)])
            columns = [_as_numbers(column) for column in labels.T]
            pieces.append(_without_names(columns) if text else columns)
            if len(pieces[-1][0]) == 0:
                raise StreamError(f"{table.name} has no rows.")
    return [joined_labels(each) for each in zip(*pieces, strict=True)]


def labels_of(path: str | PathLike[str]) -> Array:
    """Return the labels in a file of one column, as text or numbers.

    Parameters
    ----------
    path : str or path
        The file: any table that ``open_stream`` reads, or an .npy file of text.

    Returns
    -------
    labels : ndarray of shape (n_rows,)

    See Also
    --------
    Stream.with_labels : Add labels to a stream.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> path = mkdtemp() + "/labels.csv"
    >>> _ = open(path, "w").write("species\\nsetosa\\nvirginica\\n")
    >>> labels_of(path).tolist()
    ['setosa', 'virginica']
    """
    return columns_of(path, 1, "labels")[0]


def _without_names(columns: Sequence[Array]) -> list[Array]:
    """Return the columns without a first row of names."""
    data = any(_as_numbers(column[:1]).dtype.kind != "U" for column in columns)
    data = data or columns[-1][0] in columns[-1][1:]
    return [_as_numbers(column if data else column[1:]) for column in columns]


def _as_numbers(column: Array) -> Array:
    """Return text as numbers if all cells are numbers or empty. Empty cells become NaN."""
    if column.dtype.kind != "U":
        return plain(column)
    try:
        return plain(np.where(column == "", "nan", column).astype(np.float64))
    except ValueError:
        return column


def _text_array(path: Any) -> Array | None:
    """Return the text in an .npy file, or None if the file holds numbers."""
    try:
        stored = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None  # the reader of numbers reports the error
    # The reader of numbers also reports text of two dimensions.
    return np.array(stored) if stored.dtype.kind in "US" and stored.ndim == 1 else None
