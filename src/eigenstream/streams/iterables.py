"""Whatever gives chunks one after the other: generators, readers of pandas, torch's loaders."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

from eigenstream._checks import is_sparse
from eigenstream.streams.base import (
    RowBlock,
    RowTable,
    StreamError,
    Wanted,
    flat,
    picked,
    row_width,
    rows_within,
)
from eigenstream.streams.tables import frame_block


class Chunks(RowTable):
    """An iterable of chunks that continue each other, or a function that returns a new one.

    An iterator can be read once. Of a loader's pairs (inputs, labels) the inputs are taken.
    """

    def __init__(self, source: Iterable[Any] | Callable[[], Iterable[Any]], name: str) -> None:
        self.source, self.name = source, name
        self.rereadable = callable(source) or not isinstance(source, Iterator)
        # torch's, whose rows come in another order in every pass.
        self.shuffled = type(getattr(source, "sampler", None)).__name__ == "RandomSampler"
        # The first chunk says what the others are; the first pass begins with it.
        chunks = self._started()
        first = next(chunks, None)
        if first is None:
            raise StreamError(f"{name} gives no chunk.")
        self._begun: Iterator[Any] | None = chain([first], chunks)
        rows = _rows_of(first, f"chunk 0 of {name}")
        if _is_named(rows):
            self.columns = tuple(map(str, _labels(rows)))
            self.width, self.dtype = len(self.columns), np.dtype(np.float64)
        elif rows.ndim > 1:
            self.width = row_width(rows.shape)
            self.dtype = rows.dtype
            self.row_shape = rows.shape[1:] if rows.ndim > 2 else None

    def _started(self) -> Iterator[Any]:
        return iter(self.source() if callable(self.source) else self.source)

    def blocks(self, wanted: Wanted) -> Iterator[RowBlock]:
        """Yield the wanted rows."""
        yield from rows_within(self._every(wanted), wanted)

    def _every(self, wanted: Wanted) -> Iterator[RowBlock]:
        chunks, self._begun = self._begun or self._started(), None
        for number, chunk in enumerate(chunks):
            name = f"chunk {number} of {self.name}"
            rows = _rows_of(chunk, name)
            if _is_named(rows):
                columns = self.columns or ()
                if {str(label) for label in _labels(rows)} != set(columns):
                    raise StreamError(f"{name} has other columns than the first chunk.")
                yield frame_block(rows, wanted, columns, name)
                continue
            if rows.ndim < 2:
                raise StreamError(
                    f"{name} has shape {rows.shape}, not (n, n_features). Pass chunk[None] for a "
                    "single row, chunk[:, None] for a series."
                )
            rows = rows if is_sparse(rows) else flat(rows)
            if rows.shape[1] != self.width:
                raise StreamError(
                    f"{name} has {rows.shape[1]} columns, and the first chunk has {self.width}."
                )
            yield picked(rows, wanted)


def _is_named(rows: Any) -> bool:
    """Tell a data frame, or a batch of Arrow's records, from an array."""
    return hasattr(rows, "columns") or hasattr(rows, "num_rows")


def _labels(rows: Any) -> list[Any]:
    return list(rows.schema.names if hasattr(rows, "num_rows") else rows.columns)


def _rows_of(chunk: Any, name: str) -> Any:
    """Return the rows in what an iterable has given."""
    if isinstance(chunk, list | tuple) and chunk and hasattr(chunk[0], "detach"):
        chunk = chunk[0]
    if hasattr(chunk, "detach"):  # a tensor, wherever it lies
        chunk = chunk.detach().cpu()
        coarse = str(getattr(chunk, "dtype", "")) == "torch.bfloat16"  # NumPy has no such numbers
        chunk = (chunk.float() if coarse else chunk).numpy()
    if is_sparse(chunk):
        return chunk.tocsr()
    if hasattr(chunk, "columns") and (hasattr(chunk, "dtypes") or hasattr(chunk, "num_rows")):
        return chunk
    if isinstance(chunk, Mapping):
        raise StreamError(
            f"{name} is a dict. Pass one entry: lambda: (chunk['x'] for chunk in ...)."
        )
    if isinstance(chunk, str | bytes):
        raise StreamError(f"{name} is a {type(chunk).__name__}, not rows of numbers.")
    try:
        return np.asarray(chunk)
    except ValueError as refusal:
        raise StreamError(f"{name} is ragged: {' '.join(str(refusal).split())}.") from None
