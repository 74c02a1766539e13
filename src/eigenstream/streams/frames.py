"""pandas and polars data frames."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from eigenstream.streams._frame_columns import frame_block
from eigenstream.streams.base import RowBlock, RowTable, StreamError, Wanted


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
        numbers = wanted.numbers(self.n_rows or 0)
        for at in range(0, len(numbers), wanted.block_rows):
            part = numbers[at : at + wanted.block_rows]
            rows = slice(part.start, part.stop, part.step)
            frame = self.frame.iloc[rows] if hasattr(self.frame, "iloc") else self.frame[rows]
            yield frame_block(frame, wanted, self.name, self.dtype, part.start, part.step)
