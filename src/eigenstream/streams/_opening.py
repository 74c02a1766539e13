"""``open_stream``: from whatever holds rows to a stream of them."""

import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from io import IOBase
from os import PathLike, fspath
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from eigenstream._checks import check_choice, check_whole, is_sparse, warn_user
from eigenstream.streams._chunks import check_gap
from eigenstream.streams._columns import Reading, check_columns, check_rows, planned
from eigenstream.streams._formats import reader_of, tables_of
from eigenstream.streams._missing import POLICIES
from eigenstream.streams._places import Pipe, resolved
from eigenstream.streams._stream import Stream
from eigenstream.streams.base import RowTable, StreamError

__all__ = ["StreamOptions", "open_stream"]


class StreamOptions(TypedDict, total=False):
    """What ``open_stream`` takes besides, of sources that have it: times, or a format's own.

    Its docstring says what each means. Type checkers know names and types:

    >>> how: StreamOptions = {"time": 0, "gap": 1.5}
    >>> [len(chunk) for chunk in open_stream([[0, 7], [1, 8], [5, 9]], **how)]
    [2, 1]
    """

    #: The column of times, and the longest step in it that is no gap.
    time: str | int | None
    gap: float | timedelta | np.timedelta64 | None
    #: Of videos and images: (height, width).
    size: tuple[int, int] | None
    #: Of sound, in samples.
    window: int | None
    hop: int | None
    #: Of text.
    delimiter: str | None
    decimal: str
    header: Literal["infer", 0] | None


def open_stream(
    source: Any,
    *,
    chunk_rows: Any = "auto",
    columns: Any = None,
    dtype: Any = None,
    sequence: Any = None,
    rows: Any = None,
    missing: str = "raise",
    labels: Any = None,
    **options: Unpack[StreamOptions],
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
    for name in options:
        if name not in StreamOptions.__annotations__:
            known = [*inspect.signature(open_stream).parameters][1:-1]
            listed = ", ".join(f"{one}=" for one in [*known, *StreamOptions.__annotations__])
            raise TypeError(f"open_stream has no {name}=. It takes {listed}.")
    check_choice(missing, "missing", POLICIES)
    formats: dict[str, Any] = dict(options)
    time, gap = formats.pop("time", None), formats.pop("gap", None)
    if gap is not None and time is None:
        raise ValueError("gap= is a step in time: name the column of times with time=.")
    joined = sequence is False
    if sequence is True:
        raise TypeError("sequence must be the name or number of a column, or False; got True.")
    tables = _tables(source, formats)
    _warn_of_header(tables)
    plan = Reading(
        columns=check_columns(columns, tables),
        sequence=None if joined else sequence,
        time=time,
        joined=joined,
        rows=check_rows(rows),
        gap=None if gap is None else check_gap(gap),
        missing=missing,
        chunk_rows=None if _is_auto(chunk_rows) else check_whole(chunk_rows, "chunk_rows"),
        dtype=_float_type(dtype),
        labels=check_columns(labels, tables, "labels") or (),
        several=isinstance(labels, list | tuple | slice),
    )
    return Stream(tables, planned(plan, tables))


def _warn_of_header(tables: Sequence[RowTable]) -> None:
    """Warn once of files whose first row is taken for names, and holds numbers only."""
    doubtful = [one for one in tables if getattr(getattr(one, "layout", None), "doubtful", False)]
    if doubtful:
        more = f" and {len(doubtful) - 1} more" if len(doubtful) > 1 else ""
        warn_user(
            f"the first row of {doubtful[0].name}{more} was taken for the names of the columns, "
            "and holds only numbers. Pass header=None (--no-header) if it is a row of data, or "
            "header=0 (--header) to keep it as names."
        )


def _is_auto(chunk_rows: Any) -> bool:
    return isinstance(chunk_rows, str) and check_choice(chunk_rows, "chunk_rows", ("auto",)) != ""


def _float_type(dtype: Any) -> np.dtype[Any] | None:
    if dtype is None:
        return None
    kind: np.dtype[Any] = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise TypeError(f"dtype must be float32 or float64, got {kind}.")
    return kind


def _tables(source: Any, options: Mapping[str, Any]) -> list[RowTable]:
    """Return the tables that a source stands for."""
    dataset = hasattr(source, "data_vars")  # xarray's, whose variables are no sequences
    if isinstance(source, Mapping) and not is_sparse(source) and not dataset:
        return _named(source, options)
    if isinstance(source, list | tuple) and not _is_numbers(source):
        if not source:
            raise ValueError("the list of sources is empty.")
        if all(isinstance(one, str | PathLike) for one in source):
            files = [file for one in source for file in resolved(fspath(one))]
            return tables_of(files, options)
        return [table for k, one in enumerate(source) for table in _one(one, f"[{k}]", options)]
    return _one(source, "the source", options)


def _named(source: Mapping[Any, Any], options: Mapping[str, Any]) -> list[RowTable]:
    """Return the tables of a dict, called by its keys."""
    if not source:
        raise ValueError("the dict of sources is empty.")
    tables = []
    for name, one in source.items():
        found = _one(one, str(name), options)
        for table in found:
            table.name = str(name) if len(found) == 1 else f"{name}: {table.name}"
        tables.extend(found)
    return tables


def _is_numbers(source: Any) -> bool:
    """Tell rows written as nested lists from a list of sources."""
    first = source[0] if source else None
    while isinstance(first, list | tuple) and first:
        first = first[0]
    return isinstance(first, int | float | np.number)


def _one(source: Any, name: str, options: Mapping[str, Any]) -> list[RowTable]:
    """Return the tables of a single source."""
    if isinstance(source, str | PathLike):
        path = fspath(source)
        files = [Pipe("standard input", sys.stdin.buffer)] if path == "-" else resolved(path)
        return tables_of(files, options)
    if isinstance(source, list | tuple):
        source = _array_of(source, name)
    if hasattr(source, "detach") and not isinstance(source, IOBase):  # a tensor, wherever it lies
        source = source.detach().cpu().numpy()
    if hasattr(source, "to_frame") and hasattr(source, "dtype"):  # a column of a data frame
        source = source.to_frame()
    if hasattr(type(source), "collect_batches"):  # polars computes a lazy frame part by part
        source = source.collect_batches
    return [reader_of(*_kind_of(source, name), options, name)(source, name)]


def _array_of(rows: Any, name: str) -> Any:
    """Return rows that are written as lists."""
    try:
        return np.asarray(rows)
    except ValueError as refusal:
        raise StreamError(f"{name} is ragged: {' '.join(str(refusal).split())}.") from None


def _kind_of(source: Any, name: str) -> tuple[str, str]:
    """Return the reader of something that is not a file, by what it can do."""
    if is_sparse(source) or isinstance(source, np.ndarray):
        return "arrays", "Held"
    if hasattr(source, "dask"):
        return "arrays", "Dask"
    if hasattr(source, "to_batches") or hasattr(source, "num_rows"):
        return "tables", "Records"
    if hasattr(source, "columns") and hasattr(source, "dtypes"):
        return "tables", "DataFrameTable"
    if all(hasattr(source, name) for name in ("shape", "dtype", "__getitem__")):
        return "arrays", "Held"  # h5py's and Zarr's own, too
    no_rows = isinstance(source, bytes | IOBase | Stream) or hasattr(source, "data_vars")
    if not no_rows and (callable(source) or isinstance(source, Iterable)):
        return "iterables", "Chunks"
    raise TypeError(
        f"{name} is a {type(source).__name__}, not rows. Pass a path, an array, a data frame, or "
        "an iterable of chunks."
    )
