"""Write the rows of a stream to a file, chunk by chunk."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from eigenstream._files import replacing
from eigenstream.streams.base import StreamError


def write_npy(file: Any, names: Sequence[str], dtype: Any, blocks: Iterator[Any]) -> None:
    """Write an array. The header is written again when the number of rows is known."""
    n_rows = 0

    def header() -> None:
        descr, shape = np.lib.format.dtype_to_descr(dtype), (n_rows, len(names))
        # NumPy pads the header, so that the first axis can grow.
        np.lib.format.write_array_header_1_0(
            file, {"descr": descr, "fortran_order": False, "shape": shape}
        )

    header()
    for rows in blocks:
        file.write(np.ascontiguousarray(rows).data)
        n_rows += len(rows)
    file.seek(0)
    header()


def write_csv(file: Any, names: Sequence[str], dtype: Any, blocks: Iterator[Any]) -> None:
    """Write text with a header. The digits suffice to read back the same numbers."""
    file.write((",".join(names) + "\n").encode())
    for rows in blocks:
        np.savetxt(file, rows, fmt="%.9g" if dtype == np.float32 else "%.17g", delimiter=",")


def write_parquet(file: Any, names: Sequence[str], dtype: Any, blocks: Iterator[Any]) -> None:
    """Write one column for each feature and one row group for each block."""
    import pyarrow
    from pyarrow import parquet

    schema = pyarrow.schema([(name, pyarrow.from_numpy_dtype(dtype)) for name in names])
    with parquet.ParquetWriter(file, schema) as writer:
        for rows in blocks:
            columns = [pyarrow.array(np.ascontiguousarray(column)) for column in rows.T]
            writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))


WRITERS = {".npy": write_npy, ".csv": write_csv, ".parquet": write_parquet}

#: The endings of files that can be written.
ENDINGS = tuple(WRITERS)


def write_rows(file: Any, ending: str, names: Sequence[str] | None, blocks: Iterator[Any]) -> int:
    """Write blocks of rows of one type into an open file. Return the number of rows.

    By default the columns are named by their numbers.

    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> write_rows(file, ".csv", ["x", "y"], iter([np.array([[1.0, 0.1]])]))
    1
    >>> file.getvalue()
    b'x,y\\n1,0.10000000000000001\\n'
    """
    first = next(blocks, None)
    if first is None:
        raise StreamError("the stream has no rows. Nothing was written.")
    names = list(map(str, range(first.shape[1]))) if names is None else list(names)
    if len(names) != first.shape[1]:
        raise ValueError(f"names has {len(names)} items. Pass {first.shape[1]} names.")
    n_rows = 0

    def counted() -> Iterator[Any]:
        nonlocal n_rows
        for rows in chain([first], blocks):
            n_rows += len(rows)
            yield rows

    WRITERS[ending](file, names, first.dtype, counted())
    return n_rows


def write_stream(stream: Any, path: str | PathLike[str], names: Sequence[str] | None = None) -> int:
    """Write the rows of a stream to a file, chunk by chunk.

    If writing fails, no file is left. Rows of weight zero are written as NaN, so that every row
    keeps its number.

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
        return write_rows(binary.buffer, ending, own, blocks)


def _blocks(stream: Any) -> Generator[Any]:
    """Yield the rows of chunks, with NaN in rows of weight zero."""
    with closing(stream.chunks()) as chunks:
        for chunk in chunks:
            rows = np.asarray(chunk.rows)
            if rows.ndim != 2 or rows.dtype.kind not in "fiub":
                raise StreamError(f"{stream!r} has no rows of numbers. Write its chunks yourself.")
            if chunk.weights is not None:
                rows = np.where(chunk.weights[:, None] > 0, rows, np.nan).astype(rows.dtype)
            yield rows
