"""Rows of a fit from arrays, lists, data frames, streams and pairs: one protocol for all.

``Rows.chunks`` is the only way to read rows. Dask data are one more kind, in ``distributed``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from eigenstream.core.checks import check_finite, is_sparse
from eigenstream.core.device import DeviceArray
from eigenstream.core.linalg import Float64s, physical_memory
from eigenstream.core.types import LabelsLike, Matrix, RowsLike, StreamLike
from eigenstream.rows.chunk import (
    NO_PLACES,
    NONE_SKIPPED,
    Chunk,
    Places,
    Skipped,
    bad_values,
    checked_chunk,
    finite_rows,
    joined,
    zeroed,
)

#: Checks labels and returns targets.
Targets = Callable[[LabelsLike], LabelsLike]


#: The number of values in a chunk of a fit (32 MB). Larger chunks take more memory.
CHUNK_VALUES = 1 << 22


def chunk_rows(n_features: int) -> int:
    """Return the number of rows in a chunk of a fit.

    >>> chunk_rows(4096)
    1024
    """
    return min(max(CHUNK_VALUES // max(n_features, 1), 1), 1 << 20)


class Stage(Protocol):
    """A step that all chunks of a fit go through, such as a feature map."""

    #: The fitted transformer, if there is one.
    transformer: BaseEstimator

    @property
    def ready(self) -> bool:
        """True if the stage is fitted."""

    def mapped(self, chunk: Chunk) -> Iterator[Chunk]:
        """Yield the mapped chunks: none while the stage is not fitted, then all buffered ones."""


class MapOfRows(Stage, Protocol):
    """A stage that is fitted to all rows."""

    def fit(self, parts: list[Matrix]) -> None:
        """Fit the map to rows in memory."""

    def fit_stream(self, stream: StreamLike) -> None:
        """Fit the map to a stream."""


#: The rows of a chunk on a device, as a multiple of those on the host. More rows keep a device busy
#: for longer between two calls, and take more of its memory (0.5 GB).
DEVICE_CHUNKS = 8


class Rows(ABC):
    """Rows that can be read in chunks. Sources differ in this class and nowhere behind it."""

    #: The number of features, and the number of rows (None if only a pass can count them).
    width: int
    n_rows: int | None = None
    #: The number of chunks for progress bars, or None.
    n_chunks: int | None = None
    rereadable: bool = True
    #: True for sparse rows in memory, where another pass is cheap.
    sparse: bool = False
    #: True if ``partial_fit`` can fit a feature map to these rows, because they are all there.
    maps_first: bool = False
    #: What the user passed, for messages and callbacks.
    source: RowsLike = None
    #: The stream that the rows come from, or None.
    stream: StreamLike = None
    #: True if the rows are spread over workers, which learn them.
    on_workers: bool = False
    #: The abilities that these rows need of a solver.
    needs: tuple[Any, ...] = ()

    @abstractmethod
    def chunks(self, skip: int = 0) -> Iterator[Chunk]:
        """Start a pass of checked chunks, after the first ``skip`` rows."""

    def fit_map(self, feature_map: MapOfRows) -> None:
        """Fit a feature map to all rows, in a separate pass if there may be one."""
        if self.rereadable:
            chunks = (chunk.of_positive_weight() for chunk in self.chunks())
            feature_map.fit(
                [chunk.rows if chunk.pairs is None else chunk.copied().rows for chunk in chunks]
            )

    def in_memory(self, what: str) -> "Rows":
        """Return the complete rows in memory. ``what`` needs them, for errors."""
        raise TypeError(f"{what} cannot keep {self.source!r} in memory. Pass a stream.")

    def learned(self, learner: object, pass_number: int | None, feature_map: Any) -> Any:
        """Return a learner of rows on workers, and the facts of their pass."""
        raise NotImplementedError

    def named(self, name: str, first_row: int) -> None:  # noqa: B027
        """Set the place of the rows in errors, if the rows are not those of files."""


class ArrayRows(Rows):
    """Rows in memory, or in a memory map, as unchecked chunks: one sequence or several.

    ``members`` is 2 if a row contains the two rows of a pair side by side.
    """

    def __init__(
        self,
        sequences: list[Chunk],
        *,
        missing: str = "raise",
        members: int = 1,
        source: RowsLike = None,
    ) -> None:
        self.sequences, self.missing = sequences, missing
        self.members, self.source = members, source
        self.width = int(sequences[0].rows.shape[1]) // members
        self.steps, self.n_rows, self.n_chunks = [], 0, 0
        #: True after a pass that checked all values. A check takes as long as a product.
        self.checked = False
        for sequence in sequences:
            n, step = sequence.rows.shape[0], _step(sequence.rows)
            self.steps.append(step)
            self.n_rows += n
            self.n_chunks += -(-n // step)
            self.sparse = self.sparse or is_sparse(sequence.rows)

    def chunks(self, skip: int = 0) -> Iterator[Chunk]:
        """Start a pass."""
        end = 0
        for sequence, step in zip(self.sequences, self.steps, strict=True):
            n = sequence.rows.shape[0]
            for first in range(0, n, step):
                chunk = sequence if n <= step else sequence[first : first + step]
                end += min(step, n - first)
                if end > skip:
                    options = {"missing": self.missing, "end": end, "finite": self.checked}
                    yield checked_chunk(chunk, members=self.members, **options)
        self.checked = self.checked or (self.missing == "raise" and not skip)

    def named(self, name: str, first_row: int) -> None:
        """Set the place of the rows in errors."""
        place: dict[str, str | int] = {"name": name, "first_row": first_row}
        self.sequences = [sequence.placed(**place) for sequence in self.sequences]


def _step(rows: Matrix) -> int:
    """Return the number of rows in a chunk, by the stored values for sparse rows."""
    if isinstance(rows, DeviceArray):
        return DEVICE_CHUNKS * chunk_rows(rows.shape[1])
    if is_sparse(rows):
        return chunk_rows(-(-rows.nnz // max(rows.shape[0], 1)))
    return chunk_rows(rows.shape[1])


class WeighedRows(Rows):
    """Rows whose weights are multiplied by a function of the rows, or of the earlier ones of pairs.

    The weights may be negative.
    """

    def __init__(self, rows: Rows, weigh: Callable[[Matrix], Float64s]) -> None:
        self.rows, self.weigh = rows, weigh
        self.width, self.n_rows, self.n_chunks = rows.width, rows.n_rows, rows.n_chunks
        self.rereadable, self.source, self.stream = rows.rereadable, rows.source, rows.stream

    def chunks(self, skip: int = 0) -> Iterator[Chunk]:
        """Start a pass."""
        for chunk in self.rows.chunks(skip):
            rows = chunk.rows if chunk.pairs is None else chunk.rows[chunk.pairs[:, 0]]
            yield replace(chunk, weights=chunk.each_weight() * self.weigh(rows))


class RowsInMemory(Rows):
    """Checked rows in memory, which no pass checks again.

    ``order`` has the indices of the rows that a pass reads. None is the order of the array.
    """

    order: Places | None = None

    def __init__(self, chunk: Chunk, source: RowsLike = None, stream: StreamLike = None) -> None:
        self.chunk, self.source, self.stream = chunk, source, stream
        self.width, self.n_rows = int(chunk.rows.shape[1]), chunk.n

    def chunks(self, skip: int = 0) -> Iterator[Chunk]:
        """Start a pass."""
        step, order, skipped = chunk_rows(self.width), self.order, self.chunk.skipped
        for first in range(skip, self.chunk.n if order is None else len(order), step):
            here = slice(first, first + step)
            chunk = self.chunk.chosen(here if order is None else order[here])
            yield replace(chunk, skipped=skipped) if skipped.n_rows else chunk
            skipped = NONE_SKIPPED


def with_missing(stream: StreamLike, missing: str) -> StreamLike:
    """Return a stream that treats missing values as an estimator with this ``missing`` does.

    A ``missing`` of the stream itself comes first.
    """
    if missing == "raise":
        return stream
    return stream.keeping_holes("skip") if missing == "skip" else stream.keeping_holes()


#: The largest fraction of the memory for all rows of a stream. A larger one risks swapping.
MEMORY_SHARE = 0.25


class StreamRows(Rows):
    """Rows of a stream by the ``missing`` of an estimator; ``targets`` checks its labels.

    "available" gives NaN where the stream has gaps. "partial" rows keep NaN too, except rows
    without any value. Sparse rows raise an error if the estimator is not ``sparse``.
    """

    def __init__(
        self,
        stream: StreamLike,
        *,
        members: int = 1,
        targets: Targets | None = None,
        missing: str = "raise",
        sparse: bool = True,
    ) -> None:
        self.source = self.stream = with_missing(stream, missing)
        self.members, self.targets, self.missing = members, targets, missing
        self.accepts_sparse = sparse
        self.rereadable = stream.rereadable
        self._begun: Iterator[Any] | None = None
        columns = stream.n_features or self._n_columns()
        if columns % members:
            raise ValueError(
                f"The stream has {columns} columns, but two rows side by side need an even number. "
                "Use open_stream(..., columns=...), or pass index pairs with a preprocessor."
            )
        self.width = columns // members

    def _n_columns(self) -> int:
        """Read the first chunk with rows. The next pass begins with it."""
        passing = iter(self.source.chunks())
        for chunk in passing:
            if len(chunk):
                self._begun = chain([chunk], passing)
                return int(chunk.rows.shape[1])
        raise ValueError(f"{self.source!r} has no rows. Pass a stream with rows.")

    def chunks(self, skip: int = 0) -> Iterator[Chunk]:
        """Start a pass."""
        begun, self._begun = None if skip else self._begun, None
        for chunk in begun or self.source.chunks(*([skip] if skip else [])):
            values, weights = chunk.rows, chunk.weights
            if is_sparse(values) and not self.accepts_sparse:
                raise TypeError(
                    f"{chunk.source} has sparse rows, and this estimator needs dense rows. Use "
                    "StreamPCA first."
                )
            gaps = self.missing == "available"
            if gaps and weights is not None and not is_sparse(values):
                # A stream gives rows without any value as zeros of weight 0.
                values, weights = np.where((weights == 0.0)[:, None], np.nan, values), None
            labels = None if self.targets is None else self.targets(chunk.labels)
            checked = checked_chunk(
                replace(chunk, rows=values, weights=weights, labels=labels),
                members=self.members,
                missing="raise" if self.missing == "skip" else self.missing,
            )
            if chunk.weights is not None and not gaps:
                checked = replace(checked, skipped=Skipped(int((chunk.weights == 0).sum())))
            yield checked

    def in_memory(self, what: str) -> RowsInMemory:
        """Return the complete rows in memory, or raise an error if they take too much.

        The limit allows for a copy in float64.
        """
        stream, limit = self.source, MEMORY_SHARE * physical_memory()
        parts, size, skipped = [], 0.0, Skipped()
        for chunk in self.chunks():
            skipped.merge(chunk.skipped)
            parts.append(chunk.of_positive_weight())
            values = parts[-1].rows.data
            size += values.nbytes * max(8 / values.itemsize, 1.0)
            if size > limit:
                raise ValueError(
                    f"{what} needs all rows of {stream!r} in memory, and they take more than "
                    f"{limit / 2**30:.2g} GiB, a quarter of the memory. Select some with "
                    "open_stream(..., rows=...), or call partial_fit with each chunk."
                )
        if not any(map(len, parts)):
            raise ValueError(
                f"every row of {stream!r} lacks a value or a label. Pass complete rows."
            )
        return RowsInMemory(replace(joined(parts), weights=None, skipped=skipped), stream, stream)

    def fit_map(self, feature_map: MapOfRows) -> None:
        """Fit a feature map to all rows."""
        if self.rereadable and self.members == 1:
            feature_map.fit_stream(self.source)
        else:
            super().fit_map(feature_map)


class IndexPairs(Rows):
    """Pairs of numbers of rows. ``convert`` returns the numbers in the rows of ``numbers``."""

    maps_first = True

    def __init__(
        self, numbers: Rows, points: Matrix, convert: Callable[[Matrix], Places], *, missing: str
    ) -> None:
        self.numbers, self.convert = numbers, convert
        self.source, self.stream = numbers.source, numbers.stream
        self.rereadable = numbers.rereadable
        self.n_rows, self.n_chunks = numbers.n_rows, numbers.n_chunks
        self.width = int(points.shape[1])
        self.finite = finite_rows(points)
        if missing == "raise":
            check_finite(points, name="preprocessor")
        complete = bool(self.finite.all())
        self.bad = None if complete else bad_values(points)
        self.points = points if complete else zeroed(points, self.finite)

    def chunks(self, skip: int = 0) -> Iterator[Chunk]:
        """Start a pass."""
        for chunk in self.numbers.chunks(skip):
            pairs = self.convert(chunk.rows)
            if self.bad is None:
                yield replace(chunk, rows=self.points, pairs=pairs, starts=NO_PLACES)
                continue
            complete = self.finite[pairs].all(axis=1)
            skipped = Skipped.of(np.asarray(self.bad[pairs[~complete]].any(axis=1)))
            skipped.merge(chunk.skipped)
            weights = chunk.each_weight() * complete
            yield Chunk(self.points, weights, NO_PLACES, chunk.labels, pairs, chunk.place, skipped)

    def in_memory(self, what: str) -> Rows:
        """Return the complete pairs in memory."""
        pairs = copy(self)
        pairs.numbers, pairs.rereadable = self.numbers.in_memory(what), True
        return pairs

    def fit_map(self, feature_map: MapOfRows) -> None:
        """Fit a feature map to the rows that the numbers refer to."""
        feature_map.fit([self.points[self.finite]])


#: The number of rows of each set to read in turn. With more, the first blocks of a sketch contain
#: only one set; with fewer, exact sums take longer.
ROWS_OF_A_SET = 512


class Sets(Rows):
    """Several sets of rows in turns, with the keys as targets. ``stream`` is that of set 0."""

    def __init__(self, sets: dict[int, Rows], width: int) -> None:
        self.sets, self.width = sets, width
        lengths = [rows.n_rows for rows in sets.values() if rows.n_rows is not None]
        self.n_rows = sum(lengths) if len(lengths) == len(sets) else None
        self.rereadable = all(rows.rereadable for rows in sets.values())
        self.sparse = any(rows.sparse for rows in sets.values())
        self.source = [rows.source for rows in sets.values()]
        self.stream = sets[0].stream if 0 in sets else None

    def chunks(self, skip: int = 0) -> Iterator[Chunk]:
        """Start a pass."""
        alternating = [_small_chunks(rows, target) for target, rows in self.sets.items()]
        yield from filter(None, chain(*zip_longest(*alternating)))

    def named(self, name: str, first_row: int) -> None:
        """Set the place of the rows in errors."""
        for rows in self.sets.values():
            rows.named(name, first_row)


def _small_chunks(rows: Rows, target: int) -> Iterator[Chunk]:
    """Yield rows in small parts."""
    for chunk in rows.chunks():
        for first in range(0, len(chunk), ROWS_OF_A_SET):
            part = chunk[first : first + ROWS_OF_A_SET]
            skipped = NONE_SKIPPED if first else chunk.skipped
            yield replace(part, labels=np.full(len(part), target), skipped=skipped)
