"""Write the rows of a stream to a file, chunk by chunk."""

import csv
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from io import StringIO
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np

from eigenstream.core.files import replacing
from eigenstream.core.types import Array, DType, StreamLike
from eigenstream.streams.base import StreamError

#: Times, or None, and rows.
Blocks = Iterator[tuple[Any, Any]]


def write_npy(file: IO[bytes], names: Sequence[str], dtype: DType, blocks: Blocks) -> None:
    """Write an array without times. The header is written again with the number of rows."""
    n_rows = 0

    def header() -> None:
        descr, shape = np.lib.format.dtype_to_descr(dtype), (n_rows, len(names))
        # NumPy pads the header, so that the first axis can grow.
        np.lib.format.write_array_header_1_0(
            file, {"descr": descr, "fortran_order": False, "shape": shape}
        )

    header()
    for _, rows in blocks:
        file.write(np.ascontiguousarray(rows).data)
        n_rows += len(rows)
    file.seek(0)
    header()


def write_csv(file: IO[bytes], names: Sequence[str], dtype: DType, blocks: Blocks) -> None:
    """Write text with a header. The digits suffice to read back the same numbers."""
    from pyarrow import csv as arrow_csv

    header = StringIO()
    csv.writer(header, lineterminator="\n").writerow(names)
    file.write(header.getvalue().encode())
    options = arrow_csv.WriteOptions(include_header=False)
    for table in _tables(names, blocks):
        arrow_csv.write_csv(table, file, options)
        file.flush()  # a reader of a pipe waits for it


def write_parquet(file: IO[bytes], names: Sequence[str], dtype: DType, blocks: Blocks) -> None:
    """Write one column for each feature and one row group for each block."""
    from pyarrow import parquet

    tables = _tables(names, blocks)
    first = next(tables)
    with parquet.ParquetWriter(file, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def _tables(names: Sequence[str], blocks: Blocks) -> Iterator[Any]:
    """Yield blocks as tables of Arrow. The times are the first column."""
    import pyarrow

    for times, rows in blocks:
        columns = [] if times is None else [times]
        columns += [np.ascontiguousarray(column) for column in rows.T]
        yield pyarrow.table(columns, names=list(names))


WRITERS = {".npy": write_npy, ".csv": write_csv, ".parquet": write_parquet}

#: The endings of files that can be written.
ENDINGS = tuple(WRITERS)


def write_rows(
    file: Any,
    ending: str,
    names: Sequence[str] | None,
    blocks: Blocks,
    time: str | None = None,
) -> int:
    """Write blocks of rows of one type, with their times or None. Return the number of rows.

    By default the columns are named by their numbers. ``time`` is the name of the column of times.

    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> write_rows(
    ...     file, ".csv", ["x", "y"], iter([(None, np.array([[1.0, 0.1]]))])
    ... )
    1
    >>> file.getvalue()
    b'x,y\\n1,0.1\\n'
    """
    first = next(blocks, None)
    if first is None:
        raise StreamError("the stream has no rows. Nothing was written.")
    times, rows = first
    names = list(map(str, range(rows.shape[1]))) if names is None else list(names)
    if len(names) != rows.shape[1]:
        raise ValueError(f"names has {len(names)} items. Pass {rows.shape[1]} names.")
    if times is not None and ending != ".npy":
        names = [time or "time", *names]
    n_rows = 0

    def counted() -> Blocks:
        nonlocal n_rows
        for block in chain([first], blocks):
            n_rows += len(block[1])
            yield block

    WRITERS[ending](file, names, rows.dtype, counted())
    return n_rows


def write_stream(
    stream: StreamLike, path: str | PathLike[str], names: Sequence[str] | None = None
) -> int:
    """Write the rows of a stream to a file, chunk by chunk.

    If writing fails, no file is left. Rows of weight zero are written as NaN, so that every row
    keeps its number. If the stream has times, their column comes first, except in .npy.

    Parameters
    ----------
    stream : Stream
        A stream of rows, such as the result of ``transform`` of a stream.
    path : str or path
        The file, ending in .npy, .csv or .parquet.
    names : list of str, default=None
        The names of the columns. By default those of the stream, or else numbers.

    Returns
    -------
    n_rows : int
        The number of rows written.

    Raises
    ------
    StreamError
        If the ending is unknown, or if the stream has no rows of numbers.

    See Also
    --------
    eigenstream.open_stream : Read such a file.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from eigenstream.streams import open_stream, write_stream
    >>> path = mkdtemp() + "/rows.csv"
    >>> write_stream(open_stream(np.eye(2)), path, names=["x", "y"])
    2
    >>> open(path).read()
    'x,y\\n1,0\\n0,1\\n'
    """
    place = Path(path)
    ending = place.suffix.lower()
    if ending not in WRITERS:
        raise StreamError(f"{path} has an unknown ending. Use one of {', '.join(WRITERS)}.")
    with replacing(place) as file, closing(_blocks(stream)) as blocks:
        binary: Any = file
        own = stream.feature_names if names is None else names
        return write_rows(binary.buffer, ending, own, blocks, stream.time_name)


def _blocks(stream: StreamLike) -> Generator[tuple[Array, Array | None]]:
    """Yield the times and rows of chunks, with NaN in rows of weight zero."""
    with closing(stream.chunks()) as chunks:
        for chunk in chunks:
            rows = chunk.measured_rows()
            if rows.ndim != 2 or rows.dtype.kind not in "fiub":
                raise StreamError(f"{stream!r} has no rows of numbers. Write its chunks yourself.")
            yield chunk.raw_times, rows
