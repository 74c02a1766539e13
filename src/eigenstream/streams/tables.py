"""Readers of tables with typed columns: Parquet, Arrow and Feather files, and data frames."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow
from pyarrow import compute, dataset, types

from eigenstream.core.types import Parameters, Piece
from eigenstream.rows.chunk import Chunk
from eigenstream.rows.door import kinds_of
from eigenstream.streams.base import (
    Request,
    RowTable,
    SlicedTable,
    StreamError,
    naming_errors,
    one_line,
)
from eigenstream.streams.files import READERS, File, Remote

#: The tables, batches and datasets of Arrow.
TABLES = pyarrow.Table | pyarrow.RecordBatch | dataset.Dataset
FILES = dataset.FileSystemDataset


def turn_off_signal_handlers() -> None:
    """Turn off the signal handlers of Arrow, which lose some signals at the end of a block."""
    pyarrow.enable_signal_handlers(False)


def of_records(records: Any, request: Request, name: str) -> Chunk:
    """Return a chunk of Arrow records that have the requested columns. Nulls become NaN."""
    order = {place: at for at, place in enumerate(request.places)}

    def column(place: int) -> Any:
        values = records.column(order[place])
        if types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if types.is_decimal(values.type):
            values = values.cast(pyarrow.float64())
        return values.to_numpy(zero_copy_only=False)

    columns = []
    for place in request.features:
        field = records.schema.field(order[place])
        values = column(place)
        if types.is_boolean(field.type) or types.is_null(field.type):
            values = values.astype(np.float64)  # from objects if values are missing
        if values.dtype.kind not in "biuf":
            values = f"values of type {field.type} in column {field.name!r}"
            raise StreamError(f"{name} has {values}, not numbers. Omit it with exclude=[...].")
        columns.append(values)
    rows = np.stack(columns, axis=1) if columns else np.empty((records.num_rows, 0))
    return request.chunk(rows, column)


class ColumnTable(RowTable):
    """A table of Arrow records, whose columns have names."""

    def describe_columns(self, schema: Any) -> None:
        """Set the names and types of the columns from an Arrow schema."""
        self.name_columns(schema.names)
        self.no_numbers: Mapping[int, str] = {
            place: type_word(field.type)
            for place, field in enumerate(schema)
            if not (types.is_primitive(field.type) or types.is_decimal(field.type))
            or types.is_temporal(field.type)
        }
        singles = {field.type for field in schema} == {pyarrow.float32()}
        self.dtype = np.dtype(np.float32 if singles else np.float64)

    def name_columns(self, names: Sequence[object]) -> None:
        """Set the names of the columns, which must be unique."""
        self.columns, self.width = tuple(map(str, names)), len(names)
        if len(set(self.columns)) < self.width:
            twice = Counter(self.columns).most_common(1)[0][0]
            advice = "Rename one, or pass header=None if the first row is data."
            raise StreamError(f"{self.name} has two columns called {twice!r}. {advice}")
        if self.n_rows == 0:
            raise StreamError(f"{self.name} has no rows. Pass a table with rows.")

    def picked(self, piece: Piece, request: Request) -> Chunk:
        """Return records, which have the requested columns only, as a chunk."""
        return of_records(piece, request, self.name)


def of_frame(piece: Piece, columns: Sequence[str], request: Request, name: str) -> Chunk:
    """Return the requested columns of a data frame or of records, found by name."""
    own = {name: place for place, name in enumerate(names_of(piece))}
    places = [own[columns[number]] for number in request.places]
    if isinstance(piece, TABLES):
        return of_records(piece.select(places), request, name)
    try:
        records = (
            pyarrow.Table.from_pandas(piece.iloc[:, places], preserve_index=False)
            if "pandas" in kinds_of(piece)
            else piece[:, places].to_arrow()
        )
    except pyarrow.ArrowException as error:
        raise StreamError(f"{name} has a column of mixed types: {one_line(error)}.") from None
    return of_records(records, request, name)


def names_of(piece: Piece) -> list[str]:
    """Return the names of the columns of a data frame or of Arrow records."""
    return list(map(str, piece.schema.names if isinstance(piece, TABLES) else piece.columns))


PARQUET = (".parquet", ".pq")


class Arrow(ColumnTable):
    """The rows of an Arrow dataset. Partition folders (``year=2024/``) become columns."""

    def __init__(self, file: File) -> None:
        self.files, self.name = [file], file.name
        paths: Any = file.path
        form = "parquet" if file.suffix in PARQUET else "ipc"
        options: Parameters = {"filesystem": file.system if isinstance(file, Remote) else None}
        if file.is_folder:
            endings = READERS["tables.Arrow"].split()
            self.files = [part for part in file.inside() if part.suffix in endings]
            # If a folder has both kinds of files, only the Parquet files are read.
            parquet = [part for part in self.files if part.suffix in PARQUET]
            form = "parquet" if parquet else "ipc"
            paths = [part.path for part in parquet or self.files]
            options |= {"partitioning": "hive", "partition_base_dir": file.path}
        with naming_errors(self.name):
            self._set(dataset.dataset(paths, format=form, **options))

    def _set(self, data: Piece) -> None:
        """Set the dataset. The files must have the same columns, and their types are combined."""
        files = list(data.get_fragments()) if isinstance(data, FILES) else []
        schema = data.schema
        if len(files) > 1:
            # By default, Arrow reads the columns and types of the first file only.
            schemas = [part.physical_schema for part in files]
            for part, own in zip(files, schemas, strict=True):
                if set(own.names) != set(schemas[0].names):
                    raise StreamError(f"{part.path} has other columns than {files[0].path}.")
            schema = pyarrow.unify_schemas([schema, *schemas], promote_options="permissive")
            data = type(data)(files, schema, data.format, data.filesystem)
        self.data, self.n_rows = data, data.count_rows()
        self.describe_columns(self._flat(schema))

    def _flat(self, schema: Any) -> Any:
        """Return a schema in which lists of numbers are columns, one for each element."""
        fields: list[Any] = []
        self.expressions: dict[str, Any] = {}
        for field in schema:
            column, length = compute.field(field.name), self._length(field)
            if length == 0:
                fields.append(field)
                self.expressions[field.name] = column
                continue
            kind = field.type.value_type
            column = column.cast(pyarrow.list_(kind, length))  # raises for lists of other lengths
            for k in range(length):
                fields.append(pyarrow.field(f"{field.name}.{k}", kind))
                self.expressions[fields[-1].name] = compute.list_element(column, k)
        return pyarrow.schema(fields)

    def _length(self, field: Any) -> int:
        """Return the length of the lists of numbers in a column, or 0 for other columns."""
        kind = field.type
        is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        if not is_list or not types.is_primitive(kind.value_type):
            return 0
        first = self.data.head(1, columns=[field.name]).column(0).to_pylist()
        return len(first[0] or []) if first else 0

    def blocks(self, request: Request) -> Iterator[Chunk]:
        """Yield the requested rows, without reading the row groups before them."""
        skipped, self.rest = self._behind(request.start)
        stop = None if request.stop is None else request.stop - skipped
        for block in super().blocks(replace(request, start=request.start - skipped, stop=stop)):
            yield block.placed(first_row=block.first_row + skipped)

    def _behind(self, row: int) -> tuple[int, Piece]:
        """Return the number of rows in the row groups before a row, and the data after them."""
        if not 0 < row < (self.n_rows or 0) or not isinstance(self.data, FILES):
            return 0, self.data
        skipped = 0
        pieces: list[Piece] = []
        for fragment in self.data.get_fragments():
            parquet = isinstance(fragment, dataset.ParquetFileFragment)
            for piece in fragment.split_by_row_group() if parquet else [fragment]:
                count = 0 if pieces else piece.count_rows()
                if not pieces and skipped + count <= row:
                    skipped += count
                else:
                    pieces.append(piece)
        make = type(self.data)
        return skipped, make(pieces, self.data.schema, self.data.format, self.data.filesystem)

    def pieces(self, request: Request) -> Iterator[Piece]:
        """Yield batches of records with the requested columns."""
        names = [self.columns[number] for number in request.places]
        columns = {name: self.expressions[name] for name in names}
        options = {"batch_size": request.block_rows, "batch_readahead": 2, "fragment_readahead": 1}
        with naming_errors(self.name):
            batches = self.rest.to_batches(columns=columns, **options)
            yield from (batch for batch in batches if batch.num_rows)


class ArrowStream(ColumnTable):
    """The rows of a file in Arrow's streaming format, which has no index."""

    def __init__(self, file: File) -> None:
        self.file, self.files, self.name = file, [file], file.name
        with self._reader() as reader:
            self.describe_columns(reader.schema)

    @contextmanager
    def _reader(self) -> Iterator[Piece]:
        with (
            naming_errors(self.name),
            self.file.open() as stream,
            pyarrow.ipc.open_stream(stream) as reader,
        ):
            yield reader

    def pieces(self, request: Request) -> Iterator[Piece]:
        """Yield batches of records with the requested columns."""
        with self._reader() as reader:
            for batch in reader:
                yield batch.select(request.places)


def type_word(kind: Any) -> str:
    """Return a word for the values of a type.

    >>> (
    ...     type_word(pyarrow.dictionary(pyarrow.int8(), pyarrow.string())),
    ...     type_word(pyarrow.date32()),
    ... )
    ('text', 'dates')
    """
    values = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_string(values) or types.is_large_string(values):
        return "text"
    return "dates" if types.is_date(kind) or types.is_timestamp(kind) else f"of type {kind}"


class Records(Arrow):
    """The rows of a pyarrow table, batch or dataset."""

    def __init__(self, data: Piece, name: str) -> None:
        self.name = name
        if isinstance(data, pyarrow.RecordBatch):
            data = pyarrow.Table.from_batches([data])
        self._set(data if isinstance(data, dataset.Dataset) else dataset.dataset(data))


class DataFrame(ColumnTable, SlicedTable):
    """The rows of a pandas or polars data frame."""

    def __init__(self, frame: Piece, name: str) -> None:
        self.frame, self.name, self.n_rows = frame, name, len(frame)
        self.name_columns(frame.columns)
        kinds = {str(kind).lower() for kind in frame.dtypes}
        self.dtype = np.dtype(np.float32 if kinds == {"float32"} else np.float64)

    def picked(self, piece: Piece, request: Request) -> Chunk:
        """Return the requested columns of some rows."""
        return of_frame(piece, self.columns, request, self.name)

    def opened(self) -> AbstractContextManager[Piece]:
        """Return the frame for slicing by rows."""
        return nullcontext(self.frame.iloc if "pandas" in kinds_of(self.frame) else self.frame)
