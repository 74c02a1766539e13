"""Blocks of rows with those before them, out of chunks."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenstream.streams._chunk import Chunk
from eigenstream.streams._steps import stacked

__all__ = ["lagged"]


def lagged(chunks: Iterator[Chunk], lag: int) -> Iterator[tuple[Any, NDArray[np.float64] | None]]:
    """Yield blocks, each led by the ``lag`` rows before it, with weights where some are not 1."""
    rows: Any = None
    weights: Any = None
    for chunk in chunks:
        if rows is None or chunk.new_sequence:
            rows, weights = chunk.rows[:0], np.empty(0)
        new = np.ones(len(chunk)) if chunk.weights is None else chunk.weights
        rows, weights = stacked([rows, chunk.rows]), np.concatenate([weights, new])
        if rows.shape[0] > lag:
            yield rows, None if (weights == 1).all() else weights
            keep = slice(rows.shape[0] - lag, None)
            rows, weights = rows[keep].copy(), weights[keep]
