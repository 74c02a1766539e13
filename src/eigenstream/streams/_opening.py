"""``open_stream``: make a stream of files, arrays, data frames or iterables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from io import IOBase
from os import PathLike, fspath
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow
from numpy.typing import ArrayLike, DTypeLike

from eigenstream.core.checks import check_choice, check_whole, is_sparse, warn_user
from eigenstream.core.types import Columns, Facts, Labelled, Source
from eigenstream.rows.door import (
    is_annotated,
    is_dask,
    is_field,
    is_lazy_table,
    kinds_of,
    native,
)
from eigenstream.streams.base import RowTable
from eigenstream.streams.cleaning import POLICIES
from eigenstream.streams.files import files_of, reader_of, tables_of
from eigenstream.streams.memory import array_of, blocks_of_dask
from eigenstream.streams.planning import (
    Reading,
    check_columns,
    check_gap,
    check_na_values,
    check_rows,
)
from eigenstream.streams.steps import Weighting
from eigenstream.streams.stream import Stream
from eigenstream.streams.tables import TABLES

if TYPE_CHECKING:
    from eigenstream.streams.fields import FeatureGrid


def open_stream(
    source: Source,
    *,
    chunk_rows: int | Literal["auto"] = "auto",
    columns: Columns = None,
    exclude: Columns = None,
    dtype: DTypeLike | None = None,
    sequence: str | int | bool | None = None,
    rows: int | slice | None = None,
    missing: str = "raise",
    labels: Columns = None,
    time: str | int | None = None,
    gap: float | timedelta | np.timedelta64 | None = None,
    size: tuple[int, int] | None = None,
    window: int | None = None,
    hop: int | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    header: Literal["infer", 0] | None = "infer",
    skip_rows: int = 0,
    na_values: float | str | Sequence[float | str] = (),
    dim: str | tuple[str, ...] | None = None,
    weights: ArrayLike | None = None,
    grid: "FeatureGrid | None" = None,
) -> Stream:
    """Open files, arrays or iterables of rows in time order as a stream of chunks.

    Opening reads headers only. A source that cannot be read raises an error immediately.

    Parameters
    ----------
    source : path, array-like, data frame, iterable, list or dict
        - A path, a glob, a folder, a URL that fsspec supports, ``"-"`` for standard input, or
          ``file::part`` for an array inside a file.
        - An array, sparse matrix or data frame, or another object with ``__arrow_c_stream__``.
        - A DataArray or Dataset of xarray, whose cells are features, or an AnnData object.
        - An iterable of chunks, or a function that returns a new one for each pass.
        - A list of such sources, or a dict with their names as keys. Each is a separate sequence.
    chunk_rows : int or "auto", default="auto"
        The most rows of a chunk. "auto" takes 8 MB, or 1024 rows in up to 32 MB.
    columns : name, pattern such as "s*", number, slice of numbers, or list of these, default=None
        The features. By default all columns except those of ``sequence``, ``time`` and ``labels``.
    exclude : as ``columns``, default=None
        Columns that are not features.
    dtype : float32 or float64, default=None
        The type of the rows. By default float32 is kept, and other types become float64.
    sequence : name or number of a column, or False, default=None
        A new sequence begins where the value of this column changes. Each file is a separate
        sequence, unless ``sequence=False`` joins the files.
    rows : int, slice or range, default=None
        The rows to read from each file: the first n rows, or a slice.
    missing : {"raise", "skip", "interpolate"}, default="raise"
        Treatment of NaN, infinity and empty cells:

        - "raise": raise an error with the row and the column.
        - "skip": replace the row by zeros with weight zero.
        - "interpolate": fill the hole on the line between the values before and after it in the
          same sequence. A hole at an end of a sequence is skipped, and so is a hole that is longer
          than a chunk of "auto".

        A row without a label raises an error, or gets weight zero under "skip" and "interpolate".
    labels : name or number of a column, or a list of these, default=None
        The columns of labels: classes or numbers. A ``fit`` that needs labels reads them from
        there. ``Stream.with_labels`` adds labels from another source.
    time : name or number of a column, default=None
        The time of each row: numbers or dates. A new sequence begins where time goes back.
    gap : number or timedelta, default=None
        A new sequence begins after a longer step in time. If the times are dates, numbers are
        seconds.
    size : tuple (height, width), default=None
        For videos and images: the size to which each frame is shrunk. By default the size is kept.
    window : int, default=1024
        For sound: the number of samples of each spectrum.
    hop : int, default=window // 2
        For sound: the number of samples between the starts of two windows.
    delimiter : str, default=None
        For text: the character between two columns. By default it is inferred.
    decimal : {".", ","}, default="."
        For text: the decimal mark.
    header : {"infer", 0, None}, default="infer"
        For text: 0 if the first row names the columns, None if no row does. "infer" means 0, with
        a warning if the first row holds only numbers.
    skip_rows : int, default=0
        For text: the number of rows below the names that hold no data, such as units.
    na_values : number, str or list of these, default=()
        Numbers, and for text also words, that mean a missing value, such as -9999.
    dim : str or tuple of str, default=None
        For xarray: the dimension that counts rows. By default the only dimension of times. A tuple
        such as ``("member", "time")`` ends with it, and each index of the others is a sequence.
    weights : "coslat" or array-like, default=None
        For xarray: the weight of each cell, by which the step ``Weighting`` multiplies. "coslat" is
        the square root of the cosine of the latitude.
    grid : FeatureGrid, default=None
        For xarray: the cells of a fitted model, ``model.grid_``. By default the cells with values.

    Returns
    -------
    stream : Stream

    Raises
    ------
    StreamError
        If a file is damaged, has an unknown format, or lacks a requested column.
    FileNotFoundError
        If no file matches the path.

    See Also
    --------
    eigenstream.streams.write_stream : Write a stream to a file.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> path = mkdtemp() + "/rows.csv"
    >>> _ = open(path, "w").write("day,x,y\\n1,0.5,2\\n1,0.25,3\\n2,4,5\\n")
    >>> for chunk in open_stream(path, sequence="day"):
    ...     print(chunk.rows.tolist(), chunk.new_sequence)
    [[0.5, 2.0], [0.25, 3.0]] True
    [[4.0, 5.0]] True
    """
    check_choice(missing, "missing", POLICIES)
    if gap is not None and time is None:
        raise ValueError("gap= requires times. Pass the column of times as time=.")
    if dtype is not None and np.dtype(dtype) not in (np.float32, np.float64):
        raise TypeError(f"dtype must be float32 or float64, got {np.dtype(dtype)}.")
    options: Facts = {"size": size, "window": window, "hop": hop, "delimiter": delimiter}
    options |= {"dim": dim, "weights": weights, "grid": grid}
    options = {name: value for name, value in options.items() if value is not None}
    options |= {} if decimal == "." else {"decimal": decimal}
    options |= {} if header == "infer" else {"header": header}
    options |= {} if skip_rows == 0 else {"skip_rows": skip_rows}
    numbers, words = check_na_values(na_values)
    options |= {"na_values": words} if words else {}
    tables = _tables(source, options)
    doubtful = [table for table in tables if table.doubtful]
    if doubtful:
        others = f" and {len(doubtful) - 1} more" if len(doubtful) > 1 else ""
        warn_user(
            f"the first row of {doubtful[0].name}{others} holds only numbers and was read as "
            "column names. Pass header=None if it is data, or header=0 to silence this warning."
        )
    plan = Reading(
        columns=check_columns(columns),
        sequence=None if sequence is False else sequence,
        time=time,
        joined=sequence is False,
        rows=check_rows(rows),
        gap=None if gap is None else check_gap(gap),
        missing=missing,
        chunk_rows=None if chunk_rows == "auto" else check_whole(chunk_rows, "chunk_rows"),
        dtype=None if dtype is None else np.dtype(dtype),
        labels=check_columns(labels, "labels") or (),
        several=isinstance(labels, list | tuple | slice),
        exclude=check_columns(exclude, "exclude") or (),
        na_values=numbers,
    )
    stream = Stream(tables, plan)
    factors = tables[0].factors
    return stream if factors is None else stream.through(Weighting(factors))


def _tables(source: Source, options: Facts, name: str = "the source") -> list[RowTable]:
    """Return the tables of a source. Those of a dict are named by its keys."""
    if isinstance(source, RowTable):  # of an open stream
        return [source]
    listed: list[RowTable] = []
    if isinstance(source, Mapping) and not is_sparse(source) and not is_field(source):
        if not source:
            raise ValueError("the dict of sources is empty. Pass at least one source.")
        for key, part in source.items():
            tables = _tables(part, options, str(key))
            for table in tables:
                table.name = str(key) if len(tables) == 1 else f"{key}: {table.name}"
            listed += tables
            options = _continued(options, tables)
        return listed
    if isinstance(source, str | PathLike):
        source = [source]
    if isinstance(source, list | tuple) and not _is_numbers(source):
        if not source:
            raise ValueError("the list of sources is empty. Pass at least one source.")
        if all(isinstance(part, str | PathLike) for part in source):
            return tables_of([file for path in source for file in files_of(fspath(path))], options)
        for k, part in enumerate(source):
            listed += _tables(part, options, f"[{k}]")
            options = _continued(options, listed)
        return listed
    if is_field(source) and isinstance(dim := options.get("dim"), tuple):
        return _tables(_members(source, dim[:-1]), {**options, "dim": dim[-1]}, name)
    kind, rows = _memory_reader(native(source), name)
    return [reader_of(kind, options, name)(rows, name, **options)]


def _members(field: Labelled, dims: tuple[str, ...]) -> list[Labelled]:
    """Return the parts of a labelled array at each index of some dimensions."""
    parts = [field]
    for name in dims:
        if name not in field.dims:
            dims_of_X = [*map(str, field.dims)]
            raise ValueError(f"{name!r} in dim= is not a dimension of X, which has {dims_of_X}.")
        places = range(field.sizes[name])
        parts = [part.isel({name: k}, drop=True) for part in parts for k in places]
    return parts


def _continued(options: Facts, tables: list[RowTable]) -> Facts:
    """Return the options of later sources, which have the cells of the first one."""
    grid = tables[0].grid
    return options if grid is None else {**options, "grid": grid}


def _is_numbers(source: Sequence[object]) -> bool:
    """Return whether nested lists hold rows of numbers, and not a list of sources."""
    first: Source = source
    while isinstance(first, list | tuple) and first:
        first = first[0]
    return isinstance(first, int | float | np.number)


def _memory_reader(source: Source, name: str) -> tuple[str, Source]:
    """Return the reader of a source in memory, and the object that this reader takes."""
    if is_field(source):
        return "fields.Field", source
    if is_annotated(source):
        return "memory.Annotated", source
    if is_dask(source):
        return "memory.Chunks", blocks_of_dask(source, name)
    kinds = kinds_of(source)
    if isinstance(source, list | tuple) or "tensor" in kinds or is_sparse(source):
        return "memory.Held", array_of(source, name)
    if "series" in kinds:
        return "tables.DataFrame", source.to_frame()
    if "batches" in kinds:
        return "memory.Chunks", source.collect_batches
    if is_lazy_table(source) and not isinstance(source, Iterator):  # such as a query
        return "memory.Chunks", partial(pyarrow.RecordBatchReader.from_stream, source)
    if isinstance(source, TABLES):
        return "tables.Records", source
    if "frame" in kinds:
        return "tables.DataFrame", source
    if kinds >= {"array", "indexed"}:
        return "memory.Held", source  # also of h5py and Zarr
    no_rows = isinstance(source, bytes | IOBase | Stream)
    if not no_rows and (callable(source) or isinstance(source, Iterable)):
        return "memory.Chunks", source
    kind = type(source).__name__
    raise TypeError(f"{name} is a {kind}, not rows. Pass a path, an array, a frame or chunks.")
