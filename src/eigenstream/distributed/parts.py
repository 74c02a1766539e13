"""Dask collections and streams as pieces of rows, each of which one task reads."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isnan, nan
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed

from eigenstream._checks import warn_user
from eigenstream._streams import is_dask

#: The number of values in the rows that a task learns (16 MB). Larger parts make fewer and longer
#: tasks.
PART_VALUES = 1 << 21

#: The most values in the rows of a task (256 MB). More values take more memory of a worker.
MOST_VALUES = 1 << 25


@dataclass(frozen=True)
class Place:
    """The place of a piece in the data: its name in errors, and the number of its first row."""

    name: str
    first_row: float
    #: True if the piece begins a sequence.
    begins: bool
    n_rows: float = nan


@dataclass(frozen=True)
class Piece:
    """The arguments of one block, lazy or a stream, and its place."""

    given: dict[str, Any]
    place: Place


def pieces_of(X: Any, others: dict[str, Any], name: str = "X") -> list[Piece]:
    """Return the pieces of a collection, or of a list of arrays that are separate sequences."""
    if not is_dask(X):
        X = da.from_array(np.asarray(X))
    if not isinstance(X, list | tuple) or isinstance(X[0], Delayed):
        return list(_pieces(X, others, name))
    found: list[Piece] = []
    for k, one in enumerate(X):
        own = {name: values[k] for name, values in others.items()}
        found += _pieces(one, own, f"sequence {k}")
    return found


def _pieces(X: Any, others: dict[str, Any], name: str) -> Iterator[Piece]:
    blocks, lengths = blocks_of(whole_rows(X, name))
    beside = {key: _beside(values, lengths, key) for key, values in others.items()}
    before = 0.0 if len(lengths) == 1 or not isnan(lengths[0]) else nan
    for k, (block, n_rows) in enumerate(zip(blocks, lengths, strict=True)):
        place = Place(name, before, k == 0, n_rows)
        if isnan(before):
            place = Place(f"block {k} of {name}", 0.0, k == 0, n_rows)
        before += n_rows
        yield Piece({"X": block} | {key: one[k] for key, one in beside.items()}, place)


def blocks_of(values: Any) -> tuple[list[Any], list[float]]:
    """Return the lazy blocks of a collection along its rows, and their numbers of rows or NaN."""
    if isinstance(values, da.Array):
        lengths = [float(n) for n in values.chunks[0]]
        return list(values.to_delayed().ravel()), lengths
    blocks = list(values if isinstance(values, list | tuple) else values.to_delayed())
    return blocks, [nan] * len(blocks)


def whole_rows(X: Any, name: str) -> Any:
    """Return an array whose blocks hold all columns of their rows."""
    if not isinstance(X, da.Array) or X.numblocks[1:] == (1,) * (X.ndim - 1):
        return X
    warn_user(
        f"{name} has {X.numblocks[1]} blocks of columns, which were joined. Pass "
        f"X.rechunk({{1: -1}}) to choose the numbers of rows in the blocks."
    )
    along: dict[int, Any] = dict.fromkeys(range(1, X.ndim), -1)
    return X.rechunk(along if isnan(sum(X.chunks[0])) else along | {0: "auto"})


def _beside(values: Any, lengths: list[float], name: str) -> list[Any]:
    """Return the parts of labels or weights that belong to the blocks of the rows."""
    known = not isnan(sum(lengths))
    if not is_dask(values) and not known:
        raise ValueError(
            f"X has blocks of unknown length, and {name} is in memory. Pass {name} as a Dask "
            "collection, or call X.compute_chunk_sizes() first."
        )
    if not is_dask(values):
        if len(values) != sum(lengths):
            raise ValueError(
                f"X has {sum(lengths):.0f} rows, and {name} has {len(values)}. Pass equal numbers."
            )
        return np.split(np.asarray(values), np.cumsum(lengths[:-1]).astype(int))
    if known and isinstance(values, da.Array) and values.shape[0] == sum(lengths):
        values = values.rechunk({0: tuple(map(int, lengths))})
    found = blocks_of(values)[0]
    if len(found) != len(lengths):
        raise ValueError(
            f"X has {len(lengths)} blocks, and {name} has {len(found)}. Pass equal blocks."
        )
    return found


def pieces_of_stream(stream: Any, n_parts: int) -> list[Piece]:
    """Return consecutive parts of a stream, which the workers open."""
    if not stream.rereadable:
        raise ValueError(
            f"{stream!r} can be read only once, here and not by workers. Write it to files first."
        )
    stream.learn_steps()
    return [
        Piece({"X": dask.delayed(part, traverse=False)}, Place(f"part {k}", 0.0, False))
        for k, part in enumerate(stream.split(n_parts))
    ]


def grouped(pieces: list[Piece], width: int, least_rows: int) -> list[list[Piece]]:
    """Return consecutive pieces in groups of at least ``least_rows`` rows, if they fit in memory.

    >>> places = [Place("X", k, k == 0, 3e5) for k in range(4)]
    >>> [len(some) for some in grouped([Piece({}, place) for place in places], 4, 0)]
    [2, 2]
    """
    found: list[list[Piece]] = []
    n_rows = nan
    for piece in pieces:
        few = n_rows * width < PART_VALUES or n_rows < least_rows
        if few and (n_rows + piece.place.n_rows) * width <= MOST_VALUES:
            found[-1].append(piece)
            n_rows += piece.place.n_rows
        else:
            found.append([piece])
            n_rows = piece.place.n_rows
    return found


def template_of(X: Any, run: Callable[[Any], Any]) -> Any:
    """Return one row with the columns and the type of a collection."""
    if isinstance(X, list | tuple):
        X = X[0]
    if isinstance(X, da.Array):
        return np.zeros((1, *X.shape[1:]), X.dtype)
    if hasattr(type(X), "to_delayed"):
        return X._meta_nonempty.iloc[:1]
    return run(dask.delayed(_first_row)(X))


def _first_row(block: Any) -> Any:
    return block.iloc[:1] if hasattr(block, "iloc") else np.asarray(block)[:1]


def mapped(method: Callable[..., Any], X: Any, *rest: Any) -> Any:
    """Return the lazy results of a method of rows, such as ``transform``, for each block."""
    if isinstance(X, list | tuple):
        return [mapped(method, one, *rest) for one in X]
    if not isinstance(X, da.Array) and not hasattr(X, "map_partitions"):
        return dask.delayed(method)(X, *rest)
    made = method(template_of(X, lambda _: None), *rest)
    if not isinstance(X, da.Array):
        return X.map_partitions(method, *rest, meta=made[:0])
    X = whole_rows(X, "X")
    more = range(made.ndim, X.ndim)
    chunks = (X.chunks[0], *((n,) for n in made.shape[1:]))
    how = {"drop_axis": list(more)} if len(more) else {}
    return X.map_blocks(method, *rest, dtype=made.dtype, chunks=chunks, meta=made[:0], **how)
