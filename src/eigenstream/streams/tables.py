"""Parquet, Arrow and Feather files, Arrow tables, and pandas and polars data frames."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow
from pyarrow import dataset, types

from eigenstream.streams._places import File, natural_order, one_line, within
from eigenstream.streams.base import RowBlock, RowTable, StreamError, Wanted, rows_within


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
    if str(column.type) in ("bool", "null"):  # objects where values are missing
        found = found.astype(np.float64)
    if found.dtype.kind not in "biuf":
        raise StreamError(
            f"{name} has values of type {column.type} in column {label!r}, not numbers. Select "
            "others with columns=[...], or name it with labels=, time= or sequence=."
        )
    return found


def kind_of(kind: Any) -> str:
    """Return in a word what values of a type are.

    >>> kind_of(pyarrow.dictionary(pyarrow.int8(), pyarrow.string())), kind_of(pyarrow.date32())
    ('text', 'dates')
    """
    values = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_string(values) or types.is_large_string(values):
        return "text"
    return "dates" if types.is_date(kind) or types.is_timestamp(kind) else f"of type {kind}"


def mark(column: Any) -> Any:
    """Return a column of names or times."""
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.to_numpy(zero_copy_only=False)


def records_of(rows: Any, wanted: Named, name: str) -> Any:
    """Return the wanted columns of a data frame as an Arrow table; records stay as they are."""
    if hasattr(rows, "num_rows"):
        return rows
    labels = {str(label): label for label in rows.columns}
    try:
        picked = rows[[labels[one] for one in wanted.all]]
        if hasattr(rows, "iloc"):
            return pyarrow.Table.from_pandas(picked, preserve_index=False)
        return picked.to_arrow()
    except pyarrow.ArrowException as error:
        raise StreamError(
            f"{name} has a column of mixed types: {one_line(error)}. Convert it first."
        ) from None


def frame_block(frame: Any, wanted: Wanted, columns: Sequence[str], name: str) -> RowBlock:
    """Return the wanted columns of a data frame, or of records, as a block."""
    named = Named.of(wanted, columns)
    return block_of(records_of(frame, named, name), named, name)


#: What reading raises; a server that gives no parts of files raises a plain ValueError.
ERRORS = (pyarrow.ArrowException, OSError, ValueError)

#: Endings of the two kinds of files.
PARQUET = (".parquet", ".pq")
IPC = (".arrow", ".arrows", ".feather", ".ipc")


class Arrow(RowTable):
    """The rows of an Arrow dataset; partition folders (``year=2024/``) give columns, too."""

    def __init__(self, file: File) -> None:
        if file.part:
            raise StreamError(f"{file.path} holds one table: leave out ::{file.part}.")
        self.file, self.name = file, file.name
        if not file.is_folder and file.size() == 0:
            raise StreamError(f"{self.name} is empty.")
        try:
            if file.is_folder:
                names = [one for one in within(file) if one.lower().endswith(PARQUET + IPC)]
                if not names:
                    raise StreamError(f"{self.name} is a folder without files that can be read.")
                # A folder of both holds its Parquet files, and the others are somebody else's.
                kinds = [one for one in names if one.lower().endswith(PARQUET)] or names
                found = dataset.dataset(
                    sorted(kinds, key=natural_order),
                    format="parquet" if kinds[0].lower().endswith(PARQUET) else "ipc",
                    filesystem=file.system,
                    partitioning="hive",
                    partition_base_dir=file.path,
                )
            else:
                ipc = file.suffix in IPC or file.start(6) == b"ARROW1"
                form = "ipc" if ipc else "parquet"
                found = dataset.dataset(file.path, format=form, filesystem=file.system)
            self.n_rows = found.count_rows()
            self.data = self._in_common(found)
        except StreamError:
            raise
        except ERRORS as refusal:
            raise self._said(refusal) from None
        self._describe()

    def _in_common(self, data: Any) -> Any:
        """Return a dataset with the columns of all its files, noting what some of them lack.

        Arrow itself looks at the first file only: it fills in nothing for what others lack, passes
        over what they have besides, and wants numbers of the first one's type.
        """
        files = list(data.get_fragments()) if hasattr(data, "files") else []
        if len(files) < 2:
            return data
        schema = data.schema
        has = []
        for file in files:
            theirs = file.physical_schema
            has.append((file.path, set(theirs.names)))
            with suppress(pyarrow.ArrowException):  # who reads such a column will hear of it
                schema = pyarrow.unify_schemas([schema, theirs], promote_options="permissive")
        by_folder = set(data.schema.names) - has[0][1]
        self.lacking = {
            name: path
            for path, names in reversed(has)
            for name in schema.names
            if name not in names | by_folder
        }
        if schema == data.schema:
            return data
        return type(data)(files, schema, data.format, data.filesystem)

    def _describe(self) -> None:
        """Take over names and types."""
        schema = self.data.schema
        self.columns = tuple(schema.names)
        self.width = len(schema.names)
        twice = [one for at, one in enumerate(self.columns) if one in self.columns[:at]]
        if twice:
            raise StreamError(f"{self.name} has two columns called {twice[0]!r}.")
        if self.n_rows == 0:
            raise StreamError(f"{self.name} has no rows.")
        self.no_numbers = {
            place: kind_of(field.type)
            for place, field in enumerate(schema)
            if not types.is_primitive(field.type) or types.is_temporal(field.type)
        }
        kinds = {str(field.type) for field in schema}
        self.dtype = np.dtype(np.float32 if kinds == {"float"} else np.float64)

    def blocks(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Yield the wanted rows, reading the wanted columns only."""
        skipped, data = self._behind(wanted.start)
        stop = None if wanted.stop is None else wanted.stop - skipped
        here = replace(wanted, start=wanted.start - skipped, stop=stop)
        for block in rows_within(self._every(data, here), here):
            yield replace(block, first_row=block.first_row + skipped)

    def _behind(self, row: int) -> tuple[int, Any]:
        """Return the data without the row groups before a row, and how many rows these have."""
        if not 0 < row < (self.n_rows or 0) or not hasattr(self.data, "files"):
            return 0, self.data
        skipped = 0
        pieces: list[Any] = []
        for fragment in self.data.get_fragments():
            parquet = hasattr(fragment, "split_by_row_group")
            for piece in fragment.split_by_row_group() if parquet else [fragment]:
                count = 0 if pieces else piece.count_rows()
                if not pieces and skipped + count <= row:
                    skipped += count
                else:
                    pieces.append(piece)
        make = type(self.data)
        return skipped, make(pieces, self.data.schema, self.data.format, self.data.filesystem)

    def _every(self, data: Any, wanted: Wanted) -> Iterator[RowBlock]:
        assert self.columns is not None
        named = Named.of(wanted, self.columns)
        try:
            batches = data.to_batches(
                columns=named.all,
                batch_size=wanted.block_rows,
                batch_readahead=2,
                fragment_readahead=1,
            )
            for batch in batches:
                if batch.num_rows:
                    yield block_of(batch, named, self.name)
        except StreamError:
            raise
        except ERRORS as refusal:
            raise self._said(refusal) from None

    def _said(self, refusal: Exception) -> StreamError:
        return StreamError(f"{self.name} cannot be read: {one_line(refusal, 200)}.")


class Records(Arrow):
    """The rows of a pyarrow table or dataset."""

    def __init__(self, data: Any, name: str) -> None:
        self.name = name
        if not hasattr(data, "to_batches"):  # a single batch
            data = pyarrow.Table.from_batches([data])
        whole = data if hasattr(data, "count_rows") else dataset.dataset(data)
        self.data = self._in_common(whole)
        self.n_rows = self.data.count_rows()
        self._describe()


class DataFrameTable(RowTable):
    """A pandas or polars data frame."""

    def __init__(self, frame: Any, name: str) -> None:
        self.frame, self.name = frame, name
        self.columns = tuple(map(str, frame.columns))
        twice = [one for at, one in enumerate(self.columns) if one in self.columns[:at]]
        if twice:
            raise StreamError(f"{name} has two columns called {twice[0]!r}.")
        self.n_rows, self.width = len(frame), len(self.columns)
        if self.n_rows == 0:
            raise StreamError(f"{name} has no rows.")
        kinds = {str(kind).lower() for kind in frame.dtypes}
        self.dtype = np.dtype(np.float32 if kinds == {"float32"} else np.float64)

    def blocks(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Yield the wanted rows."""
        assert self.columns is not None
        numbers = wanted.numbers(self.n_rows or 0)
        for at in range(0, len(numbers), wanted.block_rows):
            part = numbers[at : at + wanted.block_rows]
            rows = slice(part.start, part.stop, part.step)
            frame = self.frame.iloc[rows] if hasattr(self.frame, "iloc") else self.frame[rows]
            block = frame_block(frame, wanted, self.columns, self.name)
            yield replace(block, first_row=part.start, stride=part.step)
