"""Files of rows, written chunk by chunk: what ``transform`` makes of data of any length."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np

from eigenstream._files import replacing
from eigenstream.streams.base import StreamError, needed

__all__ = ["ENDINGS", "RowsFile", "rows_file", "write_stream"]


class RowsFile(ABC):
    """An open file of rows; ``close`` completes it."""

    def __init__(self, file: Any, names: Sequence[str]) -> None:
        self._file = file
        self._names = tuple(names)
        self.n_rows = 0

    def write(self, rows: Any) -> None:
        """Add rows, all of one type."""
        if self.n_rows == 0:
            self._begin(rows)
        self._add(rows)
        self.n_rows += len(rows)

    @abstractmethod
    def close(self) -> None:
        """Write what ends the file."""

    @abstractmethod
    def _begin(self, rows: Any) -> None:
        """Write what begins the file, now that the rows' type is known."""

    @abstractmethod
    def _add(self, rows: Any) -> None:
        """Write rows."""


class NpyFile(RowsFile):
    """An array: its header is written again once the number of rows is known."""

    def _begin(self, rows: Any) -> None:
        self._dtype = rows.dtype
        self._header(0)

    def _header(self, n_rows: int) -> None:
        shape = (n_rows, len(self._names))
        told = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": shape,
        }
        # numpy leaves room for the first axis to grow.
        np.lib.format.write_array_header_1_0(self._file, told)

    def _add(self, rows: Any) -> None:
        self._file.write(np.ascontiguousarray(rows).data)

    def close(self) -> None:
        """Say in the header how many rows there are."""
        self._file.seek(0)
        self._header(self.n_rows)


class CsvFile(RowsFile):
    """Text with a header: enough digits that reading gives the same numbers."""

    def _begin(self, rows: Any) -> None:
        self._format = "%.9g" if rows.dtype == np.float32 else "%.17g"
        self._file.write((",".join(self._names) + "\n").encode())

    def _add(self, rows: Any) -> None:
        np.savetxt(self._file, rows, fmt=self._format, delimiter=",")

    def close(self) -> None:
        """Do nothing: text ends as it is."""


class ParquetFile(RowsFile):
    """A column for each feature; a row group for each chunk."""

    def _begin(self, rows: Any) -> None:
        self._arrow = needed("pyarrow", "pyarrow", "or write Parquet files")
        parquet = needed("pyarrow.parquet", "pyarrow", "or write Parquet files")
        kind = self._arrow.from_numpy_dtype(rows.dtype)
        self._schema = self._arrow.schema([(name, kind) for name in self._names])
        self._writer = parquet.ParquetWriter(self._file, self._schema)

    def _add(self, rows: Any) -> None:
        columns = [self._arrow.array(np.ascontiguousarray(column)) for column in rows.T]
        self._writer.write_table(self._arrow.Table.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        """Write the index of the row groups."""
        self._writer.close()


KINDS: dict[str, type[RowsFile]] = {".npy": NpyFile, ".csv": CsvFile, ".parquet": ParquetFile}

#: The endings of files that can be written.
ENDINGS = tuple(KINDS)


def check_ending(ending: str) -> None:
    """Refuse the ending of a file that cannot be written.

    >>> check_ending(".npy")
    """
    if ending not in KINDS:
        raise StreamError(f"rows are written to {', '.join(KINDS)}, and not to {ending!r}.")


def rows_file(file: Any, ending: str, names: Sequence[str]) -> RowsFile:
    """Return the writer of a kind of file, by its ending.

    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> out = rows_file(file, ".csv", ["x", "y"])
    >>> out.write(np.array([[1.0, 0.1]])); out.close()
    >>> file.getvalue()
    b'x,y\\n1,0.10000000000000001\\n'
    """
    check_ending(ending)
    return KINDS[ending](file, names)


def write_stream(stream: Any, path: str | PathLike[str], names: Sequence[str] | None = None) -> int:
    """Write the rows of a stream into a file, chunk by chunk; return how many they were.

    The file comes out whole or not at all. Rows that weigh nothing are NaN, so that every row
    keeps its place.

    Parameters
    ----------
    stream : Stream, or what ``transform`` makes of one
    path : name of a file, .npy, .csv or .parquet
    names : of the columns; by default the stream's own, else numbers

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
    check_ending(place.suffix.lower())
    with replacing(place) as file, closing(stream.chunks()) as chunks:
        written: RowsFile | None = None
        for chunk in chunks:
            rows = np.asarray(chunk.rows)
            if rows.ndim != 2 or rows.dtype.kind not in "fiub":
                raise StreamError(
                    f"{stream!r} gives no rows of numbers, and {path} is due to hold them. Write "
                    "its chunks yourself, such as with np.savetxt."
                )
            if chunk.weights is not None:
                rows = np.where(chunk.weights[:, None] > 0, rows, np.nan).astype(rows.dtype)
            if written is None:
                own = names if names is not None else stream.feature_names
                own = [str(k) for k in range(rows.shape[1])] if own is None else list(own)
                if len(own) != rows.shape[1]:
                    raise ValueError(f"{len(own)} names were given for {rows.shape[1]} columns.")
                written = rows_file(cast(Any, file).buffer, place.suffix.lower(), own)
            written.write(rows)
        if written is None:
            raise StreamError(f"{stream!r} holds no rows.")
        written.close()
    return written.n_rows
