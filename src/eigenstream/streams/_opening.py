"""``open_stream``: from whatever holds rows to a stream of them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from io import IOBase
from os import PathLike, fspath
from typing import Any, Literal

import numpy as np

from eigenstream._checks import check_choice, check_whole, is_sparse, warn_user
from eigenstream.streams.base import RowTable
from eigenstream.streams.cleaning import POLICIES
from eigenstream.streams.files import reader_of, resolved, tables_of
from eigenstream.streams.memory import array_of, blocks_of_dask, is_tensor
from eigenstream.streams.planning import Reading, check_columns, check_gap, check_rows
from eigenstream.streams.stream import Stream


def open_stream(
    source: Any,
    *,
    chunk_rows: int | Literal["auto"] = "auto",
    columns: Any = None,
    dtype: Any = None,
    sequence: str | int | bool | None = None,
    rows: Any = None,
    missing: str = "raise",
    labels: Any = None,
    time: str | int | None = None,
    gap: float | timedelta | np.timedelta64 | None = None,
    size: tuple[int, int] | None = None,
    window: int | None = None,
    hop: int | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    header: Literal["infer", 0] | None = "infer",
) -> Stream:
    """Open whatever holds rows in time order as a stream of chunks.

    Opening reads headers only. A source that cannot be read raises an error at once.

    Parameters
    ----------
    source
        A path, a glob, a folder, a URL that fsspec knows, ``"-"`` for standard input, or
        ``file::part`` for an array inside a file; an array, sparse matrix or data frame; an
        iterable of chunks, or a function that returns a new one; a list or a dict (names as
        keys) of such things, each a sequence of its own.
    chunk_rows : "auto" or int
        The most rows of a chunk; "auto" takes 8 MB, or 1024 in up to 32 MB.
    columns : names or numbers of columns, or a slice of numbers
        The features, all columns that are not the sequence, the time or labels by default.
    dtype : float32 or float64
        float32 stays so by default, everything else becomes float64.
    sequence : name or number of a column, or False
        Where its value changes a new sequence begins. Files are sequences of their own, unless it
        is False: then they continue each other.
    rows : int, slice or range
        Of every file, the first so many rows, or these.
    missing : {"raise", "skip", "interpolate"}
        NaN and infinity raise an error with their place; or their rows become zeros that weigh
        nothing; or they are interpolated between the rows before and after in their sequence (a
        hole at an end of it, or longer than a chunk of "auto", is skipped). A row without a label
        raises an error, or weighs nothing.
    labels : name or number of a column, or a list of them
        What each row is to be learned as: a class, or numbers; text where it is not all numbers.
        A ``fit`` that needs labels takes them from there. For labels that are held elsewhere see
        ``Stream.with_labels``.
    time : name or number of a column
        When a row was taken: numbers, or dates. Where it goes back, a new sequence begins.
    gap : number or timedelta
        A longer step in time than this begins a new sequence. Numbers are seconds of dates.
    size : (height, width)
        Of videos and images: what each frame is shrunk to; by default it stays as it is.
    window, hop : int
        Of sound: how many samples a row is the spectrum of (1024), and how many lie between the
        beginnings of two (half a window).
    delimiter : str
        Of text: what parts the columns; by default it is found out.
    decimal : {".", ","}
        Of text: the mark in 3.14.
    header : {"infer", 0, None}
        Of text: by default the first row names the columns, with a warning where it holds numbers
        only. 0 says that it does, None that there is no row of names.

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
        raise ValueError("gap= is a step in time: name the column of times with time=.")
    if sequence is True:
        raise TypeError("sequence must be the name or number of a column, or False; got True.")
    if dtype is not None and np.dtype(dtype) not in (np.float32, np.float64):
        raise TypeError(f"dtype must be float32 or float64, got {np.dtype(dtype)}.")
    if isinstance(chunk_rows, str):
        check_choice(chunk_rows, "chunk_rows", ("auto",))
    options: dict[str, Any] = {"size": size, "window": window, "hop": hop, "delimiter": delimiter}
    options = {name: value for name, value in options.items() if value is not None}
    options |= {} if decimal == "." else {"decimal": decimal}
    options |= {} if header == "infer" else {"header": header}
    tables = _tables(source, options)
    doubtful = [one for one in tables if getattr(one, "doubtful", False)]
    if doubtful:
        more = f" and {len(doubtful) - 1} more" if len(doubtful) > 1 else ""
        warn_user(
            f"the first row of {doubtful[0].name}{more} was taken for the names of the columns, "
            "and holds only numbers. Pass header=None (--no-header) if it is a row of data, or "
            "header=0 (--header) to keep it as names."
        )
    plan = Reading(
        columns=check_columns(columns, tables),
        sequence=None if sequence is False else sequence,
        time=time,
        joined=sequence is False,
        rows=check_rows(rows),
        gap=None if gap is None else check_gap(gap),
        missing=missing,
        chunk_rows=None if chunk_rows == "auto" else check_whole(chunk_rows, "chunk_rows"),
        dtype=None if dtype is None else np.dtype(dtype),
        labels=check_columns(labels, tables, "labels") or (),
        several=isinstance(labels, list | tuple | slice),
    )
    return Stream(tables, plan)


def _tables(source: Any, options: Mapping[str, Any], name: str = "the source") -> list[RowTable]:
    """Return the tables of a source: of a dict called by its keys, of a list by its places."""
    dataset = hasattr(source, "data_vars")  # of xarray
    if isinstance(source, Mapping) and not is_sparse(source) and not dataset:
        if not source:
            raise ValueError("the dict of sources is empty.")
        found = []
        for key, one in source.items():
            tables = _tables(one, options, str(key))
            for table in tables:
                table.name = str(key) if len(tables) == 1 else f"{key}: {table.name}"
            found += tables
        return found
    if isinstance(source, str | PathLike):
        source = [source]
    if isinstance(source, list | tuple) and not _is_numbers(source):
        if not source:
            raise ValueError("the list of sources is empty.")
        if all(isinstance(one, str | PathLike) for one in source):
            return tables_of([file for one in source for file in resolved(fspath(one))], options)
        return [table for k, one in enumerate(source) for table in _tables(one, options, f"[{k}]")]
    kind, held = _kind_of(source, name)
    return [reader_of(kind, options, name)(held, name)]


def _is_numbers(source: Sequence[Any]) -> bool:
    """Tell rows written as nested lists from a list of sources."""
    first: Any = source
    while isinstance(first, list | tuple) and first:
        first = first[0]
    return isinstance(first, int | float | np.number)


def _kind_of(source: Any, name: str) -> tuple[str, Any]:
    """Return the reader of something in memory, by its methods, and the form that it reads."""
    if hasattr(type(source), "dask"):
        return "memory.Chunks", blocks_of_dask(source, name)
    if isinstance(source, list | tuple | np.ndarray) or is_sparse(source) or is_tensor(source):
        return "memory.Held", array_of(source, name)
    if hasattr(source, "to_frame") and hasattr(source, "dtype"):  # a column of a data frame
        return "tables.Frame", source.to_frame()
    if hasattr(type(source), "collect_batches"):  # a lazy frame of polars
        return "memory.Chunks", source.collect_batches
    if hasattr(source, "to_batches") or hasattr(source, "num_rows"):
        return "tables.Records", source
    if hasattr(source, "columns") and hasattr(source, "dtypes"):
        return "tables.Frame", source
    if all(hasattr(source, one) for one in ("shape", "dtype", "__getitem__")):
        return "memory.Held", source  # also of h5py and Zarr
    no_rows = isinstance(source, bytes | IOBase | Stream) or hasattr(source, "data_vars")
    if not no_rows and (callable(source) or isinstance(source, Iterable)):
        return "memory.Chunks", source
    raise TypeError(
        f"{name} is a {type(source).__name__}, not rows. Pass a path, an array, a data frame, or "
        "an iterable of chunks."
    )
