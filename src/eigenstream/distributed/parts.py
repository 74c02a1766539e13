"""Dask collections and streams as pieces of rows, each of which one task reads."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from logging import CRITICAL
from math import isnan, nan
from operator import add
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed
from dask.diagnostics import ProgressBar

from eigenstream.core.types import Parameters, RowsLike, StreamLike, Values
from eigenstream.rows.door import is_dask, is_stream, kinds_of

if TYPE_CHECKING:
    from distributed import Client

#: The number of values in the rows that a task learns (16 MB). Larger parts make fewer and longer
#: tasks.
PART_VALUES = 1 << 21

#: Ranges of rows for each thread. More ranges balance the load of loops over pairs.
RANGES_PER_THREAD = 8


@dataclass(frozen=True)
class Piece:
    """The arguments of one block, lazy or a stream, and its place in the data."""

    arguments: Parameters
    #: True for a part of a stream, whose errors name its files.
    of_stream: bool = False
    #: The name of the data in errors, and the number of the first row.
    name: str = "X"
    first_row: int = 0
    n_rows: float = nan
    #: True if the piece begins a sequence.
    begins: bool = False


def pieces_of(X: RowsLike, others: Parameters, name: str = "X", *, n_parts: int) -> list[Piece]:
    """Return the pieces of a collection, or of a list of arrays that are separate sequences.

    A stream has ``n_parts`` of them.
    """
    if is_stream(X):
        return pieces_of_stream(X, n_parts)
    if not is_dask(X):
        X = da.from_array(np.asarray(X))
    if not isinstance(X, list | tuple) or isinstance(X[0], Delayed):
        return list(_pieces(X, others, name))
    pieces: list[Piece] = []
    for k, array in enumerate(X):
        own = {name: values[k] for name, values in others.items()}
        pieces += _pieces(array, own, f"sequence {k}")
    return pieces


def _pieces(X: RowsLike, others: Parameters, name: str) -> Iterator[Piece]:
    blocks, lengths = lazy_blocks(whole_rows(X))
    beside = {key: _beside(values, lengths, key) for key, values in others.items()}
    before = 0.0
    for k, (block, n_rows) in enumerate(zip(blocks, lengths, strict=True)):
        has_lengths = not isnan(n_rows + before)
        place = name if has_lengths else f"block {k} of {name}"
        arguments = {"X": block} | {key: own[k] for key, own in beside.items()}
        yield Piece(arguments, False, place, int(before) if has_lengths else 0, n_rows, k == 0)
        before += n_rows


def lazy_blocks(values: RowsLike) -> tuple[list[Any], list[float]]:
    """Return the lazy blocks of a collection along its rows, and their numbers of rows or NaN."""
    if isinstance(values, da.Array):
        lengths = [float(n) for n in values.chunks[0]]
        return list(values.to_delayed().ravel()), lengths
    blocks = list(values if isinstance(values, list | tuple) else values.to_delayed())
    return blocks, [nan] * len(blocks)


def whole_rows(X: RowsLike) -> RowsLike:
    """Return an array whose blocks hold all columns of their rows."""
    if not isinstance(X, da.Array) or X.numblocks[1:] == (1,) * (X.ndim - 1):
        return X
    along: dict[int, Any] = dict.fromkeys(range(1, X.ndim), -1)
    return X.rechunk(along if isnan(sum(X.chunks[0])) else along | {0: "auto"})


def _beside(values: RowsLike, lengths: list[float], name: str) -> list[Any]:
    """Return the parts of labels or weights that belong to the blocks of the rows."""
    n_rows = sum(lengths)  # NaN if one is unknown
    if not is_dask(values):
        if len(values) != n_rows:
            raise ValueError(
                f"{name} has {len(values)} rows in memory, and the blocks of X have {n_rows:.0f}. "
                f"Pass equal numbers, or {name} as a Dask collection with equal blocks."
            )
        return np.split(np.asarray(values), np.cumsum(lengths[:-1]).astype(int))
    if isinstance(values, da.Array) and values.shape[0] == n_rows:
        values = values.rechunk({0: tuple(map(int, lengths))})
    blocks = lazy_blocks(values)[0]
    if len(blocks) != len(lengths):
        raise ValueError(
            f"X has {len(lengths)} blocks, and {name} has {len(blocks)}. Pass equal blocks."
        )
    return blocks


def pieces_of_stream(stream: StreamLike, n_parts: int) -> list[Piece]:
    """Return consecutive parts of a stream, which the workers open."""
    if not stream.rereadable:
        raise ValueError(
            f"{stream!r} can be read only once, here and not by workers. Write it to files first."
        )
    stream.learn_steps()
    return [
        Piece(
            {"X": dask.delayed(part, traverse=False)},
            of_stream=True,
            n_rows=nan if part.n_rows is None else part.n_rows,
        )
        for part in stream.split(n_parts)
    ]


def task_groups(pieces: list[Piece], width: int) -> list[list[Piece]]:
    """Return consecutive pieces in groups of at least ``PART_VALUES`` values, one for each task.

    >>> [len(part) for part in task_groups([Piece({}, n_rows=3e5)] * 4, 4)]
    [2, 2]
    """
    groups: list[list[Piece]] = []
    n_rows = nan
    for piece in pieces:
        if n_rows * width < PART_VALUES:
            groups[-1].append(piece)
            n_rows += piece.n_rows
        else:
            groups.append([piece])
            n_rows = piece.n_rows
    return groups


def merged_in_order(merge: Callable[[Any, Any], Any], states: list[Any]) -> Any:
    """Return the lazy result of merging neighbours, in a tree."""
    while len(states) > 1:
        pairs = zip_longest(states[::2], states[1::2])
        states = [
            left if right is None else dask.delayed(merge)(left, right) for left, right in pairs
        ]
    return states[0]


class Cluster:
    """A Dask client, or the scheduler of this process, and whether it shows progress."""

    def __init__(self, client: "Client", progress: bool) -> None:
        if client is None and "distributed" in sys.modules:
            with suppress(ValueError):  # there is no current client
                client = sys.modules["distributed"].get_client()
        self.client, self.progress = client, progress

    @property
    def n_threads(self) -> int:
        """The number of threads of all workers."""
        return sum(self.client.nthreads().values()) if self.client else os.cpu_count() or 1

    def run(self, value: Any) -> Any:
        """Return the result of a delayed value."""
        if self.client is None:
            with ProgressBar() if self.progress else nullcontext():
                return value.compute()
        future = self.client.compute(value)
        if self.progress:
            sys.modules["distributed"].progress(future, notebook=False)
        return future.result()

    def persist(self, values: list[Any]) -> list[Any]:
        """Compute delayed values into the memory of the workers."""
        return list(self.client.persist(values) if self.client else dask.persist(*values))


def spread(call: Callable[..., None], out: Values, n: int) -> None:
    """Let the workers call ``call(out, first, last)`` for ranges of rows, and add the results."""
    cluster = Cluster(None, False)
    ends = np.linspace(0, n, min(RANGES_PER_THREAD * cluster.n_threads, n) + 1).astype(int)
    shared = dask.delayed(call, traverse=False)
    ranges = pairwise(ends.tolist())
    states = [dask.delayed(filled)(shared, out.shape, *ends) for ends in ranges]
    out += cluster.run(merged_in_order(add, states))


def filled(call: Callable[..., None], shape: tuple[int, ...], first: int, last: int) -> Values:
    """Return an array of zeros to which a function has added."""
    out = np.zeros(shape)
    call(out, first, last)
    return out


def template_of(X: RowsLike, run: Callable[[Any], Any]) -> Values:
    """Return one row with the columns and the type of a collection, or a stream itself."""
    if is_stream(X):
        return X
    if isinstance(X, list | tuple):
        X = X[0]
    if isinstance(X, da.Array):
        return np.zeros((1, *X.shape[1:]), X.dtype)
    if "frame" in kinds_of(X):
        return X._meta_nonempty.iloc[:1]
    return run(dask.delayed(_first_row)(X))


def _first_row(block: RowsLike) -> RowsLike:
    return block.iloc[:1] if "pandas" in kinds_of(block) else np.asarray(block)[:1]


def mapped(method: Callable[..., Any], X: RowsLike, *rest: object) -> Values:
    """Return the lazy results of a method of rows, such as ``transform``, for each block."""
    if isinstance(X, list | tuple):
        return [mapped(method, part, *rest) for part in X]
    if not isinstance(X, da.Array) and "frame" not in kinds_of(X):
        return dask.delayed(method)(X, *rest)
    answer = method(template_of(X, lambda _: None), *rest)
    if not isinstance(X, da.Array):
        return X.map_partitions(method, *rest, meta=answer[:0])
    X = whole_rows(X)
    dropped_axes = list(range(answer.ndim, X.ndim))
    chunks = (X.chunks[0], *((n,) for n in answer.shape[1:]))
    options: Parameters = {"drop_axis": dropped_axes} if dropped_axes else {}
    return X.map_blocks(
        method, *rest, dtype=answer.dtype, chunks=chunks, meta=answer[:0], **options
    )


#: Seconds to wait for a scheduler. Larger values suit slow networks.
CONNECTION_SECONDS = 15


def client_of(workers: int | None, address: str | None, folder: str, **options: object) -> "Client":
    """Return a client of new processes on this machine, or of a scheduler at an address.

    Each process has one thread and writes to the folder only. Errors of its tasks are raised here
    and not logged. Closing the client ends the processes.
    """
    from dask.distributed import Client

    if address is None:
        options |= {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
        options |= {"silence_logs": CRITICAL, "local_directory": folder}
    return Client(address, timeout=CONNECTION_SECONDS, **options)
