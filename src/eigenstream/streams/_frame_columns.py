"""From the columns of a data frame to rows."""

from typing import Any

import numpy as np

from eigenstream.streams.base import RowBlock, StreamError, Wanted

__all__ = ["frame_block"]


def frame_block(
    frame: Any,
    wanted: Wanted,
    name: str,
    dtype: Any = None,
    first_row: int = 0,
    stride: int = 1,
) -> RowBlock:
    """Return the wanted columns of a frame as a block; what is missing becomes NaN."""
    labels = list(frame.columns)
    places = range(len(labels)) if wanted.features is None else wanted.features
    rows = np.empty((len(frame), len(places)), dtype or np.float64)
    for at, place in enumerate(places):
        column = frame[labels[place]]
        try:
            if "date" in str(column.dtype).lower():
                raise TypeError
            missing = {"na_value": np.nan} if hasattr(frame, "iloc") else {}
            rows[:, at] = column.to_numpy(**missing)
        except (TypeError, ValueError):
            raise StreamError(
                f"{name} holds {column.dtype} in column {labels[place]!r}, and numbers are due. "
                "Select others with columns=[...], or name it with time= or sequence=."
            ) from None
    sequence, times = (
        None if place is None else np.asarray(frame[labels[place]].to_numpy())
        for place in (wanted.sequence, wanted.time)
    )
    taught = tuple(np.asarray(frame[labels[place]].to_numpy()) for place in wanted.labels)
    return RowBlock(rows, sequence, times, first_row, stride, taught)
