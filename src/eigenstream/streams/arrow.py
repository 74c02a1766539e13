"""Parquet, Arrow and Feather: a file, or a folder of them, as one table."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from eigenstream.streams._arrow_columns import Named, block_of, is_number, kind_of
from eigenstream.streams._places import File, natural_order, one_line, within
from eigenstream.streams.base import RowBlock, RowTable, StreamError, Wanted, needed, rows_within

#: Endings of the two kinds of files.
PARQUET = (".parquet", ".pq")
IPC = (".arrow", ".arrows", ".feather", ".ipc")


class Arrow(RowTable):
    """The rows of an Arrow dataset; partition folders (``year=2024/``) give columns, too."""

    def __init__(self, file: File) -> None:
        if file.part:
            raise StreamError(f"{file.path} holds one table: leave out ::{file.part}.")
        dataset = needed("pyarrow.dataset", "pyarrow", "Parquet and Arrow files")
        # A server that gives no parts of files raises a plain ValueError.
        self._errors = (needed("pyarrow", "pyarrow", "Parquet").ArrowException, OSError, ValueError)
        self.file, self.name = file, file.name
        if not file.is_folder and file.size() == 0:
            raise StreamError(f"{self.name} is empty.")
        if not file.is_folder:
            self._check_start(file)
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
        except self._errors as refusal:
            raise self._said(refusal) from None
        self._describe()

    def _check_start(self, file: File) -> None:
        """Refuse, with what mends it, two kinds of files that only look like those of Arrow."""
        start = file.start(8)
        if start.startswith(b"FEA1"):
            raise StreamError(
                f"{self.name} is Feather of version 1, which Arrow gives up. Write it again: "
                "pandas.read_feather(path).to_feather(path)."
            )
        if file.suffix in IPC and start.startswith(b"\xff\xff\xff\xff"):
            raise StreamError(
                f"{self.name} is a stream of Arrow's, which has no index, and no file of it. Pass "
                "lambda: pyarrow.ipc.open_stream(path), or write it by pyarrow.ipc.new_file."
            )

    def _in_common(self, data: Any) -> Any:
        """Return a dataset with the columns of all its files, noting what some of them lack.

        Arrow itself looks at the first file only: it fills in nothing for what others lack, passes
        over what they have besides, and wants numbers of the first one's type.
        """
        files = list(data.get_fragments()) if hasattr(data, "files") else []
        if len(files) < 2:
            return data
        pyarrow = needed("pyarrow", "pyarrow", "Parquet and Arrow files")
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
            if not is_number(field.type)
        }
        kinds = {str(field.type) for field in schema}
        self.dtype = np.dtype(np.float32 if kinds == {"float"} else np.float64)

    def blocks(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Yield the wanted rows, reading the wanted columns only."""
        yield from rows_within(self._every(wanted), wanted)

    def _every(self, wanted: Wanted) -> Iterator[RowBlock]:
        assert self.columns is not None
        named = Named.of(wanted, self.columns)
        try:
            batches = self.data.to_batches(
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
        except self._errors as refusal:
            raise self._said(refusal) from None

    def _said(self, refusal: Exception) -> StreamError:
        return StreamError(f"{self.name} cannot be read: {one_line(refusal, 200)}.")


class Records(Arrow):
    """The rows of a pyarrow table or dataset."""

    def __init__(self, data: Any, name: str) -> None:
        dataset = needed("pyarrow.dataset", "pyarrow", "Arrow tables")
        pyarrow = needed("pyarrow", "pyarrow", "Arrow tables")
        self._errors = (pyarrow.ArrowException, OSError, ValueError)
        self.name = name
        if not hasattr(data, "to_batches"):  # a single batch
            data = pyarrow.Table.from_batches([data])
        whole = data if hasattr(data, "count_rows") else dataset.dataset(data)
        self.data = self._in_common(whole)
        self.n_rows = self.data.count_rows()
        self._describe()
